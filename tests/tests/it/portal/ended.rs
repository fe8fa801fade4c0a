//! A session that ends while a person types: no input is lost, however the page would have sent it.

use offhook_tests::{Browser, Person, both, must, needs_browser};
use serde_json::json;

use super::stage::{OWNER, PASSWORD, Stage};

/// Signs in on the current page.
async fn sign_in(browser: &Browser) {
    browser.fill("Email", OWNER).await;
    browser.fill("Password", PASSWORD).await;
    browser.click("Sign in").await;
}

both! {
    async fn a_message_of_a_test_chat_is_sent_after_signing_in(database: Database) {
        needs_browser!();
        let stage = Stage::open(database).await;
        stage.account.agent().await;
        let browser = stage.owner(Person::english()).await;
        browser.open("/portal/try/chat").await;
        browser.choose("Agent", "Eva").await;
        browser.click("Start chat").await;
        browser.fill("Your message", "Is the pool still open?").await;
        let chat = browser.path().await;
        browser.forget().await;
        browser.click("Send").await;
        browser.sees("Your input is kept").await;
        browser.was_refused(401).await;
        sign_in(&browser).await;
        browser.sees("Is the pool still open?").await;
        browser.click("Submit now").await;
        browser.arrives(&chat).await;
        browser.sees("Is the pool still open?").await;
        assert_eq!(browser.filled("Your message").await, "");
        browser.no_violations().await;
    }

    async fn a_search_in_the_editor_loses_nothing_of_the_editor(database: Database) {
        needs_browser!();
        let stage = Stage::open(database).await;
        let agent = stage.account.agent().await;
        let browser = stage.owner(Person::english()).await;
        browser.open(&format!("/portal/agents/{agent}/edit")).await;
        browser.fill("First message", "Good evening.").await;
        browser.click_near("Search documents", "Knowledge").await;
        browser.forget().await;
        browser.fill("Find documents", "hours").await;
        browser.sees("Your input is kept").await;
        browser.was_refused(401).await;
        sign_in(&browser).await;
        browser.click("Submit now").await;
        browser.sees("General").await;
        assert_eq!(browser.filled("First message").await, "Good evening.");
        assert_eq!(browser.filled("Find documents").await, "hours");
        // The form was sent as a search, not saved.
        let kept = stage.account.read(&format!("/v1/agents/{agent}")).await;
        assert_eq!(kept["config"]["version"], 1, "{kept}");
        browser.no_violations().await;
    }

    async fn an_upload_is_taken_up_again_but_for_its_file(database: Database) {
        needs_browser!();
        let stage = Stage::open(database).await;
        let made = stage.account.post("/v1/knowledge/folders", json!({"name": "Prices"}));
        made.await.assert(201);
        let folder = must("a folder", tempfile::tempdir());
        let file = folder.path().join("list.txt");
        // More than any buffer on the way holds.
        must("a file", std::fs::write(&file, "The room costs ninety.\n".repeat(200_000)));
        let browser = stage.owner(Person::english()).await;
        browser.open("/portal/knowledge/upload").await;
        browser.fill("Name", "Summer // 2027..").await;
        browser.choose("Folder", "Prices").await;
        browser.attach("File", &file).await;
        browser.forget().await;
        browser.click("Upload").await;
        browser.sees("Your input is kept").await;
        browser.was_refused(401).await;
        sign_in(&browser).await;
        browser.sees("Your input is in the form").await;
        browser.arrives("/portal/knowledge/upload").await;
        assert_eq!(browser.filled("Name").await, "Summer // 2027..");
        must("a file", std::fs::write(&file, "The room costs ninety."));
        browser.attach("File", &file).await;
        browser.click("Upload").await;
        browser.sees("Document added.").await;
        browser.no_violations().await;
        let made = stage.account.read("/v1/knowledge/documents").await;
        assert_eq!(made["data"][0]["name"], "Summer // 2027..", "{made}");
        assert!(made["data"][0]["folder_id"].is_string(), "{made}");
    }

    async fn what_looks_again_by_itself_leaves_alone_what_is_being_typed(database: Database) {
        needs_browser!();
        let stage = Stage::open(database).await;
        let browser = stage.owner(Person::english()).await;
        browser.open("/portal/team").await;
        browser.fill("Email", "ben@harbour.example").await;
        browser.fill("Name", "Ben").await;
        browser.forget().await;
        let part = "const part = document.createElement('div');
            part.setAttribute('hx-get', '/portal/conversations/live/calls');
            part.setAttribute('hx-trigger', 'every 100ms');
            document.querySelector('main').append(part);
            htmx.process(part)";
        browser.js(part, vec![]).await;
        browser.sees("Your session has ended. Your input is still here").await;
        browser.was_refused(401).await;
        browser.counts("main > .warning", 1).await;
        assert_eq!(browser.filled("Email").await, "ben@harbour.example");
        browser.click("Create link").await;
        browser.sees("Your input is kept").await;
        browser.was_refused(401).await;
        sign_in(&browser).await;
        browser.click("Submit now").await;
        browser.sees("Send this link to ben@harbour.example").await;
        browser.no_violations().await;
    }

    async fn a_form_is_sent_in_the_account_in_which_it_was_filled_in(database: Database) {
        needs_browser!();
        let stage = Stage::open(database).await;
        let make = ["account", "create", "--name", "Lighthouse", "--plan", "scale", "--owner-email", OWNER];
        let lighthouse = stage.server.cli(&make).await;
        let lighthouse = stage.server.key(lighthouse["id"].as_str().unwrap_or_default(), &["--scopes", "all"]).await;
        // Whichever account a session starts in, the form belongs to the other one.
        for (name, elsewhere) in [("Harbour Hotel", &lighthouse), ("Lighthouse", &stage.account)] {
            let browser = stage.owner(Person::english()).await;
            browser.open("/portal/profile").await;
            let here = browser.text_of(".account").await;
            if here != name {
                continue;
            }
            let other = if name == "Lighthouse" { "Harbour Hotel" } else { "Lighthouse" };
            browser.click(other).await;
            browser
                .until(other, async || (browser.text_of(".account").await == other).then_some(()))
                .await;
            browser.open("/portal/agents/new").await;
            browser.fill("Name", "Nora").await;
            browser.forget().await;
            browser.click("Create agent").await;
            browser.sees("Your input is kept").await;
            browser.was_refused(401).await;
            sign_in(&browser).await;
            browser.sees(&format!("It is submitted to the account {other}.")).await;
            browser.click("Submit now").await;
            browser.sees("Draft created.").await;
            browser.no_violations().await;
            let made = elsewhere.read("/v1/agents").await;
            assert_eq!(made["data"][0]["name"], "Nora", "{made}");
            return;
        }
        panic!("a session begins in neither account");
    }
}
