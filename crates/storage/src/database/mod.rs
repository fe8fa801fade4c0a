//! A connection to either database, and the way from a statement of diesel's to its rows.
//!
//! Statements are rendered at once, and what is waited for holds none of diesel's types: the work of a statement is
//! compiled once, for all of them.

mod backend;
mod value;

use std::any::TypeId;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use diesel::connection::{LoadConnection, SimpleConnection as _};
use diesel::deserialize::FromSqlRow;
use diesel::internal::derives::multiconnection::AstPassHelper as _;
use diesel::pg::Pg;
use diesel::query_builder::bind_collector::RawBytesBindCollector;
use diesel::query_builder::{AsQuery, AstPass, Query, QueryBuilder as _, QueryFragment, QueryId};
use diesel::query_dsl::CompatibleType;
use diesel::query_dsl::methods::LimitDsl;
use diesel::result::Error::{DeserializationError, NotFound};
use diesel::result::QueryResult;
use diesel::sql_types::Untyped;
use diesel::sqlite::Sqlite;
use diesel::{Connection as _, SqliteConnection};
use diesel_async::pooled_connection::deadpool::Object;
use diesel_async::{AsyncConnectionCore, AsyncPgConnection, SimpleAsyncConnection as _};
use futures_util::TryStreamExt as _;
use futures_util::future::BoxFuture;

pub(crate) use backend::{AnyRow, Db};
pub(crate) use value::{RawValue, Value, micros, text};

/// A connection.
pub(crate) enum Conn {
    /// To the embedded database: a statement is carried out on the thread that asks.
    Sqlite(Box<SqliteConnection>),
    /// To PostgreSQL.
    Postgres(Box<Object<AsyncPgConnection>>),
}

/// A statement as text and values. Its parameters are numbered in the text.
struct Statement {
    sql: Arc<str>,
    /// Whether the text is the same each time, and worth preparing for good.
    is_fixed: bool,
    values: backend::Values,
}

impl Conn {
    /// Which database this is.
    pub(crate) const fn db(&self) -> Db {
        match self {
            Self::Sqlite(_) => Db::Sqlite,
            Self::Postgres(_) => Db::Postgres,
        }
    }

    /// Carries out statements without parameters.
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

    /// Hands each row to `take`.
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

/// The text of a statement, and whether it is the same each time.
type Text = (Arc<str>, bool);

thread_local! {
    /// The texts of statements that diesel knows by their type.
    static TEXTS: RefCell<HashMap<(TypeId, Db), Text>> = RefCell::default();
}

/// Texts of this thread that diesel does not take for fixed, and that are.
const FEW: usize = 512;

thread_local! {
    static FIXED: RefCell<HashSet<Arc<str>>> = RefCell::default();
}

/// Whether a text comes again as it is, though diesel does not say so of any `UPDATE`, of literals and of inserts that leave
/// a column out: parsing it anew each time would cost more than what it does. Lists and rows of any number make ever
/// other texts.
fn is_one_of_few(sql: &Arc<str>) -> bool {
    if sql.contains("), (") || sql.contains("IN (?") {
        return false;
    }
    FIXED.with_borrow_mut(|fixed| {
        fixed.contains(sql) || (fixed.len() < FEW && fixed.insert(sql.clone()))
    })
}

impl Statement {
    fn of<T: QueryFragment<Db> + QueryId>(query: &T, db: Db) -> QueryResult<Self> {
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

/// Carrying out statements: what diesel's trait of this name does, for a connection to either database.
pub(crate) trait RunQueryDsl: Sized {
    /// The number of rows that it changed.
    fn execute<'c>(self, conn: &'c mut Conn) -> BoxFuture<'c, QueryResult<usize>>
    where
        Self: QueryFragment<Db> + QueryId,
    {
        executed(Statement::of(&self, conn.db()), conn)
    }

    /// Its rows.
    fn load<'c, U, ST>(self, conn: &'c mut Conn) -> BoxFuture<'c, QueryResult<Vec<U>>>
    where
        Self: Rows<U, ST>,
        U: FromSqlRow<ST, Db> + Send + 'c,
    {
        rows(Statement::of(&self.as_query(), conn.db()), conn)
    }

    /// Its rows.
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

    /// The first row of it with `LIMIT 1`, or [`NotFound`].
    fn first<'c, U, ST>(self, conn: &'c mut Conn) -> BoxFuture<'c, QueryResult<U>>
    where
        Self: LimitDsl<Output: Rows<U, ST>>,
        U: FromSqlRow<ST, Db> + Send + 'c,
    {
        self.limit(1).get_result(conn)
    }

    /// The first row of it with `LIMIT 1`, if there is one.
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

    /// Whether it changed a row.
    fn changes<'c>(self, conn: &'c mut Conn) -> BoxFuture<'c, crate::Result<bool>>
    where
        Self: QueryFragment<Db> + QueryId,
    {
        counted(self.execute(conn), |changed| changed > 0)
    }
}

impl<T> RunQueryDsl for T {}

// What follows knows the types of rows, and not those of statements: there are fewer.

fn executed(
    statement: QueryResult<Statement>,
    conn: &mut Conn,
) -> BoxFuture<'_, QueryResult<usize>> {
    Box::pin(async move { conn.execute(statement?).await })
}

fn counted<T: 'static>(
    changed: BoxFuture<'_, QueryResult<usize>>,
    of: fn(usize) -> T,
) -> BoxFuture<'_, crate::Result<T>> {
    Box::pin(async move { Ok(of(changed.await?)) })
}

fn first_of<'c, U: Send + 'c, T: 'c, E: From<diesel::result::Error> + 'c>(
    rows: BoxFuture<'c, QueryResult<Vec<U>>>,
    of: fn(Option<U>) -> Result<T, E>,
) -> BoxFuture<'c, Result<T, E>> {
    Box::pin(async move { of(rows.await?.into_iter().next()) })
}

fn rows<'c, U, ST>(
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
