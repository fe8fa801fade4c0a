//! Whom an account calls: its rules, its suppression list, and the check of a number.

use offhook_domain::{AgentId, Clock as _, ConversationId, Json, MemberRole, SuppressionSource};
use offhook_services::store::{Suppression, mint};
use offhook_testkit::{TestDatabase, contract};

use crate::it::form::Form;
use crate::it::world::{Browser, Page, World, must};

const CUSTOMER: &str = "+5215512345678";
const NEW: &str = "/dialing/numbers/new";

/// A published agent.
pub(crate) async fn agent(world: &World) -> String {
    let body = must(Json::parse(
        br#"{"name": "Sofia", "language": "en", "config": {
            "system_prompt": "You confirm appointments.", "first_message": "Hello.",
            "llm": {"provider": "scripted", "model": "scripted"}
        }}"#,
    ));
    let agents = world.services.agents();
    let id: AgentId = must(agents.create(world.account, &body).await).agent.id;
    let nothing = Json::object::<String>([]);
    must(agents.publish(world.account, id, &nothing).await);
    id.to_string()
}

/// Sends the form of the rules as its page shows it, with these fields changed.
async fn rules(browser: &Browser, changes: &[(&str, &str)]) -> Page {
    let page = browser.get("/dialing").await.assert(200);
    let form = Form::of(&page, "/dialing");
    let form = changes
        .iter()
        .fold(form, |form, (name, value)| form.with(name, value));
    form.send(browser, "/dialing").await
}

async fn suppress(browser: &Browser, number: &str, reason: &str, until: &str) {
    let fields = [("number", number), ("reason", reason), ("until", until)];
    browser.sends(NEW, &fields, "/dialing").await;
}

/// The path of the form that takes the first number of the list off it.
#[track_caller]
fn take_off(page: &Page) -> String {
    let (before, _) = page
        .body
        .split_once("/delete\"")
        .unwrap_or_else(|| panic!("nothing to take off in {}", page.body));
    let (_, id) = before.rsplit_once('/').unwrap_or_default();
    format!("/dialing/numbers/{id}/delete")
}

