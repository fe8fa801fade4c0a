//! What accounts have connected, and the consents that are being asked for.

use diesel::prelude::*;
use offhook_domain::{AccountId, ClaimId, CredentialId, IntegrationStatus, Timestamp};

use crate::schema;

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

/// A toolkit that an account has connected, or tried to.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = schema::integration_connections)]
pub struct Connection {
    /// Whose it is.
    pub account_id: AccountId,
    /// The toolkit's key in the catalog.
    pub toolkit: String,
    /// How it stands; never `available`, which is said of what has no row.
    pub status: IntegrationStatus,
    /// When it was last connected; `None` if it never was.
    pub connected_at: Option<Timestamp>,
    /// What is wrong, where something is.
    pub last_error: Option<String>,
    /// Its tokens: new ones have another id.
    pub id: CredentialId,
    /// They themselves, sealed for that id; `None`: there are none.
    pub(crate) sealed: Option<Vec<u8>>,
    /// Until when the access token is good; `None` if nobody said.
    pub lapses_at: Option<Timestamp>,
}

/// Whose turn it is to renew tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenTurn {
    /// The caller's, by this claim.
    Taken(ClaimId),
    /// Nobody's for a moment: the last turn at them failed, or the application refuses new ones too.
    Rests,
    /// Another one's, or it is over: there are others, or none.
    NotOurs,
}

/// What became of a turn at renewing.
#[derive(Clone)]
pub enum Renewal {
    /// There are new tokens: their id, they themselves, and until when the access token is good.
    Renewed(CredentialId, String, Option<Timestamp>),
    /// Not this time. With a sentence the connection has an error.
    Failed(Option<String>),
    /// Never again: the connection has expired, and the sentence says why. The tokens are forgotten.
    Refused(String),
}
