//! By what accounts use other applications, sealed with the row's id as associated data; and the consents that are being
//! asked for.

use async_recursion::async_recursion as boxed;
use std::time::Duration;

use offhook_domain::{AccountId, ClaimId, CredentialId, IntegrationStatus, Timestamp};

use super::{Answer, keep, mint, read, write};
use crate::dialect::dialect;
use crate::queries;
use crate::{
    Connection, HeldTokens, NewConsent, Renewal, Result, Store, TokenTimes, ToolRow, Verdict,
};

/// How long tokens rest after a turn that failed, by the clock of leases: who needs them meanwhile does not ask the
/// application again.
const REST: Duration = Duration::from_secs(15);

impl Store {
    /// Remembers a consent that is being asked for, with a secret that is needed once it is given.
    #[boxed]
    pub async fn ask_consent(&self, consent: NewConsent, secret: &str) -> Result<()> {
        let sealed = self.master_key.seal(secret, &consent.id.uuid())?;
        keep!(self, |conn| queries::integration_tokens::insert_consent(
            conn, consent, sealed
        )
        .await)
        .await
    }

    /// Takes a consent that came back: its toolkit, and its secret. `None` if there is none with this state's digest that
    /// was asked for by this session for this account, or its time is over. It is found once.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if the secret does not open.
    #[boxed]
    pub async fn take_consent(
        &self,
        account: AccountId,
        digests: ([u8; 32], [u8; 32]),
        now: Timestamp,
    ) -> Result<Option<(String, String)>> {
        let taken = write!(self, |conn| {
            let taken =
                queries::integration_tokens::take_consent(conn, account, digests, now).await?;
            Ok(match taken {
                None => Verdict::Rollback(None),
                taken => Verdict::Commit(taken),
            })
        })
        .await?;
        let open = |(id, toolkit, sealed): (CredentialId, String, Vec<u8>)| {
            Ok((toolkit, self.master_key.open(&sealed, &id.uuid())?))
        };
        taken.map(open).transpose()
    }

    /// Connects a toolkit: its tokens in place of those that the account had for it, and the tools that it brings.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] if a tool's name is taken.
    #[boxed]
    pub async fn connect_integration(
        &self,
        (account, toolkit): (AccountId, String),
        secret: &str,
        times: TokenTimes,
        tools: Vec<ToolRow>,
        at: Timestamp,
    ) -> Result<Connection> {
        let id: CredentialId = mint(at);
        let sealed = self.master_key.seal(secret, &id.uuid())?;
        keep!(self, |conn| {
            // Two connections of one toolkit, and their tools, come one after the other.
            queries::locks::lock_account(conn, account).await?;
            queries::integration_tokens::remove(conn, account, &toolkit).await?;
            let whose = (account, toolkit.clone());
            queries::integration_tokens::insert(conn, id, whose, sealed, times, at).await?;
            let connection = queries::integrations::connected(conn, (account, toolkit), at).await?;
            for tool in tools {
                queries::tools::insert(conn, tool, None).await?;
            }
            Ok(connection)
        })
        .await
    }

