//! Fetches the providers' voices: once a day by one process, and on the operator's command.

use offhook_domain::ports::{VoiceLibrary, VoiceLibraryError};
use offhook_metrics::metrics;
use tokio::time::sleep;

use super::Voices;
use crate::Result;
use crate::leases::renew_every;
use crate::prelude::*;

use crate::workers::Turns;

/// The job name under which processes take turns.
const JOB: &str = "voices";

/// How often a process checks whether it is its turn.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// How often the providers are queried.
pub(super) const DUE_EVERY: Duration = Duration::from_secs(86_400);

/// How soon they are queried again if one of them failed.
pub(super) const AGAIN_AFTER: Duration = Duration::from_secs(3_600);

/// Why a provider's voices were not updated.
#[derive(Debug, thiserror::Error)]
pub enum VoiceSyncError {
    #[error(transparent)]
    Library(#[from] VoiceLibraryError),
    /// An empty list, which says more about the key than about the provider.
    #[error("it lists no voice at all")]
    Empty,
    #[error("the credential was removed or replaced meanwhile")]
    CredentialGone,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The result of querying one provider.
#[derive(Debug)]
pub struct SyncOutcome {
    /// The account, if its own voices were listed.
    pub account: Option<AccountId>,
    pub provider: VoiceProvider,
    /// How many voices it lists and what changed, or why nothing did.
    pub result: Result<(usize, VoiceChanges), VoiceSyncError>,
}

#[boxed]
impl Voices {
    /// Queries every configured provider, in the list's order.
    pub async fn sync(&self) -> Vec<SyncOutcome> {
        let mut outcomes = Vec::new();
        for library in self.libraries.iter() {
            let provider = library.provider();
            let result = self.sync_one(library.as_ref()).await;
            match &result {
                Ok((voices, changes)) => tracing::info!(
                    %provider,
                    voices,
                    written = changes.written,
                    deleted = changes.deleted,
                    "voices synchronised"
                ),
                Err(error) => {
                    tracing::warn!(%provider, %error, "voices stay those of the last time");
                }
            }
            outcomes.push(SyncOutcome {
                account: None,
                provider,
                result,
            });
        }
        outcomes
    }

    async fn sync_one(
        &self,
        library: &dyn VoiceLibrary,
    ) -> Result<(usize, VoiceChanges), VoiceSyncError> {
        let voices = library.voices().await?;
        if voices.is_empty() {
            return Err(VoiceSyncError::Empty);
        }
        let (count, at) = (voices.len(), self.ctx.clock.now());
        let store = &self.ctx.store;
        let changes = store.replace_voices(library.provider(), voices, at).await?;
        Ok((count, changes))
    }

    /// Takes turns with other processes until `stop`.
    pub async fn run(self, stop: CancellationToken) {
        if self.libraries.is_empty() {
            return stop.cancelled().await;
        }
        let mut turns = Turns::new(LOOK_EVERY, &stop);
        while turns.next().await {
            tokio::select! {
                () = stop.cancelled() => return,
                turn = self.run_due() => if let Err(error) = turn {
                    tracing::warn!(%error, "the providers' voices could not be asked for");
                }
            }
        }
    }

    async fn run_due(&self) -> Result<()> {
        self.sync_if_due().await?;
        self.sync_due_accounts().await
    }

    /// Queries every configured provider, if a day has passed (an hour, if one of them failed) and no other process is
    /// doing it. `None` if not, or if another process took over meanwhile.
    pub async fn sync_if_due(&self) -> Result<Option<Vec<SyncOutcome>>> {
        if !self.ctx.take_job(JOB).await? {
            return Ok(None);
        }
        let keep = async {
            loop {
                sleep(renew_every()).await;
                match self.ctx.take_job(JOB).await {
                    Ok(true) | Err(_) => {}
                    Ok(false) => return,
                }
            }
        };
        let outcomes = tokio::select! {
            outcomes = self.sync() => outcomes,
            // Another process has the turn by now.
            () = keep => return Ok(None),
        };
        let failed = outcomes.iter().any(|outcome| outcome.result.is_err());
        metrics().jobs.ran(JOB, !failed);
        let pause = if failed { AGAIN_AFTER } else { DUE_EVERY };
        self.ctx.finish_job(JOB, pause).await?;
        Ok(Some(outcomes))
    }
}
