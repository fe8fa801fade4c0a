//! People who sign in to the portal: passwords, sessions, links and first run.

mod first;
mod joining;
mod passwords;
mod sessions;
mod teamwork;

use futures_util::FutureExt as _;
use offhook_boxed::boxed;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use offhook_domain::{AccountId, EventId, Plan};
use offhook_storage::{Account, Actor, AuditEntry, Member};
use parking_lot::Mutex;
use tokio::time::timeout;

use crate::dialer::insist;
use crate::{Caller, Page, PageRequest, Result, Shared};

pub(crate) use sessions::delete_ended;

pub use first::{BeginError, NewService};
pub use joining::{InvitationFor, JoinError, Link, LinkError, LinkFor};
pub use passwords::{PASSWORD_LENGTHS, PasswordFault};
pub use sessions::{ChangePasswordError, SignInError, SignedIn};
pub use teamwork::TeamRefusal;

/// How long the answer to a deed waits for its line in the audit log.
const NOTED_WITHIN: Duration = Duration::from_secs(5);

/// For how long a form that is sent again is the same one: the life of an `Idempotency-Key`, and the time that its line may
/// have taken.
const SENT_AGAIN_WITHIN: Duration = Duration::from_secs(25 * 3_600);

/// Waits for a line of the audit log to be written, [`NOTED_WITHIN`] at most. What takes longer goes on by itself.
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

/// Somebody who is signed in: as a member, in one of their accounts.
#[derive(Debug, Clone)]
pub struct Person {
    /// The account, and what its plan grants; it has no key.
    pub caller: Caller,
    /// Who they are in it.
    pub member: Member,
    /// Every account that they may be in: its id and name, the one that they joined first in front.
    pub accounts: Vec<(AccountId, String)>,
    /// The digest of the session's token.
    pub(crate) session: [u8; 32],
}

impl Person {
    /// The person, as the audit log calls them.
    pub const fn actor(&self) -> Actor {
        Actor::Member(self.member.id)
    }
}

#[derive(Clone)]
pub struct People {
    shared: Arc<Shared>,
    passwords: passwords::Passwords,
    /// The code that begins the service, once somebody asked for it.
    first_code: Arc<Mutex<Option<String>>>,
    /// There is an account: that never changes back.
    has_begun: Arc<AtomicBool>,
}

#[boxed]
impl People {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            passwords: passwords::Passwords::default(),
            first_code: Arc::default(),
            has_begun: Arc::default(),
        }
    }

    /// Writes to the audit log that the person has done something: `action` such as `agent.publish`, `target` an id or a
    /// name, never a secret. It is done, so where the database is away it is written once that is back, and whoever has to
    /// be told of the deed waits no longer than for [`NOTED_WITHIN`].
    pub async fn note(&self, person: &Person, action: &str, target: &str) {
        let words = (action.to_owned(), target.to_owned());
        let (account, at) = (person.member.account_id, self.shared.clock.now());
        let store = self.shared.store.acting(person.actor());
        noted(action, async move {
            insist(|| store.note(account, words.clone(), at)).await
        })
        .await;
    }

    /// The same of what may have been done, and noted, by the same form before, sent with the same `Idempotency-Key`.
    pub async fn note_once(&self, person: &Person, action: &str, target: &str) {
        let words = (action.to_owned(), target.to_owned());
        let (account, at) = (person.member.account_id, self.shared.clock.now());
        let since = at.minus(SENT_AGAIN_WITHIN);
        let store = self.shared.store.acting(person.actor());
        noted(action, async move {
            insist(|| store.note_once(account, words.clone(), since, at)).await
        })
        .await;
    }

    /// A page of the account's audit log, the newest line first.
    pub async fn audit(
        &self,
        account: AccountId,
        page: PageRequest<EventId>,
    ) -> Result<Page<AuditEntry>> {
        let limit = i64::from(page.limit);
        let rows = self.shared.store.audit(account, page.after, limit).await?;
        Ok(Page::of(rows, page.limit))
    }

    /// The account as one who has no key asks for things in it.
    fn caller(&self, account: Account) -> Caller {
        Caller {
            terms: self.shared.terms_for(&account),
            account,
            key: None,
        }
    }

    /// How many seats a plan has.
    fn seats_max(&self, plan: Plan) -> Option<u32> {
        self.shared.plans.terms(plan).seats_max
    }
}
