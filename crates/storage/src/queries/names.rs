//! A text within the names of a list, by the pieces that a name has (`crate::grams`).
//!
//! Each piece has the rows whose names hold it in the list's own order. A text of at most three characters is a piece, and
//! its page is a walk along it. Of a longer text, or beside other filters, the page is read along whatever reaches
//! furthest back within a few rows, a piece or the list itself with its other filters, and so on from there with four
//! times as many: what is looked at is a multiple of the rows of the rarest, wherever in the list it is rare.

use crate::database::RunQueryDsl;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::serialize::ToSql;
use diesel::sql_types::{BigInt, Nullable};
use offhook_domain::{AccountId, AgentId, DocumentId, Timestamp};

use crate::database::{Conn, Db};
use crate::dialect::push_pieces;
use crate::sql::V;
use crate::{PageKey, Result, grams, sql};

/// The pieces of agents' names.
pub(super) const OF_AGENTS: &str = "agent_grams";
/// The pieces of documents' names.
pub(super) const OF_DOCUMENTS: &str = "document_grams";

/// Rows beyond a page that are looked at first.
const BEYOND: i64 = 12;
/// The most that are looked at between two looks at which piece is the rarest.
const FURTHEST: i64 = 8_192;
/// The last instant that there is: 9999-12-31T23:59:59.999999Z.
const LATEST: Timestamp = Timestamp::from_micros(253_402_300_799_999_999);

/// A part of a list, newest first: what was made not before an instant, behind a row, and how many of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stretch<Id> {
    pub(super) since: Option<Timestamp>,
    pub(super) after: Option<PageKey<Id>>,
    pub(super) most: i64,
}

/// An id that stands at no row, behind all others of its instant.
pub(super) trait Nil {
    const NIL: Self;
}

impl Nil for AgentId {
    const NIL: Self = Self::nil();
}

impl Nil for DocumentId {
    const NIL: Self = Self::nil();
}

/// A list with a text to be found in its names, and its other filters.
pub(super) trait Names: Sync {
    type Id: Copy + Send + Nil;
    type Row: Send;
    /// The table of its names' pieces.
    const PIECES: &'static str;

    /// Whether there are other filters.
    fn is_filtered(&self) -> bool;

    /// When the row was made that is `ahead` rows behind the newest of `at` or before, with the other filters alone.
    fn reach(
        &self,
        conn: &mut Conn,
        at: Timestamp,
        ahead: i64,
    ) -> impl Future<Output = Result<Option<Timestamp>>> + Send;

    /// The rows of a stretch, along a piece or along the list, that the text and the other filters show.
    fn rows(
        &self,
        conn: &mut Conn,
        along: Option<i64>,
        stretch: Stretch<Self::Id>,
    ) -> impl Future<Output = Result<Vec<Self::Row>>> + Send;
}

/// A page of the names that hold `text`, which is not empty, with one row more than `limit` if there is a next page.
pub(super) async fn page<N: Names>(
    conn: &mut Conn,
    names: &N,
    (account, text): (AccountId, &str),
    mut after: Option<PageKey<N::Id>>,
    limit: i64,
) -> Result<Vec<N::Row>> {
    let pieces = grams::of_text(text);
    let mut found: Vec<N::Row> = Vec::new();
    let mut ahead = limit + BEYOND;
    loop {
        let (along, since) = match pieces.as_slice() {
            [only] if !names.is_filtered() => (Some(*only), None),
            several => {
                let at = after.map_or(LATEST, |(at, _)| at);
                furthest(conn, names, (account, several), at, ahead).await?
            }
        };
        let most = limit + 1 - i64::try_from(found.len()).unwrap_or(limit);
        let stretch = Stretch { since, after, most };
        found.extend(names.rows(conn, along, stretch).await?);
        let is_full = i64::try_from(found.len()).is_ok_and(|rows| rows > limit);
        match since {
            Some(since) if !is_full => after = Some((since, N::Id::NIL)),
            _ => return Ok(found),
        }
        ahead = ahead.saturating_mul(4).min(FURTHEST);
    }
}

/// Along what a stretch of the list has the fewest rows, and how far back `ahead` of them reach; `None` to its end.
async fn furthest<N: Names>(
    conn: &mut Conn,
    names: &N,
    (account, pieces): (AccountId, &[i64]),
    at: Timestamp,
    ahead: i64,
) -> Result<(Option<i64>, Option<Timestamp>)> {
    let reaches = Reaches {
        table: N::PIECES,
        account: V(account),
        at: V(at),
        ahead,
        pieces: serde_json::Value::from(pieces).to_string(),
    };
    let reaches: Vec<(i64, Option<Timestamp>)> = reaches.load(conn).await?;
    let piece = reaches.into_iter().min_by_key(|(_, reach)| *reach);
    let (piece, reach) = piece.map_or((None, None), |(piece, reach)| (Some(piece), reach));
    if reach.is_none() || !names.is_filtered() {
        return Ok((piece, reach));
    }
    // A row of the list is cheaper than one that a piece leads to.
    let listed = names.reach(conn, at, ahead).await?;
    Ok(match listed <= reach {
        true => (None, listed),
        false => (piece, reach),
    })
}

