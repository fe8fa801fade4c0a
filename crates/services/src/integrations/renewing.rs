//! Renews tokens when they are used, or once a day: one process at a time, by a lease.
//!
//! A renewal of one account's tokens is claimed for [`LEASE`] and ends in one conditional write. Some applications
//! revoke a refresh token when they return a new one. A process that dies between that response and the write has lost
//! both: the next renewal is refused, the connection has `expired`, and the account must connect it again. The only
//! remedy is to write right after the response, as here.

use futures_util::FutureExt as _;
use offhook_boxed::boxed;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use offhook_domain::ports::{Application, GrantError};
use offhook_domain::{AccountId, ClaimId, CredentialId, IntegrationFault};
use offhook_storage::{Connection, Renewal, StoreError, TokenTurn, mint};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::Integrations;
use super::tokens::Tokens;
use crate::retry::retried;
use crate::workers::{Turns, counted};
use crate::{Context, Result, Toolkit};

/// The job name under which processes take turns.
const JOB: &str = "integrations";

/// How often a process checks whether it is its turn.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// How often expired, unused tokens are renewed, so that no refresh token lapses for lack of use.
const DUE_EVERY: Duration = Duration::from_secs(86_400);

/// How soon that is retried when the store failed.
const AGAIN_AFTER: Duration = Duration::from_secs(3_600);

/// How long one process has for a renewal, by the clock of leases: several times a request's limits.
const LEASE: Duration = Duration::from_secs(60);

/// How often a process that waits for another's renewal checks whether it is over.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Connections that a process renews at once.
const BATCH: i64 = 16;

/// The result of a renewal.
pub(super) enum Renewed {
    /// Valid tokens.
    Granted(CredentialId, Tokens),
    /// None now; there may be later.
    NotNow,
    /// The application is not called: it returned none, or refused new ones, a moment ago.
    Rests,
    /// None until the account connects the application again.
    Never,
}

/// The worker that renews unused tokens and deletes expired consents.
pub struct Renewals(pub(crate) Integrations);

#[boxed]
impl Renewals {
    /// Takes turns with other processes until `stop`. A renewal that has begun is completed.
    pub async fn run(self, stop: CancellationToken) {
        if self.0.1.get().is_none_or(Vec::is_empty) {
            return stop.cancelled().await;
        }
        if self.0.0.store.is_embedded() {
            // The process that held these is gone.
            tokio::select! {
                () = stop.cancelled() => return,
                released = retried(|| self.0.0.store.release_tokens()) => if let Err(error) = released {
                    tracing::error!(%error, "tokens that an earlier process was renewing could not be taken over");
                },
            }
        }
        let mut turns = Turns::new(LOOK_EVERY, &stop);
        while turns.next().await {
            if let Err(error) = self.run_due(&stop).await {
                tracing::warn!(%error, "tokens of integrations could not be renewed");
            }
        }
    }

    /// Renews expired tokens, if a day has passed and no other process is doing so. Returns how many connections it
    /// renewed.
    pub async fn run_due(&self, stop: &CancellationToken) -> Result<usize> {
        if !self.0.0.take_job(JOB).await? {
            return Ok(0);
        }
        let renewed = counted(JOB, self.renew_lapsed(stop).await);
        let pause = match renewed {
            // The rest is due at once, for the next process.
            Ok(_) if stop.is_cancelled() => Duration::ZERO,
            Ok(_) => DUE_EVERY,
            Err(_) => AGAIN_AFTER,
        };
        self.0.0.finish_job(JOB, pause).await?;
        renewed
    }

    async fn renew_lapsed(&self, stop: &CancellationToken) -> Result<usize> {
        let (store, now) = (&self.0.0.store, self.0.0.clock.now());
        store.forget_consents(now).await?;
        let (mut after, mut count) = (CredentialId::nil(), 0);
        loop {
            let lapsed = store.lapsed_connections(after, BATCH, now).await?;
            let Some(last) = lapsed.last() else {
                return Ok(count);
            };
            (after, count) = (last.id, count + lapsed.len());
            join_all(lapsed.iter().map(|connection| self.renew(connection))).await;
            if stop.is_cancelled() || !self.0.0.take_job(JOB).await? {
                return Ok(count);
            }
        }
    }

    /// A failure does not hold up other connections.
    async fn renew(&self, connection: &Connection) {
        let Some(application) = self.0.application(&connection.toolkit) else {
            return;
        };
        if let Err(error) = renew_now(&self.0.0, &application, connection, false).await {
            let account = connection.account_id;
            tracing::error!(%account, %error, "tokens of an integration could not be renewed");
        }
    }
}

impl Context {
    /// A connection that has tokens, with its tokens.
    pub(super) async fn tokens(
        &self,
        account: AccountId,
        toolkit: &str,
    ) -> Result<Option<(Connection, Tokens)>> {
        let found = self.store.connection(account, toolkit.to_owned()).await?;
        let Some(connection) = found else {
            return Ok(None);
        };
        let secret = self.store.tokens_of(&connection)?;
        let tokens = secret.as_deref().map(Tokens::read).transpose()?;
        Ok(tokens.map(|tokens| (connection, tokens)))
    }

