//! By what accounts use other applications, and the consents that are being asked for.

use std::fmt;

use offhook_domain::{AccountId, ClaimId, CredentialId, Timestamp};

/// A consent that is being asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewConsent {
    /// Its row.
    pub id: CredentialId,
    /// The digest of the state that goes to the application and comes back.
    pub digest: [u8; 32],
    /// The digest of the session in which it was begun.
    pub session_digest: [u8; 32],
    /// For which account.
    pub account_id: AccountId,
    /// For which toolkit.
    pub toolkit: String,
    /// Until when it may come back.
    pub expires_at: Timestamp,
}

/// What is kept of a toolkit's tokens beside themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenTimes {
    /// Until when the access token is good; `None` if nobody said.
    pub lapses_at: Option<Timestamp>,
    /// When they are to be renewed; `None`: not by the clock.
    pub refresh_at: Option<Timestamp>,
}

/// A toolkit's tokens.
#[derive(Clone, PartialEq, Eq)]
pub struct HeldTokens {
    /// Their row.
    pub id: CredentialId,
    /// Whose they are.
    pub account_id: AccountId,
    /// For which toolkit.
    pub toolkit: String,
    /// They themselves, in the form in which they were given.
    pub secret: String,
    /// Until when the access token is good; `None` if nobody said.
    pub lapses_at: Option<Timestamp>,
    /// How often they could not be renewed since they last were.
    pub tries: i32,
    /// Whose turn it is to renew them, if it was taken.
    pub claim: Option<ClaimId>,
    /// When the application last refused an access token though it was new, if no call got in since: the connection has an
    /// error by that.
    pub refused_at: Option<Timestamp>,
}

/// Without the tokens.
impl fmt::Debug for HeldTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeldTokens")
            .field("id", &self.id)
            .field("account_id", &self.account_id)
            .field("toolkit", &self.toolkit)
            .field("lapses_at", &self.lapses_at)
            .field("tries", &self.tries)
            .field("claim", &self.claim)
            .field("refused_at", &self.refused_at)
            .finish_non_exhaustive()
    }
}

/// What became of a turn at renewing.
#[derive(Clone)]
pub enum Renewal {
    /// There are new ones, in the form in which tokens are given; an `error` of the connection is over, unless it is that
    /// new ones were refused.
    Renewed(String, TokenTimes),
    /// Not this time: again at this instant. With a sentence the connection has an error.
    Later(Timestamp, Option<String>),
    /// Never again: the connection has expired, and the sentence says why. The tokens are forgotten.
    Refused(String),
}
