//! Webhook endpoints and their sealed secrets.

use super::{cancelling, health};
use crate::prelude::*;
use crate::schema::webhook_secrets as secrets;

/// A sealed secret; its row's id is the associated data.
struct SealedSecret {
    row: EventId,
    prefix: String,
    sealed: Vec<u8>,
}

/// The sealed secrets of endpoints, with the row that each is sealed for.
pub(crate) type Sealed = Vec<(EndpointId, EventId, Vec<u8>)>;

/// The most rotated secrets that may still sign.
const OVERLAPPING: usize = 5;

async fn insert_secret(
    conn: &mut Conn,
    endpoint: EndpointId,
    secret: SealedSecret,
    at: Timestamp,
) -> Result<()> {
    insert! {
        conn, secrets of secret: id = secret.row, endpoint_id = endpoint, prefix, sealed,
        created_at = at
    }
}

async fn find(conn: &mut Conn, account: AccountId, id: EndpointId) -> Result<Option<EndpointView>> {
    let endpoint: Option<Endpoint> = own!(endpoints, account, id)
        .filter(endpoints::deleted_at.is_null())
        .select(Endpoint::as_select())
        .found(conn)
        .await?;
    Ok(with_prefixes(conn, endpoint.into_iter().collect())
        .await?
        .pop())
}

async fn with_prefixes(conn: &mut Conn, endpoints: Vec<Endpoint>) -> Result<Vec<EndpointView>> {
    ensure!(!endpoints.is_empty(), Vec::new());
    let prefixes: Vec<(EndpointId, String)> = secrets::table
        .filter(secrets::endpoint_id.eq_any(endpoints.iter().map(|endpoint| V(endpoint.id))))
        .filter(secrets::expires_at.is_null())
        .select((secrets::endpoint_id, secrets::prefix))
        .load(conn)
        .await?;
    // Secrets are deleted with their endpoint: an endpoint without one was deleted between the two statements.
    Ok(endpoints
        .into_iter()
        .filter_map(|endpoint| {
            let (_, prefix) = prefixes.iter().find(|(id, _)| *id == endpoint.id)?;
            Some(EndpointView {
                secret_prefix: prefix.clone(),
                endpoint,
            })
        })
        .collect())
}

/// Whether a secret signs at `now`.
macro_rules! signs {
    ($now:expr) => {
        secrets::expires_at
            .is_null()
            .or(secrets::expires_at.gt(Some($now)))
    };
}

/// The sealed secrets that sign at `now` for these endpoints, newest last.
pub(crate) async fn signing(
    conn: &mut Conn,
    endpoints: &[EndpointId],
    now: Timestamp,
) -> Result<Sealed> {
    Ok(secrets::table
        .filter(secrets::endpoint_id.eq_any(endpoints.iter().copied().map(V)))
        .filter(signs!(now))
        .order((
            secrets::expires_at.is_null(),
            secrets::created_at,
            secrets::id,
        ))
        .select((secrets::endpoint_id, secrets::id, secrets::sealed))
        .load(conn)
        .await?)
}

#[boxed]
impl Store {
    /// Creates an endpoint with its secret; `false` if the account has `most` already.
    pub async fn create_endpoint(
        &self,
        endpoint: Endpoint,
        secret: &str,
        secret_prefix: &str,
        most: i64,
    ) -> Result<bool> {
        let secret = self.seal(secret, secret_prefix, endpoint.created_at)?;
        transact!(self, |conn| {
            let (id, account, at) = (endpoint.id, endpoint.account_id, endpoint.created_at);
            // The lock on the account serializes creations for one account.
            locks::lock_account(conn, account).await?;
            let made: i64 = endpoints::table
                .filter(endpoints::account_id.eq(V(account)))
                .filter(endpoints::deleted_at.is_null())
                .counted(conn)
                .await?;
            ensure!(made < most, Rollback(false));
            insert! {
                conn, endpoints of endpoint: id = id, account_id = account, url, description,
                status, events, created_at = at, updated_at
            }?;
            insert_secret(conn, id, secret, at).await?;
            Ok(Commit(true))
        })
        .await
    }

