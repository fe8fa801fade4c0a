//! Batch calls at the provider: handed over once, under a name of ours by which they are found again.

use async_trait::async_trait;
use offhook_domain::CallHandle;
use offhook_engine::legacy::LegacyError;
use offhook_engine::legacy_batches::{LegacyBatch, LegacyBatches, LegacyRecipient, RecipientStage};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::ElevenLabsAgents;
use super::calls::ClientData;
use super::client::Failed;
use super::conversations::Initiation;
use crate::lenient;

/// Batches on a page.
const PAGE_SIZE: &str = "100";

/// Pages at most: a list that never ends says nothing of what is not on it.
const PAGES: usize = 200;

#[derive(Serialize)]
struct Submission<'a> {
    call_name: &'a str,
    agent_id: &'a str,
    agent_phone_number_id: &'a str,
    recipients: Vec<Called<'a>>,
    /// Without it the provider dials at most a share of what the account's lines there have room for.
    target_concurrency_limit: usize,
}

#[derive(Serialize)]
struct Called<'a> {
    id: &'a str,
    phone_number: &'a str,
    conversation_initiation_client_data: ClientData<'a>,
}

#[derive(Deserialize)]
struct Submitted {
    #[serde(default, deserialize_with = "lenient::id")]
    id: Option<String>,
}

#[derive(Deserialize)]
struct Page {
    #[serde(deserialize_with = "lenient::elements")]
    batch_calls: Vec<Summary>,
    #[serde(default)]
    next_doc: Option<Value>,
    /// A boolean, if it is there.
    #[serde(default, deserialize_with = "told")]
    has_more: Option<bool>,
}

fn told<'de, D: Deserializer<'de>>(from: D) -> Result<Option<bool>, D::Error> {
    bool::deserialize(from).map(Some)
}

#[derive(Deserialize)]
struct Summary {
    #[serde(default, deserialize_with = "lenient::id")]
    id: Option<String>,
    #[serde(default, deserialize_with = "lenient::text")]
    name: Option<String>,
}

#[derive(Deserialize)]
struct Detail {
    #[serde(deserialize_with = "lenient::elements")]
    recipients: Vec<Recipient>,
}

/// What is read of a recipient; unknown members are passed over.
#[derive(Deserialize)]
struct Recipient {
    #[serde(default, deserialize_with = "lenient::text")]
    id: Option<String>,
    #[serde(default, deserialize_with = "lenient::text")]
    status: Option<String>,
    #[serde(default, deserialize_with = "lenient::id")]
    conversation_id: Option<String>,
    #[serde(default, deserialize_with = "lenient::object")]
    conversation_initiation_client_data: Initiation,
}

impl Recipient {
    /// Our reference, wherever the provider has kept it.
    fn reference(&self) -> Option<CallHandle> {
        let handles = self.conversation_initiation_client_data.handles();
        let mut places = handles.chain(self.id.as_deref());
        places.find_map(|text| text.parse().ok())
    }

    fn stage(&self) -> RecipientStage {
        match self.status.as_deref() {
            Some("pending") => RecipientStage::Pending,
            Some("dispatched" | "initiated" | "in_progress") => RecipientStage::UnderWay,
            Some("failed") => RecipientStage::Failed,
            Some("cancelled") => RecipientStage::Cancelled,
            // `completed`, `voicemail`, and what is not known yet: its conversation tells, or there is none.
            _ => RecipientStage::Ended,
        }
    }
}

#[async_trait]
impl LegacyBatches for ElevenLabsAgents {
    async fn submit_batch(
        &self,
        credential: &str,
        batch: LegacyBatch,
        place_by: Instant,
    ) -> Result<String, LegacyError> {
        let first = batch.calls.first();
        let first = first.ok_or(LegacyError::Refused("there is nobody to call"))?;
        let looked = self
            .numbers
            .find_by(&self.client, credential, &first.from, place_by);
        // Whatever went wrong, no batch was handed over.
        let number = looked.await.map_err(|_| LegacyError::NotConnected)?;
        let number = number.ok_or(LegacyError::Refused(
            "it has no number of the account to call from",
        ))?;
        let handles = batch.calls.iter().map(|call| call.reference.to_string());
        let handles: Vec<String> = handles.collect();
        let recipients = batch
            .calls
            .iter()
            .zip(&handles)
            .map(|(call, handle)| Called {
                id: handle,
                phone_number: call.to.as_str(),
                conversation_initiation_client_data: ClientData::new(handle, &call.variables),
            });
        let submission = Submission {
            call_name: &batch.name,
            agent_id: &first.agent,
            agent_phone_number_id: &number.id,
            recipients: recipients.collect(),
            target_concurrency_limit: batch.calls.len(),
        };
        let path = ["v1", "convai", "batch-calling", "submit"];
        let submitted = self
            .client
            .post::<Submitted>(credential, &path, &submission);
        match submitted.await {
            // Without an id it is found by its name.
            Ok(submitted) => submitted.id.ok_or(LegacyError::Unknown),
            Err(failed) => {
                if matches!(failed, Failed::NotFound | Failed::Refused(_)) {
                    // Perhaps the number is not there any more.
                    self.numbers.forget(credential);
                }
                Err(failed.of_writing())
            }
        }
    }

