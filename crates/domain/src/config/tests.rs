use proptest::collection::{hash_map, hash_set, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::*;
use crate::json::strategies::{scalar, text};
use uuid::Uuid;

fn parsed(text: &str) -> Json {
    Json::parse(text.as_bytes()).unwrap()
}

fn read(text: &str) -> Result<ConfigWrite, String> {
    ConfigWrite::from_json(&parsed(text), "config", "es-MX").map_err(|e| e.to_string())
}

fn config(text: &str) -> AgentConfig {
    read(text).unwrap().config
}

#[test]
fn every_fault_of_a_configuration_is_told_at_once() {
    let json = parsed(
        r#"{"system_prompt": 1, "colour": "red", "llm": {"temperature": "warm", "model": "m", "fallback": [{}, 1]},
            "dynamic_variables": {"a.b": {"default": []}}, "conversation": {"turns": 5, "calling_hours": {"days": [9]},
            "max_duration_s": 60}}"#,
    );
    let (config, faults) = AgentConfig::with_faults(&json, "config", "es-MX");
    let paths: Vec<&str> = faults.iter().map(|fault| fault.path.as_str()).collect();
    let expected = [
        "config.system_prompt",
        "config.llm.temperature",
        "config.llm.fallback[0].provider",
        "config.dynamic_variables.a.b.default",
        "config.conversation.turns",
        "config.conversation.calling_hours.timezone",
        "config.colour",
    ];
    assert_eq!(paths, expected);
    assert_eq!(config.llm.model.as_deref(), Some("m"));
    assert_eq!(config.conversation.max_duration_s, 60);
    let (config, faults) = AgentConfig::with_faults(&parsed("[]"), "config", "es-MX");
    assert_eq!((config, faults.len()), (AgentConfig::new("es-MX"), 1));
}

#[test]
fn an_empty_configuration_shows_every_field_with_its_default() {
    assert_eq!(
        config("{}").to_stored(),
        concat!(
            r#"{"system_prompt":"","first_message":"","language":"es-MX","#,
            r#""llm":{"provider":null,"model":null,"temperature":0.7,"routing":"fixed","fallback":[],"endpoint":null},"#,
            r#""stt":{"provider":null,"model":null,"language":null,"settings":{},"sample_rate":null},"#,
            r#""voice":{"provider":null,"model":null,"voice_id":null,"language":null,"fallback_voices":{},"settings":{},"sample_rate":null},"#,
            r#""knowledge_base":{"doc_ids":[],"folder_ids":[],"mode":"off","top_k":4},"#,
            r#""dynamic_variables":{},"#,
            r#""conversation":{"max_duration_s":600,"recording":{"enabled":false,"consent_text":null},"#,
            r#""turns":{"endpointing_ms":700,"interruptions":true,"silence_timeout_s":20,"voicemail":"hang_up"},"#,
            r#""audio":{"ambient":null,"speed":1},"pronunciation":[],"calling_hours":null},"#,
            r#""tool_ids":[]}"#,
        )
    );
    assert_eq!(config("{}"), AgentConfig::new("es-MX"));
}

