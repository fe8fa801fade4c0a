//! A provider of legacy agents with batch operations: the simulated one, and deeds of its own.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use offhook_domain::CallHandle;
use offhook_engine::legacy::{
    LegacyAgents, LegacyCall, LegacyError, LegacyPace, LegacyProgress, LegacyProvider,
    LegacyReference, RecordingError,
};
use offhook_engine::legacy_batches::{LegacyBatch, LegacyBatches, LegacyRecipient, RecipientStage};
use offhook_providers::SimulatedLegacy;
use tokio::time::Instant;

use crate::client::must;

const DIAL_WITHIN: Duration = Duration::from_secs(10);

/// What the provider does with a request to call many.
#[derive(Clone, Copy)]
pub(super) enum Deed {
    /// Takes it, and the answer is lost.
    LosesItsAnswer,
    /// Nobody hears of it again.
    Forgets,
    /// Will not.
    Refuses,
    /// Takes it, and says that it is too busy.
    TakesAndPutsOff,
    /// Is too busy.
    PutsOff,
    /// Cannot be reached.
    IsAway,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) deeds: VecDeque<Deed>,
    /// What the next looks for a batch by its name come to, instead of what is there.
    pub(super) looks: VecDeque<LegacyError>,
    /// What it says of every batch, instead of how far its calls are.
    pub(super) tells: Option<LegacyError>,
    /// Whether it keeps everybody waiting.
    pub(super) holds: bool,
    /// Whether it says for ever that the first of a batch who waits is being dialed.
    pub(super) is_stuck: bool,
    pub(super) batches: HashMap<String, Batch>,
    /// Every request to call many: its name, and whom.
    pub(super) asked: Vec<(String, Vec<CallHandle>)>,
    /// Who was called by a request of its own.
    pub(super) alone: Vec<CallHandle>,
    pub(super) cancelled: Vec<String>,
}

pub(super) struct Batch {
    pub(super) calls: Vec<LegacyCall>,
    pub(super) stage: RecipientStage,
    pub(super) credential: String,
}

/// The simulated provider, with batch operations in front of it.
pub(super) struct Batching {
    pub(super) simulated: SimulatedLegacy,
    pub(super) over_within: Duration,
    pub(super) state: Mutex<State>,
}

impl Batching {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls everybody who was kept waiting.
    pub(super) async fn dispatch(&self) {
        let waiting: Vec<(String, LegacyCall)> = {
            let mut state = self.state();
            state.holds = false;
            let batches = state.batches.values_mut();
            let waiting = batches.filter(|batch| batch.stage == RecipientStage::Pending);
            waiting
                .flat_map(|batch| {
                    batch.stage = RecipientStage::UnderWay;
                    let credential = &batch.credential;
                    batch
                        .calls
                        .iter()
                        .map(|call| (credential.clone(), call.clone()))
                })
                .collect()
        };
        for (credential, call) in waiting {
            must(
                self.simulated
                    .place(&credential, call, Instant::now() + DIAL_WITHIN)
                    .await,
            );
        }
    }
}

#[async_trait]
impl LegacyProvider for Batching {
    async fn agents(&self, credential: &str) -> Result<LegacyAgents, LegacyError> {
        self.simulated.agents(credential).await
    }

    async fn rename(&self, credential: &str, agent: &str, name: &str) -> Result<(), LegacyError> {
        self.simulated.rename(credential, agent, name).await
    }

    async fn place(
        &self,
        credential: &str,
        call: LegacyCall,
        place_by: Instant,
    ) -> Result<Option<String>, LegacyError> {
        self.state().alone.push(call.reference);
        self.simulated.place(credential, call, place_by).await
    }

    async fn progress(
        &self,
        credential: &str,
        reference: &LegacyReference,
    ) -> Result<Option<LegacyProgress>, LegacyError> {
        self.simulated.progress(credential, reference).await
    }

