//! Sessions that end while pages are open, and the forms of those pages.

use std::time::Duration;

use offhook_domain::MemberRole;

use crate::it::world::{World, must};

/// The headers that browsers send with a form of our own pages.
const OURS: &str = "\r\nOrigin: http://localhost:8080\r\nSec-Fetch-Site: same-origin";

#[tokio::test(flavor = "multi_thread")]
async fn a_form_of_the_session_before_is_sent_with_a_click() {
    let world = World::start().await;
    let before = world.browser(MemberRole::Developer).await;
    let now = world.browser_elsewhere(MemberRole::Developer).await;
    let path = "/knowledge/folders";
    let fields = [("name", "Prices <b>")];

    // A form from any other origin is refused.
    let open = before.left_open_by(&now);
    open.post(path, &fields).await.assert(403);
    let elsewhere = "\r\nOrigin: https://evil.example";
    let open = open.saying(elsewhere);
    open.post(path, &fields).await.assert(403);
    let stranger = world.stranger().await.left_open_by(&now).saying(OURS);
    stranger.post(path, &fields).await.assert(403);

    let open = open.saying(OURS);
    let page = open.post(path, &fields).await.assert(422);
    let page = page.shows(&[
        "Your input has not been submitted yet.",
        "<strong>Acme</strong>",
        "Submit now",
        "action=\"/portal/knowledge/folders\"",
        "value=\"Prices &lt;b&gt;\"",
        "<pre class=\"prose\" dir=\"auto\">Prices &lt;b&gt;</pre>",
    ]);
    let folders = now.get(path).await.assert(200);
    assert!(!folders.body.contains("Prices"), "{}", folders.body);
    now.reading(&page).post(path, &fields).await.leads();
    now.get(path).await.shows(&["Prices &lt;b&gt;"]);

    // A page fragment contains no form: the page's script sends it again.
    let part = open.post_part(path, &fields).await.assert(401);
    assert_eq!(part.body, "");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_with_a_file_of_the_session_before_is_filled_in_again() {
    let world = World::start().await;
    let before = world.browser(MemberRole::Developer).await;
    let now = world.browser_elsewhere(MemberRole::Developer).await;
    let fields = [("name", "Kept name")];
    let file = Some(("a.txt", b"A haircut is 20 dollars.".as_slice()));
    let open = before.left_open_by(&now);
    let refused = open.upload("/knowledge/upload", &fields, file).await;
    refused.assert(403);
    let open = open.saying(OURS);
    let back = open.upload("/knowledge/upload", &fields, file).await;
    let back = back.leads();
    assert_eq!(back, "/knowledge/upload?name=Kept+name");
    now.sees(&back, &["value=\"Kept name\""]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_signs_out_twice_is_signed_out() {
    let world = World::start().await;
    let ana = world.browser(MemberRole::Viewer).await;
    for _ in 0..2 {
        ana.sends("/sign-out", &[], "/sign-in").await;
    }
    ana.get("/agents").await.assert(401);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_the_session_before_signs_out_at_once() {
    let world = World::start().await;
    let before = world.browser(MemberRole::Viewer).await;
    let now = world.browser_elsewhere(MemberRole::Viewer).await;
    let open = before.left_open_by(&now);
    open.post("/sign-out", &[]).await.assert(403);
    let open = open.saying(OURS);
    open.sends("/sign-out", &[], "/sign-in").await;
    now.get("/settings").await.assert(401);
}

#[tokio::test(flavor = "multi_thread")]
async fn long_forms_of_nobody_take_a_bounded_part_of_the_memory_and_short_ones_go_on() {
    const LONG: usize = 4 * 1024 * 1024;
    let world = World::start().await;
    let mut open = Vec::new();
    for _ in 0..16 {
        open.push(world.unfinished_form(LONG).await);
    }
    let refused = async {
        while world.form_of_nobody(LONG).await.status != 503 {
            tokio::task::yield_now().await;
        }
    };
    must(tokio::time::timeout(Duration::from_secs(30), refused).await);
    assert_eq!(world.form_of_nobody(1_000).await.status, 422);
    drop(open);
    let taken = async {
        while world.form_of_nobody(LONG).await.status == 503 {
            tokio::task::yield_now().await;
        }
    };
    must(tokio::time::timeout(Duration::from_secs(30), taken).await);
}
