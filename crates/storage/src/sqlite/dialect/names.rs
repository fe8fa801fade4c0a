//! Pieces of names as rows of a statement, for SQLite.

use diesel::QueryResult;
use diesel::query_builder::AstPass;
use diesel::sql_types::Text;
use diesel::sqlite::Sqlite;
use serde_json::Value;

/// Pieces of names, as a value in a statement: a JSON array.
pub(crate) type Pieces = String;

/// The value of these pieces.
pub(crate) fn pieces(grams: &[i64]) -> Pieces {
    Value::from(grams).to_string()
}

/// A table with the column `gram`: a row for each of the pieces.
pub(crate) fn push_pieces<'b>(
    out: &mut AstPass<'_, 'b, Sqlite>,
    pieces: &'b Pieces,
) -> QueryResult<()> {
    out.push_sql("(SELECT value AS gram FROM json_each(");
    out.push_bind_param::<Text, _>(pieces)?;
    out.push_sql("))");
    Ok(())
}
