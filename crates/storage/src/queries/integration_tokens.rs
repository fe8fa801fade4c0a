//! By what accounts use other applications, and the consents that are being asked for.

use crate::database::RunQueryDsl;
use crate::store::{Answer, keep, read};
use diesel::prelude::*;
use diesel::sql_types::Bool;
use offhook_domain::{AccountId, ClaimId, CredentialId, IntegrationStatus, Timestamp};

use crate::database::Conn;
use crate::schema::{
    integration_connections as connections, integration_consents as consents,
    integration_tokens as tokens,
};
use crate::sql::V;
use crate::{HeldTokens, NewConsent, Result, Store, TokenTimes};

/// Consents that are forgotten in one statement.
const FORGOTTEN_AT_ONCE: i64 = 500;

/// Tokens as they are stored: sealed, in bytes.
pub(crate) type Sealed = (HeldTokens, Vec<u8>);

#[derive(Queryable, Selectable)]
#[diesel(table_name = tokens)]
struct Row {
    id: CredentialId,
    account_id: AccountId,
    toolkit: String,
    sealed: Vec<u8>,
    lapses_at: Option<Timestamp>,
    tries: i32,
    claim_id: Option<ClaimId>,
    refused_at: Option<Timestamp>,
}

fn sealed(row: Row) -> Sealed {
    let tokens = HeldTokens {
        id: row.id,
        account_id: row.account_id,
        toolkit: row.toolkit,
        secret: String::new(),
        lapses_at: row.lapses_at,
        tries: row.tries,
        claim: row.claim_id,
        refused_at: row.refused_at,
    };
    (tokens, row.sealed)
}

pub(crate) async fn insert_consent(
    conn: &mut Conn,
    consent: NewConsent,
    sealed: Vec<u8>,
) -> Result<()> {
    diesel::insert_into(consents::table)
        .values((
            consents::id.eq(V(consent.id)),
            consents::digest.eq(consent.digest.to_vec()),
            consents::session_digest.eq(consent.session_digest.to_vec()),
            consents::account_id.eq(V(consent.account_id)),
            consents::toolkit.eq(consent.toolkit),
            consents::sealed.eq(sealed),
            consents::expires_at.eq(V(consent.expires_at)),
        ))
        .run(conn)
        .await
}

/// Takes a consent that came back in time to the session and account that asked for it: nobody finds it again.
pub(crate) async fn take_consent(
    conn: &mut Conn,
    account: AccountId,
    (digest, session_digest): ([u8; 32], [u8; 32]),
    now: Timestamp,
) -> Result<Option<(CredentialId, String, Vec<u8>)>> {
    Ok(diesel::delete(consents::table)
        .filter(consents::digest.eq(digest.to_vec()))
        .filter(consents::session_digest.eq(session_digest.to_vec()))
        .filter(consents::account_id.eq(V(account)))
        .filter(consents::expires_at.gt(V(now)))
        .returning((consents::id, consents::toolkit, consents::sealed))
        .get_result(conn)
        .await
        .optional()?)
}

impl Store {
    /// The toolkits for which the account is being asked for its consent.
    pub fn consents_asked_for(
        &self,
        account: AccountId,
        now: Timestamp,
    ) -> Answer<'_, Vec<String>> {
        read!(self, |conn| {
            Ok(consents::table
                .filter(consents::account_id.eq(V(account)))
                .filter(consents::expires_at.gt(V(now)))
                .select(consents::toolkit)
                .load(conn)
                .await?)
        })
    }

    /// Forgets some of the consents that nobody gave in time; how many.
    pub fn forget_consents(&self, now: Timestamp) -> Answer<'_, usize> {
        keep!(self, |conn| {
            let late: Vec<CredentialId> = consents::table
                .filter(consents::expires_at.le(V(now)))
                .order(consents::expires_at)
                .limit(FORGOTTEN_AT_ONCE)
                .select(consents::id)
                .load(conn)
                .await?;
            Ok(diesel::delete(consents::table)
                .filter(consents::id.eq_any(late.into_iter().map(V)))
                .execute(conn)
                .await?)
        })
    }

    /// Takes every claim back: at the start of the one process that the embedded database has.
    pub fn release_tokens(&self) -> Answer<'_, usize> {
        keep!(self, |conn| {
            Ok(diesel::update(tokens::table)
                .filter(tokens::lease_expires_at.is_not_null())
                .set((
                    tokens::claim_id.eq(None::<ClaimId>),
                    tokens::lease_expires_at.eq(None::<Timestamp>),
                ))
                .execute(conn)
                .await?)
        })
    }
}

