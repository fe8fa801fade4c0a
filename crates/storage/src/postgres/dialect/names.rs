//! Pieces of names as rows of a statement, for PostgreSQL.

use diesel::QueryResult;
use diesel::pg::Pg;
use diesel::query_builder::AstPass;
use diesel::sql_types::{Array, BigInt};

/// Pieces of names, as a value in a statement.
pub(crate) type Pieces = Vec<i64>;

/// The value of these pieces.
pub(crate) fn pieces(grams: &[i64]) -> Pieces {
    grams.to_vec()
}

/// A table with the column `gram`: a row for each of the pieces.
pub(crate) fn push_pieces<'b>(
    out: &mut AstPass<'_, 'b, Pg>,
    pieces: &'b Pieces,
) -> QueryResult<()> {
    out.push_sql("(SELECT unnest(");
    out.push_bind_param::<Array<BigInt>, _>(pieces)?;
    out.push_sql(") AS gram)");
    Ok(())
}
