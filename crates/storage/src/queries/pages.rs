//! Keyset pagination.

use offhook_domain::Timestamp;

use crate::PageKey;

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

pub(crate) use behind;
