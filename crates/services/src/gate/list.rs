//! The suppression list and the rules of an account.

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use offhook_domain::body::{Instant, Optional, Or, Phone, Required, Text};
use offhook_engine::EndRequest;

use super::Rules;
use crate::csv_file::{self, MARK};
use crate::error::Result;
use crate::prelude::*;
use crate::signals::Signal;

/// Rows of one file.
const ROWS_AT_MOST: usize = 500_000;

/// Rows that are written together: the account's calls are claimed between them.
const AT_ONCE: usize = 5_000;

/// Rows that are read together for a file.
const READ_AT_ONCE: u32 = 1_000;

/// Whom an account calls.
#[derive(Clone)]
pub struct Gate {
    pub(crate) ctx: Arc<Context>,
    pub(crate) live: Arc<Live>,
    pub(crate) providers: Arc<Providers>,
}

body! {
    /// A number that is not to be called.
    #[derive(Debug)]
    pub SuppressionRequest {
        number: E164, Required(Phone), "The number that is not called, E.164.";
        reason: String, Or(Text(0..=500), String::new()), "Why, at most 500 characters.";
        until: Option<Timestamp>, Optional(Instant), "From then on it may be called again; null: never.";
    }
}

/// What came of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SuppressionsImported {
    /// Numbers that are on the list now.
    pub numbers: usize,
}

#[boxed]
impl Gate {
    /// An account's rules.
    pub fn rules(&self, account: &Account) -> Result<DialingRules> {
        Ok(Rules::of(&account.dialing)?.dialing)
    }

    /// Replaces an account's rules.
    pub async fn set_rules(&self, account: AccountId, body: &Json) -> Result<DialingRules> {
        let rules = DialingRules::of(body, &())?;
        let text = (!rules.is_empty()).then(|| rules.to_stored());
        self.ctx.store.set_dialing_rules(account, text).await?;
        Ok(rules)
    }

    pub async fn suppressions(
        &self,
        account: AccountId,
        filter: SuppressionFilter,
        page: PageRequest<SuppressionId>,
    ) -> Result<Page<Suppression>> {
        let store = &self.ctx.store;
        let read = |after, limit| store.suppressions(account, filter, after, limit);
        Ok(page.read(read).await?)
    }

    pub async fn suppression(&self, account: AccountId, id: SuppressionId) -> Result<Suppression> {
        let found = self.ctx.store.suppression(account, id).await?;
        found.ok_or(UseCaseError::NotFound)
    }

    /// Puts a number on the list: `{number, reason, until}`. If it is there already, it gets the new reason and time.
    pub async fn suppress(
        &self,
        account: AccountId,
        body: &Json,
        source: SuppressionSource,
    ) -> Result<Suppression> {
        let request = SuppressionRequest::of(body, &())?;
        let number = request.number.clone();
        self.write(account, vec![request], source).await?;
        let filter = SuppressionFilter {
            number: Some(number),
            ..SuppressionFilter::default()
        };
        let found = self
            .ctx
            .store
            .suppressions(account, filter, None, 1)
            .await?;
        found.into_iter().next().ok_or(UseCaseError::NotFound)
    }

    /// Puts the numbers of a CSV file on the list, whose columns are `number` and, if they are there, `reason` and `until`.
    /// Rows are written in parts, and writing the same file again changes nothing.
    pub async fn import(&self, account: AccountId, file: &[u8]) -> Result<SuppressionsImported> {
        let rows = csv_file::read(file, ("number", ROWS_AT_MOST), |record| {
            let mut members = Vec::new();
            for column in ["number", "reason", "until"] {
                let cell = record.cell(column);
                // What this service writes for spreadsheets comes back.
                let cell = cell.strip_prefix('\'').unwrap_or(cell);
                if !cell.is_empty() {
                    members.push((column.to_owned(), Json::String(cell.to_owned())));
                }
            }
            let row = SuppressionRequest::of(&Json::Object(members), &());
            row.map_err(|fault: FieldError| record.of_cell(fault))
        })?;
        // Of two rows for a number, the later one counts.
        let mut last = HashMap::with_capacity(rows.len());
        for row in rows {
            last.insert(row.number.clone(), row);
        }
        let mut rows: Vec<SuppressionRequest> = last.into_values().collect();
        let numbers = rows.len();
        while !rows.is_empty() {
            let rest = rows.split_off(rows.len().min(AT_ONCE));
            self.write(account, rows, SuppressionSource::Import).await?;
            rows = rest;
        }
        Ok(SuppressionsImported { numbers })
    }

    /// Takes a number off the list.
    pub async fn allow(&self, account: AccountId, id: SuppressionId) -> Result<()> {
        let is_found = self.ctx.store.delete_suppression(account, id).await?;
        UseCaseError::unless_found(is_found)
    }

    async fn write(
        &self,
        account: AccountId,
        requests: Vec<SuppressionRequest>,
        source: SuppressionSource,
    ) -> Result<()> {
        let at = self.ctx.clock.now();
        let new = requests.into_iter().map(|request| Suppression {
            id: mint(at),
            account_id: account,
            number: request.number,
            reason: request.reason,
            source,
            until: request.until,
            conversation_id: None,
            created_at: at,
        });
        let dialing = self.ctx.store.suppress(account, new.collect()).await?;
        hang_up(&self.live, &dialing);
        Ok(())
    }
}

fn line(row: &Suppression) -> Vec<String> {
    vec![
        row.number.to_string(),
        row.reason.clone(),
        row.source.to_string(),
        row.until.map(|until| until.to_string()).unwrap_or_default(),
        row.created_at.to_string(),
    ]
}

impl Gate {
    /// The whole list as a CSV file for spreadsheets, newest first, in pieces.
    pub async fn export(
        &self,
        account: AccountId,
    ) -> Result<impl Stream<Item = Result<Bytes>> + use<>> {
        let head = ["number", "reason", "source", "until", "created_at"].map(str::to_owned);
        let mut first = MARK.as_bytes().to_vec();
        first.extend(csv_file::written([head.to_vec()]));
        let begin = self.page(account, None).await?;
        let rows = stream::try_unfold(
            (self.clone(), Some(begin)),
            move |(gate, page)| async move {
                let Some(page) = page else { return Ok(None) };
                let last = page.items.last().filter(|_| page.has_more);
                let next = match last {
                    Some(last) => Some(gate.page(account, Some((last.created_at, last.id))).await?),
                    None => None,
                };
                let lines = csv_file::written(page.items.iter().map(line));
                Ok(Some((Bytes::from(lines), (gate, next))))
            },
        );
        Ok(stream::iter([Ok(Bytes::from(first))]).chain(rows))
    }

    async fn page(
        &self,
        account: AccountId,
        after: Option<(Timestamp, SuppressionId)>,
    ) -> Result<Page<Suppression>> {
        let page = PageRequest {
            after,
            limit: READ_AT_ONCE,
        };
        self.suppressions(account, SuppressionFilter::default(), page)
            .await
    }
}

/// Ends calls whose hangup was written, wherever they are.
pub(crate) fn hang_up(live: &Live, calls: &[ConversationId]) {
    for id in calls {
        live.registry.end(*id, EndRequest::ApiHangup);
        if !live.registry.holds(*id) {
            live.signals.say(Signal::HangUp(*id));
        }
    }
}
