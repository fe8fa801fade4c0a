//! Webhook endpoints and their sealed secrets.

use crate::database::RunQueryDsl;
use crate::store::{Answer, keep, read};
use diesel::prelude::*;
use offhook_domain::{AccountId, EndpointId, Timestamp};

use super::pages::behind;
use super::{cancelling, health};
use crate::database::{Conn, Db};
use crate::schema::{webhook_endpoints as endpoints, webhook_secrets as secrets};
use crate::sql::V;
use crate::{
    DISABLED_AS_FAILING, DISABLED_BY_CUSTOMER, Endpoint, EndpointChange, EndpointStatus,
    EndpointView, PageKey, Result, Store,
};

/// A sealed secret; its row id is the associated data.
pub(crate) struct SealedSecret {
    pub(crate) row: uuid::Uuid,
    pub(crate) prefix: String,
    pub(crate) sealed: Vec<u8>,
}

/// Secrets rotated out that may sign along at once.
const OVERLAPPING: usize = 5;

pub(crate) async fn count(conn: &mut Conn, account: AccountId) -> Result<i64> {
    Ok(endpoints::table
        .filter(endpoints::account_id.eq(V(account)))
        .filter(endpoints::deleted_at.is_null())
        .count()
        .get_result(conn)
        .await?)
}

pub(crate) async fn insert(
    conn: &mut Conn,
    endpoint: Endpoint,
    secret: SealedSecret,
) -> Result<()> {
    let (id, at) = (endpoint.id, endpoint.created_at);
    diesel::insert_into(endpoints::table)
        .values((
            endpoints::id.eq(V(id)),
            endpoints::account_id.eq(V(endpoint.account_id)),
            endpoints::url.eq(endpoint.url),
            endpoints::description.eq(endpoint.description),
            endpoints::status.eq(V(endpoint.status)),
            endpoints::created_at.eq(V(at)),
            endpoints::updated_at.eq(V(endpoint.updated_at)),
        ))
        .execute(conn)
        .await?;
    insert_secret(conn, id, secret, at).await
}

async fn insert_secret(
    conn: &mut Conn,
    endpoint: EndpointId,
    secret: SealedSecret,
    at: Timestamp,
) -> Result<()> {
    diesel::insert_into(secrets::table)
        .values((
            secrets::id.eq(V(offhook_domain::EventId::from_uuid(secret.row))),
            secrets::endpoint_id.eq(V(endpoint)),
            secrets::prefix.eq(secret.prefix),
            secrets::sealed.eq(secret.sealed),
            secrets::created_at.eq(V(at)),
        ))
        .run(conn)
        .await
}

pub(crate) async fn find(
    conn: &mut Conn,
    account: AccountId,
    id: EndpointId,
) -> Result<Option<EndpointView>> {
    let endpoint: Option<Endpoint> = endpoints::table
        .filter(endpoints::id.eq(V(id)))
        .filter(endpoints::account_id.eq(V(account)))
        .filter(endpoints::deleted_at.is_null())
        .select(Endpoint::as_select())
        .found(conn)
        .await?;
    Ok(with_prefixes(conn, endpoint.into_iter().collect())
        .await?
        .pop())
}

