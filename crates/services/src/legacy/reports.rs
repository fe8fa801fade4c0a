//! What the provider of the legacy agents tells of its own accord. A report is written down and its call's owner, on
//! whatever node, is told to ask the provider now: what is charged and shown is what the provider says when it is asked.
//! Only why a call was never begun is taken from the report, as the provider may say that nowhere else.

use futures_util::FutureExt as _;
use offhook_boxed::boxed;
use offhook_domain::{AccountId, CredentialProvider};
use offhook_engine::legacy::NotGenuine;
use offhook_storage::{LegacyReport, StoreError};

use super::{Legacy, SyncError, found};
use crate::signals::Signal;

/// The longest id of a call at the provider, in bytes.
const ID_BYTES: usize = 200;

/// Why a report was not taken.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// No such account, it has stored no secret, or the message was not signed with it about now.
    #[error("not a message of the legacy provider")]
    NotGenuine,
    /// The store failed: the report may be sent again.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<NotGenuine> for ReportError {
    fn from(NotGenuine: NotGenuine) -> Self {
        Self::NotGenuine
    }
}

#[boxed]
impl Legacy {
    /// Takes a message that is signed with the account's secret. The same one again changes nothing, and neither does one
    /// that tells nothing of the end of a call.
    ///
    /// # Errors
    /// [`ReportError`], the same one for an account that there is not and for a signature that is wrong.
    pub async fn take_report(
        &self,
        account: AccountId,
        signature: &str,
        body: &[u8],
    ) -> Result<(), ReportError> {
        let shared = &self.0;
        let provider = CredentialProvider::LegacyWebhook;
        let secret = shared.store.credential_secret(account, provider).await?;
        let secret = secret.ok_or(ReportError::NotGenuine)?;
        let now = shared.clock.now();
        let told = shared.legacy.read_report(&secret, signature, body, now)?;
        let Some(told) = told.filter(|told| told.conversation.len() <= ID_BYTES) else {
            return Ok(());
        };
        let report = LegacyReport {
            provider_call_id: told.conversation,
            conversation: told.call.map(|call| call.0),
            failure: told.failure,
        };
        let taken = shared.store.take_legacy_report(account, &report, now);
        let Some(id) = taken.await? else {
            if report.conversation.is_none() && report.failure.is_none() {
                self.look_for(account, report.provider_call_id);
            }
            return Ok(());
        };
        if !shared.legacy_looks.wake(id) {
            shared.signals.say(Signal::Look(id));
        }
        Ok(())
    }

    /// Has a conversation taken in that the provider may have had by itself; what fails now is looked for again.
    fn look_for(&self, account: AccountId, id: String) {
        let shared = self.0.clone();
        tokio::spawn(
            async move {
                let found = async {
                    let credential = shared.legacy_credential(account).await?;
                    let credential = credential.ok_or(SyncError::NoCredential(account))?;
                    found::take(&shared, account, &credential, id).await
                };
                if let Err(error) = found.await {
                    tracing::warn!(%account, %error, "a conversation that was reported is not looked at");
                }
            }
            .boxed(),
        );
    }
}
