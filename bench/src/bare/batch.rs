//! A transaction of a batch and its recipients, by the store's own statements: nothing is read, checked or answered.

use actix_web::error::{ErrorBadRequest, ErrorInternalServerError};
use actix_web::{HttpResponse, Result, web};
use offhook_domain::{AccountId, AgentId, BatchStatus, Clock as _, KeyId};
use offhook_services::SystemClock;
use offhook_storage::{Batch, NewBatch, NewRecipient, Store, mint};

/// A recipient's number and metadata.
pub(crate) fn recipient(number: usize) -> (String, String) {
    let to = format!("+1415555{number:04}");
    (to, format!(r#"{{"name":"Ana","order":"{number}"}}"#))
}

pub(crate) async fn insert(
    store: web::Data<Store>,
    path: web::Path<(String, String, String, usize)>,
) -> Result<HttpResponse> {
    let (account, agent, key, count) = path.into_inner();
    let account: AccountId = account.parse().map_err(ErrorBadRequest)?;
    let agent: AgentId = agent.parse().map_err(ErrorBadRequest)?;
    let key: KeyId = key.parse().map_err(ErrorBadRequest)?;
    let at = SystemClock.now();
    let mut recipients = Vec::with_capacity(count);
    for number in 0..count {
        let (to, metadata) = recipient(number);
        let to = to.parse().map_err(ErrorBadRequest)?;
        let id = mint(at);
        recipients.push(NewRecipient { id, to, metadata });
    }
    let total = i32::try_from(count).map_err(ErrorBadRequest)?;
    let batch = Batch {
        id: mint(at),
        account_id: account,
        name: "bare".to_owned(),
        agent_id: agent,
        phone_number_id: None,
        key_id: Some(key),
        status: BatchStatus::Scheduled,
        paused_reason: None,
        scheduled_at: None,
        total,
        pending: total,
        dialing: 0,
        completed: 0,
        failed: 0,
        cancelled: 0,
        created_at: at,
        started_at: None,
        ended_at: None,
    };
    let new = NewBatch {
        batch,
        recipients,
        idempotency: None,
    };
    store
        .create_batch(new)
        .await
        .map_err(ErrorInternalServerError)?;
    Ok(HttpResponse::Accepted().finish())
}
