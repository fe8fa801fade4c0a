//! Renewing tokens before they lapse: a job that processes share by leases.
//!
//! A turn at one account's tokens is claimed for [`LEASE`] and ends in one conditional write. Some applications take a
//! refresh token out of use when they answer with another one: a process that ends between that answer and the write
//! has lost both, the next turn is refused, and the connection has `expired`: the account connects it again. Nothing
//! can be kept from that but to have the write follow the answer at once, as it does here.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use offhook_domain::{ClaimId, CredentialId, Timestamp};
use offhook_engine::ports::GrantError;
use offhook_storage::{HeldTokens, Renewal, StoreError};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::tokens::{Tokens, part};
use crate::dialer::insist;
use crate::housekeeping::counted;
use crate::workers::Turns;
use crate::{Result, Shared};

/// How often due tokens are looked for.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// How long one process has for a turn, by the clock of leases: a request's limits several times over.
const LEASE: Duration = Duration::from_secs(60);

/// How often who waits for another one's turn looks whether it is over.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Tokens that a process renews at once.
const BATCH: i64 = 16;

/// The pause behind the first turn that failed; each further one is twice as long.
const AGAIN: Duration = Duration::from_secs(30);

/// The longest pause.
const AGAIN_AT_MOST: Duration = Duration::from_secs(900);

/// What came of having tokens renewed for somebody who needs them.
pub(super) enum Renewed {
    /// These are good.
    Granted(Tokens),
    /// There are none now, and there may be later: the application gave none, or is not asked again so soon.
    NotNow,
    /// There are none until somebody connects the application.
    Never,
}

/// The worker that renews tokens, and forgets consents that nobody gave.
pub struct Renewals(pub(crate) Arc<Shared>);

impl Renewals {
    /// Renews what is due, until `stop`. A turn that has begun ends.
    pub async fn run(self, stop: CancellationToken) {
        if self.0.applications.get().is_none_or(Vec::is_empty) {
            return stop.cancelled().await;
        }
        if self.0.store.is_embedded() {
            // The process that had these is gone.
            tokio::select! {
                () = stop.cancelled() => return,
                released = insist(|| self.0.store.release_tokens()) => if let Err(error) = released {
                    tracing::error!(%error, "tokens that an earlier process was renewing could not be taken over");
                },
            }
        }
        let mut turns = Turns::new(LOOK_EVERY, &stop);
        while turns.next().await {
            if let Err(error) = counted("integration_tokens", self.run_due().await) {
                tracing::warn!(%error, "tokens of integrations could not be renewed");
            }
        }
    }

    /// Renews what is due now; how many turns there were.
    pub async fn run_due(&self) -> Result<usize> {
        let (store, mut turns) = (&self.0.store, 0);
        let now = self.0.clock.now();
        while store.forget_consents(now).await? > 0 {}
        // Only reads while nothing is due.
        while store.has_due_tokens(self.0.clock.now()).await? {
            let taken = store
                .take_due_tokens(BATCH, LEASE, self.0.clock.now())
                .await?;
            if taken.is_empty() {
                break;
            }
            turns += taken.len();
            let turn = |held: Result<HeldTokens>| async move { renew(&self.0, held?, false).await };
            for ended in join_all(taken.into_iter().map(turn)).await {
                // It keeps nobody else's waiting; its own lease will end.
                if let Err(error) = ended {
                    tracing::error!(%error, "tokens of an integration could not be renewed");
                }
            }
        }
        Ok(turns)
    }
}

/// Tokens in place of `held`, which are good no more: renewed now, by this process or by another one that is at it; but not
/// right after a turn that failed, so that an application that is not well is not asked by every call.
pub(super) async fn renew_now(shared: &Arc<Shared>, held: &HeldTokens) -> Result<Renewed> {
    loop {
        let whose = (held.account_id, held.toolkit.clone());
        let (_, there) = shared.store.integration(whose.0, whose.1).await?;
        let Some(there) = there else {
            return Ok(Renewed::Never);
        };
        if there.secret != held.secret {
            return Tokens::read(&there.secret).map(Renewed::Granted);
        }
        // Who waits for the turn may give up; it reaches its end.
        let shared = shared.clone();
        let turn = tokio::spawn(async move {
            let now = shared.clock.now();
            if let Some(taken) = shared.store.take_tokens(&there, LEASE, now).await? {
                return renew(&shared, taken, true).await.map(Some);
            }
            let rests = shared.store.tokens_rest(&there).await?;
            Ok(rests.then_some(Renewed::NotNow))
        });
        let ended = turn.await;
        if let Some(renewed) = ended.map_err(|error| StoreError::Internal(error.to_string()))?? {
            return Ok(renewed);
        }
        sleep(LOOK_AGAIN).await;
    }
}

