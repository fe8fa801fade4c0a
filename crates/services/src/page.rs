//! Keyset pagination.

use crate::prelude::*;

/// The page after a row, with up to `limit` items.
#[derive(Debug, Clone, Copy)]
pub struct PageRequest<Id> {
    /// The last row of the previous page.
    pub after: Option<(Timestamp, Id)>,
    /// 1 to 100.
    pub limit: u32,
}

impl<Id> PageRequest<Id> {
    /// Reads the page with a query of the rows after a row, and of one more than the limit.
    pub(crate) async fn read<'s, T>(
        self,
        query: impl FnOnce(Option<PageKey<Id>>, i64) -> Answer<'s, Vec<T>>,
    ) -> Result<Page<T>, StoreError> {
        let rows = query(self.after, i64::from(self.limit)).await?;
        Ok(Page::of(rows, self.limit))
    }
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
