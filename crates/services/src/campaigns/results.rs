//! What came of a campaign's recipients, as a CSV file.

use bytes::Bytes;
use futures_util::stream::{self, Stream, StreamExt as _};

use super::Campaigns;
use crate::csv_file::{MARK, written};
use crate::error::Result;
use crate::prelude::*;

/// Recipients that are read at once.
const AT_ONCE: u32 = 1_000;

impl Campaigns {
    /// A campaign's recipients as a CSV file for spreadsheets, in the order they were added, in pieces.
    ///
    /// # Errors
    /// Another account's campaign is not found, before the file begins.
    pub async fn results(
        &self,
        account: AccountId,
        id: CampaignId,
    ) -> Result<impl Stream<Item = Result<Bytes>> + use<>> {
        self.get(account, id).await?;
        let head = [
            "to",
            "name",
            "status",
            "outcome",
            "rule",
            "attempts",
            "call_id",
            "next_at",
            "updated_at",
            "variables",
        ];
        let mut first = MARK.as_bytes().to_vec();
        first.extend(written([head.map(str::to_owned).to_vec()]));
        let begins = (self.clone(), Some(None));
        let rows = stream::try_unfold(begins, move |(campaigns, place)| async move {
            let Some(after) = place else { return Ok(None) };
            let filter = CampaignRecipientFilter::default();
            let page = campaigns.recipients((account, id), filter, after, AT_ONCE);
            let page = page.await?;
            let last = page.items.last().filter(|_| page.has_more);
            let next = last.map(|one| Some(one.place));
            let lines = Bytes::from(written(page.items.iter().map(line)));
            Ok(Some((lines, (campaigns, next))))
        });
        Ok(stream::iter([Ok(Bytes::from(first))]).chain(rows))
    }
}

fn line(one: &CampaignRecipient) -> Vec<String> {
    fn shown(value: Option<impl ToString>) -> String {
        value.map(|value| value.to_string()).unwrap_or_default()
    }
    vec![
        one.number.to_string(),
        one.name.clone(),
        one.status.to_string(),
        shown(one.outcome),
        shown(one.blocked_by),
        one.attempts.to_string(),
        shown(one.conversation_id.map(CallHandle)),
        shown(one.next_at()),
        one.updated_at.to_string(),
        one.variables.clone(),
    ]
}
