//! A newcomer's first steps from `offhook demo` on, all in the browser. Its screenshots are those of docs/PORTAL.md
//! (`scripts/pictures`).

use offhook_tests::{
    Address, Browser, Client, Demo, Person, Receiver, must, needs_browser, needs_speech,
};
use serde_json::json;

/// A number that the demo's phone network reaches.
const CUSTOMER: &str = "+14155550123";

/// The largest size of a picture in docs.
const PICTURE_BYTES: u64 = 150 * 1024;

/// Takes a screenshot for the documents.
async fn picture(browser: &Browser, name: &str) {
    let Some(path) = browser.screenshot(&format!("walk-{name}")).await else {
        return;
    };
    let bytes = must("a picture", std::fs::metadata(&path)).len();
    assert!(bytes <= PICTURE_BYTES, "{}: {bytes} bytes", path.display());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_hears_a_call_makes_a_key_and_a_webhook_and_publishes_an_agent() {
    needs_browser!();
    needs_speech!();
    let demo = Demo::start().await;
    let browser = Browser::of(Person::english(), demo.address).await;

    // Sign in with the link that the demo prints.
    browser.open(&demo.welcome).await;
    browser.sees("Choose your password").await;
    picture(&browser, "welcome").await;
    browser
        .fill("New password", "a long walk along the quay")
        .await;
    browser.click("Set password and sign in").await;
    browser.sees("Recent conversations").await;
    picture(&browser, "overview").await;

    // Hear and read the call.
    browser.click("Conversations").await;
    browser.click_first("tbody a").await;
    browser.sees("this is Eva from Harbour Hotel").await;
    browser.sees("Completed").await;
    browser.click_first("button[data-seek]").await;
    let heard = "const player = document.querySelector('audio');
        return player && player.duration > 5 && player.currentTime > 0.2 && !player.error";
    browser
        .until("the call's sound", async || {
            (browser.js(heard, vec![]).await == json!(true)).then_some(())
        })
        .await;
    picture(&browser, "conversation").await;

    // Create a key, and use it.
    browser.click("API keys").await;
    browser.click("New key").await;
    browser.fill("Name", "CRM").await;
    browser.click("calls:read").await;
    browser.click("Create key").await;
    browser.sees("You won't be able to see it again.").await;
    picture(&browser, "key").await;
    let token = browser.text_of(".secret").await;
    let client = Client::new(Address::new(demo.address)).with_key(&token);
    let me = client.read("/v1/me").await;
    assert_eq!(me["key"]["name"], "CRM", "{me}");
    browser.click("I've saved it").await;
    browser.sees("CRM").await;

    // Create a webhook, and send a test event.
    let receiver = Receiver::start().await;
    browser.click("Webhooks").await;
    browser.click("New endpoint").await;
    browser.fill("URL", &receiver.url("/offhook")).await;
    browser.fill("Description", "Our CRM").await;
    browser.click("Add endpoint").await;
    browser.sees("This is the signing secret of").await;
    browser.click("I've saved it").await;
    browser.click("Send test event").await;
    receiver.count(1).await;
    browser.click("Webhooks").await;
    browser.click("Deliveries").await;
    browser.sees("Delivered").await;
    picture(&browser, "deliveries").await;

    // Change what the agent says, and publish it.
    browser.click("Agents").await;
    browser.click("Eva").await;
    browser.click("Edit").await;
    browser
        .fill(
            "First message",
            "Good evening, this is Eva from Harbour Hotel.",
        )
        .await;
    picture(&browser, "editor").await;
    browser.click("Save and publish").await;
    browser.sees("New conversations use it.").await;
    browser.click("Versions").await;
    browser.sees("Live").await;
    picture(&browser, "versions").await;

    // The next call uses it, and grows on the page.
    browser.click("Conversations").await;
    browser.click("Place a test call").await;
    browser.choose("Agent", "Eva").await;
    browser.fill("Call this number", CUSTOMER).await;
    browser.click("Call now").await;
    browser
        .until("the new words", async || {
            let page = browser.reads().await;
            page.contains("Good evening, this is Eva").then_some(())
        })
        .await;
    picture(&browser, "live").await;
    browser.no_violations().await;
}
