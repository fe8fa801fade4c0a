//! One call's audio, on the callee's side.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use offhook_media::FRAME_TIME;
use offhook_media::rtp::{Outgoing, Packet, Sequence};
use tokio::net::UdpSocket;
use tokio::time::{Instant, sleep_until};

use super::speech::{Codes, SILENCE, is_audible};

/// A longer pause ends the agent's audio: the agent holds back for 0.6 s when the other side makes a sound.
const OVER_AFTER: Duration = Duration::from_millis(900);

/// Longer than any step here takes.
const PATIENCE: Duration = Duration::from_secs(20);

/// A line that sends a packet every 20 ms, whatever happens.
pub(crate) struct Line {
    socket: UdpSocket,
    to: SocketAddr,
    stream: Outgoing,
    due: Instant,
    datagram: Vec<u8>,
    /// When packets with audible sound arrived.
    sounds: Vec<Instant>,
    pub(crate) came: Came,
}

/// Received packets, by their sequence numbers.
#[derive(Debug, Default)]
pub(crate) struct Came {
    packets: u64,
    /// Numbers between the first and the newest packet.
    span: u64,
    newest: Option<(Sequence, Instant)>,
    /// Milliseconds from each packet to the next.
    pub(crate) gaps: Vec<f64>,
    /// Packets that this side sent more than 20 ms late, which makes the peer unfair.
    pub(crate) sent_late: u64,
}

impl Came {
    fn packet(&mut self, sequence: Sequence, at: Instant) {
        self.packets += 1;
        let ahead = match self.newest {
            Some((newest, before)) => {
                self.gaps.push((at - before).as_secs_f64() * 1e3);
                sequence.since(newest)
            }
            None => 1,
        };
        if ahead > 0 {
            self.span += u64::from(ahead.unsigned_abs());
            self.newest = Some((sequence, at));
        }
    }

    /// Packets that did not arrive.
    pub(crate) const fn lost(&self) -> u64 {
        self.span.saturating_sub(self.packets)
    }
}

impl Line {
    /// A line whose first packet leaves at `begins`.
    pub(crate) fn new(socket: UdpSocket, to: SocketAddr, begins: Instant) -> Self {
        Self {
            socket,
            to,
            stream: Outgoing::random(),
            due: begins,
            datagram: Vec::with_capacity(256),
            sounds: Vec::new(),
            came: Came::default(),
        }
    }

    /// Plays this audio frame by frame; returns when its first and its last packet left.
    pub(crate) async fn say(&mut self, sound: &[Codes]) -> anyhow::Result<(Instant, Instant)> {
        let mut times = None;
        for frame in sound {
            let at = self.send(frame).await?;
            let (first, _) = times.unwrap_or((at, at));
            times = Some((first, at));
        }
        times.context("nothing to say")
    }

    /// Sends silence for `time`.
    pub(crate) async fn silent(&mut self, time: Duration) -> anyhow::Result<()> {
        for _ in 0..time.as_millis() / FRAME_TIME.as_millis() {
            self.send(&SILENCE).await?;
        }
        Ok(())
    }

    /// Waits for the first sound after an instant.
    pub(crate) async fn answered(&mut self, behind: Instant) -> anyhow::Result<Instant> {
        loop {
            if let Some(at) = self.sounds.iter().find(|at| **at > behind) {
                return Ok(*at);
            }
            ensure!(behind.elapsed() < PATIENCE, "nobody answered");
            self.send(&SILENCE).await?;
        }
    }

    /// Waits for the end of the other side's audio, and clears it.
    pub(crate) async fn heard_out(&mut self) -> anyhow::Result<()> {
        let began = Instant::now();
        while self.last_sound().unwrap_or(began).elapsed() < OVER_AFTER {
            ensure!(began.elapsed() < PATIENCE, "it never ends");
            self.send(&SILENCE).await?;
        }
        self.sounds.clear();
        Ok(())
    }

    /// When sound last arrived.
    pub(crate) fn last_sound(&self) -> Option<Instant> {
        self.sounds.last().copied()
    }

    async fn send(&mut self, frame: &Codes) -> anyhow::Result<Instant> {
        let mut buffer = [0; 2_048];
        loop {
            tokio::select! {
                biased;
                () = sleep_until(self.due) => break,
                came = self.socket.recv_from(&mut buffer) => {
                    let at = Instant::now();
                    if let Ok(packet) = Packet::read(&buffer[..came?.0]) {
                        self.came.packet(packet.sequence, at);
                        self.sounds.extend(is_audible(packet.payload).then_some(at));
                    }
                }
            }
        }
        let packet = Packet {
            payload_type: 0,
            marker: false,
            sequence: self.stream.number(),
            timestamp: self.stream.timestamp,
            ssrc: self.stream.ssrc,
            payload: frame,
        };
        packet.write(&mut self.datagram);
        self.stream.timestamp = self.stream.timestamp + frame.len() as u32;
        let at = Instant::now();
        self.socket.send_to(&self.datagram, self.to).await?;
        self.came.sent_late += u64::from(at.saturating_duration_since(self.due) > FRAME_TIME);
        self.due += FRAME_TIME;
        Ok(at)
    }
}
