//! Users who sign in to the portal: passwords, sessions, links and first run.

mod first;
mod joining;
mod oidc;
mod passkeys;
mod passwords;
mod sessions;
mod single_sign_on;
mod teamwork;
mod totp;
mod two_step;

use futures_util::FutureExt as _;
use std::sync::atomic::AtomicBool;

use offhook_egress::GuardedClient;
use parking_lot::Mutex;
use tokio::time::timeout;

use crate::prelude::*;
use crate::retry::retried;
use crate::{Result, Zone};

pub(crate) use sessions::delete_ended;

pub use first::{BeginError, NewService};
pub use joining::{InvitationFor, JoinError, Link, LinkError, LinkFor};
pub use oidc::ProviderFault;
pub use passkeys::RelyingParty;
pub use passwords::{PASSWORD_LENGTHS, PasswordFault};
pub use sessions::{ChangePasswordError, SignInError, SignedIn};
pub use single_sign_on::{SingleSignOnBegun, SingleSignOnError, SingleSignOnFault};
pub use two_step::{CodeError, GivenFactor, NewFactor, TwoStepError, new_factor};

/// How long a response waits for its change's entry in the audit log.
const NOTED_WITHIN: Duration = Duration::from_secs(5);

/// How long a form that is sent again counts as the same one: the lifetime of an `Idempotency-Key`, plus the time that
/// its audit entry may have taken.
const SENT_AGAIN_WITHIN: Duration = Duration::from_secs(25 * 3_600);

/// Waits for an audit entry to be written, [`NOTED_WITHIN`] at most. A slower write continues in the background.
async fn noted(action: &str, writing: impl Future<Output = Result<()>> + Send + 'static) {
    let action = action.to_owned();
    let writing = tokio::spawn(
        async move {
            if let Err(error) = writing.await {
                tracing::error!(%error, action, "a change is missing in the audit log");
            }
        }
        .boxed(),
    );
    let _ = timeout(NOTED_WITHIN, writing).await;
}

/// A signed-in user, as a member of one of their accounts.
#[derive(Debug, Clone)]
pub struct Person {
    /// The account and its plan's terms, without a key.
    pub caller: Caller,
    /// The user's membership in it.
    pub member: Member,
    /// The id and name of every account of the user, the one joined first at the front.
    pub accounts: Vec<(AccountId, String)>,
    /// The zone in which the account reads times.
    pub zone: Zone,
    /// Whether the account's identity provider began the session, which then opens this account alone.
    pub by_single_sign_on: bool,
    /// The digest of the session's token.
    pub(crate) session: [u8; 32],
}

impl Person {
    /// The user as the audit log names them.
    pub const fn actor(&self) -> Actor {
        Actor::Member(self.member.id)
    }
}

#[derive(Clone)]
pub struct People {
    ctx: Arc<Context>,
    passwords: passwords::Passwords,
    oidc: Arc<oidc::Oidc>,
    /// The code that creates the first account, once requested.
    first_code: Arc<Mutex<Option<String>>>,
    /// There is an account; this never changes back.
    has_begun: Arc<AtomicBool>,
}

#[boxed]
impl People {
    pub(crate) fn new(ctx: Arc<Context>, client: GuardedClient) -> Self {
        Self {
            ctx,
            oidc: Arc::new(oidc::Oidc::new(client)),
            passwords: passwords::Passwords::default(),
            first_code: Arc::default(),
            has_begun: Arc::default(),
        }
    }

    /// Writes to the audit log that the user has done something: `action` such as `agent.publish`, `target` an id or a
    /// name, never a secret. The change is already made. If the database is unavailable, the entry is written once it
    /// is back, and the response waits no longer than [`NOTED_WITHIN`].
    pub async fn note(&self, person: &Person, action: &str, target: &str, changes: Changes) {
        let words = (action.to_owned(), target.to_owned());
        let (account, at) = (person.member.account_id, self.ctx.clock.now());
        let store = self.ctx.store.acting(person.actor());
        noted(action, async move {
            retried(|| store.note(account, words.clone(), changes.clone(), at)).await
        })
        .await;
    }

    /// The same for a form that may have been handled and recorded before with the same `Idempotency-Key`.
    pub async fn note_once(&self, person: &Person, action: &str, target: &str) {
        let words = (action.to_owned(), target.to_owned());
        let (account, at) = (person.member.account_id, self.ctx.clock.now());
        let since = at.minus(SENT_AGAIN_WITHIN);
        let store = self.ctx.store.acting(person.actor());
        noted(action, async move {
            retried(|| store.note_once(account, words.clone(), since, at)).await
        })
        .await;
    }

    /// Lists the account's audit log, newest first.
    pub async fn audit(
        &self,
        account: AccountId,
        filter: AuditFilter,
        page: PageRequest<EventId>,
    ) -> Result<Page<AuditEntry>> {
        let store = &self.ctx.store;
        page.read(|after, limit| store.audit(account, filter, after, limit))
            .await
    }

    /// A caller in this account without a key.
    fn caller(&self, account: Account) -> Caller {
        Caller {
            terms: self.ctx.terms_for(&account),
            account,
            key: None,
        }
    }

    fn seats_max(&self, plan: Plan) -> Option<u32> {
        self.ctx.plans.terms(plan).seats_max
    }
}
