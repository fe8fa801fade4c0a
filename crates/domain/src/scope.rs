//! The permissions of a key.

use std::str::FromStr;

use crate::agent::{vocabulary, word_set};

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

word_set! {
    /// A set of scopes, in the documented order.
    Scopes of Scope
}

impl Scopes {
    /// Returns the set of all scopes.
    #[must_use]
    pub fn all() -> Self {
        Scope::ALL.iter().copied().collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_reads_back_what_it_prints() {
        for text in ["", "agents:read", "agents:read,calls:write,logs:read"] {
            assert_eq!(text.parse::<Scopes>().unwrap().to_string(), text);
        }
        assert_eq!(
            "all".parse::<Scopes>().unwrap().iter().count(),
            Scope::ALL.len()
        );
        assert!("calls:delete".parse::<Scopes>().is_err());
    }
}
