//! Whom accounts call: their rules, their suppression lists, and what a dial is judged by.

use super::{claims::is_claimed, events};
use crate::prelude::*;
use crate::schema::usage_days as days;

/// Failures of calls that were never dialed.
const UNDIALED: [FailureReason; 3] = [
    FailureReason::Cancelled,
    FailureReason::Expired,
    FailureReason::ComplianceBlocked,
];

/// How far back attempts count.
const WEEK: Duration = Duration::from_secs(7 * 24 * 3_600);

/// What a row of [`facts`] tells.
const SUPPRESSED: i32 = 0;
const ATTEMPT: i32 = 1;
const SPENT: i32 = 2;
const RESERVED: i32 = 3;

/// What the account's rules need to know about these numbers, in one statement: placing a call waits for it.
pub(crate) async fn facts(
    conn: &mut Conn,
    (account, dialing): (AccountId, &Dialing),
    numbers: &[E164],
    now: Timestamp,
) -> Result<DialFacts> {
    let mut facts = DialFacts::default();
    let rules = dialing.rules.as_deref().map(DialingRules::from_stored);
    let corrupt = |error| StoreError::corrupt(format!("the dialing rules: {error}"));
    let rules = rules.transpose().map_err(corrupt)?.unwrap_or_default();
    let mut counts_credits = rules.daily_credits.is_some();
    let needs_any = dialing.has_suppressions || rules.counts_attempts() || counts_credits;
    ensure!(needs_any, facts);
    for some in numbers.chunks(1_000) {
        let some = || some.iter().cloned().map(V);
        let kind = |kind: i32| kind.into_sql::<Integer>();
        let no_number = || V(None::<E164>).into_sql::<Nullable<sql::Word>>();
        let no_time = || V(None::<Timestamp>).into_sql::<Nullable<sql::Instant>>();
        let no_credits = || None::<Credits>.into_sql::<Nullable<BigInt>>();
        let suppressed = suppressions::table
            .filter(dialing.has_suppressions.into_sql::<Bool>())
            .filter(suppressions::account_id.eq(V(account)))
            .filter(suppressions::number.eq_any(some()))
            .filter(
                suppressions::until
                    .is_null()
                    .or(suppressions::until.gt(V(now))),
            )
            .select((
                kind(SUPPRESSED),
                suppressions::number.nullable(),
                suppressions::until,
                no_credits(),
            ));
        let undialed = calls::failure_reason
            .is_null()
            .or(calls::failure_reason.ne_all(UNDIALED.map(V)));
        let attempts = calls::table
            .filter(rules.counts_attempts().into_sql::<Bool>())
            .filter(calls::account_id.eq(V(account)))
            .filter(calls::customer_phone.eq_any(some()))
            .filter(calls::customer_phone.eq(calls::to_number))
            .filter(calls::started_at.gt(V(now.minus(WEEK))))
            .filter(calls::state.ne(V(CallState::Queued)))
            .filter(undialed)
            .select((
                kind(ATTEMPT),
                calls::customer_phone,
                calls::started_at.nullable(),
                no_credits(),
            ));
        let spent = days::table
            .filter(counts_credits.into_sql::<Bool>())
            .filter(days::account_id.eq(V(account)))
            .filter(days::day.eq(now.utc_day()))
            .select((
                kind(SPENT),
                no_number(),
                no_time(),
                days::credits.nullable(),
            ));
        let reserved = reservations::table
            .inner_join(calls::table.on(calls::id.eq(reservations::conversation_id)))
            .filter(counts_credits.into_sql::<Bool>())
            .filter(calls::account_id.eq(V(account)))
            .filter(is_claimed())
            .select((
                kind(RESERVED),
                no_number(),
                no_time(),
                reservations::credits.nullable(),
            ));
        type Row = (i32, Option<E164>, Option<Timestamp>, Option<Credits>);
        let found: Vec<Row> = suppressed
            .union_all(attempts)
            .union_all(spent)
            .union_all(reserved)
            .load(conn)
            .await?;
        for row in found {
            match row {
                (SUPPRESSED, Some(number), until, _) => {
                    facts.suppressed.insert(number, until);
                }
                (ATTEMPT, Some(number), Some(at), _) => {
                    facts.attempts.entry(number).or_default().push(at);
                }
                (SPENT, _, _, Some(credits)) => facts.spent = credits,
                (RESERVED, _, _, Some(credits)) => facts.reserved += credits,
                _ => {}
            }
        }
        counts_credits = false;
    }
    facts.attempts.values_mut().for_each(|times| times.sort());
    Ok(facts)
}

