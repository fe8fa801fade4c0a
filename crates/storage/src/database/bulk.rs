//! Inserts of many rows: one statement with an array per column on PostgreSQL, where a statement costs a round trip;
//! row by row on SQLite, where it costs microseconds.

use std::sync::Arc;

use diesel::Column;
use diesel::query_builder::{QueryFragment, QueryId};
use diesel::result::Error::SerializationError;
use diesel::result::QueryResult;
use diesel::serialize::ToSql;
use diesel::sql_types::HasSqlType;

use super::backend::Values;
use super::value::{Kind, Value, array, bound};
use super::{Conn, Db, Statement};

/// Rows to insert, column by column.
pub(crate) struct Bulk<'r, R> {
    rows: &'r [R],
    names: Vec<&'static str>,
    columns: Vec<QueryResult<(Kind, Vec<Value>)>>,
}

impl<'r, R> Bulk<'r, R> {
    pub(crate) const fn of(rows: &'r [R]) -> Self {
        Self {
            rows,
            names: Vec::new(),
            columns: Vec::new(),
        }
    }

    /// Sets a column of each row.
    pub(crate) fn column<C, T>(mut self, _: C, value: impl Fn(&'r R) -> T) -> Self
    where
        C: Column,
        T: ToSql<C::SqlType, Db>,
        Db: HasSqlType<C::SqlType>,
    {
        let kind = <Db as HasSqlType<C::SqlType>>::metadata(&mut ());
        let values = self.rows.iter().map(|row| bound(&value(row)));
        let values: Result<_, _> = values.collect();
        self.names.push(C::NAME);
        self.columns
            .push(values.map(|all| (kind, all)).map_err(SerializationError));
        self
    }

    /// Inserts the rows. `rest` follows in the statement: what happens to a row that exists.
    pub(crate) async fn insert(
        self,
        conn: &mut Conn,
        table: &str,
        rest: &str,
    ) -> crate::Result<()> {
        let names = self.names.join(", ");
        let columns: Vec<(Kind, Vec<Value>)> =
            self.columns.into_iter().collect::<Result<_, _>>()?;
        let marks: Vec<String> = (1..=columns.len()).map(|n| format!("${n}")).collect();
        let marks = marks.join(", ");
        let (source, rows) = match conn.db() {
            Db::Sqlite => {
                let mut rows: Vec<Values> = Vec::new();
                rows.resize_with(self.rows.len(), Values::default);
                for (kind, values) in columns {
                    for (row, value) in rows.iter_mut().zip(values) {
                        row.0.push((kind, value));
                    }
                }
                (format!("VALUES ({marks})"), rows)
            }
            Db::Postgres => {
                let arrays = columns.into_iter().map(|(kind, values)| {
                    let values = array(kind, values).map_err(SerializationError)?;
                    Ok((kind.array(), values))
                });
                let row = Values(arrays.collect::<QueryResult<_>>()?);
                (format!("SELECT * FROM UNNEST({marks})"), vec![row])
            }
        };
        let sql: Arc<str> = format!("INSERT INTO {table} ({names}) {source} {rest}").into();
        for values in rows {
            let statement = Statement {
                sql: sql.clone(),
                is_fixed: true,
                values,
            };
            conn.execute(statement).await?;
        }
        Ok(())
    }
}

/// Inserts of any number of rows into several tables, in one statement of PostgreSQL: an array per column.
#[derive(Default)]
pub(crate) struct Together {
    values: Values,
    inserts: Vec<String>,
}

impl Together {
    /// Binds the next parameter of the statement that [`Together::execute`] gets.
    pub(crate) fn bind<T, U: ToSql<T, Db>>(mut self, value: &U) -> QueryResult<Self>
    where
        Db: HasSqlType<T>,
    {
        let kind = <Db as HasSqlType<T>>::metadata(&mut ());
        let value = bound(value).map_err(SerializationError)?;
        self.values.0.push((kind, value));
        Ok(self)
    }

    /// Adds rows, each by diesel's statement that would insert it alone.
    pub(crate) fn insert<T>(mut self, rows: Vec<T>) -> QueryResult<Self>
    where
        T: QueryFragment<Db> + QueryId,
    {
        let rows = rows.iter().map(|row| Statement::of(row, Db::Postgres));
        let rows: Vec<Statement> = rows.collect::<QueryResult<_>>()?;
        let Some(first) = rows.first() else {
            return Ok(self);
        };
        let unlike = || SerializationError("rows whose inserts differ".into());
        let (into, marks) = first.sql.split_once(") VALUES (").ok_or_else(unlike)?;
        let (into, names) = into.split_once(" (").ok_or_else(unlike)?;
        // Columns that are left out have their default.
        let names = names.split(", ").zip(marks.split(", "));
        let names: Vec<&str> = names
            .filter(|(_, mark)| mark.starts_with('$'))
            .map(|(name, _)| name)
            .collect();
        let before = self.values.0.len();
        let marks: Vec<String> = (1..=names.len())
            .map(|n| format!("${}", before + n))
            .collect();
        self.inserts.push(format!(
            "{into} ({}) SELECT * FROM UNNEST({})",
            names.join(", "),
            marks.join(", ")
        ));
        let mut columns: Vec<(Kind, Vec<Value>)> = Vec::with_capacity(names.len());
        columns.extend(first.values.0.iter().map(|(kind, _)| (*kind, Vec::new())));
        for row in rows {
            if row.values.0.len() != columns.len() {
                return Err(unlike());
            }
            for (column, (_, value)) in columns.iter_mut().zip(row.values.0) {
                column.1.push(value);
            }
        }
        for (kind, values) in columns {
            let values = array(kind, values).map_err(SerializationError)?;
            self.values.0.push((kind.array(), values));
        }
        Ok(self)
    }

    /// Runs the inserts and `then`. No part sees what another writes.
    pub(crate) async fn execute(self, conn: &mut Conn, then: &str) -> crate::Result<()> {
        let inserts = self.inserts.iter().enumerate();
        let inserts: Vec<String> = inserts
            .map(|(number, insert)| format!("w{number} AS ({insert})"))
            .collect();
        let sql = match inserts.as_slice() {
            [] => then.to_owned(),
            inserts => format!("WITH {} {then}", inserts.join(", ")),
        };
        let statement = Statement {
            sql: sql.into(),
            is_fixed: true,
            values: self.values,
        };
        conn.execute(statement).await?;
        Ok(())
    }

    /// Runs the inserts.
    pub(crate) async fn run(self, conn: &mut Conn) -> crate::Result<()> {
        if self.inserts.is_empty() {
            return Ok(());
        }
        self.execute(conn, "SELECT").await
    }
}

/// Inserts a row for each item into the table of this name: `column = value`, or a name alone for the item's field. What
/// happens to a row that exists may follow the name.
macro_rules! bulk {
    ($conn:ident, $name:literal $($rest:literal)?, $table:ident of $item:ident in $rows:expr; $($column:ident $(= $value:expr)?),+) => {
        $crate::database::Bulk::of($rows)
            $(.column($table::$column, |$item| {
                let _ = $item;
                $crate::database::bulk!(@ $item $column $($value)?)
            }))+
            .insert($conn, $name, concat!($($rest)?))
            .await
    };
    (@ $item:ident $column:ident) => {
        &$item.$column
    };
    (@ $item:ident $column:ident $value:expr) => {
        $value
    };
}
pub(crate) use bulk;
