//! Inserts of many rows: one statement with an array per column on PostgreSQL, where a statement costs a round trip;
//! row by row on SQLite, where it costs microseconds.

use std::sync::Arc;

use diesel::Column;
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
