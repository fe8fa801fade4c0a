//! An account's tokens at an application, in the form in which they are encrypted.

use std::time::Duration;

use crate::Result;

use offhook_domain::ports::Grant;
use offhook_domain::{Json, Timestamp};
use offhook_storage::StoreError;

/// An access token counts as expired this much earlier, to allow for a request's travel time and clock differences.
const EARLY: Duration = Duration::from_secs(30);

/// The longest accepted lifetime.
const LONGEST: Duration = Duration::from_secs(10 * 365 * 86_400);

/// The token that requests carry, and the one that gets new tokens.
pub(super) struct Tokens {
    pub(super) access_token: String,
    pub(super) refresh_token: Option<String>,
}

impl Tokens {
    /// Builds tokens from a grant, keeping the refresh token `before` unless a new one came. Also returns when the
    /// access token expires, if the grant says so.
    pub(super) fn granted(
        grant: Grant,
        before: Option<String>,
        now: Timestamp,
    ) -> (Self, Option<Timestamp>) {
        let tokens = Self {
            access_token: grant.access_token,
            refresh_token: grant.refresh_token.or(before),
        };
        let life = grant.expires_in.map(|life| life.min(LONGEST));
        let lapses_at = life.map(|life| now.plus(life.saturating_sub(EARLY)));
        (tokens, lapses_at)
    }

    /// The token to revoke. Revoking the refresh token also revokes its access tokens; revoking an access token, at
    /// some applications, revokes that token alone.
    pub(super) fn whole(&self) -> &str {
        self.refresh_token.as_ref().unwrap_or(&self.access_token)
    }

    /// Parses decrypted tokens.
    pub(super) fn read(text: &str) -> Result<Self> {
        let corrupt = || StoreError::Corrupt("an integration's tokens".to_owned());
        let json = Json::parse(text.as_bytes()).map_err(|_| corrupt())?;
        let text = |name| json.get(name).and_then(Json::as_str).map(str::to_owned);
        Ok(Self {
            access_token: text("access_token").ok_or_else(corrupt)?,
            refresh_token: text("refresh_token"),
        })
    }

    /// The text to encrypt.
    pub(super) fn to_text(&self) -> String {
        Json::object([
            ("access_token", Json::from(self.access_token.as_str())),
            ("refresh_token", Json::from(self.refresh_token.as_deref())),
        ])
        .to_compact()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T0: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);

    fn grant(refresh_token: Option<&str>, expires_in: Option<u64>) -> Grant {
        Grant {
            access_token: "a".to_owned(),
            refresh_token: refresh_token.map(str::to_owned),
            expires_in: expires_in.map(Duration::from_secs),
        }
    }

    #[test]
    fn tokens_lapse_before_their_time_and_not_before_they_came() {
        let lapses_at = |life| Tokens::granted(grant(None, life), None, T0).1;
        let after = |seconds| Some(T0.plus(Duration::from_secs(seconds)));
        assert_eq!(lapses_at(None), None);
        assert_eq!(lapses_at(Some(3_600)), after(3_570));
        assert_eq!(lapses_at(Some(5)), after(0));
        assert!(lapses_at(Some(u64::MAX)) > after(0));
    }

    #[test]
    fn a_refresh_token_stays_until_another_one_comes() {
        let after = |came| {
            let (tokens, _) = Tokens::granted(grant(came, None), Some("old".to_owned()), T0);
            let read = Tokens::read(&tokens.to_text()).unwrap();
            assert_eq!(read.access_token, "a");
            read.refresh_token
        };
        assert_eq!(after(None).as_deref(), Some("old"));
        assert_eq!(after(Some("new")).as_deref(), Some("new"));
        assert!(Tokens::read("{}").is_err());
    }
}
