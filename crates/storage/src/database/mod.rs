//! A connection to either database, and the path from a diesel statement to its rows.
//!
//! Statements are rendered before the first await, and the futures hold none of diesel's types. So the code that runs a
//! statement is compiled once, for all of them.

mod backend;
mod bulk;
pub(crate) mod types;
mod value;

use std::any::TypeId;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use diesel::connection::{LoadConnection, SimpleConnection as _};
use diesel::deserialize::FromSqlRow;
use diesel::dsl::count_star;
use diesel::internal::derives::multiconnection::AstPassHelper as _;
use diesel::pg::Pg;
use diesel::query_builder::bind_collector::RawBytesBindCollector;
use diesel::query_builder::{
    AsQuery, AstPass, DeleteStatement, IntoUpdateTarget, Query, QueryBuilder as _, QueryFragment,
    QueryId,
};
use diesel::query_dsl::CompatibleType;
use diesel::query_dsl::methods::{LimitDsl, SelectDsl};
use diesel::result::Error::{DeserializationError, NotFound};
use diesel::result::QueryResult;
use diesel::sql_types::{BigInt, Untyped};
use diesel::sqlite::Sqlite;
use diesel::{Connection as _, SqliteConnection};
use diesel_async::pooled_connection::deadpool::Object;
use diesel_async::{AsyncConnectionCore, AsyncPgConnection, SimpleAsyncConnection as _};
use futures_util::TryStreamExt as _;
use futures_util::future::BoxFuture;

pub(crate) use backend::{AnyRow, Db};
pub(crate) use bulk::{Bulk, Together, bulk};
pub(crate) use value::{RawValue, Value, micros, text};

pub(crate) enum Conn {
    /// The embedded database. A statement runs on the calling thread.
    Sqlite(Box<SqliteConnection>),
    Postgres(Box<Object<AsyncPgConnection>>),
}

/// A statement as text and values. Its parameters are numbered in the text.
pub(crate) struct Statement {
    sql: Arc<str>,
    /// Whether the text is always the same, and worth preparing permanently.
    is_fixed: bool,
    values: backend::Values,
}

impl Conn {
    pub(crate) const fn db(&self) -> Db {
        match self {
            Self::Sqlite(_) => Db::Sqlite,
            Self::Postgres(_) => Db::Postgres,
        }
    }

    /// Executes statements without parameters.
    pub(crate) async fn batch_execute(&mut self, sql: &str) -> QueryResult<()> {
        match self {
            Self::Sqlite(conn) => conn.batch_execute(sql),
            Self::Postgres(conn) => conn.batch_execute(sql).await,
        }
    }

    async fn execute(&mut self, statement: Statement) -> QueryResult<usize> {
        match self {
            Self::Sqlite(conn) => conn.execute_returning_count(&statement),
            Self::Postgres(conn) => conn.execute_returning_count(statement.for_postgres()).await,
        }
    }

    /// Passes each row to `take`.
    async fn load(
        &mut self,
        statement: Statement,
        take: &mut (dyn FnMut(&AnyRow<'_, '_>) -> QueryResult<()> + Send),
    ) -> QueryResult<()> {
        match self {
            Self::Sqlite(conn) => {
                for row in LoadConnection::load(conn.as_mut(), statement)? {
                    take(&AnyRow::Sqlite(row?))?;
                }
                Ok(())
            }
            Self::Postgres(conn) => {
                let mut rows =
                    AsyncConnectionCore::load(&mut ***conn, statement.for_postgres()).await?;
                while let Some(row) = rows.try_next().await? {
                    take(&AnyRow::Postgres(row))?;
                }
                Ok(())
            }
        }
    }
}

/// The text of a statement, and whether it is always the same.
type Text = (Arc<str>, bool);

thread_local! {
    /// The texts of statements that diesel identifies by their type.
    static TEXTS: RefCell<HashMap<(TypeId, Db), Text>> = RefCell::default();
}

/// The most texts per thread that are fixed although diesel does not treat them so.
const FEW: usize = 512;

thread_local! {
    static FIXED: RefCell<HashSet<Arc<str>>> = RefCell::default();
}

/// Whether a text will come again unchanged. Diesel says so of no `UPDATE`, and not of literals or of inserts that
/// leave a column out: parsing them anew each time would cost more than executing them. Lists and multi-row inserts of
/// any size produce ever new texts.
fn is_one_of_few(sql: &Arc<str>) -> bool {
    if sql.contains("), (") || sql.contains("IN (?") {
        return false;
    }
    FIXED.with_borrow_mut(|fixed| {
        fixed.contains(sql) || (fixed.len() < FEW && fixed.insert(sql.clone()))
    })
}

