//! The customer's side of a live call: when the customer speaks, and what was said.

use std::time::Duration;

use offhook_domain::{CallOutcome, TerminationReason, Timestamp};
use tokio::time::Instant;

use super::{LONGEST_UTTERANCE, LiveCall};
use crate::TurnRole;
use crate::opt_out;
use crate::phrases::phrases;
use crate::session::{SessionExit, Turn, at_speed};

/// A finished utterance of the customer.
pub(super) struct Words<'a> {
    pub(super) text: &'a str,
    pub(super) duration_ms: u32,
    /// When its last word was spoken.
    pub(super) spoke_until: Instant,
    /// When the agent answers, if the customer says nothing more.
    pub(super) answered_at: Instant,
    /// Whether it interrupts the agent.
    pub(super) interrupts: bool,
}

impl LiveCall<'_> {
    pub(super) async fn customer_started(&mut self) -> Result<(), SessionExit> {
        self.customer_since = Some(self.clock.now());
        self.filler_at = None;
        if self.yields() {
            self.interrupt().await?;
        }
        let utterance_lost_at = Some(self.after(LONGEST_UTTERANCE));
        if self.machine {
            self.reply_at = self.reply_at.and(utterance_lost_at);
        } else if self.agent.is_none() {
            self.reply_at = None;
            self.silence_at = utterance_lost_at;
        }
        Ok(())
    }

    pub(super) async fn heard(&mut self, text: &str, duration_ms: u32) -> Result<(), SessionExit> {
        let now = Instant::now();
        let pause = at_speed(self.dialogue.persona().endpointing, self.speed);
        let words = Words {
            text: text.trim(),
            duration_ms,
            spoke_until: now,
            answered_at: now + pause,
            interrupts: true,
        };
        self.turn_over(words).await
    }

    /// Handles a finished utterance.
    pub(super) async fn turn_over(&mut self, words: Words<'_>) -> Result<(), SessionExit> {
        let text = words.text;
        let started_at = self.began_to_speak(&words);
        if !text.is_empty() {
            if words.interrupts && self.yields() {
                self.interrupt().await?;
            }
            self.record_words(&words, started_at).await?;
            self.asked_again = false;
            if !self.machine
                && self.farewell().is_none()
                && opt_out::is_asked_for(text)
                && self.tools.opt_out().await
            {
                self.cut().await?;
                self.dialogue.push_customer(text);
                let language = &self.dialogue.persona().language;
                let outcome = CallOutcome::Completed(TerminationReason::AgentHangup);
                self.part(phrases(language).opted_out, outcome);
                return Ok(());
            }
            // A customer who speaks over the agent is not waiting for it.
            let agent = self.agent.as_ref();
            let waits = agent.is_none_or(|turn| turn.speaking.is_none());
            self.heard_at = waits.then_some(words.spoke_until);
            self.turn_over_at = waits.then_some(words.answered_at);
            if waits {
                self.await_answer(words.answered_at);
            }
        }
        if self.agent.is_some() {
            self.overheard
                .extend((!text.is_empty()).then(|| text.to_owned()));
            return Ok(());
        }
        self.dialogue.push_customer(text);
        if self.machine || self.dialogue.awaits_reply() {
            self.silence_at = None;
            self.reply_at = Some(words.answered_at);
            self.await_answer(words.answered_at);
        } else {
            self.listen();
        }
        Ok(())
    }

    /// Records the customer's words.
    pub(super) async fn record_words(
        &mut self,
        words: &Words<'_>,
        started_at: Timestamp,
    ) -> Result<(), SessionExit> {
        self.record(Turn {
            role: TurnRole::User,
            text: words.text.to_owned(),
            started_at,
            duration_ms: words.duration_ms,
            interrupted: false,
            source: None,
        })
        .await
    }

    /// When the customer began to speak. A line that does its own endpointing reports it late.
    pub(super) fn began_to_speak(&mut self, words: &Words<'_>) -> Timestamp {
        let since = self.customer_since.take();
        since.filter(|_| !self.line.is_spoken()).unwrap_or_else(|| {
            let spoken_for = Duration::from_millis(words.duration_ms.into());
            let ago = words.spoke_until.elapsed() + spoken_for;
            self.clock.now().minus(ago)
        })
    }
}
