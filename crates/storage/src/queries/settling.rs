//! Settles several calls in one transaction, on PostgreSQL, with statements that do not depend on how many they are. Every
//! call of an account writes to its wallet and to the totals of the hour and the day: one by one, each would wait until
//! the one before is on disk.

use std::collections::BTreeMap;

use super::{calls as ends, events, locked_wallets as wallets, moments, placing, usage};
use crate::database::Together;
use crate::postgres::sharing::{self, Share, Shared};
use crate::prelude::*;
use futures_util::future::BoxFuture;

/// A call to settle. The answer is the endpoints that have deliveries, or `None` if the claim is lost.
#[derive(Debug, Clone)]
pub(crate) struct Settling {
    pub(crate) account: AccountId,
    pub(crate) id: ConversationId,
    pub(crate) claim: ClaimId,
    pub(crate) settlement: Settlement,
}

type Endpoints = Option<Vec<EndpointId>>;

impl Share for Settling {
    type Answer = Endpoints;

    fn account(&self) -> AccountId {
        self.account
    }

    fn together(
        conn: &mut Conn,
        calls: Vec<Self>,
        _: i64,
        is_patient: bool,
    ) -> sharing::Together<'_, Endpoints> {
        Box::pin(settle_together(conn, calls, is_patient))
    }

    fn alone(self, conn: &mut Conn, _: i64) -> BoxFuture<'_, Result<Verdict<Endpoints>>> {
        Box::pin(ends::settle(conn, self))
    }
}

/// The calls under their claims that nothing but a phone call's end follows from. Locks them; leaves out those that
/// another transaction has locked.
async fn closing(
    conn: &mut Conn,
    ids: Vec<ConversationId>,
) -> Result<HashMap<ConversationId, (AccountId, Option<ClaimId>, ends::Ended)>> {
    let found: Vec<(ConversationId, AccountId, Option<ClaimId>, ends::Ended)> = calls::table
        .filter(calls::id.eq_any(ids.into_iter().map(V)))
        .filter(calls::state.eq(V(CallState::Closing)))
        .filter(calls::runtime.eq(V(Runtime::Engine)))
        .filter(calls::channel.eq(Some(Channel::Phone)))
        .filter(calls::voice)
        // A key's budget is settled with each call by itself.
        .filter(sql::<Bool>(
            "NOT EXISTS (SELECT 1 FROM reservations r WHERE r.conversation_id = conversations.id AND r.key_id IS NOT NULL)",
        ))
        .select((calls::id, calls::account_id, calls::claim_id, ends::Ended::as_select()))
        .locked("FOR NO KEY UPDATE SKIP LOCKED")
        .load(conn)
        .await?;
    let found = found.into_iter();
    Ok(found
        .map(|(id, account, claim, ended)| (id, (account, claim, ended)))
        .collect())
}

