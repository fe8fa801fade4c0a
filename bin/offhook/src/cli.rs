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

use clap::{CommandFactory as _, FromArgMatches as _, Parser};

use crate::client::{
    AgentsCommand, CallArgs, ConversationsCommand, ImportCommand, LogsCommand, TestArgs,
};
use crate::demo::DemoArgs;
use crate::doctor::DoctorArgs;
use crate::health::HealthArgs;
use crate::prelude::*;
use crate::settings::{Flags, LogFormat, Secret};
use crate::telemetry::{self, Telemetry};
use crate::{data_dir, demo, doctor, health, logging, serve};

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

/// What every operator's command takes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
struct Common {
    /// The TOML configuration file (or OFFHOOK_CONFIG).
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The directory of the embedded database and the service's files [default: ./data].
    #[arg(long, global = true, value_name = "DIR")]
    data_dir: Option<String>,
    /// A PostgreSQL database, postgres://… [default: SQLite in the data directory].
    #[arg(long, global = true, value_name = "URL")]
    database_url: Option<Secret>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start the service: API, portal and calls.
    Serve(ServeArgs),
    /// Run a whole call: account, key, agent, webhook, call, transcript, signed events.
    Demo(DemoArgs),
    /// Migrate the database to this version's schema.
    Migrate(JsonArgs),
    /// Copy the embedded database to a file, also while the service runs.
    Backup(backup::BackupArgs),
    /// Prepare a restored database: end queued calls and pause batches, which may have gone out since the backup.
    Restore(backup::RestoreArgs),
    /// Re-encrypt every secret with a new master key.
    Rekey(rekey::RekeyArgs),
    /// Create and list accounts.
    #[command(subcommand)]
    Account(account::AccountCommand),
    /// Create, list and revoke API keys.
    #[command(subcommand)]
    Key(key::KeyCommand),
    /// Show the state of document embeddings.
    #[command(subcommand)]
    Knowledge(knowledge::KnowledgeCommand),
    /// Sync legacy agents with their provider.
    #[command(subcommand)]
    Legacy(credential::LegacyCommand),
    /// Manage an account's team.
    #[command(subcommand)]
    Member(member::MemberCommand),
    /// Assign phone numbers to accounts.
    #[command(subcommand)]
    Number(number::NumberCommand),
    /// Manage accounts' credits.
    #[command(subcommand)]
    Wallet(wallet::WalletCommand),
    /// List and mark invoices.
    #[command(subcommand)]
    Invoice(invoice::InvoiceCommand),
    /// Check every hop between a request and a delivered event, and print a remedy for each failure.
    Doctor(DoctorArgs),
    /// Check whether the service of this data directory is running.
    Health(HealthArgs),
    /// Run the simulated phone network as its own process.
    Simulator(simulator::SimulatorArgs),
    /// Manage the voice catalog.
    #[command(subcommand)]
    Voices(voices::VoicesCommand),
    /// Receive, forward and check webhooks.
    #[command(subcommand)]
    Webhooks(webhooks::WebhooksCommand),
    /// Place a call over the API.
    Call(CallArgs),
    /// Read agents over the API, and keep them as files.
    #[command(subcommand)]
    Agents(AgentsCommand),
    /// Turn another platform's export of an agent into a folder for `offhook agents apply`.
    Import(ImportCommand),
    /// Read and follow conversations over the API.
    #[command(subcommand)]
    Conversations(ConversationsCommand),
    /// Follow the API's request log.
    #[command(subcommand)]
    Logs(LogsCommand),
    /// Hold the conversations of a folder's scenarios with an agent, and check them.
    #[command(disable_version_flag = true)]
    Test(TestArgs),
    /// Print the OpenAPI document.
    Openapi,
    /// Print a shell's completion script.
    Completions {
        /// The shell to complete for.
        shell: clap_complete::Shell,
    },
}

/// The commands that take no global option: they speak to an API, or need nothing.
const WITHOUT_GLOBALS: [&str; 8] = [
    "call",
    "agents",
    "import",
    "conversations",
    "logs",
    "test",
    "webhooks",
    "completions",
];

