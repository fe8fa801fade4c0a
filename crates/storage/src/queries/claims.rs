//! The ownership of calls: claims, leases and orphans.

use super::dialing::judged;
use super::moments;
use crate::database::Together;
use crate::prelude::*;
use diesel::expression::SqlLiteral;
use futures_util::future::BoxFuture;
use uuid::Uuid;

/// Calls that are dialing, live or closing, written out: from a bound value no database sees that the partial index of
/// claimed calls applies. Text conversations are excluded: they have their own claims ([`super::chats`]).
pub(crate) fn is_claimed() -> SqlLiteral<Bool> {
    sql("(conversations.state IN ('dialing', 'live', 'closing') AND conversations.voice)")
}

/// `state = 'queued'`, written out for the partial index of queued calls.
pub(crate) fn is_queued() -> SqlLiteral<Bool> {
    sql("conversations.state = 'queued'")
}

impl Store {
    /// Accounts with queued calls, found by skipping through the index from account to account.
    pub fn waiting_accounts(&self) -> Answer<'_, Vec<Account>> {
        read!(self, |conn| {
            let mut found: Vec<AccountId> = Vec::new();
            let mut next = Some(AccountId::nil());
            while let Some(after) = next {
                next = calls::table
                    .filter(is_queued())
                    .filter(calls::account_id.gt(V(after)))
                    .order(calls::account_id)
                    .select(calls::account_id)
                    .found(conn)
                    .await?;
                found.extend(next);
            }
            ensure!(!found.is_empty(), Vec::new());
            Ok(accounts::table
                .filter(accounts::id.eq_any(found.into_iter().map(V)))
                .select(Account::as_select())
                .load(conn)
                .await?)
        })
    }

    /// How many calls are queued.
    pub fn queue_length(&self) -> Answer<'_, i64> {
        calls::table.filter(is_queued()).count().read_one(self)
    }

    /// How many calls of each account are queued.
    pub fn queue_lengths(&self) -> Answer<'_, Vec<(AccountId, i64)>> {
        calls::table
            .filter(is_queued())
            .group_by(calls::account_id)
            .select((calls::account_id, count_star()))
            .read_all(self)
    }

    /// This node's calls whose owner has been asked to hang up.
    pub fn hangups(&self, node: NodeId) -> Answer<'_, Vec<ConversationId>> {
        calls::table
            .filter(calls::node_id.eq(V(node)))
            .filter(calls::hangup_requested)
            .filter(is_claimed())
            .filter(calls::state.eq_any([CallState::Dialing, CallState::Live].map(V)))
            .select(calls::id)
            .read_all(self)
    }

    /// Queued calls that were accepted longer than `patience` ago.
    pub fn overdue_calls(
        &self,
        patience: Duration,
        steady: Timestamp,
    ) -> Answer<'_, Vec<(AccountId, ConversationId)>> {
        let offset = self.offset();
        read!(self, |conn| {
            let now = dialect!(conn, key_clock(steady, offset))?;
            Ok(calls::table
                .filter(is_queued())
                .filter(calls::queued_at.lt(V(now.minus(patience))))
                .order((calls::account_id, calls::started_at, calls::id))
                .limit(500)
                .select((calls::account_id, calls::id))
                .load(conn)
                .await?)
        })
    }

    /// How many of the account's calls are dialing, live or closing.
    pub fn live_calls(&self, account: AccountId) -> Answer<'_, i64> {
        match &self.queues {
            Some(queues) => Box::pin(queues.lookups.live_calls.find(account)),
            None => read!(self, |conn| live_calls(conn, account).await),
        }
    }

    /// Claims an account's oldest queued calls that were accepted within `patience`, up to the limit of live calls:
    /// `queued → dialing`, unless `judge` refuses them. `live_limit` is the plan's, `most` is the capacity of this process.
    /// The claims are `first` and its successors, so that a caller that lost the response finds them again ([`Store::calls_claimed`]).
    pub fn claim_calls(
        &self,
        account: AccountId,
        (live_limit, most): (u32, usize),
        patience: Duration,
        (node, first): (NodeId, ClaimId),
        (now, steady): (Timestamp, Timestamp),
        judge: DialJudge,
    ) -> Answer<'_, Claimed> {
        let offset = self.offset();
        transact!(self, |conn| {
            let (queue_now, lease_now) = dialect!(conn, clocks(steady, offset))?;
            let lease = lease_now.plus(lease());
            let dialing = locks::try_lock_account(conn, account).await?;
            let dialing = some_or!(dialing, Rollback(Claimed::default()));
            let room = i64::from(live_limit)
                .saturating_sub(live_calls(conn, account).await?)
                .min(i64::try_from(most).unwrap_or(i64::MAX));
            ensure!(room > 0, Rollback(Claimed::default()));
            let found: Vec<(ConversationId, bool)> = calls::table
                .filter(calls::account_id.eq(V(account)))
                .filter(is_queued())
                .filter(calls::queued_at.ge(V(queue_now.minus(patience))))
                .order((calls::started_at, calls::id))
                .limit(room)
                .select((calls::id, calls::dial_window.is_not_null()))
                .load(conn)
                .await?;
            let has_window: HashMap<ConversationId, bool> = found.iter().copied().collect();
            let ids = found.into_iter().map(|(id, _)| id).collect();
            let ids = locks::skip_locked_calls(conn, ids).await?.into_iter();
            let found = ids
                .map(|id| (id, has_window.get(&id) == Some(&true)))
                .collect();
            let (ids, refused) = judged(conn, (account, &dialing), found, judge, now).await?;
            let calls = claim_all(conn, ids, first, (now, lease), node).await?;
            Ok(Verdict::keep_if(
                !calls.is_empty(),
                Claimed { calls, refused },
            ))
        })
    }

    /// The calls of an account that [`Store::claim_calls`] claimed for this process with `first`, although its response
    /// was lost and so no worker dials them.
    pub fn calls_claimed(
        &self,
        account: AccountId,
        (node, first): (NodeId, ClaimId),
        most: usize,
    ) -> Answer<'_, Vec<Conversation>> {
        calls::table
            .filter(calls::account_id.eq(V(account)))
            .filter(is_claimed())
            .filter(calls::state.eq(V(CallState::Dialing)))
            .filter(calls::node_id.eq(V(node)))
            .filter(calls::claim_id.eq_any(claims_from(first).take(most).map(V)))
            .select(Conversation::as_select())
            .read_all(self)
    }

    /// Renews the leases of these claims. Returns those that were still in force.
    pub fn renew_claims(&self, claims: &[(ConversationId, ClaimId)]) -> Answer<'_, Vec<ClaimId>> {
        let offset = self.offset();
        let (ids, claims): (Vec<_>, Vec<_>) =
            claims.iter().map(|(id, claim)| (V(*id), V(*claim))).unzip();
        keep!(self, |conn| {
            let lease = dialect!(conn, lease_clock(offset))?.plus(lease());
            // Found by primary key; a claim belongs to one conversation only.
            let renewed: Vec<Option<ClaimId>> = diesel::update(calls::table)
                .filter(calls::id.eq_any(ids))
                .filter(calls::claim_id.eq_any(claims))
                .filter(is_claimed())
                .set(calls::lease_expires_at.eq(V(lease)))
                .returning(calls::claim_id)
                .get_results(conn)
                .await?;
            Ok(renewed.into_iter().flatten().collect())
        })
    }

    /// Takes over up to `most` calls whose owner is dead: the lease has expired or, with `all`, another process owns
    /// the call. `all` is for SQLite at the start, when the only process that could own calls is dead.
    pub fn take_orphans(
        &self,
        all: bool,
        most: i64,
        node: NodeId,
        now: Timestamp,
    ) -> Answer<'_, Vec<Conversation>> {
        let offset = self.offset();
        transact!(self, |conn| {
            let lease_now = dialect!(conn, lease_clock(offset))?;
            type Condition = dyn BoxableExpression<calls::table, Db, SqlType = Nullable<Bool>>;
            let is_orphan = || -> Box<Condition> {
                match all {
                    true => Box::new(calls::node_id.ne(V(node))),
                    false => Box::new(calls::lease_expires_at.lt(V(lease_now))),
                }
            };
            let ids: Vec<ConversationId> = calls::table
                .filter(is_claimed())
                .filter(is_orphan())
                .order((calls::account_id, calls::lease_expires_at))
                .select(calls::id)
                .limit(most)
                .load(conn)
                .await?;
            ensure!(!ids.is_empty(), Rollback(Vec::new()));
            let mut taken = Vec::with_capacity(ids.len());
            for id in locks::skip_locked_calls(conn, ids).await? {
                let claim: ClaimId = mint(now);
                let call: Result<Option<Conversation>> = diesel::update(calls::table.find(V(id)))
                    .filter(is_claimed())
                    .filter(is_orphan())
                    .set(row! {
                        calls: claim_id = claim, node_id = node,
                        lease_expires_at = lease_now.plus(lease())
                    })
                    .returning(Conversation::as_returning())
                    .returned(conn)
                    .await;
                match call {
                    Ok(call) => taken.extend(call),
                    // It becomes an orphan again when this lease expires; the others are taken over.
                    Err(StoreError::Corrupt(fault)) => {
                        tracing::error!(call = %id, fault, "an orphaned call cannot be read");
                    }
                    Err(error) => return Err(error),
                }
            }
            Ok(Verdict::keep_if(!taken.is_empty(), taken))
        })
    }
}