    async fn hang_up(&self, _: &str, _: &LegacyReference) -> Result<(), LegacyError> {
        Err(LegacyError::Refused("it has no such operation"))
    }

    fn hangs_up(&self) -> bool {
        false
    }

    fn calls_from_any(&self) -> bool {
        self.simulated.calls_from_any()
    }

    async fn recording(
        &self,
        credential: &str,
        reference: &LegacyReference,
        to: File,
    ) -> Result<bool, RecordingError> {
        self.simulated.recording(credential, reference, to).await
    }

    fn batches(&self) -> Option<&dyn LegacyBatches> {
        Some(self)
    }

    fn pace(&self) -> LegacyPace {
        LegacyPace {
            appears_within: Duration::from_millis(500),
            over_within: self.over_within,
            ..self.simulated.pace()
        }
    }
}

#[async_trait]
impl LegacyBatches for Batching {
    async fn submit_batch(
        &self,
        credential: &str,
        batch: LegacyBatch,
        _: Instant,
    ) -> Result<String, LegacyError> {
        let (deed, holds) = {
            let mut state = self.state();
            let whom = batch.calls.iter().map(|call| call.reference);
            let whom = whom.collect();
            state.asked.push((batch.name.clone(), whom));
            (state.deeds.pop_front(), state.holds)
        };
        match deed {
            None | Some(Deed::LosesItsAnswer | Deed::TakesAndPutsOff) => {}
            Some(Deed::Forgets) => return Err(LegacyError::Unknown),
            Some(Deed::Refuses) => return Err(LegacyError::Refused("not today")),
            Some(Deed::PutsOff) => return Err(LegacyError::Later(None)),
            Some(Deed::IsAway) => return Err(LegacyError::NotConnected),
        }
        let name = batch.name.clone();
        self.state().batches.insert(
            name.clone(),
            Batch {
                calls: batch.calls,
                stage: RecipientStage::Pending,
                credential: credential.to_owned(),
            },
        );
        if !holds {
            self.dispatch().await;
        }
        match deed {
            None => Ok(format!("btc_{name}")),
            Some(Deed::TakesAndPutsOff) => Err(LegacyError::Later(None)),
            Some(_) => Err(LegacyError::Unknown),
        }
    }

    async fn find_batch(
        &self,
        _: &str,
        agent: &str,
        name: &str,
    ) -> Result<Option<String>, LegacyError> {
        let mut state = self.state();
        if let Some(error) = state.looks.pop_front() {
            return Err(error);
        }
        let found = state.batches.get(name);
        let found = found.filter(|batch| batch.calls.iter().all(|call| call.agent == agent));
        Ok(found.map(|_| format!("btc_{name}")))
    }

    async fn batch_status(
        &self,
        _: &str,
        id: &str,
    ) -> Result<Option<Vec<LegacyRecipient>>, LegacyError> {
        let state = self.state();
        if let Some(error) = &state.tells {
            return Err(error.clone());
        }
        let name = id.strip_prefix("btc_").unwrap_or(id);
        Ok(state.batches.get(name).map(|batch| {
            let calls = batch.calls.iter().enumerate();
            calls
                .map(|(at, call)| LegacyRecipient {
                    reference: call.reference,
                    stage: match batch.stage {
                        RecipientStage::Pending if state.is_stuck && at == 0 => {
                            RecipientStage::UnderWay
                        }
                        stage => stage,
                    },
                    conversation: (batch.stage == RecipientStage::UnderWay)
                        .then(|| call.reference.to_string()),
                })
                .collect()
        }))
    }

    async fn cancel_batch(&self, _: &str, id: &str) -> Result<(), LegacyError> {
        let mut state = self.state();
        let name = id.strip_prefix("btc_").unwrap_or(id).to_owned();
        if let Some(batch) = state.batches.get_mut(&name) {
            batch.stage = RecipientStage::Cancelled;
        }
        state.cancelled.push(name);
        Ok(())
    }
}
