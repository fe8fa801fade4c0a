//! Responses of ElevenLabs that violate its documentation: lists that never end, and absurd values in lists.

use offhook_engine::legacy::{LegacyAgent, LegacyError, LegacyProvider as _, LegacyReference};
use offhook_providers::ElevenLabsAgents;
use offhook_testkit::fakes::elevenlabs::{self as fake, AGENT, ElevenLabs, KEY, NUMBER};
use offhook_testkit::upstream::{Answer, ReceivedRequest, Upstream};
use serde_json::{Value, json};

const HANDLE: &str = "call_01928f7e-5a3b-7c4d-8e9f-0a1b2c3d4e5f";

/// A service whose list of agents has these pages, by cursor. Each agent is valid.
async fn listing(pages: Value) -> (Upstream, ElevenLabsAgents) {
    let upstream = Upstream::start(move |asked: &ReceivedRequest| {
        let answer = match asked.path.rsplit('/').next() {
            Some("agents") => pages[asked.parameter("cursor").unwrap_or_default()].clone(),
            Some("phone-numbers") => json!([]),
            id => fake::agent(id.unwrap_or_default(), "Reception"),
        };
        Answer::json(200, &answer)
    })
    .await;
    let provider = ElevenLabsAgents::new(&upstream.base_url()).unwrap();
    (upstream, provider)
}

fn ids(agents: &[LegacyAgent]) -> Vec<&str> {
    agents.iter().map(|agent| agent.id.as_str()).collect()
}

#[tokio::test]
async fn a_partial_list_of_agents_is_an_error() {
    let one = json!([{"agent_id": "agent_1"}]);
    let more = json!({"agents": one, "has_more": true, "next_cursor": "2"});
    for (first, second, pages) in [
        (json!({"agents": one}), json!(null), 1),
        (
            json!({"agents": one, "has_more": "true", "next_cursor": "2"}),
            json!(null),
            1,
        ),
        (json!({"agents": one, "has_more": true}), json!(null), 1),
        (
            json!({"agents": one, "has_more": true, "next_cursor": null}),
            json!(null),
            1,
        ),
        (more.clone(), json!({"agents": one}), 2),
        (more.clone(), more, 100),
        (json!({"agents": null, "has_more": false}), json!(null), 1),
        (
            json!({"agents": [{"name": "Nobody"}], "has_more": false}),
            json!(null),
            1,
        ),
    ] {
        let case = format!("{first} {second}");
        let (upstream, provider) = listing(json!({"": first, "2": second})).await;
        let listed = provider.agents(KEY).await;
        assert_eq!(listed, Err(LegacyError::Unknown), "{case}");
        assert_eq!(upstream.asked().len(), pages, "{case}");
    }
}

