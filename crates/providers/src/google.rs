//! Google's Gemini API: `streamGenerateContent`.

use std::collections::VecDeque;
use std::sync::Arc;

use offhook_engine::ports::{ModelDelta, ModelError, ModelRequest, Tokens, VendorData};
use reqwest::Url;
use reqwest::header::HeaderName;
use serde_json::{Map, Value, json};

use crate::anthropic::{count, object, piece, tools};
use crate::dialogue_turns::{Part, Turn, Turns};
use crate::model_service::{AnswerFormat, WireFormat};
use crate::tool_calls::Calls;

pub(crate) const BASE_URL: &str = "https://generativelanguage.googleapis.com/v1beta";

/// The vendor of [`VendorData`].
const VENDOR: &str = "google";

/// The Gemini API.
pub(crate) struct GenerateContent;

impl WireFormat for GenerateContent {
    type Answer = Content;

    const KEY_IN: (HeaderName, &'static str) = (HeaderName::from_static("x-goog-api-key"), "");

    const OPTIONAL: &'static [&'static str] = &["temperature", "thinking"];

    /// The model is a part of the path, whatever its name holds.
    fn url(base: &str, model: &str) -> Option<String> {
        let mut url = Url::parse(base).ok()?;
        let model = format!("{model}:streamGenerateContent");
        url.path_segments_mut()
            .ok()?
            .pop_if_empty()
            .extend(["models", &model]);
        url.set_query(Some("alt=sse"));
        Some(url.into())
    }

    fn body(request: &ModelRequest, without: &[&str]) -> Result<Vec<u8>, ModelError> {
        let turns = Turns::of(request);
        let mut body = json!({
            "contents": turns.turns.iter().map(content).collect::<Vec<_>>(),
            "generationConfig": {},
        });
        if !turns.instructions.is_empty() {
            body["systemInstruction"] = json!({"parts": [{"text": turns.instructions}]});
        }
        if !without.contains(&"temperature") {
            body["generationConfig"]["temperature"] = json!(request.temperature);
        }
        if !without.contains(&"thinking") {
            body["generationConfig"]["thinkingConfig"] = json!({"thinkingLevel": "low"});
        }
        if !request.tools.is_empty() {
            let mode = if request.may_call { "AUTO" } else { "NONE" };
            let declared = tools(request, "parametersJsonSchema")?;
            body["tools"] = json!([{"functionDeclarations": declared}]);
            body["toolConfig"] = json!({"functionCallingConfig": {"mode": mode}});
        }
        Ok(body.to_string().into_bytes())
    }
}

fn content(turn: &Turn<'_>) -> Value {
    let parts = turn.parts.iter().map(|part| match part {
        Part::Text(text) => json!({"text": text}),
        Part::Call { id, call } => {
            let mut part = json!({
                "functionCall": {"id": id, "name": call.name, "args": object(&call.arguments)}
            });
            if let Some(data) = call.vendor.as_ref().filter(|data| data.vendor == VENDOR) {
                part["thoughtSignature"] = json!(*data.data);
            }
            part
        }
        Part::Answer { id, name, text } => {
            let response = serde_json::from_str::<Map<String, Value>>(text);
            let response = response.map_or_else(|_| json!({"output": text}), Value::Object);
            json!({"functionResponse": {"id": id, "name": name, "response": response}})
        }
    });
    let role = if turn.is_model { "model" } else { "user" };
    json!({"role": role, "parts": parts.collect::<Vec<_>>()})
}

/// The state between events.
#[derive(Default)]
pub(crate) struct Content {
    calls: Calls,
    /// Of each call.
    signatures: Vec<Option<Arc<str>>>,
    used: Option<Tokens>,
}

impl AnswerFormat for Content {
    fn read(&mut self, data: &str, found: &mut VecDeque<ModelDelta>) -> Result<bool, ModelError> {
        let chunk: Value = serde_json::from_str(data)
            .map_err(|_| ModelError::Protocol("a piece of it is malformed"))?;
        if let Some(error) = chunk.get("error") {
            let code = error["code"].as_u64().and_then(|code| code.try_into().ok());
            return Err(match code {
                Some(code @ 400..600) => ModelError::Refused(code),
                _ => ModelError::Protocol("it holds an error instead"),
            });
        }
        if chunk["promptFeedback"]["blockReason"].is_string() {
            return Err(ModelError::Protocol("the conversation was blocked"));
        }
        let usage = &chunk["usageMetadata"];
        let (input, output) = (&usage["promptTokenCount"], &usage["candidatesTokenCount"]);
        if let Some((input, output)) = count(input).zip(count(output)) {
            let thoughts = count(&usage["thoughtsTokenCount"]).unwrap_or_default();
            let output = output.saturating_add(thoughts);
            self.used = Some(Tokens { input, output });
        }
        let candidate = &chunk["candidates"][0];
        let parts = candidate["content"]["parts"].as_array();
        for part in parts.into_iter().flatten() {
            if part["functionCall"].is_object() {
                self.call(part)?;
            }
            found.push_back(match part["thought"].as_bool() {
                Some(true) => ModelDelta::Working,
                _ => piece(&part["text"]),
            });
        }
        match candidate["finishReason"].as_str() {
            None => Ok(false),
            Some("MALFORMED_FUNCTION_CALL") => {
                Err(ModelError::Protocol("a tool call is malformed"))
            }
            Some(_) => self.finish(found),
        }
    }

    fn used(&self) -> Option<Tokens> {
        self.used
    }
}

impl Content {
    fn call(&mut self, part: &Value) -> Result<(), ModelError> {
        let call = &part["functionCall"];
        let function = json!({"name": call["name"], "arguments": call["args"]});
        let index = self.signatures.len();
        self.signatures
            .push(part["thoughtSignature"].as_str().map(Arc::from));
        self.calls
            .add_value(json!({"index": index, "function": function}))
    }

    fn finish(&mut self, found: &mut VecDeque<ModelDelta>) -> Result<bool, ModelError> {
        let calls = std::mem::take(&mut self.calls).whole()?;
        for (mut call, signature) in calls.into_iter().zip(self.signatures.drain(..)) {
            call.vendor = signature.map(|data| VendorData {
                vendor: VENDOR,
                data,
            });
            found.push_back(ModelDelta::Call(call));
        }
        Ok(true)
    }
}