/// A claim and its successors.
fn claims_from(first: ClaimId) -> impl Iterator<Item = ClaimId> {
    (0_u128..).map(move |next| {
        let claim = first.uuid().as_u128().wrapping_add(next);
        ClaimId::from_uuid(Uuid::from_u128(claim))
    })
}

/// `queued → dialing` of these calls, with `first` and its successors as claims. Leaves out those that are no longer
/// queued.
async fn claim_all(
    conn: &mut Conn,
    ids: Vec<ConversationId>,
    first: ClaimId,
    (now, lease): (Timestamp, Timestamp),
    node: NodeId,
) -> Result<Vec<Conversation>> {
    let mut claimed: Vec<Conversation> = Vec::with_capacity(ids.len());
    if conn.db() == Db::Sqlite {
        for (id, claim) in ids.into_iter().zip(claims_from(first)) {
            claimed.extend(claim_one(conn, (id, claim), (now, lease), node).await?);
        }
        return Ok(claimed);
    }
    let claims: Vec<_> = claims_from(first).take(ids.len()).map(V).collect();
    let ids: Vec<_> = ids.into_iter().map(V).collect();
    diesel::sql_query(
        "UPDATE conversations SET state = 'dialing', claim_id = n.claim_id, node_id = $3, lease_expires_at = $4, \
           last_seq = last_seq + 1 \
         FROM UNNEST($1, $2) AS n(id, claim_id) \
         WHERE conversations.id = n.id AND conversations.state = 'queued'",
    )
    .bind::<Array<sql::Uuid>, _>(&ids)
    .bind::<Array<sql::Uuid>, _>(&claims)
    .bind::<sql::Uuid, _>(V(node))
    .bind::<sql::Instant, _>(V(lease))
    .run(conn)
    .await?;
    claimed = calls::table
        .filter(calls::id.eq_any(ids))
        .filter(calls::claim_id.eq_any(claims))
        .order((calls::started_at, calls::id))
        .select(Conversation::as_select())
        .load(conn)
        .await?;
    let entries = claimed
        .iter()
        .map(|call| moments::entry(call.id, call.last_seq, CallState::Dialing, now));
    Together::default()
        .insert(entries.collect())?
        .run(conn)
        .await?;
    Ok(claimed)
}

