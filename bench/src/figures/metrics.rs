//! What counting costs, and what it costs to be asked for the counts.

use std::hint::black_box;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use offhook_metrics::metrics;
use tokio::time::sleep;

use super::Bench;
use crate::binary::Offhook;
use crate::load::{self, Client, Until};
use crate::pairs::{compare, median};
use crate::report::{Report, Target, number};

const CONNECTIONS: usize = 8;

/// Answers that are counted in a row.
const ANSWERS: u32 = 1_000_000;

/// Ten times as often as Prometheus asks at the most.
const ASKED_EVERY: Duration = Duration::from_millis(100);

pub(super) async fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let (one, two) = (counting(bench, 1), counting(bench, 2));
    report.add(
        "counting one answer: a counter and a histogram, by route",
        Target::Reported,
        one,
        " ns",
        &format!("{} ns with two threads at once", number(two)),
    );

    // A port that was free a moment ago.
    let metrics = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let config = format!("[limits]\nenabled = false\n[metrics]\nlisten = \"{metrics}\"\n");
    let offhook = Offhook::new(&bench.binary, &config)?;
    let token = offhook.token().await?;
    let (serving, _) = offhook.serve().await?;
    let headers = format!("Authorization: Bearer {token}\r\n");
    let list = load::request("GET", "/v1/calls?limit=20", &headers, "");
    let asks = load::request("GET", "/metrics", "", "");
    let until = Until::Elapsed(bench.turn());
    let rate = async || {
        let send = |_: usize, _: usize, out: &mut Vec<u8>| out.extend_from_slice(&list);
        let loaded = load::run(serving.address, CONNECTIONS, until, 200, send);
        anyhow::Ok(loaded.await?.rate)
    };
    let asked = async || {
        let asking = async {
            let mut client = Client::connect(metrics).await?;
            loop {
                let status = client.exchange(&asks).await?;
                anyhow::ensure!(status == 200, "/metrics answered {status}");
                sleep(ASKED_EVERY).await;
            }
            #[expect(unreachable_code, reason = "it tells the type")]
            anyhow::Ok(0.0)
        };
        tokio::select! {
            rate = rate() => rate,
            failed = asking => failed,
        }
    };
    let cost = compare(bench.rounds, asked, rate).await?;
    report.add(
        "GET /v1/calls?limit=20 while /metrics is asked 10 times a second / unasked",
        Target::Reported,
        cost.ratio,
        "",
        &format!("{} and {} requests/s", number(cost.a), number(cost.b)),
    );
    let each = 1e9 / cost.b;
    report.add(
        "counting one answer / the time of one such request",
        Target::Reported,
        100.0 * one / each,
        " %",
        &format!("{} µs each, both cores", number(each / 1e3)),
    );
    serving.stop().await
}

/// Nanoseconds that one answer takes to be counted, by each of so many threads at once; the median of the rounds.
fn counting(bench: &Bench, threads: usize) -> f64 {
    let round = |_| {
        let took = std::thread::scope(|scope| {
            let count = || {
                let began = Instant::now();
                for number in 0..ANSWERS {
                    let route = black_box("/v1/calls/{id}").to_owned();
                    let took = Duration::from_micros(u64::from(number % 5_000));
                    metrics().http.answered("GET", Some(route), 200, took);
                }
                began.elapsed()
            };
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(count)).collect();
            let took = threads.into_iter().filter_map(|thread| thread.join().ok());
            took.max().unwrap_or_default()
        });
        took.as_secs_f64() * 1e9 / f64::from(ANSWERS)
    };
    median((0..bench.rounds).map(round).collect())
}