async fn settle_together(
    conn: &mut Conn,
    settlings: Vec<Settling>,
    is_patient: bool,
) -> Result<Verdict<Vec<Shared<Endpoints>>>> {
    let accounts: HashSet<AccountId> = settlings.iter().map(|one| one.account).collect();
    let mut purses = wallets::lock(conn, accounts, is_patient).await?;
    dialect!(conn, limit_lock_wait(Some(placing::PATIENCE)))?;
    let has_purse = |one: &&Settling| purses.contains_key(&one.account);
    let ids = settlings.iter().filter(has_purse).map(|one| one.id);
    let mut found = closing(conn, ids.collect()).await?;
    let mut done = Vec::with_capacity(settlings.len());
    let mut ours: Vec<(&Settling, ends::Ended)> = Vec::new();
    for one in &settlings {
        if !purses.contains_key(&one.account) {
            done.push(Shared::Locked);
            continue;
        }
        // A second settlement of the same call finds it gone from here, and is judged by itself.
        match found.remove(&one.id) {
            Some((account, claim, ended)) if account == one.account && claim == Some(one.claim) => {
                ours.push((one, ended));
                done.push(Shared::Done(Some(Vec::new())));
            }
            _ => done.push(Shared::Alone),
        }
    }
    ensure!(!ours.is_empty(), Rollback(done));
    let ids: Vec<ConversationId> = ours.iter().map(|(one, _)| one.id).collect();
    let freed = wallets::free(conn, ids.clone()).await?;
    let accounts: HashSet<AccountId> = ours.iter().map(|(one, _)| one.account).collect();
    let endpoints = events::hold_endpoints(conn, accounts).await?;
    let unsent = match endpoints.is_empty() {
        true => HashMap::new(),
        false => events::unsent(conn, ids.clone()).await?,
    };
    let mut with_deliveries: HashMap<ConversationId, Vec<EndpointId>> = HashMap::new();
    let (mut entered, mut ledger, mut outbox) = (Vec::new(), Vec::new(), Vec::new());
    let mut deliveries = Vec::new();
    let mut days: BTreeMap<(AccountId, i32), UsageDay> = BTreeMap::new();
    for (one, ended) in &ours {
        let Settlement {
            state,
            credits,
            at,
            event,
            ..
        } = &one.settlement;
        let Some(purse) = purses.get_mut(&one.account) else {
            continue;
        };
        entered.push(moments::entry(one.id, ended.last_seq + 1, *state, *at));
        let held = freed.get(&one.id).copied().unwrap_or(0);
        ledger.extend(purse.settle((one.account, one.id), held, &one.settlement));
        let of_event = (one.account, event.id, event.kind);
        let held = endpoints.get(&one.account).map_or(&[][..], Vec::as_slice);
        for to in events::receivers(held, event.kind) {
            let first = unsent.get(&(one.id, to.0)).copied();
            deliveries.push(events::delivery(mint(*at), of_event, to, first, *at));
            if to.1 == EndpointStatus::Enabled {
                with_deliveries.entry(one.id).or_default().push(to.0);
            }
        }
        outbox.push(events::row(one.account, Some(one.id), event.clone(), *at));
        let day = ended.started_at.utc_day();
        let total = days.entry((one.account, day)).or_insert(UsageDay {
            day,
            ..UsageDay::default()
        });
        total.calls += 1;
        total.conversations += 1;
        total.duration_seconds += ended.duration_seconds.unwrap_or(0);
        total.credits += credits;
    }
    // Credits must be bought, which one call does by itself.
    if purses.values().any(wallets::Locked::is_low) {
        return Ok(Rollback(settlings.iter().map(|_| Shared::Alone).collect()));
    }
    let column = |of: fn(&Settlement) -> String| {
        ours.iter()
            .map(|(one, _)| of(&one.settlement))
            .collect::<Vec<_>>()
    };
    let states: Vec<_> = ours
        .iter()
        .map(|(one, _)| V(one.settlement.state))
        .collect();
    let statuses: Vec<_> = ours
        .iter()
        .map(|(one, _)| V(one.settlement.state.list_status()))
        .collect();
    let credits: Vec<Credits> = ours.iter().map(|(one, _)| one.settlement.credits).collect();
    Together::default()
        .bind::<Array<sql::Uuid>, _>(&ids.into_iter().map(V).collect::<Vec<_>>())?
        .bind::<Array<sql::Word>, _>(&states)?
        .bind::<Array<sql::Word>, _>(&statuses)?
        .bind::<Array<Text>, _>(&column(|one| moments::kept(&one.summary).into_owned()))?
        .bind::<Array<BigInt>, _>(&credits)?
        .insert(entered)?
        .insert(ledger)?
        .insert(outbox)?
        .insert(deliveries)?
        .execute(
            conn,
            "UPDATE conversations SET state = s.state, status = s.status, summary = s.summary, credits = s.credits, \
               claim_id = NULL, lease_expires_at = NULL, last_seq = conversations.last_seq + 1 \
             FROM UNNEST($1, $2, $3, $4, $5) AS s(id, state, status, summary, credits) \
             WHERE conversations.id = s.id",
        )
        .await?;
    wallets::keep(conn, purses).await?;
    let of_account = |((account, _), total)| (account, total);
    usage::add(conn, days.into_iter().map(of_account).collect()).await?;
    failpoints::hit(failpoints::CLOSE_BEFORE_COMMIT);
    for (one, done) in settlings.iter().zip(&mut done) {
        if let Shared::Done(endpoints) = done {
            *endpoints = Some(with_deliveries.remove(&one.id).unwrap_or_default());
        }
    }
    Ok(Commit(done))
}