/// `queued → dialing` of one call; `None` if it is no longer queued.
pub(crate) async fn claim_one(
    conn: &mut Conn,
    (id, claim): (ConversationId, ClaimId),
    (now, lease): (Timestamp, Timestamp),
    node: NodeId,
) -> Result<Option<Conversation>> {
    let call: Option<Conversation> = diesel::update(calls::table.find(V(id)))
        .filter(is_queued())
        .set(row! {
            calls: state = CallState::Dialing, claim_id = claim, node_id = node,
            lease_expires_at = lease, last_seq += 1
        })
        .returning(Conversation::as_returning())
        .returned(conn)
        .await?;
    if let Some(call) = &call {
        moments::entered(conn, id, call.last_seq, CallState::Dialing, now).await?;
    }
    Ok(call)
}

/// [`live_calls`] of each of these accounts that has any.
pub(crate) fn live_calls_of(
    conn: &mut Conn,
    accounts: Vec<AccountId>,
) -> BoxFuture<'_, Result<HashMap<AccountId, i64>>> {
    Box::pin(async move {
        let counts: Vec<(AccountId, i64)> = calls::table
            .filter(calls::account_id.eq_any(accounts.into_iter().map(V)))
            .filter(is_claimed())
            .group_by(calls::account_id)
            .select((calls::account_id, count_star()))
            .load(conn)
            .await?;
        Ok(counts.into_iter().collect())
    })
}

/// How many calls of the account are dialing, live or closing.
pub(crate) async fn live_calls(conn: &mut Conn, account: AccountId) -> Result<i64> {
    Ok(calls::table
        .filter(calls::account_id.eq(V(account)))
        .filter(is_claimed())
        .counted(conn)
        .await?)
}
