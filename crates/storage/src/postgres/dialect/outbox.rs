//! A write that accompanies a query.

use crate::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};

/// `WITH w AS (INSERT …) SELECT …`: PostgreSQL executes the write once, and checks its foreign keys at the end of the
/// statement.
#[derive(QueryId)]
pub(crate) struct With<W, S> {
    pub(crate) write: W,
    pub(crate) then: S,
}

impl<W: QueryFragment<Db>, S: QueryFragment<Db>> QueryFragment<Db> for With<W, S> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Db>) -> QueryResult<()> {
        out.push_sql("WITH w AS (");
        self.write.walk_ast(out.reborrow())?;
        out.push_sql(") ");
        self.then.walk_ast(out)
    }
}

impl<W, S: Query> Query for With<W, S> {
    type SqlType = S::SqlType;
}
