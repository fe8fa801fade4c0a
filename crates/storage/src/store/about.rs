//! What the database says of itself.

use super::write;
use crate::dialect::dialect;
use crate::{AboutDatabase, Store, StoreError};
use async_recursion::async_recursion as boxed;

impl Store {
    /// Version, clock and settings of the database, asked of the connection that writes.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the database is out of reach.
    #[boxed]
    pub async fn about(&self) -> Result<AboutDatabase, StoreError> {
        write!(self, |conn| Ok(crate::Verdict::Rollback(dialect!(
            conn,
            about()
        )?)))
    }
}
