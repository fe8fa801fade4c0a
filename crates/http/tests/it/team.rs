//! `/v1/team/members`.

use std::time::Duration;

use offhook_domain::{AccountId, MemberRole, Plan, Scope};
use serde_json::{Value, json};

use crate::it::app::TestApp;
use crate::it::client::must;

const ALL: &str = "/v1/team/members";
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

async fn add(app: &TestApp, account: AccountId, name: &str, role: MemberRole) -> Value {
    let email = must(format!("{name}@Example.com").parse());
    let member = app.services.team().add(account, email, name, role);
    let member = must(member.await);
    json!({
        "id": member.id,
        "name": name,
        "email": format!("{}@example.com", name.to_lowercase()),
        "role": role,
        "joined_at": member.joined_at,
    })
}

async fn invite(app: &TestApp, account: AccountId, name: &str) -> Result<String, String> {
    let email = must(format!("{name}@example.com").parse());
    let team = app.services.team();
    let invited = team.invite(account, email, name, MemberRole::Viewer).await;
    invited
        .map(|invited| invited.token)
        .map_err(|error| error.to_string())
}

async fn seats(app: &TestApp) -> Value {
    app.read(ALL).await["seats"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_members_are_listed_oldest_first_page_by_page() {
    let app = TestApp::start().await;
    let nobody = json!({
        "data": [], "has_more": false, "next_cursor": null, "seats": {"used": 0, "max": 25},
    });
    assert_eq!(app.read(ALL).await, nobody);
    let mut all = Vec::new();
    for (at, role) in MemberRole::ALL.iter().chain(MemberRole::ALL).enumerate() {
        all.push(add(&app, app.account, &format!("Eva{at}"), *role).await);
        if at % 3 == 2 {
            app.clock.advance(Duration::from_millis(1));
        }
    }
    all.sort_by_key(|member| (member["joined_at"].to_string(), member["id"].to_string()));
    let seats = json!({"used": 8, "max": 25});
    let whole = json!({"data": all, "has_more": false, "next_cursor": null, "seats": seats});
    assert_eq!(app.read(ALL).await, whole);
    assert_eq!(app.pages(&format!("{ALL}?limit=3")).await, all);
    let faults = [
        ("limit=0", "`limit`"),
        ("cursor=x", "`cursor`"),
        ("role=owner", "`role`"),
    ];
    app.refuses_queries(ALL, &faults).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pending_invitations_take_seats_until_they_expire() {
    let app = TestApp::on_plan(Plan::Starter).await;
    let member = add(&app, app.account, "Ana", MemberRole::Owner).await;
    must(invite(&app, app.account, "Eva").await);
    app.clock.advance(DAY);
    let token = must(invite(&app, app.account, "Luz").await);
    assert_eq!(token.len(), 64);
    assert_eq!(seats(&app).await, json!({"used": 3, "max": 3}));
    // Invited people are not members yet.
    let list = app.read(ALL).await;
    assert_eq!(list["data"], json!([member]));
    let full = invite(&app, app.account, "Zoe").await.unwrap_err();
    assert!(
        full.starts_with("no seat is free") && full.contains("3 of the 3 of the starter plan"),
        "{full}"
    );
    let again = invite(&app, app.account, "Luz").await.unwrap_err();
    assert!(again.contains("invited already, until"), "{again}");
    let ours = invite(&app, app.account, "Ana").await.unwrap_err();
    assert!(ours.contains("has this address already"), "{ours}");
    app.clock.advance(6 * DAY - Duration::from_millis(1));
    assert_eq!(seats(&app).await["used"], 3);
    app.clock.advance(Duration::from_millis(1));
    assert_eq!(seats(&app).await["used"], 2);
    app.clock.advance(DAY);
    assert_eq!(seats(&app).await["used"], 1);
    must(invite(&app, app.account, "Luz").await);
    assert_eq!(seats(&app).await["used"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_account_sees_its_own_team_and_an_unlimited_one_has_no_maximum() {
    let app = TestApp::on_plan(Plan::Enterprise).await;
    let accounts = app.services.accounts();
    let owner = Some("Boss@Example.com");
    let other = must(accounts.create("Other", Plan::Pro, None, None, owner).await).id;
    app.clock.advance(Duration::from_millis(1));
    let reads = [Scope::TeamRead].into_iter().collect();
    let read_only = app.key(other, reads, true, None).await;
    let ours = add(&app, app.account, "Ana", MemberRole::Admin).await;
    // The same person may be in both accounts.
    let theirs = add(&app, other, "Ana", MemberRole::Viewer).await;
    let list = app.read(ALL).await;
    assert_eq!(list["data"], json!([ours]));
    assert_eq!(list["seats"], json!({"used": 1, "max": null}));
    let list = app.bare("GET", ALL).key(&read_only).await.assert(200);
    let boss = &list["data"][0];
    assert_eq!(boss["name"], "boss");
    assert_eq!(boss["email"], "boss@example.com");
    assert_eq!(boss["role"], "owner");
    assert_eq!(list["data"][1], theirs);
    assert_eq!(list["data"][2], Value::Null);
    assert_eq!(list["seats"], json!({"used": 2, "max": 10}));
}
