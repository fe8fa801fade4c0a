//! What is set of an agent beside its configuration.

use offhook_services::{AgentSettingsView, ContextUrl};

use super::shown;
use crate::prelude::*;

/// The response to forgetting a caller.
#[derive(Serialize)]
pub(crate) struct Forgotten {
    pub(crate) forgotten: usize,
}

shown! {
    /// The server that is asked before a call begins.
    ContextUrlBody(context: ContextUrl) {
        url,
        outgoing,
        failure_message,
    }
}

shown! {
    /// The settings of an agent's latest version.
    AgentSettingsBody(view: AgentSettingsView) {
        version,
        time_zone = &view.settings.time_zone,
        caller_memory = view.settings.caller_memory,
        guard = view.settings.guard,
        context_url = view.settings.context_url.as_ref().map(ContextUrlBody),
        required_suite = &view.settings.required_suite,
        signing_secret = &view.secret,
    }
}
