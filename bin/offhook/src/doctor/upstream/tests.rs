//! What is said of each configured upstream, against fakes of them.

use offhook_testkit::fakes::voices::VoiceCatalog;
use offhook_testkit::upstream::{Answer, Fault, UPSTREAM_WORDS, Upstream};
use serde_json::json;

use super::super::finding::{Finding, State};
use super::super::{models, speech, voices};
use crate::settings::{Flags, Settings};

fn settings(variables: &[(&str, &str)]) -> Settings {
    let variables = variables
        .iter()
        .map(|(name, value)| (format!("OFFHOOK_{name}").into(), value.into()));
    Settings::from_parts(Flags::default(), variables).unwrap()
}

fn described(findings: &[Finding]) -> Vec<(&'static str, State, &str)> {
    let described = findings
        .iter()
        .map(|one| (one.hop.0, one.state, one.sentence.as_str()));
    described.collect()
}

#[tokio::test]
async fn what_is_not_configured_is_not_asked() {
    let none = settings(&[]);
    assert!(models::look(&none).await.is_empty());
    assert!(models::vectors(&none).await.is_none());
    assert!(speech::look(&none).await.is_empty());
    assert!(voices::look(&none).await.is_empty());
}

#[tokio::test]
async fn each_catalog_of_voices_is_asked_for_its_beginning_with_its_key() {
    let catalog = VoiceCatalog::start().await;
    catalog.set("k-1", vec![json!({"voice_id": "v"})]);
    let url = catalog.upstream().base_url();
    let found = voices::look(&settings(&[
        ("VOICES__PROVIDER_A__BASE_URL", &url),
        ("VOICES__PROVIDER_A__API_KEY", "k-1"),
        ("VOICES__PROVIDER_B__BASE_URL", &url),
        ("VOICES__PROVIDER_B__API_KEY", "k-1"),
        ("VOICES__PROVIDER_C__BASE_URL", &url),
        ("VOICES__PROVIDER_C__API_KEY", "k-1"),
    ]))
    .await;
    let places = described(&found);
    assert_eq!(places.len(), 3);
    for ((hop, state, sentence), provider) in places.iter().zip(["a", "b", "c"]) {
        assert_eq!((*hop, *state), ("voices", State::Good), "{sentence}");
        let begins = format!(
            "`voices.provider_{provider}`: {} lists voices, after ",
            &url[7..]
        );
        assert!(sentence.starts_with(&begins), "{sentence}");
    }
    let targets = catalog.upstream().asked().into_iter();
    let mut targets: Vec<String> = targets
        .map(|one| format!("{}?{}", one.path, one.query))
        .collect();
    targets.sort();
    assert_eq!(
        targets,
        ["/v1/models?", "/v2/voices?page_size=1", "/voices?limit=1"]
    );
}

#[tokio::test]
async fn every_fault_is_told_with_the_setting_and_the_remedy_and_without_what_was_said() {
    let section = "`voices.provider_b`: ";
    for (fault, message) in [
        (
            Fault::Close,
            "closes the connection without a whole answer: see that nothing",
        ),
        (Fault::CutBody, "`voices.provider_b.base_url`"),
        (
            Fault::Status(302),
            "answers with 302, where it should list voices: correct `voices.provider_b.base_url`",
        ),
        (
            Fault::Status(401),
            "does not know the key: correct `voices.provider_b.api_key`",
        ),
        (Fault::Status(403), "may not list voices: allow it there"),
        (
            Fault::Status(404),
            "answers with 404, where it should list voices",
        ),
        (
            Fault::Status(422),
            "answers with 422, where it should list voices",
        ),
        (Fault::RetryAfter(429, 60), "see the limits of its plan"),
        (
            Fault::Status(500),
            "a fault of its own: see its status page",
        ),
        (
            Fault::Malformed,
            "not as such a service does: correct `voices.provider_b.base_url`",
        ),
    ] {
        let state = match fault {
            Fault::RetryAfter(..) => State::Warning,
            _ => State::Failed,
        };
        let catalog = VoiceCatalog::start().await;
        catalog.set("k-1", Vec::new());
        catalog.upstream().fail("GET", "/voices", fault, 9);
        let url = catalog.upstream().base_url();
        let settings = settings(&[
            ("VOICES__PROVIDER_B__BASE_URL", &url),
            ("VOICES__PROVIDER_B__API_KEY", "k-1"),
        ]);
        let found = voices::look(&settings).await;
        let (_, found, sentence) = described(&found)[0];
        assert_eq!(found, state, "{sentence}");
        assert!(
            sentence.starts_with(section) && sentence.contains(message),
            "{sentence}"
        );
        assert!(
            !sentence.contains(UPSTREAM_WORDS) && !sentence.contains("k-1"),
            "{sentence}"
        );
        assert_eq!(catalog.upstream().asked().len(), 1, "{fault:?}");
    }
}

