//! What accounts have connected.

use offhook_domain::{AccountId, EventId, IntegrationStatus, Timestamp};

use super::{Answer, keep, mint};
use crate::queries;
use crate::{Connection, Store};

impl Store {
    /// Writes how the account stands to a toolkit. `connected_at` moves when it becomes active; what is `disconnected`
    /// loses its tokens. The audit log tells of it.
    pub fn set_connection(
        &self,
        account: AccountId,
        toolkit: String,
        status: IntegrationStatus,
        last_error: Option<String>,
        at: Timestamp,
    ) -> Answer<'_, Connection> {
        keep!(self, |conn| {
            let stands = (status, last_error);
            let connection =
                queries::integrations::state(conn, (account, toolkit), stands, at).await?;
            let key = connection.toolkit.as_str();
            if status == IntegrationStatus::Disconnected {
                // What is taken back is not kept either.
                queries::integration_tokens::remove(conn, account, key).await?;
            } else {
                queries::integration_tokens::forget_faults(conn, (account, key)).await?;
            }
            let audit_id: EventId = mint(at);
            let target = format!("{} {status}", connection.toolkit);
            let words = ("cli", "integration.set", target.as_str());
            queries::accounts::audit(conn, audit_id.uuid(), Some(account), words, at).await?;
            Ok(connection)
        })
    }
}
