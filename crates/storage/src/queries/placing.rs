//! Accepts several calls in one transaction, on PostgreSQL, with statements that do not depend on how many they are.

use super::{calls, events, idempotency, locked_wallets, wallets};
use crate::database::Together;
use crate::postgres::dialect::insert_keys;
use crate::postgres::sharing::{self, Share, Shared};
use crate::prelude::*;
use futures_util::future::BoxFuture;

/// How long the transaction waits for a lock that is not a wallet's.
pub(super) const PATIENCE: Duration = Duration::from_millis(10);

impl Share for NewCall {
    type Answer = Placed;

    fn account(&self) -> AccountId {
        self.account_id
    }

    fn together(
        conn: &mut Conn,
        calls: Vec<Self>,
        offset: i64,
        is_patient: bool,
    ) -> sharing::Together<'_, Placed> {
        Box::pin(place_together(conn, calls, offset, is_patient))
    }

    fn alone(self, conn: &mut Conn, offset: i64) -> BoxFuture<'_, Result<Verdict<Placed>>> {
        Box::pin(calls::place(conn, self, offset))
    }
}

/// Accepts the calls that need no decision: their wallets have room without buying credits, and their Idempotency-Keys
/// are new.
async fn place_together(
    conn: &mut Conn,
    calls: Vec<NewCall>,
    offset: i64,
    is_patient: bool,
) -> Result<Verdict<Vec<Shared<Placed>>>> {
    let accounts: HashSet<AccountId> = calls.iter().map(|call| call.account_id).collect();
    let mut purses = locked_wallets::lock(conn, accounts, is_patient).await?;
    let mut keys = HashSet::new();
    let mut done: Vec<Shared<Placed>> = Vec::with_capacity(calls.len());
    for call in &calls {
        let key = call.idempotency.as_ref();
        let is_first = key.is_none_or(|key| keys.insert((call.account_id, &key.key)));
        done.push(match purses.get_mut(&call.account_id) {
            None => Shared::Locked,
            Some(purse) if purse.room >= call.reserve && is_first && call.key_budget.is_none() => {
                purse.room -= call.reserve;
                Shared::Done(Placed::Accepted(Vec::new()))
            }
            Some(_) => Shared::Alone,
        });
    }
    dialect!(conn, limit_lock_wait(Some(PATIENCE)))?;
    let claims = calls
        .iter()
        .zip(&done)
        .filter_map(|(call, done)| match done {
            Shared::Done(_) => Some((call.account_id, call.idempotency.as_ref()?)),
            _ => None,
        });
    let claims: Vec<_> = claims.collect();
    let ours = insert_keys(conn, &claims, offset, idempotency::KEPT).await?;
    let mut accepted = Vec::with_capacity(calls.len());
    for (call, done) in calls.iter().zip(&mut done) {
        let key = call.idempotency.as_ref();
        let is_ours = key.is_none_or(|key| ours.contains(&(call.account_id, key.key.clone())));
        if !is_ours && matches!(done, Shared::Done(_)) {
            *done = Shared::Alone;
        } else if let Shared::Done(Placed::Accepted(endpoints)) = done {
            accepted.push((call, endpoints));
        }
    }
    ensure!(!accepted.is_empty(), Rollback(done));
    let with_events = accepted.iter().filter(|(call, _)| call.event.is_some());
    let accounts: HashSet<AccountId> = with_events.map(|(call, _)| call.account_id).collect();
    let endpoints = events::hold_endpoints(conn, accounts).await?;
    let mut held: HashMap<AccountId, Credits> = HashMap::new();
    let (mut rows, mut outbox) = (Vec::new(), Vec::new());
    let (mut deliveries, mut reservations) = (Vec::new(), Vec::new());
    for (call, its_endpoints) in accepted {
        rows.push(calls::row(Db::Postgres, call));
        if let Some(event) = &call.event {
            let of_event = (call.account_id, event.id, event.kind);
            let held = endpoints
                .get(&call.account_id)
                .map_or(&[][..], Vec::as_slice);
            for to in events::receivers(held, event.kind) {
                let id = mint(call.at);
                deliveries.push(events::delivery(id, of_event, to, None, call.at));
                if to.1 == EndpointStatus::Enabled {
                    its_endpoints.push(to.0);
                }
            }
            let event = event.clone();
            outbox.push(events::row(call.account_id, Some(call.id), event, call.at));
        }
        if call.reserve != 0 {
            *held.entry(call.account_id).or_default() += call.reserve;
            let draw = wallets::Draw::of_call(call);
            reservations.push(wallets::reservation(call.id, &draw, call.reserve));
        }
    }
    let (accounts, credits): (Vec<AccountId>, Vec<Credits>) = held.into_iter().unzip();
    let accounts: Vec<_> = accounts.into_iter().map(V).collect();
    Together::default()
        .bind::<Array<sql::Uuid>, _>(&accounts)?
        .bind::<Array<BigInt>, _>(&credits)?
        .insert(rows)?
        .insert(outbox)?
        .insert(deliveries)?
        .insert(reservations)?
        .execute(
            conn,
            "UPDATE wallets SET reserved = wallets.reserved + held.credits \
             FROM UNNEST($1, $2) AS held(account_id, credits) \
             WHERE wallets.account_id = held.account_id",
        )
        .await?;
    failpoints::hit(failpoints::PLACE_BEFORE_COMMIT);
    Ok(Commit(done))
}
