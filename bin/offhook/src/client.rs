//! Customers' commands: they speak to a running service over its API, with a key.

mod api;
mod calls;
mod files;
mod listen;
mod reading;
mod test;

pub(crate) use api::Api;
pub(crate) use calls::CallArgs;
pub(crate) use files::ImportCommand;
pub(crate) use listen::ForwardArgs;
pub(crate) use reading::{AgentsCommand, ConversationsCommand, LogsCommand, is_last};
pub(crate) use test::{TestArgs, held};

use crate::prelude::*;
use crate::settings::Secret;

/// The service that is asked unless a flag or a variable names another.
const URL: &str = "http://127.0.0.1:8080";

/// Which service is asked, and as whom.
#[derive(Debug, Args)]
#[command(next_help_heading = "Connection")]
pub(crate) struct Remote {
    /// The service's address (or OFFHOOK_API_URL) [default: http://127.0.0.1:8080].
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// An API key (or OFFHOOK_API_KEY, which other users of the machine do not see).
    #[arg(long, value_name = "KEY")]
    key: Option<Secret>,
}

impl Remote {
    const fn is_given(&self) -> bool {
        self.url.is_some() || self.key.is_some()
    }

    /// The API of the service that is meant.
    fn api(self) -> anyhow::Result<Api> {
        let variable = |name| {
            std::env::var(name)
                .ok()
                .filter(|value: &String| !value.is_empty())
        };
        let url = self.url.or_else(|| variable("OFFHOOK_API_URL"));
        let url = url.unwrap_or_else(|| URL.to_owned());
        let key = self.key.map(|key| key.expose().to_owned());
        let key = key.or_else(|| variable("OFFHOOK_API_KEY")).context(
            "no API key: give --key or set OFFHOOK_API_KEY; `offhook key create` and the portal make one",
        )?;
        ensure!(
            url.starts_with("http://") || url.starts_with("https://"),
            "--url: `{url}` has no scheme: write http://{url}"
        );
        Api::new(url.trim_end_matches('/').to_owned(), key)
    }
}

/// A conversation's id, from it or from the handle of its call.
fn conversation_id(given: &str) -> &str {
    given.strip_prefix("call_").unwrap_or(given)
}