#[tokio::test]
async fn a_service_that_cannot_be_reached_is_told_by_how() {
    let down = Upstream::start(|_| Answer::empty(200)).await;
    let (url, encrypted) = (down.base_url(), down.base_url().replace("http:", "https:"));
    let look = async |url: &str| {
        let found = models::look(&settings(&[("MODELS__LOCAL__BASE_URL", url)])).await;
        let (hop, state, sentence) = described(&found)[0];
        assert_eq!((hop, state), ("models", State::Failed), "{sentence}");
        sentence.to_owned()
    };
    let sentence = look(&encrypted).await;
    assert!(
        sentence.contains("TLS with it fails: see that its certificate"),
        "{sentence}"
    );
    down.stop();
    let sentence = look(&url).await;
    let says = format!(
        "`models.local`: {} cannot be asked, as no connection can be made: see that it runs and the firewall lets this \
         machine out to it, or correct `models.local.base_url`",
        down.address()
    );
    assert_eq!(sentence, says);
    let sentence = look("http://nowhere.invalid/v1").await;
    assert!(
        sentence.contains("nowhere.invalid cannot be asked, as "),
        "{sentence}"
    );
}

#[tokio::test]
async fn models_and_speech_are_asked_for_what_they_list_and_a_service_without_a_list_is_warned_of()
{
    let service = Upstream::start(|asked| {
        let wants = |name: &str, value: &str| asked.header(name) == Some(value);
        let knows = match asked.path.as_str() {
            "/v1/models" => {
                wants("authorization", "Bearer sk-1") || wants("authorization", "Token dg-1")
            }
            "/v2/voices" => wants("xi-api-key", "xi-1"),
            "/voices" => {
                wants("authorization", "Bearer ca-1") && asked.header("cartesia-version").is_some()
            }
            _ => return Answer::empty(404),
        };
        Answer::json(if knows { 200 } else { 401 }, &json!({"data": []}))
    })
    .await;
    let (url, v1) = (service.base_url(), format!("{}/v1", service.base_url()));
    let completions = format!("{v1}/chat/completions");
    let all = settings(&[
        ("MODELS__LOCAL__BASE_URL", &url),
        ("MODELS__OPENAI__BASE_URL", &completions),
        ("MODELS__OPENAI__API_KEY", "sk-1"),
        ("SPEECH__DEEPGRAM__KIND", "deepgram"),
        ("SPEECH__DEEPGRAM__BASE_URL", &url),
        ("SPEECH__DEEPGRAM__API_KEY", "dg-1"),
        ("SPEECH__ELEVENLABS__KIND", "elevenlabs"),
        ("SPEECH__ELEVENLABS__BASE_URL", &url),
        ("SPEECH__ELEVENLABS__API_KEY", "xi-1"),
        ("SPEECH__OPENAI__KIND", "openai"),
        ("SPEECH__OPENAI__BASE_URL", &v1),
        ("SPEECH__PROVIDER_B__KIND", "cartesia"),
        ("SPEECH__PROVIDER_B__BASE_URL", &url),
        ("SPEECH__PROVIDER_B__API_KEY", "ca-1"),
    ]);
    let found = models::look(&all).await;
    let [(_, local, missing), (_, openai, listed)] = described(&found)[..] else {
        panic!("{found:?}");
    };
    assert_eq!(
        (local, openai),
        (State::Warning, State::Good),
        "{missing} {listed}"
    );
    assert!(
        missing.contains("answers with 404: it has no list of models"),
        "{missing}"
    );
    assert!(listed.contains("lists models, after "), "{listed}");
    let found = speech::look(&all).await;
    let states: Vec<_> = described(&found)
        .iter()
        .map(|(_, state, _)| *state)
        .collect();
    let good = State::Good;
    assert_eq!(states, [good, good, State::Failed, good], "{found:?}");
    assert!(
        found[2]
            .sentence
            .ends_with("as it wants a key: set `speech.openai.api_key`"),
        "{found:?}"
    );
}

#[tokio::test]
async fn programs_that_are_not_there_are_told_with_their_setting() {
    let found = speech::look(&settings(&[
        ("SPEECH__LOCAL__KIND", "exec"),
        ("SPEECH__LOCAL__LISTEN__COMMAND", "/nowhere/listen,{file}"),
        ("SPEECH__LOCAL__SPEAK__COMMAND", "/bin/sh,-c"),
    ]))
    .await;
    assert_eq!(
        described(&found),
        [(
            "speech",
            State::Failed,
            "no program that this user may run is at `speech.local.listen.command`: /nowhere/listen: install it, or \
             correct the setting"
        )]
    );
}

#[tokio::test]
async fn one_vector_is_asked_for_and_its_absence_told() {
    let service = Upstream::start(|asked| match asked.json()["model"].as_str() {
        Some("small") => {
            let data = json!([{"object": "embedding", "index": 0, "embedding": [0.5, 0.5, 0.1]}]);
            Answer::json(
                200,
                &json!({"object": "list", "data": data, "model": "small"}),
            )
        }
        _ => Answer::json(404, &json!({"error": UPSTREAM_WORDS})),
    })
    .await;
    let url = service.base_url();
    let look = async |model: &str| {
        let settings = settings(&[
            ("KNOWLEDGE__EMBEDDINGS__BASE_URL", &url),
            ("KNOWLEDGE__EMBEDDINGS__MODEL", model),
        ]);
        models::vectors(&settings).await.unwrap()
    };
    let good = look("small").await;
    assert_eq!(
        (good.state, good.sentence.as_str()),
        (State::Good, "`small` makes vectors of 3 numbers")
    );
    let absent = look("large").await;
    assert_eq!(
        (absent.state, absent.sentence.as_str()),
        (
            State::Failed,
            "`large` makes no vectors, so that documents are found by their words alone (the service answered with 404): \
             correct `knowledge.embeddings.model`, `.dimensions` or `.base_url`"
        )
    );
}