    /// Revokes a grant that is not stored. Not if another grant is in use, because some applications revoke that one
    /// too.
    pub(super) async fn give_back(
        &self,
        account: AccountId,
        application: &dyn Application,
        tokens: &Tokens,
    ) {
        let there = self.tokens(account, application.toolkit()).await;
        if !matches!(there, Ok(None)) {
            return;
        }
        if let Err(error) = application.consents().revoke(tokens.whole()).await {
            tracing::warn!(%account, %error, "a token that nobody needs was not revoked");
        }
    }
}

/// Replaces a connection's invalid tokens. This process renews them, or waits for another one that already does. It
/// does not retry right after a failure, so that an application in trouble is not called by every request. A failure
/// during use (`in_use`) becomes an error of the connection.
pub(super) async fn renew_now(
    shared: &Arc<Context>,
    application: &Arc<dyn Application>,
    connection: &Connection,
    in_use: bool,
) -> Result<Renewed> {
    loop {
        let there = shared.tokens(connection.account_id, &connection.toolkit);
        let Some((there, tokens)) = there.await? else {
            return Ok(Renewed::Never);
        };
        if there.id != connection.id {
            return Ok(Renewed::Granted(there.id, tokens));
        }
        // The waiting caller may give up; the renewal runs to its end.
        let (shared, application) = (shared.clone(), application.clone());
        let turn = tokio::spawn(
            async move {
                let now = shared.clock.now();
                match shared.store.take_tokens(there.id, LEASE, now).await? {
                    TokenTurn::Taken(claim) => {
                        let turn = (there.id, claim);
                        renew(
                            &shared,
                            &*application,
                            there.account_id,
                            turn,
                            tokens,
                            in_use,
                        )
                        .await
                    }
                    TokenTurn::Rests => Ok(Some(Renewed::Rests)),
                    TokenTurn::NotOurs => Ok(None),
                }
            }
            .boxed(),
        );
        let ended = turn.await;
        if let Some(renewed) = ended.map_err(|error| StoreError::Internal(error.to_string()))?? {
            return Ok(renewed);
        }
        sleep(LOOK_AGAIN).await;
    }
}

/// Renews tokens under a claim; `None` if the claim was lost.
async fn renew(
    shared: &Context,
    application: &dyn Application,
    account: AccountId,
    turn: (CredentialId, ClaimId),
    tokens: Tokens,
    in_use: bool,
) -> Result<Option<Renewed>> {
    let toolkit = application.toolkit();
    let refused = |fault: fn(String) -> IntegrationFault| {
        let fault = fault(Toolkit::name_of(toolkit).to_owned());
        (Renewal::Refused(fault.to_string()), Renewed::Never)
    };
    let (renewal, renewed) = match tokens.refresh_token {
        None => refused(IntegrationFault::Expired),
        Some(refresh_token) => match application.consents().refresh(&refresh_token).await {
            Ok(grant) => {
                let now = shared.clock.now();
                let (tokens, lapses_at) = Tokens::granted(grant, Some(refresh_token), now);
                let id = mint(now);
                let renewal = Renewal::Renewed(id, tokens.to_text(), lapses_at);
                (renewal, Renewed::Granted(id, tokens))
            }
            Err(GrantError::Refused) => refused(IntegrationFault::Withdrawn),
            Err(error) => {
                tracing::warn!(%account, toolkit, %error, "tokens are not renewed");
                let message = in_use.then(|| not_renewed(toolkit, error).to_string());
                (Renewal::Failed(message), Renewed::NotNow)
            }
        },
    };
    // Written as soon as the database allows: the application's response cannot be obtained again.
    if retried(|| shared.store.end_renewal(turn, renewal.clone())).await? {
        return Ok(Some(renewed));
    }
    // A try whose response was lost has written it; or the connection was removed or replaced meanwhile, and the new
    // tokens belong to no connection.
    if let Renewed::Granted(_, tokens) = renewed {
        shared.give_back(account, application, &tokens).await;
    }
    Ok(None)
}

fn not_renewed(toolkit: &str, error: GrantError) -> IntegrationFault {
    let name = Toolkit::name_of(toolkit).to_owned();
    match error {
        GrantError::Unreachable => IntegrationFault::LapsedSilent(name),
        GrantError::Client => IntegrationFault::LapsedClient {
            name,
            toolkit: toolkit.to_owned(),
        },
        GrantError::Answered(status) => IntegrationFault::LapsedStatus { name, status },
        GrantError::Refused
        | GrantError::Partial
        | GrantError::Malformed
        | GrantError::NoRevocation => IntegrationFault::LapsedMalformed(name),
    }
}
