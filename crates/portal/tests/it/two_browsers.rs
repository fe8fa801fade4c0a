//! Two people edit one record: neither overwrites the other's changes unknowingly.

use offhook_domain::{Json, MemberRole};

use crate::it::form::{Form, plain};
use crate::it::world::{Browser, Page, World, must};

const SCRIPT: &str = "<script>alert(1)</script>";

/// The error of a stale form.
const STALE: &str = "Someone changed this while you were editing. Your input is still in the form";

/// Two members of the account with full permissions.
async fn two(world: &World) -> (Browser, Browser) {
    let ana = world.browser(MemberRole::Owner).await;
    let ben = world.browser(MemberRole::Admin).await;
    (ana, ben)
}

fn json(text: &str) -> Json {
    must(Json::parse(text.as_bytes()))
}

/// The paths of one record of each kind that has a form.
struct Records {
    number: String,
    document: String,
    folder: String,
    endpoint: String,
    tool: String,
    agent: String,
}

impl Records {
    async fn of(world: &World, browser: &Browser) -> Self {
        let (services, account) = (&world.services, world.account);
        let number = json(r#"{"phone_number": "+15005550123", "label": "Desk"}"#);
        let number = must(services.numbers().create(account, &number).await);
        let folder = json(r#"{"name": "Shop"}"#);
        let folder = must(services.knowledge().add_folder(account, &folder).await);
        let endpoint = json(r#"{"url": "https://hooks.example.com/a"}"#);
        let endpoint = must(services.webhooks().create(account, &endpoint).await);
        let tool = json(
            r#"{
                "name": "find_order",
                "description": "Finds an order.",
                "kind": "http",
                "http": {
                    "method": "GET",
                    "url": "https://orders.example.com/find",
                    "headers": {"X-Key": "s3cret-of-ours"}
                }
            }"#,
        );
        let tool = must(services.tools().create(account, &tool).await);
        let text = [("name", "Hours"), ("text", "From nine to five.")];
        let agent = [("name", "Front desk"), ("language", "en")];
        Self {
            number: format!("/phone-numbers/{}", number.id),
            document: browser.post("/knowledge/text", &text).await.leads(),
            folder: format!("/knowledge/folders/{}", folder.id),
            endpoint: format!("/webhooks/{}", endpoint.view.endpoint.id),
            tool: format!("/tools/{}", tool.row.id),
            agent: browser.post("/agents/new", &agent).await.leads(),
        }
    }
}

/// A form that two people have open.
struct Case<'a> {
    page: &'a str,
    form: &'a str,
    /// The first person's change.
    first: (&'a str, &'a str),
    /// The second person's change.
    second: (&'a str, &'a str),
}

impl<'a> Case<'a> {
    /// A form on its own page.
    fn of(page: &'a str, first: (&'a str, &'a str), second: (&'a str, &'a str)) -> Self {
        Self {
            page,
            form: page,
            first,
            second,
        }
    }

    fn filled(&self, page: &Page, (name, value): (&str, &str)) -> Form {
        Form::of(page, self.form).with(name, value)
    }

