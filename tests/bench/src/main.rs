//! `just bench`: compares the service with bare handlers and loops, as ratios measured in the same run
//! (docs/PERFORMANCE.md).
//!
//! This process makes the load and receives the webhooks. The measured programs are separate processes: the service
//! with the bare handlers on the same database ([`service`]), the bare loop ([`bare`]), or the release binary.

mod bare;
mod binary;
mod child;
mod database;
mod figures;
mod load;
mod pairs;
mod phone;
mod process;
mod receiver;
mod report;
mod seed;
mod service;

use std::process::ExitCode;

use anyhow::Context as _;
use clap::Parser;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use report::Report;

/// Everything was measured, and a gate was missed. Differs from 1, the exit code of a run that failed.
const MISSED: u8 = 3;

/// Measures Offhook's speed and memory, and prints the figures as a Markdown table.
#[derive(Debug, Parser)]
struct Arguments {
    /// The figures to measure: whole, limits, lists, pages, posts, webhooks, drain, turns, process. Default: all.
    figures: Vec<String>,
    /// A maintenance database of a PostgreSQL server whose user may create databases.
    #[arg(long, env = "OFFHOOK_BENCH_POSTGRES", hide_env_values = true)]
    postgres: String,
    /// A Redis for `whole`.
    #[arg(long, env = "OFFHOOK_BENCH_REDIS", hide_env_values = true)]
    redis: Option<String>,
    /// The process ids of that PostgreSQL and that Redis.
    #[arg(long, env = "OFFHOOK_BENCH_SERVERS", value_delimiter = ',')]
    servers: Vec<u32>,
    /// The release binary.
    #[arg(
        long,
        env = "OFFHOOK_BENCH_BIN",
        default_value = "target/release/offhook"
    )]
    binary: std::path::PathBuf,
    /// Measure on this database only: sqlite or postgres.
    #[arg(long)]
    database: Option<database::Kind>,
    /// Seconds of load for one side of a comparison in each round.
    #[arg(long, default_value_t = 1.5)]
    seconds: f64,
    /// Rounds of each comparison.
    #[arg(long, default_value_t = 9)]
    rounds: usize,
    /// Conversations of the large account of `pages`, and concurrent calls of `turns`, if not the default.
    #[arg(long)]
    size: Option<usize>,
}

fn main() -> anyhow::Result<ExitCode> {
    // Each call has sockets on both sides; child processes inherit the limit.
    let files = getrlimit(Resource::Nofile);
    let most = Rlimit {
        current: files.maximum,
        ..files
    };
    setrlimit(Resource::Nofile, most)?;
    if let Ok(role) = std::env::var(child::ROLE) {
        let role = serde_json::from_str(&role).context("the role of this process")?;
        runtime(true)?.block_on(child::run(role))?;
        return Ok(ExitCode::SUCCESS);
    }
    let arguments = Arguments::parse();
    let bench = figures::Bench {
        postgres: arguments.postgres,
        redis: arguments.redis,
        servers: arguments.servers,
        binary: arguments.binary,
        only: arguments.database,
        seconds: arguments.seconds,
        rounds: arguments.rounds,
        size: arguments.size,
    };
    let mut report = Report::default();
    let measured = runtime(false)?.block_on(figures::run(&bench, &arguments.figures, &mut report));
    report.print();
    measured?;
    Ok(match report.misses() {
        0 => ExitCode::SUCCESS,
        misses => {
            eprintln!("gates missed: {misses}");
            ExitCode::from(MISSED)
        }
    })
}

/// One thread makes the load, so that it takes the same share of the machine in every measurement.
fn runtime(threads: bool) -> std::io::Result<tokio::runtime::Runtime> {
    let mut builder = match threads {
        true => tokio::runtime::Builder::new_multi_thread(),
        false => tokio::runtime::Builder::new_current_thread(),
    };
    builder.enable_all().build()
}