/// Writes the pieces of a new name.
pub(super) async fn add<Id: Fit>(
    conn: &mut Conn,
    table: &'static str,
    named: Named<Id>,
    folded: &str,
) -> Result<()> {
    write(conn, table, Kind::Add, named, &grams::of_name(folded)).await
}

/// Takes the pieces of a name away.
pub(super) async fn remove<Id: Fit>(
    conn: &mut Conn,
    table: &'static str,
    named: Named<Id>,
    folded: &str,
) -> Result<()> {
    write(conn, table, Kind::Remove, named, &grams::of_name(folded)).await
}

/// Replaces the pieces of a name by those of another.
pub(super) async fn change<Id: Fit>(
    conn: &mut Conn,
    table: &'static str,
    named: Named<Id>,
    (before, after): (&str, &str),
) -> Result<()> {
    let (before, after) = (grams::of_name(before), grams::of_name(after));
    let only = |these: &[i64], others: &[i64]| -> Vec<i64> {
        let kept = these.iter().filter(|gram| !others.contains(gram));
        kept.copied().collect()
    };
    write(conn, table, Kind::Remove, named, &only(&before, &after)).await?;
    write(conn, table, Kind::Add, named, &only(&after, &before)).await
}

/// Whose name it is: the account, the row and when that was made.
pub(super) type Named<Id> = (AccountId, Id, Timestamp);

/// An id of a row that has a name.
pub(super) trait Fit: ToSql<sql::Uuid, Db> + std::fmt::Debug + Copy + Send + Sync {}

impl Fit for AgentId {}
impl Fit for DocumentId {}

async fn write<Id: Fit>(
    conn: &mut Conn,
    table: &'static str,
    kind: Kind,
    (account, id, at): Named<Id>,
    pieces: &[i64],
) -> Result<()> {
    if pieces.is_empty() {
        return Ok(());
    }
    let write = Write {
        table,
        kind,
        account: V(account),
        id: V(id),
        at: V(at),
        pieces: serde_json::Value::from(pieces).to_string(),
    };
    write.execute(conn).await?;
    Ok(())
}

/// For each of some pieces, when the row was made that is `ahead` rows behind the newest that has it, of `at` or before.
struct Reaches {
    table: &'static str,
    account: V<AccountId>,
    at: V<Timestamp>,
    ahead: i64,
    pieces: String,
}

impl QueryFragment<Db> for Reaches {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Db>) -> QueryResult<()> {
        out.push_sql("SELECT p.gram, (SELECT n.created_at FROM ");
        out.push_sql(self.table);
        out.push_sql(" AS n WHERE n.account_id = ");
        out.push_bind_param::<sql::Uuid, _>(&self.account)?;
        out.push_sql(" AND n.gram = p.gram AND n.created_at <= ");
        out.push_bind_param::<sql::Instant, _>(&self.at)?;
        out.push_sql(" ORDER BY n.created_at DESC, n.id DESC LIMIT 1 OFFSET ");
        out.push_bind_param::<BigInt, _>(&self.ahead)?;
        out.push_sql(") FROM ");
        push_pieces(&mut out, &self.pieces)?;
        out.push_sql(" AS p");
        Ok(())
    }
}

impl QueryId for Reaches {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl Query for Reaches {
    type SqlType = (BigInt, Nullable<sql::Instant>);
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Add,
    Remove,
}

/// Adds or removes the rows of some pieces of a name.
struct Write<Id> {
    table: &'static str,
    kind: Kind,
    account: V<AccountId>,
    id: V<Id>,
    at: V<Timestamp>,
    pieces: String,
}

impl<Id: Fit> QueryFragment<Db> for Write<Id> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Db>) -> QueryResult<()> {
        let [before, between, then, end] = match self.kind {
            Kind::Add => [
                "INSERT INTO ",
                " (account_id, created_at, id, gram) SELECT ",
                ", ",
                ", p.gram FROM ",
            ],
            Kind::Remove => [
                "DELETE FROM ",
                " WHERE account_id = ",
                " AND created_at = ",
                " AND gram IN (SELECT p.gram FROM ",
            ],
        };
        out.push_sql(before);
        out.push_sql(self.table);
        out.push_sql(between);
        out.push_bind_param::<sql::Uuid, _>(&self.account)?;
        out.push_sql(then);
        out.push_bind_param::<sql::Instant, _>(&self.at)?;
        out.push_sql(match self.kind {
            Kind::Add => ", ",
            Kind::Remove => " AND id = ",
        });
        out.push_bind_param::<sql::Uuid, _>(&self.id)?;
        out.push_sql(end);
        push_pieces(&mut out, &self.pieces)?;
        out.push_sql(match self.kind {
            Kind::Add => " AS p",
            Kind::Remove => " AS p)",
        });
        Ok(())
    }
}

impl<Id> QueryId for Write<Id> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}
