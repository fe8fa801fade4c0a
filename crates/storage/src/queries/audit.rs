//! The audit log of an account.

use crate::prelude::*;
use crate::schema::audit_log as log;

/// Writes a line: actor, action, target.
pub(crate) async fn line(
    conn: &mut Conn,
    account: AccountId,
    words: (&str, &str, &str),
    at: Timestamp,
) -> Result<()> {
    change(conn, account, words, &Changes::default(), at).await
}

/// The same with what has changed.
pub(crate) async fn change(
    conn: &mut Conn,
    account: AccountId,
    (actor, action, target): (&str, &str, &str),
    changes: &Changes,
    at: Timestamp,
) -> Result<()> {
    insert! {
        conn, log: id = mint::<EventId>(at), account_id = Some(account), actor, action, target, at,
        changes = changes.to_stored()
    }
}

/// Writes a line for an operator's change.
pub(crate) async fn audited(conn: &mut Conn, account: AccountId, what: &Audited) -> Result<()> {
    line(conn, account, ("cli", what.action, &what.target), what.at).await
}

impl Store {
    pub fn note(
        &self,
        account: AccountId,
        (action, target): (String, String),
        changes: Changes,
        at: Timestamp,
    ) -> Answer<'_, ()> {
        let actor = self.actor();
        keep!(self, |conn| {
            let words = (actor.as_str(), action.as_str(), target.as_str());
            change(conn, account, words, &changes, at).await
        })
    }

    /// The same, unless the log already has this line since `since`, from any actor.
    pub fn note_once(
        &self,
        account: AccountId,
        (action, target): (String, String),
        since: Timestamp,
        at: Timestamp,
    ) -> Answer<'_, ()> {
        let actor = self.actor();
        transact!(self, |conn| {
            let known: Option<String> = log::table
                .filter(log::account_id.eq(V(account)))
                .filter(log::at.ge(V(since)))
                .filter(log::action.eq(&action))
                .filter(log::target.eq(&target))
                .select(log::action)
                .found(conn)
                .await?;
            ensure!(known.is_none(), Rollback(()));
            line(conn, account, (&actor, &action, &target), at).await?;
            Ok(Commit(()))
        })
    }
}
