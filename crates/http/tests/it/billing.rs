//! `/v1/billing`.

use std::time::Duration;

use offhook_domain::{InvoiceStatus, Plan, TransactionType};
use serde_json::{Value, json};

use crate::it::app::{CUSTOMER, TestApp, data, text};
use crate::it::client::must;

const DAY: Duration = Duration::from_secs(86_400);

async fn buy(app: &TestApp, credits: i64) {
    let billing = app.services.billing();
    let kind = TransactionType::Purchase;
    must(
        billing
            .credit(app.account, credits, kind, "More", None)
            .await,
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_plan_says_when_it_renews_if_it_does() {
    let app = TestApp::start().await;
    let plan = app.read("/v1/billing/plan").await;
    let renews_at = text(&plan["renews_at"]);
    assert!(renews_at.ends_with("-01T00:00:00.000Z"), "{renews_at}");
    assert_eq!(
        plan,
        json!({
            "plan": "scale", "usd_per_month": 799, "credits_per_month": 12_000,
            "requests_per_minute": 10_000, "retention_days": 365, "seats_max": 25,
            "engine_module": true, "renews_at": renews_at,
        })
    );
    app.clock.advance(31 * DAY);
    let later = app.read("/v1/billing/plan").await;
    assert_ne!(later["renews_at"], plan["renews_at"]);
    let contract = app.stranger(Plan::Enterprise).await;
    let plan = app.bare("GET", "/v1/billing/plan").key(&contract);
    let plan = plan.await.assert(200);
    assert_eq!(plan["renews_at"], Value::Null);
    assert_eq!(plan["usd_per_month"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn credits_show_what_is_held_and_bought_by_itself() {
    let app = TestApp::start().await;
    let credits = app.read("/v1/billing/credits").await;
    let off = json!({"enabled": false, "threshold_credits": null, "amount_credits": null});
    let expected = json!({"balance_credits": 100_000, "reserved_credits": 0, "auto_refill": off});
    assert_eq!(credits, expected);
    let billing = app.services.billing();
    must(
        billing
            .set_auto_refill(app.account, Some((100_001, 500, None)))
            .await,
    );
    let credits = app.read("/v1/billing/credits").await;
    let on = json!({"enabled": true, "threshold_credits": 100_001, "amount_credits": 500});
    assert_eq!(credits["auto_refill"], on);
    assert_eq!(
        credits["balance_credits"], 100_500,
        "what was due is bought at once"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn transactions_page_and_filter_and_lead_to_their_invoice() {
    let app = TestApp::start().await;
    buy(&app, 1_000).await;
    app.clock.advance(DAY);
    buy(&app, 10).await;
    let all = app.read("/v1/billing/transactions").await;
    let kinds: Vec<_> = data(&all)
        .iter()
        .map(|entry| text(&entry["type"]))
        .collect();
    assert_eq!(kinds, ["purchase", "purchase", "manual_credit"]);
    let newest = &data(&all)[0];
    let receipt = text(&newest["receipt_url"]);
    assert_eq!(
        newest,
        &json!({
            "id": newest["id"], "type": "purchase", "amount_credits": 10,
            "balance_after_credits": 101_010, "description": "More", "conversation_id": null,
            "receipt_url": receipt, "created_at": newest["created_at"],
        })
    );
    assert_eq!(data(&all)[2]["receipt_url"], Value::Null);
    let pdf = app.get(&receipt).await;
    assert_eq!(pdf.status, 200);
    assert_eq!(pdf.header("content-type"), Some("application/pdf"));
    assert!(pdf.body.starts_with(b"%PDF-"));

    let paged = app.pages("/v1/billing/transactions?limit=1").await;
    assert_eq!(paged, data(&all));

    let day = &text(&data(&all)[2]["created_at"])[..10];
    let first = app.get(&format!("/v1/billing/transactions?to={day}&type=purchase"));
    assert_eq!(data(&first.await.assert(200)), &data(&all)[1..2]);
    let none = app.get("/v1/billing/transactions?type=refund").await;
    assert_eq!(data(&none.assert(200)), &[] as &[Value]);
    let faults = [("type=x", "`type`: must be `purchase`")];
    app.refuses_queries("/v1/billing/transactions", &faults)
        .await;

    let stranger = app.stranger(Plan::Pro).await;
    let theirs = app.bare("GET", "/v1/billing/transactions").key(&stranger);
    assert_eq!(data(&theirs.await.assert(200)).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn months_bring_credits_and_end_invoices_also_after_a_pause() {
    let app = TestApp::start().await;
    let list = app.read("/v1/billing/invoices").await;
    let [draft] = data(&list) else {
        panic!("{list}");
    };
    assert_eq!(draft["status"], "draft");
    assert_eq!(draft["issued_at"], Value::Null);
    assert_eq!(draft["amount_usd"].as_f64(), Some(799.0));
    assert_eq!(draft["currency"], "USD");
    // Two months pass without a run of the job.
    app.clock.advance(62 * DAY);
    let billing = app.services.billing();
    let entered = must(billing.enter_months().await);
    assert!(entered >= 2, "{entered}");
    assert_eq!(must(billing.enter_months().await), 0);
    let credits = app.read("/v1/billing/credits").await;
    let given = 12_000 * i64::try_from(entered).unwrap_or(0);
    assert_eq!(credits["balance_credits"], 100_000 + given);
    let list = app.read("/v1/billing/invoices").await;
    let statuses: Vec<_> = data(&list)
        .iter()
        .map(|invoice| text(&invoice["status"]))
        .collect();
    assert_eq!(statuses[..2], ["draft", "open"]);
    assert_eq!(statuses.last().map(String::as_str), Some("open"));
    let oldest = data(&list).last().unwrap_or(&Value::Null);
    assert_eq!(oldest["id"], draft["id"]);
    assert_eq!(oldest["period_end"], draft["period_end"]);
    let page = app.read("/v1/billing/invoices?limit=1").await;
    let next = format!("/v1/billing/invoices?cursor={}", text(&page["next_cursor"]));
    assert_eq!(data(&app.read(&next).await), &data(&list)[1..]);

    let id = |invoice: &Value| must(text(&invoice["id"]).parse());
    must(billing.mark(id(oldest), InvoiceStatus::Paid).await);
    must(billing.mark(id(&data(&list)[1]), InvoiceStatus::Void).await);
    let again = billing.mark(id(oldest), InvoiceStatus::Void).await;
    assert!(again.is_err(), "it is paid");
    let list = app.read("/v1/billing/invoices").await;
    let marked = [1, data(&list).len() - 1].map(|at| data(&list)[at]["status"].clone());
    assert_eq!(marked, ["void", "paid"]);
    assert_eq!(must(billing.faults().await), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn usage_counts_ended_calls_by_the_day_that_they_began() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    app.dial();
    let call = app.call(&agent, CUSTOMER).await;
    let ended = app.ended(&text(&call["id"])).await;
    let days = app.pages("/v1/billing/usage?limit=20").await;
    assert_eq!(days.len(), 30);
    let began = &text(&ended["started_at"])[..10];
    for day in &days {
        let used = day["date"] == began;
        let (count, seconds) = if used {
            (1, ended["duration_seconds"].clone())
        } else {
            (0, json!(0))
        };
        assert_eq!(
            day,
            &json!({
                "date": day["date"], "calls": count, "conversations": count,
                "duration_seconds": seconds, "credits": 0,
            })
        );
    }
    let expected = Some(began.to_owned());
    assert_eq!(days.last().map(|day| text(&day["date"])), expected);
    let one = format!("/v1/billing/usage?from={began}&to={began}");
    assert_eq!(data(&app.read(&one).await), &days[29..]);
    assert_eq!(app.pages("/v1/billing/usage?limit=7").await, days);
    let year = "/v1/billing/usage?from=2023-12-01&to=2024-11-30";
    assert_eq!(data(&app.read(year).await).len(), 20);
    assert_eq!(app.pages(&format!("{year}&limit=100")).await.len(), 366);
    let faults = [
        (
            "from=2023-11-30&to=2024-11-30",
            "`from`: must not be more than 366 days",
        ),
        ("limit=101", "`limit`: must be an integer from 1 to 100"),
        (
            "from=2024-01-02&to=2024-01-01",
            "`from`: must not be after `to`",
        ),
    ];
    app.refuses_queries("/v1/billing/usage", &faults).await;
    let stranger = app.stranger(Plan::Pro).await;
    let theirs = app.bare("GET", &one).key(&stranger).await.assert(200);
    assert_eq!(data(&theirs)[0]["calls"], 0);
}
