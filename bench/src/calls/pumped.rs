//! What pumps count, and pumps alone: they send what is in their queue, and nothing comes in.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use offhook_media::codec::Codec;
use offhook_media::playout::{Segment, Speaker};
use offhook_media::ports::{PortRange, Ports};
use offhook_media::pump::{Counted, LATENESS_US, Latch, Lateness, Negotiated, Outlet, Pump, Tick};
use offhook_media::sdp::{Direction, Remote};
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use super::{PORTS, say};
use crate::child::parent_is_gone;

/// What the pumps of some calls counted together.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Pumped {
    /// Ticks for each bound of lateness, and those that were later.
    late: Vec<u64>,
    most_us: u64,
    pub(crate) ticks: u64,
    pub(crate) sent: u64,
    /// Frames that were not sent: left out because the machine was away, or not taken by the system.
    pub(crate) lost: u64,
    /// Ticks that found no room at the engine's.
    pub(crate) overflowed: u64,
    /// Frames of a sentence whose sound came too late.
    pub(crate) underruns: u64,
    pub(crate) received: u64,
}

impl From<&Counted> for Pumped {
    fn from(counted: &Counted) -> Self {
        Self {
            late: counted.lateness.ticks.to_vec(),
            most_us: counted.lateness.most.as_micros() as u64,
            ticks: counted.ticks,
            sent: counted.sent,
            lost: counted.skipped + counted.unsent,
            overflowed: counted.overflowed,
            underruns: counted.playout_underruns,
            received: counted.incoming.received,
        }
    }
}

impl Pumped {
    /// How late a tick was in 99 of 100, in milliseconds: a bound of the counts, from 0.25 ms.
    pub(crate) fn late_p99_ms(&self) -> f64 {
        let mut lateness = Lateness {
            most: Duration::from_micros(self.most_us),
            ..Lateness::default()
        };
        for (ours, theirs) in lateness.ticks.iter_mut().zip(&self.late) {
            *ours = *theirs;
        }
        debug_assert_eq!(self.late.len(), LATENESS_US.len() + 1);
        lateness.quantile(0.99).as_secs_f64() * 1e3
    }

    pub(crate) fn latest_ms(&self) -> f64 {
        self.most_us as f64 / 1e3
    }
}

/// Pumps without calls.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Alone {
    /// Where the packets go.
    pub(crate) sink: SocketAddr,
    pub(crate) pumps: usize,
    pub(crate) time: Duration,
}

struct Nobody;

impl Outlet for Nobody {
    fn tick(&mut self, _: Tick) -> bool {
        true
    }

    fn key(&mut self, _: char) {}
}

/// Pumps for so long, and says what was counted.
pub(crate) async fn alone(options: Alone) -> anyhow::Result<()> {
    let ports = Ports::new(PortRange::new(PORTS.0, PORTS.1)?);
    let remote = Remote {
        address: options.sink.ip(),
        port: options.sink.port(),
        codecs: vec![(Codec::Pcmu, 0)],
        event: None,
        direction: Direction::SendRecv,
    };
    let mut pumps = Vec::new();
    for _ in 0..options.pumps {
        let socket = ports.open(IpAddr::V4(Ipv4Addr::LOCALHOST)).await?;
        let (speaker, played) = Speaker::new();
        let samples = options.time.as_millis() as usize * 8;
        speaker.enqueue(Segment(1), &vec![3_000; samples]);
        let negotiated = Negotiated::new(&remote);
        let pump = Pump::start(socket, negotiated, Latch::default(), speaker, Nobody)?;
        pumps.push((pump, played));
        // As calls that begin one after the other.
        sleep(Duration::from_micros(
            20_000 / options.pumps.max(1) as u64 * 7,
        ))
        .await;
    }
    sleep(options.time).await;
    let mut counted = Counted::default();
    for (pump, _) in &pumps {
        counted.merge(&pump.counted());
    }
    say(&Pumped::from(&counted))?;
    parent_is_gone().await;
    Ok(())
}
