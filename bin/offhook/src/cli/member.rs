//! `offhook member …`

use clap::{Args, Subcommand};
use offhook_domain::{AccountId, EmailAddress, MemberRole};
use serde_json::Value;

use super::JsonArgs;
use crate::settings::Settings;
use crate::{data_dir, output, parts};

#[derive(Debug, Subcommand)]
pub(super) enum MemberCommand {
    /// Make somebody a member of an account at once.
    Add(Person),
    /// Make a one-time link with which somebody becomes a member within seven days; it is shown this once.
    Invite(Person),
    /// Take a member out of an account's team.
    Remove(Address),
    /// End an invitation before its time.
    Withdraw(Address),
}

#[derive(Debug, Args)]
pub(super) struct Person {
    /// The account's id.
    #[arg(long, value_name = "ID")]
    account: AccountId,
    /// The e-mail address.
    #[arg(long, value_name = "E")]
    email: EmailAddress,
    /// The name.
    #[arg(long, value_name = "N")]
    name: String,
    /// owner, admin, developer or viewer.
    #[arg(long, value_name = "R", value_parser = role)]
    role: MemberRole,
    #[command(flatten)]
    print: JsonArgs,
}

#[derive(Debug, Args)]
pub(super) struct Address {
    /// The account's id.
    #[arg(long, value_name = "ID")]
    account: AccountId,
    /// The e-mail address.
    #[arg(long, value_name = "E")]
    email: EmailAddress,
    #[command(flatten)]
    print: JsonArgs,
}

fn role(text: &str) -> Result<MemberRole, String> {
    text.parse()
        .map_err(|_| format!("must be {}", MemberRole::choices()))
}

impl MemberCommand {
    pub(super) async fn run(self, settings: &Settings) -> anyhow::Result<()> {
        let services = parts::administration(settings).await?;
        let team = services.team();
        match self {
            Self::Add(person) => {
                let (account, role) = (person.account, person.role);
                let member = team.add(account, person.email, &person.name, role).await?;
                let words = format!("member {} of account {account} ({role})", member.id);
                output::print(person.print.json, &output::member(&member), &words)
            }
            Self::Invite(person) => {
                let (account, role) = (person.account, person.role);
                let invited = team.invite(account, person.email, &person.name, role);
                let invited = invited.await?;
                let invitation = &invited.invitation;
                let url = format!("{}/invitations/{}", origin(settings), invited.token);
                let words = format!(
                    "invitation {} as {role} until {} (shown once): {url}",
                    invitation.id, invitation.expires_at
                );
                let mut value = output::invitation(invitation);
                value["token"] = Value::String(invited.token);
                value["url"] = Value::String(url);
                output::print(person.print.json, &value, &words)
            }
            Self::Remove(who) => {
                let member = team.remove(who.account, who.email).await?;
                let words = format!(
                    "{} is no member of account {} any more",
                    member.email, who.account
                );
                output::print(who.print.json, &output::member(&member), &words)
            }
            Self::Withdraw(who) => {
                let invitation = team.withdraw(who.account, who.email).await?;
                let words = format!(
                    "{} is not invited to account {} any more",
                    invitation.email, who.account
                );
                output::print(who.print.json, &output::invitation(&invitation), &words)
            }
        }
    }
}

/// Where people reach the service: the address that the operator gave it, else the one that it serves on.
fn origin(settings: &Settings) -> String {
    if let Some(url) = &settings.http.public_url {
        return url.trim_end_matches('/').to_owned();
    }
    let scheme = settings.http.tls.as_ref().map_or("http", |_| "https");
    let serving = data_dir::read_listen(&settings.data_dir);
    format!("{scheme}://{}", serving.unwrap_or(settings.listen))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Flags;

    #[test]
    fn a_link_leads_to_the_public_address_or_else_to_where_the_service_listens() {
        let dir = tempfile::tempdir().unwrap();
        let origin_with = |public: Option<&str>| {
            let public = public.map(|url| ("OFFHOOK_HTTP__PUBLIC_URL".into(), url.into()));
            let flags = Flags {
                data_dir: Some(dir.path().to_str().unwrap().to_owned()),
                listen: Some("127.0.0.1:9000".to_owned()),
                ..Flags::default()
            };
            origin(&Settings::from_parts(flags, public).unwrap())
        };
        assert_eq!(origin_with(None), "http://127.0.0.1:9000");
        data_dir::write_listen(dir.path(), "127.0.0.1:4711".parse().unwrap()).unwrap();
        assert_eq!(origin_with(None), "http://127.0.0.1:4711");
        let public = "https://voice.example.com";
        assert_eq!(origin_with(Some(public)), public);
    }
}
