use offhook_domain::AgentConfig;

use super::*;

fn json(text: &str) -> Json {
    Json::parse(text.as_bytes()).unwrap()
}

fn rich() -> Json {
    let json = json(
        r#"{"system_prompt":" Line one\nline two ","first_message":"Hi {{name}}","language":"es-MX",
        "llm":{"provider":"custom","model":"m","temperature":0.25,"routing":"fastest","endpoint":"https://a.example/v1",
          "fallback":[{"provider":"openai","model":"gpt-4.1"},{"provider":"scripted","model":"scripted"}]},
        "stt":{"provider":"deepgram","model":"nova-3","language":"es","settings":{"a":[1,{"b":null}]},"sample_rate":8000},
        "voice":{"provider":"provider_a","model":"flash","voice_id":"v|1","language":"es","sample_rate":8000,
          "settings":{"stability":0.5},"fallback_voices":{"provider_b":"x","local":"y"}},
        "knowledge_base":{"doc_ids":["01890a5d-ac96-774b-bcce-b302099a8057"],
          "folder_ids":["01890a5d-ac96-774b-bcce-b302099a8058"],"mode":"tool","top_k":7},
        "dynamic_variables":{"name":{"default":"friend"},"age":{"default":5},"code":{"default":"5"},"ok":{"default":true},
          "none":{"default":null},"empty":{"default":""},"lines":{"default":"a\nb"},"wide":{"default":" a "}},
        "conversation":{"max_duration_s":60,"recording":{"enabled":true,"consent_text":"We record."},
          "turns":{"endpointing_ms":300,"interruptions":false,"silence_timeout_s":9,"voicemail":"ignore"},
          "audio":{"ambient":"cafe","speed":1.25},
          "pronunciation":[{"term":"SQL","say":"sequel","match_case":true},{"term":"ok","say":"okay","match_case":false}],
          "calling_hours":{"timezone":"America/Mexico_City","days":[1,3,7],"start":"09:00","end":"18:30"}},
        "tool_ids":["01890a5d-ac96-774b-bcce-b302099a8059","01890a5d-ac96-774b-bcce-b302099a8051"]}"#,
    );
    AgentConfig::from_json(&json, "config", "en")
        .unwrap()
        .to_json()
}

#[test]
fn a_form_that_nobody_changed_changes_nothing() {
    for config in [rich(), AgentConfig::new("en").to_json()] {
        let message = document(&fields_of(&config)).unwrap();
        let patched = config.clone().merge_patch(&patch(&config, &message));
        let read = |json: &Json| AgentConfig::from_json(json, "config", "en").unwrap();
        assert_eq!(read(&patched), read(&config));
    }
    let config = rich();
    let message = document(&fields_of(&config)).unwrap();
    assert_eq!(patch(&config, &message).to_compact(), "{}");
}

#[test]
fn what_is_cleared_is_null_and_what_is_gone_is_too() {
    let old = json(r#"{"a":1,"b":{"c":2,"d":3},"e":[1],"f":{"g":1}}"#);
    let new = json(r#"{"a":null,"b":{"c":2},"e":[],"f":{"g":1},"h":{"i":1}}"#);
    let change = r#"{"a":null,"b":{"d":null},"e":[],"h":{"i":1}}"#;
    assert_eq!(patch(&old, &new).to_compact(), change);
}

#[test]
fn empty_rows_are_no_rows_and_a_name_twice_is_refused() {
    let body = b"dynamic_variables[0].name=&dynamic_variables[0].default=&dynamic_variables[1].name=a\
                 &dynamic_variables[1].default=1&dynamic_variables[2].name=&dynamic_variables[2].default=";
    let message = document(&Fields::parse(body)).unwrap();
    let variables = at(&message, VARIABLES.0).unwrap().to_compact();
    assert_eq!(variables, r#"{"a":{"default":1}}"#);
    let body = b"dynamic_variables[0].name=a&dynamic_variables[1].name=a";
    let refused = document(&Fields::parse(body)).unwrap_err();
    let message = "`config.dynamic_variables.a`: appears more than once";
    assert_eq!(refused.to_string(), message);
}
