//! `offhook account …`

use offhook_services::Services;

use super::JsonArgs;
use super::credential::CredentialCommand;
use crate::links;
use crate::prelude::*;

#[derive(Debug, Subcommand)]
pub(super) enum AccountCommand {
    /// Create an account.
    Create {
        /// Its name.
        #[arg(long)]
        name: String,
        /// free, starter, pro, scale or enterprise.
        #[arg(long)]
        plan: Plan,
        /// Initial credits [default: the plan's monthly credits].
        #[arg(long, value_name = "N", allow_negative_numbers = true)]
        credits: Option<i64>,
        /// Override the plan's Engine module.
        #[arg(long, value_name = "true|false")]
        engine_module: Option<bool>,
        /// The owner's email address; prints a one-time link, valid for a day, to set a password.
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
    /// Move an account to another plan.
    SetPlan {
        /// The account's id.
        #[arg(long, value_name = "ID")]
        account: AccountId,
        /// free, starter, pro, scale or enterprise.
        #[arg(long)]
        plan: Plan,
        /// Apply the change even if the account loses something; without it, only list what would be lost.
        #[arg(long)]
        yes: bool,
        #[command(flatten)]
        print: JsonArgs,
    },
}

impl AccountCommand {
    pub(super) async fn run(self, settings: &Settings) -> anyhow::Result<()> {
        if let Self::Credential(command) = self {
            return command.run(settings).await;
        }
        let services = match &self {
            Self::Create { .. } => parts::administration_anew(settings).await?,
            _ => parts::administration(settings).await?,
        };
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
                let mut words = format!("account {} ({plan})", made.id);
                let mut url = None;
                if let Some(email) = owner_email.as_deref().and_then(|email| email.parse().ok()) {
                    let (origin, of) = (links::origin(settings), (made.id, &email));
                    url = links::first_sign_in(&services, &origin, of).await?;
                }
                if let Some(url) = &url {
                    let message = "its owner sets a password within a day (shown once)";
                    words.push_str(&format!("\n{message}: {url}"));
                }
                let mut value = output::account(&made);
                value["sign_in_url"] = json!(url);
                output::print(print.json, &value, &words)
            }
            Self::SetPlan {
                account,
                plan,
                yes,
                print,
            } => set_plan(&services, account, plan, yes, print).await,
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

async fn set_plan(
    services: &Services,
    account: AccountId,
    plan: Plan,
    yes: bool,
    print: JsonArgs,
) -> anyhow::Result<()> {
    let changes = services.plan_changes();
    let change = changes.look(account, plan).await?;
    let (from, losses) = (change.account.plan, change.losses());
    if !yes && !losses.is_empty() {
        bail!(
            "going from {from} to {plan}: {}; say --yes to do it",
            losses.join("; ")
        );
    }
    let moved = changes.make(change).await?;
    let mut words = format!("account {account} is on {plan} (it was on {from})");
    for loss in losses {
        words.push_str("\n  ");
        words.push_str(&loss);
    }
    output::print(print.json, &output::account(&moved), &words)
}
