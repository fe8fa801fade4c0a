//! The filtered list as a CSV file, streamed.

use actix_web::web::Bytes;
use futures_util::{StreamExt as _, stream};
use offhook_services::store::ConversationView;
use offhook_services::{Caller, PageRequest, Services};

use super::Tags;
use super::filters::{self, Wanted};
use crate::prelude::*;
use crate::visit::layout::attachment;
use offhook_services::csv_file::{MARK, written};

/// Conversations of one file.
pub(super) const ROWS_AT_MOST: usize = 10_000;

/// Conversations that are read at once.
const AT_ONCE: u32 = 500;

const COLUMNS: [&str; 17] = [
    "id",
    "call_id",
    "agent",
    "channel",
    "from",
    "to",
    "customer_phone",
    "started_at",
    "ended_at",
    "duration_seconds",
    "status",
    "outcome",
    "reason",
    "credits",
    "messages",
    "summary",
    "tags",
];

/// How far a file is.
struct Place {
    after: Option<(Timestamp, ConversationId)>,
    rows: usize,
}

/// `GET /portal/conversations/file`
pub(super) async fn file(visit: Visit<Viewer>) -> Answer {
    let wanted = filters::read(visit.query(), visit.lang());
    let wanted = wanted.map_err(|_| Trouble::not_found())?;
    let (services, caller) = (visit.services().clone(), visit.caller().clone());
    let mut first = MARK.as_bytes().to_vec();
    first.extend(written([COLUMNS.map(str::to_owned).to_vec()]));
    let begin = Place {
        after: None,
        rows: 0,
    };
    let start = (services, caller, wanted, Some(begin));
    let rows = stream::try_unfold(start, |(services, caller, wanted, place)| async move {
        let Some(place) = place else { return Ok(None) };
        let (views, next) = page(&services, &caller, &wanted, place).await?;
        let ids = views.iter().map(|view| view.conversation.id);
        let tags = services.conversations().tags(ids.collect()).await?;
        let lines = views.iter().map(|view| line(view, &tags));
        let lines = Bytes::from(written(lines));
        Ok::<_, Trouble>(Some((lines, (services, caller, wanted, next))))
    });
    // On an error the response is cut off, so that the file is not taken for complete.
    let rows = rows.map(|lines| lines.map_err(|_| std::io::Error::other("the list broke off")));
    let first = stream::iter([Ok(Bytes::from(first))]);
    let disposition = "attachment; filename=\"conversations.csv\"".to_owned();
    let mut answer = attachment("text/csv; charset=utf-8", disposition);
    Ok(answer.streaming(first.chain(rows)))
}

async fn page(
    services: &Services,
    caller: &Caller,
    wanted: &Wanted,
    place: Place,
) -> Result<(Vec<ConversationView>, Option<Place>)> {
    let left = u32::try_from(ROWS_AT_MOST - place.rows).unwrap_or(0);
    let page = PageRequest {
        after: place.after,
        limit: AT_ONCE.min(left),
    };
    let conversations = services.conversations();
    let found = conversations.search(caller, wanted.filter.clone(), &wanted.search, page);
    let found = found.await?;
    let rows = place.rows + found.views.len();
    let next = found.next.filter(|_| rows < ROWS_AT_MOST);
    let next = next.map(|after| Place {
        after: Some(after),
        rows,
    });
    Ok((found.views, next))
}

fn line(view: &ConversationView, tags: &Tags) -> Vec<String> {
    let conversation = &view.conversation;
    let is_over = conversation.state.is_terminal();
    fn text<T: ToString>(value: Option<T>) -> String {
        value.map(|value| value.to_string()).unwrap_or_default()
    }
    let reason = match conversation.failure_reason {
        Some(reason) => Some(reason.as_str()),
        None => conversation
            .termination_reason
            .map(|reason| reason.as_str()),
    };
    vec![
        conversation.id.to_string(),
        text(conversation.voice.then_some(CallHandle(conversation.id))),
        view.agent_name.clone(),
        text(conversation.channel),
        text(conversation.from_number.as_ref()),
        text(conversation.to_number.as_ref()),
        text(conversation.customer_phone.as_ref()),
        conversation.started_at.to_string(),
        text(conversation.ended_at.filter(|_| is_over)),
        text(conversation.duration_seconds.filter(|_| is_over)),
        conversation.status.to_string(),
        text(conversation.outcome()),
        text(reason.filter(|_| is_over)),
        text(conversation.credits.filter(|_| is_over)),
        conversation.messages_count.to_string(),
        conversation.summary.clone().unwrap_or_default(),
        tags.get(&conversation.id)
            .map_or_else(String::new, |tags| tags.join(", ")),
    ]
}