impl Statement {
    pub(crate) fn of<T: QueryFragment<Db> + QueryId>(query: &T, db: Db) -> QueryResult<Self> {
        Self::rendered(query, T::query_id(), db)
    }

    fn rendered(query: &dyn QueryFragment<Db>, id: Option<TypeId>, db: Db) -> QueryResult<Self> {
        let mut values = backend::Values::default();
        query.collect_binds(&mut values, &mut (), &db)?;
        let known = id.and_then(|id| TEXTS.with_borrow(|texts| texts.get(&(id, db)).cloned()));
        let (sql, is_fixed) = match known {
            Some(known) => known,
            None => {
                let mut text = backend::Text::of(db);
                query.to_sql(&mut text, &db)?;
                let sql: Arc<str> = text.finish().into();
                let is_fixed = query.is_safe_to_cache_prepared(&db)? || is_one_of_few(&sql);
                let text: Text = (sql, is_fixed);
                if let Some(id) = id {
                    TEXTS.with_borrow_mut(|texts| texts.insert((id, db), text.clone()));
                }
                text
            }
        };
        Ok(Self {
            sql,
            is_fixed,
            values,
        })
    }

    fn for_postgres(self) -> PgStatement {
        let mut encoded = RawBytesBindCollector::new();
        for (kind, value) in &self.values.0 {
            encoded.metadata.push(kind.metadata());
            encoded.binds.push(value.encoded());
        }
        PgStatement {
            statement: self,
            encoded,
        }
    }
}

impl QueryFragment<Sqlite> for Statement {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        out.push_sql(&self.sql);
        if !self.is_fixed {
            out.unsafe_to_cache_prepared();
        }
        self.values
            .0
            .iter()
            .try_for_each(|(_, value)| value.bind(&mut out))
    }
}

/// A [`Statement`] with its values in PostgreSQL's form.
struct PgStatement {
    statement: Statement,
    encoded: RawBytesBindCollector<Pg>,
}

impl QueryFragment<Pg> for PgStatement {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        let Statement {
            sql,
            is_fixed,
            values,
        } = &self.statement;
        out.push_sql(sql);
        if !is_fixed {
            out.unsafe_to_cache_prepared();
        }
        if let Some((shown, _)) = out.debug_binds() {
            shown.extend(values.0.iter().map(|(_, value)| Box::new(value) as Box<_>));
            return Ok(());
        }
        out.push_bind_collector_data(&self.encoded)
    }
}

macro_rules! by_its_text {
    ($($statement:ty),*) => {$(
        impl Query for $statement {
            type SqlType = Untyped;
        }

        /// Prepared statements are found by their text.
        impl QueryId for $statement {
            type QueryId = ();
            const HAS_STATIC_QUERY_ID: bool = false;
        }
    )*};
}

by_its_text!(Statement, PgStatement);

/// A statement whose rows are read as `U`s.
pub(crate) trait Rows<U, ST>:
    AsQuery<Query: QueryFragment<Db> + QueryId, SqlType: CompatibleType<U, Db, SqlType = ST>>
{
}

impl<Q, U, ST> Rows<U, ST> for Q where
    Q: AsQuery<Query: QueryFragment<Db> + QueryId, SqlType: CompatibleType<U, Db, SqlType = ST>>
{
}

