//! Connected integrations of accounts, and pending consents.

use diesel::prelude::*;
use offhook_domain::{AccountId, ClaimId, CredentialId, IntegrationStatus, Timestamp};

use crate::schema;

/// A pending consent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewConsent {
    pub id: CredentialId,
    /// SHA-256 of the `state` parameter that goes to the application and comes back.
    pub digest: [u8; 32],
    /// SHA-256 of the session in which it was begun.
    pub session_digest: [u8; 32],
    pub account_id: AccountId,
    pub toolkit: String,
    /// Until when the application may redirect back.
    pub expires_at: Timestamp,
}

/// A toolkit that an account has connected, or tried to.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = schema::integration_connections)]
pub struct Connection {
    pub account_id: AccountId,
    /// The toolkit's key in the catalog.
    pub toolkit: String,
    /// Its status; never `available`, which means that there is no row.
    pub status: IntegrationStatus,
    /// When it was last connected; `None` if never.
    pub connected_at: Option<Timestamp>,
    /// The error, if there is one.
    pub last_error: Option<String>,
    /// The id of its tokens: new tokens have another id.
    pub id: CredentialId,
    /// The tokens, sealed for that id; `None` if there are none.
    pub(crate) sealed: Option<Vec<u8>>,
    /// When the access token expires; `None` if unknown.
    pub lapses_at: Option<Timestamp>,
}

/// The result of claiming the renewal of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenTurn {
    /// The caller renews, under this claim.
    Taken(ClaimId),
    /// All wait a moment: the last renewal failed, or the application refuses new tokens too.
    Rests,
    /// Another process renews, or the claim is obsolete: there are other tokens, or none.
    NotOurs,
}

/// The result of a renewal.
#[derive(Clone)]
pub enum Renewal {
    /// New tokens: their id, their text, and when the access token expires.
    Renewed(CredentialId, String, Option<Timestamp>),
    /// The renewal failed this time. With a sentence, the connection gets an error.
    Failed(Option<String>),
    /// The application refuses for good: the connection has expired, the sentence says why, and the tokens are deleted.
    Refused(String),
}
