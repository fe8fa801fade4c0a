//! What is told by lines that hear and speak: who answered, a hold, the time that a reply took.

use tokio::time::Instant;

use super::Live;
use super::customer::Words;
use crate::ports::Spoken;
use crate::session::Over;

impl Live<'_> {
    /// It was found out who answered, and what they said: no question, so it is not answered by a model.
    pub(super) async fn screened(
        &mut self,
        machine: bool,
        text: &str,
        duration_ms: u32,
    ) -> Result<(), Over> {
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
                self.dialogue.heard(text);
            }
        }
        self.machine = machine;
        if self.agent.is_some() {
            // It is saying goodbye already.
            return Ok(());
        }
        self.greet()
    }

    /// While a call is on hold no time passes that somebody would have to fill.
    pub(super) fn held(&mut self, on: bool) {
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

    /// Takes in what became of a sentence of the present turn.
    pub(super) fn add(&mut self, spoken: &Spoken) {
        let Some(turn) = self.agent.as_mut() else {
            return;
        };
        turn.add(spoken);
        let way = turn.way.take();
        if let Some(latency) = way.and_then(|way| way.measured(spoken.sound)) {
            turn.measured(latency.first_frame_ms);
            self.latencies_ms.push(latency.first_frame_ms);
            self.sink.measured(&latency);
        }
    }
}
