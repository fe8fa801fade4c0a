//! A batch's results as a CSV file, streamed.

use actix_web::web::Bytes;
use futures_util::{StreamExt as _, stream};
use offhook_services::Services;
use offhook_services::store::Recipient;

use crate::parts::words::shown;
use crate::prelude::*;
use crate::visit::layout::attachment;
use offhook_services::csv_file::{MARK, written};

/// Recipients that are read at once.
const AT_ONCE: u32 = 500;

/// Variables with a column of their own; the others share one column.
const NAMED: usize = 100;

/// That column.
const OTHERS: &str = "other_variables";

/// Columns before those of the variables.
const COLUMNS: [&str; 5] = ["to", "status", "attempt", "failure_reason", "call_id"];

/// `GET /portal/batch-calls/{id}/results`
pub(super) async fn file(visit: Visit<Viewer>) -> Answer {
    let (account, id) = (visit.account(), visit.id::<BatchId>("id")?);
    let services = visit.services().clone();
    services.batches().get(account, id).await?;
    let names = names(&services, account, id).await?;
    let mut heads: Vec<&str> = COLUMNS.to_vec();
    heads.extend(names.iter().map(String::as_str));
    let mut first = MARK.as_bytes().to_vec();
    first.extend(written([heads.into_iter().map(str::to_owned).collect()]));
    let start = (services, names, Some(None));
    let rows = stream::try_unfold(start, move |(services, names, place)| async move {
        let Some(after) = place else { return Ok(None) };
        let (rows, next) = page(&services, account, id, after).await?;
        let lines = written(rows.iter().map(|row| line(row, &names)));
        Ok::<_, Trouble>(Some((Bytes::from(lines), (services, names, next))))
    });
    // On an error the response is cut off, so that the file is not taken for complete.
    let rows = rows.map(|lines| lines.map_err(|_| std::io::Error::other("the results broke off")));
    let first = stream::iter([Ok(Bytes::from(first))]);
    let disposition = format!("attachment; filename=\"batch-{id}.csv\"");
    let mut answer = attachment("text/csv; charset=utf-8", disposition);
    Ok(answer.streaming(first.chain(rows)))
}

/// A page of recipients, and the next place if there is more.
async fn page(
    services: &Services,
    account: AccountId,
    id: BatchId,
    after: Option<i32>,
) -> Result<(Vec<Recipient>, Option<Option<i32>>)> {
    let batches = services.batches();
    let page = batches.recipients(account, id, None, after, AT_ONCE);
    let page = page.await?;
    let last = page.items.last().map(|row| row.place);
    let next = last.filter(|_| page.has_more).map(Some);
    Ok((page.items, next))
}

/// The variables of all recipients, in order of first appearance, up to the limit.
async fn names(services: &Services, account: AccountId, id: BatchId) -> Result<Vec<String>> {
    let mut names: Vec<String> = Vec::new();
    let mut place = Some(None);
    while let Some(after) = place {
        let (rows, next) = page(services, account, id, after).await?;
        for (name, _) in rows.iter().flat_map(variables) {
            if names.contains(&name) {
                continue;
            }
            if names.len() == NAMED {
                names.push(OTHERS.to_owned());
                return Ok(names);
            }
            names.push(name);
        }
        place = next;
    }
    Ok(names)
}

fn variables(row: &Recipient) -> Vec<(String, Json)> {
    match Json::parse(row.metadata.as_bytes()) {
        Ok(Json::Object(members)) => members,
        _ => Vec::new(),
    }
}

fn line(row: &Recipient, names: &[String]) -> Vec<String> {
    let failure = row.failure_reason.map(|reason| reason.to_string());
    let call = row.conversation_id.map(|id| CallHandle(id).to_string());
    let mut cells = vec![
        row.to_number.to_string(),
        row.status.to_string(),
        row.attempt.to_string(),
        failure.unwrap_or_default(),
        call.unwrap_or_default(),
    ];
    let mut variables = variables(row);
    let (named, others) = names.split_at(names.len().min(NAMED));
    cells.extend(named.iter().map(|name| {
        let found = variables.iter().position(|(known, _)| known == name);
        found
            .map(|at| shown(&variables.swap_remove(at).1))
            .unwrap_or_default()
    }));
    if !others.is_empty() {
        cells.push(Json::Object(variables).to_compact());
    }
    cells
}
