//! Where a page of a list goes on.

use offhook_domain::Timestamp;

use crate::PageKey;

/// Where a page of a period begins, newest first: the tighter of the two upper bounds alone, so that the index is entered
/// there.
pub(super) fn earlier<Id>(
    until: Option<Timestamp>,
    after: Option<PageKey<Id>>,
) -> Option<Timestamp> {
    let after = after.map(|(at, _)| at);
    match (until, after) {
        (Some(until), Some(after)) => Some(until.min(after)),
        (until, after) => until.or(after),
    }
}

/// Leaves what is behind the row `after` in a list that is newest first, by `created_at` and then by id: all of it if there
/// is no such row. The bound on the time stands alone, so that the index is entered there; a comparison of pairs, or two
/// times joined by OR, would be a walk from the newest row on SQLite.
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

pub(super) use behind;