/// Divides calls that may be claimed, each with whether it has a window of its own, into those that are, and those that a rule refuses.
pub(crate) async fn judged(
    conn: &mut Conn,
    (account, dialing): (AccountId, &Dialing),
    found: Vec<(ConversationId, bool)>,
    judge: DialJudge,
    now: Timestamp,
) -> Result<(Vec<ConversationId>, Vec<(ConversationId, DialRule)>)> {
    let may_refuse = dialing.refuses() || found.iter().any(|(_, has_window)| *has_window);
    let ids: Vec<ConversationId> = found.into_iter().map(|(id, _)| id).collect();
    ensure!(may_refuse, (ids, Vec::new()));
    type Row = (
        ConversationId,
        Option<E164>,
        Option<E164>,
        Option<String>,
        Option<String>,
        Option<Credits>,
    );
    let rows: Vec<Row> = calls::table
        .left_join(reservations::table.on(reservations::conversation_id.eq(calls::id)))
        .filter(calls::id.eq_any(ids.iter().copied().map(V)))
        .order((calls::started_at, calls::id))
        .select((
            calls::id,
            calls::to_number,
            calls::customer_phone,
            calls::consent,
            calls::dial_window,
            reservations::credits.nullable(),
        ))
        .load(conn)
        .await?;
    let (mut claimed, mut outbound) = (Vec::new(), Vec::new());
    for (id, to, customer, consent, window, reserved) in rows {
        match to {
            Some(to) if customer.as_ref() == Some(&to) => outbound.push(Candidate {
                id,
                to,
                has_consent: consent.is_some(),
                window,
                reserved: reserved.unwrap_or_default(),
            }),
            // The customer called.
            _ => claimed.push(id),
        }
    }
    let numbers: Vec<E164> = outbound.iter().map(|call| call.to.clone()).collect();
    let facts = facts(conn, (account, dialing), &numbers, now).await?;
    let verdicts = judge(dialing, facts, &outbound, now)?;
    let mut refused = Vec::new();
    for (call, rule) in outbound.into_iter().zip(verdicts) {
        match rule {
            None => claimed.push(call.id),
            Some(rule) => refused.push((call.id, rule)),
        }
    }
    Ok((claimed, refused))
}

/// Writes suppressions; a number that is on the list already gets the new reason, source and time. Calls to them that
/// are being dialed are to be hung up. The account's row is locked, so that a claim comes before or sees it.
async fn suppress(
    conn: &mut Conn,
    account: AccountId,
    new: &[Suppression],
) -> Result<Vec<ConversationId>> {
    locks::lock_account(conn, account).await?;
    diesel::update(accounts::table.find(V(account)))
        .filter(not(accounts::has_suppressions))
        .set(accounts::has_suppressions.eq(true))
        .execute(conn)
        .await?;
    for some in new.chunks(1_000) {
        bulk! {
            conn, "suppressions" "ON CONFLICT (account_id, number) DO UPDATE SET \
                reason = excluded.reason, source = excluded.source, until = excluded.until, \
                conversation_id = excluded.conversation_id",
            suppressions of one in some; id = one.id, account_id = one.account_id, number = &one.number,
            reason = &one.reason, source = one.source, until = one.until,
            conversation_id = one.conversation_id, created_at = one.created_at
        }?;
    }
    let mut dialing = Vec::new();
    for some in new.chunks(1_000) {
        let hung: Vec<ConversationId> = diesel::update(calls::table)
            .filter(calls::account_id.eq(V(account)))
            .filter(is_claimed())
            .filter(calls::state.eq(V(CallState::Dialing)))
            .filter(calls::to_number.eq_any(some.iter().map(|one| V(one.number.clone()))))
            .filter(calls::to_number.eq(calls::customer_phone))
            .set(calls::hangup_requested.eq(true))
            .returning(calls::id)
            .get_results(conn)
            .await?;
        dialing.extend(hung);
    }
    Ok(dialing)
}

