//! Pages by key.

use offhook_domain::Timestamp;

/// Which page is asked for: behind a row, so many items.
#[derive(Debug, Clone, Copy)]
pub struct PageRequest<Id> {
    /// The last row of the page before.
    pub after: Option<(Timestamp, Id)>,
    /// 1 to 100.
    pub limit: u32,
}

/// A page of a list.
#[derive(Debug, Clone)]
pub struct Page<T> {
    /// The items, in the list's order.
    pub items: Vec<T>,
    /// Whether another page exists.
    pub has_more: bool,
}

impl<T> Page<T> {
    /// Makes a page of rows of which the store was asked for one more than `limit`.
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
