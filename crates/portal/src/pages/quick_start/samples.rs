//! The samples, made the reader's own. Each is a file that runs as it stands, but for an address and an agent.

use offhook_services::store::Agent;

/// What stands in the files in the place of the service's address.
const ADDRESS: &str = "https://offhook.example";

/// What stands in them in the place of an agent's id.
const AGENT: &str = "AGENT_ID";

/// Programs with the reader's own address and agent.
pub(super) struct Samples {
    /// Who a key is, for the shell.
    pub(super) me: String,
    /// A call, for the shell.
    pub(super) curl: String,
    /// A call, waited for.
    pub(super) python: String,
    /// The same; it is TypeScript, too.
    pub(super) javascript: String,
}

impl Samples {
    /// The samples for the service at `address`; without an agent its place stays to be filled.
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
