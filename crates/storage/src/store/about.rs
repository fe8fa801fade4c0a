//! What the database says of itself.

use super::{Answer, write};
use crate::dialect::dialect;
use crate::{AboutDatabase, Store};

impl Store {
    /// Version, clock and settings of the database, asked of the connection that writes.
    pub fn about(&self) -> Answer<'_, AboutDatabase> {
        write!(self, |conn| Ok(crate::Verdict::Rollback(dialect!(
            conn,
            about()
        )?)))
    }
}
