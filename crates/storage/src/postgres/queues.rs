//! What waits at the same time and is done together.

use super::gather::Gathered;
use super::sharing::{Sharing, Turns};
use super::{CallWriter, Postgres};
use crate::NewCall;
use crate::queries::closing::Closing;
use crate::queries::deliveries::TestEvent;
use crate::queries::settling::Settling;

#[derive(Clone)]
pub(crate) struct Queues {
    pub(crate) steps: CallWriter,
    pub(crate) lookups: Gathered,
    pub(crate) calls: Sharing<NewCall>,
    pub(crate) closings: Sharing<Closing>,
    pub(crate) settlements: Sharing<Settling>,
    pub(crate) test_events: Sharing<TestEvent>,
}

impl Queues {
    pub(crate) fn of(db: &Postgres) -> Self {
        // Both change wallets.
        let wallets = Turns::default();
        Self {
            steps: CallWriter::of(db.clone()),
            lookups: Gathered::of(db),
            calls: Sharing::of(db, &wallets),
            closings: Sharing::of(db, &Turns::default()),
            settlements: Sharing::of(db, &wallets),
            test_events: Sharing::of(db, &Turns::default()),
        }
    }
}