    /// Says that connecting a toolkit failed, unless it is connected. One that has no row gets one.
    pub fn connecting_failed(
        &self,
        account: AccountId,
        toolkit: String,
        said: String,
        at: Timestamp,
    ) -> Answer<'_, ()> {
        write!(self, |conn| {
            queries::locks::lock_account(conn, account).await?;
            let before = queries::integrations::find(conn, account, &toolkit).await?;
            if before.is_some_and(|before| before.status == IntegrationStatus::Active) {
                return Ok(Verdict::Rollback(()));
            }
            let stands = (IntegrationStatus::Error, Some(said));
            queries::integrations::state(conn, (account, toolkit), stands, at).await?;
            Ok(Verdict::Commit(()))
        })
    }

    /// Takes a toolkit's connection back; its tokens, for the last time, if there are any. `None` if there is no
    /// connection to take back.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if the tokens do not open.
    #[boxed]
    pub async fn disconnect_integration(
        &self,
        account: AccountId,
        toolkit: String,
        at: Timestamp,
    ) -> Result<Option<Option<HeldTokens>>> {
        use IntegrationStatus::{Active, Connecting, Disconnected, Error, Expired};
        let removed = write!(self, |conn| {
            queries::locks::lock_account(conn, account).await?;
            let removed = queries::integration_tokens::remove(conn, account, &toolkit).await?;
            let from = [Active, Connecting, Error, Expired];
            let (whose, to) = ((account, toolkit.as_str()), (Disconnected, None));
            let is_over = queries::integration_tokens::restate(conn, whose, &from, to, at).await?;
            Ok(match is_over || removed.is_some() {
                true => Verdict::Commit(Some(removed)),
                false => Verdict::Rollback(None),
            })
        })
        .await?;
        match removed {
            Some(tokens) => Ok(Some(tokens.map(|sealed| self.opened(sealed)).transpose()?)),
            None => Ok(None),
        }
    }

    /// How an account stands to a toolkit, and by what it uses it.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if the tokens do not open.
    #[boxed]
    pub async fn integration(
        &self,
        account: AccountId,
        toolkit: String,
    ) -> Result<(Option<Connection>, Option<HeldTokens>)> {
        let (connection, tokens) = read!(self, |conn| {
            let connection = queries::integrations::find(conn, account, &toolkit).await?;
            let tokens = queries::integration_tokens::find(conn, account, &toolkit).await?;
            Ok((connection, tokens))
        })
        .await?;
        let tokens = tokens.map(|sealed| self.opened(sealed)).transpose()?;
        Ok((connection, tokens))
    }

    /// Whether any tokens are to be renewed.
    pub fn has_due_tokens(&self, now: Timestamp) -> Answer<'_, bool> {
        let offset = self.offset();
        read!(self, |conn| {
            let judged = dialect!(conn, lease_clock(offset))?;
            queries::integration_tokens::has_due(conn, now, judged).await
        })
    }

    /// Takes the turn at renewing up to `most` tokens that are due; it is this caller's for `lease`, by the claim in each.
    /// Tokens that do not open are [`StoreError::Corrupt`] among the others.
    #[boxed]
    pub async fn take_due_tokens(
        &self,
        most: i64,
        lease: Duration,
        now: Timestamp,
    ) -> Result<Vec<Result<HeldTokens>>> {
        let offset = self.offset();
        let taken = write!(self, |conn| {
            let judged = dialect!(conn, lease_clock(offset))?;
            let times = (now, judged, judged.plus(lease));
            let mut taken = Vec::new();
            for id in queries::integration_tokens::due(conn, most, now, judged).await? {
                // Another process may have been faster, and be done already.
                let which = (id, false);
                let claim: ClaimId = mint(now);
                taken.extend(queries::integration_tokens::take(conn, which, claim, times).await?);
            }
            Ok(match taken.is_empty() {
                true => Verdict::Rollback(taken),
                false => Verdict::Commit(taken),
            })
        })
        .await?;
        let opened = taken.into_iter().map(|sealed| self.opened(sealed));
        Ok(opened.collect())
    }

    /// Takes the turn at renewing these tokens for `lease`, due or not; `None` if they are gone, others are there in their
    /// place, somebody else is at it, or they rest ([`Store::tokens_rest`]).
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if the tokens do not open.
    pub fn take_tokens(
        &self,
        held: &HeldTokens,
        lease: Duration,
        now: Timestamp,
    ) -> Answer<'_, Option<HeldTokens>> {
        let (id, offset) = (held.id, self.offset());
        let (store, known) = (self.clone(), held.secret.clone());
        write!(self, |conn| {
            let judged = dialect!(conn, lease_clock(offset))?;
            let times = (now, judged, judged.plus(lease));
            let taken =
                queries::integration_tokens::take(conn, (id, true), mint(now), times).await?;
            let taken = taken.map(|sealed| store.opened(sealed)).transpose()?;
            Ok(match taken.filter(|taken| taken.secret == known) {
                None => Verdict::Rollback(None),
                taken => Verdict::Commit(taken),
            })
        })
    }

    /// Whether these tokens rest: the last turn at them failed a moment ago, and nobody but the clock begins another one.
    pub fn tokens_rest(&self, held: &HeldTokens) -> Answer<'_, bool> {
        let (id, offset) = (held.id, self.offset());
        read!(self, |conn| {
            let judged = dialect!(conn, lease_clock(offset))?;
            queries::integration_tokens::is_resting(conn, id, judged).await
        })
    }

    /// Ends a turn at renewing, and says how the connection stands then; `false` if the turn was another's by now, or the
    /// connection was taken back or made anew: then nothing is written.
    #[boxed]
    pub async fn end_renewal(
        &self,
        turn: (CredentialId, ClaimId),
        renewal: Renewal,
        at: Timestamp,
    ) -> Result<bool> {
        use IntegrationStatus::{Active, Error, Expired};
        let offset = self.offset();
        let sealed = match &renewal {
            Renewal::Renewed(secret, _) => self.master_key.seal(secret, &turn.0.uuid())?,
            Renewal::Later(..) | Renewal::Refused(_) => Vec::new(),
        };
        write!(self, |conn| {
            let (ended, from, to) = match renewal {
                Renewal::Renewed(_, times) => {
                    let ended = queries::integration_tokens::renewed(conn, turn, sealed, times, at);
                    let ended = ended.await?;
                    // That new ones are refused is over with a call that gets in, not with more of them.
                    let is_refused = matches!(ended, Some((_, _, Some(_))));
                    let ended = ended.map(|(account, toolkit, _)| (account, toolkit));
                    let to = (!is_refused).then_some((Active, None));
                    (ended, vec![Error], to)
                }
                Renewal::Later(again, said) => {
                    let rested = dialect!(conn, lease_clock(offset))?.plus(REST);
                    let ended = queries::integration_tokens::later(conn, turn, again, rested);
                    let ended = ended.await?;
                    let to = said.map(|said| (Error, Some(said)));
                    (ended, vec![Active, Error], to)
                }
                Renewal::Refused(said) => {
                    let ended = queries::integration_tokens::refused(conn, turn).await?;
                    (ended, vec![Active, Error], Some((Expired, Some(said))))
                }
            };
            let Some((account, toolkit)) = ended else {
                return Ok(Verdict::Rollback(false));
            };
            if let Some(to) = to {
                let whose = (account, toolkit.as_str());
                queries::integration_tokens::forget_refusal(conn, whose).await?;
                queries::integration_tokens::restate(conn, whose, &from, to, at).await?;
            }
            Ok(Verdict::Commit(true))
        })
        .await
    }

    /// Says how the connection stands after its application was called with these tokens: with a sentence they were refused
    /// though they are new, and it has an error; without one a call got in, and that error is over, as is one of a renewal
    /// that failed. `false` if others are in their place, or something else was said of the connection meanwhile: then
    /// nothing is written.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if the tokens there do not
    /// open.
    pub fn judge_tokens(
        &self,
        used: HeldTokens,
        refused: Option<String>,
        at: Timestamp,
    ) -> Answer<'_, bool> {
        use IntegrationStatus::{Active, Error};
        let store = self.clone();
        write!(self, |conn| {
            // By a write, so that whoever connects or renews meanwhile waits.
            let refused_at = refused.is_some().then_some(at);
            let which = (used.id, used.refused_at.is_some());
            let there = queries::integration_tokens::judge(conn, which, refused_at).await?;
            let there = there.map(|sealed| store.opened(sealed)).transpose()?;
            // A renewal that failed, or the operator, has said something since.
            let is_over = used.refused_at.is_none() && refused.is_none();
            let is_other = |there: HeldTokens| {
                there.secret != used.secret || (is_over && there.tries != used.tries)
            };
            if there.is_none_or(is_other) {
                return Ok(Verdict::Rollback(false));
            }
            // The error of tokens that are known as refused is that they are; of others, that they were not renewed.
            let from = match (used.refused_at, is_over) {
                (Some(_), _) => vec![Active, Error],
                (None, true) => vec![Error],
                (None, false) => vec![Active],
            };
            let to = match refused {
                Some(said) => (Error, Some(said)),
                None => (Active, None),
            };
            let whose = (used.account_id, used.toolkit.as_str());
            let stands = queries::integration_tokens::restate(conn, whose, &from, to, at);
            Ok(match stands.await? {
                true => Verdict::Commit(true),
                false => Verdict::Rollback(false),
            })
        })
    }

    fn opened(&self, (tokens, sealed): (HeldTokens, Vec<u8>)) -> Result<HeldTokens> {
        let secret = self.master_key.open(&sealed, &tokens.id.uuid())?;
        Ok(HeldTokens { secret, ..tokens })
    }
}
