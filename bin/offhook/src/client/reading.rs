//! `offhook agents`, `offhook conversations` and `offhook logs`

use super::files::{ApplyArgs, FolderArgs, PullArgs};
use super::{Api, Remote, conversation_id};
use crate::prelude::*;

#[derive(Debug, Subcommand)]
pub(crate) enum AgentsCommand {
    /// List the account's agents, the newest first.
    List(PageArgs),
    /// Show an agent with its configuration.
    Show(OneArgs),
    /// Write the account's agents and tools into a folder of files.
    Pull(PullArgs),
    /// Compare a folder with the service, file by file; exit code 3 if they differ.
    Diff(FolderArgs),
    /// Print what `apply` would change, and what changed at the service meanwhile; exit code 3 if there is anything to apply.
    Plan(FolderArgs),
    /// Save what the folder changes, as new versions.
    Apply(ApplyArgs),
    /// Publish a version; one that was published before goes back at once, without a test.
    #[command(disable_version_flag = true)]
    Publish {
        /// The version [default: the latest].
        #[arg(long = "version", value_name = "N")]
        served: Option<i64>,
        #[command(flatten)]
        one: OneArgs,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConversationsCommand {
    /// List conversations, the newest first.
    List {
        /// Only of this agent.
        #[arg(long, value_name = "ID")]
        agent: Option<String>,
        /// Only on this channel, such as `phone`.
        #[arg(long)]
        channel: Option<String>,
        /// Only in this status, such as `failed`.
        #[arg(long)]
        status: Option<String>,
        #[command(flatten)]
        page: PageArgs,
    },
    /// Show a conversation with its transcript.
    Show(OneArgs),
    /// Print a conversation as it happens, until it ends.
    Tail(OneArgs),
    /// Print a conversation as a scenario for `offhook test`, in YAML.
    Scenario(OneArgs),
}

#[derive(Debug, Subcommand)]
pub(crate) enum LogsCommand {
    /// Print the account's API requests as they are logged.
    Tail {
        /// Print one JSON object a line.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        remote: Remote,
    },
}

#[derive(Debug, Args)]
pub(crate) struct PageArgs {
    /// How many, at most 100.
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: u32,
    /// Print one JSON array.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: Remote,
}

#[derive(Debug, Args)]
pub(crate) struct OneArgs {
    /// Its id; for a conversation also the handle of its call.
    id: String,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: Remote,
}

impl AgentsCommand {
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        match self {
            Self::List(page) => {
                let columns = [
                    "id",
                    "name",
                    "status",
                    "current_version",
                    "published_version",
                ];
                list(page, "/v1/agents", &[], columns).await
            }
            Self::Show(one) => {
                let agent = one
                    .remote
                    .api()?
                    .get(&format!("/v1/agents/{}", one.id))
                    .await?;
                output::print(one.json, &agent, &format!("{agent:#}"))
            }
            Self::Pull(pull) => pull.run().await,
            Self::Diff(folder) => folder.diff().await,
            Self::Plan(folder) => folder.plan().await,
            Self::Apply(apply) => apply.run().await,
            Self::Publish { served, one } => {
                let path = format!("/v1/agents/{}/publish", one.id);
                let body = json!({"version": served});
                let agent = one.remote.api()?.post(&path, body, "publishing").await?;
                let words = format!("published version {}", agent["published_version"]);
                output::print(one.json, &agent, &words)
            }
        }
    }
}

impl ConversationsCommand {
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        match self {
            Self::List {
                agent,
                channel,
                status,
                page,
            } => {
                let filters = [
                    ("agent_id", agent),
                    ("channel", channel),
                    ("status", status),
                ];
                let columns = [
                    "id",
                    "started_at",
                    "channel",
                    "status",
                    "to",
                    "duration_seconds",
                ];
                list(page, "/v1/conversations", &filters, columns).await
            }
            Self::Show(one) => {
                let target = format!("/v1/conversations/{}", conversation_id(&one.id));
                let found = one.remote.api()?.get(&target).await?;
                output::print(one.json, &found, &described(&found))
            }
            Self::Tail(one) => {
                let api = one.remote.api()?;
                let id = conversation_id(&one.id);
                follow_conversation(&api, id, one.json).await
            }
            Self::Scenario(one) => {
                let target = format!("/v1/conversations/{}/scenario", conversation_id(&one.id));
                let mut found = one.remote.api()?.get(&target).await?;
                if let Some(members) = found.as_object_mut() {
                    members.retain(|_, value| !value.is_null());
                }
                let yaml = serde_saphyr::to_string(&found)?;
                output::print(one.json, &found, yaml.trim_end())
            }
        }
    }
}

impl LogsCommand {
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        let Self::Tail { json, remote } = self;
        let api = remote.api()?;
        let shown = |entry: &Value| {
            let words = [
                &entry["created_at"],
                &entry["status"],
                &entry["method"],
                &entry["path"],
                &entry["error"],
            ];
            let took = format!("{} ms", entry["duration_ms"]);
            let words = words
                .map(cell)
                .into_iter()
                .chain([took, cell(&entry["key_prefix"])]);
            let words: Vec<String> = words.filter(|word| !word.is_empty()).collect();
            output::line(json, entry, &words.join("  "))
        };
        api.follow("/v1/logs/stream", shown).await
    }
}

/// Prints each event of a conversation until its last one.
pub(super) async fn follow_conversation(api: &Api, id: &str, json: bool) -> anyhow::Result<()> {
    let path = format!("/v1/conversations/{id}/events");
    let shown = |event: &Value| {
        let words = match event["state"].as_str() {
            Some(state) => format!("[{state}]"),
            None => turn(event),
        };
        let is_read = output::line(json, event, &words)?;
        Ok(is_read && !is_last(event))
    };
    api.follow(&path, shown).await
}

/// Whether a conversation's stream ends with this event.
pub(crate) fn is_last(event: &Value) -> bool {
    matches!(event["state"].as_str(), Some("completed" | "failed"))
}

fn turn(turn: &Value) -> String {
    let role = match turn["role"].as_str() {
        Some("user") => "customer",
        role => role.unwrap_or_default(),
    };
    format!("{role:<9} {}", cell(&turn["text"]))
}

/// A conversation's members line by line, and its transcript.
fn described(conversation: &Value) -> String {
    let members = conversation.as_object().into_iter().flatten();
    let members = members.filter(|(name, value)| *name != "transcript" && !value.is_null());
    let mut lines: Vec<String> = members
        .map(|(name, value)| format!("{name:<18} {}", cell(value)))
        .collect();
    lines.push(String::new());
    let turns = conversation["transcript"].as_array().into_iter().flatten();
    lines.extend(turns.map(turn));
    lines.join("\n")
}

async fn list<const N: usize>(
    page: PageArgs,
    path: &str,
    filters: &[(&str, Option<String>)],
    columns: [&str; N],
) -> anyhow::Result<()> {
    let limit = page.limit.to_string();
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.append_pair("limit", &limit);
    for (name, value) in filters {
        if let Some(value) = value {
            query.append_pair(name, value);
        }
    }
    let found = page
        .remote
        .api()?
        .get(&format!("{path}?{}", query.finish()))
        .await?;
    let items = found["data"].as_array().cloned().unwrap_or_default();
    let rows: Vec<[String; N]> = items
        .iter()
        .map(|item| columns.map(|column| cell(&item[column])))
        .collect();
    let words = output::table(columns, &rows);
    output::print(page.json, &Value::Array(items), &words)
}

/// A value as a cell shows it.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
