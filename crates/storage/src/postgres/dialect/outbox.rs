//! Writes that accompany a query.

use crate::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};

/// `WITH a AS (INSERT …), b AS (INSERT …) SELECT …`: PostgreSQL executes each write once, whether or not the rest reads
/// it, and checks foreign keys between them at the end of the statement.
#[derive(QueryId)]
pub(crate) struct With<W, S> {
    pub(crate) writes: W,
    pub(crate) then: S,
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

/// A named write of a [`With`]. Each table has one name, because diesel distinguishes statements by their types.
#[derive(QueryId)]
pub(crate) struct Write<I>(pub(crate) &'static str, pub(crate) I);

impl<I: QueryFragment<Db>> QueryFragment<Db> for Write<I> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Db>) -> QueryResult<()> {
        out.push_sql(self.0);
        out.push_sql(" AS (");
        self.1.walk_ast(out.reborrow())?;
        out.push_sql(")");
        Ok(())
    }
}