impl Store {
    /// A page of the account's endpoints, newest first, with one more than `limit` if there is a next page.
    pub fn endpoints(
        &self,
        account: AccountId,
        after: Option<PageKey<EndpointId>>,
        limit: i64,
    ) -> Answer<'_, Vec<EndpointView>> {
        read!(self, |conn| {
            let query = endpoints::table
                .filter(endpoints::account_id.eq(V(account)))
                .filter(endpoints::deleted_at.is_null())
                .order((endpoints::created_at.desc(), endpoints::id.desc()))
                .limit(limit + 1)
                .select(Endpoint::as_select())
                .into_boxed::<Db>();
            let page = behind!(query, endpoints, after).load(conn).await?;
            with_prefixes(conn, page).await
        })
    }

    /// Deletes an endpoint and cancels what is due; `false` if there is no such one.
    pub fn delete_endpoint(
        &self,
        account: AccountId,
        id: EndpointId,
        at: Timestamp,
    ) -> Answer<'_, bool> {
        keep!(self, |conn| {
            let deleted = diesel::update(endpoints::table)
                .filter(endpoints::id.eq(V(id)))
                .filter(endpoints::account_id.eq(V(account)))
                .filter(endpoints::deleted_at.is_null())
                .set((
                    endpoints::deleted_at.eq(V(at)),
                    endpoints::status.eq(V(EndpointStatus::Disabled)),
                    endpoints::updated_at.eq(V(at)),
                ))
                .execute(conn)
                .await?;
            if deleted == 0 {
                return Ok(false);
            }
            cancelling::with_the_change(conn, id).await?;
            diesel::delete(secrets::table.filter(secrets::endpoint_id.eq(V(id))))
                .execute(conn)
                .await?;
            Ok(true)
        })
    }
}