/// Executes statements: diesel's trait of this name, for a connection to either database.
pub(crate) trait RunQueryDsl: Sized {
    /// Returns the number of changed rows.
    fn execute<'c>(self, conn: &'c mut Conn) -> BoxFuture<'c, QueryResult<usize>>
    where
        Self: QueryFragment<Db> + QueryId,
    {
        executed(Statement::of(&self, conn.db()), conn)
    }

    /// Returns its rows.
    fn load<'c, U, ST>(self, conn: &'c mut Conn) -> BoxFuture<'c, QueryResult<Vec<U>>>
    where
        Self: Rows<U, ST>,
        U: FromSqlRow<ST, Db> + Send + 'c,
    {
        rows(Statement::of(&self.as_query(), conn.db()), conn)
    }

    fn get_results<'c, U, ST>(self, conn: &'c mut Conn) -> BoxFuture<'c, QueryResult<Vec<U>>>
    where
        Self: Rows<U, ST>,
        U: FromSqlRow<ST, Db> + Send + 'c,
    {
        self.load(conn)
    }

    /// Its first row, or [`NotFound`].
    fn get_result<'c, U, ST>(self, conn: &'c mut Conn) -> BoxFuture<'c, QueryResult<U>>
    where
        Self: Rows<U, ST>,
        U: FromSqlRow<ST, Db> + Send + 'c,
    {
        first_of(self.load(conn), |first| first.ok_or(NotFound))
    }

    /// Its first row with `LIMIT 1`, or [`NotFound`].
    fn first<'c, U, ST>(self, conn: &'c mut Conn) -> BoxFuture<'c, QueryResult<U>>
    where
        Self: LimitDsl<Output: Rows<U, ST>>,
        U: FromSqlRow<ST, Db> + Send + 'c,
    {
        self.limit(1).get_result(conn)
    }

    /// Its first row with `LIMIT 1`, if there is one.
    fn found<'c, U, ST>(self, conn: &'c mut Conn) -> BoxFuture<'c, QueryResult<Option<U>>>
    where
        Self: LimitDsl<Output: Rows<U, ST>>,
        U: FromSqlRow<ST, Db> + Send + 'c,
    {
        first_of(self.limit(1).load(conn), Ok)
    }

    /// The row that a write returns, if it writes one.
    fn returned<'c, U, ST>(self, conn: &'c mut Conn) -> BoxFuture<'c, crate::Result<Option<U>>>
    where
        Self: Rows<U, ST>,
        U: FromSqlRow<ST, Db> + Send + 'c,
    {
        first_of(self.load(conn), Ok)
    }

    /// Runs it, however many rows it changes.
    fn run<'c>(self, conn: &'c mut Conn) -> BoxFuture<'c, crate::Result<()>>
    where
        Self: QueryFragment<Db> + QueryId,
    {
        counted(self.execute(conn), |_| ())
    }

    /// How many rows it has.
    fn counted<'c>(self, conn: &'c mut Conn) -> BoxFuture<'c, QueryResult<i64>>
    where
        Self: SelectDsl<count_star, Output: Rows<i64, BigInt>>,
    {
        SelectDsl::select(self, count_star()).get_result(conn)
    }

    /// Whether it has a row.
    fn exists<'c>(self, conn: &'c mut Conn) -> BoxFuture<'c, crate::Result<bool>>
    where
        Self: LimitDsl<Output: AsQuery<Query: QueryFragment<Db> + QueryId>>,
    {
        has_rows(Statement::of(&self.limit(1).as_query(), conn.db()), conn)
    }

    /// Runs it, and returns whether it changed a row.
    fn changes<'c>(self, conn: &'c mut Conn) -> BoxFuture<'c, crate::Result<bool>>
    where
        Self: QueryFragment<Db> + QueryId,
    {
        counted(self.execute(conn), |changed| changed > 0)
    }
}

impl<T> RunQueryDsl for T {}

/// Deletes rows, and returns how many.
pub(crate) fn delete<T>(conn: &mut Conn, rows: T) -> BoxFuture<'_, QueryResult<usize>>
where
    T: IntoUpdateTarget,
    DeleteStatement<T::Table, T::WhereClause>: QueryFragment<Db> + QueryId,
{
    diesel::delete(rows).execute(conn)
}

// The functions below depend on row types, not on statement types: there are fewer.

pub(crate) fn executed(
    statement: QueryResult<Statement>,
    conn: &mut Conn,
) -> BoxFuture<'_, QueryResult<usize>> {
    Box::pin(async move { conn.execute(statement?).await })
}

pub(crate) fn counted<'c, T: 'static, E: 'c>(
    changed: BoxFuture<'c, Result<usize, E>>,
    of: fn(usize) -> T,
) -> BoxFuture<'c, crate::Result<T>>
where
    crate::StoreError: From<E>,
{
    Box::pin(async move { Ok(of(changed.await?)) })
}

pub(crate) fn first_of<'c, U: Send + 'c, T: 'c, E: 'c, F: From<E> + 'c>(
    rows: BoxFuture<'c, Result<Vec<U>, E>>,
    of: fn(Option<U>) -> Result<T, F>,
) -> BoxFuture<'c, Result<T, F>> {
    Box::pin(async move { of(rows.await?.into_iter().next()) })
}

pub(crate) fn has_rows(
    statement: QueryResult<Statement>,
    conn: &mut Conn,
) -> BoxFuture<'_, crate::Result<bool>> {
    Box::pin(async move {
        let mut found = false;
        let take = &mut |_: &AnyRow<'_, '_>| {
            found = true;
            Ok(())
        };
        conn.load(statement?, take).await?;
        Ok(found)
    })
}

pub(crate) fn rows<'c, U, ST>(
    statement: QueryResult<Statement>,
    conn: &'c mut Conn,
) -> BoxFuture<'c, QueryResult<Vec<U>>>
where
    U: FromSqlRow<ST, Db> + Send + 'c,
{
    Box::pin(async move {
        let mut rows = Vec::new();
        let take = &mut |row: &AnyRow<'_, '_>| {
            rows.push(U::build_from_row(row).map_err(DeserializationError)?);
            Ok(())
        };
        conn.load(statement?, take).await?;
        Ok(rows)
    })
}
