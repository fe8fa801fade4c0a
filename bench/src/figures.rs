//! The figures (issue "Speed and memory").

mod batch;
mod callbacks;
mod crowd;
mod dead;
mod drain;
mod fifty;
mod invite;
mod knowledge;
mod legacy;
mod limits;
mod lists;
mod metrics;
mod nodes;
mod pages;
mod paging;
mod portal;
mod posts;
mod process;
mod redis;
mod resources;
mod turns;
mod usage;
mod voice_sync;
mod voices;
mod webhooks;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::bail;
use tokio::task::LocalSet;

use crate::database::Kind;
use crate::report::Report;

/// How to measure.
pub(crate) struct Bench {
    /// A maintenance database of the PostgreSQL server.
    pub(crate) postgres: String,
    /// A Redis of its own.
    pub(crate) redis: Option<String>,
    /// The release binary.
    pub(crate) binary: PathBuf,
    /// The only database to measure on.
    pub(crate) only: Option<Kind>,
    /// Seconds of load for one side of a comparison in one round.
    pub(crate) seconds: f64,
    /// Rounds of a comparison.
    pub(crate) rounds: usize,
    /// Rows of a long list.
    pub(crate) rows: i64,
    /// The only list to measure the pages of.
    pub(crate) list: Option<String>,
    /// Calls at once, if not the usual number.
    pub(crate) calls: Option<usize>,
}

impl Bench {
    /// The databases to measure on.
    pub(crate) fn databases(&self) -> Vec<Kind> {
        match self.only {
            Some(kind) => vec![kind],
            None => vec![Kind::Sqlite, Kind::Postgres],
        }
    }

    /// The time that one side of a comparison is loaded in one round.
    pub(crate) fn turn(&self) -> Duration {
        Duration::from_secs_f64(self.seconds)
    }
}

const ALL: [&str; 24] = [
    "limits",
    "redis",
    "lists",
    "posts",
    "pages",
    "resources",
    "voices",
    "knowledge",
    "usage",
    "batch",
    "portal",
    "webhooks",
    "dead",
    "drain",
    "backlog",
    "nodes",
    "crowd",
    "turns",
    "fifty",
    "invite",
    "metrics",
    "callbacks",
    "legacy",
    "process",
];

/// Measures the named figures, or all.
pub(crate) async fn run(
    bench: &Bench,
    names: &[String],
    report: &mut Report,
) -> anyhow::Result<()> {
    if let Some(unknown) = names.iter().find(|name| !ALL.contains(&name.as_str())) {
        bail!(
            "there is no figure {unknown}: give some of {}, or none for all",
            ALL.join(", ")
        );
    }
    let tasks = LocalSet::new();
    tasks.run_until(measure(bench, names, report, &tasks)).await
}

async fn measure(
    bench: &Bench,
    names: &[String],
    report: &mut Report,
    tasks: &LocalSet,
) -> anyhow::Result<()> {
    for figure in ALL {
        if !names.is_empty() && !names.iter().any(|name| name == figure) {
            continue;
        }
        match figure {
            "limits" => limits::run(bench, report).await?,
            "redis" => redis::run(bench, report).await?,
            "lists" => lists::run(bench, report).await?,
            "posts" => posts::run(bench, report).await?,
            "pages" => pages::run(bench, report).await?,
            "resources" => resources::run(bench, report).await?,
            "voices" => {
                voices::run(bench, report).await?;
                voice_sync::run(bench, report).await?;
            }
            "knowledge" => knowledge::run(bench, report).await?,
            "usage" => usage::run(bench, report).await?,
            "batch" => batch::run(bench, report).await?,
            "portal" => portal::run(bench, report).await?,
            "webhooks" => webhooks::run(bench, report, tasks).await?,
            "dead" => dead::run(bench, report, tasks).await?,
            "drain" => drain::run(bench, report, tasks).await?,
            "backlog" => drain::backlog(bench, report, tasks).await?,
            "nodes" => nodes::run(bench, report).await?,
            "crowd" => crowd::run(bench, report, tasks).await?,
            "turns" => turns::run(bench, report).await?,
            "fifty" => fifty::run(bench, report).await?,
            "invite" => invite::run(bench, report).await?,
            "metrics" => metrics::run(bench, report).await?,
            "callbacks" => callbacks::run(bench, report).await?,
            "legacy" => legacy::run(bench, report).await?,
            _ => process::run(bench, report).await?,
        }
    }
    Ok(())
}