/// A turn that was taken; `needed`: because the application takes the present tokens no more.
async fn renew(shared: &Shared, held: HeldTokens, needed: bool) -> Result<Renewed> {
    let Some(claim) = held.claim else {
        return Ok(Renewed::NotNow);
    };
    let turn = (held.id, claim);
    let name = shared.toolkits.find(&held.toolkit);
    let name = name.map_or(held.toolkit.as_str(), |toolkit| toolkit.name.as_str());
    let tokens = Tokens::read(&held.secret)?;
    let Some(application) = shared.application(&held.toolkit) else {
        let now = shared.clock.now();
        let said = format!("this service is not set up for {name} any more");
        end(shared, turn, later(&held, said, needed, now), now).await?;
        return Ok(Renewed::NotNow);
    };
    let Some(refresh_token) = tokens.refresh_token else {
        let said = format!("{name} granted access for a time, and that is over: connect it again");
        end(shared, turn, Renewal::Refused(said), shared.clock.now()).await?;
        return Ok(Renewed::Never);
    };
    let granted = application.consents().refresh(&refresh_token).await;
    let now = shared.clock.now();
    let (renewal, renewed) = match granted {
        Ok(grant) => {
            let (tokens, times) = Tokens::granted(grant, Some(refresh_token), now);
            let renewal = Renewal::Renewed(tokens.to_text(), times);
            if end(shared, turn, renewal, now).await? {
                return Ok(Renewed::Granted(tokens));
            }
            let is_there = shared
                .store
                .integration(held.account_id, held.toolkit.clone())
                .await?;
            if is_there
                .1
                .as_ref()
                .is_some_and(|there| there.secret == tokens.to_text())
            {
                // Written by a try whose answer was lost.
                return Ok(Renewed::Granted(tokens));
            }
            // Taken back or connected anew meanwhile: what came belongs to nobody.
            if let Some(there) = is_there.1 {
                return Tokens::read(&there.secret).map(Renewed::Granted);
            }
            if let Err(error) = application.consents().revoke(tokens.whole()).await {
                tracing::warn!(account = %held.account_id, %error, "a token that nobody needs was not revoked");
            }
            return Ok(Renewed::Never);
        }
        Err(GrantError::Refused) => {
            let said = format!(
                "{name} takes the authorization no more (it was withdrawn there, or has run out): connect it again"
            );
            (Renewal::Refused(said), Renewed::Never)
        }
        Err(error) => {
            tracing::warn!(account = %held.account_id, toolkit = %held.toolkit, %error, "tokens are not renewed");
            let said = not_renewed(name, &held.toolkit, error);
            (later(&held, said, needed, now), Renewed::NotNow)
        }
    };
    end(shared, turn, renewal, now).await?;
    Ok(renewed)
}

/// Writes down how a turn ended, as soon as the database lets it: the application's answer is there once.
async fn end(
    shared: &Shared,
    turn: (CredentialId, ClaimId),
    renewal: Renewal,
    at: Timestamp,
) -> Result<bool> {
    insist(|| shared.store.end_renewal(turn, renewal.clone(), at)).await
}

/// Another turn, later and later; and an error as soon as the access token has lapsed or is taken no more, no sooner.
fn later(held: &HeldTokens, said: String, needed: bool, now: Timestamp) -> Renewal {
    let doublings = u32::try_from(held.tries.clamp(0, 8)).unwrap_or(0);
    let pause = (AGAIN * 2_u32.pow(doublings)).min(AGAIN_AT_MOST);
    let again = now.plus(pause + part(pause / 4, now));
    let is_over = needed || held.lapses_at.is_some_and(|lapses_at| lapses_at <= now);
    Renewal::Later(again, is_over.then_some(said))
}

fn not_renewed(name: &str, toolkit: &str, error: GrantError) -> String {
    match error {
        GrantError::Unreachable => {
            format!(
                "{name} does not answer, and the access that it granted has lapsed; it is asked again and again"
            )
        }
        GrantError::Client => format!(
            "{name} does not know this service any more: whoever runs it must look at integrations.{toolkit}.client_id \
             and integrations.{toolkit}.client_secret"
        ),
        GrantError::Answered(status) => format!(
            "{name} answers with HTTP status {status}, and the access that it granted has lapsed; it is asked again and \
             again"
        ),
        GrantError::Refused | GrantError::Partial | GrantError::Malformed => format!(
            "{name} answers in a form that is not the documented one, and the access that it granted has lapsed; it is \
             asked again and again"
        ),
    }
}
