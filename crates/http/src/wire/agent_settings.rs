//! What is set of an agent beside its configuration.

use offhook_services::AgentSettingsView;

use super::shown;

shown! {
    /// The settings of an agent's latest version.
    AgentSettingsBody(view: AgentSettingsView) {
        version,
        time_zone = &view.settings.time_zone,
    }
}