/// Writes a connection's first tokens.
pub(crate) async fn insert(
    conn: &mut Conn,
    id: CredentialId,
    (account, toolkit): (AccountId, String),
    sealed: Vec<u8>,
    times: TokenTimes,
    at: Timestamp,
) -> Result<()> {
    diesel::insert_into(tokens::table)
        .values((
            tokens::id.eq(V(id)),
            tokens::account_id.eq(V(account)),
            tokens::toolkit.eq(toolkit),
            tokens::sealed.eq(sealed),
            tokens::lapses_at.eq(times.lapses_at),
            tokens::refresh_at.eq(times.refresh_at),
            tokens::tries.eq(0),
            tokens::updated_at.eq(V(at)),
        ))
        .run(conn)
        .await
}

pub(crate) async fn find(
    conn: &mut Conn,
    account: AccountId,
    toolkit: &str,
) -> Result<Option<Sealed>> {
    let found: Option<Row> = tokens::table
        .filter(tokens::account_id.eq(V(account)))
        .filter(tokens::toolkit.eq(toolkit.to_owned()))
        .select(Row::as_select())
        .found(conn)
        .await?;
    Ok(found.map(sealed))
}

/// Forgets the tokens of an account's toolkit, and hands them out for the last time.
pub(crate) async fn remove(
    conn: &mut Conn,
    account: AccountId,
    toolkit: &str,
) -> Result<Option<Sealed>> {
    let removed: Option<Row> = diesel::delete(tokens::table)
        .filter(tokens::account_id.eq(V(account)))
        .filter(tokens::toolkit.eq(toolkit.to_owned()))
        .returning(Row::as_returning())
        .get_result(conn)
        .await
        .optional()?;
    Ok(removed.map(sealed))
}

/// Whether any tokens are to be renewed: `now` says what is due, `judged` by which clock leases are over.
pub(crate) async fn has_due(conn: &mut Conn, now: Timestamp, judged: Timestamp) -> Result<bool> {
    Ok(!due(conn, 1, now, judged).await?.is_empty())
}

/// Rows that are due, the longest first, and those that somebody left: as in [`has_due`].
pub(crate) async fn due(
    conn: &mut Conn,
    most: i64,
    now: Timestamp,
    judged: Timestamp,
) -> Result<Vec<CredentialId>> {
    // Two reads, each by an index of its own.
    let mut found: Vec<CredentialId> = tokens::table
        .filter(tokens::lease_expires_at.lt(V(judged)))
        .filter(tokens::claim_id.is_not_null())
        .order(tokens::lease_expires_at)
        .limit(most)
        .select(tokens::id)
        .load(conn)
        .await?;
    let rest = most.saturating_sub(i64::try_from(found.len()).unwrap_or(most));
    let due: Vec<CredentialId> = tokens::table
        .filter(tokens::refresh_at.le(V(now)))
        .filter(tokens::claim_id.is_null())
        .order(tokens::refresh_at)
        .limit(rest)
        .select(tokens::id)
        .load(conn)
        .await?;
    found.extend(due);
    Ok(found)
}

/// Takes the turn at renewing until `lease`, unless somebody else has it; `early`: though they are not due, and not while
/// they rest. Claims and rests are `judged` by the clock of leases.
pub(crate) async fn take(
    conn: &mut Conn,
    (id, early): (CredentialId, bool),
    claim: ClaimId,
    (now, judged, lease): (Timestamp, Timestamp, Timestamp),
) -> Result<Option<Sealed>> {
    let is_due = tokens::refresh_at.le(V(now));
    let has_rested = tokens::lease_expires_at
        .is_null()
        .or(tokens::lease_expires_at.lt(V(judged)));
    let by_the_clock = is_due.and((!early).into_sql::<Bool>());
    let by_need = has_rested.and(early.into_sql::<Bool>());
    let is_nobodys = by_the_clock.or(by_need).and(tokens::claim_id.is_null());
    let was_left = tokens::lease_expires_at
        .lt(V(judged))
        .and(tokens::claim_id.is_not_null());
    let taken: Option<Row> = diesel::update(tokens::table.find(V(id)))
        .filter(is_nobodys.or(was_left))
        .set((
            tokens::claim_id.eq(V(claim)),
            tokens::lease_expires_at.eq(V(lease)),
        ))
        .returning(Row::as_returning())
        .get_result(conn)
        .await
        .optional()?;
    Ok(taken.map(sealed))
}

/// Whether they rest after a turn that failed, and nobody is at them: `judged` by the clock of leases.
pub(crate) async fn is_resting(
    conn: &mut Conn,
    id: CredentialId,
    judged: Timestamp,
) -> Result<bool> {
    let resting: Option<CredentialId> = tokens::table
        .filter(tokens::id.eq(V(id)))
        .filter(tokens::claim_id.is_null())
        .filter(tokens::lease_expires_at.ge(V(judged)))
        .select(tokens::id)
        .found(conn)
        .await?;
    Ok(resting.is_some())
}

