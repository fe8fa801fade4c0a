//! Email addresses.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// The longest address in bytes (RFC 5321).
const LONGEST: usize = 254;

/// An email address in lower case, so that spelling variants are the same member.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EmailAddress(Box<str>);

/// The text is no email address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be an e-mail address, such as ana@example.com, of at most 254 bytes")]
pub struct EmailAddressError;

impl EmailAddress {
    /// Returns the address.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the part before the `@`.
    #[must_use]
    pub fn local_part(&self) -> &str {
        self.0.split('@').next().unwrap_or_default()
    }
}

impl FromStr for EmailAddress {
    type Err = EmailAddressError;

    /// Rejects only impossible addresses; whether an address receives mail cannot be checked here.
    fn from_str(text: &str) -> Result<Self, EmailAddressError> {
        let text = text.trim();
        let (local, domain) = text.split_once('@').ok_or(EmailAddressError)?;
        let stray = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '<' | '>' | ',');
        let whole_domain = !domain.contains('@') && domain.split('.').all(|part| !part.is_empty());
        let lower = text.to_lowercase();
        if local.is_empty() || !whole_domain || lower.len() > LONGEST || text.contains(stray) {
            return Err(EmailAddressError);
        }
        Ok(Self(lower.into()))
    }
}

impl fmt::Display for EmailAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Redacted, because email addresses in logs are personal data.
impl fmt::Debug for EmailAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EmailAddress(…)")
    }
}

impl Serialize for EmailAddress {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_kept_in_lower_case() {
        for (text, kept) in [
            ("Ana.Ruiz+x@Example.COM", "ana.ruiz+x@example.com"),
            (" ana@localhost ", "ana@localhost"),
            ("añá@correo.mx", "añá@correo.mx"),
        ] {
            let address: EmailAddress = text.parse().unwrap();
            assert_eq!(address.as_str(), kept);
        }
        let address: EmailAddress = "Ana@example.com".parse().unwrap();
        assert_eq!(address.local_part(), "ana");
        assert_eq!(format!("{address:?}"), "EmailAddress(…)");
    }

    #[test]
    fn what_cannot_be_an_address_is_refused() {
        let long = format!("{}@example.com", "a".repeat(250));
        for text in [
            "",
            "ana",
            "@",
            "@example.com",
            "ana@",
            "a@b@c",
            "a b@c",
            "a@b..c",
            "a@.b",
            "a@b.",
            "<a@b>",
            "a@b,c@d",
            "a\u{0}@b",
            &long,
        ] {
            assert_eq!(
                text.parse::<EmailAddress>(),
                Err(EmailAddressError),
                "{text:?}"
            );
        }
    }
}