#[test]
fn each_fault_is_named_by_its_path() {
    let long = |chars: usize| "x".repeat(chars);
    let cases = [
        ("[]".to_owned(), "`config`: must be an object"),
        (r#"{"x":1}"#.to_owned(), "`config.x`: unknown field"),
        (r#"{"x":null}"#.to_owned(), "`config.x`: unknown field"),
        (r#"{"llm":{"x":1}}"#.to_owned(), "`config.llm.x`: unknown field"),
        (r#"{"version":"1"}"#.to_owned(), "`config.version`: must be an integer from 0 to 2147483647"),
        (format!(r#"{{"system_prompt":"{}"}}"#, long(100_001)), "`config.system_prompt`: longer than 100000 characters"),
        (format!(r#"{{"system_prompt":"{}"}}"#, "{{a}}".repeat(501)), "`config.system_prompt`: more than 500 `{{`"),
        (format!(r#"{{"first_message":"{}"}}"#, long(2_001)), "`config.first_message`: longer than 2000 characters"),
        (r#"{"language":"es_MX"}"#.to_owned(), "`config.language`: must be a BCP 47 language tag, such as es-MX"),
        (r#"{"llm":{"provider":""}}"#.to_owned(), "`config.llm.provider`: must not be empty"),
        (r#"{"llm":{"temperature":2.1}}"#.to_owned(), "`config.llm.temperature`: must be a number from 0 to 2"),
        (r#"{"llm":{"routing":"slow"}}"#.to_owned(), "`config.llm.routing`: must be `fixed` or `fastest`"),
        (r#"{"llm":{"fallback":[{"provider":"a"}]}}"#.to_owned(), "`config.llm.fallback[0].model`: is required"),
        (r#"{"llm":{"fallback":[1]}}"#.to_owned(), "`config.llm.fallback[0]`: must be an object"),
        (format!(r#"{{"llm":{{"fallback":[{}1]}}}}"#, "1,".repeat(5)), "`config.llm.fallback`: more than 5 items"),
        (r#"{"stt":{"sample_rate":44100}}"#.to_owned(), "`config.stt.sample_rate`: must be 8000, 16000 or 24000"),
        (r#"{"stt":{"settings":[]}}"#.to_owned(), "`config.stt.settings`: must be an object"),
        (format!(r#"{{"voice":{{"settings":{{"a":"{}"}}}}}}"#, long(16_384)), "`config.voice.settings`: larger than 16384 bytes of compact JSON"),
        (r#"{"voice":{"fallback_voices":{"p":1}}}"#.to_owned(), "`config.voice.fallback_voices.p`: must be a string"),
        (r#"{"knowledge_base":{"mode":"on"}}"#.to_owned(), "`config.knowledge_base.mode`: must be `off`, `auto` or `tool`"),
        (r#"{"knowledge_base":{"top_k":21}}"#.to_owned(), "`config.knowledge_base.top_k`: must be an integer from 1 to 20"),
        (r#"{"knowledge_base":{"doc_ids":["0190163d8694739baea5966c26f8ad91"]}}"#.to_owned(), "`config.knowledge_base.doc_ids[0]`: must be a UUID (8-4-4-4-12 hexadecimal digits)"),
        (r#"{"dynamic_variables":{"a}":{}}}"#.to_owned(), "`config.dynamic_variables.a}`: a variable's name has 1 to 64 characters, no braces and no space around it"),
        (r#"{"dynamic_variables":{"a":"b"}}"#.to_owned(), "`config.dynamic_variables.a`: must be an object"),
        (r#"{"dynamic_variables":{"a":{"default":[]}}}"#.to_owned(), "`config.dynamic_variables.a.default`: must be a string, a number, true, false or null"),
        (format!(r#"{{"dynamic_variables":{{"a":{{"default":"{}"}}}}}}"#, long(2_001)), "`config.dynamic_variables.a.default`: longer than 2000 characters"),
        (r#"{"conversation":{"max_duration_s":9}}"#.to_owned(), "`config.conversation.max_duration_s`: must be an integer from 10 to 7200"),
        (r#"{"conversation":{"turns":{"endpointing_ms":3001}}}"#.to_owned(), "`config.conversation.turns.endpointing_ms`: must be an integer from 200 to 3000"),
        (r#"{"conversation":{"audio":{"speed":0.4}}}"#.to_owned(), "`config.conversation.audio.speed`: must be a number from 0.5 to 2"),
        (r#"{"conversation":{"pronunciation":[{"term":"a"}]}}"#.to_owned(), "`config.conversation.pronunciation[0].say`: is required"),
        (r#"{"conversation":{"calling_hours":{}}}"#.to_owned(), "`config.conversation.calling_hours.timezone`: is required"),
        (hours("[]", "09:00"), "`config.conversation.calling_hours.days`: must not be empty"),
        (hours("null", "09:00"), "`config.conversation.calling_hours.days`: is required"),
        (hours("[1,8]", "09:00"), "`config.conversation.calling_hours.days[1]`: must be an integer from 1 (Monday) to 7"),
        (hours("[1,1.0]", "09:00"), "`config.conversation.calling_hours.days[1]`: appears more than once"),
        (hours("[1]", "9:00"), "`config.conversation.calling_hours.start`: must be a time of day as `HH:MM`, 00:00 to 23:59"),
        (hours("[1]", "24:00"), "`config.conversation.calling_hours.start`: must be a time of day as `HH:MM`, 00:00 to 23:59"),
        (r#"{"tool_ids":["0190163d-8694-739b-aea5-966c26f8ad91","0190163D-8694-739B-AEA5-966C26F8AD91"]}"#.to_owned(), "`config.tool_ids[1]`: appears more than once"),
    ];
    for (text, message) in cases {
        assert_eq!(read(&text).map(drop), Err(message.to_owned()), "{text}");
    }
}

fn hours(days: &str, start: &str) -> String {
    format!(
        r#"{{"conversation":{{"calling_hours":{{"timezone":"America/Mexico_City","days":{days},"start":"{start}","end":"02:30"}}}}}}"#
    )
}

#[test]
fn of_several_faults_the_first_in_the_table_is_reported() {
    let faults = [
        r#""language":5"#,
        r#""llm":{"endpoint":5}"#,
        r#""conversation":{"turns":1}"#,
        r#""tool_ids":{}"#,
    ];
    let text = format!(
        r#"{{"zzz":1,{}}}"#,
        faults.iter().rev().copied().collect::<Vec<_>>().join(",")
    );
    assert_eq!(
        read(&text),
        Err("`config.language`: must be a string".to_owned())
    );
}

#[test]
fn the_version_is_read_apart() {
    let write = read(r#"{"version":3.0,"first_message":"Hola"}"#).unwrap();
    assert_eq!(write.version, Some(3));
    assert_eq!(write.config.to_json().get("version"), None);
    assert_eq!(read("{}").unwrap().version, None);
}

#[test]
fn calling_hours_are_read() {
    let hours = config(&hours("[7,1]", "23:05"))
        .conversation
        .calling_hours
        .unwrap();
    assert_eq!(hours.days, [7, 1]);
    assert_eq!(hours.start.minutes(), 23 * 60 + 5);
    assert_eq!(hours.end.to_string(), "02:30");
}

#[test]
fn a_patch_changes_what_it_names_and_null_goes_back_to_the_default() {
    let head = config(
        r#"{"system_prompt":"p","language":"en","llm":{"provider":"scripted","model":"scripted","temperature":1.5},
            "dynamic_variables":{"a":{"default":"A"},"b":{"default":"B"}}}"#,
    );
    let patch = parsed(
        r#"{"version":4,"language":null,"llm":{"temperature":null,"model":"other"},
            "dynamic_variables":{"a":null,"c":{"default":1}}}"#,
    );
    let write = AgentConfig::merge(&head, &patch, "config").unwrap();
    assert_eq!(write.version, Some(4));
    let merged = write.config;
    assert_eq!(merged.system_prompt, "p");
    assert_eq!(merged.language, "en");
    assert_eq!(merged.llm.provider.as_deref(), Some("scripted"));
    assert_eq!(merged.llm.model.as_deref(), Some("other"));
    assert!((merged.llm.temperature - 0.7).abs() < f64::EPSILON);
    let names: Vec<_> = merged.dynamic_variables.iter().map(|v| &*v.name).collect();
    assert_eq!(names, ["b", "c"]);
}

#[test]
fn a_patch_with_a_fault_is_refused() {
    let head = config("{}");
    let refused = |patch: &str| {
        AgentConfig::merge(&head, &parsed(patch), "config")
            .unwrap_err()
            .to_string()
    };
    assert_eq!(refused("null"), "`config`: must be an object");
    assert_eq!(
        refused(r#"{"llm":{"x":null}}"#),
        "`config.llm.x`: unknown field"
    );
    assert_eq!(refused(r#"{"llm":[]}"#), "`config.llm`: must be an object");
    assert_eq!(
        refused(r#"{"conversation":{"calling_hours":{"end":"10:00"}}}"#),
        "`config.conversation.calling_hours.timezone`: is required"
    );
}

#[test]
fn publishing_requires_a_prompt_and_a_model() {
    let verdict = |text: &str| config(text).publishable().map_err(|e| e.to_string());
    let prompt = "`config.system_prompt`: is required to publish";
    for (text, refused) in [
        ("{}", prompt),
        (
            r#"{"system_prompt":" \n","llm":{"provider":"a","model":"b"}}"#,
            prompt,
        ),
        (
            r#"{"system_prompt":"p","llm":{"model":"b"}}"#,
            "`config.llm.provider`: is required to publish",
        ),
        (
            r#"{"system_prompt":"p","llm":{"provider":"a"}}"#,
            "`config.llm.model`: is required to publish",
        ),
        (
            r#"{"system_prompt":"p","llm":{"provider":"custom","model":"b"}}"#,
            "`config.llm.endpoint`: is required with the provider `custom`",
        ),
        (
            r#"{"system_prompt":"p","llm":{"provider":"a","model":"b","endpoint":"https://example.com"}}"#,
            "`config.llm.endpoint`: goes with the provider `custom` alone",
        ),
        (
            r#"{"system_prompt":"p","llm":{"provider":"a","model":"b","fallback":[{"provider":"custom","model":"c"}]}}"#,
            "`config.llm.fallback[0].provider`: `custom` needs `llm.provider` to be `custom`, whose endpoint it shares",
        ),
    ] {
        assert_eq!(verdict(text), Err(refused.to_owned()), "{text}");
    }
    for text in [
        r#"{"system_prompt":"p","llm":{"provider":"scripted","model":"scripted"}}"#,
        r#"{"system_prompt":"p","llm":{"provider":"custom","model":"b","endpoint":"https://example.com"}}"#,
    ] {
        assert_eq!(verdict(text), Ok(()), "{text}");
    }
}

fn name() -> impl Strategy<Value = String> {
    "[^\\x00{]{1,12}"
}

fn uuids() -> impl Strategy<Value = Vec<Uuid>> {
    hash_set(any::<u128>().prop_map(Uuid::from_u128), 0..4)
        .prop_map(|ids| ids.into_iter().collect())
}

fn settings() -> impl Strategy<Value = Json> {
    hash_map(text(), scalar(), 0..3).prop_map(Json::object)
}

fn llms() -> impl Strategy<Value = Llm> {
    (
        (option::of(name()), option::of(name()), 0.0..=2.0),
        select(Routing::ALL),
        vec((name(), name()), 0..5),
        option::of(name()),
    )
        .prop_map(
            |((provider, model, temperature), routing, fallback, endpoint)| Llm {
                provider,
                model,
                temperature,
                routing,
                fallback: fallback
                    .into_iter()
                    .map(|(provider, model)| ModelRef { provider, model })
                    .collect(),
                endpoint,
            },
        )
}

fn voices() -> impl Strategy<Value = Voice> {
    (
        option::of(name()),
        option::of(name()),
        option::of(name()),
        hash_map(name(), name(), 0..4),
        settings(),
        option::of(select(&[8_000, 16_000, 24_000][..])),
    )
        .prop_map(
            |(provider, model, voice_id, fallback, settings, sample_rate)| Voice {
                provider,
                model,
                voice_id,
                language: Some("pt-BR".to_owned()),
                fallback_voices: fallback.into_iter().collect(),
                settings,
                sample_rate,
            },
        )
}

fn conversations() -> impl Strategy<Value = Conversation> {
    let turns = (
        200..=3_000_i64,
        any::<bool>(),
        5..=120_i64,
        select(Voicemail::ALL),
    )
        .prop_map(
            |(endpointing_ms, interruptions, silence_timeout_s, voicemail)| Turns {
                endpointing_ms,
                interruptions,
                silence_timeout_s,
                voicemail,
            },
        );
    let hours = (
        name(),
        subsequence((1..=7).collect::<Vec<u8>>(), 1..=7).prop_shuffle(),
        0..1_440_u16,
        0..1_440_u16,
    )
        .prop_map(|(timezone, days, start, end)| CallingHours {
            timezone,
            days,
            start: TimeOfDay(start),
            end: TimeOfDay(end),
        });
    (
        10..=7_200_i64,
        (any::<bool>(), option::of(text())),
        turns,
        (option::of(name()), 0.5..=2.0),
        vec((name(), name(), any::<bool>()), 0..4),
        option::of(hours),
    )
        .prop_map(
            |(max_duration_s, recording, turns, audio, words, calling_hours)| Conversation {
                max_duration_s,
                recording: Recording {
                    enabled: recording.0,
                    consent_text: recording.1,
                },
                turns,
                audio: Audio {
                    ambient: audio.0,
                    speed: audio.1,
                },
                pronunciation: words
                    .into_iter()
                    .enumerate()
                    // All terms differ.
                    .map(|(at, (term, say, match_case))| Pronunciation {
                        term: format!("{at}{term}"),
                        say,
                        match_case,
                    })
                    .collect(),
                calling_hours,
            },
        )
}

fn configs() -> impl Strategy<Value = AgentConfig> {
    let variables = hash_map("[A-Za-z_][A-Za-z0-9_]{0,20}", scalar(), 0..5);
    (
        (text(), text(), select(&["es", "en-US", "zh-Hant-TW"][..])),
        llms(),
        voices(),
        (uuids(), uuids(), select(KnowledgeMode::ALL), 1..=20_i64),
        variables,
        conversations(),
        uuids(),
    )
        .prop_map(
            |(texts, llm, voice, knowledge, variables, conversation, tool_ids)| AgentConfig {
                system_prompt: texts.0,
                first_message: texts.1,
                language: texts.2.to_owned(),
                llm,
                stt: Stt {
                    provider: voice.provider.clone(),
                    model: voice.model.clone(),
                    language: None,
                    settings: voice.settings.clone(),
                    sample_rate: voice.sample_rate,
                },
                voice,
                knowledge_base: KnowledgeBase {
                    doc_ids: knowledge.0,
                    folder_ids: knowledge.1,
                    mode: knowledge.2,
                    top_k: knowledge.3,
                },
                dynamic_variables: variables
                    .into_iter()
                    .map(|(name, default)| DynamicVariable { name, default })
                    .collect(),
                conversation,
                tool_ids,
            },
        )
}

proptest! {
    #[test]
    fn what_is_printed_reads_back_as_the_same_configuration(config in configs()) {
        prop_assert_eq!(&AgentConfig::from_json(&config.to_json(), "config", "und").unwrap(), &config);
        prop_assert_eq!(&AgentConfig::from_stored(&config.to_stored()).unwrap(), &config);
        prop_assert_eq!(serde_json::to_string(&config).unwrap(), config.to_stored());
    }

    #[test]
    fn an_empty_patch_changes_nothing(config in configs()) {
        let merged = AgentConfig::merge(&config, &Json::Object(Vec::new()), "config").unwrap();
        prop_assert_eq!(merged.config, config);
        prop_assert_eq!(merged.version, None);
    }
}
