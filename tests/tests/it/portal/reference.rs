//! `/docs`: the reference that the service renders.

use offhook_tests::{Browser, Database, Options, Person, Server, needs_browser};

#[tokio::test(flavor = "multi_thread")]
async fn the_reference_can_be_searched_and_read_by_everybody() {
    needs_browser!();
    let server = Server::start(Options::on(Database::Sqlite)).await;
    let browser = Browser::of(Person::english(), server.address()).await;
    browser.open("/docs").await;
    browser.sees("POST /v1/calls").await;
    assert_eq!(browser.portraits("docs").await, Vec::<String>::new());
    // The anchor that the operation had when the reference was one page.
    browser.open("/docs#placeCall").await;
    browser.sees("Operation placeCall").await;
    assert_eq!(browser.path().await, "/docs/calls");
    assert_eq!(browser.portraits("docs-calls").await, Vec::<String>::new());
    browser.fill("Search", "hmac-sha256 digest").await;
    browser.sees("Verify a signature").await;
    browser.axe().await;
    browser.click_first("#results a[href$='#signature']").await;
    browser.sees("in constant time").await;
    assert_eq!(browser.path().await, "/docs/webhooks");
    browser.no_violations().await;
}
