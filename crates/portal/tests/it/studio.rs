//! Drafts that are tried beside their editor.

use std::time::Duration;

use offhook_domain::MemberRole;

use crate::it::form::{Form, plain};
use crate::it::world::{Browser, Page, World, must};

/// The developer, and the path of an agent of which nothing was published.
async fn studio(world: &World) -> (Browser, String) {
    let ana = world.browser(MemberRole::Developer).await;
    let fields = [("name", "Front desk"), ("language", "en-US")];
    let path = ana.post("/agents/new", &fields).await.leads();
    (ana, path)
}

/// The panel's conversation as the page holds it.
fn turns(panel: &Page) -> String {
    let (_, rest) = must(
        panel
            .body
            .split_once("name=\"trial.turns\" value=\"")
            .ok_or("no turns"),
    );
    plain(rest.split('"').next().unwrap_or_default())
}

struct Trial<'a> {
    ana: &'a Browser,
    path: &'a str,
    form: Form,
}

impl<'a> Trial<'a> {
    async fn of(ana: &'a Browser, path: &'a str) -> Self {
        let edit = format!("{path}/edit");
        let page = ana.get(&edit).await.assert(200);
        let form = Form::of(&page, &edit);
        Self { ana, path, form }
    }

    fn with(self, name: &str, value: &str) -> Self {
        let form = self.form.with(name, value);
        Self { form, ..self }
    }

    async fn says(&self, fields: &[(&str, &str)]) -> Page {
        let all = self.form.with_all(fields);
        let all: Vec<_> = all
            .iter()
            .map(|(name, value)| (&**name, &**value))
            .collect();
        let path = format!("{}/trial", self.path);
        self.ana.post_part(&path, &all).await.assert(200)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unsaved_draft_answers_beside_its_editor_and_leaves_nothing_behind() {
    let world = World::start().await;
    let (ana, path) = studio(&world).await;
    let trial = Trial::of(&ana, &path).await;
    let trial = trial
        .with(
            "system_prompt",
            "say: We open at nine.\nsay: Until eight, {{name}}.",
        )
        .with("first_message", "Hello {{name}}.");
    let asked = [
        ("trial.text", "When do you open?"),
        ("trial.variables", "name=<b>Ana</b>"),
    ];
    let panel = trial.says(&asked).await;
    let first = turns(&panel);
    let panel = panel.shows(&[
        "Hello &lt;b&gt;Ana&lt;/b&gt;.",
        "When do you open?",
        "We open at nine.",
        "ms in all",
    ]);
    drop(panel);
    let more = [
        ("trial.text", "Until when?"),
        ("trial.variables", "name=Ana"),
        ("trial.turns", &first),
    ];
    let panel = trial
        .says(&more)
        .await
        .shows(&["We open at nine.", "Until eight, Ana."]);

    // Asked again from the first question, with another prompt: what came after it is gone.
    let second = turns(&panel);
    let trial = trial.with("system_prompt", "say: At ten.");
    let again = [("trial.again", "1"), ("trial.turns", &second)];
    let panel = trial
        .says(&again)
        .await
        .shows(&["When do you open?", "At ten."]);
    assert!(
        !panel.body.contains("Until eight") && !panel.body.contains("at nine"),
        "{}",
        panel.body
    );
    let reset = [("trial.reset", "on"), ("trial.turns", &turns(&panel))];
    assert_eq!(turns(&trial.says(&reset).await), "[]");

    let key = world.key().await;
    let list = world
        .api(&key, "GET", "/v1/conversations", "")
        .await
        .assert(200);
    assert!(list.body.contains("\"data\":[]"), "{}", list.body);
    let wallet = world.api(&key, "GET", "/v1/billing/credits", "").await;
    assert!(wallet.body.contains("100000"), "{}", wallet.body);
    ana.sees(&path, &["Draft", "Latest version"]).await;
    let versions = ana.get(&format!("{path}/versions")).await;
    assert!(!versions.body.contains("versions/2"), "{}", versions.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draft_that_cannot_answer_names_its_field() {
    let world = World::start().await;
    let (ana, path) = studio(&world).await;
    let trial = Trial::of(&ana, &path).await;
    let say = [("trial.text", "Hello?")];
    let hot = trial.with("llm.temperature", "7");
    hot.says(&say)
        .await
        .shows(&["href=\"#field-llm.temperature\"", "value=\"Hello?\""]);
    let mute = hot.with("llm.temperature", "1").with("system_prompt", "");
    mute.says(&say)
        .await
        .shows(&["href=\"#field-system_prompt\""]);
    let silent = mute.with("system_prompt", "say: Hi.");
    silent.says(&[]).await.shows(&["Message"]);
    let bad = [("trial.text", "Hi"), ("trial.variables", "nobody")];
    silent.says(&bad).await.shows(&["Variables, line 1"]);
    let odd = [("trial.text", "Hi"), ("trial.turns", "{not json")];
    silent.says(&odd).await.shows(&["Hi."]);
}

#[tokio::test(flavor = "multi_thread")]
async fn trials_are_for_those_who_build_and_end_for_the_day() {
    let world = World::start().await;
    let (ana, path) = studio(&world).await;
    let (trial, talk) = (format!("{path}/trial"), format!("{path}/talk"));
    let say = [("trial.text", "Hello?")];
    world
        .stranger()
        .await
        .post_part(&trial, &say)
        .await
        .assert(404);
    let viewer = world.browser(MemberRole::Viewer).await;
    viewer.post_part(&trial, &say).await.assert(403);
    viewer.get(&talk).await.assert(403);
    ana.get(&talk).await.assert(400);

    // Without a script it is a page, on the saved draft.
    ana.post(&trial, &say)
        .await
        .assert(200)
        .shows(&["<h1>Try Front desk", "Hello?"]);

    let store = world.services.store();
    let day = offhook_domain::Clock::now(&world.clock).utc_day();
    let used = [offhook_services::TRIAL_REPLIES - 1, 0, 0];
    assert!(must(
        store
            .count_trial(world.account, day, used, [i32::MAX, 0, 0])
            .await
    ));
    let page = ana.post_part(&trial, &say).await.assert(200);
    page.shows(&["1000 trial replies of today are used up"]);
    world.clock.advance(Duration::from_secs(86_400));
    let ana = world.browser_elsewhere(MemberRole::Developer).await;
    ana.post_part(&trial, &say)
        .await
        .assert(200)
        .shows(&["ms in all"]);
}
