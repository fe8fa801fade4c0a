//! Integrations.

use offhook_domain::{IntegrationCategory, IntegrationStatus, Timestamp};
use offhook_services::Integration;
use serde::Serialize;

/// A toolkit of the catalog, and how the account stands to it.
#[derive(Serialize)]
pub(crate) struct IntegrationBody<'a> {
    toolkit: &'a str,
    name: &'a str,
    category: IntegrationCategory,
    /// The service speaks to each application itself, not through a broker of connections.
    native: bool,
    status: IntegrationStatus,
    connected_at: Option<Timestamp>,
    last_error: Option<&'a str>,
}

impl<'a> From<&'a Integration> for IntegrationBody<'a> {
    fn from(integration: &'a Integration) -> Self {
        Self {
            toolkit: integration.toolkit.toolkit,
            name: integration.toolkit.name,
            category: integration.toolkit.category,
            native: true,
            status: integration.status,
            connected_at: integration.connected_at,
            last_error: integration.last_error.as_deref(),
        }
    }
}
