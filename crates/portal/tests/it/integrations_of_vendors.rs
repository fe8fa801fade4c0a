//! Each further application of the catalog: connected, used, its tokens renewed, and what agents say of its faults.

use offhook_domain::{IntegrationStatus, MemberRole};
use offhook_providers::{ApplicationSettings, application};
use offhook_testkit::fakes::cal_com::{BOOKINGS_PATH, FakeCalCom};
use offhook_testkit::fakes::oauth::{Authority, TOKEN_PATH};
use offhook_testkit::fakes::sheets::{API_PATH, FakeSheets, SPREADSHEET};
use offhook_testkit::fakes::slack::{FakeSlack, POST_PATH};
use offhook_testkit::upstream::{Fault, UPSTREAM_WORDS, Upstream};

use crate::it::integrations::{agent, begin, chat, settings, told, tool};
use crate::it::world::{Browser, World, must};

/// A service with one connected application, and an admin of the account.
struct Connected {
    world: World,
    ana: Browser,
    agent: String,
}

impl Connected {
    /// Connects the toolkit, and makes an agent that calls the function with these arguments, and says the answer.
    async fn to(
        toolkit: &str,
        (upstream, authority): (&Upstream, &Authority),
        (function, arguments): (&str, &str),
    ) -> Self {
        let base = upstream.base_url();
        let path = if toolkit == "google_sheets" {
            API_PATH
        } else {
            ""
        };
        let settings = ApplicationSettings {
            api_url: Some(format!("{base}{path}")),
            ..settings(&base)
        };
        let settings = ApplicationSettings {
            revoke_url: settings.revoke_url.filter(|_| toolkit != "cal_com"),
            ..settings
        };
        let world = World::start_with(vec![must(application(toolkit, &settings))]).await;
        let ana = world.browser(MemberRole::Admin).await;
        let url = begin(&ana, &format!("/integrations/{toolkit}/connect")).await;
        let said = told(&ana, &authority.consent(&url)).await;
        assert!(said.contains(" connected."), "{said}");
        let name = format!("{toolkit}_{function}");
        let id = tool(&world, &world.key().await, &name).await;
        let prompt = format!("say: One moment.\ncall: {name} {arguments}\nthen: {{result}}.");
        let agent = agent(&world, &[&id], &prompt).await;
        Self { world, ana, agent }
    }

    /// A conversation shows these.
    async fn says(&self, shown: &[&str]) {
        let page = chat(&self.ana, &self.agent).await;
        assert!(!page.body.contains(UPSTREAM_WORDS), "{}", page.body);
        page.shows(shown);
    }

    async fn stands(&self, toolkit: &str) -> IntegrationStatus {
        let integrations = self.world.services.integrations();
        let all = must(integrations.list(self.world.account, None, 100).await).items;
        let mut found = all.into_iter().filter(|one| one.toolkit.toolkit == toolkit);
        must(found.next().ok_or("no such toolkit")).status
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_books_an_event_type_at_cal_com() {
    let fake = FakeCalCom::start(&["2030-06-04T09:00:00.000-06:00"]).await;
    let wish = r#"{"event_type_id":42,"start":"2030-06-04T09:00","name":"Zoe","email":"zoe@example.com","time_zone":"America/Mexico_City"}"#;
    let vendor = (&fake.upstream, &fake.authority);
    let connected = Connected::to("cal_com", vendor, ("book", wish)).await;
    // A refused token is renewed by the refresh token, which is good once.
    fake.authority.lapse();
    connected.says(&["&quot;booked&quot;:true"]).await;
    assert_eq!(fake.upstream.asked_of("POST", TOKEN_PATH).len(), 2);
    assert_eq!(fake.bookings()[0]["attendee"]["email"], "zoe@example.com");

    let fail = |fault| fake.upstream.fail("POST", BOOKINGS_PATH, fault, 1);
    connected.says(&["the time may be taken"]).await;
    fail(Fault::RetryAfter(429, 7));
    connected
        .says(&["it wants a pause of 7 s. Nothing was booked."])
        .await;
    fail(Fault::Status(500));
    connected.says(&["it may have been booked, or not."]).await;
    assert_eq!(fake.bookings().len(), 1);

    let path = "/integrations/cal_com/disconnect";
    let page = connected.ana.post(path, &[]).await;
    let notice = page.header("set-cookie").unwrap_or_default();
    assert!(notice.contains("did%20not%20confirm"), "{notice}");
    let stands = connected.stands("cal_com").await;
    assert_eq!(stands, IntegrationStatus::Disconnected);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_posts_to_a_channel_in_slack() {
    let fake = FakeSlack::start().await;
    let message = r##"{"channel":"#leads","text":"<!here> Zoe wants a table."}"##;
    let vendor = (&fake.upstream, &fake.authority);
    let connected = Connected::to("slack", vendor, ("post_message", message)).await;
    connected.says(&["&quot;posted&quot;:true"]).await;
    assert_eq!(
        fake.messages()[0]["text"],
        "&lt;!here&gt; Zoe wants a table."
    );
    fake.upstream.fail("POST", POST_PATH, Fault::LoseAnswer, 1);
    connected.says(&["it may have been posted, or not."]).await;
    assert_eq!(fake.messages().len(), 2);
    // A token that does not expire and was revoked there cannot be renewed.
    fake.authority.withdraw();
    connected
        .says(&["does not let the service in any more"])
        .await;
    assert_eq!(connected.stands("slack").await, IntegrationStatus::Expired);
    assert_eq!(fake.messages().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_writes_a_row_in_google_sheets() {
    let fake = FakeSheets::start(&[&["Name", "Plan"]]).await;
    let row = format!(
        r#"{{"spreadsheet_id":"{SPREADSHEET}","sheet":"Zoe's leads","values":{{"Name":"=1+1"}}}}"#
    );
    let vendor = (&fake.upstream, &fake.authority);
    let connected = Connected::to("google_sheets", vendor, ("append_row", &row)).await;
    fake.authority.lapse();
    connected.says(&["&quot;appended&quot;:true"]).await;
    assert_eq!(fake.upstream.asked_of("POST", TOKEN_PATH).len(), 2);
    assert_eq!(fake.rows()[1], ["=1+1", ""]);
}
