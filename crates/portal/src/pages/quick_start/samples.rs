//! The samples, filled in for the reader. Each file runs as it is, but for an address and an agent.

use offhook_services::store::Agent;

/// The placeholder of the service's address in the files.
const ADDRESS: &str = "https://offhook.example";

/// The placeholder of an agent's id in the files.
const AGENT: &str = "AGENT_ID";

/// Programs with the reader's own address and agent.
pub(super) struct Samples {
    /// Identifies a key, for the shell.
    pub(super) me: String,
    /// A call, for the shell.
    pub(super) curl: String,
    /// A call, followed until it ends.
    pub(super) python: String,
    /// The same; it is TypeScript, too.
    pub(super) javascript: String,
}

impl Samples {
    /// The samples for the service at `address`; without an agent its placeholder stays.
    pub(super) fn of(address: &str, agent: Option<&Agent>) -> Self {
        let own = |text: &str| {
            let text = text.trim_end().replace(ADDRESS, address);
            match agent {
                Some(agent) => text.replace(AGENT, &agent.id.to_string()),
                None => text,
            }
        };
        Self {
            me: own(include_str!("../../../snippets/me.sh")),
            curl: own(include_str!("../../../snippets/call.sh")),
            python: own(include_str!("../../../snippets/call.py")),
            javascript: own(include_str!("../../../snippets/call.mjs")),
        }
    }
}