    async fn find_batch(
        &self,
        credential: &str,
        agent: &str,
        name: &str,
    ) -> Result<Option<String>, LegacyError> {
        let path = ["v1", "convai", "batch-calling", "workspace"];
        let mut last = None::<String>;
        for _ in 0..PAGES {
            let mut query = vec![("limit", PAGE_SIZE), ("agent_id", agent)];
            if let Some(last) = &last {
                query.push(("last_doc", last));
            }
            let page = self.client.get::<Page>(credential, &path, &query).await;
            let page = page.map_err(Failed::of_reading)?;
            let mut batches = page.batch_calls.into_iter();
            if let Some(found) = batches.find(|batch| batch.name.as_deref() == Some(name)) {
                return found.id.map(Some).ok_or(LegacyError::Unknown);
            }
            match (page.has_more, page.next_doc) {
                // Both may be left out of a last page.
                (Some(false), _) | (None, None) => return Ok(None),
                (Some(true), Some(Value::String(next)))
                    if !next.is_empty() && last.as_ref() != Some(&next) =>
                {
                    last = Some(next);
                }
                // More follow, and the page does not say where: nobody knows what is among them.
                _ => return Err(LegacyError::Unknown),
            }
        }
        Err(LegacyError::Unknown)
    }

    async fn batch_status(
        &self,
        credential: &str,
        id: &str,
    ) -> Result<Option<Vec<LegacyRecipient>>, LegacyError> {
        let path = ["v1", "convai", "batch-calling", id];
        let detail = match self.client.get::<Detail>(credential, &path, &[]).await {
            Ok(detail) => detail,
            Err(Failed::NotFound) => return Ok(None),
            Err(failed) => return Err(failed.of_reading()),
        };
        let recipients = detail.recipients.into_iter().filter_map(|recipient| {
            Some(LegacyRecipient {
                reference: recipient.reference()?,
                stage: recipient.stage(),
                conversation: recipient.conversation_id,
            })
        });
        Ok(Some(recipients.collect()))
    }

    async fn cancel_batch(&self, credential: &str, id: &str) -> Result<(), LegacyError> {
        let path = ["v1", "convai", "batch-calling", id, "cancel"];
        let nothing = Map::<String, Value>::new();
        let cancelled = self.client.post::<IgnoredAny>(credential, &path, &nothing);
        // Cancelling twice is cancelling once, so it may be asked again whatever came of it.
        cancelled.await.map(drop).map_err(Failed::of_reading)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const HANDLE: &str = "call_01928f7e-5a3b-7c4d-8e9f-0a1b2c3d4e5f";
    const OTHER: &str = "call_01928f7e-5a3b-7c4d-8e9f-0a1b2c3d4e50";

    fn recipient(json: Value) -> Recipient {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn our_reference_is_read_wherever_the_provider_keeps_it() {
        let data =
            json!({"user_id": HANDLE, "dynamic_variables": {"offhook_call_id": HANDLE, "n": 1}});
        for (told, expected) in [
            (
                json!({"id": OTHER, "status": "pending", "conversation_initiation_client_data": data}),
                Some(HANDLE),
            ),
            (
                json!({"id": "rcp_1", "status": "pending", "conversation_initiation_client_data": {"user_id": HANDLE}}),
                Some(HANDLE),
            ),
            (
                json!({"id": HANDLE, "status": "pending", "conversation_initiation_client_data": null}),
                Some(HANDLE),
            ),
            (json!({"id": "rcp_1", "status": "pending"}), None),
        ] {
            let reference = recipient(told.clone())
                .reference()
                .map(|handle| handle.to_string());
            assert_eq!(reference.as_deref(), expected, "{told}");
        }
    }

    #[test]
    fn every_documented_status_is_a_stage_and_an_unknown_one_is_left_to_the_conversation() {
        for (status, stage) in [
            ("pending", RecipientStage::Pending),
            ("dispatched", RecipientStage::UnderWay),
            ("initiated", RecipientStage::UnderWay),
            ("in_progress", RecipientStage::UnderWay),
            ("completed", RecipientStage::Ended),
            ("voicemail", RecipientStage::Ended),
            ("failed", RecipientStage::Failed),
            ("cancelled", RecipientStage::Cancelled),
            ("something_new", RecipientStage::Ended),
        ] {
            assert_eq!(
                recipient(json!({"status": status})).stage(),
                stage,
                "{status}"
            );
        }
        let odd = recipient(json!({"status": 7}));
        assert_eq!(odd.stage(), RecipientStage::Ended);
    }
}
