//! `offhook account …`

use clap::Subcommand;
use offhook_domain::Plan;
use serde_json::Value;

use super::JsonArgs;
use super::credential::CredentialCommand;
use crate::settings::Settings;
use crate::{output, parts};

#[derive(Debug, Subcommand)]
pub(super) enum AccountCommand {
    /// Make an account.
    Create {
        /// Its name.
        #[arg(long)]
        name: String,
        /// free, starter, pro, scale or enterprise.
        #[arg(long)]
        plan: Plan,
        /// Credits to begin with [default: the plan's monthly ones].
        #[arg(long, value_name = "N", allow_negative_numbers = true)]
        credits: Option<i64>,
        /// Override the plan's Engine module.
        #[arg(long, value_name = "true|false")]
        engine_module: Option<bool>,
        /// The e-mail address of its owner.
        #[arg(long, value_name = "EMAIL")]
        owner_email: Option<String>,
        #[command(flatten)]
        print: JsonArgs,
    },
    /// List the accounts, the oldest first.
    List(JsonArgs),
    /// Store, list and remove an account's own credentials at providers.
    #[command(subcommand)]
    Credential(CredentialCommand),
}

impl AccountCommand {
    pub(super) async fn run(self, settings: &Settings) -> anyhow::Result<()> {
        if let Self::Credential(command) = self {
            return command.run(settings).await;
        }
        let services = parts::administration(settings).await?;
        match self {
            Self::Credential(_) => Ok(()),
            Self::Create {
                name,
                plan,
                credits,
                engine_module,
                owner_email,
                print,
            } => {
                let made = services
                    .accounts()
                    .create(&name, plan, credits, engine_module, owner_email.as_deref())
                    .await?;
                let words = format!("account {} ({plan})", made.id);
                output::print(print.json, &output::account(&made), &words)
            }
            Self::List(JsonArgs { json }) => {
                let accounts = services.accounts().list().await?;
                let rows: Vec<_> = accounts
                    .iter()
                    .map(|account| {
                        let made = account.created_at.to_string();
                        [
                            account.id.to_string(),
                            account.plan.to_string(),
                            made,
                            account.name.clone(),
                        ]
                    })
                    .collect();
                let words = output::table(["ID", "PLAN", "CREATED", "NAME"], &rows);
                let value: Value = accounts.iter().map(output::account).collect();
                output::print(json, &value, &words)
            }
        }
    }
}
