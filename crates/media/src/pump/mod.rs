//! The pump of a call: a task that every 20 ms reads what came in on the call's socket, hands on a frame of it, and sends
//! one.
//!
//! Its deadlines are absolute, the start and n times 20 ms, so that lateness never adds up. It waits for nothing but the
//! next one: the socket is only looked at, and the consumer takes a tick or loses it. It sends in every tick, silence if
//! there is nothing to say, so that NATs keep their mapping and the other side a steady stream; it stops only while the
//! other side does not listen.
//!
//! Symmetric RTP: it sends to where the call's packets come from. The first packet from the negotiated address settles
//! the port, and from then on packets from elsewhere are dropped until an address is negotiated anew, or until one comes from
//! the very port that was negotiated.

mod counted;
mod queue;
mod state;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

pub use self::counted::{Counted, LATENESS_US, Lateness};
pub use self::queue::{QueueOutlet, Ticks, queue};
use self::state::State;
use crate::codec::Codec;
use crate::playout::Speaker;
use crate::ports::CallSocket;
use crate::rtp::Outgoing;
use crate::sdp::{EVENT, Remote};
use crate::telephone_event::{NoKey, Outbox};
use crate::{FRAME_TIME, Frame};

/// Ticks that are made up for at once after the machine was busy. When it was away for longer they are left out.
const MOST_BEHIND: u32 = 5;

/// Datagrams that are read in a tick at most: more than a socket's buffer holds.
const MOST_DATAGRAMS: usize = 512;

/// What both sides agreed on, as far as packets go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Negotiated {
    /// Where the other side listens; `None` if it did not say, as on hold: then the last one holds.
    pub remote: Option<SocketAddr>,
    /// What is sent, and its payload type.
    pub send: (Codec, u8),
    /// What may come in.
    pub receive: Vec<(Codec, u8)>,
    /// The payload type for keys that are sent, if the other side takes them.
    pub event: Option<u8>,
    /// Payload types of keys that come in.
    pub receive_events: Vec<u8>,
    /// Whether the other side listens. While it does not, nothing is sent and the playout queue stands still.
    pub listens: bool,
}

impl Negotiated {
    /// What follows from the other side's description. It may send what it named, and what our offer names.
    #[must_use]
    pub fn new(remote: &Remote) -> Self {
        let mut receive = remote.codecs.clone();
        let free = |receive: &[(Codec, u8)], payload_type| {
            remote.event != Some(payload_type)
                && receive.iter().all(|&(_, taken)| taken != payload_type)
        };
        for codec in Codec::ALL {
            if free(&receive, codec.payload_type()) {
                receive.push((codec, codec.payload_type()));
            }
        }
        let ours = free(&receive, EVENT).then_some(EVENT);
        Self {
            remote: remote.socket(),
            send: remote.codec(),
            receive,
            event: remote.event,
            receive_events: remote.event.into_iter().chain(ours).collect(),
            listens: remote.listens(),
        }
    }

    fn codec_of(&self, payload_type: u8) -> Option<Codec> {
        let find = |&(codec, known): &(Codec, u8)| (known == payload_type).then_some(codec);
        self.receive.iter().find_map(find)
    }
}

/// Whose packets are a call's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Latch {
    /// The first source at the negotiated address, whatever its port.
    #[default]
    NegotiatedAddress,
    /// The first source anywhere, for a side that does not know its own address behind a NAT. Whoever is first to guess
    /// the port can take the call's sound over.
    Anywhere,
}

/// 20 ms of a call, both ways.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Tick {
    /// Counts from 0: a gap tells how many were dropped or left out.
    pub number: u64,
    /// What came in, put in order by the jitter buffer. While a telephone-event is being received, silence: the tone
    /// itself is nobody's speech.
    pub heard: Frame,
    /// Nothing came in time: `heard` is a guess, or silence.
    pub lost: bool,
    /// What went out at the same time; `None` is silence.
    pub said: Option<Frame>,
}

/// Without the sound.
impl std::fmt::Debug for Tick {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Tick({}, lost: {}, said: {})",
            self.number,
            self.lost,
            self.said.is_some()
        )
    }
}

/// Who consumes a call's ticks. Neither call may block or wait. [`queue`] is one.
pub trait Outlet: Send + 'static {
    /// Takes a tick. `false` if a tick was dropped for want of room; the pump counts it.
    fn tick(&mut self, tick: Tick) -> bool;

    /// The caller pressed a key; told once, at its end.
    fn key(&mut self, key: char);
}

/// A pump that runs. Dropping it stops it and gives its port back.
#[derive(Debug)]
pub struct Pump {
    commands: mpsc::UnboundedSender<Command>,
    counted: Arc<Mutex<Counted>>,
    task: JoinHandle<()>,
}

