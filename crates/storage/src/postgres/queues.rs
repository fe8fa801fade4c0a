//! What waits at the same time and is done together.

use super::gather::Gathered;
use super::sharing::Sharing;
use super::{CallWriter, Postgres};
use crate::NewCall;
use crate::queries::deliveries::TestEvent;
use crate::queries::settling::Settling;

#[derive(Clone)]
pub(crate) struct Queues {
    pub(crate) steps: CallWriter,
    pub(crate) lookups: Gathered,
    pub(crate) calls: Sharing<NewCall>,
    pub(crate) settlements: Sharing<Settling>,
    pub(crate) test_events: Sharing<TestEvent>,
}

impl Queues {
    pub(crate) fn of(db: &Postgres) -> Self {
        Self {
            steps: CallWriter::of(db.clone()),
            lookups: Gathered::of(db),
            calls: Sharing::of(db),
            settlements: Sharing::of(db),
            test_events: Sharing::of(db),
        }
    }
}
