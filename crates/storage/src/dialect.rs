//! The differences between the databases' SQL.
//!
//! What differs by a word is a fragment here. What differs entirely is a function of the same name and signature in
//! `sqlite/dialect` and `postgres/dialect`, called by [`dialect!`].

use diesel::expression::{AppearsOnTable, Expression, SelectableExpression, ValidGrouping};
use diesel::prelude::*;
use diesel::query_builder::{AsQuery, AstPass, Query, QueryFragment, QueryId};
use diesel::query_dsl::methods::LimitDsl;
use diesel::sql_types::BigInt;
use offhook_domain::Timestamp;

use crate::database::Db;

/// Calls the connection's own function of this name.
macro_rules! dialect {
    ($conn:expr, $function:ident($($argument:expr),* $(,)?)) => {
        match $conn.db() {
            $crate::database::Db::Sqlite => {
                $crate::sqlite::dialect::$function($conn, $($argument),*).await
            }
            $crate::database::Db::Postgres => {
                $crate::postgres::dialect::$function($conn, $($argument),*).await
            }
        }
    };
}
pub(crate) use dialect;

/// Tells SQLite that a condition rarely holds. Without statistics, it considers a time range more selective than a
/// number or a status, and would scan the account's whole time range for the few matching rows.
#[derive(Debug, Clone, Copy, QueryId, ValidGrouping)]
pub(crate) struct Unlikely<T>(T);

pub(crate) const fn unlikely<T>(condition: T) -> Unlikely<T> {
    Unlikely(condition)
}

impl<T: Expression> Expression for Unlikely<T> {
    type SqlType = T::SqlType;
}

impl<T: AppearsOnTable<QS>, QS> AppearsOnTable<QS> for Unlikely<T> {}

impl<T: SelectableExpression<QS>, QS> SelectableExpression<QS> for Unlikely<T> {}

impl<T: QueryFragment<Db>> QueryFragment<Db> for Unlikely<T> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Db>) -> QueryResult<()> {
        out.push_sql(match out.backend() {
            Db::Sqlite => "unlikely(",
            Db::Postgres => "(",
        });
        self.0.walk_ast(out.reborrow())?;
        out.push_sql(")");
        Ok(())
    }
}

/// A query that locks the rows it finds. SQLite has one writer, which needs no locks.
pub(crate) struct Locked<Q> {
    query: Q,
    lock: &'static str,
}

/// Queries with locks. Diesel's own methods work only with its own backends.
pub(crate) trait Lock: AsQuery + Sized {
    /// Takes `lock`, such as `FOR UPDATE SKIP LOCKED`.
    fn locked(self, lock: &'static str) -> Locked<Self::Query> {
        let query = self.as_query();
        Locked { query, lock }
    }
}

impl<Q: AsQuery> Lock for Q {}

impl<Q: Query> Query for Locked<Q> {
    type SqlType = Q::SqlType;
}

impl<Q> QueryId for Locked<Q> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<Q: QueryFragment<Db>> QueryFragment<Db> for Locked<Q> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Db>) -> QueryResult<()> {
        self.query.walk_ast(out.reborrow())?;
        if *out.backend() == Db::Postgres {
            out.push_sql(" ");
            out.push_sql(self.lock);
        }
        Ok(())
    }
}

impl<Q: LimitDsl> LimitDsl for Locked<Q> {
    type Output = Locked<Q::Output>;

    fn limit(self, limit: i64) -> Self::Output {
        let query = self.query.limit(limit);
        Locked {
            query,
            lock: self.lock,
        }
    }
}

/// `INSERT … SELECT … ON CONFLICT DO NOTHING`, which diesel has only for its own backends.
#[derive(QueryId)]
pub(crate) struct UnlessThere<I>(pub(crate) I);

impl<I: QueryFragment<Db>> QueryFragment<Db> for UnlessThere<I> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Db>) -> QueryResult<()> {
        self.0.walk_ast(out.reborrow())?;
        out.push_sql(" ON CONFLICT DO NOTHING");
        Ok(())
    }
}

/// When a call accepted at `at` began to wait, by the clock that measures its patience. On PostgreSQL the column's
/// default sets it: the database's time when the row is written.
pub(crate) const fn queued_at(db: Db, at: Timestamp) -> Option<Timestamp> {
    match db {
        Db::Sqlite => Some(at),
        Db::Postgres => None,
    }
}

/// One of several delivery scans that are merged. SQLite reads each in the overall order by itself, and has no syntax
/// to request it. PostgreSQL merges scans that are sorted, and sorts those that only could be.
pub(crate) fn push_sorted<'b>(
    out: &mut AstPass<'_, 'b, Db>,
    scan: &'b impl QueryFragment<Db>,
    limit: &'b i64,
) -> QueryResult<()> {
    if *out.backend() == Db::Sqlite {
        return scan.walk_ast(out.reborrow());
    }
    out.push_sql("(");
    scan.walk_ast(out.reborrow())?;
    out.push_sql(" ORDER BY created_at DESC, id DESC LIMIT ");
    out.push_bind_param::<BigInt, _>(limit)?;
    out.push_sql(")");
    Ok(())
}
