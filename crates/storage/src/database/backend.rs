//! The one diesel backend that every statement is compiled for, whichever database executes it.
//!
//! A statement is rendered for the current database into text and values ([`Statement`](super::Statement)). Only that
//! plain form reaches the drivers, so diesel's types are compiled once per statement and driver code not per statement
//! at all. Where the two databases' SQL differs, [`Db`] decides.

use diesel::QueryResult;
use diesel::backend::{
    Backend, DieselReserveSpecialization, SqlDialect, TrustedBackend, sql_dialect,
};
use diesel::expression::array_comparison::{In, InExpression, Many, NotIn};
use diesel::pg::Pg;
use diesel::query_builder::{
    All, AstPass, BindCollector, BoxedLimitOffsetClause, IntoBoxedClause, LimitClause,
    LimitOffsetClause, NoLimitClause, NoOffsetClause, ParenthesisWrapper, QueryBuilder,
    QueryFragment, SupportsCombinationClause, Union,
};
use diesel::result::Error::SerializationError;
use diesel::row::{Field, PartialRow, Row, RowIndex, RowSealed};
use diesel::serialize::ToSql;
use diesel::sql_types::{HasSqlType, SingleValue, TypeMetadata};
use diesel::sqlite::Sqlite;
use diesel_async::{AsyncConnectionCore, AsyncPgConnection};

use super::value::{Kind, RawValue, Value, bound};

/// The database that a statement is rendered for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Db {
    Sqlite,
    Postgres,
}

impl Backend for Db {
    type QueryBuilder = Text;
    type RawValue<'a> = RawValue<'a>;
    type BindCollector<'a> = Values;
}

impl TypeMetadata for Db {
    type TypeMetadata = Kind;
    type MetadataLookup = ();
}

/// `ON CONFLICT` as both databases support it.
pub struct OnConflict;
impl sql_dialect::on_conflict_clause::SupportsOnConflictClause for OnConflict {}
impl sql_dialect::on_conflict_clause::SupportsOnConflictClauseWhere for OnConflict {}
impl sql_dialect::on_conflict_clause::PgLikeOnConflictClause for OnConflict {}

/// `IN`: an array on PostgreSQL, so that one prepared statement serves any number of values; a list on SQLite.
pub struct InList;

/// The syntax that SQLite and PostgreSQL share.
impl SqlDialect for Db {
    type ReturningClause = sql_dialect::returning_clause::PgLikeReturningClause;
    type OnConflictClause = OnConflict;
    type InsertWithDefaultKeyword = sql_dialect::default_keyword_for_insert::IsoSqlDefaultKeyword;
    type BatchInsertSupport = sql_dialect::batch_insert_support::PostgresLikeBatchInsertSupport;
    type ConcatClause = sql_dialect::concat_clause::ConcatWithPipesClause;
    type DefaultValueClauseForInsert = sql_dialect::default_value_clause::AnsiDefaultValueClause;
    type EmptyFromClauseSyntax = sql_dialect::from_clause_syntax::AnsiSqlFromClauseSyntax;
    type SelectStatementSyntax = sql_dialect::select_statement_syntax::AnsiSqlSelectStatement;
    type ExistsSyntax = sql_dialect::exists_syntax::AnsiSqlExistsSyntax;
    type ArrayComparison = InList;
    type AliasSyntax = sql_dialect::alias_syntax::AsAliasSyntax;
    type WindowFrameClauseGroupSupport =
        sql_dialect::window_frame_clause_group_support::IsoGroupWindowFrameUnit;
    type WindowFrameExclusionSupport =
        sql_dialect::window_frame_exclusion_support::FrameExclusionSupport;
    type AggregateFunctionExpressions =
        sql_dialect::aggregate_function_expressions::PostgresLikeAggregateFunctionExpressions;
    type BuiltInWindowFunctionRequireOrder =
        sql_dialect::built_in_window_function_require_order::NoOrderRequired;
}

/// `a UNION ALL b`, without parentheses, which SQLite does not know: so neither part has an order or a limit.
impl SupportsCombinationClause<Union, All> for Db {}

