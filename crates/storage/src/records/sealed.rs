//! Where secrets are sealed under the master key.

/// A column of sealed secrets. A new one must be added here, or a change of the master key would miss it; a test
/// compares this with the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SealedColumn {
    /// The signing secrets of webhook endpoints, also those rotated out.
    WebhookSecrets,
    /// What accounts have at providers.
    Credentials,
    /// The header values of `http` tools.
    Tools,
    /// The same, as published versions of agents have pinned them.
    PinnedTools,
    /// By what accounts use other applications.
    IntegrationTokens,
    /// The verifiers of consents that are being asked for.
    IntegrationConsents,
}

impl SealedColumn {
    /// Every one.
    pub const ALL: [Self; 6] = [
        Self::WebhookSecrets,
        Self::Credentials,
        Self::Tools,
        Self::PinnedTools,
        Self::IntegrationTokens,
        Self::IntegrationConsents,
    ];

    /// Its name, as `table.column`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::WebhookSecrets => "webhook_secrets.sealed",
            Self::Credentials => "provider_credentials.sealed",
            Self::Tools => "tools.headers",
            Self::PinnedTools => "agent_version_tools.headers",
            Self::IntegrationTokens => "integration_connections.sealed",
            Self::IntegrationConsents => "integration_consents.sealed",
        }
    }
}
