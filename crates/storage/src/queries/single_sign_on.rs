//! Accounts' identity providers, and the sessions that they begin.

use super::{
    people::{audit, member_of},
    sessions,
};
use crate::prelude::*;
use crate::queries;
use crate::schema::{portal_sessions, single_sign_on as providers};

/// Ends the sessions that the account's identity provider has begun.
async fn end_sessions(conn: &mut Conn, account: AccountId) -> Result<()> {
    let of_account = portal_sessions::table.filter(portal_sessions::account_id.eq(V(account)));
    delete(conn, of_account.filter(portal_sessions::by_single_sign_on)).await?;
    Ok(())
}

#[boxed]
impl Store {
    pub fn single_sign_on(&self, account: AccountId) -> Answer<'_, Option<SingleSignOn>> {
        providers::table
            .find(V(account))
            .select(SingleSignOn::as_select())
            .read_first(self)
    }

    /// The account whose members have addresses of this domain.
    pub fn account_of_domain(&self, domain: String) -> Answer<'_, Option<AccountId>> {
        providers::table
            .filter(providers::email_domain.eq(domain))
            .select(providers::account_id)
            .read_first(self)
    }

    /// The secret of the account's client. [`crate::StoreError::Corrupt`] if it cannot be opened.
    pub fn client_secret(&self, provider: &SingleSignOn) -> Result<String> {
        self.master_key.open(&provider.sealed, &provider.id.uuid())
    }

    /// Sets the account's identity provider, and ends the sessions that another one has begun. `None` for the secret
    /// keeps the present one. `false` if another account has the domain.
    pub async fn set_single_sign_on(
        &self,
        account: AccountId,
        new: NewSingleSignOn,
        secret: &str,
        at: Timestamp,
    ) -> Result<bool> {
        let actor = self.actor;
        let id: CredentialId = mint(at);
        let sealed = self.master_key.seal(secret, &id.uuid())?;
        transact!(self, |conn| {
            queries::locks::lock_account(conn, account).await?;
            let taken = providers::table
                .filter(providers::email_domain.eq(&new.email_domain))
                .filter(providers::account_id.ne(V(account)));
            if taken.select(providers::account_id).exists(conn).await? {
                return Ok(Rollback(false));
            }
            let before: Option<String> = providers::table
                .find(V(account))
                .select(providers::issuer)
                .found(conn)
                .await?;
            if before.is_some_and(|before| before != new.issuer) {
                end_sessions(conn, account).await?;
            }
            delete(conn, providers::table.find(V(account))).await?;
            insert! {
                conn, providers of new: account_id = account, id = id, sealed = sealed, issuer, client_id, email_domain,
                is_required, creates_viewers, updated_at = at
            }?;
            audit(conn, account, (actor, "single_sign_on.set", account), at).await?;
            Ok(Commit(true))
        })
        .await
    }

    /// Removes the account's identity provider, and ends the sessions that it has begun. `false` if there is none.
    pub fn remove_single_sign_on(&self, account: AccountId, at: Timestamp) -> Answer<'_, bool> {
        let actor = self.actor;
        transact!(self, |conn| {
            let is_gone = delete(conn, providers::table.find(V(account))).await? > 0;
            ensure!(is_gone, Rollback(false));
            end_sessions(conn, account).await?;
            audit(conn, account, (actor, "single_sign_on.remove", account), at).await?;
            Ok(Commit(true))
        })
    }

    /// Begins a session of the account's member with this address, whom its identity provider has named. `None` if
    /// there is no such member, or the account has another identity provider by now.
    pub fn begin_session_by_provider(
        &self,
        (account, provider): (AccountId, CredentialId),
        email: EmailAddress,
        session: NewSession,
    ) -> Answer<'_, Option<Member>> {
        transact!(self, |conn| {
            let is_same = diesel::update(providers::table.find(V(account)))
                .filter(providers::id.eq(V(provider)))
                .set(providers::issuer.eq(providers::issuer))
                .changes(conn)
                .await?;
            ensure!(is_same, Rollback(None));
            let member = some_or!(member_of(conn, account, &email).await?, Rollback(None));
            sessions::insert(conn, &session, &member).await?;
            diesel::update(portal_sessions::table.find(session.digest.to_vec()))
                .set(portal_sessions::by_single_sign_on.eq(true))
                .run(conn)
                .await?;
            Ok(Commit(Some(member)))
        })
    }

    /// Whether the person's password was set with an invitation, so that nobody vouches for its owner.
    pub fn has_unproven_password(&self, email: EmailAddress) -> Answer<'_, bool> {
        read!(self, |conn| {
            people::table
                .find(V(&email))
                .filter(people::by_invitation)
                .select(people::email)
                .exists(conn)
                .await
        })
    }
}