    fn seal(&self, secret: &str, prefix: &str, at: Timestamp) -> Result<SealedSecret> {
        let row: EventId = mint(at);
        Ok(SealedSecret {
            row,
            prefix: prefix.to_owned(),
            sealed: self.master_key.seal(secret, &row.uuid())?,
        })
    }

    pub fn endpoint(&self, account: AccountId, id: EndpointId) -> Answer<'_, Option<EndpointView>> {
        read!(self, |conn| find(conn, account, id).await)
    }

    /// The secrets that sign for an endpoint at `now`, the current one first.
    pub fn signing_now(
        &self,
        account: AccountId,
        id: EndpointId,
        now: Timestamp,
    ) -> Answer<'_, Vec<SigningNow>> {
        secrets::table
            .filter(secrets::endpoint_id.eq_any(own!(endpoints, account, id).select(endpoints::id)))
            .filter(signs!(now))
            .order((secrets::created_at.desc(), secrets::id.desc()))
            .select((secrets::prefix, secrets::created_at, secrets::expires_at))
            .read_all(self)
    }

    /// A page of the account's endpoints, newest first, with one more than `limit` if there is a next page.
    pub fn endpoints(
        &self,
        account: AccountId,
        after: Option<PageKey<EndpointId>>,
        limit: i64,
    ) -> Answer<'_, Vec<EndpointView>> {
        read!(self, |conn| {
            let query = newest!(endpoints, Endpoint, account, limit)
                .filter(endpoints::deleted_at.is_null());
            let page = behind!(query, endpoints, after).load(conn).await?;
            with_prefixes(conn, page).await
        })
    }

    /// Changes an endpoint; `None` if it does not exist. Disabling cancels its open deliveries. If there are many, it
    /// leaves them to [`Store::cancel_open_deliveries`], and none of them is claimed any more.
    pub fn change_endpoint(
        &self,
        account: AccountId,
        id: EndpointId,
        change: EndpointChange,
        at: Timestamp,
    ) -> Answer<'_, Option<EndpointView>> {
        transact!(self, |conn| {
            let status = change.status;
            if status == Some(EndpointStatus::Enabled) {
                // From here on, other changes of its status wait.
                let is_disabled = diesel::update(own!(endpoints, account, id))
                    .filter(endpoints::deleted_at.is_null())
                    .filter(endpoints::status.eq(V(EndpointStatus::Disabled)))
                    .set(endpoints::updated_at.eq(V(at)))
                    .changes(conn)
                    .await?;
                // Deliveries that were open when the endpoint was disabled are cancelled before it receives again.
                if is_disabled {
                    cancelling::with_the_change(conn, id).await?;
                }
            }
            let is_changed = diesel::update(own!(endpoints, account, id))
                .filter(endpoints::deleted_at.is_null())
                .set((
                    change.url.map(|url| endpoints::url.eq(url)),
                    change
                        .description
                        .map(|text| endpoints::description.eq(text)),
                    status.map(|status| {
                        let is_disabled = status == EndpointStatus::Disabled;
                        (
                            endpoints::status.eq(V(status)),
                            endpoints::disabled_reason
                                .eq(is_disabled.then_some(DISABLED_BY_CUSTOMER)),
                        )
                    }),
                    change.events.map(|events| endpoints::events.eq(events)),
                    endpoints::updated_at.eq(V(at)),
                ))
                .changes(conn)
                .await?;
            ensure!(is_changed, Rollback(None));
            match status {
                Some(EndpointStatus::Disabled) => cancelling::with_the_change(conn, id).await?,
                Some(EndpointStatus::Enabled) => health::reset(conn, id).await?,
                None => {}
            }
            Ok(Commit(find(conn, account, id).await?))
        })
    }

    /// Deletes an endpoint and cancels its open deliveries; `false` if it does not exist.
    pub fn delete_endpoint(
        &self,
        account: AccountId,
        id: EndpointId,
        at: Timestamp,
    ) -> Answer<'_, bool> {
        keep!(self, |conn| {
            let is_deleted = diesel::update(own!(endpoints, account, id))
                .filter(endpoints::deleted_at.is_null())
                .set(row! {
                    endpoints: deleted_at = at, status = EndpointStatus::Disabled,
                    updated_at = at
                })
                .changes(conn)
                .await?;
            if is_deleted {
                cancelling::with_the_change(conn, id).await?;
                delete(conn, secrets::table.filter(secrets::endpoint_id.eq(V(id)))).await?;
            }
            Ok(is_deleted)
        })
    }

    /// Cancels some of a disabled endpoint's open deliveries that its change did not wait for. Returns how many it
    /// cancelled.
    pub fn cancel_open_deliveries(&self, id: EndpointId) -> Answer<'_, usize> {
        transact!(self, |conn| {
            let some = cancelling::some(conn, id).await?;
            Ok(Verdict::keep_if(some > 0, some))
        })
    }

    /// Rotates the secret; the old one still signs for `overlap`. `None` if there is no such endpoint.
    pub async fn rotate_secret(
        &self,
        account: AccountId,
        id: EndpointId,
        (secret, prefix): (&str, &str),
        overlap: Duration,
        now: Timestamp,
    ) -> Result<Option<EndpointView>> {
        let secret = self.seal(secret, prefix, now)?;
        transact!(self, |conn| {
            let is_changed = diesel::update(own!(endpoints, account, id))
                .filter(endpoints::deleted_at.is_null())
                .set(endpoints::updated_at.eq(V(now)))
                .changes(conn)
                .await?;
            ensure!(is_changed, Rollback(None));
            let of_endpoint = || secrets::table.filter(secrets::endpoint_id.eq(V(id)));
            diesel::delete(of_endpoint().filter(secrets::expires_at.le(Some(now))))
                .execute(conn)
                .await?;
            let overlap_until = now.plus(overlap);
            if overlap_until > now {
                diesel::update(of_endpoint())
                    .filter(secrets::expires_at.is_null())
                    .set(secrets::expires_at.eq(Some(overlap_until)))
                    .execute(conn)
                    .await?;
            } else {
                // Without an overlap, only the new secret signs.
                diesel::delete(of_endpoint()).execute(conn).await?;
            }
            insert_secret(conn, id, secret, now).await?;
            let newest_first: Vec<EventId> = of_endpoint()
                .filter(secrets::expires_at.is_not_null())
                .order((secrets::created_at.desc(), secrets::id.desc()))
                .select(secrets::id)
                .load(conn)
                .await?;
            let surplus: Vec<_> = newest_first.into_iter().skip(OVERLAPPING).map(V).collect();
            if !surplus.is_empty() {
                delete(conn, secrets::table.filter(secrets::id.eq_any(surplus))).await?;
            }
            Ok(Commit(find(conn, account, id).await?))
        })
        .await
    }

    /// Disables an endpoint that has received nothing since `since`, while at least `exhausted` deliveries were given
    /// up, and cancels its open deliveries. `false` if that does not hold, or no longer.
    pub fn disable_failing_endpoint(
        &self,
        id: EndpointId,
        since: Timestamp,
        exhausted: i32,
        at: Timestamp,
    ) -> Answer<'_, bool> {
        transact!(self, |conn| {
            let is_disabled = diesel::update(endpoints::table.find(V(id)))
                .filter(endpoints::deleted_at.is_null())
                .filter(endpoints::status.eq(V(EndpointStatus::Enabled)))
                .set(row! {
                    endpoints: status = EndpointStatus::Disabled,
                    disabled_reason = DISABLED_AS_FAILING, updated_at = at
                })
                .changes(conn)
                .await?;
            // This transaction has locked the endpoint: it cannot be enabled meanwhile.
            if !is_disabled || !health::has_failed(conn, id, since, exhausted).await? {
                return Ok(Rollback(false));
            }
            cancelling::with_the_change(conn, id).await?;
            Ok(Commit(true))
        })
    }
}
