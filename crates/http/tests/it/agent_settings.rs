//! `/v1/agents/{id}/settings`, the built-in variables, and what agents remember of callers.

use std::time::Duration;

use offhook_domain::Plan;
use offhook_providers::ProviderSettings;
use offhook_testkit::upstream::{Answer, ReceivedRequest, Upstream};
use offhook_testkit::{TestDatabase, contract};
use serde_json::{Value, json};

use crate::it::app::{CUSTOMER, PAGE, Setup, TestApp, data, text};
use crate::it::client;

const SESSIONS: &str = "/widget/v1/sessions";

pub(crate) async fn put(app: &TestApp, agent: &str, settings: Value) -> client::Answer {
    let target = format!("/v1/agents/{agent}/settings");
    app.request("PUT", &target).json(settings).await
}

pub(crate) async fn publish(app: &TestApp, agent: &str) {
    let publish = app.post(&format!("/v1/agents/{agent}/publish"), "{}").await;
    publish.assert(200);
}

/// A model that says something short and writes down what it was told.
pub(crate) async fn model() -> Upstream {
    Upstream::start(|_: &ReceivedRequest| {
        let chunk = |delta: Value| format!("data: {}\n\n", json!({"choices": [delta]}));
        let words = chunk(json!({"index": 0, "delta": {"content": "Very well."}}));
        let end = chunk(json!({"index": 0, "delta": {}, "finish_reason": "stop"}));
        let body = format!("{words}{end}data: [DONE]\n\n");
        Answer::text(200, "text/event-stream", &body)
    })
    .await
}

/// A service whose provider `local` is this model.
pub(crate) async fn app_with(model: &Upstream, database: TestDatabase) -> TestApp {
    let provider = ProviderSettings {
        base_url: format!("{}/v1", model.base_url()),
        api_key: None,
    };
    TestApp::with(Setup {
        models: vec![("local".to_owned(), provider)],
        // A call must not reach its longest duration before the model has answered.
        speed: 100.0,
        database: Some(database),
        ..Setup::default()
    })
    .await
}

/// The system messages of replies so far.
pub(crate) fn prompts(model: &Upstream) -> Vec<String> {
    let asked = model.asked().into_iter();
    let first = asked.map(|asked| asked.json()["messages"][0]["content"].clone());
    first
        .filter_map(|content| content.as_str().map(str::to_owned))
        .filter(|content| content.starts_with("You are"))
        .collect()
}

async fn agent(app: &TestApp, language: &str, prompt: &str) -> String {
    let config = json!({
        "system_prompt": prompt,
        "first_message": "{{weekday}}, {{date}}: {{agent_name}} {{customer_number}}",
        "llm": {"provider": "local", "model": "small"},
    });
    app.agent_with(language, config).await
}

/// Sends an agent a message on a web page; returns its first message.
async fn chat(app: &TestApp, agent: &str, metadata: Value) -> String {
    let ask = |target: &str| app.bare("POST", target).header("Origin", PAGE);
    let begun = json!({"agent_id": agent, "metadata": metadata});
    let begun = ask(SESSIONS).json(begun).await.assert(201);
    let said = format!("{SESSIONS}/{}/messages", text(&begun["id"]));
    let said = ask(&said).json(json!({"text": "Hello?"}));
    said.key(&text(&begun["token"])).await.assert(200);
    text(&begun["first_message"])
}