/// A line for each command, which its help shows as an example.
const EXAMPLES: &[&str] = &[
    "offhook serve --listen 127.0.0.1:8080 --data-dir /var/lib/offhook",
    "offhook demo --exit",
    "offhook migrate --database-url postgres://offhook@localhost/offhook",
    "offhook backup offhook-backup.db",
    "offhook restore offhook-backup.db",
    "offhook rekey --while-serving",
    "offhook account create --name Acme --plan pro --credits 10 --owner-email ann@example.com --json",
    "offhook account list --json",
    "offhook account set-plan --account ID --plan starter --yes",
    "offhook account credential set --account ID --provider legacy --secret sim_x",
    "offhook account credential list --account ID",
    "offhook account credential remove --account ID --provider legacy",
    "offhook key create --account ID --name backend --scopes agents:read,calls:write --expires-at 2030-01-01",
    "offhook key list --account ID",
    "offhook key revoke ID",
    "offhook knowledge status",
    "offhook legacy sync --account ID",
    "offhook member add --account ID --email ann@example.com --name Ann --role admin",
    "offhook member invite --account ID --email ann@example.com --name Ann --role viewer",
    "offhook member link --account ID --email ann@example.com",
    "offhook member withdraw --account ID --email ann@example.com",
    "offhook member remove --account ID --email ann@example.com",
    "offhook number add --account ID --phone-number +15005550199 --label Desk",
    "offhook wallet credit --account ID --credits 500 --type purchase --description June --usd 49.00",
    "offhook wallet auto-refill --account ID --threshold 50 --amount 500",
    "offhook invoice list --account ID",
    "offhook invoice mark --id ID --status paid",
    "offhook doctor --egress https://example.com",
    "offhook health --ready",
    "offhook simulator --listen 127.0.0.1:8090 --dial-log dials.jsonl --speed 20",
    "offhook voices sync",
    "offhook webhooks listen --forward-to http://127.0.0.1:3000/webhooks",
    "offhook webhooks verify --secret whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8 --signature t=1,v1=00 --body event.json",
    "offhook call --agent ID --to +14155550123 --metadata name=Ann --follow",
    "offhook agents list",
    "offhook agents show ID",
    "offhook agents pull agents",
    "offhook agents diff agents",
    "offhook agents plan agents",
    "offhook agents apply agents --publish",
    "offhook agents publish 019daba1-3dde-7d4f-8bc5-a29de06b510f --version 3",
    "offhook import vapi assistant.json -o agents",
    "offhook conversations list --status failed",
    "offhook conversations show call_ID",
    "offhook conversations tail call_ID",
    "offhook conversations scenario call_ID",
    "offhook logs tail",
    "offhook test scenarios --agent ID --version draft --junit",
    "offhook openapi",
    "offhook completions bash",
];

/// The whole command line, each command with its example.
fn command() -> clap::Command {
    let mut command = Cli::command();
    command.build();
    let command = with_examples(command, "offhook");
    command.mut_subcommands(
        |command| match WITHOUT_GLOBALS.contains(&command.get_name()) {
            true => without_globals(command),
            false => command,
        },
    )
}

/// The command that a line names, as far as it names one.
fn named(line: impl IntoIterator<Item = String>) -> String {
    let mut command = &command();
    let mut names = vec!["offhook".to_owned()];
    for word in line {
        if let Some(found) = command.find_subcommand(&word) {
            command = found;
            names.push(word);
        }
    }
    names.join(" ")
}

fn with_examples(command: clap::Command, path: &str) -> clap::Command {
    let is_leaf = !command.has_subcommands();
    let example = EXAMPLES
        .iter()
        .find(|line| is_leaf && line.starts_with(path));
    let command = command.mut_subcommands(|command| {
        let path = format!("{path} {}", command.get_name());
        with_examples(command, &path)
    });
    match example {
        Some(example) => command.after_help(format!("Example:\n  {example}")),
        None => command,
    }
}

fn without_globals(command: clap::Command) -> clap::Command {
    let is_global = |arg: &clap::Arg| arg.get_help_heading() == Some("Global options");
    let command = command.mut_args(|arg| {
        let hides = is_global(&arg);
        arg.hide(hides)
    });
    command.mut_subcommands(without_globals)
}

#[derive(Debug, Args)]
struct ServeArgs {
    /// The address to serve on; port 0 picks one [default: 127.0.0.1:8080].
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// Redis, which shares rate limits between processes.
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
    /// Reads a command line.
    pub(crate) fn of<T: Into<std::ffi::OsString> + Clone>(
        line: impl IntoIterator<Item = T>,
    ) -> Result<Self, clap::Error> {
        let mut command = command();
        let matches = command.try_get_matches_from_mut(line)?;
        Self::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
    }

    /// Does what the command says.
    ///
    /// # Errors
    /// It could not be done; the sentence says why.
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        let has_globals = self.common.config.is_some()
            || self.common.data_dir.is_some()
            || self.common.database_url.is_some();
        if has_globals && self.command.speaks_to_an_api() {
            bail!(
                "this command takes no --config, --data-dir or --database-url: --url and --key name the service that \
                 it speaks to"
            );
        }
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
            Command::Webhooks(command) => command.run().await,
            Command::Call(args) => args.run().await,
            Command::Agents(command) => command.run().await,
            Command::Import(command) => command.run(),
            Command::Conversations(command) => command.run().await,
            Command::Logs(command) => command.run().await,
            Command::Test(args) => args.run().await,
            Command::Completions { shell } => {
                let mut script = Vec::new();
                clap_complete::generate(shell, &mut command(), "offhook", &mut script);
                output::print(
                    false,
                    &serde_json::Value::Null,
                    String::from_utf8(script)?.trim_end(),
                )
            }
            Command::Openapi => openapi(&start(flags, QUIET)?),
        }
    }
}

