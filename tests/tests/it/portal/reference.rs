//! `/docs`: the reference page that the service renders.

use offhook_tests::{Browser, Database, Options, Person, Server, needs_browser};

#[tokio::test(flavor = "multi_thread")]
async fn the_reference_can_be_searched_and_read_by_everybody() {
    needs_browser!();
    let server = Server::start(Options::on(Database::Sqlite)).await;
    let browser = Browser::of(Person::english(), server.address()).await;
    browser.open("/docs").await;
    browser.sees("POST /v1/calls").await;
    assert_eq!(browser.portraits("docs").await, Vec::<String>::new());
    browser.no_violations().await;
}
