//! `offhook number …`

use super::JsonArgs;
use crate::prelude::*;

#[derive(Debug, Subcommand)]
pub(super) enum NumberCommand {
    /// Assign a phone number to an account.
    Add {
        /// The account's id.
        #[arg(long, value_name = "ID")]
        account: AccountId,
        /// The number in E.164 form, such as +5215512345678.
        #[arg(long, value_name = "N")]
        phone_number: E164,
        /// A label for people.
        #[arg(long, default_value = "")]
        label: String,
        /// The carrier: simulator, sip or twilio.
        #[arg(long, default_value = "simulator")]
        provider: NumberProvider,
        /// The agent that answers calls to the number and calls from it.
        #[arg(long, value_name = "ID")]
        agent: Option<AgentId>,
        #[command(flatten)]
        print: JsonArgs,
    },
}

impl NumberCommand {
    pub(super) async fn run(self, settings: &Settings) -> anyhow::Result<()> {
        let services = parts::administration(settings).await?;
        let Self::Add {
            account,
            phone_number,
            label,
            provider,
            agent,
            print,
        } = self;
        let numbers = services.numbers();
        let number = numbers.add(account, phone_number, &label, (provider, agent));
        let number = number.await?;
        let words = format!("number {} of account {account}", number.id);
        output::print(print.json, &output::number(&number), &words)
    }
}
