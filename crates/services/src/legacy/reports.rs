//! Webhooks of the legacy agents' provider. A report is stored, and the call's owner, on any node, polls the provider
//! now: charges and views are based on the provider's responses. Only the reason why a call never began comes from the
//! report, because the provider may state it nowhere else.

use futures_util::FutureExt as _;
use offhook_engine::legacy::NotGenuine;

use super::{Legacy, SyncError, found};
use crate::prelude::*;
use crate::signals::Signal;

/// The longest id of a call at the provider, in bytes.
const ID_BYTES: usize = 200;

/// Why a report was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// There is no such account, it has stored no secret, or the message has no current signature made with it.
    #[error("not a message of the legacy provider")]
    NotGenuine,
    /// The store failed; the provider may send the report again.
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
    /// Accepts a message signed with the account's secret. A repeated message changes nothing, and neither does one
    /// without news of a call's end. An unknown account and a wrong signature give the same error.
    pub async fn take_report(
        &self,
        account: AccountId,
        signature: &str,
        body: &[u8],
    ) -> Result<(), ReportError> {
        let runner = &self.0;
        let provider = CredentialProvider::LegacyWebhook;
        let secret = runner.store.credential_secret(account, provider).await?;
        let secret = secret.ok_or(ReportError::NotGenuine)?;
        let now = runner.clock.now();
        let legacy = &runner.providers.legacy;
        let report = legacy.read_report(&secret, signature, body, now)?;
        let Some(report) = report.filter(|report| report.conversation.len() <= ID_BYTES) else {
            return Ok(());
        };
        let report = LegacyReport {
            provider_call_id: report.conversation,
            conversation: report.call.map(|call| call.0),
            failure: report.failure,
        };
        let taken = runner.store.take_legacy_report(account, &report, now);
        let Some(id) = taken.await? else {
            if report.conversation.is_none() && report.failure.is_none() {
                self.look_for(account, report.provider_call_id);
            }
            return Ok(());
        };
        if !runner.live.legacy_looks.wake(id) {
            runner.live.signals.say(Signal::Look(id));
        }
        Ok(())
    }

    /// Imports a conversation that the provider may have had without this service. If it fails now, it is searched for
    /// again later.
    fn look_for(&self, account: AccountId, id: String) {
        let runner = self.0.clone();
        tokio::spawn(
            async move {
                let found = async {
                    let credential = runner.legacy_credential(account).await?;
                    let credential = credential.ok_or(SyncError::NoCredential(account))?;
                    found::take(&runner, account, &credential, id).await
                };
                if let Err(error) = found.await {
                    tracing::warn!(%account, %error, "a conversation that was reported is not looked at");
                }
            }
            .boxed(),
        );
    }
}
