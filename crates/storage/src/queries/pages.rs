//! Keyset pagination.

use diesel::expression::{AsExpression, Expression};
use diesel::query_dsl::methods::FilterDsl;
use diesel::sql_types::SingleValue;

use crate::dialect::Unlikely;
use crate::prelude::*;

/// The upper time bound of a page, newest first: only the tighter of the two bounds, so that the index is entered
/// there.
pub(crate) fn earlier<Id>(
    until: Option<Timestamp>,
    after: Option<PageKey<Id>>,
) -> Option<Timestamp> {
    let after = after.map(|(at, _)| at);
    match (until, after) {
        (Some(until), Some(after)) => Some(until.min(after)),
        (until, after) => until.or(after),
    }
}

/// Filters a list that is newest first, by `created_at` and then by id, to the rows after the row `after`. Without
/// `after` it keeps all. The time bound stands alone, so that the index is entered there. A comparison of pairs, or two
/// times joined by OR, would make SQLite scan from the newest row.
macro_rules! behind {
    ($query:expr, $table:ident, $after:expr) => {
        match $after {
            Some((at, id)) => $query
                .filter($table::created_at.le($crate::sql::V(at)))
                .filter(
                    $table::created_at
                        .lt($crate::sql::V(at))
                        .or($table::id.lt($crate::sql::V(id))),
                ),
            None => $query,
        }
    };
}

/// The account's rows, newest first, up to one more than `limit`.
macro_rules! newest {
    ($table:ident, $record:ident, $account:expr, $limit:expr) => {
        $table::table
            .filter($table::account_id.eq($crate::sql::V($account)))
            .order(($table::created_at.desc(), $table::id.desc()))
            .limit($limit + 1)
            .select($record::as_select())
            .into_boxed::<$crate::database::Db>()
    };
}

/// The account's rows behind the row `after`, newest first, with one more than `limit` if there is a next page.
macro_rules! page {
    ($table:ident as $record:ident, $account:expr, $after:expr, $limit:expr) => {
        $crate::queries::pages::behind!(
            $crate::queries::pages::newest!($table, $record, $account, $limit),
            $table,
            $after
        )
    };
}

pub(crate) use {behind, newest, page};

/// Filters that a caller may leave out.
pub(crate) trait When: Sized {
    /// Keeps the rows that meet the condition on `value`, if there is one.
    fn when<T, P>(self, value: Option<T>, condition: impl FnOnce(T) -> P) -> Self
    where
        Self: FilterDsl<P, Output = Self>,
    {
        match value {
            Some(value) => FilterDsl::filter(self, condition(value)),
            None => self,
        }
    }

    /// Keeps the few rows with `value`, if there is one.
    fn when_is<C, T>(self, column: C, value: Option<T>) -> Self
    where
        C: Expression<SqlType: SingleValue>,
        V<T>: AsExpression<C::SqlType>,
        Self: FilterDsl<Unlikely<diesel::dsl::Eq<C, V<T>>>, Output = Self>,
    {
        self.when(value, |value| unlikely(column.eq(V(value))))
    }
}

impl<Q> When for Q {}
