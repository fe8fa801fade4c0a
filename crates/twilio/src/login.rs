//! Twilio accounts and their credentials.

use std::fmt;

use crate::settings::{SettingsError, is_sid};

/// A Twilio account with its credentials.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    account: String,
    user: String,
    secret: String,
}

/// Hides everything.
impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Login(…)")
    }
}

impl Login {
    /// An account's login by its auth token or an API key. Fails if an id is malformed, or a secret cannot be sent.
    pub fn new(
        account_sid: &str,
        auth_token: Option<&str>,
        api_key: Option<(&str, &str)>,
    ) -> Result<Self, SettingsError> {
        if !is_sid(account_sid, "AC") {
            return Err(SettingsError::new(
                "account_sid",
                "must be AC and 32 hexadecimal digits, as Twilio's console shows it",
            ));
        }
        let (user, secret) = match (api_key, auth_token) {
            (Some((key, secret)), _) => {
                if !is_sid(key, "SK") {
                    return Err(SettingsError::new(
                        "api_key",
                        "must be SK and 32 hexadecimal digits, as Twilio's console shows it",
                    ));
                }
                (key, secret)
            }
            (None, Some(token)) => (account_sid, token),
            (None, None) => {
                return Err(SettingsError::new(
                    "auth_token",
                    "is missing: give the account's token, or `api_key` with `api_key_secret`",
                ));
            }
        };
        if secret.is_empty() || secret.chars().any(|c| c.is_ascii_control()) {
            return Err(SettingsError::new("auth_token", "is empty or no token"));
        }
        Ok(Self {
            account: account_sid.to_owned(),
            user: user.to_owned(),
            secret: secret.to_owned(),
        })
    }

    /// Parses an account's own credential: `AccountSid:AuthToken`. Returns `None` for anything else. An API key is not
    /// accepted: it opens the REST API, but does not sign callbacks.
    pub fn read(credential: &str) -> Option<Self> {
        let (account, token) = credential.trim().split_once(':')?;
        let is_key = token.contains(':') || is_sid(token, "SK");
        Self::new(account, Some(token).filter(|_| !is_key), None).ok()
    }

    /// The account's id.
    pub fn account(&self) -> &str {
        &self.account
    }

    /// The auth token, which signs callbacks; `None` for an API key.
    pub(crate) fn auth_token(&self) -> Option<&str> {
        (self.user == self.account).then_some(self.secret.as_str())
    }

    pub(crate) fn user(&self) -> &str {
        &self.user
    }

    pub(crate) fn secret(&self) -> &str {
        &self.secret
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACCOUNT: &str = "AC0123456789abcdef0123456789abcdef";
    const KEY: &str = "SK0123456789abcdef0123456789abcdef";

    #[test]
    fn an_accounts_credential_is_its_token() {
        let by_token = Login::read(&format!("{ACCOUNT}:token")).unwrap();
        assert_eq!(
            (by_token.user.as_str(), by_token.secret.as_str()),
            (ACCOUNT, "token")
        );
        for wrong in [
            "",
            "token",
            ACCOUNT,
            &format!("{ACCOUNT}:"),
            &format!("{KEY}:token"),
            &format!("{ACCOUNT}/../x:token"),
            &format!("{ACCOUNT}:{KEY}:secret"),
            &format!("{ACCOUNT}:{KEY}"),
        ] {
            assert_eq!(Login::read(wrong), None, "{wrong}");
        }
        assert_eq!(format!("{by_token:?}"), "Login(…)");
    }
}
