//! Provider credentials of accounts. The secrets themselves are read only to be used.

use crate::prelude::*;

#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = provider_credentials)]
pub struct Credential {
    pub id: CredentialId,
    pub account_id: AccountId,
    pub provider: CredentialProvider,
    /// When the account first stored one for this provider.
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// When the account's agents or voices were last requested from the provider with it.
    pub asked_at: Option<Timestamp>,
    /// Why that request failed, if it did; a sentence.
    pub last_error: Option<String>,
    /// The end of its key, by which an account recognizes it.
    pub last_characters: Option<String>,
}