contract! {
    async fn settings_are_saved_with_a_version_and_serve_once_it_is_published(database: TestDatabase) {
        let app = TestApp::on(database).await;
        let agent = app.agent().await;
        let target = format!("/v1/agents/{agent}/settings");
        let unset = json!({
            "version": 1, "time_zone": null, "caller_memory": 0, "guard": null, "context_url": null,
            "required_suite": null, "signing_secret": null
        });
        assert_eq!(app.read(&target).await, unset);
        // What changes nothing saves nothing.
        assert_eq!(put(&app, &agent, json!({})).await.assert(200), unset);

        let zone = json!({"time_zone": "America/Mexico_City", "expected_version": 1});
        let set = put(&app, &agent, zone.clone()).await.assert(200);
        assert_eq!((&set["version"], &set["time_zone"]), (&json!(2), &json!("America/Mexico_City")));
        assert_eq!(app.read(&target).await, set);
        let late = put(&app, &agent, json!({"expected_version": 1})).await;
        let late = late.assert_error(409, "conflict");
        assert!(late.contains("`expected_version`"), "{late}");

        // A change of the configuration keeps them, and they keep the configuration.
        let change = json!({"config": {"first_message": "Hi."}});
        let changed = app.patch(&format!("/v1/agents/{agent}"), change).await.assert(200);
        assert_eq!((&changed["current_version"], &changed["published_version"]), (&json!(3), &json!(1)));
        assert_eq!(app.read(&target).await["time_zone"], "America/Mexico_City");
        let memory = json!({"caller_memory": 2});
        assert_eq!(put(&app, &agent, memory).await.assert(200)["time_zone"], Value::Null);
        let read = app.read(&format!("/v1/agents/{agent}")).await;
        assert_eq!((&read["config"]["first_message"], &read["current_version"]), (&json!("Hi."), &json!(4)));

        // A draft without a configuration gets one.
        let draft = json!({"name": "Eva", "language": "en"});
        let draft = app.post("/v1/agents", draft).await.assert(201);
        let draft = text(&draft["id"]);
        assert_eq!(put(&app, &draft, json!({"caller_memory": 1})).await.assert(200)["version"], 1);

        let stranger = app.stranger(Plan::Scale).await;
        for (method, target) in [("GET", target.clone()), ("PUT", target.clone()),
            ("DELETE", format!("/v1/agents/{agent}/memory?phone=%2B5215512345678"))] {
            let foreign = app.bare(method, &target).json(json!({})).key(&stranger);
            foreign.await.assert_error(404, "not_found");
        }
    }

    async fn a_field_that_cannot_be_is_named(database: TestDatabase) {
        let app = TestApp::on(database).await;
        let agent = app.agent().await;
        for (settings, fault) in [
            (json!({"time_zone": "Mexico"}), "`time_zone`: must be an IANA time zone"),
            (json!({"caller_memory": 6}), "`caller_memory`: must be an integer from 0 to 5"),
            (json!({"context_url": {}}), "`context_url.url`: is required"),
            (json!({"context_url": {"url": "nowhere"}}), "`context_url.url`: "),
            (json!({"guard": {}}), "`guard`: must be true or false"),
            (json!({"mood": {}}), "`mood`: unknown field"),
        ] {
            let refused = put(&app, &agent, settings).await.assert_error(400, "invalid_body");
            assert!(refused.starts_with(fault), "{refused}");
        }
        let forget = |query: &str| app.delete(&format!("/v1/agents/{agent}/memory{query}"));
        let refused = forget("").await.assert_error(400, "invalid_query");
        assert_eq!(refused, "`phone`: is required");
        assert_eq!(forget("?phone=%2B5215512345678").await.assert(200), json!({"forgotten": 0}));
    }

    async fn an_agent_with_tools_claims_only_what_one_of_them_did(database: TestDatabase) {
        let app = TestApp::on(database).await;
        let tool = json!({"name": "book", "description": "Books.", "kind": "http", "parameters": {},
            "http": {"method": "POST", "url": "https://shop.example.com/book"}});
        let tool = app.post("/v1/agents/tools", tool).await.assert(201);
        let said = async |agent: &str| {
            let ask = |target: &str| app.bare("POST", target).header("Origin", PAGE);
            let begun = json!({"agent_id": agent});
            let begun = ask(SESSIONS).json(begun).await.assert(201);
            let said = format!("{SESSIONS}/{}/messages", text(&begun["id"]));
            let said = ask(&said).json(json!({"text": "Five?"})).key(&text(&begun["token"]));
            text(&said.await.assert(200)["text"])
        };
        const CLAIM: &str = "I have booked it.";
        const HONEST: &str = "I have not been able to confirm that yet.";
        for (tools, guard, expected) in [
            (json!([tool["id"]]), Value::Null, HONEST),
            (json!([tool["id"]]), json!(false), CLAIM),
            (json!([]), Value::Null, CLAIM),
            (json!([]), json!(true), HONEST),
        ] {
            let config = json!({"system_prompt": format!("say: {CLAIM}"), "tool_ids": tools,
                "llm": {"provider": "scripted", "model": "scripted"}});
            let agent = app.agent_with("en", config).await;
            app.widget(&agent, json!({})).await;
            put(&app, &agent, json!({"guard": guard})).await.assert(200);
            publish(&app, &agent).await;
            assert_eq!(said(&agent).await, expected, "{tools} {guard}");
        }
    }

    async fn a_conversation_knows_its_day_and_the_model_is_told_the_true_one(database: TestDatabase) {
        let model = model().await;
        let app = app_with(&model, database).await;
        let prompt = "You are {{agent_name}}; it is {{now}}, {{channel}}, {{direction}}, {{date}}, {{nobody}}.";
        let agent = agent(&app, "es-MX", prompt).await;
        app.widget(&agent, json!({})).await;
        // The clock stands at 2026-04-30T18:32:11Z, a Thursday.
        let said = chat(&app, &agent, json!({})).await;
        assert_eq!(said, "jueves, 30 de abril de 2026: Sofía ");
        put(&app, &agent, json!({"time_zone": "Asia/Tokyo"})).await.assert(200);
        // A saved version serves no one yet.
        assert_eq!(chat(&app, &agent, json!({})).await, said);
        publish(&app, &agent).await;
        let said = chat(&app, &agent, json!({"date": "ayer"})).await;
        assert_eq!(said, "viernes, ayer: Sofía ");
        let prompts = prompts(&model);
        for (prompt, day, manner) in [
            (&prompts[0], "30 de abril de 2026", "Today is Thursday, 2026-04-30. The time zone is UTC."),
            (&prompts[2], "ayer", "Today is Friday, 2026-05-01. The time zone is Asia/Tokyo."),
        ] {
            let now = match day {
                "ayer" => "2026-05-01T03:32:11+09:00",
                _ => "2026-04-30T18:32:11+00:00",
            };
            let own = format!("You are Sofía; it is {now}, widget_chat, inbound, {day}, .\n\n{manner}\n\n");
            assert!(prompt.starts_with(&own), "{prompt}");
        }
    }

    async fn an_agent_remembers_a_caller_until_it_is_told_to_forget(database: TestDatabase) {
        let model = model().await;
        let app = app_with(&model, database).await;
        app.dial();
        let agent = agent(&app, "en", "You are {{agent_name}}.").await;
        let call = async |to: &str| {
            let handle = text(&app.call(&agent, to).await["id"]);
            app.ended(&handle).await;
            prompts(&model).pop().unwrap_or_default()
        };
        const EARLIER: &str = "Earlier conversations with this phone number";
        assert!(!call(CUSTOMER).await.contains(EARLIER));
        assert!(!call(CUSTOMER).await.contains(EARLIER), "off by default");
        put(&app, &agent, json!({"caller_memory": 1})).await.assert(200);
        publish(&app, &agent).await;
        app.clock.advance(Duration::from_secs(86_400));
        let told = call(CUSTOMER).await;
        let remembered = told.split_once(EARLIER).map_or("", |(_, rest)| rest);
        assert_eq!(remembered.matches("\n- 2026-").count(), 1, "{told}");
        assert!(remembered.contains(": Very well."), "{told}");
        let other = CUSTOMER.replace("678", "679");
        assert!(!call(&other).await.contains(EARLIER), "another number");

        let forget = format!("/v1/agents/{agent}/memory?phone={}", CUSTOMER.replace('+', "%2B"));
        assert_eq!(app.delete(&forget).await.assert(200), json!({"forgotten": 3}));
        assert!(!call(CUSTOMER).await.contains(EARLIER));
        let listed = app.read("/v1/conversations").await;
        assert!(data(&listed).len() >= 5, "they stay in the list");
    }
}
