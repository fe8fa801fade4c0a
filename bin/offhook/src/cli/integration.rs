//! `offhook integration …`

use clap::Subcommand;
use offhook_domain::{AccountId, IntegrationStatus};

use super::JsonArgs;
use crate::settings::Settings;
use crate::{output, parts};

#[derive(Debug, Subcommand)]
pub(super) enum IntegrationCommand {
    /// Write how an account stands to a toolkit of the catalog.
    Set {
        /// The account's id.
        #[arg(long, value_name = "ID")]
        account: AccountId,
        /// The toolkit's key, such as google_calendar.
        #[arg(long, value_name = "T")]
        toolkit: String,
        /// connecting, active, expired, error or disconnected.
        #[arg(long, value_name = "S", value_parser = status)]
        status: IntegrationStatus,
        /// What is wrong, for the statuses error and expired.
        #[arg(long, value_name = "E")]
        error: Option<String>,
        #[command(flatten)]
        print: JsonArgs,
    },
}

fn status(text: &str) -> Result<IntegrationStatus, String> {
    text.parse()
        .map_err(|_| format!("must be {}", IntegrationStatus::choices()))
}

impl IntegrationCommand {
    pub(super) async fn run(self, settings: &Settings) -> anyhow::Result<()> {
        let services = parts::administration(settings).await?;
        let Self::Set {
            account,
            toolkit,
            status,
            error,
            print,
        } = self;
        let integrations = services.integrations();
        let set = integrations.set(account, &toolkit, status, error.as_deref());
        let integration = set.await?;
        let words = format!("{toolkit} of account {account} is {status}");
        output::print(print.json, &output::integration(&integration), &words)
    }
}
