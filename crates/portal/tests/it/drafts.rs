//! From a new agent to a published one: what it begins with, which voices and models are offered, what is found in its texts.

use std::collections::BTreeMap;
use std::time::Duration;

use offhook_domain::{AgentConfig, AgentId, Json, MemberRole};
use offhook_providers::{
    ProviderSettings, SpeechProgram, SpeechProvider, SpeechRegistry, SpeechTransport,
};
use tempfile::TempDir;

use crate::it::form::{Form, plain};
use crate::it::world::{Browser, Page, World, must};

async fn developer(world: &World) -> Browser {
    world.browser(MemberRole::Developer).await
}

async fn made(browser: &Browser, fields: &[(&str, &str)]) -> String {
    browser.post("/agents/new", fields).await.leads()
}

/// The newest configuration of an agent.
async fn config(world: &World, path: &str) -> AgentConfig {
    let id: AgentId = must(path.trim_start_matches("/agents/").parse());
    let view = must(world.services.agents().get(world.account, id).await);
    let Some(Json::Object(mut members)) = view.config else {
        panic!("no configuration");
    };
    members.retain(|(name, _)| name != "version");
    must(AgentConfig::from_json(
        &Json::Object(members),
        "config",
        "en",
    ))
}

/// A program that speaks 10 samples with each of two voices, and one that listens.
fn programs(folder: &TempDir) -> SpeechRegistry {
    let mut wav = b"RIFF\x38\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\x14\0\0\0".to_vec();
    wav.extend([1; 20]);
    let file = folder.path().join("spoken.wav");
    must(std::fs::write(&file, wav));
    let speak = format!("cat >/dev/null; cat {}", file.display());
    let program = |command: &[&str]| SpeechProgram {
        command: command.iter().map(|word| (*word).to_owned()).collect(),
        sample_rate: 16_000,
        limit: Duration::from_secs(5),
        at_once: 2,
    };
    let local = SpeechProvider::Exec {
        listen: Some(program(&["/bin/true"])),
        speak: Some(program(&["/bin/sh", "-c", &speak, "{voice}"])),
    };
    let voices = ["slt", "awb"].map(str::to_owned).to_vec();
    let registry = must(SpeechRegistry::new([("local".to_owned(), local)]));
    registry.with_voices(BTreeMap::from([("local".to_owned(), voices)]))
}

