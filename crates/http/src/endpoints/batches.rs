//! `/v1/batch-calls`.

use offhook_services::store::{BatchFilter, BatchStep};
use uuid::Uuid;

use crate::prelude::*;
use crate::request::ask::{CampaignsRead, CampaignsWrite};
use crate::request::batch_body::{BatchUpload, Retry};
use crate::request::body::Nothing;
use crate::wire::batch::{BatchView, RecipientView, printed};

pub(crate) fn routes() -> Vec<Endpoint> {
    let at = Endpoint::at;
    vec![
        at("/v1/batch-calls").get(list).post(create),
        at("/v1/batch-calls/{id}").get(get),
        at("/v1/batch-calls/{id}/recipients").get(recipients),
        at("/v1/batch-calls/{id}/pause").post(pause),
        at("/v1/batch-calls/{id}/resume").post(resume),
        at("/v1/batch-calls/{id}/cancel").post(cancel),
        at("/v1/batch-calls/{id}/retry").post(retry),
    ]
}

impl FromQuery for BatchFilter {
    fn read(query: &mut QueryReader) -> Result<Self, FieldError> {
        Ok(Self {
            status: query.choice("status", BatchStatus::choices)?,
            agent: query.id::<AgentId>("agent_id")?,
        })
    }
}

pub(crate) struct InStatus(Option<RecipientStatus>);

impl FromQuery for InStatus {
    fn read(query: &mut QueryReader) -> Result<Self, FieldError> {
        let status = query.choice("status", RecipientStatus::choices)?;
        Ok(Self(status))
    }
}

/// `GET /v1/batch-calls`
async fn list(ask: Ask<CampaignsRead, (), Listing<BatchFilter>>) -> Reply {
    let page = ask.query.page_request(BatchId::from_uuid);
    let batches = ask.services().batches();
    let batches = batches.list(ask.account(), ask.query.filters, page).await?;
    ask.query.answer(
        &batches,
        |batch| (batch.created_at, batch.id.uuid()),
        BatchView,
    )
}

/// `POST /v1/batch-calls`
async fn create(ask: Ask<CampaignsWrite, (), (), BatchUpload>) -> Reply {
    let batches = ask.services().batches();
    let (key, body) = (ask.body.key.clone(), &ask.body.body);
    reply::placed(batches.create(&ask.caller, key, body, printed).await?)
}

/// `GET /v1/batch-calls/{id}`
async fn get(ask: Ask<CampaignsRead, BatchId>) -> Reply {
    let batch = ask.services().batches().get(ask.account(), ask.id).await?;
    reply::ok(&BatchView(&batch))
}

/// `GET /v1/batch-calls/{id}/recipients`: in the order of the request; the sort key is the recipient's place.
async fn recipients(ask: Ask<CampaignsRead, BatchId, Listing<InStatus>>) -> Reply {
    let after = ask.query.after.map(|(place, _)| place.micros());
    let after = after.map(|place| i32::try_from(place).unwrap_or(i32::MAX));
    let (status, limit) = (ask.query.filters.0, ask.query.limit);
    let batches = ask.services().batches();
    let page = batches.recipients(ask.account(), ask.id, status, after, limit);
    let page = page.await?;
    RecipientView::check(&page.items)?;
    ask.query.answer(
        &page,
        |row| (Timestamp::from_micros(i64::from(row.place)), Uuid::nil()),
        RecipientView,
    )
}

/// `POST /v1/batch-calls/{id}/pause`
async fn pause(ask: Ask<CampaignsWrite, BatchId, (), Nothing>) -> Reply {
    step(&ask, BatchStep::Pause).await
}

/// `POST /v1/batch-calls/{id}/resume`
async fn resume(ask: Ask<CampaignsWrite, BatchId, (), Nothing>) -> Reply {
    step(&ask, BatchStep::Resume).await
}

/// `POST /v1/batch-calls/{id}/cancel`
async fn cancel(ask: Ask<CampaignsWrite, BatchId, (), Nothing>) -> Reply {
    step(&ask, BatchStep::Cancel).await
}

async fn step(ask: &Ask<CampaignsWrite, BatchId, (), Nothing>, step: BatchStep) -> Reply {
    let batches = ask.services().batches();
    let batch = batches.step(&ask.caller, ask.id, step).await?;
    reply::ok(&BatchView(&batch))
}

/// `POST /v1/batch-calls/{id}/retry`
async fn retry(ask: Ask<CampaignsWrite, BatchId, (), Retry>) -> Reply {
    let batches = ask.services().batches();
    let (key, body) = (ask.body.key.clone(), (ask.id, &ask.body.json));
    reply::placed(batches.retry(&ask.caller, key, body, printed).await?)
}
