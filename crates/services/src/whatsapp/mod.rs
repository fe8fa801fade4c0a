//! Conversations on WhatsApp: customers' messages arrive by webhook, get answers like a web page's chat, and the
//! answers are sent by the Cloud API.

mod answering;
mod credential;
mod payload;
mod sending;
mod split;
mod work;

use std::sync::OnceLock;

use offhook_domain::ports::whatsapp::WhatsAppApi;

use crate::Result;
use crate::prelude::*;

pub(crate) use credential::WhatsAppCredential;
pub use sending::WhatsAppText;
pub(crate) use work::keep_answering;

/// How long after a customer's last message the agent may write to them (the Cloud API's customer service window).
const WINDOW: Duration = Duration::from_secs(24 * 3_600);

/// How long a conversation may last. A customer who writes later starts the next one, so that none is summarized and
/// charged weeks later.
const LONGEST: Duration = Duration::from_secs(7 * 86_400);

/// How long messages are remembered: WhatsApp retries an unanswered webhook for up to 7 days. An older message may have
/// been answered and forgotten here, and an attacker with a copy of its webhook could replay it.
const REMEMBERED: Duration = Duration::from_secs(8 * 86_400);

/// Messages shown per conversation.
const SHOWN: i64 = 1_000;

const PROVIDER: CredentialProvider = CredentialProvider::WhatsApp;

/// Why a webhook was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum WhatsAppError {
    /// The account's app did not sign it, or there is no such app or account.
    #[error("the webhook is not signed by the account's app")]
    Forged,
    /// The store failed; WhatsApp will send it again.
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[derive(Clone)]
pub struct WhatsApp(
    pub(crate) Arc<Context>,
    /// The API that writes to customers on WhatsApp.
    pub(crate) Arc<OnceLock<Arc<dyn WhatsAppApi>>>,
);

#[boxed]
impl WhatsApp {
    /// Whether `token` is the one with which WhatsApp verifies the account's webhook URL.
    pub async fn is_verify_token(&self, account: AccountId, token: &str) -> Result<bool> {
        let credential = credential(&self.0, account).await?;
        Ok(credential.is_some_and(|credential| credential.is_verify_token(token)))
    }

    /// The delivery status of a conversation's messages, the first 1,000 of them.
    pub async fn sent(
        &self,
        account: AccountId,
        conversation: ConversationId,
    ) -> Result<Vec<WhatsAppSent>> {
        let store = &self.0.store;
        store.sent_on_whatsapp(account, conversation, SHOWN).await
    }

    /// Accepts a webhook: once this returns, its content is stored. A repeated one changes nothing. This process or
    /// another one answers. After [`WhatsAppError::Store`], WhatsApp must send it again.
    pub async fn receive(
        &self,
        account: AccountId,
        signature: &str,
        body: &[u8],
    ) -> Result<(), WhatsAppError> {
        let shared = &self.0;
        let credential = credential(shared, account).await?;
        let is_genuine = match &credential {
            Some(credential) => credential.has_signed(signature, body),
            None => credential::is_signed_by_nobody(signature, body),
        };
        let Some(credential) = credential.filter(|_| is_genuine) else {
            return Err(WhatsAppError::Forged);
        };
        // A retry would have the same form.
        let Some(webhook) = payload::read(body) else {
            tracing::warn!(%account, "a webhook of WhatsApp is not of the documented form");
            return Ok(());
        };
        if webhook.unread > 0 {
            let unread = webhook.unread;
            tracing::warn!(%account, unread, "parts of a webhook of WhatsApp are not of the documented form");
        }
        let now = shared.clock.now();
        let mut messages = Vec::with_capacity(webhook.messages.len());
        for (order, message) in (0_u64..).zip(webhook.messages) {
            let Some(number) = credential.number(&message.phone_number_id) else {
                tracing::warn!(%account, "a message on WhatsApp is for a phone number id that the credential does not name");
                continue;
            };
            // A fast clock must not extend the window.
            let sent_at = message.sent_at.unwrap_or(now).min(now);
            if sent_at < now.minus(REMEMBERED) {
                tracing::warn!(%account, "a message on WhatsApp is older than WhatsApp repeats any");
                continue;
            }
            // Messages of one webhook with the same second count as sent in this order.
            let received_at = now.plus(Duration::from_micros(order));
            messages.push(NewWhatsAppMessage {
                account_id: account,
                wamid: message.wamid,
                own_number: number.clone(),
                phone_number_id: message.phone_number_id,
                customer: message.from,
                kind: message.kind,
                text: message.text,
                sent_at,
                received_at,
            });
        }
        if !messages.is_empty() {
            let steady = shared.clock.steady();
            if shared.store.receive_whatsapp(messages, steady).await? > 0 {
                shared.wakes.whatsapp.notify_one();
            }
        }
        for status in webhook.statuses {
            let report = WhatsAppReport {
                account_id: account,
                reference: status.reference,
                wamid: status.wamid,
                status: status.status,
                failure: status.failure.map(|refusal| refusal.to_string()),
            };
            // The report may also be about messages that others send from this number.
            shared.store.record_whatsapp_report(report, now).await?;
        }
        Ok(())
    }
}

/// The account's app, if it has stored one.
async fn credential(shared: &Context, account: AccountId) -> Result<Option<WhatsAppCredential>> {
    let secret = shared.store.credential_secret(account, PROVIDER).await?;
    Ok(
        secret.and_then(|secret| match WhatsAppCredential::read(&secret) {
            Ok(credential) => Some(credential),
            Err(fault) => {
                tracing::error!(%account, %fault, "a stored credential for WhatsApp cannot be read");
                None
            }
        }),
    )
}
