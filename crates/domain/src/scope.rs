//! The permissions of a key.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::agent::vocabulary;

vocabulary! {
    /// A permission of the form `resource:action`.
    #[expect(missing_docs, reason = "each is named by its text")]
    Scope {
        AgentsRead => "agents:read",
        AgentsWrite => "agents:write",
        CallsRead => "calls:read",
        CallsWrite => "calls:write",
        ConversationsRead => "conversations:read",
        KnowledgeRead => "knowledge:read",
        KnowledgeWrite => "knowledge:write",
        PhoneNumbersRead => "phone_numbers:read",
        PhoneNumbersWrite => "phone_numbers:write",
        CampaignsRead => "campaigns:read",
        CampaignsWrite => "campaigns:write",
        SuppressionsRead => "suppressions:read",
        SuppressionsWrite => "suppressions:write",
        WebhooksRead => "webhooks:read",
        WebhooksWrite => "webhooks:write",
        IntegrationsRead => "integrations:read",
        TeamRead => "team:read",
        BillingRead => "billing:read",
        LogsRead => "logs:read",
    }
}

impl Scope {
    /// Returns whether a read-only key lacks this scope.
    #[must_use]
    pub fn writes(self) -> bool {
        self.as_str().ends_with(":write")
    }
}

/// The text is no scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no scope; scopes are written like calls:read, or `all`")]
pub struct UnknownScope(Box<str>);

/// A set of scopes, in the documented order.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Scopes(u32);

impl Scopes {
    /// Returns the set of all scopes.
    #[must_use]
    pub fn all() -> Self {
        Scope::ALL.iter().copied().collect()
    }

    /// Returns whether `scope` is in the set.
    #[must_use]
    pub const fn contains(self, scope: Scope) -> bool {
        self.0 & (1 << scope as u32) != 0
    }

    /// Returns whether the set is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the scopes in the documented order.
    pub fn iter(self) -> impl Iterator<Item = Scope> {
        Scope::ALL
            .iter()
            .copied()
            .filter(move |scope| self.contains(*scope))
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        Self(
            scopes
                .into_iter()
                .fold(0, |set, scope| set | 1 << scope as u32),
        )
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, scope) in self.iter().enumerate() {
            write!(f, "{}{scope}", if at == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl fmt::Debug for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scopes({self})")
    }
}

impl FromStr for Scopes {
    type Err = UnknownScope;

    /// Parses `all`, or names separated by commas.
    fn from_str(text: &str) -> Result<Self, UnknownScope> {
        if text == "all" {
            return Ok(Self::all());
        }
        text.split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .map(|name| name.parse::<Scope>().map_err(|_| UnknownScope(name.into())))
            .collect()
    }
}

impl Serialize for Scopes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_reads_back_what_it_prints() {
        for text in ["", "agents:read", "agents:read,calls:write,logs:read"] {
            assert_eq!(text.parse::<Scopes>().unwrap().to_string(), text);
        }
        assert_eq!("all".parse::<Scopes>().unwrap().iter().count(), 17);
        assert!("calls:delete".parse::<Scopes>().is_err());
    }
}
