//! One call's sound, as the other side has it.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::ensure;
use offhook_media::FRAME_TIME;
use offhook_media::rtp::{Outgoing, Packet, Sequence};
use tokio::net::UdpSocket;
use tokio::time::{Instant, sleep_until};

pub(crate) use super::speech::Sound;
use super::speech::{Codes, SILENCE};

/// Sound that stays away for longer is over: the agent holds its tongue for 0.6 s where somebody else made a sound.
const OVER_AFTER: Duration = Duration::from_millis(900);

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(10);

/// A packet that came.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Heard {
    pub(crate) at: Instant,
    pub(crate) sound: Sound,
}

/// A line: it sends a packet every 20 ms, whatever happens.
pub(crate) struct Line {
    socket: UdpSocket,
    to: SocketAddr,
    stream: Outgoing,
    due: Instant,
    datagram: Vec<u8>,
    /// What came since [`forget`](Self::forget), while somebody listened.
    pub(crate) heard: Vec<Heard>,
    pub(crate) came: Came,
}

/// Packets that came, by their numbers.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Came {
    pub(crate) packets: u64,
    /// Numbers of ours between the first and the newest packet.
    span: u64,
    newest: Option<Sequence>,
    /// Packets that this side sent more than 20 ms late: then it is not a fair peer.
    pub(crate) sent_late: u64,
}

impl Came {
    fn packet(&mut self, sequence: Sequence) {
        self.packets += 1;
        let ahead = self.newest.map_or(1, |newest| sequence.since(newest));
        if ahead > 0 {
            self.span += u64::from(ahead.unsigned_abs());
            self.newest = Some(sequence);
        }
    }

    /// Packets that did not come.
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
            heard: Vec::new(),
            came: Came::default(),
        }
    }

    /// Says this, frame by frame, and listens; when its first and its last packet left.
    pub(crate) async fn say(&mut self, sound: &[Codes]) -> anyhow::Result<(Instant, Instant)> {
        let mut times = None;
        for frame in sound {
            let at = self.send(frame, true).await?;
            let (first, last) = times.get_or_insert((at, at));
            (*first, *last) = (*first, at);
        }
        times.ok_or_else(|| anyhow::anyhow!("nothing to say"))
    }

    /// Says nothing for so long.
    pub(crate) async fn silent(&mut self, time: Duration) -> anyhow::Result<()> {
        for _ in 0..time.as_millis() / FRAME_TIME.as_millis() {
            self.send(&SILENCE, true).await?;
        }
        Ok(())
    }

    /// Says this, and reads what came once in a frame, without a look at when and what it was: as much work as a phone
    /// that does its own part has.
    pub(crate) async fn pass(&mut self, sound: &[Codes]) -> anyhow::Result<()> {
        for frame in sound {
            self.send(frame, false).await?;
        }
        Ok(())
    }

    /// Says nothing, likewise.
    pub(crate) async fn pass_silent(&mut self, time: Duration) -> anyhow::Result<()> {
        for _ in 0..time.as_millis() / FRAME_TIME.as_millis() {
            self.send(&SILENCE, false).await?;
        }
        Ok(())
    }

    /// Waits for the first sound that comes behind an instant.
    pub(crate) async fn answered(&mut self, behind: Instant) -> anyhow::Result<Instant> {
        loop {
            let sound = self
                .heard
                .iter()
                .find(|heard| heard.at > behind && heard.sound != Sound::Silence);
            if let Some(heard) = sound {
                return Ok(heard.at);
            }
            ensure!(behind.elapsed() < PATIENCE, "nobody answered");
            self.send(&SILENCE, true).await?;
        }
    }

    /// Waits for the end of what the other side says.
    pub(crate) async fn heard_out(&mut self) -> anyhow::Result<()> {
        let began = Instant::now();
        loop {
            let last = self.last_sound().unwrap_or(began);
            if last.elapsed() >= OVER_AFTER {
                return Ok(());
            }
            ensure!(began.elapsed() < 3 * PATIENCE, "it never ends");
            self.send(&SILENCE, true).await?;
        }
    }

    /// When sound was heard last.
    pub(crate) fn last_sound(&self) -> Option<Instant> {
        let mut newest = self.heard.iter().rev();
        let last = newest.find(|heard| heard.sound != Sound::Silence);
        last.map(|heard| heard.at)
    }

    /// Forgets what was heard.
    pub(crate) fn forget(&mut self) {
        self.heard.clear();
    }

    async fn send(&mut self, frame: &Codes, listens: bool) -> anyhow::Result<Instant> {
        let mut buffer = [0; 2_048];
        if listens {
            loop {
                tokio::select! {
                    biased;
                    () = sleep_until(self.due) => break,
                    came = self.socket.recv_from(&mut buffer) => {
                        let at = Instant::now();
                        self.take(&buffer[..came?.0], Some(at));
                    }
                }
            }
        } else {
            sleep_until(self.due).await;
            while let Ok((length, _)) = self.socket.try_recv_from(&mut buffer) {
                self.take(&buffer[..length], None);
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

    fn take(&mut self, datagram: &[u8], at: Option<Instant>) {
        let Ok(packet) = Packet::read(datagram) else {
            return;
        };
        self.came.packet(packet.sequence);
        if let Some(at) = at {
            let sound = Sound::of(packet.payload);
            self.heard.push(Heard { at, sound });
        }
    }
}
