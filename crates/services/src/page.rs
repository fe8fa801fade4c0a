//! Keyset pagination.

use offhook_domain::Timestamp;

/// The page after a row, with up to `limit` items.
#[derive(Debug, Clone, Copy)]
pub struct PageRequest<Id> {
    /// The last row of the previous page.
    pub after: Option<(Timestamp, Id)>,
    /// 1 to 100.
    pub limit: u32,
}

#[derive(Debug, Clone)]
pub struct Page<T> {
    /// The items, in the list's order.
    pub items: Vec<T>,
    pub has_more: bool,
}

impl<T> Page<T> {
    /// Builds a page from rows that were read with a limit of `limit` plus one.
    pub(crate) fn of(mut rows: Vec<T>, limit: u32) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let has_more = rows.len() > limit;
        rows.truncate(limit);
        Self {
            items: rows,
            has_more,
        }
    }
}