#[derive(Debug)]
enum Command {
    Renegotiate(Negotiated),
    SendKeys(Outbox, oneshot::Sender<()>),
}

/// Keys that were not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SendKeysError {
    /// A character is no key.
    #[error(transparent)]
    NoKey(#[from] NoKey),
    /// The call is over.
    #[error("the call ended before the keys were sent")]
    Ended,
}

impl Pump {
    /// Starts to pump. What came in before is dropped. Call it within a runtime.
    ///
    /// # Errors
    /// The system's, if the socket cannot be used.
    pub fn start(
        socket: CallSocket,
        negotiated: Negotiated,
        latch: Latch,
        speaker: Speaker,
        outlet: impl Outlet,
    ) -> io::Result<Self> {
        let (commands, waiting) = mpsc::unbounded_channel();
        let counted: Arc<Mutex<Counted>> = Arc::default();
        let state = State::new(negotiated, latch, Outgoing::random(), speaker);
        let (socket, lease) = socket.into_parts()?;
        let published = counted.clone();
        let task = tokio::spawn(async move {
            run(&socket, state, waiting, outlet, &published).await;
            drop(lease);
        });
        Ok(Self {
            commands,
            counted,
            task,
        })
    }

    /// From the next tick on, this is what both sides agreed on.
    pub fn renegotiate(&self, negotiated: Negotiated) {
        // A pump that has stopped has nothing to send.
        let _ = self.commands.send(Command::Renegotiate(negotiated));
    }

    /// Sends keys (`0`–`9`, `*`, `#`, `A`–`D`, and `w` for half a second's pause) in place of sound, which goes on behind
    /// them. It resolves when they are sent. Without telephone-events on the other side they wait until it takes them.
    ///
    /// # Errors
    /// [`SendKeysError`] if they were not, or not all, sent.
    pub fn send_keys(
        &self,
        keys: &str,
    ) -> impl Future<Output = Result<(), SendKeysError>> + Send + use<> {
        let (done, sent) = oneshot::channel();
        let mut outbox = Outbox::default();
        let pushed = outbox.push(keys);
        if pushed.is_ok() {
            // A pump that has stopped drops `done`.
            let _ = self.commands.send(Command::SendKeys(outbox, done));
        }
        async move {
            pushed?;
            sent.await.map_err(|_| SendKeysError::Ended)
        }
    }

    /// What was counted until the last tick.
    #[must_use]
    pub fn counted(&self) -> Counted {
        *self.counted.lock()
    }
}

impl Drop for Pump {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn run(
    socket: &std::net::UdpSocket,
    mut state: State,
    mut commands: mpsc::UnboundedReceiver<Command>,
    mut outlet: impl Outlet,
    published: &Mutex<Counted>,
) {
    let mut incoming = [0; 2_048];
    let mut outgoing = Vec::with_capacity(256);
    receive(socket, &mut incoming, |_, _| {});
    let mut deadline = Instant::now();
    loop {
        sleep_until(deadline).await;
        let now = Instant::now();
        let late = now.saturating_duration_since(deadline);
        let behind = (late.as_millis() / FRAME_TIME.as_millis()) as u32;
        if behind > MOST_BEHIND {
            state.skip(behind);
            deadline += FRAME_TIME * behind;
        }
        state.counted.lateness.add(late);
        while let Ok(command) = commands.try_recv() {
            match command {
                Command::Renegotiate(negotiated) => state.renegotiate(negotiated),
                Command::SendKeys(keys, done) => state.send_keys(keys, done),
            }
        }
        receive(socket, &mut incoming, |datagram, from| {
            state.receive(datagram, from)
        });
        let made = state.tick(now, &mut outgoing);
        if let Some(to) = made.to {
            match socket.send_to(&outgoing, to) {
                Ok(_) => state.counted.sent += 1,
                Err(_) => state.counted.unsent += 1,
            }
        }
        if !outlet.tick(made.tick) {
            state.counted.overflowed += 1;
        }
        if let Some(key) = made.key {
            outlet.key(key);
        }
        *published.lock() = state.counted;
        deadline += FRAME_TIME;
    }
}

/// Reads what is there.
fn receive(
    socket: &std::net::UdpSocket,
    buffer: &mut [u8],
    mut take: impl FnMut(&[u8], SocketAddr),
) {
    for _ in 0..MOST_DATAGRAMS {
        match socket.recv_from(buffer) {
            Ok((length, from)) => take(&buffer[..length], from),
            // Nothing more, or a passing error of an earlier datagram of ours.
            Err(_) => return,
        }
    }
}