impl Command {
    /// Whether it is a customer's, or checks webhooks.
    const fn speaks_to_an_api(&self) -> bool {
        matches!(
            self,
            Self::Call(_)
                | Self::Agents(_)
                | Self::Import(_)
                | Self::Conversations(_)
                | Self::Logs(_)
                | Self::Test(_)
                | Self::Webhooks(_)
        )
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
    use super::*;

    fn parse(line: &str) -> Result<Cli, clap::Error> {
        let line = line.replace("ID", "01890000-0000-7000-8000-000000000000");
        Cli::of(line.split_whitespace())
    }

    #[test]
    fn the_commands_are_consistent() {
        Cli::command().debug_assert();
    }

    /// The paths of the commands that are no groups.
    fn leaves(command: &clap::Command, path: String, found: &mut Vec<String>) {
        let below = command
            .get_subcommands()
            .filter(|below| below.get_name() != "help");
        let before = found.len();
        for below in below {
            leaves(below, format!("{path} {}", below.get_name()), found);
        }
        if found.len() == before {
            found.push(path);
        }
    }

    #[test]
    fn every_command_has_an_example_that_it_understands_and_shows() {
        let mut all = Vec::new();
        leaves(&command(), "offhook".to_owned(), &mut all);
        for path in &all {
            let example = EXAMPLES.iter().find(|line| line.starts_with(path.as_str()));
            let example = example.unwrap_or_else(|| panic!("{path} has no example"));
            let help = parse(&format!("{path} --help")).unwrap_err().to_string();
            assert!(help.contains(example), "{help}");
            let takes_globals = WITHOUT_GLOBALS.iter().all(|one| !path.contains(one));
            assert_eq!(help.contains("--data-dir"), takes_globals, "{help}");
        }
        assert_eq!(EXAMPLES.len(), all.len());
        for line in EXAMPLES {
            if let Err(error) = parse(line) {
                panic!("{line}: {error}");
            }
        }
    }

    const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/CLI.md");

    fn options(command: &clap::Command, heading: Option<&str>) -> Vec<String> {
        let shown = command.get_arguments().filter(|arg| {
            let is_own = !matches!(arg.get_id().as_str(), "help" | "version" | "json");
            is_own && !arg.is_hide_set() && arg.get_help_heading() == heading
        });
        let item = |arg: &clap::Arg| {
            let mut arg = arg.clone();
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            arg = arg.help("");
            format!("- `{arg}`: {help}")
        };
        let mut items: Vec<String> = shown.map(item).collect();
        if !items.is_empty() {
            items.insert(0, String::new());
        }
        items
    }

    /// The page of the command line.
    fn page() -> String {
        let command = command();
        let mut all = Vec::new();
        leaves(&command, "offhook".to_owned(), &mut all);
        let mut lines = vec![
            "# Command line".to_owned(),
            String::new(),
            "A failure is one sentence on standard error and exit code 1; an invalid command line is exit code 2. Logs go to standard".to_owned(),
            "error. Commands that print a result take `--json` and then print JSON on standard output.".to_owned(),
            String::new(),
            "Operators' commands take these options, before or behind the command:".to_owned(),
        ];
        let serve = command.find_subcommand("serve").expect("serve");
        lines.extend(options(serve, Some("Global options")));
        lines.extend([
            String::new(),
            "`call`, `agents`, `conversations`, `logs`, `test` and `webhooks listen --forward-to` speak to a running service with an".to_owned(),
            "API key instead:".to_owned(),
        ]);
        let call = command.find_subcommand("call").expect("call");
        lines.extend(options(call, Some("Connection")));
        for path in all {
            let names = path.split(' ').skip(1);
            let leaf = names.fold(&command, |command, name| {
                command.find_subcommand(name).expect(name)
            });
            let about = leaf
                .get_about()
                .map(ToString::to_string)
                .unwrap_or_default();
            let example = EXAMPLES
                .iter()
                .find(|line| line.starts_with(path.as_str()))
                .expect("an example");
            lines.extend([
                String::new(),
                format!("## `{path}`: {}", about.trim_end_matches('.')),
            ]);
            if *example != path {
                lines.extend([String::new(), format!("    {example}")]);
            }
            lines.extend(options(leaf, None));
        }
        lines.join("\n") + "\n"
    }

    #[test]
    fn the_page_of_the_command_line_is_as_the_code_says() {
        let written = std::fs::read_to_string(PAGE).unwrap_or_default();
        let page = page();
        if written != page && std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(PAGE, &page).unwrap();
            return;
        }
        assert!(
            written == page,
            "write it anew: UPDATE_DOCS=1 just test-crate offhook page_of_the_command"
        );
    }

    #[test]
    fn options_are_understood_before_and_behind_the_command() {
        for line in [
            "offhook serve --listen 127.0.0.1:0 --data-dir d --database-url postgres://h/d --redis-url redis://h --config f",
            "offhook --data-dir d openapi",
            "offhook restore --database-url postgres://h/d",
            "offhook account create --name N --plan pro --engine-module true",
            "offhook wallet auto-refill --account ID --off",
            "offhook key create --account ID --name N --scopes all --read-only --monthly-credit-budget 5 --json",
            "offhook webhooks listen --listen 127.0.0.1:0 --secret whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8",
            "offhook webhooks verify --secret whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8 --signature t=1,v1=00 --body - --now 1",
            "offhook logs tail --url http://h --key k --json",
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