async fn with_prefixes(conn: &mut Conn, endpoints: Vec<Endpoint>) -> Result<Vec<EndpointView>> {
    if endpoints.is_empty() {
        return Ok(Vec::new());
    }
    let ids: Vec<EndpointId> = endpoints.iter().map(|endpoint| endpoint.id).collect();
    let prefixes: Vec<(EndpointId, String)> = secrets::table
        .filter(secrets::endpoint_id.eq_any(ids.into_iter().map(V)))
        .filter(secrets::expires_at.is_null())
        .select((secrets::endpoint_id, secrets::prefix))
        .load(conn)
        .await?;
    // Secrets go with their endpoint: one without was deleted between the two statements.
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

pub(crate) async fn change(
    conn: &mut Conn,
    account: AccountId,
    id: EndpointId,
    change: EndpointChange,
    at: Timestamp,
) -> Result<bool> {
    let status = change.status;
    if status == Some(EndpointStatus::Enabled) {
        cancel_before_enabling(conn, account, id, at).await?;
    }
    let changed = diesel::update(endpoints::table)
        .filter(endpoints::id.eq(V(id)))
        .filter(endpoints::account_id.eq(V(account)))
        .filter(endpoints::deleted_at.is_null())
        .set((
            change.url.map(|url| endpoints::url.eq(url)),
            change
                .description
                .map(|text| endpoints::description.eq(text)),
            status.map(|status| endpoints::status.eq(V(status))),
            status.map(|status| {
                endpoints::disabled_reason
                    .eq((status == EndpointStatus::Disabled).then_some(DISABLED_BY_CUSTOMER))
            }),
            endpoints::updated_at.eq(V(at)),
        ))
        .execute(conn)
        .await?;
    if changed > 0 && status == Some(EndpointStatus::Disabled) {
        cancelling::with_the_change(conn, id).await?;
    }
    if changed > 0 && status == Some(EndpointStatus::Enabled) {
        health::reset(conn, id).await?;
    }
    Ok(changed > 0)
}

/// What was open when the endpoint was disabled is cancelled before it receives again.
async fn cancel_before_enabling(
    conn: &mut Conn,
    account: AccountId,
    id: EndpointId,
    at: Timestamp,
) -> Result<()> {
    // Whoever changes its status waits from here on.
    let disabled = diesel::update(endpoints::table)
        .filter(endpoints::id.eq(V(id)))
        .filter(endpoints::account_id.eq(V(account)))
        .filter(endpoints::deleted_at.is_null())
        .filter(endpoints::status.eq(V(EndpointStatus::Disabled)))
        .set(endpoints::updated_at.eq(V(at)))
        .execute(conn)
        .await?;
    if disabled > 0 {
        cancelling::with_the_change(conn, id).await?;
    }
    Ok(())
}

/// Disables an endpoint that has failed since `since` with so many deliveries given up, and cancels what is due; `false`
/// if it has not, or is disabled or gone already.
pub(crate) async fn disable_failing(
    conn: &mut Conn,
    id: EndpointId,
    (since, exhausted): (Timestamp, i32),
    at: Timestamp,
) -> Result<bool> {
    let disabled = diesel::update(endpoints::table.find(V(id)))
        .filter(endpoints::deleted_at.is_null())
        .filter(endpoints::status.eq(V(EndpointStatus::Enabled)))
        .set((
            endpoints::status.eq(V(EndpointStatus::Disabled)),
            endpoints::disabled_reason.eq(DISABLED_AS_FAILING),
            endpoints::updated_at.eq(V(at)),
        ))
        .execute(conn)
        .await?;
    // The endpoint is this transaction's by now: it cannot be enabled in between.
    if disabled == 0 || !health::has_failed(conn, id, since, exhausted).await? {
        return Ok(false);
    }
    cancelling::with_the_change(conn, id).await?;
    Ok(true)
}

/// Puts a new secret in force; the old one signs along until `overlap_until`, if that is later than now.
pub(crate) async fn rotate(
    conn: &mut Conn,
    account: AccountId,
    id: EndpointId,
    secret: SealedSecret,
    (now, overlap_until): (Timestamp, Timestamp),
) -> Result<bool> {
    let changed = diesel::update(endpoints::table)
        .filter(endpoints::id.eq(V(id)))
        .filter(endpoints::account_id.eq(V(account)))
        .filter(endpoints::deleted_at.is_null())
        .set(endpoints::updated_at.eq(V(now)))
        .execute(conn)
        .await?;
    if changed == 0 {
        return Ok(false);
    }
    let ended = secrets::expires_at.le(V(now));
    diesel::delete(
        secrets::table
            .filter(secrets::endpoint_id.eq(V(id)))
            .filter(ended),
    )
    .execute(conn)
    .await?;
    if overlap_until > now {
        diesel::update(secrets::table.filter(secrets::endpoint_id.eq(V(id))))
            .filter(secrets::expires_at.is_null())
            .set(secrets::expires_at.eq(V(overlap_until)))
            .execute(conn)
            .await?;
    } else {
        // Without an asked-for overlap only the new secret signs.
        diesel::delete(secrets::table.filter(secrets::endpoint_id.eq(V(id))))
            .execute(conn)
            .await?;
    }
    insert_secret(conn, id, secret, now).await?;
    let newest_first: Vec<offhook_domain::EventId> = secrets::table
        .filter(secrets::endpoint_id.eq(V(id)))
        .filter(secrets::expires_at.is_not_null())
        .order((secrets::created_at.desc(), secrets::id.desc()))
        .select(secrets::id)
        .load(conn)
        .await?;
    let surplus: Vec<_> = newest_first.into_iter().skip(OVERLAPPING).collect();
    if !surplus.is_empty() {
        diesel::delete(secrets::table.filter(secrets::id.eq_any(surplus.into_iter().map(V))))
            .execute(conn)
            .await?;
    }
    Ok(true)
}

/// The sealed secrets that sign at `now` for these endpoints, the newest last.
pub(crate) async fn signing(
    conn: &mut Conn,
    endpoints: &[EndpointId],
    now: Timestamp,
) -> Result<Vec<(EndpointId, uuid::Uuid, Vec<u8>)>> {
    let rows: Vec<(EndpointId, offhook_domain::EventId, Vec<u8>)> = secrets::table
        .filter(secrets::endpoint_id.eq_any(endpoints.iter().copied().map(V)))
        .filter(
            secrets::expires_at
                .is_null()
                .or(secrets::expires_at.gt(V(now))),
        )
        .order((
            secrets::expires_at.is_null(),
            secrets::created_at,
            secrets::id,
        ))
        .select((secrets::endpoint_id, secrets::id, secrets::sealed))
        .load(conn)
        .await?;
    Ok(rows
        .into_iter()
        .map(|(endpoint, row, sealed)| (endpoint, row.uuid(), sealed))
        .collect())
}
