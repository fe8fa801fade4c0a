//! The audio of a phone: outgoing packets of 20 ms with optional loss and jitter, and all incoming packets.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use offhook_media::codec::Codec;
use tokio::net::UdpSocket;
use tokio::task::JoinHandle;

use crate::wait::{eventually, must};

pub(super) const PACKET_SAMPLES: usize = 160;

/// The duration of a packet.
const PACKET_TIME: Duration = Duration::from_millis(20);

/// A packet with this average amplitude contains sound.
const LOUD: i32 = 200;

/// The number of silent packets that ends an utterance: 0.9 s, longer than voices pause and longer than an agent that
/// was interrupted by nothing.
const QUIET_PACKETS: usize = 45;

/// How long playing something may take, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(40);

/// The keys of telephone-events, by their codes (RFC 4733 §3.2).
const KEYS: &[u8] = b"0123456789*#ABCD";

/// The loss and jitter of a phone's packets.
#[derive(Debug, Clone, Copy, Default)]
pub struct Weather {
    /// The percentage of packets that are lost.
    pub lost_percent: u32,
    /// The largest delay of a packet. Each packet has its own, so packets overtake each other.
    pub jitter: Duration,
}

/// Speech that was heard.
#[derive(Debug, Clone)]
pub struct Utterance {
    /// Its samples at 8 kHz, with a little silence around them.
    pub samples: Vec<i16>,
    /// When its first packet with sound arrived.
    pub began: Instant,
    /// When its last packet with sound arrived.
    pub ended: Instant,
}

/// A received packet.
struct Packet {
    at: Instant,
    timestamp: u32,
    samples: Vec<i16>,
}

impl Packet {
    fn is_loud(&self) -> bool {
        let sum: i32 = self
            .samples
            .iter()
            .map(|&sample| i32::from(sample).abs())
            .sum();
        sum > LOUD * i32::try_from(self.samples.len()).unwrap_or(i32::MAX)
    }
}

/// The next item that a phone plays.
enum Out {
    Samples(VecDeque<i16>),
    Key(u8),
    Silence(usize),
}

#[derive(Default)]
struct State {
    remote: Option<SocketAddr>,
    event: u8,
    weather: Weather,
    out: VecDeque<Out>,
    heard: Vec<Packet>,
    /// How many of the received packets a test has consumed.
    listened: usize,
    keys: String,
    /// The timestamp of the last key.
    key_at: Option<u32>,
    is_over: bool,
}

/// The audio of one call.
pub(super) struct Sound {
    socket: Arc<UdpSocket>,
    state: Arc<Mutex<State>>,
    hearing: JoinHandle<()>,
    speaking: Mutex<Option<JoinHandle<()>>>,
}

