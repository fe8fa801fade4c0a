//! Anthropic's Messages API, as a stream.

use std::collections::VecDeque;

use offhook_engine::ports::{
    ModelDelta, ModelError, ModelRequest, Tokens, ToolDefinition, VendorData,
};
use reqwest::header::HeaderName;
use serde_json::{Map, Value, json};

use crate::dialogue_turns::{Part, Turn, Turns};
use crate::lenient::without_nul;
use crate::model_service::{AnswerFormat, WireFormat};
use crate::tool_calls::Calls;

pub(crate) const BASE_URL: &str = "https://api.anthropic.com/v1";

/// The vendor of [`VendorData`].
const VENDOR: &str = "anthropic";

/// The longest answer in tokens, which a request must name. All models that are served have at least this.
const MAX_TOKENS: u32 = 8_192;

/// The Messages API.
pub(crate) struct Messages;

impl WireFormat for Messages {
    type Answer = Reply;

    const KEY_IN: (HeaderName, &'static str) = (HeaderName::from_static("x-api-key"), "");

    const HEADERS: &'static [(&'static str, &'static str)] = &[("anthropic-version", "2023-06-01")];

    const OPTIONAL: &'static [&'static str] = &["temperature", "thinking", "thinking"];

    fn url(base: &str, _model: &str) -> Option<String> {
        Some(format!("{base}/messages"))
    }

    fn body(request: &ModelRequest, without: &[&str]) -> Result<Vec<u8>, ModelError> {
        let turns = Turns::of(request);
        let mut body = json!({
            "model": request.model,
            "max_tokens": MAX_TOKENS,
            "stream": true,
            "messages": turns.turns.iter().map(message).collect::<Vec<_>>(),
        });
        if !turns.instructions.is_empty() {
            body["system"] = json!(turns.instructions);
        }
        if !without.contains(&"temperature") {
            body["temperature"] = json!(request.temperature.min(1.0));
        }
        // A caller waits for thoughts. Some models cannot be without all of them, others not without any.
        match without.iter().filter(|one| **one == "thinking").count() {
            0 => body["thinking"] = json!({"type": "disabled"}),
            1 => body["thinking"] = json!({"type": "between_tools"}),
            _ => {}
        }
        if !request.tools.is_empty() {
            let choice = if request.may_call { "auto" } else { "none" };
            body["tools"] = tools(request, "input_schema")?;
            body["tool_choice"] = json!({"type": choice});
        }
        Ok(body.to_string().into_bytes())
    }
}

/// A model's thoughts come before all else that it wrote in the turn.
fn message(turn: &Turn<'_>) -> Value {
    let mut content = Vec::with_capacity(turn.parts.len());
    for part in &turn.parts {
        match part {
            Part::Text(text) => content.push(json!({"type": "text", "text": text})),
            Part::Call { id, call } => {
                let thoughts = call.vendor.as_ref().filter(|data| data.vendor == VENDOR);
                let thoughts = thoughts.and_then(|data| serde_json::from_str(&data.data).ok());
                if let Some(Value::Array(thoughts)) = thoughts {
                    content.splice(0..0, thoughts);
                }
                content.push(json!({
                    "type": "tool_use", "id": id, "name": call.name, "input": object(&call.arguments)
                }));
            }
            Part::Answer { id, text, .. } => content.push(json!({
                "type": "tool_result", "tool_use_id": id, "content": text
            })),
        }
    }
    let role = if turn.is_model { "assistant" } else { "user" };
    json!({"role": role, "content": content})
}

/// The tools of a request, with their schemas in this member.
pub(crate) fn tools(request: &ModelRequest, schema_in: &str) -> Result<Value, ModelError> {
    let tool = |tool: &ToolDefinition| {
        let schema: Value = serde_json::from_str(&tool.parameters)
            .map_err(|_| ModelError::Protocol("a tool's schema is no JSON"))?;
        Ok(json!({"name": &*tool.name, "description": &*tool.description, schema_in: schema}))
    };
    request.tools.iter().map(tool).collect()
}

