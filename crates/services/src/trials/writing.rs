//! A draft's answer in writing. The page holds the conversation and sends it with each message, so that one can go back in
//! it, and change the draft in between.

use std::sync::OnceLock;

use async_trait::async_trait;
use offhook_engine::{ChatEnd, ChatPiece, ChatSink, ClaimLost, Dialogue, Turn, answer};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::{Draft, Place, Stage, TrialNote, Trials};
use crate::error::Result;
use crate::prelude::*;

/// Bytes of a message.
const TEXT_BYTES: usize = 4_096;

/// How long an answer may take in total, tools included.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);

/// A turn of the conversation so far.
pub type TrialTurn = (TurnRole, String);

/// An answer of a draft.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrialReply {
    /// The agent's first message, where the conversation begins with this reply.
    pub opening: Option<String>,
    /// What was found, called and written, in order.
    pub notes: Vec<TrialNote>,
    /// Milliseconds to the first text.
    pub first_text_ms: Option<u32>,
    pub total_ms: u32,
    /// What this reply would cost a customer's chat.
    pub credits: Credits,
    /// Whether the agent ended the conversation.
    pub is_last: bool,
}

#[boxed]
impl Trials {
    /// Has the draft answer a message after these turns.
    pub async fn reply(
        &self,
        caller: &Caller,
        draft: &Draft,
        mut turns: Vec<TrialTurn>,
        text: &str,
    ) -> Result<TrialReply> {
        let text = text.trim();
        if text.is_empty() {
            return Err(FieldError::new("text", Fault::Empty).into());
        }
        if text.len() > TEXT_BYTES {
            return Err(FieldError::new("text", Fault::Bytes(TEXT_BYTES)).into());
        }
        let account = caller.account.id;
        let _place = Place::take(&self.1, account)?;
        let (notes, mut noted) = mpsc::unbounded_channel();
        let stage = Stage::of_trial(Channel::Chat, notes.clone());
        let ready = self.prepare(account, draft, stage).await?;
        self.count(account, [1, 0, 0]).await?;
        let opening = ready.persona.first_message.trim().to_owned();
        let opening = (turns.is_empty() && !opening.is_empty()).then_some(opening);
        turns.extend(opening.clone().map(|text| (TurnRole::Agent, text)));
        turns.push((TurnRole::User, text.to_owned()));
        let (shared, begun) = (&self.0, Instant::now());
        let sink = Sink {
            notes,
            begun,
            first_text: OnceLock::new(),
        };
        let (models, latencies) = (&ready.providers.models, &ready.providers.latencies);
        let dialogue = Dialogue::new(Arc::new(ready.persona), models.clone(), latencies.clone())
            .in_writing()
            .with_tools(ready.tools.definitions())
            .with_knowledge(ready.knowledge)
            .behind(turns);
        let stop = tokio::time::sleep(ANSWER_LIMIT);
        let answered = answer(dialogue, &*ready.tools, &*shared.clock, &sink, stop);
        let answered = answered.await.map_err(|ClaimLost| UseCaseError::NoReply)?;
        if answered.end == ChatEnd::NoReply || !answered.is_begun {
            return Err(UseCaseError::NoReply);
        }
        let mut all = Vec::new();
        while let Ok(note) = noted.try_recv() {
            all.push(note);
        }
        all.extend(answered.last.map(TrialNote::Turn));
        let price = ready
            .providers
            .catalog
            .dearest(caller.account.plan, &ready.config);
        Ok(TrialReply {
            opening,
            notes: all,
            first_text_ms: sink.first_text.get().copied(),
            total_ms: millis(begun),
            credits: price.of_answers(1),
            is_last: answered.end == ChatEnd::Farewell,
        })
    }
}

struct Sink {
    notes: mpsc::UnboundedSender<TrialNote>,
    begun: Instant,
    first_text: OnceLock<u32>,
}

#[async_trait]
impl ChatSink for Sink {
    fn piece(&self, piece: ChatPiece) {
        if let ChatPiece::Text(_) = piece {
            self.first_text.get_or_init(|| millis(self.begun));
        }
    }

    /// Nothing survives the process.
    async fn at_work(&self, _told: Vec<String>) -> Result<(), ClaimLost> {
        Ok(())
    }

    async fn turns(&self, turns: Vec<Turn>) -> Result<(), ClaimLost> {
        for turn in turns {
            let _ = self.notes.send(TrialNote::Turn(turn));
        }
        Ok(())
    }
}

fn millis(since: Instant) -> u32 {
    u32::try_from(since.elapsed().as_millis()).unwrap_or(u32::MAX)
}
