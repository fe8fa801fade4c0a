//! `/v1/campaigns`: calls of engine agents to many recipients.

use actix_web::http::header::CONTENT_DISPOSITION;
use futures_util::StreamExt as _;
use offhook_services::RecipientsUpload;
use offhook_services::store::{CampaignFilter, CampaignRecipientFilter, CampaignStep};
use uuid::Uuid;

use crate::prelude::*;
use crate::request::ask::{CampaignsRead, CampaignsWrite};
use crate::request::batch_body::RowsOrFile;
use crate::request::body::Nothing;
use crate::streams::{self, Resume};
use crate::wire::campaign::{AddedBody, CampaignRecipientView, CampaignView, EstimateBody};

pub(crate) fn routes() -> Vec<Endpoint> {
    let at = Endpoint::at;
    vec![
        at("/v1/campaigns").get(list).post(create),
        at("/v1/campaigns/{id}").get(get),
        at("/v1/campaigns/{id}/recipients")
            .get(recipients)
            .post(add),
        at("/v1/campaigns/{id}/start").post(start),
        at("/v1/campaigns/{id}/pause").post(pause),
        at("/v1/campaigns/{id}/resume").post(resume),
        at("/v1/campaigns/{id}/cancel").post(cancel),
        at("/v1/campaigns/{id}/estimate").get(estimate),
        at("/v1/campaigns/{id}/events").get(events),
        at("/v1/campaigns/{id}/results").get(results),
    ]
}

impl FromQuery for CampaignFilter {
    fn read(query: &mut QueryReader) -> Result<Self, FieldError> {
        Ok(Self {
            status: query.choice("status", CampaignStatus::choices)?,
            agent: query.id::<AgentId>("agent_id")?,
        })
    }
}

impl FromQuery for CampaignRecipientFilter {
    fn read(query: &mut QueryReader) -> Result<Self, FieldError> {
        Ok(Self {
            status: query.choice("status", CampaignRecipientStatus::choices)?,
            outcome: query.choice("outcome", Outcome::choices)?,
        })
    }
}

/// Whether rows with a fault are left out.
pub(crate) struct Skips(bool);

impl FromQuery for Skips {
    fn read(query: &mut QueryReader) -> Result<Self, FieldError> {
        let skips = query.one_of("skip_bad_rows", &[true, false])?;
        Ok(Self(skips.unwrap_or(false)))
    }
}

/// `GET /v1/campaigns`
async fn list(ask: Ask<CampaignsRead, (), Listing<CampaignFilter>>) -> Reply {
    let page = ask.query.page_request(CampaignId::from_uuid);
    let campaigns = ask.services().campaigns();
    let found = campaigns.list(ask.account(), ask.query.filters, page);
    ask.query.answer(
        &found.await?,
        |one| (one.created_at, one.id.uuid()),
        CampaignView,
    )
}

/// `POST /v1/campaigns`
async fn create(ask: Ask<CampaignsWrite, (), (), Json>) -> Reply {
    let campaigns = ask.services().campaigns();
    let campaign = campaigns.create(&ask.caller, &ask.body).await?;
    reply::created(&CampaignView(&campaign))
}

/// `GET /v1/campaigns/{id}`
async fn get(ask: Ask<CampaignsRead, CampaignId>) -> Reply {
    let campaigns = ask.services().campaigns();
    let campaign = campaigns.get(ask.account(), ask.id).await?;
    reply::ok(&CampaignView(&campaign))
}

/// `GET /v1/campaigns/{id}/recipients`: in the order they were added; the sort key is the recipient's place.
async fn recipients(
    ask: Ask<CampaignsRead, CampaignId, Listing<CampaignRecipientFilter>>,
) -> Reply {
    let after = ask.query.after.map(|(place, _)| place.micros());
    let after = after.map(|place| i32::try_from(place).unwrap_or(i32::MAX));
    let (filter, limit) = (ask.query.filters, ask.query.limit);
    let campaigns = ask.services().campaigns();
    let page = campaigns.recipients((ask.account(), ask.id), filter, after, limit);
    let page = page.await?;
    CampaignRecipientView::check(&page.items)?;
    ask.query.answer(
        &page,
        |row| (Timestamp::from_micros(i64::from(row.place)), Uuid::nil()),
        CampaignRecipientView,
    )
}

/// `POST /v1/campaigns/{id}/recipients`: JSON, or a CSV file.
async fn add(ask: Ask<CampaignsWrite, CampaignId, Skips, RowsOrFile>) -> Reply {
    let RowsOrFile { fields, file } = &ask.body;
    let upload = RecipientsUpload {
        fields: fields.clone(),
        file: file.clone(),
        skip_bad_rows: ask.query.0,
    };
    let campaigns = ask.services().campaigns();
    let added = campaigns.add(ask.account(), ask.id, &upload).await?;
    reply::created(&AddedBody(&added))
}

/// `POST /v1/campaigns/{id}/start`
async fn start(ask: Ask<CampaignsWrite, CampaignId, (), Nothing>) -> Reply {
    step(&ask, CampaignStep::Start).await
}

/// `POST /v1/campaigns/{id}/pause`
async fn pause(ask: Ask<CampaignsWrite, CampaignId, (), Nothing>) -> Reply {
    step(&ask, CampaignStep::Pause).await
}

/// `POST /v1/campaigns/{id}/resume`
async fn resume(ask: Ask<CampaignsWrite, CampaignId, (), Nothing>) -> Reply {
    step(&ask, CampaignStep::Resume).await
}

/// `POST /v1/campaigns/{id}/cancel`
async fn cancel(ask: Ask<CampaignsWrite, CampaignId, (), Nothing>) -> Reply {
    step(&ask, CampaignStep::Cancel).await
}

async fn step(ask: &Ask<CampaignsWrite, CampaignId, (), Nothing>, step: CampaignStep) -> Reply {
    let campaigns = ask.services().campaigns();
    let campaign = campaigns.step(&ask.caller, ask.id, step).await?;
    reply::ok(&CampaignView(&campaign))
}

/// `GET /v1/campaigns/{id}/estimate`
async fn estimate(ask: Ask<CampaignsRead, CampaignId>) -> Reply {
    let campaigns = ask.services().campaigns();
    let estimate = campaigns.estimate(&ask.caller, ask.id).await?;
    reply::ok(&EstimateBody(&estimate))
}

/// `GET /v1/campaigns/{id}/events`
async fn events(ask: Ask<CampaignsRead, CampaignId, (), Resume>) -> Reply {
    let campaigns = ask.services().campaigns();
    campaigns.get(ask.account(), ask.id).await?;
    let followed = campaigns.follow(ask.account(), ask.id);
    streams::of_campaign(&ask.state, &ask.caller, &ask.body, followed).await
}

/// `GET /v1/campaigns/{id}/results`: what came of every recipient, as CSV.
async fn results(ask: Ask<CampaignsRead, CampaignId>) -> Reply {
    let campaigns = ask.services().campaigns();
    let rows = campaigns.results(ask.account(), ask.id).await?;
    // On an error the response is cut off, so that the file is not taken for complete.
    let rows = rows.map(|lines| lines.map_err(|_| std::io::Error::other("the list broke off")));
    Ok(HttpResponse::Ok()
        .content_type("text/csv; charset=utf-8")
        .insert_header((CONTENT_DISPOSITION, "attachment; filename=\"results.csv\""))
        .streaming(rows))
}
