//! `just bench`: the service beside bare handlers and loops, as ratios measured in the same run (docs/PERFORMANCE.md).
//!
//! This process makes the load and receives the webhooks. What is measured runs in processes of its own: the service
//! with the bare handlers on the same store ([`service`]), the bare loops ([`bare`]), or the release binary.

mod bare;
mod binary;
mod calls;
mod child;
mod database;
mod figures;
mod load;
mod pairs;
mod phone;
mod process;
mod processor;
mod receiver;
mod report;
mod seed;
mod service;
mod share;
mod sql;

use anyhow::Context as _;
use clap::Parser;

use report::Report;

/// Measures Offhook's speed and memory, and prints the figures as a Markdown table.
#[derive(Debug, Parser)]
struct Arguments {
    /// The figures to measure: limits, redis, lists, posts, pages, resources, voices, knowledge, usage, batch, webhooks, dead,
    /// drain, backlog, nodes, crowd, turns, fifty, invite, metrics, callbacks, legacy, process. None: all of them.
    figures: Vec<String>,
    /// A maintenance database of a PostgreSQL server whose user may create databases.
    #[arg(long, env = "OFFHOOK_BENCH_POSTGRES", hide_env_values = true)]
    postgres: String,
    /// A Redis that nothing else uses, for the figure of that name.
    #[arg(long, env = service::REDIS, hide_env_values = true)]
    redis: Option<String>,
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
    /// Seconds that one side of a comparison is loaded in each round.
    #[arg(long, default_value_t = 1.5)]
    seconds: f64,
    /// Rounds of each comparison.
    #[arg(long, default_value_t = 9)]
    rounds: usize,
    /// Rows of the long lists of `resources`, documents of `knowledge` times 100, conversations of `usage`.
    #[arg(long, default_value_t = 1_000_000)]
    rows: i64,
    /// Calls at once: of `turns` and the first step of `fifty`.
    #[arg(long)]
    calls: Option<usize>,
    /// Of `resources`, only this list, such as `agents`.
    #[arg(long)]
    list: Option<String>,
}

fn main() -> anyhow::Result<()> {
    // Each call has sockets on both sides; children have the limit of their parent.
    rlimit::increase_nofile_limit(u64::MAX)?;
    if let Ok(role) = std::env::var(child::ROLE) {
        let role = serde_json::from_str(&role).context("the role of this process")?;
        return runtime(true)?.block_on(child::run(role));
    }
    let arguments = Arguments::parse();
    let bench = figures::Bench {
        postgres: arguments.postgres,
        redis: arguments.redis,
        binary: arguments.binary,
        only: arguments.database,
        seconds: arguments.seconds,
        rounds: arguments.rounds,
        rows: arguments.rows,
        list: arguments.list,
        calls: arguments.calls,
    };
    let mut report = Report::default();
    let measured = runtime(false)?.block_on(figures::run(&bench, &arguments.figures, &mut report));
    report.print();
    measured
}

/// The load is made by one thread, so that it takes the same share of the machine whatever is measured.
fn runtime(threads: bool) -> std::io::Result<tokio::runtime::Runtime> {
    let mut builder = match threads {
        true => tokio::runtime::Builder::new_multi_thread(),
        false => tokio::runtime::Builder::new_current_thread(),
    };
    builder.enable_all().build()
}
