//! `offhook member …`

use super::JsonArgs;
use crate::links;
use crate::prelude::*;

#[derive(Debug, Subcommand)]
pub(super) enum MemberCommand {
    /// Add a member to an account. A person without a password gets a one-time link to set one.
    Add(Person),
    /// Create a one-time link, valid for a day, to set a new password and sign in.
    Link(Address),
    /// Create a one-time invitation link, valid for seven days.
    Invite(Person),
    /// Remove a member from an account.
    Remove(Address),
    /// Withdraw an invitation.
    Withdraw(Address),
}

#[derive(Debug, Args)]
pub(super) struct Person {
    /// The account's id.
    #[arg(long, value_name = "ID")]
    account: AccountId,
    /// The email address.
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
    /// The email address.
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
                let of = (account, &member.email);
                let url = links::first_sign_in(&services, &links::origin(settings), of).await?;
                let mut words = format!("member {} of account {account} ({role})", member.id);
                if let Some(url) = &url {
                    words.push_str(&format!(
                        "\nsets a password within a day (shown once): {url}"
                    ));
                }
                let mut value = output::member(&member);
                value["sign_in_url"] = json!(url);
                output::print(person.print.json, &value, &words)
            }
            Self::Link(who) => {
                let of = (who.account, &who.email);
                let url = links::sign_in(&services, &links::origin(settings), of).await?;
                let url = url.with_context(|| {
                    format!(
                        "--email {}: no member of the account has this address; `offhook member add` makes one",
                        who.email
                    )
                })?;
                let turns_off_two_step = services.people().has_two_step(&who.email).await?;
                let mut words = format!(
                    "{} sets a password within a day (shown once): {url}",
                    who.email
                );
                if turns_off_two_step {
                    words.push_str("\nsetting it turns their two-step verification off");
                }
                let value = json!({
                    "account_id": who.account.to_string(),
                    "email": who.email,
                    "sign_in_url": url,
                    "turns_off_two_step": turns_off_two_step,
                });
                output::print(who.print.json, &value, &words)
            }
            Self::Invite(person) => {
                let (account, role) = (person.account, person.role);
                let invited = team.invite(account, person.email, &person.name, role);
                let invited = invited.await?;
                let invitation = &invited.invitation;
                let url = links::join(&links::origin(settings), &invited.token);
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
