//! Anthropic's and Google's own wire formats, as their references have them, and accounts' own keys.

use futures_util::StreamExt as _;
use offhook_domain::CredentialProvider;
use offhook_egress::{GuardedClient, Policy};
use offhook_engine::ports::{
    AccountKey, KeyAnswer, Message, ModelDelta, ModelError, ModelRequest, Models, Purpose, Role,
    Tokens, ToolCall, ToolDefinition,
};
use offhook_providers::{ModelRegistry, ProviderSettings};
use serde_json::{Value, json};

use crate::it::openai::{chunk, end, head};
use crate::it::server::{Act, Server};

const ANTHROPIC: &str = "anthropic";
const GOOGLE: &str = "google";

const ANTHROPICS_HELLO: &str = r#"
{"type":"message_start","message":{"id":"msg_1","content":[],"usage":{"input_tokens":9,"output_tokens":1}}}
{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}
{"type":"ping"}
{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hel"}}
{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"lo. ¿Sí?"}}
{"type":"content_block_stop","index":0}
{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}
{"type":"message_stop"}"#;

const ANTHROPICS_CALLS: &str = r#"
{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}
{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm"}}
{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"m."}}
{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}
{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"look","input":{}}}
{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":""}}
{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"x\""}}
{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":": 7}"}}
{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_2","name":"look","input":{}}}
{"type":"message_stop"}"#;

const GOOGLES_HELLO: &str = r#"
{"candidates":[{"content":{"role":"model","parts":[{"text":"Hel"}]},"index":0}],"usageMetadata":{"promptTokenCount":9}}
{"candidates":[{"content":{"role":"model","parts":[{"text":"lo. ¿Sí?"}]},"index":0}]}
{"candidates":[{"content":{"parts":[{"text":"","thoughtSignature":"c2ln"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":2,"thoughtsTokenCount":1}}"#;

const GOOGLES_CALLS: &str = r#"
{"candidates":[{"content":{"role":"model","parts":[{"text":"Hmm.","thought":true}]}}]}
{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"look","args":{"x":7}},"thoughtSignature":"c2ln"}]}}]}
{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"look"}}]}}]}
{"candidates":[{"content":{"role":"model","parts":[{"text":""}]},"finishReason":"STOP"}]}"#;

/// A stream of these events, one a line.
fn stream(events: &str) -> Vec<Act> {
    let events = events.lines().filter(|line| !line.is_empty());
    let events = events.map(|data| chunk(&format!("data: {data}\r\n\r\n")));
    [head()].into_iter().chain(events).chain([end()]).collect()
}

fn hello(provider: &str) -> &'static str {
    match provider {
        ANTHROPIC => ANTHROPICS_HELLO,
        _ => GOOGLES_HELLO,
    }
}

fn refusal(status: u16, body: &str) -> Vec<Act> {
    let length = body.len();
    let answer = format!("HTTP/1.1 {status} No\r\ncontent-length: {length}\r\n\r\n{body}");
    vec![Act::Send(answer.into())]
}

/// A vendor that answers every request like this, with the deployment's key for it.
struct Vendor {
    name: &'static str,
    server: Server,
    registry: ModelRegistry,
}

type Deltas = Vec<Result<ModelDelta, ModelError>>;

impl Vendor {
    async fn start(name: &'static str, acts: Vec<Act>) -> Self {
        let server = Server::start(acts).await.unwrap();
        let settings = ProviderSettings {
            base_url: server.base_url.clone(),
            api_key: Some("k-deployment".to_owned()),
        };
        let registry = ModelRegistry::new([(name.to_owned(), settings)]).unwrap();
        Self {
            name,
            server,
            registry,
        }
    }

    async fn ask_by(&self, models: &dyn Models, messages: Vec<Message>, may_call: bool) -> Deltas {
        let look = ToolDefinition {
            name: "look".into(),
            description: "Looks things up.".into(),
            parameters: r#"{"type":"object"}"#.into(),
            acts: true,
        };
        let tools = may_call.then_some(look);
        let model = models.find(self.name, "m", None).unwrap();
        let request = ModelRequest {
            model: "m".to_owned(),
            messages,
            temperature: 1.5,
            purpose: Purpose::Reply,
            tools: tools.into_iter().collect(),
            may_call,
        };
        model.stream(request).collect().await
    }

