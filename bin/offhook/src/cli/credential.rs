//! `offhook account credential …` and `offhook legacy …`

use std::io::Read as _;

use super::JsonArgs;
use crate::prelude::*;
use crate::settings::Secret;

#[derive(Debug, Subcommand)]
pub(super) enum CredentialCommand {
    /// Store an account's provider credential, encrypted; it is never shown again.
    Set {
        /// The account's id.
        #[arg(long, value_name = "ID")]
        account: AccountId,
        /// legacy (the provider of the legacy agents), legacy_webhook (the secret that signs its webhooks), simulator (the
        /// simulated phone network), twilio (the account's own numbers there), provider_a or provider_b (the account's own
        /// voices), whatsapp (a WhatsApp Business app, as JSON with access_token, app_secret, verify_token and
        /// phone_numbers), llm (the server of an agent's own models, as JSON with origin and api_key), or the account's own key
        /// in place of the service's: openai (or as JSON with api_key and base_url), anthropic, google, deepgram, cartesia,
        /// elevenlabs.
        #[arg(long)]
        provider: CredentialProvider,
        /// The secret; `-` reads it from standard input.
        #[arg(long, default_value = "-", hide_default_value = true)]
        secret: Secret,
        #[command(flatten)]
        print: JsonArgs,
    },
    /// List an account's credentials, without the secrets.
    List {
        /// The account's id.
        #[arg(long, value_name = "ID")]
        account: AccountId,
        #[command(flatten)]
        print: JsonArgs,
    },
    /// Remove an account's credential.
    Remove {
        /// The account's id.
        #[arg(long, value_name = "ID")]
        account: AccountId,
        /// legacy, legacy_webhook, simulator, twilio, provider_a, provider_b, whatsapp, llm, openai, anthropic, google,
        /// deepgram, cartesia or elevenlabs.
        #[arg(long)]
        provider: CredentialProvider,
        #[command(flatten)]
        print: JsonArgs,
    },
}

impl CredentialCommand {
    pub(super) async fn run(self, settings: &Settings) -> anyhow::Result<()> {
        let services = parts::administration(settings).await?;
        let credentials = services.credentials();
        match self {
            Self::Set {
                account,
                provider,
                secret,
                print,
            } => {
                let secret = match secret.expose() {
                    "-" => from_standard_input()?,
                    given => given.to_owned(),
                };
                let stored = credentials.set(account, provider, &secret).await?;
                let words = format!("account {account} has a credential for {provider}");
                output::print(print.json, &output::credential(&stored), &words)
            }
            Self::List { account, print } => {
                let stored = credentials.list(account).await?;
                let rows: Vec<_> = stored
                    .iter()
                    .map(|row| {
                        let asked = row
                            .asked_at
                            .map_or_else(|| "-".to_owned(), |at| at.to_string());
                        let error = row.last_error.as_deref().unwrap_or("-");
                        let (provider, stored) =
                            (row.provider.to_string(), row.updated_at.to_string());
                        let end = row.last_characters.as_deref();
                        let end = end.map_or_else(|| "-".to_owned(), |end| format!("…{end}"));
                        [provider, end, stored, asked, error.to_owned()]
                    })
                    .collect();
                let words = output::table(["PROVIDER", "KEY", "STORED", "ASKED", "ERROR"], &rows);
                let value: Value = stored.iter().map(output::credential).collect();
                output::print(print.json, &value, &words)
            }
            Self::Remove {
                account,
                provider,
                print,
            } => {
                let removed = credentials.remove(account, provider).await?;
                let words = format!("account {account} has no credential for {provider} any more");
                output::print(print.json, &output::credential(&removed), &words)
            }
        }
    }
}

fn from_standard_input() -> anyhow::Result<String> {
    let mut secret = String::new();
    std::io::stdin()
        .read_to_string(&mut secret)
        .context("the secret cannot be read from standard input")?;
    Ok(secret)
}

#[derive(Debug, Subcommand)]
pub(super) enum LegacyCommand {
    /// Sync an account's legacy agents with their provider now; the service does so every hour.
    Sync {
        /// The account's id.
        #[arg(long, value_name = "ID")]
        account: AccountId,
        #[command(flatten)]
        print: JsonArgs,
    },
}

impl LegacyCommand {
    pub(super) async fn run(self, settings: &Settings) -> anyhow::Result<()> {
        let services = parts::administration(settings).await?;
        let Self::Sync { account, print } = self;
        let synced = services.legacy().sync(account).await?;
        let value = json!({
            "listed": synced.listed,
            "added": synced.added,
            "archived": synced.archived,
        });
        let words = format!(
            "{} legacy agents, {} of them new, {} archived",
            synced.listed, synced.added, synced.archived
        );
        output::print(print.json, &value, &words)
    }
}
