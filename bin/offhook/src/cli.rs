//! The command line.

mod account;
mod backup;
mod credential;
mod invoice;
mod key;
mod knowledge;
mod member;
mod number;
mod rekey;
mod simulator;
pub(crate) mod usage;
mod voices;
mod wallet;
mod webhooks;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::demo::DemoArgs;
use crate::doctor::DoctorArgs;
use crate::health::HealthArgs;
use crate::settings::{Flags, LogFormat, Secret, Settings};
use crate::telemetry::{self, Telemetry};
use crate::{data_dir, demo, doctor, health, logging, output, parts, serve};

/// What administration logs: only what is amiss, as the answer is on standard output.
const QUIET: &str = "warn";

/// What the service logs: its own steps, not those of its server, which takes each malformed head for an error.
const SERVING: &str = "info,actix_server=warn,actix_http=off";

/// What a command logs that tells everything in its answer.
const SILENT: &str = "off";

/// A voice and chat agent service in one binary.
#[derive(Debug, Parser)]
#[command(name = "offhook", version, propagate_version = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Command,
}

/// What every command takes.
#[derive(Debug, Args)]
struct Common {
    /// The configuration, a TOML file (or OFFHOOK_CONFIG).
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where the embedded database and the service's own files are [default: ./data].
    #[arg(long, global = true, value_name = "DIR")]
    data_dir: Option<String>,
    /// A PostgreSQL database, postgres://…; without it SQLite in the data directory.
    #[arg(long, global = true, value_name = "URL")]
    database_url: Option<Secret>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the API and run the calls.
    Serve(ServeArgs),
    /// Show a call from end to end: account, key, agent, webhook, call, transcript, signed events.
    Demo(DemoArgs),
    /// Bring the database to this version's schema.
    Migrate(JsonArgs),
    /// Copy the embedded database into a file, while the service runs.
    Backup(backup::BackupArgs),
    /// Make a database fit to be served that was restored from a backup.
    Restore(backup::RestoreArgs),
    /// Seal every secret with another master key.
    Rekey(rekey::RekeyArgs),
    /// Make and list accounts.
    #[command(subcommand)]
    Account(account::AccountCommand),
    /// Make, list and revoke API keys.
    #[command(subcommand)]
    Key(key::KeyCommand),
    /// The embeddings of documents.
    #[command(subcommand)]
    Knowledge(knowledge::KnowledgeCommand),
    /// Bring legacy agents in step with their provider.
    #[command(subcommand)]
    Legacy(credential::LegacyCommand),
    /// Bring people into an account's team.
    #[command(subcommand)]
    Member(member::MemberCommand),
    /// Give phone numbers to accounts.
    #[command(subcommand)]
    Number(number::NumberCommand),
    /// Credits of accounts.
    #[command(subcommand)]
    Wallet(wallet::WalletCommand),
    /// List and mark invoices.
    #[command(subcommand)]
    Invoice(invoice::InvoiceCommand),
    /// Look at every hop between a request and a delivered event, and say what to do about those that fail.
    Doctor(DoctorArgs),
    /// Ask the service of this data directory whether it lives; for supervisors without a client of their own.
    Health(HealthArgs),
    /// Run the simulated phone network as a process of its own.
    Simulator(simulator::SimulatorArgs),
    /// The voice providers' lists.
    #[command(subcommand)]
    Voices(voices::VoicesCommand),
    /// Receive and check webhooks.
    #[command(subcommand)]
    Webhooks(webhooks::WebhooksCommand),
    /// Print the OpenAPI document.
    Openapi,
}

#[derive(Debug, Args)]
struct ServeArgs {
    /// The address to serve on; port 0 picks one [default: 127.0.0.1:8080].
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// Redis for the limits that several nodes share.
    #[arg(long, value_name = "URL")]
    redis_url: Option<Secret>,
}

/// How the answer is printed.
#[derive(Debug, Clone, Copy, Args)]
struct JsonArgs {
    /// Print one JSON object or array.
    #[arg(long)]
    json: bool,
}

