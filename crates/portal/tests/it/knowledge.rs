//! Documents, their folders, and searches.

use offhook_domain::MemberRole;

use crate::it::form::saved;
use crate::it::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn a_text_is_read_found_moved_and_deleted() {
    let world = World::start().await;
    let ana = world.browser(MemberRole::Developer).await;
    world.read_documents();
    let fields = [
        ("name", "Hours"),
        ("text", "We are open from nine to five."),
    ];
    let path = ana.post("/knowledge/text", &fields).await.leads();
    world
        .until(&ana, &path, "Ready")
        .await
        .shows(&["We are open from nine to five."]);
    ana.sees("/knowledge", &["Hours", "Ready"]).await;
    let found = ana.get("/knowledge/search?q=when+are+you+open").await;
    let found = found.assert(200);
    found.shows(&["We are open from nine to five.", "Score"]);

    ana.post("/knowledge/folders", &[("name", "Shop")])
        .await
        .leads();
    let folders = ana.get("/knowledge/folders").await.assert(200);
    let (_, rest) = folders
        .body
        .split_once("/portal/knowledge/folders/")
        .unwrap_or_default();
    let folder = rest.split('"').next().unwrap_or_default().to_owned();
    let moved = [("name", "Opening hours"), ("folder_id", folder.as_str())];
    assert_eq!(saved(&ana, &path, &moved).await.leads(), path);
    let shown = format!("/knowledge?folder={folder}");
    ana.sees(&shown, &["Opening hours"]).await;
    let file = ana.get(&format!("{path}/text")).await.assert(200);
    assert_eq!(
        file.header("content-disposition"),
        Some("attachment; filename=\"document.txt\"; filename*=UTF-8''Opening%20hours.txt")
    );

    ana.sends(&format!("{path}/delete"), &[], "/knowledge")
        .await;
    ana.get(&path).await.assert(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_taken_and_a_refused_form_keeps_what_was_typed() {
    let world = World::start().await;
    let ana = world.browser(MemberRole::Developer).await;
    world.read_documents();
    let file = Some((
        "prices.md",
        b"# Prices\n\nA haircut is 20 dollars.".as_slice(),
    ));
    let path = ana
        .upload("/knowledge/upload", &[("name", "")], file)
        .await
        .leads();
    let page = world.until(&ana, &path, "Ready").await;
    page.shows(&["prices.md", "A haircut is 20 dollars."]);

    let fields = [("name", "Kept name")];
    let none = ana.upload("/knowledge/upload", &fields, None).await;
    let none = none.assert(422);
    none.shows(&["Choose a file first.", "value=\"Kept name\""]);
    let odd = Some(("photo.jpg", [0xff, 0xd8, 0xff, 0xe0].as_slice()));
    let answer = ana.upload("/knowledge/upload", &fields, odd).await;
    answer.assert(422).shows(&["value=\"Kept name\""]);
    let large = vec![b'a'; 20 * 1024 * 1024 + 1];
    let large = ana
        .upload("/knowledge/upload", &fields, Some(("a.txt", &large)))
        .await;
    large
        .assert(422)
        .shows(&["larger than 20 MiB", "value=\"Kept name\""]);
    let blank = [("name", "Kept name"), ("text", "  ")];
    ana.refused(
        "/knowledge/text",
        &blank,
        &["value=\"Kept name\"", "must not be blank"],
    )
    .await;
    let address = [("name", "Kept name"), ("url", "http://localhost/a")];
    ana.refused(
        "/knowledge/address",
        &address,
        &["value=\"http://localhost/a\""],
    )
    .await;
}
