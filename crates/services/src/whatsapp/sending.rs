//! Sends one message to a customer, at most once.

use offhook_domain::ports::whatsapp::{Doubt, OutgoingText, Refusal, SendError};

use super::credential;
use super::work::{Halt, Job, kept};
use crate::prelude::*;
use crate::retry::retried;

/// How long an answer is worth sending.
const PATIENCE: Duration = Duration::from_secs(15 * 60);

/// The minimum pause, and the pause after the first temporary refusal. It doubles each time up to the longest, unless
/// WhatsApp sets one.
const WAIT: Duration = Duration::from_secs(2);
const LONGEST_WAIT: Duration = Duration::from_secs(120);

messages! { stored
/// What the account reads about a message.
pub enum WhatsAppText {
    Note(note: WhatsAppNote) => "{note}", "{note}";
    Refused(refusal: Refusal) => "{refusal}", "{refusal}";
    Unknown(doubt: Doubt) => "It is not known whether WhatsApp sent this message ({doubt}). It is not sent again.",
        "No se sabe si WhatsApp envió este mensaje ({doubt}). No se envía otra vez.";
}}

impl Job {
    pub(super) async fn send(
        &self,
        thread: &WhatsAppThread,
        outgoing: WhatsAppOutgoing,
    ) -> Result<(), Halt> {
        let (shared, id) = (&self.shared, outgoing.id);
        let now = shared.clock.now();
        let credential = credential(shared, thread.account_id).await?;
        let credential = credential.filter(|credential| {
            credential.number(&thread.phone_number_id) == Some(&thread.own_number)
        });
        let refused = if !self.is_window_open(thread) {
            Some(Refusal::Window.to_string())
        } else if now.since(outgoing.queued_at) >= PATIENCE {
            Some(WhatsAppNote::Late.to_string())
        } else if credential.is_none() {
            Some(WhatsAppNote::NoCredential.to_string())
        } else {
            None
        };
        let conversation = outgoing.conversation_id;
        let (Some(credential), None) = (credential, &refused) else {
            let sentence = refused.unwrap_or_default();
            tracing::info!(%conversation, "a message on WhatsApp is not sent");
            let outcome = WhatsAppOutcome::Failed(sentence);
            shared
                .store
                .record_whatsapp_outcome(id, outcome, now)
                .await?;
            shared.live.touch(conversation);
            return Ok(());
        };
        let text = OutgoingText {
            phone_number_id: thread.phone_number_id.clone(),
            to: thread.customer.clone(),
            text: outgoing.content.unwrap_or_default(),
            reference: id.to_string(),
        };
        kept(
            shared
                .store
                .begin_sending_whatsapp(self.claim, id, now)
                .await?,
        )?;
        failpoints::hit(failpoints::WHATSAPP_BEFORE_SEND);
        let sent = self.api.send(&credential.access_token, &text).await;
        failpoints::hit(failpoints::WHATSAPP_AFTER_SEND);
        if let Err(error) = &sent {
            tracing::warn!(%conversation, %error, "a message on WhatsApp was not taken");
        }
        let outcome = match sent {
            Ok(wamid) => WhatsAppOutcome::Accepted(wamid),
            Err(SendError::NotConnected) => self.later(outgoing.tries, None),
            Err(SendError::Busy(asked)) => self.later(outgoing.tries, asked),
            Err(SendError::Refused(refusal)) => WhatsAppOutcome::Failed(refusal.to_string()),
            Err(SendError::Unknown(doubt)) => {
                WhatsAppOutcome::Unknown(WhatsAppText::Unknown(doubt).to_string())
            }
        };
        let written = retried(|| {
            let now = shared.clock.now();
            shared
                .store
                .record_whatsapp_outcome(id, outcome.clone(), now)
        });
        written.await?;
        shared.live.touch(conversation);
        Ok(())
    }

    fn later(&self, tries: i32, asked: Option<Duration>) -> WhatsAppOutcome {
        let doubled = WAIT.saturating_mul(1 << tries.clamp(0, 10));
        // `Retry-After: 0` would cause endless retries.
        let wait = asked.map_or(doubled.min(LONGEST_WAIT), |asked| asked.max(WAIT));
        WhatsAppOutcome::Later(self.shared.clock.steady().plus(wait))
    }
}
