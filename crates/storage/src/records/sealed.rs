//! The columns that hold secrets sealed under the master key.

/// A column of sealed secrets. Add every new one here, or a change of the master key would miss it. A test compares the
/// list with the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SealedColumn {
    pub(crate) table: &'static str,
    /// The column with the id that a secret is sealed for.
    pub(crate) owner: &'static str,
    pub(crate) secret: &'static str,
}

impl SealedColumn {
    pub const ALL: [Self; 10] = [
        Self::of("webhook_secrets", "id", "sealed"),
        Self::of("provider_credentials", "id", "sealed"),
        Self::of("tools", "id", "headers"),
        // As published versions of agents have pinned them.
        Self::of("agent_version_tools", "tool_id", "headers"),
        Self::of("integration_connections", "id", "sealed"),
        Self::of("integration_consents", "id", "sealed"),
        Self::of("portal_shown_once", "id", "sealed"),
        Self::of("second_factors", "id", "sealed"),
        Self::of("single_sign_on", "id", "sealed"),
        Self::of("agent_secrets", "agent_id", "sealed"),
    ];

    const fn of(table: &'static str, owner: &'static str, secret: &'static str) -> Self {
        Self {
            table,
            owner,
            secret,
        }
    }

    #[must_use]
    pub fn name(self) -> String {
        format!("{}.{}", self.table, self.secret)
    }
}
