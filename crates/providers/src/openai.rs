//! Any service with OpenAI's streaming chat completions: OpenAI, Azure, vLLM, llama.cpp, Ollama, LiteLLM, OpenRouter.

use std::collections::VecDeque;

use offhook_engine::ports::{ModelDelta, ModelError, ModelRequest, Tokens};
use reqwest::header::{AUTHORIZATION, HeaderName};

use crate::lenient::without_nul;
use crate::model_service::{AnswerFormat, WireFormat};
use crate::tool_calls::Calls;
use wire::{Chunk, RequestBody};

pub(crate) mod speech;
mod wire;

pub(crate) const BASE_URL: &str = "https://api.openai.com/v1";

/// OpenAI's chat completions.
pub(crate) struct ChatCompletions;

impl WireFormat for ChatCompletions {
    type Answer = Completion;

    const KEY_IN: (HeaderName, &'static str) = (AUTHORIZATION, "Bearer ");

    const OPTIONAL: &'static [&'static str] = &["temperature", "stream_options"];

    fn url(base: &str, _model: &str) -> Option<String> {
        const PATH: &str = "/chat/completions";
        Some(match base.ends_with(PATH) {
            true => base.to_owned(),
            false => format!("{base}{PATH}"),
        })
    }

    fn body(request: &ModelRequest, without: &[&str]) -> Result<Vec<u8>, ModelError> {
        serde_json::to_vec(&RequestBody::new(request, without)?)
            .map_err(|_| ModelError::Protocol("the request could not be made"))
    }
}

/// The state between events.
#[derive(Default)]
pub(crate) struct Completion {
    calls: Calls,
    used: Option<Tokens>,
}

impl AnswerFormat for Completion {
    fn read(&mut self, data: &str, found: &mut VecDeque<ModelDelta>) -> Result<bool, ModelError> {
        if data == "[DONE]" {
            return self.finish(found);
        }
        let chunk: Chunk = serde_json::from_str(data)
            .map_err(|_| ModelError::Protocol("a piece of it is malformed"))?;
        if let Some(error) = chunk.error {
            return Err(error.into());
        }
        self.used = chunk.used().or(self.used);
        for choice in chunk.choices.into_iter().filter(|choice| choice.index == 0) {
            let delta = choice.delta.unwrap_or_default();
            let text = [delta.content.0, delta.refusal.0].into_iter().flatten();
            for text in text.map(without_nul).filter(|text| !text.is_empty()) {
                found.push_back(ModelDelta::Text(text));
            }
            for part in delta.tool_calls.into_iter().flatten() {
                self.calls.add(part)?;
                found.push_back(ModelDelta::Working);
            }
            if choice.finish_reason.is_some() {
                return self.finish(found);
            }
        }
        Ok(false)
    }

    fn read_late(&mut self, data: &str) {
        let chunk = serde_json::from_str::<Chunk>(data).ok();
        self.used = chunk.and_then(|chunk| chunk.used()).or(self.used);
    }

    fn used(&self) -> Option<Tokens> {
        self.used
    }
}

impl Completion {
    /// The model has finished: its tool calls are complete.
    fn finish(&mut self, found: &mut VecDeque<ModelDelta>) -> Result<bool, ModelError> {
        let calls = std::mem::take(&mut self.calls).whole()?;
        found.extend(calls.into_iter().map(ModelDelta::Call));
        Ok(true)
    }
}
