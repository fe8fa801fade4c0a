//! Events of lines with speech-to-text and text-to-speech: screening results, holds, and reply times.

use tokio::time::Instant;

use super::LiveCall;
use super::customer::Words;
use crate::ports::Spoken;
use crate::session::SessionExit;

impl LiveCall<'_> {
    /// Screening is done: a human or a machine answered. What was said is no question, so no model answers it.
    pub(super) async fn screened(
        &mut self,
        machine: bool,
        text: &str,
        duration_ms: u32,
    ) -> Result<(), SessionExit> {
        if !std::mem::take(&mut self.screening) {
            return Ok(());
        }
        if !text.is_empty() {
            let now = Instant::now();
            let words = Words {
                text,
                duration_ms,
                spoke_until: now,
                answered_at: now,
                interrupts: false,
            };
            let started_at = self.began_to_speak(&words);
            self.record_words(&words, started_at).await?;
            if self.agent.is_some() {
                self.overheard.push(text.to_owned());
            } else {
                self.dialogue.push_customer(text);
            }
        }
        self.machine = machine;
        if self.agent.is_some() {
            // The agent is already saying goodbye.
            return Ok(());
        }
        self.greet()
    }

    /// Time on hold does not count: it moves every timer that waits for speech.
    pub(super) fn set_on_hold(&mut self, on: bool) {
        if on {
            self.held_since.get_or_insert_with(Instant::now);
        } else if let Some(since) = self.held_since.take() {
            let held = since.elapsed();
            for waits in [
                &mut self.reply_at,
                &mut self.silence_at,
                &mut self.filler_at,
            ] {
                *waits = waits.map(|at| at + held);
            }
        }
    }

    /// Adds the result of a spoken sentence to the current turn.
    pub(super) fn add(&mut self, spoken: &Spoken) {
        let Some(turn) = self.agent.as_mut() else {
            return;
        };
        turn.add(spoken);
        let times = turn.times.take();
        if let Some(latency) = times.and_then(|times| times.measured(spoken.sound)) {
            turn.measured(latency.first_frame_ms);
            self.latencies_ms.push(latency.first_frame_ms);
            self.sink.measured(&latency);
        }
    }
}
