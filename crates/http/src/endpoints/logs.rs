//! `/v1/logs`.

use std::str::FromStr;

use offhook_services::store::{LogFilter, StatusFilter};

use crate::prelude::*;
use crate::request::ask::LogsRead;
use crate::streams::{self, Resume};
use crate::wire::log::LogBody;

pub(crate) fn routes() -> Vec<Endpoint> {
    vec![
        Endpoint::at("/v1/logs").get(list),
        Endpoint::at("/v1/logs/stream").get(follow),
    ]
}

/// The methods of requests with a key.
pub(crate) const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/// The longest path to search for.
pub(crate) const MAX_PATH_CHARS: usize = 500;

/// `404` or `4xx`.
struct Status(StatusFilter);

impl FromStr for Status {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let [class @ b'1'..=b'5', rest @ ..] = text.as_bytes() else {
            return Err(());
        };
        match rest {
            b"xx" => Ok(Self(StatusFilter::Class(i32::from(class - b'0')))),
            [b'0'..=b'9', b'0'..=b'9'] => text
                .parse()
                .map(|code| Self(StatusFilter::Code(code)))
                .map_err(drop),
            _ => Err(()),
        }
    }
}

impl FromQuery for LogFilter {
    fn read(query: &mut QueryReader) -> Result<Self, FieldError> {
        let (since, until) = query.period()?;
        let status = query.choice::<Status>("status", || {
            "a status such as `404`, or a class of them such as `4xx`".to_owned()
        })?;
        Ok(Self {
            since,
            until,
            status: status.map(|status| status.0),
            method: query.one_of("method", &METHODS)?.map(str::to_owned),
            path: query.text("path", MAX_PATH_CHARS)?,
            key: query.id("key_id")?,
            request: query.id("request_id")?,
        })
    }
}

/// `GET /v1/logs`
async fn list(ask: Ask<LogsRead, (), Listing<LogFilter>>) -> Reply {
    let page = ask.query.page_request(LogEntryId::from_uuid);
    let filter = ask.query.filters.clone();
    let logs = ask.services().request_logs();
    let entries = logs.list(ask.account(), filter, page).await?;
    ask.query.answer(
        &entries,
        |entry| (entry.created_at, entry.id.uuid()),
        LogBody,
    )
}

/// `GET /v1/logs/stream`
async fn follow(ask: Ask<LogsRead, (), (), Resume>) -> Reply {
    let logs = ask.services().request_logs();
    let entries = logs.follow(ask.account(), ask.body.after()?);
    streams::of_account(&ask.state, &ask.caller, &ask.body, entries, |entry| {
        streams::format(entry.id, "log", &LogBody(entry))
    })
    .await
}