/// Cloud speech, which nothing here calls.
fn cloud() -> SpeechRegistry {
    let there = || ProviderSettings {
        base_url: "http://127.0.0.1:1".to_owned(),
        api_key: Some("key".to_owned()),
    };
    must(SpeechRegistry::new([
        ("deepgram".to_owned(), SpeechProvider::Deepgram(there())),
        (
            "provider_b".to_owned(),
            SpeechProvider::Cartesia(there(), SpeechTransport::Http),
        ),
    ]))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_agent_is_published_as_it_is_in_every_mode() {
    let folder = must(tempfile::tempdir());
    let silent = must(SpeechRegistry::new(Vec::new()));
    for (world, voice) in [
        (World::start().await, [None, None]),
        (
            World::start_spoken(programs(&folder)).await,
            [Some("local"), Some("slt")],
        ),
        (
            World::start_spoken(cloud()).await,
            [Some("provider_b"), Some("")],
        ),
        (World::start_spoken(silent).await, [Some("scripted"), None]),
    ] {
        let ana = developer(&world).await;
        for language in ["es-MX", "en-US"] {
            let path = made(&ana, &[("name", "Nora"), ("language", language)]).await;
            let publish = format!("{path}/versions/1/publish");
            ana.sends(&publish, &[], &path).await;
            let chosen = config(&world, &path).await.voice;
            assert_eq!(chosen.provider.as_deref(), voice[0]);
            match voice[1] {
                Some("") => assert!(chosen.voice_id.is_some()),
                id => assert_eq!(chosen.voice_id.as_deref(), id),
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_template_is_published_at_once_and_has_the_description_of_the_business() {
    let world = World::start().await;
    let ana = developer(&world).await;
    let page = ana.get("/agents/new").await.assert(200);
    let ids = page.body.split("name=\"template\" value=\"").skip(1);
    let ids: Vec<&str> = ids.filter_map(|rest| rest.split('"').next()).collect();
    assert_eq!(ids.len(), 6);
    for id in ids {
        for (language, business) in [
            ("en-US", "We repair bicycles."),
            ("es-MX", "Arreglamos bicicletas."),
        ] {
            let fields = [
                ("template", id),
                ("name", "Nora"),
                ("language", language),
                ("business", business),
            ];
            let path = made(&ana, &fields).await;
            let publish = format!("{path}/versions/1/publish");
            ana.sends(&publish, &[], &path).await;
            let config = config(&world, &path).await;
            assert!(config.system_prompt.contains(business), "{id}");
            assert!(!config.first_message.is_empty(), "{id}");
            assert!(config.unset_variables().is_empty(), "{id}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_language_is_chosen_or_typed_and_english_is_not_one() {
    let world = World::start().await;
    let ana = developer(&world).await;
    let typed = |tag: &'static str| {
        [
            ("name", "Nora"),
            ("language", "other"),
            ("language.other", tag),
        ]
    };
    ana.refused(
        "/agents/new",
        &typed("english"),
        &[
            "Language: <code>english</code> is not a registered language: begin with its code",
            "value=\"english\"",
        ],
    )
    .await;
    let path = made(&ana, &typed("nl-BE")).await;
    assert_eq!(config(&world, &path).await.language, "nl-BE");
    let edit = format!("{path}/edit");
    let page = ana.get(&edit).await.assert(200);
    let page = page.shows(&[
        "<option value=\"nl-BE\" selected>",
        "<option value=\"es-MX\">Español (México)",
    ]);
    let form = Form::of(&page, &edit)
        .with("voice.language", "other")
        .with("voice.language.other", "klingon");
    let page = form.send(&ana, &edit).await.assert(422);
    page.shows(&[
        "Text-to-speech voice, Spoken language: <code>klingon</code> is not a registered language",
    ]);
}

#[tokio::test(flavor = "multi_thread")]
async fn voices_of_this_service_are_found_and_heard_and_others_say_why_not() {
    let folder = must(tempfile::tempdir());
    let world = World::start_spoken(programs(&folder)).await;
    let ana = developer(&world).await;
    let path = made(&ana, &[("name", "Nora"), ("language", "en-US")]).await;
    let edit = format!("{path}/edit");
    let page = ana.get(&edit).await.assert(200);
    let page = page.shows(&[
        "value=\"local|slt\"",
        "value=\"local|awb\"",
        "ElevenLabs – add your key in Settings",
        "<option value=\"provider_a\" disabled>",
        "<option value=\"openai|gpt-4.1\" disabled>",
    ]);
    for (q, found) in [("local", true), ("AWB", true), ("slt", false)] {
        let form = Form::of(&page, &edit)
            .with("voices-q", q)
            .with("add", "voice.search");
        let shown = form.send(&ana, &edit).await.assert(200);
        assert_eq!(shown.body.contains("value=\"local|awb\""), found, "{q}");
    }
    let form = Form::of(&page, &edit)
        .with("voices-q", "a")
        .with("add", "voice.search");
    let shown = form.send(&ana, &edit).await.assert(200);
    let (_, provider_b) = shown
        .body
        .split_once("value=\"provider_b|")
        .unwrap_or_default();
    assert!(
        provider_b
            .split('>')
            .next()
            .unwrap_or_default()
            .contains("disabled")
    );

    let speak = async |voice: &str| {
        let fields = [("preview", voice), ("language", "en-US")];
        ana.post("/voices/preview", &fields).await
    };
    let heard = speak("local|awb").await.assert(200);
    assert_eq!(heard.header("content-type"), Some("audio/wav"));
    let refused = speak("provider_b|x").await;
    refused
        .assert(400)
        .shows(&["and the account has no key for it"]);
    for _ in 0..18 {
        let _ = speak("provider_b|x").await;
    }
    speak("local|awb")
        .await
        .assert(409)
        .shows(&["Too many previews and drafts in this minute"]);
    world.clock.advance(Duration::from_secs(60));
    speak("local|awb").await.assert(200);
    let eva = world.browser(MemberRole::Viewer).await;
    eva.post("/voices/preview", &[("preview", "local|awb")])
        .await
        .assert(403);

    let picked = Form::of(&page, &edit)
        .with("voice.pick", "local|awb")
        .with("llm.pick", "scripted|scripted")
        .with("publish", "on");
    assert_eq!(picked.send(&ana, &edit).await.leads(), path);
    let voice = config(&world, &path).await.voice;
    assert_eq!(voice.voice_id.as_deref(), Some("awb"));
}

#[tokio::test(flavor = "multi_thread")]
async fn names_in_braces_are_offered_as_variables_and_filled_in_when_it_is_tried() {
    let world = World::start().await;
    let ana = developer(&world).await;
    let path = made(&ana, &[("name", "Nora"), ("language", "en-US")]).await;
    let edit = format!("{path}/edit");
    let texts = |page: &Page| {
        Form::of(page, &edit)
            .with("system_prompt", "Help {{customer}} on {{day}}.")
            .with("first_message", "Hello {{customer}}!")
    };
    let page = ana.get(&edit).await.assert(200);
    let found = texts(&page).with("add", "dynamic_variables.found");
    let page = found.send(&ana, &edit).await.assert(200);
    let page = page.shows(&[
        "name=\"dynamic_variables[0].name\" value=\"customer\"",
        "name=\"dynamic_variables[1].name\" value=\"day\"",
        "No default, so empty in calls that do not set them",
    ]);
    // With a default it is a variable; without one nothing is saved of it.
    let form = texts(&page)
        .with("dynamic_variables[1].default", "Monday")
        .with("publish", "on");
    let saved = form.send(&ana, &edit).await;
    assert!(
        saved
            .header("set-cookie")
            .is_some_and(|notice| notice.contains("customer"))
    );
    assert_eq!(saved.leads(), path);
    let saved = config(&world, &path).await;
    assert_eq!(saved.unset_variables(), ["customer"]);
    assert_eq!(saved.dynamic_variables.len(), 1);
    let page = ana.get(&edit).await.assert(200);
    assert_eq!(Form::of(&page, &edit).send(&ana, &edit).await.leads(), path);
    assert_eq!(config(&world, &path).await, saved);

    let id = path.trim_start_matches("/agents/");
    for tried in ["/try/chat", "/try/call"] {
        let page = ana.get(&format!("{tried}?agent={id}")).await.assert(200);
        page.shows(&[
            "name=\"var.customer\"",
            "name=\"var.day\"",
            "If empty: Monday",
        ]);
    }
    let fields = [("agent", id), ("var.customer", "Ana"), ("var.day", "")];
    let chat = ana.post("/try/chat", &fields).await.leads();
    ana.sees(&chat, &["Hello Ana!"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_published_head_lacks_is_shown_in_its_editor_and_a_fault_in_json_by_its_line() {
    let world = World::start().await;
    let ana = developer(&world).await;
    let path = made(&ana, &[("name", "Nora"), ("language", "en-US")]).await;
    let json = format!("{path}/json");
    let page = ana.get(&json).await.assert(200);
    let form = |text: &str| Form::of(&page, &json).with("config", text);
    let wrong = form("{\n \"first_message\": \"Hi\",\n \"llm\": {\n  \"temperature\": 9}\n}");
    let wrong = wrong.send(&ana, &json).await.assert(422);
    wrong.shows(&["Line 4: <code>config.llm.temperature</code>: must be a number"]);
    assert_eq!(form("{}").send(&ana, &json).await.leads(), path);
    let publish = format!("{path}/versions/2/publish");
    let page = ana.post(&publish, &[]).await.assert(422);
    page.shows(&[
        "3 things to fix:",
        "href=\"#field-system_prompt\"",
        "href=\"#field-llm.provider\"",
        "href=\"#field-llm.model\"",
        "name=\"first_message\"",
    ]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_is_duplicated_and_two_versions_are_chosen_to_be_compared() {
    let world = World::start().await;
    let ana = developer(&world).await;
    let path = made(&ana, &[("name", "Nora"), ("language", "es-MX")]).await;
    let versions = format!("{path}/versions");
    let page = ana.get(&versions).await.assert(200);
    assert!(
        !page.body.contains("/diff"),
        "one version is compared with none"
    );
    let edit = format!("{path}/edit");
    let form = Form::of(&ana.get(&edit).await, &edit).with("first_message", "Hi");
    assert_eq!(form.send(&ana, &edit).await.leads(), path);
    for page in [versions.clone(), format!("{path}/diff?from=2&to=2")] {
        let page = ana.get(&page).await.assert(200);
        let page = plain(&page.body);
        assert!(
            page.contains("<option value=\"1\" selected>1</option>"),
            "{page}"
        );
        assert!(
            page.contains("<option value=\"2\" selected>2 (latest)</option>"),
            "{page}"
        );
    }
    let copy = ana.post(&format!("{path}/duplicate"), &[]).await.leads();
    ana.sees(&copy, &["Copy of Nora", "Draft"]).await;
    assert_eq!(config(&world, &copy).await, config(&world, &path).await);
}