#[tokio::test]
async fn invalid_json_values_cost_their_field_or_turn() {
    for (odd, is_said) in [
        (r#""message":"Hi \ud83d""#.to_owned(), false),
        (r#""message":"Hi","cost":1e999"#.to_owned(), true),
        (r#""message":"Hi","interrupted":1e999"#.to_owned(), true),
        (r#""message":"Hi","role":"agent""#.to_owned(), false),
        (
            format!(
                r#""message":"Hi","tool_calls":{}{}"#,
                "[".repeat(200),
                "]".repeat(200)
            ),
            true,
        ),
    ] {
        let body = format!(
            r#"{{"conversation_id":"conv_1","status":"done","analysis":{{"transcript_summary":"\ude00"}},
                "transcript":[{{"role":"agent",{odd}}},{{"role":"user","message":"Bye"}}],
                "metadata":{{"start_time_unix_secs":10,"call_duration_secs":4,"cost":1e999}}}}"#
        );
        let told = body.clone();
        let upstream = Upstream::start(move |_| {
            Answer::bytes(200, "application/json", told.clone().into_bytes())
        })
        .await;
        let provider = ElevenLabsAgents::new(&upstream.base_url()).unwrap();
        let reference = LegacyReference {
            call: HANDLE.parse().unwrap(),
            conversation: Some("conv_1".to_owned()),
        };
        let progress = provider.progress(KEY, &reference).await.unwrap().unwrap();
        let end = progress.end.unwrap();
        assert_eq!(end.ended_at.unix_seconds(), 14, "{body}");
        assert_eq!(end.summary, "", "{body}");
        let said: Vec<&str> = progress
            .turns
            .iter()
            .map(|turn| turn.text.as_str())
            .collect();
        let expected: &[&str] = if is_said { &["Hi", "Bye"] } else { &["Bye"] };
        assert_eq!(said, expected, "{body}");
    }
}

#[tokio::test]
async fn an_agent_that_two_pages_have_is_there_once() {
    let named = |id: &str| json!({"agent_id": id});
    let pages = json!({
        "": {"agents": [named("agent_1"), named("agent_2")], "has_more": true, "next_cursor": "2"},
        "2": {"agents": [named("agent_2"), named("agent_3")], "has_more": false, "next_cursor": "3"},
    });
    let (upstream, provider) = listing(pages).await;
    let agents = provider.agents(KEY).await.unwrap();
    assert_eq!(ids(&agents), ["agent_1", "agent_2", "agent_3"]);
    // Two pages, the numbers, and each agent once.
    assert_eq!(upstream.asked().len(), 6);
}

#[tokio::test]
async fn an_absurd_value_costs_its_field_and_neither_the_agent_nor_the_list() {
    let service = ElevenLabs::start().await;
    {
        let mut state = service.state();
        let workspace = state.workspaces.get_mut(KEY).unwrap();
        let config = &mut workspace.agents.get_mut(AGENT).unwrap()["conversation_config"];
        config["agent"]["prompt"]["llm"] = json!({});
        config["agent"]["language"] = json!(["en"]);
        config["tts"] = json!("voice_1");
        for (id, odd) in [("agent_0002", json!(7)), ("agent_0003", json!([null]))] {
            let agent = json!({"agent_id": id, "name": {}, "conversation_config": odd});
            workspace.agents.insert(id.to_owned(), agent);
        }
        let mut labelless = fake::number("phnum_3", "+15005560003", "twilio", None);
        labelless["label"] = json!(3);
        labelless["assigned_agent"] = json!("agent_0002");
        workspace.numbers.extend([
            json!(null),
            json!("+15005560004"),
            json!({"phone_number_id": {}, "phone_number": "+15005560005", "provider": "twilio"}),
            json!({"phone_number_id": "phnum_6", "phone_number": 6, "provider": "twilio"}),
            json!({"phone_number_id": "phnum_7", "provider": "twilio"}),
            fake::number("phnum_8", "no number", "twilio", Some(AGENT)),
            fake::number("phnum_9", "+15005560009", "exotel", Some(AGENT)),
            labelless,
        ]);
    }
    let provider = ElevenLabsAgents::new(&service.base_url()).unwrap();
    let agents = provider.agents(KEY).await.unwrap();
    assert_eq!(ids(&agents), [AGENT, "agent_0002", "agent_0003"]);
    let first = &agents[0];
    let prompt = "You answer for the front desk.".to_owned();
    assert_eq!(first.system_prompt, Some(prompt));
    assert_eq!(first.model, None);
    assert_eq!(first.language, None);
    assert_eq!(first.voice_id, None);
    let numbers = first.phone_numbers.iter();
    let numbers: Vec<&str> = numbers.map(|own| own.number.as_str()).collect();
    assert_eq!(numbers, [NUMBER]);
    for nameless in &agents[1..] {
        assert_eq!(nameless.name, nameless.id);
        assert!(nameless.phone_numbers.is_empty());
    }
}

#[tokio::test]
async fn nul_is_removed_from_texts_and_makes_an_id_invalid() {
    let listed = ["agent_1", "agent\0_1", "agent_\u{0}2"].map(|id| json!({"agent_id": id}));
    let upstream = Upstream::start(move |asked: &ReceivedRequest| {
        let answer = match asked.path.rsplit('/').next() {
            Some("agents") => json!({"agents": listed, "has_more": false}),
            Some("phone-numbers") => json!([
                {"phone_number_id": "phnum_\u{0}1", "phone_number": "+15005560001", "provider": "twilio",
                 "assigned_agent": {"agent_id": "agent_1"}},
                {"phone_number_id": "phnum_2", "phone_number": NUMBER, "provider": "twilio", "label": "De\0sk",
                 "assigned_agent": {"agent_id": "agent_1"}},
            ]),
            id => fake::agent(id.unwrap_or_default(), "Na\0me"),
        };
        Answer::json(200, &answer)
    })
    .await;
    let provider = ElevenLabsAgents::new(&upstream.base_url()).unwrap();
    let agents = provider.agents(KEY).await.unwrap();
    assert_eq!(ids(&agents), ["agent_1"]);
    assert_eq!(agents[0].name, "Name");
    let labels = agents[0].phone_numbers.iter();
    let labels: Vec<&str> = labels.map(|own| own.label.as_str()).collect();
    assert_eq!(labels, ["Desk"]);
}
