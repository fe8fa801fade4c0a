//! Accounts' connections with their sealed tokens, and pending consents.

use crate::prelude::*;
use crate::schema::{integration_connections as connections, integration_consents as consents};
use crate::{Connection, queries};

/// How long tokens rest after a failed renewal, by the clock for leases. In this time no worker requests new ones from
/// the application.
const REST: Duration = Duration::from_secs(15);

#[boxed]
impl Store {
    /// All connections of the account, unordered: at most one row per toolkit of the catalog.
    pub fn connections(&self, account: AccountId) -> Answer<'_, Vec<Connection>> {
        connections::table
            .filter(connections::account_id.eq(V(account)))
            .select(Connection::as_select())
            .read_all(self)
    }

    pub fn connection(
        &self,
        account: AccountId,
        toolkit: String,
    ) -> Answer<'_, Option<Connection>> {
        connections::table
            .find((V(account), toolkit))
            .select(Connection::as_select())
            .read_first(self)
    }

    /// The tokens of a connection, in the form in which they were given. [`crate::StoreError::Corrupt`] if they cannot
    /// be opened.
    pub fn tokens_of(&self, connection: &Connection) -> Result<Option<String>> {
        let sealed = connection.sealed.as_ref();
        let opened = sealed.map(|sealed| self.master_key.open(sealed, &connection.id.uuid()));
        opened.transpose()
    }

    /// Up to `most` connections of all accounts whose access token has expired, after the id `after`, in id order.
    pub fn lapsed_connections(
        &self,
        after: CredentialId,
        most: i64,
        now: Timestamp,
    ) -> Answer<'_, Vec<Connection>> {
        connections::table
            .filter(connections::id.gt(V(after)))
            .filter(connections::lapses_at.lt(V(now)))
            .order(connections::id)
            .limit(most)
            .select(Connection::as_select())
            .read_all(self)
    }

    /// Connects a toolkit: stores its tokens in place of the account's previous ones, and its tools.
    /// [`crate::StoreError::Conflict`] if a tool's name is taken.
    pub async fn connect_integration(
        &self,
        (account, toolkit): (AccountId, String),
        secret: &str,
        lapses_at: Option<Timestamp>,
        tools: Vec<ToolRow>,
        at: Timestamp,
    ) -> Result<()> {
        let id: CredentialId = mint(at);
        let sealed = self.master_key.seal(secret, &id.uuid())?;
        keep!(self, |conn| {
            // Serializes two connections of one toolkit, with their tools.
            queries::locks::lock_account(conn, account).await?;
            let stands = (
                connections::id.eq(V(id)),
                connections::status.eq(V(IntegrationStatus::Active)),
                connections::connected_at.eq(Some(at)),
                connections::last_error.eq(None::<String>),
                connections::sealed.eq(Some(sealed)),
                connections::lapses_at.eq(lapses_at),
                connections::claim_id.eq(None::<ClaimId>),
                connections::lease_expires_at.eq(None::<Timestamp>),
            );
            let whose = (
                connections::account_id.eq(V(account)),
                connections::toolkit.eq(toolkit),
            );
            diesel::insert_into(connections::table)
                .values((whose, stands.clone()))
                .on_conflict((connections::account_id, connections::toolkit))
                .do_update()
                .set(stands)
                .run(conn)
                .await?;
            for tool in tools {
                queries::tools::insert(conn, tool, None).await?;
            }
            Ok(())
        })
        .await
    }

    /// Records that connecting a toolkit failed, unless it is connected. Creates its row if necessary.
    pub fn connecting_failed(
        &self,
        account: AccountId,
        toolkit: String,
        said: String,
        at: Timestamp,
    ) -> Answer<'_, ()> {
        keep!(self, |conn| {
            let stands = (
                connections::status.eq(V(IntegrationStatus::Error)),
                connections::last_error.eq(Some(said)),
            );
            let there = connections::table.find((V(account), toolkit.clone()));
            let not_connected = there.filter(connections::status.ne(V(IntegrationStatus::Active)));
            if diesel::update(not_connected)
                .set(stands.clone())
                .changes(conn)
                .await?
            {
                return Ok(());
            }
            let whose = (
                connections::account_id.eq(V(account)),
                connections::toolkit.eq(toolkit),
                connections::id.eq(V(mint::<CredentialId>(at))),
            );
            diesel::insert_into(connections::table)
                .values((whose, stands))
                .on_conflict_do_nothing()
                .run(conn)
                .await
        })
    }

    /// Disconnects a toolkit, and returns its tokens for the last time, if there are any. `None` if it is not
    /// connected. [`crate::StoreError::Corrupt`] if the tokens cannot be opened.
    pub async fn disconnect_integration(
        &self,
        account: AccountId,
        toolkit: String,
    ) -> Result<Option<Option<String>>> {
        let ended = keep!(self, |conn| {
            let there = connections::table.find((V(account), toolkit));
            let row = there.clone().select(Connection::as_select());
            let found: Option<Connection> = row.locked("FOR UPDATE").found(conn).await?;
            let over = IntegrationStatus::Disconnected;
            let ended = some_or!(found.filter(|connection| connection.status != over), None);
            diesel::update(there)
                .set(row! {
                    connections: status = over, last_error = NULL, sealed = NULL, lapses_at = NULL,
                    claim_id = NULL, lease_expires_at = NULL
                })
                .run(conn)
                .await?;
            Ok(Some(ended))
        })
        .await?;
        ended.map(|ended| self.tokens_of(&ended)).transpose()
    }

    /// Claims the renewal of these tokens for `lease`.
    pub fn take_tokens(
        &self,
        id: CredentialId,
        lease: Duration,
        now: Timestamp,
    ) -> Answer<'_, TokenTurn> {
        let offset = self.offset();
        keep!(self, |conn| {
            let judged = dialect!(conn, lease_clock(offset))?;
            let these = connections::table.filter(connections::id.eq(V(id)));
            let is_free = connections::lease_expires_at
                .is_null()
                .or(connections::lease_expires_at.lt(V(judged)));
            let claim: ClaimId = mint(now);
            let taken = diesel::update(these.filter(is_free))
                .filter(connections::sealed.is_not_null())
                .set(row! { connections: claim_id = claim, lease_expires_at = judged.plus(lease) })
                .changes(conn);
            ensure!(!taken.await?, TokenTurn::Taken(claim));
            // A lease without a claim: the tokens rest.
            let rest: Option<CredentialId> = these
                .filter(connections::claim_id.is_null())
                .filter(connections::lease_expires_at.ge(V(judged)))
                .select(connections::id)
                .found(conn)
                .await?;
            Ok(match rest {
                Some(_) => TokenTurn::Rests,
                None => TokenTurn::NotOurs,
            })
        })
    }

    /// Releases all claims, at the start of the one process that uses the embedded database.
    pub fn release_tokens(&self) -> Answer<'_, ()> {
        diesel::update(connections::table)
            .filter(connections::lease_expires_at.is_not_null())
            .set(row! { connections: claim_id = NULL, lease_expires_at = NULL })
            .commit(self)
    }

    /// Ends a renewal. `false` if another worker has the claim by now, or the toolkit was disconnected or connected
    /// anew; then nothing is written.
    pub async fn end_renewal(
        &self,
        (id, claim): (CredentialId, ClaimId),
        renewal: Renewal,
    ) -> Result<bool> {
        let (tokens, stands) = match renewal {
            Renewal::Renewed(id, secret, lapses_at) => {
                let sealed = self.master_key.seal(&secret, &id.uuid())?;
                (Some((id, Some(sealed), lapses_at)), None)
            }
            Renewal::Failed(said) => (None, said.map(|said| (IntegrationStatus::Error, said))),
            Renewal::Refused(said) => {
                let expired = (IntegrationStatus::Expired, said);
                (Some((id, None, None)), Some(expired))
            }
        };
        let offset = self.offset();
        keep!(self, |conn| {
            let rested = match &tokens {
                Some(_) => None,
                None => Some(rested(conn, offset).await?),
            };
            let tokens = tokens.map(|(id, sealed, lapses_at)| {
                (
                    connections::id.eq(V(id)),
                    connections::sealed.eq(sealed),
                    connections::lapses_at.eq(lapses_at),
                )
            });
            let stands = stands.map(|(status, said)| {
                (
                    connections::status.eq(V(status)),
                    connections::last_error.eq(Some(said)),
                )
            });
            diesel::update(connections::table)
                .filter(connections::id.eq(V(id)))
                .filter(connections::claim_id.eq(V(claim)))
                .set((
                    row! { connections: claim_id = NULL, lease_expires_at = rested },
                    tokens,
                    stands,
                ))
                .changes(conn)
                .await
        })
        .await
    }

    /// Updates the connection's status after a call to its application with these tokens. With a sentence, the
    /// application refused them although they are new, and the connection gets an error. Without one, a call succeeded,
    /// and an error is over. Nothing is written if the tokens are gone or replaced, or a worker is renewing them.
    pub fn judge_tokens(&self, id: CredentialId, refused: Option<String>) -> Answer<'_, ()> {
        let offset = self.offset();
        keep!(self, |conn| {
            let (status, rested) = match refused {
                Some(_) => (IntegrationStatus::Error, Some(rested(conn, offset).await?)),
                None => (IntegrationStatus::Active, None),
            };
            diesel::update(connections::table)
                .filter(connections::id.eq(V(id)))
                .filter(connections::sealed.is_not_null())
                .filter(connections::claim_id.is_null())
                .set(row! { connections: status, last_error = refused, lease_expires_at = rested })
                .run(conn)
                .await
        })
    }

    /// Stores a pending consent, with a secret that is needed once it is given.
    pub async fn ask_consent(&self, consent: NewConsent, secret: &str) -> Result<()> {
        let sealed = self.master_key.seal(secret, &consent.id.uuid())?;
        diesel::insert_into(consents::table)
            .values(row! {
                consents of consent: id, digest, session_digest, account_id, toolkit,
                sealed = sealed, expires_at
            })
            .commit(self)
            .await
    }

    /// Takes a consent that the application returned: its toolkit and its secret. `None` if this session has no pending
    /// consent of this account with this state's digest, or it has expired. A consent can be taken only once.
    /// [`crate::StoreError::Corrupt`] if the secret cannot be opened.
    pub async fn take_consent(
        &self,
        account: AccountId,
        (digest, session_digest): ([u8; 32], [u8; 32]),
        now: Timestamp,
    ) -> Result<Option<(String, String)>> {
        let taken: Option<(CredentialId, String, Vec<u8>)> = keep!(self, |conn| {
            Ok(diesel::delete(consents::table)
                .filter(consents::digest.eq(digest.to_vec()))
                .filter(consents::session_digest.eq(session_digest.to_vec()))
                .filter(consents::account_id.eq(V(account)))
                .filter(consents::expires_at.gt(V(now)))
                .returning((consents::id, consents::toolkit, consents::sealed))
                .get_result(conn)
                .await
                .optional()?)
        })
        .await?;
        let opened = taken
            .map(|(id, toolkit, sealed)| Ok((toolkit, self.master_key.open(&sealed, &id.uuid())?)));
        opened.transpose()
    }

    /// The toolkits for which the account has a pending consent.
    pub fn consents_asked_for(
        &self,
        account: AccountId,
        now: Timestamp,
    ) -> Answer<'_, Vec<String>> {
        consents::table
            .filter(consents::account_id.eq(V(account)))
            .filter(consents::expires_at.gt(V(now)))
            .select(consents::toolkit)
            .read_all(self)
    }

    /// Deletes the consents that expired. Returns how many.
    pub fn forget_consents(&self, now: Timestamp) -> Answer<'_, usize> {
        diesel::delete(consents::table)
            .filter(consents::expires_at.le(V(now)))
            .commit_counted(self)
    }
}

/// The end of a rest that begins now.
async fn rested(conn: &mut Conn, offset: i64) -> Result<Timestamp> {
    Ok(dialect!(conn, lease_clock(offset))?.plus(REST))
}
