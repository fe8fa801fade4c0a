//! Writes what a session reports as it happens, in order, and through database outages.

use std::collections::VecDeque;

use async_trait::async_trait;
use offhook_engine::{CallSink, ClaimLost, Turn, TurnLatency, TurnRole};
use offhook_metrics::metrics;
use tokio::sync::Mutex;

use crate::Result;
use crate::prelude::*;
use crate::retry::RETRY_EVERY;
use crate::turns::stored;

enum Step {
    Answered(Timestamp),
    Turn(NewTurn),
}

/// Steps that are not written yet.
struct Kept {
    steps: VecDeque<Step>,
    /// The conversation's last written moment: a retried step keeps its number.
    last: i32,
}

/// The record of one call. Steps that cannot be written now are kept and written first the next time.
pub(crate) struct Record {
    runner: Arc<Runner>,
    id: ConversationId,
    claim: ClaimId,
    kept: Mutex<Kept>,
    /// How long the customer waited for the agent's current turn.
    waited: parking_lot::Mutex<Option<TurnLatency>>,
    /// Written with the end of the call, so that it costs no statement of its own.
    signaled: parking_lot::Mutex<Signaled>,
}

impl Record {
    pub(crate) fn new(runner: Arc<Runner>, call: &Conversation, claim: ClaimId) -> Self {
        let kept = Kept {
            steps: VecDeque::new(),
            last: call.last_seq,
        };
        Self {
            runner,
            id: call.id,
            claim,
            kept: Mutex::new(kept),
            waited: Default::default(),
            signaled: Default::default(),
        }
    }

    /// What the phone network has signaled.
    pub(crate) fn signaled(&self) -> Signaled {
        *self.signaled.lock()
    }

    async fn write(&self, step: Step) -> Result<(), ClaimLost> {
        let mut kept = self.kept.lock().await;
        kept.steps.push_back(step);
        // A step that cannot be written stays queued; the call continues.
        let _ = self.flush(&mut kept).await?;
        Ok(())
    }

    /// Writes every kept step, however long the database takes to respond.
    pub(crate) async fn finish(&self) -> Result<(), ClaimLost> {
        let mut kept = self.kept.lock().await;
        while !self.flush(&mut kept).await? {
            tokio::time::sleep(RETRY_EVERY).await;
        }
        Ok(())
    }

    /// `true` once no step is left.
    async fn flush(&self, kept: &mut Kept) -> Result<bool, ClaimLost> {
        while let Some(step) = kept.steps.front() {
            let written = match step {
                Step::Answered(at) => {
                    let dialog = self.runner.providers.network.dialog(CallHandle(self.id));
                    self.runner
                        .store
                        .call_answered(self.id, self.claim, *at, dialog)
                        .await
                }
                Step::Turn(turn) => {
                    let turn = NewTurn {
                        seq: Some(kept.last + 1),
                        ..turn.clone()
                    };
                    let store = &self.runner.store;
                    store.append_turn(self.id, self.claim, turn).await
                }
            };
            match written {
                Ok(Fenced::Done) => {
                    failpoints::hit(match step {
                        Step::Answered(_) => failpoints::DIAL_AFTER_ANSWER,
                        Step::Turn(_) => failpoints::DIAL_AFTER_TURN,
                    });
                    kept.steps.pop_front();
                    kept.last += 1;
                    self.runner.live.touch(self.id);
                }
                Ok(Fenced::Lost) => return Err(ClaimLost),
                Err(error) if error.may_pass() => return Ok(false),
                Err(error) => {
                    tracing::error!(%error, call = %self.id, "a step of a call cannot be written");
                    kept.steps.pop_front();
                }
            }
        }
        Ok(true)
    }
}

/// The stages of a reply as stored and reported, each measured from the end of the customer's speech.
fn steps(latency: &TurnLatency) -> String {
    let TurnLatency {
        end_of_turn_ms,
        first_token_ms,
        first_sentence_ms,
        first_byte_ms,
        first_frame_ms,
    } = latency;
    format!(
        r#"{{"end_of_turn_ms":{end_of_turn_ms},"first_token_ms":{first_token_ms},"first_sentence_ms":{first_sentence_ms},"first_byte_ms":{first_byte_ms},"first_frame_ms":{first_frame_ms}}}"#
    )
}

#[async_trait]
impl CallSink for Record {
    async fn carrier_reported(&self) -> Result<(), ClaimLost> {
        failpoints::hit(failpoints::DIAL_AFTER_CARRIER);
        self.runner.live.registry.mark_alive(self.id);
        let Some(dialog) = self
            .runner
            .providers
            .network
            .early_dialog(CallHandle(self.id))
        else {
            return Ok(());
        };
        let (store, claim) = (&self.runner.store, self.claim);
        match store.call_dialed(self.id, claim, dialog).await {
            Ok(Fenced::Lost) => Err(ClaimLost),
            Ok(Fenced::Done) => Ok(()),
            Err(error) => {
                // It is written with the answer, if there is one.
                tracing::warn!(%error, call = %self.id, "what would end a call that rings cannot be written");
                Ok(())
            }
        }
    }

    fn rang(&self, at: Timestamp) {
        self.signaled.lock().rang_at = Some(at);
    }

    fn refused(&self, status: u16) {
        self.signaled.lock().carrier_status = Some(i32::from(status));
    }

    async fn answered(&self, at: Timestamp) -> Result<(), ClaimLost> {
        self.write(Step::Answered(at)).await
    }

    async fn turn(&self, turn: Turn) -> Result<(), ClaimLost> {
        self.runner.live.listeners.said(self.id, &turn);
        let latency = match turn.role {
            TurnRole::Agent => self.waited.lock().take(),
            TurnRole::User | TurnRole::Tool => None,
        };
        let latency = latency.map(|latency| steps(&latency));
        self.write(Step::Turn(stored(turn, latency))).await
    }

    fn measured(&self, latency: &TurnLatency) {
        *self.waited.lock() = Some(*latency);
        for (step, took_ms) in latency.steps() {
            metrics().calls.turn_step(step, took_ms);
        }
    }
}