#[boxed]
impl Store {
    /// What is known about these numbers, for accounts that refuse any.
    pub fn dial_facts(
        &self,
        account: AccountId,
        dialing: Dialing,
        numbers: Vec<E164>,
        now: Timestamp,
    ) -> Answer<'_, DialFacts> {
        read!(self, |conn| {
            facts(conn, (account, &dialing), &numbers, now).await
        })
    }

    /// Sets an account's rules; `None` clears them.
    pub fn set_dialing_rules(&self, account: AccountId, rules: Option<String>) -> Answer<'_, bool> {
        diesel::update(accounts::table.find(V(account)))
            .set(accounts::dialing_rules.eq(rules))
            .commit_change(self)
    }

    /// Puts numbers on the suppression list, all or none. Returns the calls that are to be hung up.
    pub fn suppress(
        &self,
        account: AccountId,
        new: Vec<Suppression>,
    ) -> Answer<'_, Vec<ConversationId>> {
        keep!(self, |conn| suppress(conn, account, &new).await)
    }

    /// Suppresses the number of a customer who asked for it in a conversation, and reports it, once per conversation.
    pub fn opt_out(&self, new: Suppression, event: Option<NewEvent>) -> Answer<'_, Suppressed> {
        keep!(self, |conn| {
            let dialing = suppress(conn, new.account_id, std::slice::from_ref(&new)).await?;
            let mut suppressed = Suppressed {
                dialing,
                endpoints: Vec::new(),
            };
            let Some(conversation) = new.conversation_id else {
                return Ok(suppressed);
            };
            let is_first = diesel::update(own!(calls, new.account_id, conversation))
                .filter(not(calls::opted_out))
                .set(calls::opted_out.eq(true))
                .changes(conn)
                .await?;
            if let Some(event) = event.filter(|_| is_first) {
                let (account, at) = (new.account_id, new.created_at);
                // Of no conversation: one has a single event of its end.
                suppressed.endpoints = events::emit(conn, account, None, event, at).await?;
            }
            Ok(suppressed)
        })
    }

    /// A page of the suppression list, newest first, with one more than `limit` if there is a next page.
    pub fn suppressions(
        &self,
        account: AccountId,
        filter: SuppressionFilter,
        after: Option<PageKey<SuppressionId>>,
        limit: i64,
    ) -> Answer<'_, Vec<Suppression>> {
        newest!(suppressions, Suppression, account, limit)
            .when(earlier(filter.until, after), |at| {
                suppressions::created_at.le(V(at))
            })
            .when(filter.since, |at| suppressions::created_at.ge(V(at)))
            .when(after, |(at, id)| {
                suppressions::created_at
                    .lt(V(at))
                    .or(suppressions::id.lt(V(id)))
            })
            .when(filter.number, |number| suppressions::number.eq(V(number)))
            .when_is(suppressions::source, filter.source)
            .read_all(self)
    }

    pub fn suppression(
        &self,
        account: AccountId,
        id: SuppressionId,
    ) -> Answer<'_, Option<Suppression>> {
        own!(suppressions, account, id)
            .select(Suppression::as_select())
            .read_first(self)
    }

    /// Takes a number off the suppression list; `false` if it is not there.
    pub fn delete_suppression(&self, account: AccountId, id: SuppressionId) -> Answer<'_, bool> {
        diesel::delete(own!(suppressions, account, id)).commit_change(self)
    }
}
