//! The pump of a call: a task that every 20 ms reads the call's socket, passes one frame on, and sends one.
//!
//! Its deadlines are absolute, the start plus n times 20 ms, so that lateness does not add up. It waits for nothing but
//! the next deadline: it polls the socket, and a slow consumer loses ticks. It sends a packet in every tick, if
//! necessary silence, so that NATs keep their mapping and the other side gets a steady stream. It stops sending only
//! while the other side does not listen.
//!
//! Symmetric RTP: it sends to the source of the call's packets. The first packet from the negotiated address determines
//! the port. From then on packets from elsewhere are dropped, until a new address is negotiated or a packet comes from
//! exactly the negotiated port.

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

/// Ticks that are caught up at once after the machine was busy. After a longer stall they are skipped.
const MOST_BEHIND: u32 = 5;

/// Datagrams read per tick at most: more than a socket's buffer holds.
const MOST_DATAGRAMS: usize = 512;

/// The negotiated media parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Negotiated {
    /// The address where the other side listens; `None` if it named none, as on hold: then the last one stays valid.
    pub remote: Option<SocketAddr>,
    /// The codec and payload type to send.
    pub send: (Codec, u8),
    /// The codecs and payload types to receive.
    pub receive: Vec<(Codec, u8)>,
    /// The payload type for sent keys, if the other side accepts them.
    pub event: Option<u8>,
    /// The payload types of received keys.
    pub receive_events: Vec<u8>,
    /// Whether the other side listens. While it does not, nothing is sent and the playout queue stands still.
    pub listens: bool,
}

impl Negotiated {
    /// Derives the parameters from the other side's description. The other side may send what it named, and what our
    /// offer named.
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

/// Which packets belong to a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Latch {
    /// Packets from the first source at the negotiated address, with any port.
    #[default]
    NegotiatedAddress,
    /// Packets from the first source at any address, for a side that does not know its own address behind NAT. An
    /// attacker who guesses the port first can take over the call's audio.
    Anywhere,
}

/// 20 ms of a call, both directions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Tick {
    /// The tick's number, from 0; gaps show dropped or skipped ticks.
    pub number: u64,
    /// The received audio after the jitter buffer. It is silent during a telephone-event, because the tone is not
    /// speech.
    pub heard: Frame,
    /// No packet came in time: `heard` is concealed or silent.
    pub lost: bool,
    /// The audio sent at the same time; `None` is silence.
    pub said: Option<Frame>,
}

/// Hides the audio.
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

/// The consumer of a call's ticks. Its methods must not block. [`queue`] is one.
pub trait Outlet: Send + 'static {
    /// Takes a tick. Returns `false` if a tick was dropped for lack of room; the pump counts it.
    fn tick(&mut self, tick: Tick) -> bool;

    /// Takes a key press, reported once at its end.
    fn key(&mut self, key: char);
}

/// A running pump. Dropping it stops it and releases its port.
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

/// Why keys were not sent.
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
    /// Starts a pump. Earlier packets are dropped. It must run within a tokio runtime. Returns the system's error if
    /// the socket cannot be used.
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

    /// Replaces the negotiated parameters from the next tick on.
    pub fn renegotiate(&self, negotiated: Negotiated) {
        // A stopped pump needs no parameters.
        let _ = self.commands.send(Command::Renegotiate(negotiated));
    }

    /// Sends keys (`0`–`9`, `*`, `#`, `A`–`D`, and `w` for a pause of half a second) in place of audio, which continues
    /// afterwards. Resolves when all are sent. While the other side does not accept telephone-events, they wait.
    /// Returns [`SendKeysError`] if not all keys were sent.
    pub fn send_keys(
        &self,
        keys: &str,
    ) -> impl Future<Output = Result<(), SendKeysError>> + Send + use<> {
        let (done, sent) = oneshot::channel();
        let mut outbox = Outbox::default();
        let pushed = outbox.push(keys);
        if pushed.is_ok() {
            // A stopped pump drops `done`.
            let _ = self.commands.send(Command::SendKeys(outbox, done));
        }
        async move {
            pushed?;
            sent.await.map_err(|_| SendKeysError::Ended)
        }
    }

    /// Returns the counters up to the last tick.
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

/// Reads all waiting datagrams.
fn receive(
    socket: &std::net::UdpSocket,
    buffer: &mut [u8],
    mut take: impl FnMut(&[u8], SocketAddr),
) {
    for _ in 0..MOST_DATAGRAMS {
        match socket.recv_from(buffer) {
            Ok((length, from)) => take(&buffer[..length], from),
            // Nothing more, or the delayed error of an earlier datagram of ours.
            Err(_) => return,
        }
    }
}
