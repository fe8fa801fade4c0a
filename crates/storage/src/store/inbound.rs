//! Calls that come in.

use async_recursion::async_recursion as boxed;
use offhook_domain::E164;
use offhook_failpoints as failpoints;

use super::{Answer, lease, read, write};
use crate::dialect::dialect;
use crate::queries;
use crate::{CalledNumber, NewInboundCall, Result, Store, Taken, Verdict};

impl Store {
    /// Who has a number whose calls come by a trunk; `None` if nobody has. No account is named: a call that comes in
    /// knows none.
    pub fn called_number(&self, number: E164) -> Answer<'_, Option<CalledNumber>> {
        read!(self, |conn| {
            let among = queries::numbers::Among::Trunks;
            queries::numbers::who_has(conn, number, among).await
        })
    }

    /// Takes a call that came in, in one transaction: the plan's live calls, the agent, the reservation, and the
    /// conversation, claimed already. A process that dies behind it leaves an orphan, which others report.
    ///
    /// # Errors
    /// `StoreError::UnknownCommit` if the call may have been written, the others if it was not.
    #[boxed]
    pub async fn take_call(&self, call: NewInboundCall) -> Result<Taken> {
        let offset = self.offset();
        let taken = write!(self, |conn| {
            let lease = dialect!(conn, lease_clock(offset))?.plus(lease());
            let taken = queries::inbound::take(conn, call, lease).await?;
            Ok(match taken {
                Taken::Claimed(_) => Verdict::Commit(taken),
                refused => Verdict::Rollback(refused),
            })
        })
        .await;
        if matches!(taken, Ok(Taken::Claimed(_))) {
            failpoints::hit(failpoints::ANSWER_AFTER_COMMIT);
        }
        taken
    }
}
