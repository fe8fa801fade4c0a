//! The event and whom it is for, in one round trip: on a machine away from its database the count of these is what a
//! call costs.

use crate::database::RunQueryDsl;
use crate::dialect::Lock as _;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use offhook_domain::{AccountId, ConversationId, EndpointId, Timestamp};

use crate::database::{Conn, Db};
use crate::queries::{calls, events};
use crate::schema::webhook_endpoints as endpoints;
use crate::sql::V;
use crate::{DISABLED_AS_FAILING, EndpointStatus, NewCall, NewEvent, Result};

/// Writes the conversation, if there is one, and its event. Returns the endpoints that deliveries are written for: those
/// that receive events, and those that failed too long to. They are read with a lock that an endpoint's deletion or
/// disabling waits for, so that no delivery is written behind it.
pub(crate) async fn insert_event_and_hold_endpoints(
    conn: &mut Conn,
    call: Option<&NewCall>,
    (account, conversation): (AccountId, ConversationId),
    event: NewEvent,
    at: Timestamp,
) -> Result<Vec<(EndpointId, EndpointStatus)>> {
    let event = Write("event", events::row(account, Some(conversation), event, at));
    let then = endpoints::table
        .filter(endpoints::account_id.eq(V(account)))
        .filter(endpoints::deleted_at.is_null())
        .filter(
            endpoints::status
                .eq(V(EndpointStatus::Enabled))
                .or(endpoints::disabled_reason
                    .eq(DISABLED_AS_FAILING)
                    .assume_not_null()),
        )
        .order((endpoints::created_at, endpoints::id))
        .select((endpoints::id, endpoints::status))
        .locked("FOR SHARE");
    Ok(match call {
        Some(call) => {
            let writes = (Write("call", calls::row(Db::Postgres, call)), event);
            With { writes, then }.load(conn).await?
        }
        None => {
            let writes = event;
            With { writes, then }.load(conn).await?
        }
    })
}

/// `WITH a AS (INSERT …), b AS (INSERT …) SELECT …`: PostgreSQL carries out each write once, whether or not the rest
/// reads it, and checks references between them at the end of the statement.
#[derive(QueryId)]
struct With<W, S> {
    writes: W,
    then: S,
}

impl<W: QueryFragment<Db>, S: QueryFragment<Db>> QueryFragment<Db> for With<W, S> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Db>) -> QueryResult<()> {
        out.push_sql("WITH ");
        self.writes.walk_ast(out.reborrow())?;
        out.push_sql(" ");
        self.then.walk_ast(out)
    }
}

impl<W, S: Query> Query for With<W, S> {
    type SqlType = S::SqlType;
}

/// A named write of a [`With`]. Each table's has one name, as diesel tells statements apart by their types.
#[derive(QueryId)]
struct Write<I>(&'static str, I);

impl<I: QueryFragment<Db>> QueryFragment<Db> for Write<I> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Db>) -> QueryResult<()> {
        out.push_sql(self.0);
        out.push_sql(" AS (");
        self.1.walk_ast(out.reborrow())?;
        out.push_sql(")");
        Ok(())
    }
}