/// Writes renewed tokens and gives the turn back, and says whose they are and since when new ones are refused; `None` if it
/// was another's, or the tokens are gone.
pub(crate) async fn renewed(
    conn: &mut Conn,
    (id, claim): (CredentialId, ClaimId),
    sealed: Vec<u8>,
    times: TokenTimes,
    at: Timestamp,
) -> Result<Option<(AccountId, String, Option<Timestamp>)>> {
    Ok(diesel::update(tokens::table.find(V(id)))
        .filter(tokens::claim_id.eq(V(claim)))
        .set((
            tokens::sealed.eq(sealed),
            tokens::lapses_at.eq(times.lapses_at),
            tokens::refresh_at.eq(times.refresh_at),
            tokens::claim_id.eq(None::<ClaimId>),
            tokens::lease_expires_at.eq(None::<Timestamp>),
            tokens::tries.eq(0),
            tokens::updated_at.eq(V(at)),
        ))
        .returning((tokens::account_id, tokens::toolkit, tokens::refused_at))
        .get_result(conn)
        .await
        .optional()?)
}

/// Notes when these tokens were refused though they were new, or that they are not any more; what they are. `None` if they
/// are gone, or that `was_known` is not so.
pub(crate) async fn judge(
    conn: &mut Conn,
    (id, was_known): (CredentialId, bool),
    refused_at: Option<Timestamp>,
) -> Result<Option<Sealed>> {
    let is_known = tokens::refused_at.is_not_null();
    let judged: Option<Row> = diesel::update(tokens::table.find(V(id)))
        .filter(is_known.eq(was_known.into_sql::<Bool>()))
        .set(tokens::refused_at.eq(refused_at))
        .returning(Row::as_returning())
        .get_result(conn)
        .await
        .optional()?;
    Ok(judged.map(sealed))
}

/// Forgets that an account's tokens for a toolkit were refused: something else is said of the connection now.
pub(crate) async fn forget_refusal(
    conn: &mut Conn,
    (account, toolkit): (AccountId, &str),
) -> Result<()> {
    diesel::update(tokens::table)
        .filter(tokens::account_id.eq(V(account)))
        .filter(tokens::toolkit.eq(toolkit.to_owned()))
        .filter(tokens::refused_at.is_not_null())
        .set(tokens::refused_at.eq(None::<Timestamp>))
        .run(conn)
        .await
}

/// Forgets what was wrong with an account's tokens for a toolkit: the operator says now how the connection stands.
pub(crate) async fn forget_faults(
    conn: &mut Conn,
    (account, toolkit): (AccountId, &str),
) -> Result<()> {
    diesel::update(tokens::table)
        .filter(tokens::account_id.eq(V(account)))
        .filter(tokens::toolkit.eq(toolkit.to_owned()))
        .filter(tokens::refused_at.is_not_null().or(tokens::tries.gt(0)))
        .set((
            tokens::refused_at.eq(None::<Timestamp>),
            tokens::tries.eq(0),
        ))
        .run(conn)
        .await
}

/// Gives the turn back without new tokens, for another one at `again`. They rest until `rested` by the clock of leases: a
/// lease that is nobody's.
pub(crate) async fn later(
    conn: &mut Conn,
    (id, claim): (CredentialId, ClaimId),
    again: Timestamp,
    rested: Timestamp,
) -> Result<Option<(AccountId, String)>> {
    Ok(diesel::update(tokens::table.find(V(id)))
        .filter(tokens::claim_id.eq(V(claim)))
        .set((
            tokens::refresh_at.eq(V(again)),
            tokens::claim_id.eq(None::<ClaimId>),
            tokens::lease_expires_at.eq(V(rested)),
            tokens::tries.eq(tokens::tries + 1),
        ))
        .returning((tokens::account_id, tokens::toolkit))
        .get_result(conn)
        .await
        .optional()?)
}

/// Forgets tokens that the application takes no more.
pub(crate) async fn refused(
    conn: &mut Conn,
    (id, claim): (CredentialId, ClaimId),
) -> Result<Option<(AccountId, String)>> {
    Ok(diesel::delete(tokens::table.find(V(id)))
        .filter(tokens::claim_id.eq(V(claim)))
        .returning((tokens::account_id, tokens::toolkit))
        .get_result(conn)
        .await
        .optional()?)
}

/// Says how a connection stands that was in one of the statuses `from`; `false` if it was not.
pub(crate) async fn restate(
    conn: &mut Conn,
    (account, toolkit): (AccountId, &str),
    from: &[IntegrationStatus],
    (status, error): (IntegrationStatus, Option<String>),
    at: Timestamp,
) -> Result<bool> {
    diesel::update(connections::table.find((V(account), toolkit.to_owned())))
        .filter(connections::status.eq_any(from.iter().copied().map(V)))
        .set((
            connections::status.eq(V(status)),
            connections::last_error.eq(error),
            connections::updated_at.eq(V(at)),
        ))
        .changes(conn)
        .await
}
