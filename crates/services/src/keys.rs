//! API keys: shown once when created, looked up by digest, revoked at once.

use parking_lot::Mutex;
use ring::rand::{SecureRandom, SystemRandom};

use crate::digest::sha256;
use crate::prelude::*;
use crate::{Person, Result};

/// The prefix of every token.
const TOKEN_PREFIX: &str = "service_live_";

/// Hexadecimal characters after the prefix.
const TOKEN_HEX: usize = 64;

/// Hexadecimal characters that are shown later.
const SHOWN_HEX: usize = 8;

/// The longest name, in characters.
const NAME_CHARS: usize = 120;

/// How often a key's last use is written at most.
const LAST_USE_EVERY: Duration = Duration::from_secs(60);

/// Why a key cannot be created; the sentences are those of the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyFault {
    #[error("--name must have 1 to {NAME_CHARS} characters")]
    Name,
    /// A key without scopes gives access to nothing.
    #[error("--scopes must name at least one scope")]
    Scopes,
    #[error("--monthly-credit-budget must not be negative")]
    Budget,
    #[error("--expires-at {0} has passed; name a time to come, or none for a key without an end")]
    Past(Timestamp),
    #[error("--account {0}: no such account")]
    Account(AccountId),
    /// The token cannot be generated.
    #[error("the system gives no randomness")]
    Randomness,
}

#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    #[error(transparent)]
    Invalid(#[from] KeyFault),
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[derive(Clone)]
pub struct Keys {
    ctx: Arc<Context>,
    actor: Actor,
    used: Arc<Mutex<HashMap<KeyId, Timestamp>>>,
}

#[boxed]
impl Keys {
    pub(crate) fn new(ctx: Arc<Context>) -> Self {
        Self {
            ctx,
            actor: Actor::Operator,
            used: Arc::default(),
        }
    }

    /// The same on behalf of a signed-in user, whom the audit log names.
    pub fn by(&self, person: &Person) -> Self {
        Self {
            actor: person.actor(),
            ..self.clone()
        }
    }

    /// Returns the caller with this token. Malformed, unknown, expired and revoked tokens are `None`, all by the same
    /// path.
    pub async fn authenticate(&self, token: &str) -> Result<Option<Caller>> {
        let hash = some_or!(token_digest(token), None);
        let now = self.ctx.clock.now();
        let found = self.ctx.store.key_by_digest(hash, now).await?;
        let Some((key, account, judged_at)) = found else {
            return Ok(None);
        };
        let ended = key.revoked_at.is_some() || key.expires_at.is_some_and(|at| at <= judged_at);
        if ended {
            return Ok(None);
        }
        self.note_use(&key, now);
        Ok(Some(Caller {
            terms: self.ctx.terms_for(&account),
            account,
            key: Some(key),
        }))
    }

    fn note_use(&self, key: &ApiKey, now: Timestamp) {
        let due = key
            .last_used_at
            .is_none_or(|at| now.since(at) >= LAST_USE_EVERY);
        if due {
            self.used.lock().insert(key.id, now);
        }
    }

    /// Writes the last uses recorded since the last run, off every request's path. If the store fails, they are kept
    /// for the next run.
    pub async fn write_last_uses(&self) -> Result<()> {
        let used = {
            let mut used = self.used.lock();
            std::mem::take(&mut *used)
        };
        if used.is_empty() {
            return Ok(());
        }
        let mut rows: Vec<(KeyId, Timestamp)> = used.into_iter().collect();
        rows.sort_unstable();
        let written = self.ctx.store.touch_keys(rows.clone()).await;
        if written.is_err() {
            let mut used = self.used.lock();
            for (id, at) in rows {
                used.entry(id).or_insert(at);
            }
        }
        written
    }

    /// Creates a key. The token is in the result and stored nowhere.
    pub async fn create(
        &self,
        account: AccountId,
        name: &str,
        scopes: Scopes,
        read_only: bool,
        expires_at: Option<Timestamp>,
        monthly_credit_budget: Option<Credits>,
    ) -> Result<(ApiKey, String), KeyError> {
        let name = name.trim();
        if name.is_empty() || name.chars().count() > NAME_CHARS {
            return Err(KeyFault::Name.into());
        }
        if scopes.is_empty() {
            return Err(KeyFault::Scopes.into());
        }
        if monthly_credit_budget.is_some_and(|budget| budget < 0) {
            return Err(KeyFault::Budget.into());
        }
        let now = self.ctx.clock.now();
        if let Some(past) = expires_at.filter(|at| *at <= now) {
            return Err(KeyFault::Past(past).into());
        }
        if self.ctx.store.account(account).await?.is_none() {
            return Err(KeyFault::Account(account).into());
        }
        let mut random = [0; TOKEN_HEX / 2];
        SystemRandom::new()
            .fill(&mut random)
            .map_err(|_| KeyFault::Randomness)?;
        let token = format!("{TOKEN_PREFIX}{}", hex::encode(random));
        let key = ApiKey {
            id: mint(now),
            account_id: account,
            name: name.to_owned(),
            prefix: token[..TOKEN_PREFIX.len() + SHOWN_HEX].to_owned(),
            scopes,
            read_only,
            monthly_credit_budget,
            created_at: now,
            expires_at,
            last_used_at: None,
            revoked_at: None,
        };
        let digest = sha256(token.as_bytes());
        self.ctx
            .store
            .acting(self.actor)
            .create_key(NewApiKey {
                key: key.clone(),
                digest,
            })
            .await?;
        Ok((key, token))
    }

    /// Lists an account's keys, oldest first.
    pub async fn list(&self, account: AccountId) -> Result<Vec<ApiKey>> {
        self.ctx.store.keys(account).await
    }

    /// As [`Keys::revoke`], for a key of this account; `None` also if it is another account's.
    pub async fn revoke_of(&self, account: AccountId, id: KeyId) -> Result<Option<ApiKey>> {
        // A key never changes its account.
        let keys = self.list(account).await?;
        match keys.iter().any(|key| key.id == id) {
            true => self.revoke(id).await,
            false => Ok(None),
        }
    }

    /// Revokes a key: requests that start after this has returned are refused. `None` if there is no such key.
    pub async fn revoke(&self, id: KeyId) -> Result<Option<ApiKey>> {
        let store = self.ctx.store.acting(self.actor);
        store.revoke_key(id, self.ctx.clock.now()).await
    }
}

/// The stored digest of a well-formed token.
fn token_digest(token: &str) -> Option<[u8; 32]> {
    let hex = token.strip_prefix(TOKEN_PREFIX)?;
    let well_formed =
        hex.len() == TOKEN_HEX && hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    well_formed.then(|| sha256(token.as_bytes()))
}