impl<T: QueryFragment<Db>> QueryFragment<Db> for ParenthesisWrapper<T> {
    fn walk_ast<'b>(&'b self, out: AstPass<'_, 'b, Db>) -> QueryResult<()> {
        self.inner.walk_ast(out)
    }
}

impl TrustedBackend for Db {}
impl DieselReserveSpecialization for Db {}

/// The text of a statement, with numbered parameters.
pub struct Text {
    sql: String,
    mark: char,
    parameters: u32,
}

impl Text {
    pub(super) const fn of(db: Db) -> Self {
        // SQLite numbers `$1` by its first position, and `?1` by its number.
        let mark = match db {
            Db::Sqlite => '?',
            Db::Postgres => '$',
        };
        Self {
            sql: String::new(),
            mark,
            parameters: 0,
        }
    }
}

impl QueryBuilder<Db> for Text {
    fn push_sql(&mut self, sql: &str) {
        self.sql.push_str(sql);
    }

    fn push_identifier(&mut self, identifier: &str) -> QueryResult<()> {
        self.sql.push('"');
        self.sql.push_str(&identifier.replace('"', "\"\""));
        self.sql.push('"');
        Ok(())
    }

    fn push_bind_param(&mut self) {
        self.push_bind_param_value_only();
        self.sql.push(self.mark);
        self.sql.push_str(&self.parameters.to_string());
    }

    fn push_bind_param_value_only(&mut self) {
        self.parameters += 1;
    }

    fn finish(self) -> String {
        self.sql
    }
}

/// The values of a statement's parameters, with their types.
#[derive(Default)]
pub struct Values(pub(super) Vec<(Kind, Value)>);

impl<'a> BindCollector<'a, Db> for Values {
    type Buffer = Value;

    fn push_bound_value<T, U>(&mut self, bind: &'a U, lookup: &mut ()) -> QueryResult<()>
    where
        Db: HasSqlType<T>,
        U: ToSql<T, Db> + ?Sized + 'a,
    {
        let value = bound(bind).map_err(SerializationError)?;
        self.0
            .push((<Db as HasSqlType<T>>::metadata(lookup), value));
        Ok(())
    }
}

type SqliteRow<'conn, 'query> =
    <diesel::SqliteConnection as diesel::connection::LoadConnection>::Row<'conn, 'query>;
type PgRow = <AsyncPgConnection as AsyncConnectionCore>::Row<'static, 'static>;

/// A row of either database.
pub(crate) enum AnyRow<'conn, 'query> {
    Sqlite(SqliteRow<'conn, 'query>),
    Postgres(PgRow),
}

pub(crate) enum AnyField<'conn: 'query, 'query> {
    Sqlite(<SqliteRow<'conn, 'query> as Row<'conn, Sqlite>>::Field<'query>),
    Postgres(<PgRow as Row<'static, Pg>>::Field<'query>),
}

impl RowSealed for AnyRow<'_, '_> {}

impl<'conn, 'query, I> RowIndex<I> for AnyRow<'conn, 'query>
where
    SqliteRow<'conn, 'query>: RowIndex<I>,
    PgRow: RowIndex<I>,
{
    fn idx(&self, index: I) -> Option<usize> {
        match self {
            Self::Sqlite(row) => row.idx(index),
            Self::Postgres(row) => row.idx(index),
        }
    }
}

impl<'conn> Row<'conn, Db> for AnyRow<'conn, '_> {
    type Field<'f>
        = AnyField<'f, 'f>
    where
        'conn: 'f,
        Self: 'f;
    type InnerPartialRow = Self;

    fn field_count(&self) -> usize {
        match self {
            Self::Sqlite(row) => row.field_count(),
            Self::Postgres(row) => row.field_count(),
        }
    }

    fn get<'f, I>(&'f self, index: I) -> Option<Self::Field<'f>>
    where
        'conn: 'f,
        Self: RowIndex<I>,
    {
        let index = self.idx(index)?;
        match self {
            Self::Sqlite(row) => row.get(index).map(AnyField::Sqlite),
            Self::Postgres(row) => row.get(index).map(AnyField::Postgres),
        }
    }

    fn partial_row(&self, range: std::ops::Range<usize>) -> PartialRow<'_, Self> {
        PartialRow::new(self, range)
    }
}

