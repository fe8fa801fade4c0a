//! Credentials of accounts at providers; the secrets themselves only come out one by one.

use diesel::prelude::*;
use offhook_domain::{AccountId, CredentialId, CredentialProvider, Timestamp};

use crate::schema;

/// A credential without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = schema::provider_credentials)]
pub struct Credential {
    /// Its id.
    pub id: CredentialId,
    /// Whose it is.
    pub account_id: AccountId,
    /// Where it opens a door.
    pub provider: CredentialProvider,
    /// When the account first stored one for this provider.
    pub created_at: Timestamp,
    /// When it was last replaced.
    pub updated_at: Timestamp,
    /// When the provider was last asked with it for what the account has there, its agents or voices.
    pub asked_at: Option<Timestamp>,
    /// Why the provider did not say, if it did not; a sentence.
    pub last_error: Option<String>,
}
