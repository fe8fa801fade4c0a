//! Fifty calls at once, with all that a call has: G.711 both ways, detection of speech, turns, scripted providers and a
//! recording; beside pumps that send to a sink and do nothing else.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use tokio::net::UdpSocket;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};

use super::Bench;
use crate::calls::{Agent, Alone, BEFORE, Called, Options, Pumped};
use crate::child::{Child, Role};
use crate::pairs::median;
use crate::phone::{Callee, Line, Speech};
use crate::process::resident_kib;
use crate::report::{Report, Target, number};

const CALLS: usize = 50;

/// More are not tried.
const MOST_CALLS: usize = 1_600;

/// The time between two calls that begin.
const APART: Duration = Duration::from_millis(7);

/// How much later than pumps alone the pacer of calls may be, in milliseconds.
const MAY_BE_LATER_MS: f64 = 3.0;

/// Each round: this long at the full number.
const TIME: Duration = Duration::from_secs(15);

/// Rounds of calls and of pumps alone, in turns.
const ROUNDS: usize = 3;

/// How long all calls may take to end, once the other side has hung up.
const GOODBYE: Duration = Duration::from_secs(20);

/// What came of one round of calls.
struct Round {
    called: Called,
    /// Packets of ours that did not come.
    lost: u64,
    /// Packets that the other side sent more than 20 ms late.
    sent_late: u64,
    came: u64,
    /// Processor seconds of one call in one second.
    load: f64,
    kib: f64,
}

pub(super) async fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let calls = bench.calls.unwrap_or(CALLS);
    let (mut rounds, mut alone) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        if round % 2 == 0 {
            alone.push(pumps(calls).await?);
        }
        rounds.push(calling(calls).await?);
        if round % 2 == 1 {
            alone.push(pumps(calls).await?);
        }
    }
    let late =
        |of: &mut dyn Iterator<Item = &Pumped>| median(of.map(Pumped::late_p99_ms).collect());
    let ours = late(&mut rounds.iter().map(|round| &round.called.pumped));
    let theirs = late(&mut alone.iter());
    let most = rounds.iter().map(|round| round.called.pumped.latest_ms());
    report.add(
        &format!("lateness of the pacer, p99, {calls} calls / as many pumps alone, in ms more"),
        Target::AtMost(MAY_BE_LATER_MS),
        ours - theirs,
        " ms",
        &format!(
            "{} and {} ms, latest {} ms",
            number(ours),
            number(theirs),
            number(most.fold(0.0, f64::max))
        ),
    );
    let lost: u64 = rounds.iter().map(Round::lost).sum();
    let sent: u64 = rounds.iter().map(|round| round.called.pumped.sent).sum();
    let came: u64 = rounds.iter().map(|round| round.came).sum();
    let late: u64 = rounds.iter().map(|round| round.sent_late).sum();
    let turns: usize = rounds.iter().map(|round| round.called.turns).sum();
    report.add(
        &format!("frames of ours that were lost, {calls} calls"),
        Target::AtMost(0.0),
        lost as f64,
        "",
        &format!(
            "{sent} sent, {came} heard, {turns} turns; the other side sent {late} more than 20 ms late"
        ),
    );
    let load = median(rounds.iter().map(|round| round.load).collect());
    report.add(
        "calls per core",
        Target::Reported,
        1.0 / load,
        "",
        &format!(
            "{} % of a core each, the other side's work apart",
            number(load * 100.0)
        ),
    );
    let kib = median(rounds.iter().map(|round| round.kib).collect());
    report.add(
        &format!("memory of each of {calls} calls"),
        Target::Reported,
        kib,
        " KiB",
        "resident, beyond the process before them",
    );
    if bench.calls.is_none() {
        until_it_breaks(theirs, report).await?;
    }
    Ok(())
}

/// Doubles the number of calls until frames are lost or late.
async fn until_it_breaks(alone: f64, report: &mut Report) -> anyhow::Result<()> {
    let mut held = CALLS;
    let mut broke = format!("not by {MOST_CALLS}");
    let mut calls = CALLS * 2;
    while calls <= MOST_CALLS {
        let faults = match calling(calls).await {
            Ok(round) => round.faults(alone),
            Err(error) => vec![format!("{error:#}")],
        };
        eprintln!("fifty: {calls} calls: {faults:?}");
        if !faults.is_empty() {
            broke = format!("at {calls}: {}", faults.join(", "));
            break;
        }
        held = calls;
        calls *= 2;
    }
    report.add(
        "calls at once without a fault, on this machine with their peer",
        Target::Reported,
        held as f64,
        "",
        &format!("doubled until it breaks: {broke}"),
    );
    Ok(())
}