impl Cli {
    /// Does what the command says.
    ///
    /// # Errors
    /// It could not be done; the sentence says why.
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        let flags = Flags {
            config: self.common.config,
            data_dir: self.common.data_dir,
            database_url: self.common.database_url,
            ..Flags::default()
        };
        match self.command {
            Command::Serve(args) => {
                let flags = Flags {
                    listen: args.listen,
                    redis_url: args.redis_url,
                    ..flags
                };
                serve(flags).await
            }
            Command::Demo(args) => {
                let keep_data = flags.data_dir.is_some();
                demo::run(start(flags, QUIET)?, args, keep_data).await
            }
            Command::Migrate(JsonArgs { json }) => migrate(&start(flags, QUIET)?, json).await,
            Command::Backup(args) => backup::backup(&start(flags, QUIET)?, args).await,
            Command::Restore(args) => backup::restore(&start(flags, QUIET)?, args).await,
            Command::Rekey(args) => rekey::run(&start(flags, QUIET)?, args).await,
            Command::Account(command) => command.run(&start(flags, QUIET)?).await,
            Command::Key(command) => command.run(&start(flags, QUIET)?).await,
            Command::Knowledge(command) => command.run(&start(flags, QUIET)?).await,
            Command::Legacy(command) => command.run(&start(flags, QUIET)?).await,
            Command::Member(command) => command.run(&start(flags, QUIET)?).await,
            Command::Number(command) => command.run(&start(flags, QUIET)?).await,
            Command::Wallet(command) => command.run(&start(flags, QUIET)?).await,
            Command::Invoice(command) => command.run(&start(flags, QUIET)?).await,
            Command::Doctor(args) => {
                logging::start(LogFormat::Pretty, SILENT, None)?;
                doctor::run(flags, args).await
            }
            Command::Health(args) => health::run(&start(flags, QUIET)?, args).await,
            Command::Simulator(args) => {
                let settings = start(flags, SERVING)?;
                simulator::run(settings, args).await
            }
            Command::Voices(command) => command.run(&start(flags, QUIET)?).await,
            Command::Webhooks(command) => {
                start(flags, QUIET)?;
                command.run().await
            }
            Command::Openapi => openapi(&start(flags, QUIET)?),
        }
    }
}

/// Serves, with logs and spans.
async fn serve(flags: Flags) -> anyhow::Result<()> {
    let settings = Settings::load(flags)?;
    let telemetry = settings.telemetry.as_ref().map(telemetry::start);
    let telemetry = telemetry.transpose()?;
    let spans = telemetry.as_ref().map(Telemetry::spans);
    logging::start(settings.log_format, SERVING, spans)?;
    settings.check_serving()?;
    let served = serve::run(settings).await;
    if let Some(telemetry) = telemetry {
        telemetry.stop().await;
    }
    served
}

/// Reads the settings and starts the logs.
fn start(flags: Flags, default_filter: &str) -> anyhow::Result<Settings> {
    let settings = Settings::load(flags)?;
    logging::start(settings.log_format, default_filter, None)?;
    Ok(settings)
}

fn openapi(settings: &Settings) -> anyhow::Result<()> {
    let mut document = offhook_http::openapi_document();
    if let Some(url) = &settings.http.public_url {
        document["servers"] = serde_json::json!([{ "url": url }]);
    }
    output::print(false, &document, &format!("{document:#}"))
}

