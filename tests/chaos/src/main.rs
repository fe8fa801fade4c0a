//! `just chaos`: kills, cuts and stops the service while clients use it. Then checks every promise of
//! docs/RELIABILITY.md against the records of the phone network, the clients, the receivers and the database.

mod chance;
mod evidence;
mod faults;
mod forged;
mod http;
mod ledger;
mod load;
mod look;
mod network;
mod node;
mod proxy;
mod receiver;
mod report;
mod run;
mod servers;
mod soak;
mod world;

use std::path::PathBuf;

use anyhow::{bail, ensure};
use clap::{Parser, Subcommand};

use world::{Database, Plan};

/// Breaks the service and checks that it keeps its promises.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// The kill ledger: kill nodes while clients place calls.
    Ledger(LedgerArguments),
    /// Cut the links of nodes in network namespaces; needs root.
    Network {
        /// How long a link stays down, and the limit until a node serves again.
        #[arg(long, default_value_t = 10)]
        seconds: u64,
        #[command(flatten)]
        other: OtherArguments,
    },
    /// Run a node at half its capacity, and check that nothing grows.
    Soak {
        /// How long.
        #[arg(long, default_value_t = 10)]
        minutes: u64,
        #[command(flatten)]
        other: OtherArguments,
    },
    /// Forward connections from an address of this network namespace.
    #[command(hide = true)]
    Forward {
        /// The address to listen on.
        #[arg(long)]
        listen: std::net::IpAddr,
        /// The destination of the connections.
        #[arg(long)]
        to: std::net::SocketAddr,
    },
    /// Feed the ledger forged evidence, and expect it to detect each forgery.
    SelfTest,
}

#[derive(Debug, clap::Args)]
struct OtherArguments {
    /// Without Redis: each node limits by itself.
    #[arg(long)]
    without_redis: bool,
    /// The service's binary.
    #[arg(long, env = "OFFHOOK_BIN")]
    binary: PathBuf,
}

impl OtherArguments {
    async fn plan(&self) -> anyhow::Result<Plan> {
        Ok(Plan {
            binary: std::path::absolute(&self.binary)?,
            database: Database::Postgres,
            nodes: 1,
            redis: !self.without_redis,
            accounts: 1,
            seed: 1,
            speed: 100,
            settings: Vec::new(),
        })
    }
}

#[derive(Debug, clap::Args)]
struct LedgerArguments {
    /// Processes to kill.
    #[arg(long, default_value_t = 40)]
    kills: u64,
    /// Calls to place.
    #[arg(long, default_value_t = 2_000)]
    calls: u64,
    /// Batches of twenty recipients to place as well.
    #[arg(long, default_value_t = 4)]
    batches: u64,
    /// How long to place calls and kill processes.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// The seed of the plan; the same seed makes the same plan.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many times sooner leases expire.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4))]
    haste: u32,
    /// On this database only.
    #[arg(long)]
    database: Option<Database>,
    /// Nodes on PostgreSQL; an embedded database has one.
    #[arg(long, default_value_t = 3)]
    nodes: usize,
    /// Without Redis: each node limits by itself.
    #[arg(long)]
    without_redis: bool,
    /// A binary with the feature `failpoints`.
    #[arg(long, env = "OFFHOOK_BIN")]
    binary: PathBuf,
    /// Where to keep the nodes' logs if a promise was broken.
    #[arg(long, default_value = "target/chaos")]
    logs: PathBuf,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    // However this ends, dropping the owners ends the child processes.
    tokio::select! {
        done = act(arguments.what) => done,
        interrupted = interrupted() => {
            interrupted?;
            bail!("interrupted")
        }
    }
}

async fn interrupted() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut term = signal(SignalKind::terminate())?;
    tokio::select! {
        result = tokio::signal::ctrl_c() => result,
        _ = term.recv() => Ok(()),
    }
}

async fn act(what: What) -> anyhow::Result<()> {
    match what {
        What::SelfTest => self_test(),
        What::Ledger(arguments) => ledger(arguments).await,
        What::Network { seconds, other } => {
            let time = std::time::Duration::from_secs(seconds);
            network::run(&other.plan().await?, time).await
        }
        What::Soak { minutes, other } => {
            let time = std::time::Duration::from_secs(minutes * 60);
            soak::run(&other.plan().await?, time).await
        }
        What::Forward { listen, to } => network::forward(listen, to).await,
    }
}

fn self_test() -> anyhow::Result<()> {
    let faults = forged::faults();
    ensure!(faults.is_empty(), "{}", faults.join("\n"));
    println!("{} forgeries, each found out", forged::count());
    Ok(())
}

async fn ledger(arguments: LedgerArguments) -> anyhow::Result<()> {
    self_test()?;
    let mut broken = false;
    for database in [Database::Sqlite, Database::Postgres] {
        if arguments.database.is_some_and(|only| only != database) {
            continue;
        }
        let shared = database == Database::Postgres;
        let plan = Plan {
            binary: std::path::absolute(&arguments.binary)?,
            database,
            nodes: if shared { arguments.nodes } else { 1 },
            redis: shared && !arguments.without_redis,
            accounts: 3,
            seed: arguments.seed,
            speed: 100,
            settings: vec![("test_haste".to_owned(), arguments.haste.to_string())],
        };
        let size = run::Size {
            kills: arguments.kills,
            calls: arguments.calls,
            batches: arguments.batches,
            seconds: arguments.seconds,
            freeze: Some(faults::LONGER_THAN_A_LEASE / arguments.haste),
        };
        let report = run::run(&plan, size).await?;
        report.print();
        if !report.is_clean() {
            broken = true;
            report.keep(&arguments.logs)?;
        }
    }
    ensure!(!broken, "promises were broken: see above");
    Ok(())
}
