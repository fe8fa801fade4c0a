//! Integrations.

use offhook_services::Integration;

use super::shown;

shown! {
    /// A toolkit of the catalog, and the account's connection to it.
    IntegrationBody(integration: Integration) {
        toolkit = integration.toolkit.toolkit,
        name = integration.toolkit.name,
        category = integration.toolkit.category,
        native = true,
        status,
        connected_at,
        last_error,
    }
}