async fn migrate(settings: &Settings, json: bool) -> anyhow::Result<()> {
    if !settings.is_shared() {
        data_dir::create(&settings.data_dir)?;
    }
    let applied = offhook_storage::Store::migrate(&parts::store_config(settings)?).await?;
    let words = match applied.as_slice() {
        [] => "the database was up to date: nothing to apply".to_owned(),
        [one] => format!("the database is up to date now: applied migration {one}"),
        all => format!(
            "the database is up to date now: applied migrations {}",
            all.join(", ")
        ),
    };
    output::print(json, &serde_json::json!({ "applied": applied }), &words)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    fn parse(line: &str) -> Result<Cli, clap::Error> {
        let line = line.replace("ID", "01890000-0000-7000-8000-000000000000");
        Cli::try_parse_from(line.split_whitespace())
    }

    #[test]
    fn the_commands_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_documented_line_is_understood() {
        for line in [
            "offhook serve --listen 127.0.0.1:0 --data-dir d --database-url postgres://h/d --redis-url redis://h --config f",
            "offhook demo --exit",
            "offhook migrate --json",
            "offhook backup backup.db --json",
            "offhook restore backup.db --json",
            "offhook restore --database-url postgres://h/d",
            "offhook rekey --while-serving --json",
            "offhook account create --name N --plan pro --credits 10 --engine-module true --owner-email e@example.com --json",
            "offhook account create --name N --plan free",
            "offhook account list --json --config f",
            "offhook account set-plan --account ID --plan starter --yes --json",
            "offhook wallet credit --account ID --credits 5 --type purchase --description D --usd 4.90 --json",
            "offhook wallet auto-refill --account ID --threshold 5 --amount 50",
            "offhook wallet auto-refill --account ID --off",
            "offhook invoice list --account ID --json",
            "offhook invoice mark --id ID --status paid",
            "offhook doctor --json --egress https://example.com",
            "offhook health --ready",
            "offhook key create --account ID --name N --scopes all --read-only --expires-at 2030-01-01 --monthly-credit-budget 5 --json",
            "offhook key create --account ID --name N --scopes agents:read,calls:write",
            "offhook key list --account ID",
            "offhook key revoke ID --json",
            "offhook number add --account ID --phone-number +15005550199 --label Desk --json",
            "offhook account credential set --account ID --provider legacy --secret sim_x",
            "offhook account credential list --account ID --json",
            "offhook account credential remove --account ID --provider simulator",
            "offhook legacy sync --account ID --json",
            "offhook member add --account ID --email e@example.com --name Eva --role admin --json",
            "offhook member invite --account ID --email e@example.com --name Eva --role viewer",
            "offhook member remove --account ID --email e@example.com --json",
            "offhook member withdraw --account ID --email e@example.com",
            "offhook knowledge status --json",
            "offhook voices sync --json",
            "offhook simulator --listen 127.0.0.1:0 --dial-log f --speed 20",
            "offhook webhooks listen --listen 127.0.0.1:0 --secret whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8",
            "offhook webhooks verify --secret whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8 --signature t=1,v1=00 --body - --now 1",
            "offhook --data-dir d openapi",
        ] {
            if let Err(error) = parse(line) {
                panic!("{line}: {error}");
            }
        }
    }

    #[test]
    fn a_wrong_value_is_refused_with_its_flag() {
        for (line, flag) in [
            ("offhook account create --name N --plan gold", "--plan"),
            ("offhook key revoke 12", "<ID>"),
            (
                "offhook key create --account x --name N --scopes all",
                "--account",
            ),
            (
                "offhook key create --account ID --name N --scopes calls:eat",
                "--scopes",
            ),
            (
                "offhook number add --account ID --phone-number 12",
                "--phone-number",
            ),
            (
                "offhook account credential remove --account ID --provider x",
                "--provider",
            ),
            (
                "offhook member add --account ID --email e --name N --role admin",
                "--email",
            ),
            (
                "offhook member invite --account ID --email e@x --name N --role king",
                "`owner`, `admin`, `developer` or `viewer`",
            ),
            ("offhook simulator --listen nowhere", "--listen"),
            (
                "offhook simulator --listen 127.0.0.1:0 --speed -1",
                "--speed",
            ),
            ("offhook webhooks listen --secret nonsense", "--secret"),
        ] {
            let error = parse(line).unwrap_err().to_string();
            assert!(error.contains(flag), "{line}: {error}");
        }
    }

    #[test]
    fn secrets_on_the_command_line_do_not_show_in_debug_output() {
        let cli = parse(
            "offhook serve --database-url postgres://u:hunter2@h/d --redis-url redis://hunter2",
        );
        assert!(!format!("{cli:?}").contains("hunter2"));
    }

    #[test]
    fn text_logs_are_the_default() {
        let settings = Settings::from_parts(Flags::default(), []).unwrap();
        assert_eq!(settings.log_format, LogFormat::Pretty);
    }
}
