//! What the database says of itself.

use super::write;
use crate::dialect::dialect;
use crate::{AboutDatabase, Result, Store};
use async_recursion::async_recursion as boxed;

impl Store {
    /// Version, clock and settings of the database, asked of the connection that writes.
    #[boxed]
    pub async fn about(&self) -> Result<AboutDatabase> {
        write!(self, |conn| Ok(crate::Verdict::Rollback(dialect!(
            conn,
            about()
        )?)))
    }
}