/// A call's arguments; a model may have written no object.
pub(crate) fn object(arguments: &str) -> Value {
    let parsed: Option<Map<String, Value>> = serde_json::from_str(arguments).ok();
    Value::Object(parsed.unwrap_or_default())
}

/// The state between events.
#[derive(Default)]
pub(crate) struct Reply {
    calls: Calls,
    thoughts: Vec<Value>,
    input: Option<u32>,
    output: Option<u32>,
}

impl AnswerFormat for Reply {
    fn read(&mut self, data: &str, found: &mut VecDeque<ModelDelta>) -> Result<bool, ModelError> {
        let event: Value = serde_json::from_str(data)
            .map_err(|_| ModelError::Protocol("a piece of it is malformed"))?;
        let index = &event["index"];
        match event["type"].as_str().unwrap_or_default() {
            "message_start" => self.count(&event["message"]["usage"]),
            "message_delta" => self.count(&event["usage"]),
            "content_block_start" => {
                let block = &event["content_block"];
                match block["type"].as_str().unwrap_or_default() {
                    "tool_use" => {
                        let function = json!({"name": block["name"]});
                        let call = json!({"index": index, "id": block["id"], "function": function});
                        self.calls.add_value(call)?;
                    }
                    "thinking" | "redacted_thinking" => self.thoughts.push(block.clone()),
                    _ => {}
                }
                found.push_back(piece(&block["text"]));
            }
            "content_block_delta" => {
                let delta = &event["delta"];
                if delta["partial_json"].is_string() {
                    let function = json!({"arguments": delta["partial_json"]});
                    let more = json!({"index": index, "function": function});
                    self.calls.add_value(more)?;
                }
                for member in ["thinking", "signature"] {
                    if let Some(more) = delta[member].as_str()
                        && let Some(Value::Object(thought)) = self.thoughts.last_mut()
                        && let Value::String(text) =
                            thought.entry(member).or_insert_with(|| json!(""))
                    {
                        text.push_str(more);
                    }
                }
                found.push_back(piece(&delta["text"]));
            }
            "message_stop" => return self.finish(found),
            "error" => return Err(of_fault(&event["error"]["type"])),
            _ => {}
        }
        Ok(false)
    }

    fn used(&self) -> Option<Tokens> {
        let (input, output) = self.input.zip(self.output)?;
        Some(Tokens { input, output })
    }
}

impl Reply {
    /// The last count of each kind holds.
    fn count(&mut self, usage: &Value) {
        self.input = count(&usage["input_tokens"]).or(self.input);
        self.output = count(&usage["output_tokens"]).or(self.output);
    }

    /// The first call takes the thoughts along: they go back with the answers of the tools.
    fn finish(&mut self, found: &mut VecDeque<ModelDelta>) -> Result<bool, ModelError> {
        let mut calls = std::mem::take(&mut self.calls).whole()?;
        let thoughts = std::mem::take(&mut self.thoughts);
        if let Some(first) = calls.first_mut().filter(|_| !thoughts.is_empty()) {
            first.vendor = Some(VendorData {
                vendor: VENDOR,
                data: Value::Array(thoughts).to_string().into(),
            });
        }
        found.extend(calls.into_iter().map(ModelDelta::Call));
        Ok(true)
    }
}

/// Text, or a sign of life where there is none.
pub(crate) fn piece(text: &Value) -> ModelDelta {
    let text = without_nul(text.as_str().unwrap_or_default().to_owned());
    match text.is_empty() {
        true => ModelDelta::Working,
        false => ModelDelta::Text(text),
    }
}

pub(crate) fn count(tokens: &Value) -> Option<u32> {
    tokens.as_u64()?.try_into().ok()
}

/// An error inside a stream that began with 200, as the status that it has otherwise.
fn of_fault(kind: &Value) -> ModelError {
    ModelError::Refused(match kind.as_str().unwrap_or_default() {
        "authentication_error" => 401,
        "permission_error" => 403,
        "rate_limit_error" => 429,
        "api_error" => 500,
        "overloaded_error" => 529,
        _ => return ModelError::Protocol("it holds an error instead"),
    })
}
