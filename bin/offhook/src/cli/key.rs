//! `offhook key …`

use super::JsonArgs;
use crate::prelude::*;

#[derive(Debug, Subcommand)]
pub(super) enum KeyCommand {
    /// Make a key; its token is shown this once.
    Create {
        /// The account's id.
        #[arg(long, value_name = "ID")]
        account: AccountId,
        /// The key's name.
        #[arg(long)]
        name: String,
        /// `all`, or scopes separated by commas, such as agents:read,calls:write.
        #[arg(long)]
        scopes: Scopes,
        /// Refuse every scope that ends in :write.
        #[arg(long)]
        read_only: bool,
        /// When the key expires: an ISO 8601 date or datetime.
        #[arg(long, value_name = "TIME", value_parser = Timestamp::parse_from)]
        expires_at: Option<Timestamp>,
        /// The credits that the key may spend per UTC month.
        #[arg(long, value_name = "N", allow_negative_numbers = true)]
        monthly_credit_budget: Option<i64>,
        #[command(flatten)]
        print: JsonArgs,
    },
    /// List an account's keys, the oldest first.
    List {
        /// The account's id [default: every account].
        #[arg(long, value_name = "ID")]
        account: Option<AccountId>,
        #[command(flatten)]
        print: JsonArgs,
    },
    /// Revoke a key, immediately and for good.
    Revoke {
        /// The key's id.
        id: KeyId,
        #[command(flatten)]
        print: JsonArgs,
    },
}

impl KeyCommand {
    pub(super) async fn run(self, settings: &Settings) -> anyhow::Result<()> {
        let services = parts::administration(settings).await?;
        let keys = services.keys();
        match self {
            Self::Create {
                account,
                name,
                scopes,
                read_only,
                expires_at,
                monthly_credit_budget,
                print,
            } => {
                let made = keys.create(
                    account,
                    &name,
                    scopes,
                    read_only,
                    expires_at,
                    monthly_credit_budget,
                );
                let (key, token) = made.await?;
                let mut value = output::key(&key);
                value["token"] = Value::String(token.clone());
                output::print(
                    print.json,
                    &value,
                    &format!("key {} (shown once): {token}", key.id),
                )
            }
            Self::List { account, print } => {
                let accounts = match account {
                    Some(id) => vec![id],
                    None => services
                        .accounts()
                        .list()
                        .await?
                        .iter()
                        .map(|a| a.id)
                        .collect(),
                };
                let mut found = Vec::new();
                for account in accounts {
                    found.extend(keys.list(account).await?);
                }
                let time =
                    |at: Option<Timestamp>| at.map_or_else(|| "-".to_owned(), |at| at.to_string());
                let rows: Vec<_> = found
                    .iter()
                    .map(|key| {
                        let (used, revoked) = (time(key.last_used_at), time(key.revoked_at));
                        [
                            key.id.to_string(),
                            key.prefix.clone(),
                            used,
                            revoked,
                            key.name.clone(),
                        ]
                    })
                    .collect();
                let words = output::table(["ID", "PREFIX", "LAST USED", "REVOKED", "NAME"], &rows);
                let value: Value = found.iter().map(output::key).collect();
                output::print(print.json, &value, &words)
            }
            Self::Revoke { id, print } => {
                let revoked = keys.revoke(id).await?;
                let key = revoked.with_context(|| format!("there is no key {id}"))?;
                output::print(
                    print.json,
                    &output::key(&key),
                    &format!("key {id} is revoked"),
                )
            }
        }
    }
}