impl<'f> Field<'f, Db> for AnyField<'f, 'f> {
    fn field_name(&self) -> Option<&str> {
        match self {
            Self::Sqlite(field) => field.field_name(),
            Self::Postgres(field) => field.field_name(),
        }
    }

    fn value(&self) -> Option<RawValue<'_>> {
        match self {
            Self::Sqlite(field) => field.value().map(RawValue::Sqlite),
            Self::Postgres(field) => field.value().map(RawValue::Postgres),
        }
    }
}

impl<T, U> QueryFragment<Db, InList> for In<T, U>
where
    T: QueryFragment<Db>,
    U: QueryFragment<Db> + InExpression,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Db>) -> QueryResult<()> {
        let (before, after) = match out.backend() {
            Db::Postgres => (" = ANY(", ")"),
            Db::Sqlite if self.values.is_empty() => {
                out.push_sql("1=0");
                return Ok(());
            }
            Db::Sqlite => (" IN (", ")"),
        };
        self.left.walk_ast(out.reborrow())?;
        out.push_sql(before);
        self.values.walk_ast(out.reborrow())?;
        out.push_sql(after);
        Ok(())
    }
}

impl<T, U> QueryFragment<Db, InList> for NotIn<T, U>
where
    T: QueryFragment<Db>,
    U: QueryFragment<Db> + InExpression,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Db>) -> QueryResult<()> {
        let before = match out.backend() {
            Db::Postgres => " != ALL(",
            Db::Sqlite if self.values.is_empty() => {
                out.push_sql("1=1");
                return Ok(());
            }
            Db::Sqlite => " NOT IN (",
        };
        self.left.walk_ast(out.reborrow())?;
        out.push_sql(before);
        self.values.walk_ast(out.reborrow())?;
        out.push_sql(")");
        Ok(())
    }
}

impl<ST, I> QueryFragment<Db, InList> for Many<ST, I>
where
    ST: SingleValue,
    Vec<I>: ToSql<diesel::sql_types::Array<ST>, Db>,
    I: ToSql<ST, Db>,
    Db: HasSqlType<ST> + HasSqlType<diesel::sql_types::Array<ST>>,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Db>) -> QueryResult<()> {
        if *out.backend() == Db::Postgres {
            return out.push_bind_param::<diesel::sql_types::Array<ST>, Vec<I>>(&self.values);
        }
        // The text depends on the number of values.
        out.unsafe_to_cache_prepared();
        for (number, value) in self.values.iter().enumerate() {
            if number > 0 {
                out.push_sql(", ");
            }
            out.push_bind_param::<ST, I>(value)?;
        }
        Ok(())
    }
}

/// `LIMIT` and `OFFSET`. No statement has an offset without a limit, which SQLite would reject.
impl<L, O> QueryFragment<Db> for LimitOffsetClause<L, O>
where
    L: QueryFragment<Db>,
    O: QueryFragment<Db>,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Db>) -> QueryResult<()> {
        self.limit_clause.walk_ast(out.reborrow())?;
        self.offset_clause.walk_ast(out)
    }
}

impl QueryFragment<Db> for BoxedLimitOffsetClause<'_, Db> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Db>) -> QueryResult<()> {
        if let Some(limit) = &self.limit {
            limit.walk_ast(out.reborrow())?;
        }
        if let Some(offset) = &self.offset {
            offset.walk_ast(out)?;
        }
        Ok(())
    }
}

impl<'a> IntoBoxedClause<'a, Db> for LimitOffsetClause<NoLimitClause, NoOffsetClause> {
    type BoxedClause = BoxedLimitOffsetClause<'a, Db>;

    fn into_boxed(self) -> Self::BoxedClause {
        BoxedLimitOffsetClause {
            limit: None,
            offset: None,
        }
    }
}

impl<'a, L> IntoBoxedClause<'a, Db> for LimitOffsetClause<LimitClause<L>, NoOffsetClause>
where
    LimitClause<L>: QueryFragment<Db> + Send + 'a,
{
    type BoxedClause = BoxedLimitOffsetClause<'a, Db>;

    fn into_boxed(self) -> Self::BoxedClause {
        BoxedLimitOffsetClause {
            limit: Some(Box::new(self.limit_clause)),
            offset: None,
        }
    }
}