    async fn greet(&self) -> Deltas {
        let messages = vec![
            Message::new(Role::System, "Be brief."),
            Message::new(Role::Assistant, "Good morning."),
            Message::new(Role::User, "Hi"),
            Message::new(Role::User, "you"),
        ];
        self.ask_by(&self.registry, messages, false).await
    }

    fn bodies(&self) -> Vec<Value> {
        let requests = self.server.requests().into_iter();
        let bodies = requests.map(|request| request.split_once("\r\n\r\n").unwrap().1.to_owned());
        bodies
            .map(|body| serde_json::from_str(&body).unwrap())
            .collect()
    }

    /// The calls of the answer, and the request that answers them.
    async fn call_and_answer(&self) -> (Vec<ToolCall>, Value) {
        let mut messages = vec![Message::new(Role::User, "Where?")];
        let called = self.ask_by(&self.registry, messages.clone(), true).await;
        let called = called.into_iter().filter_map(|delta| match delta.unwrap() {
            ModelDelta::Call(call) => Some(call),
            _ => None,
        });
        let called: Vec<ToolCall> = called.collect();
        messages.push(Message::calling("One moment.", called.clone()));
        messages.push(Message::answering(&called[0], r#"{"found":true}"#));
        messages.push(Message::answering(&called[1], "nothing"));
        self.ask_by(&self.registry, messages.clone(), true).await;
        self.ask_by(&self.registry, messages, false).await;
        let mut bodies = self.bodies();
        let last = bodies[2].to_string();
        assert!(!last.contains("look"), "earlier calls go with their tools");
        (called, bodies.swap_remove(1))
    }
}

/// The text of an answer, and the error that ended it, if any.
async fn answer(provider: &'static str, acts: Vec<Act>) -> (String, Option<ModelError>) {
    let (mut said, mut error) = (String::new(), None);
    for delta in Vendor::start(provider, acts).await.greet().await {
        match delta {
            Ok(ModelDelta::Text(text)) => said.push_str(&text),
            Ok(_) => {}
            Err(why) => error = Some(why),
        }
    }
    (said, error)
}

#[tokio::test]
async fn a_conversation_is_sent_and_its_answer_read_in_the_vendors_own_format() {
    let text = |text: &str| json!({"type": "text", "text": text});
    let anthropics = json!({
        "model": "m", "max_tokens": 8192, "stream": true, "system": "Be brief.", "temperature": 1.0,
        "thinking": {"type": "disabled"},
        "messages": [
            {"role": "user", "content": [text("(The conversation begins.)")]},
            {"role": "assistant", "content": [text("Good morning.")]},
            {"role": "user", "content": [text("Hi"), text("you")]}
        ]
    });
    let googles = json!({
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "generationConfig": {"temperature": 1.5, "thinkingConfig": {"thinkingLevel": "low"}},
        "contents": [
            {"role": "user", "parts": [{"text": "(The conversation begins.)"}]},
            {"role": "model", "parts": [{"text": "Good morning."}]},
            {"role": "user", "parts": [{"text": "Hi"}, {"text": "you"}]}
        ]
    });
    let at_google = "models/m:streamGenerateContent?alt=sse";
    for (provider, path, header, body) in [
        (ANTHROPIC, "messages", "x-api-key", anthropics),
        (GOOGLE, at_google, "x-goog-api-key", googles),
    ] {
        let said = answer(provider, stream(hello(provider))).await;
        assert_eq!(said, ("Hello. ¿Sí?".to_owned(), None));
        let vendor = Vendor::start(provider, stream(hello(provider))).await;
        let all = vendor.greet().await;
        let (input, output) = (9, 3);
        let used = Ok(ModelDelta::Used(Tokens { input, output }));
        assert_eq!(all[all.len() - 2..], [used, Ok(ModelDelta::Finish)]);
        let request = vendor.server.requests().remove(0);
        let line = format!("POST /v1/{path} HTTP/1.1");
        assert!(request.starts_with(&line), "{request}");
        let key = format!("{header}: k-deployment");
        assert!(request.contains(&key), "{request}");
        let version = request.contains("anthropic-version: 2023-06-01");
        assert_eq!(version, provider == ANTHROPIC);
        assert_eq!(vendor.bodies()[0], body);
    }
}

#[tokio::test]
async fn anthropics_tool_calls_come_in_pieces_and_go_back_with_their_thoughts() {
    let vendor = Vendor::start(ANTHROPIC, stream(ANTHROPICS_CALLS)).await;
    let (called, body) = vendor.call_and_answer().await;
    let shown = called.iter().map(|call| (&*call.name, &*call.arguments));
    assert!(shown.eq([("look", "{\"x\": 7}"), ("look", "{}")]));
    let messages = json!([
        {"role": "user", "content": [{"type": "text", "text": "Where?"}]},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "Hmm.", "signature": "c2ln"},
            {"type": "text", "text": "One moment."},
            {"type": "tool_use", "id": "call_1", "name": "look", "input": {"x": 7}},
            {"type": "tool_use", "id": "call_2", "name": "look", "input": {}}
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "call_1", "content": "{\"found\":true}"},
            {"type": "tool_result", "tool_use_id": "call_2", "content": "nothing"}
        ]}
    ]);
    assert_eq!(body["messages"], messages);
    assert_eq!(body["tool_choice"], json!({"type": "auto"}));
    let tools = json!([{
        "name": "look", "description": "Looks things up.", "input_schema": {"type": "object"}
    }]);
    assert_eq!(body["tools"], tools);
}