impl Sound {
    pub(super) async fn open() -> Self {
        let socket = Arc::new(must(
            "a socket for sound",
            UdpSocket::bind("127.0.0.1:0").await,
        ));
        let state = Arc::default();
        let hearing = tokio::spawn(hear(Arc::clone(&socket), Arc::clone(&state)));
        Self {
            socket,
            state,
            hearing,
            speaking: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Our session description, with this direction.
    pub(super) fn description(&self, version: u32, direction: &str) -> String {
        let port = must("the port of a socket", self.socket.local_addr()).port();
        let event = match self.state().event {
            0 => 101,
            named => named,
        };
        format!(
            "v=0\r\no=phone 1 {version} IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n\
             m=audio {port} RTP/AVP 0 {event}\r\na=rtpmap:0 PCMU/8000\r\na=rtpmap:{event} telephone-event/8000\r\n\
             a=fmtp:{event} 0-15\r\na=ptime:20\r\na={direction}\r\n"
        )
    }

    /// Reads the other side's address.
    pub(super) fn meet(&self, description: &str) {
        let value = |beginning: &str| {
            let mut lines = description.lines();
            lines.find_map(|line| line.strip_prefix(beginning).map(str::to_owned))
        };
        let address = value("c=IN IP4 ").unwrap_or_default();
        let port = value("m=audio ").unwrap_or_default();
        let port = port.split(' ').next().unwrap_or_default();
        let event = description
            .lines()
            .filter(|line| line.contains("telephone-event/8000"))
            .find_map(|line| {
                line.strip_prefix("a=rtpmap:")?
                    .split(' ')
                    .next()?
                    .parse()
                    .ok()
            });
        let mut state = self.state();
        state.remote = format!("{}:{port}", address.trim()).parse().ok();
        state.event = event.unwrap_or_default();
    }

    /// Starts sending: silence until there is something to play.
    pub(super) fn begin(&self) {
        let speaking = speak(Arc::clone(&self.socket), Arc::clone(&self.state));
        lock(&self.speaking).get_or_insert_with(|| tokio::spawn(speaking));
    }

    pub(super) fn end(&self) {
        self.state().is_over = true;
    }

    pub(super) fn set_weather(&self, weather: Weather) {
        self.state().weather = weather;
    }

    pub(super) fn say(&self, samples: &[i16]) {
        let samples = samples.iter().copied().collect();
        self.state().out.push_back(Out::Samples(samples));
    }

    /// Presses keys; `w` waits for half a second.
    pub(super) fn press(&self, keys: &str) {
        let mut state = self.state();
        for key in keys.bytes() {
            match KEYS.iter().position(|known| *known == key) {
                Some(code) => state
                    .out
                    .push_back(Out::Key(u8::try_from(code).unwrap_or(0))),
                None => state.out.push_back(Out::Silence(25)),
            }
            state.out.push_back(Out::Silence(5));
        }
    }

    /// Waits until everything is sent.
    pub(super) async fn is_said(&self) {
        eventually("the end of what a phone says", PATIENCE, || async {
            self.state().out.is_empty().then_some(())
        })
        .await;
    }

    pub(super) fn keys(&self) -> String {
        self.state().keys.clone()
    }

    /// The next utterance from its first sound on, once enough packets in a row were silent or the call is over.
    pub(super) async fn utterance(&self) -> Utterance {
        eventually("words of the other side", PATIENCE, || async {
            self.state().utterance(QUIET_PACKETS)
        })
        .await
    }

    /// Waits for sound that no test has consumed, and leaves it there.
    pub(super) async fn begins(&self, packets: usize) -> Instant {
        eventually("a sound of the other side", PATIENCE, || async {
            let state = self.state();
            let fresh = state.heard.get(state.listened..).unwrap_or_default();
            let loud = || fresh.iter().filter(|packet| packet.is_loud());
            loud().nth(packets.saturating_sub(1))?;
            loud().next().map(|packet| packet.at)
        })
        .await
    }
}

impl Drop for Sound {
    fn drop(&mut self) {
        self.hearing.abort();
        if let Some(speaking) = lock(&self.speaking).take() {
            speaking.abort();
        }
    }
}

impl State {
    fn utterance(&mut self, quiet: usize) -> Option<Utterance> {
        let fresh = self.heard.get(self.listened..)?;
        let first = fresh.iter().position(Packet::is_loud)?;
        let mut last = first;
        for (at, packet) in fresh.iter().enumerate().skip(first) {
            if packet.is_loud() {
                last = at;
            } else if at - last > quiet {
                break;
            }
        }
        if fresh.len() - last <= quiet && !self.is_over {
            return None;
        }
        let with_edges = first.saturating_sub(10)..(last + 10).min(fresh.len());
        let utterance = Utterance {
            samples: lay_out(fresh.get(with_edges)?),
            began: fresh.get(first)?.at,
            ended: fresh.get(last)?.at,
        };
        self.listened += last + 1;
        Some(utterance)
    }

    fn hear(&mut self, packet: &[u8]) {
        let (Some(head), Some(payload)) = (packet.get(..12), packet.get(12..)) else {
            return;
        };
        let timestamp = u32::from_be_bytes([head[4], head[5], head[6], head[7]]);
        match head[1] & 0x7F {
            0 => {
                let mut samples = Vec::with_capacity(payload.len());
                Codec::Pcmu.decode_into(payload, &mut samples);
                self.heard.push(Packet {
                    at: Instant::now(),
                    timestamp,
                    samples,
                });
            }
            other if other == self.event && self.key_at != Some(timestamp) => {
                let key = payload
                    .first()
                    .and_then(|code| KEYS.get(usize::from(*code)));
                if let Some(key) = key {
                    self.keys.push(char::from(*key));
                    self.key_at = Some(timestamp);
                }
            }
            _ => {}
        }
    }
}

/// The samples of packets at the places of their timestamps; silence where no packet came.
fn lay_out(packets: &[Packet]) -> Vec<i16> {
    let mut samples = Vec::new();
    let Some(first) = packets.first() else {
        return samples;
    };
    for packet in packets {
        let at = packet.timestamp.wrapping_sub(first.timestamp) as usize;
        // Older than the first, or of another stream.
        if at > 8_000 * 3_600 {
            continue;
        }
        let end = at + packet.samples.len();
        if samples.len() < end {
            samples.resize(end, 0);
        }
        if let Some(place) = samples.get_mut(at..end) {
            place.copy_from_slice(&packet.samples);
        }
    }
    samples
}

async fn hear(socket: Arc<UdpSocket>, state: Arc<Mutex<State>>) {
    let mut packet = [0; 2_048];
    loop {
        // An error reports a port that was closed; the next packet may arrive all the same.
        if let Ok((length, _)) = socket.recv_from(&mut packet).await {
            lock(&state).hear(packet.get(..length).unwrap_or_default());
        }
    }
}

/// A key that is being pressed.
struct Pressed {
    code: u8,
    began: u32,
    packets: u16,
}

/// Sends a packet every 20 ms. After a delay it catches up, so that the stream is as long as the time.
async fn speak(socket: Arc<UdpSocket>, state: Arc<Mutex<State>>) {
    let mut interval = tokio::time::interval(PACKET_TIME);
    let (mut sequence, mut timestamp) = (0_u32, 0_u32);
    let mut pressed: Option<Pressed> = None;
    let mut luck = 0x2545_F491_4F6C_DD1D_u64;
    loop {
        interval.tick().await;
        let (packet, remote, weather) = {
            let mut state = lock(&state);
            if state.is_over {
                return;
            }
            let packet = state.next(&mut pressed, sequence, timestamp);
            let remote = state.remote;
            (packet, remote, state.weather)
        };
        sequence += 1;
        timestamp = timestamp.wrapping_add(160);
        let Some(remote) = remote else { continue };
        luck ^= luck << 13;
        luck ^= luck >> 7;
        luck ^= luck << 17;
        if luck % 100 < u64::from(weather.lost_percent) {
            continue;
        }
        if weather.jitter.is_zero() {
            let _ = socket.send_to(&packet, remote).await;
            continue;
        }
        let millis = u64::try_from(weather.jitter.as_millis()).unwrap_or_default();
        let late = Duration::from_millis((luck >> 32) % (millis + 1));
        let socket = Arc::clone(&socket);
        tokio::spawn(async move {
            tokio::time::sleep(late).await;
            let _ = socket.send_to(&packet, remote).await;
        });
    }
}

impl State {
    fn next(&mut self, pressed: &mut Option<Pressed>, sequence: u32, timestamp: u32) -> Vec<u8> {
        if pressed.is_none()
            && let Some(Out::Key(code)) = self.out.front()
        {
            *pressed = Some(Pressed {
                code: *code,
                began: timestamp,
                packets: 0,
            });
        }
        if let Some(key) = pressed {
            // Five packets while it is down, then its end three times (RFC 4733 §2.5.1.4).
            let is_up = key.packets >= 5;
            let duration = 160 * (key.packets.min(5) + 1);
            let volume = if is_up { 0x80 | 10 } else { 10 };
            let [high, low] = duration.to_be_bytes();
            let payload = [key.code, volume, high, low];
            let packet = rtp(
                self.event,
                key.packets == 0,
                sequence,
                key.began,
                0x0FF0_0000,
                &payload,
            );
            key.packets += 1;
            if key.packets == 8 {
                *pressed = None;
                self.out.pop_front();
            }
            return packet;
        }
        let mut samples = [0; PACKET_SAMPLES];
        match self.out.front_mut() {
            Some(Out::Samples(left)) => {
                let count = left.len().min(PACKET_SAMPLES);
                for (sample, next) in samples.iter_mut().zip(left.drain(..count)) {
                    *sample = next;
                }
                if left.is_empty() {
                    self.out.pop_front();
                }
            }
            Some(Out::Silence(left)) => {
                *left = left.saturating_sub(1);
                if *left == 0 {
                    self.out.pop_front();
                }
            }
            Some(Out::Key(_)) | None => {}
        }
        let mut payload = Vec::with_capacity(PACKET_SAMPLES);
        Codec::Pcmu.encode_into(&samples, &mut payload);
        rtp(0, false, sequence, timestamp, 0x0FF0_0000, &payload)
    }
}

fn rtp(
    kind: u8,
    marker: bool,
    sequence: u32,
    timestamp: u32,
    source: u32,
    payload: &[u8],
) -> Vec<u8> {
    let mut packet = vec![0x80, kind | if marker { 0x80 } else { 0 }];
    packet.extend_from_slice(&(sequence as u16).to_be_bytes());
    packet.extend_from_slice(&timestamp.to_be_bytes());
    packet.extend_from_slice(&source.to_be_bytes());
    packet.extend_from_slice(payload);
    packet
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