impl Round {
    /// Frames of ours that were not sent, or did not come.
    const fn lost(&self) -> u64 {
        self.lost + self.called.pumped.lost + self.called.pumped.overflowed
    }

    fn faults(&self, alone: f64) -> Vec<String> {
        let mut faults = Vec::new();
        let late = self.called.pumped.late_p99_ms();
        if late > alone + MAY_BE_LATER_MS {
            faults.push(format!("the pacer's p99 {} ms late", number(late)));
        }
        if self.lost() > 0 {
            let Pumped {
                lost, overflowed, ..
            } = self.called.pumped;
            faults.push(format!(
                "{} frames lost on the way, {lost} unsent, {overflowed} unheard",
                self.lost
            ));
        }
        if !self.called.faults.is_empty() {
            faults.push(format!("{} calls failed", self.called.faults.len()));
        }
        if !faults.is_empty() && self.sent_late > 0 {
            faults.push(format!("{} packets late from the peer", self.sent_late));
        }
        faults
    }
}

/// Holds so many calls at once.
async fn calling(calls: usize) -> anyhow::Result<Round> {
    let recordings = tempfile::tempdir()?;
    let mut callee = Callee::start().await?;
    let mut child = Child::start(&Role::Calls(Options {
        callee: callee.address,
        calls,
        apart: APART,
        agent: Agent::Scripted,
        recordings: Some(recordings.path().to_owned()),
    }))?;
    let _: String = child.said().await?;
    let idle = resident_kib(child.id()?)?;
    let begins = Instant::now() + BEFORE + APART * calls as u32 + Duration::from_secs(3);
    let ends = begins + TIME;
    let mut talks = JoinSet::new();
    for number in 0..calls {
        let taken = timeout_at(begins, callee.taken()).await;
        let taken = taken.context("a call did not begin")??;
        talks.spawn(async move {
            let (socket, to, bye) = taken.into_sound();
            let line = Line::new(socket, to, Instant::now() + Duration::from_millis(5));
            let line = talk(line, number, ends).await?;
            bye.send().await?;
            anyhow::Ok(line.came)
        });
    }
    sleep_until(begins).await;
    let (before, since) = (child.cpu_seconds()?, Instant::now());
    sleep_until(ends).await;
    let used = child.cpu_seconds()? - before;
    let load = used / since.elapsed().as_secs_f64() / calls as f64;
    let kib = (resident_kib(child.id()?)? - idle) / calls as f64;
    let (mut lost, mut sent_late, mut came) = (0, 0, 0);
    while let Some(talked) = talks.join_next().await {
        let talked = talked??;
        lost += talked.lost();
        sent_late += talked.sent_late;
        came += talked.packets;
    }
    let called = timeout(GOODBYE, child.said::<Called>()).await;
    let called = called.context("calls did not end")??;
    child.stop().await?;
    ensure!(
        called.completed + called.faults.len() == calls,
        "calls without an end"
    );
    Ok(Round {
        called,
        lost,
        sent_late,
        came,
        load,
        kib,
    })
}

/// Speaks and is silent in turns, whatever is answered, until `ends`.
async fn talk(mut line: Line, number: usize, ends: Instant) -> anyhow::Result<Line> {
    let phrase = Speech::phrase();
    // Nobody's turns are everybody's.
    let first = Duration::from_millis(200 + 20 * (number as u64 * 37 % 300));
    line.pass_silent(first).await?;
    while Instant::now() < ends {
        line.pass(&phrase).await?;
        // The pause that ends the turn, and the reply of some 4 s.
        line.pass_silent(Duration::from_secs(5)).await?;
    }
    Ok(line)
}

/// As many pumps alone, with their packets to a sink.
async fn pumps(pumps: usize) -> anyhow::Result<Pumped> {
    let sink = UdpSocket::bind("127.0.0.1:0").await?;
    let address: SocketAddr = sink.local_addr()?;
    let drain = tokio::spawn(async move {
        let mut buffer = [0; 2_048];
        loop {
            // Read in lots, as the other side of calls does.
            sleep(Duration::from_millis(20)).await;
            while sink.try_recv_from(&mut buffer).is_ok() {}
        }
    });
    let mut child = Child::start(&Role::Pumps(Alone {
        sink: address,
        pumps,
        time: TIME,
    }))?;
    let pumped: Pumped = child.said().await?;
    child.stop().await?;
    drain.abort();
    Ok(pumped)
}
