//! `/v1/suppressions`, `/v1/dialing-rules` and `/v1/dial-checks`: whom an account calls.

use actix_web::http::header::CONTENT_DISPOSITION;
use futures_util::StreamExt as _;
use offhook_services::store::SuppressionFilter;

use crate::prelude::*;
use crate::request::ask::{CallsRead, SuppressionsRead, SuppressionsWrite};
use crate::request::batch_body::JsonOrFile;
use crate::wire::Deleted;
use crate::wire::gate::{DialCheckBody, DialChecksBody, ImportedBody, SuppressionBody};

pub(crate) fn routes() -> Vec<Endpoint> {
    let at = Endpoint::at;
    vec![
        at("/v1/suppressions").get(list).post(suppress),
        at("/v1/suppressions/export").get(export),
        at("/v1/suppressions/{id}").get(get).delete(delete),
        at("/v1/dialing-rules").get(rules).put(set_rules),
        at("/v1/dial-checks").post(check),
    ]
}

impl FromQuery for SuppressionFilter {
    fn read(query: &mut QueryReader) -> Result<Self, FieldError> {
        let (since, until) = query.period()?;
        Ok(Self {
            number: query.phone("number")?,
            source: query.choice("source", SuppressionSource::choices)?,
            since,
            until,
        })
    }
}

/// `GET /v1/suppressions`
async fn list(ask: Ask<SuppressionsRead, (), Listing<SuppressionFilter>>) -> Reply {
    let page = ask.query.page_request(SuppressionId::from_uuid);
    let gate = ask.services().gate();
    let found = gate.suppressions(ask.account(), ask.query.filters.clone(), page);
    ask.query.answer(
        &found.await?,
        |row| (row.created_at, row.id.uuid()),
        SuppressionBody,
    )
}

/// `POST /v1/suppressions`: one number as JSON, or many as a CSV file.
async fn suppress(ask: Ask<SuppressionsWrite, (), (), JsonOrFile>) -> Reply {
    let gate = ask.services().gate();
    match &ask.body {
        JsonOrFile::Json(json) => {
            let row = gate.suppress(ask.account(), json, SuppressionSource::Api);
            reply::created(&SuppressionBody(&row.await?))
        }
        JsonOrFile::File(file) => {
            let imported = gate.import(ask.account(), file).await?;
            reply::created(&ImportedBody {
                suppressed: imported.numbers,
            })
        }
    }
}

/// `GET /v1/suppressions/{id}`
async fn get(ask: Ask<SuppressionsRead, SuppressionId>) -> Reply {
    let gate = ask.services().gate();
    let row = gate.suppression(ask.account(), ask.id).await?;
    reply::ok(&SuppressionBody(&row))
}

/// `DELETE /v1/suppressions/{id}`
async fn delete(ask: Ask<SuppressionsWrite, SuppressionId>) -> Reply {
    ask.services().gate().allow(ask.account(), ask.id).await?;
    reply::ok(&Deleted::new(ask.id))
}

/// `GET /v1/suppressions/export`: the whole list as CSV, newest first.
async fn export(ask: Ask<SuppressionsRead>) -> Reply {
    let rows = ask.services().gate().export(ask.account()).await?;
    // On an error the response is cut off, so that the file is not taken for complete.
    let rows = rows.map(|lines| lines.map_err(|_| std::io::Error::other("the list broke off")));
    Ok(HttpResponse::Ok()
        .content_type("text/csv; charset=utf-8")
        .insert_header((
            CONTENT_DISPOSITION,
            "attachment; filename=\"suppressions.csv\"",
        ))
        .streaming(rows))
}

/// `GET /v1/dialing-rules`
async fn rules(ask: Ask<SuppressionsRead>) -> Reply {
    reply::ok(&ask.services().gate().rules(&ask.caller.account)?)
}

/// `PUT /v1/dialing-rules`
async fn set_rules(ask: Ask<SuppressionsWrite, (), (), Json>) -> Reply {
    let gate = ask.services().gate();
    reply::ok(&gate.set_rules(ask.account(), &ask.body).await?)
}

/// `POST /v1/dial-checks`
async fn check(ask: Ask<CallsRead, (), (), Json>) -> Reply {
    let checks = ask.services().gate().check(&ask.caller, &ask.body).await?;
    let data = checks.iter().map(DialCheckBody).collect();
    reply::ok(&DialChecksBody { data })
}
