//! Parts of batches that a provider was handed in one request.

use diesel::prelude::*;
use offhook_domain::{BatchId, SliceId, Timestamp};

use crate::schema;

/// A part of a batch that a provider was handed in one request, or was about to be.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = schema::batch_slices)]
pub struct Slice {
    /// Its id.
    pub id: SliceId,
    /// The batch that it is of.
    pub batch_id: BatchId,
    /// Its id at the provider, once that is known.
    pub provider_batch_id: Option<String>,
    /// When it was written, before the provider was asked.
    pub created_at: Timestamp,
}

impl Slice {
    /// What it is called at the provider: both ids, so that either finds it.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}/{}", self.batch_id, self.id)
    }
}
