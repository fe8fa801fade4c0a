//! A caller that is played by a model.

use std::sync::Arc;

use offhook_domain::{Clock, TurnRole};
use offhook_engine::ports::{Models, NoTools};
use offhook_engine::{Dialogue, Latencies, Persona, answer};

use super::format::Scenario;
use super::play::Sink;
use crate::trials::Ready;

/// How the model that plays the caller ends the conversation.
const END: &str = "[END]";

const CALLER: &str = "You play a person who contacts a service. Stay this person; you are never the service. Say one thing at \
                      a time, as people do, and give details only when you are asked for them. Once you have what you want, \
                      or it is out of reach, say goodbye and write [END] behind it.";

/// What the model that plays the caller is told where it has to speak first.
const OPENING: &str = "(The line is open. Speak first.)";

/// The agent's model as a caller.
pub(super) struct PlayedCaller {
    persona: Arc<Persona>,
    models: Arc<dyn Models>,
    latencies: Latencies,
    clock: Arc<dyn Clock>,
}

impl PlayedCaller {
    pub(super) fn new(scenario: &Scenario, ready: &Ready, clock: &Arc<dyn Clock>) -> Self {
        let texts = [Some(CALLER), scenario.persona.as_deref()];
        let mut prompt = texts.into_iter().flatten().collect::<Vec<_>>().join("\n\n");
        if let Some(goal) = &scenario.goal {
            prompt.push_str("\n\nWhat you want: ");
            prompt.push_str(goal);
        }
        let persona = Persona {
            system_prompt: prompt,
            context: String::new(),
            guard: false,
            ..ready.persona.clone()
        };
        Self {
            persona: Arc::new(persona),
            models: ready.providers.models.clone(),
            latencies: ready.providers.latencies.clone(),
            clock: clock.clone(),
        }
    }

    /// The caller's next line after what was said, and whether it is the last; `None` without an answer.
    pub(super) async fn says(&self, said: Vec<(TurnRole, String)>) -> Option<(String, bool)> {
        // To the model, the agent is the user.
        let said = said.into_iter().filter_map(|(role, text)| match role {
            TurnRole::Agent => Some((TurnRole::User, text)),
            TurnRole::User => Some((TurnRole::Agent, text)),
            TurnRole::Tool => None,
        });
        let mut said: Vec<_> = said.collect();
        if said.is_empty() {
            said.push((TurnRole::User, OPENING.to_owned()));
        }
        let (models, latencies) = (self.models.clone(), self.latencies.clone());
        let dialogue = Dialogue::new(self.persona.clone(), models, latencies);
        let dialogue = dialogue.in_writing().behind(said);
        let sink = Sink::new();
        let never = std::future::pending();
        let ended = answer(dialogue, &NoTools, &*self.clock, &sink, never).await;
        let text = ended.ok()?.last?.text;
        let (line, is_last) = match text.split_once(END) {
            Some((line, _)) => (line.trim(), true),
            None => (text.trim(), false),
        };
        Some((line.to_owned(), is_last))
    }
}
