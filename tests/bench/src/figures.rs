//! The figures. Each has at least one gate, whose code explains what its number depends on.

mod drain;
mod limits;
mod lists;
mod pages;
mod posts;
mod process;
mod turns;
mod webhooks;
mod whole;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::ensure;
use tokio::task::LocalSet;

use crate::database::Kind;
use crate::report::Report;

/// The settings of a measurement.
pub(crate) struct Bench {
    /// The URL of a maintenance database on the PostgreSQL server.
    pub(crate) postgres: String,
    /// The URL of a Redis.
    pub(crate) redis: Option<String>,
    /// The process ids of PostgreSQL and Redis.
    pub(crate) servers: Vec<u32>,
    /// The release binary.
    pub(crate) binary: PathBuf,
    /// The only database to measure on.
    pub(crate) only: Option<Kind>,
    /// Seconds of load for one side of a comparison in one round.
    pub(crate) seconds: f64,
    /// Rounds of a comparison.
    pub(crate) rounds: usize,
    /// The number of rows or calls, if not the default.
    pub(crate) size: Option<usize>,
}

impl Bench {
    /// The databases to measure on.
    fn databases(&self) -> Vec<Kind> {
        match self.only {
            Some(kind) => vec![kind],
            None => vec![Kind::Sqlite, Kind::Postgres],
        }
    }

    /// The load time for one side of a comparison in one round.
    pub(crate) fn turn(&self) -> Duration {
        Duration::from_secs_f64(self.seconds)
    }
}

const ALL: [&str; 9] = [
    "whole", "limits", "lists", "pages", "posts", "webhooks", "drain", "turns", "process",
];

/// Measures the named figures, or all.
pub(crate) async fn run(
    bench: &Bench,
    names: &[String],
    report: &mut Report,
) -> anyhow::Result<()> {
    let unknown = names.iter().find(|name| !ALL.contains(&name.as_str()));
    ensure!(
        unknown.is_none(),
        "there is no figure {}: give some of {}, or none for all",
        unknown.map_or("", String::as_str),
        ALL.join(", ")
    );
    let tasks = &LocalSet::new();
    let measured = async {
        for figure in ALL {
            if !names.is_empty() && !names.iter().any(|name| name == figure) {
                continue;
            }
            match figure {
                "whole" => whole::run(bench, report, tasks).await?,
                "limits" => limits::run(bench, report).await?,
                "drain" => drain::run(bench, report, tasks).await?,
                "turns" => turns::run(bench, report).await?,
                "process" => process::run(bench, report).await?,
                of_both => {
                    for kind in bench.databases() {
                        match of_both {
                            "lists" => lists::run(kind, bench, report).await?,
                            "pages" => pages::run(kind, bench, report).await?,
                            "posts" => posts::run(kind, bench, report).await?,
                            _ => webhooks::run(kind, bench, report, tasks).await?,
                        }
                    }
                }
            }
        }
        Ok(())
    };
    tasks.run_until(measured).await
}