contract! {
    async fn rules_are_set_by_admins_and_refused_by_the_name_of_their_field(database: TestDatabase) {
        let world = World::start_on(database).await;
        let ana = world.browser(MemberRole::Admin).await;
        ana.sees("/dialing", &["No rules: every number", "Change rules"]).await;
        for (fields, fault) in [
            (&[("allowed_prefixes", "+52\r\n52")][..], "Allowed prefixes (2): must be a prefix"),
            (&[("attempts_per_day", "2.5")], "Calls to one number in 24 hours: must be an integer"),
            (&[("window.start", "09:00"), ("window.end", "20:00")], "Days: must not be empty"),
            (&[("window.days", "1"), ("window.end", "20:00")], "From: must be a time of day"),
            (
                &[("window.days", "1"), ("window.start", "09:00"), ("window.end", "20:00"), ("window.holidays", "2026-02-30")],
                "Holidays (1): must be a date",
            ),
        ] {
            let refused = rules(&ana, fields).await.assert(422);
            refused.shows(&[fault, "<details class=\"group\" open"]);
        }
        ana.sees("/dialing", &["No rules: every number"]).await;

        let set = [
            ("window.days", "1"), ("window.start", "09:00"), ("window.end", "20:00"), ("window.holidays", "2026-12-25"),
            ("attempts_per_day", "3"), ("consent_required", "on"), ("allowed_prefixes", "+52\r\n\r\n+1 "), ("daily_credits", "1000"),
        ];
        assert_eq!(rules(&ana, &set).await.leads(), "/dialing");
        let key = world.key().await;
        let stored = world.api(&key, "GET", "/v1/dialing-rules", "").await.assert(200);
        stored.shows(&[
            r#""days":[1],"start":"09:00","end":"20:00","holidays":["2026-12-25"]"#,
            r#""attempts_per_day":3,"attempts_per_week":null"#,
            r#""consent_required":true,"allowed_prefixes":["+52","+1"],"daily_credits":1000"#,
        ]);
        let viewer = world.browser(MemberRole::Viewer).await;
        let seen = viewer.sees("/dialing", &["Monday, 09:00 to 20:00", "2026-12-25", "+52, +1"]).await;
        assert!(!seen.body.contains("Change rules"));
        viewer.post("/dialing", &[]).await.assert(403);
        world.browser(MemberRole::Developer).await.post("/dialing", &[]).await.assert(403);
        let log = ana.sees("/settings/audit", &["Dialing rules: set"]).await;
        assert_eq!(log.body.matches("<code class=\"soft\">dialing_rules.set").count(), 1, "one change, one entry");

        // A form that shows what is no longer stored replaces nothing unseen.
        let old = ana.get("/dialing").await;
        assert_eq!(rules(&ana, &[("attempts_per_day", "5")]).await.leads(), "/dialing");
        let late = Form::of(&old, "/dialing").with("attempts_per_day", "7");
        late.send(&ana, "/dialing").await.assert(422).shows(&["Someone changed this"]);
        let none = [
            ("window.days", ""), ("window.start", ""), ("window.end", ""), ("window.holidays", ""), ("attempts_per_day", ""),
            ("consent_required", ""), ("allowed_prefixes", ""), ("daily_credits", ""),
        ];
        assert_eq!(rules(&ana, &none).await.leads(), "/dialing");
        viewer.sees("/dialing", &["No rules: every number"]).await;
    }

    async fn a_suppressed_number_is_listed_not_called_downloaded_and_taken_off(database: TestDatabase) {
        let world = World::start_on(database).await;
        let agent = agent(&world).await;
        let dev = world.browser(MemberRole::Developer).await;
        let viewer = world.browser(MemberRole::Viewer).await;
        dev.sees("/dialing", &["No suppressed numbers", NEW]).await;
        dev.refused(NEW, &[("number", "5550123"), ("reason", "Kept")], &["Number: must begin with", "value=\"Kept\""]).await;
        suppress(&dev, "+52 1 55-1234 5678", "<b>asked</b>", "").await;
        suppress(&dev, "+14155550100", "", "2027-01-31T09:00").await;
        let list = viewer.sees("/dialing", &[CUSTOMER, "&lt;b&gt;asked&lt;/b&gt;", "2027-01-31", "Portal"]).await;
        assert!(!list.body.contains("/delete\""), "a viewer takes nothing off");
        let filtered = viewer.sees("/dialing?number=%2B1+415+555-0100", &["+14155550100"]).await;
        assert!(!filtered.body.contains(CUSTOMER));
        viewer.sees("/dialing?source=customer", &["No matching numbers"]).await;
        viewer.sees("/dialing?number=415", &["Write the number with +"]).await;

        let call = [("once", "0a"), ("agent", agent.as_str()), ("to", CUSTOMER), ("metadata", "")];
        dev.refused("/try/call", &call, &["the number is on the account's suppression list"]).await;
        let check = format!("/dialing?to=%2B52+1+55+1234+5678&agent={agent}");
        viewer.sees(&check, &["Not called now", "Suppression list: the number is on", "Time alone does not allow it.", "America/Mexico_City"]).await;
        viewer.sees("/dialing?to=%2B14155550100", &["Allowed from", "datetime=\"2027-01-31T09:00:00"]).await;
        viewer.sees("/dialing?to=12", &["Number to check: must begin with"]).await;

        for path in [NEW, "/dialing/numbers/upload"] {
            viewer.post(path, &[("number", CUSTOMER)]).await.assert(403);
        }
        let stranger = world.stranger().await;
        stranger.sees("/dialing", &["No suppressed numbers"]).await;
        let path = take_off(&dev.get("/dialing?number=%2B5215512345678").await);
        viewer.post(&path, &[]).await.assert(403);
        stranger.post(&path, &[]).await.assert(404);
        let file = stranger.get("/dialing/numbers.csv").await.assert(200);
        assert!(!file.body.contains("5215512345678"));

        dev.sends(&path, &[], "/dialing").await;
        dev.post(&path, &[]).await.assert(404);
        viewer.sees(&check, &["Would be called now"]).await;
        dev.post("/try/call", &call).await.leads();
        let admin = world.browser(MemberRole::Admin).await;
        let log = admin.sees("/settings/audit", &["Suppressed number: created", "Suppressed number: deleted"]).await;
        assert_eq!(log.body.matches("suppression.delete").count(), 1);
    }

    async fn a_list_goes_in_as_a_file_and_comes_out_as_one(database: TestDatabase) {
        let world = World::start_on(database).await;
        let dev = world.browser(MemberRole::Developer).await;
        let upload = async |file: Option<&str>| {
            let file = file.map(|text| ("list.csv", text.as_bytes()));
            dev.upload("/dialing/numbers/upload", &[], file).await
        };
        upload(None).await.assert(422).shows(&["Choose a file first."]);
        let bad = upload(Some("number,reason\n+14155550100,a\n12,b\n")).await.assert(422);
        bad.shows(&["List of numbers (CSV): ", "row 3"]);
        dev.sees("/dialing", &["No suppressed numbers"]).await;

        let numbers: String = (0..30).map(|n| format!("+141555501{n:02},=cmd(),\n")).collect();
        assert_eq!(upload(Some(&format!("number,reason,until\n{numbers}"))).await.leads(), "/dialing");
        let first = dev.sees("/dialing", &["CSV file", "Next page"]).await;
        assert_eq!(first.body.matches("/delete\"").count(), 25);
        let (_, rest) = first.body.split_once("rel=\"next\" href=\"/portal").unwrap_or_default();
        let next = rest.split('"').next().unwrap_or_default().replace("&amp;", "&");
        let second = dev.sees(&next, &["First page"]).await;
        assert_eq!(second.body.matches("/delete\"").count(), 5);

        let viewer = world.browser(MemberRole::Viewer).await;
        let file = viewer.get("/dialing/numbers.csv").await.assert(200);
        assert_eq!(file.header("content-disposition"), Some("attachment; filename=\"suppressions.csv\""));
        assert_eq!(file.body.matches("'=cmd(),import").count(), 30, "{}", file.body);
        file.shows(&["number,reason,source,until,created_at"]);
    }

    async fn a_conversation_shows_consent_opt_out_and_the_rule_that_refused_its_call(database: TestDatabase) {
        let world = World::start_on(database).await;
        let agent = agent(&world).await;
        let (viewer, key) = (world.browser(MemberRole::Viewer).await, world.key().await);
        let call = format!(
            r#"{{"agent_id": "{agent}", "to": "{CUSTOMER}", "consent": {{"basis": "express_written", "at": "2026-01-02T03:04:05Z", "evidence": "form 12"}}}}"#
        );
        let placed = world.api(&key, "POST", "/v1/calls", &call).await.assert(201);
        let placed: serde_json::Value = must(serde_json::from_str(&placed.body));
        let id = placed["id"].as_str().unwrap_or_default();
        let id: ConversationId = must(id.trim_start_matches("call_").parse());
        let path = format!("/conversations/{id}");
        viewer.sees(&path, &["express_written", "2026-01-02 03:04", "form 12"]).await;

        let at = world.clock.now();
        let opt_out = Suppression {
            id: mint(at),
            account_id: world.account,
            number: must(CUSTOMER.parse()),
            reason: String::new(),
            source: SuppressionSource::Customer,
            until: None,
            conversation_id: Some(id),
            created_at: at,
        };
        must(world.services.store().opt_out(opt_out, None).await);
        viewer.sees(&path, &["Opted out"]).await;
        viewer.sees("/dialing", &[&format!("<a href=\"/portal{path}\">Customer</a>")]).await;
        world.dial();
        let ended = world.until(&viewer, &path, "Refused by a rule").await;
        ended.shows(&["href=\"/portal/dialing\">Suppression list: the number is on the account's suppression list"]);
    }
}