#[tokio::test]
async fn googles_function_calls_come_in_several_events_and_go_back_with_their_signatures() {
    let vendor = Vendor::start(GOOGLE, stream(GOOGLES_CALLS)).await;
    let (called, body) = vendor.call_and_answer().await;
    let shown = called.iter().map(|call| (&*call.name, &*call.arguments));
    assert!(shown.eq([("look", "{\"x\":7}"), ("look", "{}")]));
    let contents = json!([
        {"role": "user", "parts": [{"text": "Where?"}]},
        {"role": "model", "parts": [
            {"text": "One moment."},
            {"functionCall": {"id": "call_1", "name": "look", "args": {"x": 7}}, "thoughtSignature": "c2ln"},
            {"functionCall": {"id": "call_2", "name": "look", "args": {}}}
        ]},
        {"role": "user", "parts": [
            {"functionResponse": {"id": "call_1", "name": "look", "response": {"found": true}}},
            {"functionResponse": {"id": "call_2", "name": "look", "response": {"output": "nothing"}}}
        ]}
    ]);
    assert_eq!(body["contents"], contents);
    let mode = json!({"functionCallingConfig": {"mode": "AUTO"}});
    assert_eq!(body["toolConfig"], mode);
    let declared = &body["tools"][0]["functionDeclarations"][0];
    assert_eq!(declared["parametersJsonSchema"], json!({"type": "object"}));
}

#[tokio::test]
async fn an_answer_that_breaks_off_or_holds_an_error_is_one() {
    let (protocol, refused) = (ModelError::Protocol, ModelError::Refused);
    let overloaded = r#"{"type":"error","error":{"type":"overloaded_error","message":"secret"}}"#;
    let limited = r#"{"type":"error","error":{"type":"rate_limit_error","message":"secret"}}"#;
    let unknown = r#"{"type":"error","error":{"type":"new_error","message":"secret"}}"#;
    let busy = r#"{"error":{"code":503,"message":"secret","status":"UNAVAILABLE"}}"#;
    let blocked = r#"{"promptFeedback":{"blockReason":"SAFETY"}}"#;
    let misshapen = r#"{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL"}]}"#;
    let malformed = || protocol("a piece of it is malformed");
    for (provider, data, error) in [
        (ANTHROPIC, "", protocol("it broke off")),
        (ANTHROPIC, "{\"type\":[", malformed()),
        (ANTHROPIC, overloaded, refused(529)),
        (ANTHROPIC, limited, refused(429)),
        (ANTHROPIC, unknown, protocol("it holds an error instead")),
        (GOOGLE, "", protocol("it broke off")),
        (GOOGLE, "{\"type\":[", malformed()),
        (GOOGLE, busy, refused(503)),
        (GOOGLE, blocked, protocol("the conversation was blocked")),
        (GOOGLE, misshapen, protocol("a tool call is malformed")),
    ] {
        let mut lines: Vec<&str> = hello(provider).lines().collect();
        lines.truncate(if provider == ANTHROPIC { 5 } else { 2 });
        lines.push(data);
        let got = answer(provider, stream(&lines.join("\n"))).await;
        assert_eq!(got, ("Hel".to_owned(), Some(error)), "{provider}");
    }
}

