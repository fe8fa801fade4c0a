//! What the database says of itself.

use super::write;
use crate::{AboutDatabase, Store, StoreError};

impl Store {
    /// Version, clock and settings of the database, asked of the connection that writes.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the database is out of reach.
    pub async fn about(&self) -> Result<AboutDatabase, StoreError> {
        write!(self, |conn| Ok(crate::Verdict::Rollback(
            dialect::about(conn).await?
        )))
    }
}
