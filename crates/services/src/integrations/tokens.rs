//! An account's tokens at an application, as they are sealed, and when they are renewed.

use std::time::Duration;

use crate::Result;

use offhook_domain::{ClaimId, Json, Timestamp};
use offhook_engine::ports::Grant;
use offhook_storage::{StoreError, TokenTimes, mint};

/// An access token is said to lapse this much earlier, for a request's way and for clocks.
const EARLY: Duration = Duration::from_secs(30);

/// Tokens are not renewed by the clock sooner than this, however short a life they are said to have: whoever needs them
/// meanwhile renews them.
const SOONEST: Duration = Duration::from_secs(60);

/// The longest life that is believed.
const LONGEST: Duration = Duration::from_secs(10 * 365 * 86_400);

/// What requests are made with, and what new tokens are had for.
pub(super) struct Tokens {
    pub(super) access_token: String,
    pub(super) refresh_token: Option<String>,
}

impl Tokens {
    /// What was granted, with the refresh token that was there `before` unless another one came; and its times. It is
    /// renewed when three quarters of its life are over, or up to a tenth of it earlier: tokens that were granted
    /// together are not renewed together.
    pub(super) fn granted(
        grant: Grant,
        before: Option<String>,
        now: Timestamp,
    ) -> (Self, TokenTimes) {
        let tokens = Self {
            access_token: grant.access_token,
            refresh_token: grant.refresh_token.or(before),
        };
        let life = grant.expires_in.map(|life| life.min(LONGEST));
        let due = |life: Duration| match tokens.refresh_token {
            Some(_) => {
                let early = now.plus(life * 3 / 4).minus(part(life / 10, now));
                early.max(now.plus(SOONEST))
            }
            // Nothing can be done but to say that it is over.
            None => now.plus(life),
        };
        let times = TokenTimes {
            lapses_at: life.map(|life| now.plus(life.saturating_sub(EARLY))),
            refresh_at: life.map(due),
        };
        (tokens, times)
    }

    /// The token to take out of use: with the refresh token goes what was granted for it, with an access token, at some
    /// applications, that token alone.
    pub(super) fn whole(&self) -> &str {
        self.refresh_token.as_ref().unwrap_or(&self.access_token)
    }

    /// Reads what was sealed.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if it is none.
    pub(super) fn read(text: &str) -> Result<Self> {
        let corrupt = || StoreError::Corrupt("an integration's tokens".to_owned());
        let json = Json::parse(text.as_bytes()).map_err(|_| corrupt())?;
        let text = |name| json.get(name).and_then(Json::as_str).map(str::to_owned);
        Ok(Self {
            access_token: text("access_token").ok_or_else(corrupt)?,
            refresh_token: text("refresh_token"),
        })
    }

    /// What is sealed.
    pub(super) fn to_text(&self) -> String {
        Json::object([
            ("access_token", Json::from(self.access_token.as_str())),
            ("refresh_token", Json::from(self.refresh_token.as_deref())),
        ])
        .to_compact()
    }
}

/// A random part of a time.
pub(super) fn part(most: Duration, now: Timestamp) -> Duration {
    const PARTS: u32 = 1_024;
    let random = mint::<ClaimId>(now).uuid().as_bytes()[15];
    let second = mint::<ClaimId>(now).uuid().as_bytes()[15];
    let parts = (u32::from(random) << 2) | (u32::from(second) & 3);
    most * parts / PARTS
}

#[cfg(test)]
mod tests {
    use super::*;

    const T0: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);
    const HOUR: Duration = Duration::from_secs(3_600);

    fn grant(refresh_token: Option<&str>, expires_in: Option<Duration>) -> Grant {
        Grant {
            access_token: "a".to_owned(),
            refresh_token: refresh_token.map(str::to_owned),
            expires_in,
        }
    }

    #[test]
    fn tokens_are_renewed_well_before_they_lapse_and_not_all_at_once() {
        let minutes = |n: u64| T0.plus(Duration::from_secs(n * 60));
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..64 {
            let (_, times) = Tokens::granted(grant(Some("r"), Some(HOUR)), None, T0);
            assert_eq!(times.lapses_at, Some(T0.plus(HOUR - EARLY)));
            let due = times.refresh_at.unwrap();
            assert!(due >= minutes(39) && due <= minutes(45), "{due:?}");
            seen.insert(due);
        }
        assert!(seen.len() > 8, "{seen:?}");
    }

    #[test]
    fn tokens_of_a_short_life_or_none_are_not_renewed_without_end() {
        for seconds in [0, 1, 30, 70] {
            let life = Duration::from_secs(seconds);
            let (_, times) = Tokens::granted(grant(Some("r"), Some(life)), None, T0);
            assert_eq!(times.refresh_at, Some(T0.plus(SOONEST)), "{seconds}");
            let lapses_at = T0.plus(life.saturating_sub(EARLY));
            assert_eq!(times.lapses_at, Some(lapses_at), "{seconds}");
        }
        let endless = Duration::from_secs(u64::MAX);
        let (_, times) = Tokens::granted(grant(Some("r"), Some(endless)), None, T0);
        assert!(times.refresh_at > Some(T0) && times.refresh_at < times.lapses_at);
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
    }

    #[test]
    fn what_cannot_be_renewed_is_looked_at_when_it_lapses_and_what_never_lapses_never() {
        let (_, times) = Tokens::granted(grant(None, Some(HOUR)), None, T0);
        assert_eq!(times.refresh_at, Some(T0.plus(HOUR)));
        let (_, times) = Tokens::granted(grant(Some("r"), None), None, T0);
        assert_eq!((times.lapses_at, times.refresh_at), (None, None));
        assert!(Tokens::read("{}").is_err());
    }
}