#[tokio::test]
async fn a_model_is_asked_without_the_options_that_it_refuses() {
    let disabled = json!({"type": "disabled"});
    let between = json!({"type": "between_tools"});
    let low = json!({"thinkingLevel": "low"});
    for (provider, expected) in [
        (ANTHROPIC, vec![disabled, between, Value::Null, Value::Null]),
        (GOOGLE, vec![low, Value::Null, Value::Null]),
    ] {
        let refused = refusal(400, "Thinking as asked for is not supported.");
        let vendor = Vendor::start(provider, refused).await;
        for _ in 0..2 {
            assert_eq!(vendor.greet().await, [Err(ModelError::Refused(400))]);
        }
        let sent = vendor.bodies().into_iter().map(|mut body| match provider {
            ANTHROPIC => body["thinking"].take(),
            _ => body["generationConfig"]["thinkingConfig"].take(),
        });
        assert!(sent.eq(expected), "what was refused is remembered");
    }
}

fn own(vendor: CredentialProvider, base_url: Option<&str>) -> [AccountKey; 1] {
    [AccountKey {
        vendor,
        base_url: base_url.map(str::to_owned),
        key: "k-own".into(),
    }]
}

#[tokio::test]
async fn a_vendor_is_asked_once_whether_it_accepts_a_key() {
    let googles = r#"{"error":{"details":[{"reason":"API_KEY_INVALID"}]}}"#;
    let (openai, unconfirmed) = ("openai", KeyAnswer::Unconfirmed);
    for (provider, acts, expected) in [
        (ANTHROPIC, refusal(200, "{}"), KeyAnswer::Accepted),
        (ANTHROPIC, refusal(401, "{}"), KeyAnswer::Refused(401)),
        (openai, refusal(401, "missing_permissions"), unconfirmed),
        (openai, refusal(503, "{}"), unconfirmed),
        (openai, vec![Act::Close], unconfirmed),
        (GOOGLE, refusal(400, googles), KeyAnswer::Refused(400)),
        (GOOGLE, refusal(400, "{}"), unconfirmed),
    ] {
        let vendor = Vendor::start(provider, acts).await;
        let key = own(provider.parse().unwrap(), None);
        let keyed = vendor.registry.with_keys(&key).unwrap();
        let model = keyed.find(provider, "m", None).unwrap();
        assert_eq!(model.ask().await, expected, "{provider}");
        let request = vendor.server.requests().remove(0);
        assert!(request.starts_with("GET /v1/models HTTP/1.1"), "{request}");
        assert!(request.contains("k-own"), "{request}");
    }
}

#[tokio::test]
async fn an_accounts_own_key_is_sent_in_place_of_the_deployments() {
    let vendor = Vendor::start(ANTHROPIC, stream(ANTHROPICS_HELLO)).await;
    let registry = &vendor.registry;
    let keyed = registry.with_keys(&own(CredentialProvider::Anthropic, None));
    let hi = vec![Message::new(Role::User, "Hi")];
    vendor.ask_by(&*keyed.unwrap(), hi, false).await;
    vendor.greet().await;
    let requests = vendor.server.requests();
    assert!(requests[0].contains("k-own") && !requests[0].contains("k-deployment"));
    assert!(requests[1].contains("k-deployment"));
    let speech = own(CredentialProvider::Deepgram, None);
    assert!(registry.with_keys(&speech).is_none());

    // A vendor that the deployment has not; an address of the account's is guarded.
    let client = GuardedClient::new(Policy::default()).unwrap();
    let guarded = registry.clone().with_custom_client(client);
    let finds = |models: &ModelRegistry, vendor: CredentialProvider, url| {
        let keyed = models.with_keys(&own(vendor, url)).unwrap();
        keyed.find(vendor.as_str(), "m", None).is_ok()
    };
    assert!(!finds(registry, CredentialProvider::Google, None));
    assert!(finds(&guarded, CredentialProvider::Google, None));
    let openai = |url| finds(&guarded, CredentialProvider::OpenAi, Some(url));
    assert!(openai("https://models.example.com/v1"));
    assert!(!openai("https://127.0.0.1/v1"));
    assert!(!openai("http://models.example.com/v1"));
}
