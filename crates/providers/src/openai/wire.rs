//! The request and response bodies of chat completions.

use offhook_engine::ports::{
    Message, ModelError, ModelRequest, Role, Tokens, ToolCall, ToolDefinition,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::lenient::Lenient;
use crate::tool_calls::CallPart;

#[derive(Serialize)]
pub(super) struct RequestBody<'a> {
    model: &'a str,
    messages: Vec<MessageBody<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ToolBody<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<&'static str>,
}

/// Asks for the count of tokens at the end of the stream.
#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct MessageBody<'a> {
    role: &'static str,
    /// Null for a tool call without text.
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<CallBody<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
}

#[derive(Serialize)]
struct ToolBody<'a> {
    r#type: &'static str,
    function: FunctionBody<'a>,
}

#[derive(Serialize)]
struct FunctionBody<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a RawValue,
}

#[derive(Serialize)]
struct CallBody<'a> {
    id: &'a str,
    r#type: &'static str,
    function: CalledBody<'a>,
}

#[derive(Serialize)]
struct CalledBody<'a> {
    name: &'a str,
    arguments: &'a str,
}

impl<'a> RequestBody<'a> {
    /// A request without these options. Fails with [`ModelError::Protocol`] if a tool's schema is not valid JSON.
    pub(super) fn new(request: &'a ModelRequest, without: &[&str]) -> Result<Self, ModelError> {
        let has = |option| !without.contains(&option);
        let tools = request.tools.iter().map(ToolBody::of);
        let choice = if request.may_call { "auto" } else { "none" };
        Ok(Self {
            model: &request.model,
            messages: request.messages.iter().map(MessageBody::from).collect(),
            temperature: has("temperature").then_some(request.temperature),
            stream: true,
            stream_options: has("stream_options").then_some(StreamOptions {
                include_usage: true,
            }),
            tools: tools.collect::<Result<_, _>>()?,
            // `tool_choice` is only allowed together with tools.
            tool_choice: (!request.tools.is_empty()).then_some(choice),
        })
    }
}

impl<'a> ToolBody<'a> {
    fn of(tool: &'a ToolDefinition) -> Result<Self, ModelError> {
        let parameters = serde_json::from_str(&tool.parameters)
            .map_err(|_| ModelError::Protocol("a tool's schema is no JSON"))?;
        Ok(Self {
            r#type: "function",
            function: FunctionBody {
                name: &tool.name,
                description: &tool.description,
                parameters,
            },
        })
    }
}

impl<'a> From<&'a Message> for MessageBody<'a> {
    fn from(message: &'a Message) -> Self {
        let role = match message.role {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Tool => "tool",
        };
        let is_mute = message.content.is_empty() && !message.calls.is_empty();
        Self {
            role,
            content: (!is_mute).then_some(&*message.content),
            tool_calls: message.calls.iter().map(CallBody::from).collect(),
            tool_call_id: message.answers.as_deref(),
        }
    }
}

impl<'a> From<&'a ToolCall> for CallBody<'a> {
    fn from(call: &'a ToolCall) -> Self {
        Self {
            id: &call.id,
            r#type: "function",
            function: CalledBody {
                name: &call.name,
                arguments: &call.arguments,
            },
        }
    }
}

/// One event of a streamed answer.
#[derive(Deserialize)]
pub(super) struct Chunk {
    #[serde(default)]
    pub(super) choices: Vec<Choice>,
    pub(super) error: Option<ErrorBody>,
    #[serde(default)]
    usage: Lenient<Usage>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Usage {
    prompt_tokens: Option<u32>,
    completion_tokens: Option<u32>,
}

impl Chunk {
    /// What the answer used, if this event says so.
    pub(super) fn used(&self) -> Option<Tokens> {
        let Lenient(usage) = &self.usage;
        Some(Tokens {
            input: usage.prompt_tokens?,
            output: usage.completion_tokens?,
        })
    }
}

#[derive(Deserialize)]
pub(super) struct Choice {
    #[serde(default)]
    pub(super) index: u32,
    pub(super) delta: Option<Delta>,
    pub(super) finish_reason: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Delta {
    pub(super) content: Lenient<Option<String>>,
    pub(super) refusal: Lenient<Option<String>>,
    pub(super) tool_calls: Option<Vec<CallPart>>,
}

/// An error inside a stream that began with 200: an object with a numeric `code` or `status`, or anything else.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum ErrorBody {
    Coded {
        #[serde(alias = "status")]
        code: u16,
    },
    Other(serde::de::IgnoredAny),
}

impl From<ErrorBody> for ModelError {
    fn from(error: ErrorBody) -> Self {
        match error {
            ErrorBody::Coded { code } if (400..600).contains(&code) => Self::Refused(code),
            ErrorBody::Coded { .. } | ErrorBody::Other(_) => {
                Self::Protocol("it holds an error instead")
            }
        }
    }
}
