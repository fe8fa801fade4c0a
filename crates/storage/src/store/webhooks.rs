//! Webhook endpoints and their secrets.

use async_recursion::async_recursion as boxed;
use std::time::Duration;

use offhook_domain::{AccountId, EndpointId, EventId, Timestamp};

use super::{Answer, mint, read, write};
use crate::queries;
use crate::{Endpoint, EndpointChange, EndpointView, Result, Store, Verdict};

impl Store {
    /// Makes an endpoint with its secret; `false` if the account has `most` already.
    #[boxed]
    pub async fn create_endpoint(
        &self,
        endpoint: Endpoint,
        secret: &str,
        secret_prefix: &str,
        most: i64,
    ) -> Result<bool> {
        let secret = self.seal(secret, secret_prefix, endpoint.created_at)?;
        write!(self, |conn| {
            // The account's row keeps two creations of one account apart.
            queries::locks::lock_account(conn, endpoint.account_id).await?;
            if queries::endpoints::count(conn, endpoint.account_id).await? >= most {
                return Ok(Verdict::Rollback(false));
            }
            let secret = queries::endpoints::SealedSecret {
                row: secret.0,
                prefix: secret.1,
                sealed: secret.2,
            };
            queries::endpoints::insert(conn, endpoint, secret).await?;
            Ok(Verdict::Commit(true))
        })
        .await
    }

    fn seal(
        &self,
        secret: &str,
        prefix: &str,
        at: Timestamp,
    ) -> Result<(uuid::Uuid, String, Vec<u8>)> {
        let row = mint::<EventId>(at).uuid();
        Ok((row, prefix.to_owned(), self.master_key.seal(secret, &row)?))
    }

    /// An endpoint of the account.
    pub fn endpoint(&self, account: AccountId, id: EndpointId) -> Answer<'_, Option<EndpointView>> {
        read!(self, |conn| queries::endpoints::find(conn, account, id)
            .await)
    }

    /// Changes an endpoint; `None` if there is no such one. Disabling cancels what is due; of a lot the rest is left to
    /// [`Store::cancel_open_deliveries`], and nothing of it is claimed any more.
    pub fn change_endpoint(
        &self,
        account: AccountId,
        id: EndpointId,
        change: EndpointChange,
        at: Timestamp,
    ) -> Answer<'_, Option<EndpointView>> {
        write!(self, |conn| {
            if !queries::endpoints::change(conn, account, id, change, at).await? {
                return Ok(Verdict::Rollback(None));
            }
            Ok(Verdict::Commit(
                queries::endpoints::find(conn, account, id).await?,
            ))
        })
    }

    /// Cancels some of what is open of an endpoint that receives nothing, with which its change did not wait; returns how
    /// many deliveries that were.
    pub fn cancel_open_deliveries(&self, id: EndpointId) -> Answer<'_, usize> {
        write!(self, |conn| {
            Ok(match queries::cancelling::some(conn, id).await? {
                0 => Verdict::Rollback(0),
                some => Verdict::Commit(some),
            })
        })
    }

    /// Puts a new secret in force; the old one signs along for `overlap`. `None` if there is no such endpoint.
    #[boxed]
    pub async fn rotate_secret(
        &self,
        account: AccountId,
        id: EndpointId,
        (secret, prefix): (&str, &str),
        overlap: Duration,
        now: Timestamp,
    ) -> Result<Option<EndpointView>> {
        let secret = self.seal(secret, prefix, now)?;
        write!(self, |conn| {
            let secret = queries::endpoints::SealedSecret {
                row: secret.0,
                prefix: secret.1,
                sealed: secret.2,
            };
            let times = (now, now.plus(overlap));
            if !queries::endpoints::rotate(conn, account, id, secret, times).await? {
                return Ok(Verdict::Rollback(None));
            }
            Ok(Verdict::Commit(
                queries::endpoints::find(conn, account, id).await?,
            ))
        })
        .await
    }

    /// Disables an endpoint that has received nothing since `since` and of which `exhausted` deliveries or more were given
    /// up since, and cancels what is due; `false` if that is not so, or no more.
    pub fn disable_failing_endpoint(
        &self,
        id: EndpointId,
        since: Timestamp,
        exhausted: i32,
        at: Timestamp,
    ) -> Answer<'_, bool> {
        write!(self, |conn| {
            let limits = (since, exhausted);
            Ok(
                match queries::endpoints::disable_failing(conn, id, limits, at).await? {
                    true => Verdict::Commit(true),
                    false => Verdict::Rollback(false),
                },
            )
        })
    }
}