    async fn run(&self, ana: &Browser, ben: &Browser) {
        let (page, form) = (self.page, self.form);
        let [of_ana, of_ben] = [ana.get(page).await, ben.get(page).await];
        let first = self.filled(&of_ana, self.first);
        assert_eq!(first.send(ana, form).await.leads(), page, "{form}");

        let refused = self.filled(&of_ben, self.second).send(ben, form).await;
        let refused = refused.assert(422);
        let said = plain(&refused.body);
        assert!(said.contains(STALE), "{form}: {said}");
        assert!(!refused.body.contains(SCRIPT));
        assert!(
            said.contains(self.second.1),
            "{form} has lost what was typed: {said}"
        );
        let stored = plain(&ana.get(page).await.body);
        let first = self.first.1.replace("\r\n", "\n");
        assert!(stored.contains(&first), "{form}: {stored}");

        // Sent again, it replaces the stored value.
        let again = Form::of(&refused, form).send(ben, form).await;
        assert_eq!(again.leads(), page, "{form}");
        let stored = ana.get(page).await;
        assert!(
            plain(&stored.body).contains(self.second.1),
            "{form}: {}",
            stored.body
        );
        // Sending the stored value again is accepted from any old page; any other value is refused.
        let same = self.filled(&of_ana, self.second).send(ana, form).await;
        assert_eq!(same.leads(), page, "{form}");
        let other = self.filled(&of_ana, self.first).send(ana, form).await;
        other.assert(422);
        // No page sends a form without a version.
        let bare = self.filled(&stored, self.first).with("shown_version", "");
        assert_eq!(bare.send(ana, form).await.leads(), page, "{form}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_replaces_unseen_what_somebody_else_has_stored() {
    let world = World::start().await;
    let (ana, ben) = two(&world).await;
    let records = Records::of(&world, &ana).await;
    let rename = format!("{}/name", records.agent);
    let widget = format!("{}/widget", records.agent);
    let analysis = format!("{}/analysis", records.agent);
    let schema = |name: &str| format!("{{\n  \"type\": \"object\",\n  \"title\": \"{name}\"\n}}");
    let (schema_of_ana, schema_of_ben) = (schema("Ana"), schema("Ben"));
    for case in [
        Case::of(&records.number, ("label", SCRIPT), ("label", "Night desk")),
        Case::of(
            &records.document,
            ("name", "Opening hours"),
            ("name", "Hours of winter"),
        ),
        Case::of(&records.folder, ("name", "Store"), ("name", "Market")),
        Case::of(
            &records.endpoint,
            ("description", "Our CRM"),
            ("url", "https://hooks.example.com/b"),
        ),
        Case::of(
            &records.tool,
            ("http.url", "https://orders.example.com/ana"),
            ("description", "Finds an order by its number."),
        ),
        Case {
            form: &rename,
            ..Case::of(&records.agent, ("name", "Day desk"), ("name", "Night desk"))
        },
        Case::of(
            &widget,
            ("allowed_origins", "https://a.example\r\nhttps://b.example"),
            ("max_sessions_per_minute", "77"),
        ),
        Case::of(
            &analysis,
            ("schema", &schema_of_ana),
            ("schema", &schema_of_ben),
        ),
    ] {
        case.run(&ana, &ben).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stale_form_is_refused_in_the_readers_language() {
    let world = World::start().await;
    let (ana, ben) = two(&world).await;
    let ben = ben.in_spanish();
    let records = Records::of(&world, &ana).await;
    let agent = records.agent.trim_start_matches("/agents/");
    let folder = records.folder.trim_start_matches("/knowledge/folders/");
    for (path, first, second) in [
        (&records.number, ("agent_id", agent), ("label", "Noche")),
        (
            &records.document,
            ("folder_id", folder),
            ("name", "Horario"),
        ),
    ] {
        let page = ben.get(path).await;
        let stored = Form::of(&ana.get(path).await, path).with(first.0, first.1);
        stored.send(&ana, path).await.leads();
        let typed = Form::of(&page, path).with(second.0, second.1);
        let refused = typed.send(&ben, path).await.assert(422);
        refused.shows(&[
            "Alguien cambió esto mientras editabas. Lo que escribiste sigue en el formulario, sin guardar. Si lo guardas, \
             reemplaza lo guardado.",
            &format!("value=\"{}\"", second.1),
        ]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_roles_are_not_given_to_one_member_unseen_nor_two_names_to_oneself() {
    let world = World::start().await;
    let (ana, ben) = two(&world).await;
    world.browser(MemberRole::Viewer).await;
    let team = ben.get("/team").await;
    let viewer = format!("viewer@{}.example", world.account);
    let row = team.body.split_once(&viewer).map(|(_, row)| row);
    let path = row.and_then(|row| row.split_once("action=\"/portal"));
    let path = path.and_then(|(_, path)| path.split('"').next());
    let path = path.unwrap_or_else(|| panic!("no form: {}", team.body));
    let role = |page: &Page, role: &str| Form::of(page, path).with("role", role);
    let given = role(&ana.get("/team").await, "developer");
    assert_eq!(given.send(&ana, path).await.leads(), "/team");
    let refused = role(&team, "admin").send(&ben, path).await;
    let refused = refused
        .assert(422)
        .shows(&[STALE, "value=\"admin\" selected"]);
    // A promoted member is beyond the other's permissions.
    let again = Form::of(&refused, path);
    role(&ana.get("/team").await, "owner")
        .send(&ana, path)
        .await
        .leads();
    again.send(&ben, path).await.assert(403);

    let (here, elsewhere) = (ben, world.browser_elsewhere(MemberRole::Admin).await);
    let page = here.get("/profile").await;
    let path = "/profile/name";
    let renamed = Form::of(&elsewhere.get("/profile").await, path).with("name", "Ben Ortiz");
    assert_eq!(renamed.send(&elsewhere, path).await.leads(), "/profile");
    let refused = Form::of(&page, path).with("name", "Benito");
    let refused = refused.send(&here, path).await.assert(422);
    let refused = refused.shows(&[STALE, "value=\"Benito\""]);
    let again = Form::of(&refused, path).send(&here, path).await;
    assert_eq!(again.leads(), "/profile");
    here.get("/team").await.shows(&["Benito"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_headers_value_that_somebody_else_has_replaced_is_not_replaced_unseen() {
    let world = World::start().await;
    let (ana, ben) = two(&world).await;
    let path = Records::of(&world, &ana).await.tool;
    let open = |browser: Page| Form::of(&browser, &path);
    let value = "http.headers[0].value";
    let mut pages = Vec::new();
    for _ in 0..3 {
        pages.push(open(ben.get(&path).await));
    }
    let stored = open(ana.get(&path).await).with(value, "of-Ana");
    assert_eq!(stored.send(&ana, &path).await.leads(), path);

    // An empty value keeps the stored secret, but the page showed another version of the tool.
    let kept = pages.remove(0).with("description", "Looks for an order.");
    let kept = kept.send(&ben, &path).await.assert(422).shows(&[STALE]);
    assert_eq!(open(kept).send(&ben, &path).await.leads(), path);
    let refused = pages.remove(0).with(value, "of-Ben");
    let refused = refused.with("description", "Looks for an order.");
    let refused = refused.send(&ben, &path).await.assert(422);
    let refused = refused.shows(&[STALE]);
    assert!(!refused.body.contains("of-Ana"), "{}", refused.body);
    assert_eq!(open(refused).send(&ben, &path).await.leads(), path);

    // Adding rows does not refresh the form: it keeps the version of the first page.
    let more = pages.remove(0).with("add", "http.headers");
    let more = more.send(&ben, &path).await.assert(200);
    let added = open(more)
        .with("description", "Looks for an order.")
        .with("http.headers[1].name", "X-More")
        .with("http.headers[1].value", "of-Ben");
    added.send(&ben, &path).await.assert(422).shows(&[STALE]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_editor_that_was_open_while_its_agent_was_renamed_leaves_the_name_alone() {
    let world = World::start().await;
    let (ana, ben) = two(&world).await;
    let agent = Records::of(&world, &ana).await.agent;
    let (edit, name) = (format!("{agent}/edit"), format!("{agent}/name"));
    let (page, other) = (ben.get(&edit).await, ben.get(&edit).await);
    let renamed = Form::of(&ana.get(&agent).await, &name).with("name", "Day desk");
    assert_eq!(renamed.send(&ana, &name).await.leads(), agent);

    let edited = Form::of(&page, &edit).with("first_message", "Good evening.");
    assert_eq!(edited.send(&ben, &edit).await.leads(), agent);
    let shown = ana.get(&agent).await;
    shown.shows(&["Day desk", "Good evening."]);

    let edited = Form::of(&other, &edit).with("name", "Night desk");
    let refused = edited.send(&ben, &edit).await.assert(422);
    let refused = refused.shows(&[STALE, "value=\"Night desk\""]);
    let again = Form::of(&refused, &edit).send(&ben, &edit).await;
    again.assert(422).shows(&["Someone saved version 2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_seen_is_sent_with_what_was_typed_after_signing_in_again() {
    let world = World::start().await;
    let ana = world.browser(MemberRole::Owner).await;
    let path = Records::of(&world, &ana).await.folder;
    let now = world.browser_elsewhere(MemberRole::Owner).await;
    let typed = Form::of(&ana.get(&path).await, &path).with("name", "Market");
    let ours = "\r\nOrigin: http://localhost:8080\r\nSec-Fetch-Site: same-origin";
    let open = ana.left_open_by(&now).saying(ours);
    let page = typed.send(&open, &path).await.assert(422);
    let page = page.shows(&["Submit now", "name=\"shown_version\" value=\""]);
    assert!(
        !page.body.contains("<dt>shown_version</dt>"),
        "nobody typed that: {}",
        page.body
    );
    let again = Form::of(&page, &path);
    let again = again.send(&now.reading(&page), &path).await;
    assert_eq!(again.leads(), path);
}
