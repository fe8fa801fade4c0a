//! Two people at one record: what one of them has stored is not replaced before the other was told.

use offhook_tests::{Browser, Person, both, needs_browser, text};
use serde_json::{Value, json};

use super::session::COOKIE;
use super::stage::Stage;

const OVERTAKEN: &str = "While you were writing, somebody changed this.";

/// A page that both have open, and the button of its form.
struct Record {
    path: String,
    save: &'static str,
}

/// A field and what is written into it.
type Typed = (&'static str, &'static str);

impl Record {
    fn at(path: &str, made: &Value, save: &'static str) -> Self {
        Self {
            path: format!("/portal/{path}/{}", text(&made["id"])),
            save,
        }
    }

    async fn stores(&self, browser: &Browser) {
        browser.click(self.save).await;
        browser.sees("Saved.").await;
    }

    /// Both have it open; `first` is stored by one of them, and the other is told so, whose `second` is not lost.
    async fn is_edited_by(&self, [ana, ben]: [&Browser; 2], first: Typed, second: Typed) {
        ana.open(&self.path).await;
        ben.open(&self.path).await;
        ana.fill(first.0, first.1).await;
        self.stores(ana).await;

        ben.fill(second.0, second.1).await;
        ben.click(self.save).await;
        ben.sees(OVERTAKEN).await;
        ben.was_refused(422).await;
        assert_eq!(ben.filled(second.0).await, second.1);
        ana.reload().await;
        assert_eq!(
            ana.filled(first.0).await,
            first.1,
            "nothing is replaced yet"
        );
        self.stores(ben).await;
        assert_eq!(ben.filled(second.0).await, second.1);
    }
}

async fn make(stage: &Stage, path: &str, body: Value, status: u16) -> Value {
    stage.account.post(path, body).await.assert(status)
}

async fn number(stage: &Stage) -> Record {
    let number = json!({"phone_number": "+15005550123", "label": "Desk"});
    let number = make(stage, "/v1/phone-numbers", number, 201).await;
    Record::at("phone-numbers", &number, "Save")
}

both! {
    async fn nobody_replaces_unseen_what_somebody_else_has_stored(database: Database) {
        needs_browser!();
        let stage = Stage::open(database).await;
        let agent = stage.account.agent().await;
        let number = number(&stage).await;
        let tool = json!({
            "name": "find_order", "description": "Finds an order.", "kind": "http",
            "http": {"method": "GET", "url": "https://shop.example/orders"},
        });
        let tool = make(&stage, "/v1/agents/tools", tool, 201).await;
        let endpoint = json!({"url": "https://example.com/hook"});
        let endpoint = make(&stage, "/v1/webhooks", endpoint, 201).await;
        let document = json!({"name": "Hours", "text": "From nine to five."});
        let document = make(&stage, "/v1/knowledge/documents", document, 202).await;

        let ana = stage.owner(Person::english()).await;
        let ben = ana.another(Person::english()).await;
        let session = stage.member("developer").await;
        ben.plant(COOKIE, &session.cookie, "/portal").await;
        let both = [&ana, &ben];

        let (first, second) = (("Label", "Reception"), ("Label", "Night desk"));
        number.is_edited_by(both, first, second).await;

        let tool = Record::at("tools", &tool, "Save the tool");
        let first = ("URL", "https://shop.example/find");
        let second = ("What it is for", "Finds an order by its number.");
        tool.is_edited_by(both, first, second).await;

        let endpoint = Record::at("webhooks", &endpoint, "Save");
        let (first, second) = (("Description", "Our CRM"), ("Description", "Our archive"));
        endpoint.is_edited_by(both, first, second).await;

        let document = Record::at("knowledge/documents", &document, "Save");
        let (first, second) = (("Name", "Opening hours"), ("Name", "Hours of winter"));
        document.is_edited_by(both, first, second).await;

        let widget = Record { path: format!("/portal/agents/{agent}/widget"), save: "Save" };
        let (first, second) = (("Credits a day", "50"), ("Sessions a minute", "7"));
        widget.is_edited_by(both, first, second).await;
        ana.no_violations().await;
        ben.no_violations().await;
    }
}
