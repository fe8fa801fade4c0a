//! The decisions of a pump, without socket and clock: which packets belong to the call, and what is heard and sent in
//! each tick.

use std::collections::VecDeque;
use std::net::SocketAddr;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::{Counted, Latch, Negotiated, Tick};
use crate::conceal::Concealer;
use crate::jitter::{JitterBuffer, PACKET_SAMPLES, Pulled, Sound};
use crate::playout::Speaker;
use crate::rtp::{NotRtp, Outgoing, Packet};
use crate::telephone_event::{self, Inbox, Outbox, Report};
use crate::{FRAME_SAMPLES, SILENCE};

/// Keys that may wait to be reported, one per tick. A person does not type faster; a flood is cut off here.
const MOST_KEYS: usize = 16;

#[derive(Debug)]
pub(super) struct State {
    negotiated: Negotiated,
    latch: Latch,
    /// The source of the call's packets, once one came.
    source: Option<SocketAddr>,
    jitter: JitterBuffer,
    concealer: Concealer,
    inbox: Inbox,
    keys: VecDeque<char>,
    outbox: Outbox,
    /// The waiters for sent keys.
    senders: Vec<oneshot::Sender<()>>,
    stream: Outgoing,
    /// Whether the previous tick sent a packet.
    sending: bool,
    speaker: Speaker,
    number: u64,
    payload: Vec<u8>,
    pub(super) counted: Counted,
}

/// The result of a tick.
#[derive(Debug)]
pub(super) struct Made {
    pub(super) tick: Tick,
    pub(super) key: Option<char>,
    /// The destination of the datagram, if there is one.
    pub(super) to: Option<SocketAddr>,
}

impl State {
    pub(super) fn new(
        negotiated: Negotiated,
        latch: Latch,
        stream: Outgoing,
        speaker: Speaker,
    ) -> Self {
        Self {
            negotiated,
            latch,
            source: None,
            jitter: JitterBuffer::default(),
            concealer: Concealer::default(),
            inbox: Inbox::default(),
            keys: VecDeque::new(),
            outbox: Outbox::default(),
            senders: Vec::new(),
            stream,
            sending: false,
            speaker,
            number: 0,
            payload: Vec::with_capacity(FRAME_SAMPLES),
            counted: Counted::default(),
        }
    }

    /// Applies new parameters. Only a changed address resets the latch; a session refresh does not.
    pub(super) fn renegotiate(&mut self, negotiated: Negotiated) {
        let remote = negotiated.remote.or(self.negotiated.remote);
        if remote != self.negotiated.remote {
            self.source = None;
        }
        self.negotiated = Negotiated {
            remote,
            ..negotiated
        };
    }

    /// Queues keys. `done` resolves when the last one was sent.
    pub(super) fn send_keys(&mut self, mut keys: Outbox, done: oneshot::Sender<()>) {
        self.outbox.append(&mut keys);
        self.senders.push(done);
    }

    /// Handles a datagram.
    pub(super) fn receive(&mut self, datagram: &[u8], from: SocketAddr) {
        if !self.is_of_call(from) {
            self.counted.unknown_source += 1;
            return;
        }
        let packet = match Packet::read(datagram) {
            Ok(packet) => packet,
            Err(NotRtp::Rtcp) => {
                self.counted.rtcp += 1;
                return;
            }
            Err(NotRtp::Version | NotRtp::Truncated) => {
                self.counted.malformed += 1;
                return;
            }
        };
        let fits = if let Some(codec) = self.negotiated.codec_of(packet.payload_type) {
            let fits = PACKET_SAMPLES.contains(&packet.payload.len());
            if fits {
                let mut samples = Vec::with_capacity(packet.payload.len());
                codec.decode_into(packet.payload, &mut samples);
                self.jitter.put(Sound {
                    ssrc: packet.ssrc,
                    sequence: packet.sequence,
                    timestamp: packet.timestamp,
                    samples,
                });
            }
            fits
        } else if self
            .negotiated
            .receive_events
            .contains(&packet.payload_type)
        {
            match Report::read(packet.payload) {
                Some(report) => {
                    self.jitter.pass(packet.ssrc, packet.sequence);
                    let over =
                        self.inbox
                            .take(packet.ssrc, packet.timestamp, packet.marker, report);
                    over.into_iter().flatten().for_each(|key| self.pressed(key));
                    true
                }
                None => false,
            }
        } else {
            self.counted.unknown_payload += 1;
            self.jitter.pass(packet.ssrc, packet.sequence);
            return;
        };
        if fits {
            self.source = Some(from);
        } else {
            self.counted.malformed += 1;
        }
    }

    /// Advances 20 ms. Writes the packet to send into `datagram`.
    pub(super) fn tick(&mut self, now: Instant, datagram: &mut Vec<u8>) -> Made {
        let number = self.number;
        self.number += 1;
        self.counted.ticks += 1;
        if let Some(key) = self.inbox.tick() {
            self.pressed(key);
        }
        let (heard, lost) = self.incoming_frame();
        let (said, to) = self.say(now, datagram);
        self.counted.incoming = self.jitter.counts();
        self.counted.playout_underruns = self.speaker.underruns();
        Made {
            tick: Tick {
                number,
                heard,
                lost,
                said,
            },
            key: self.keys.pop_front(),
            to,
        }
    }

    /// Skips ticks after the machine stalled. The clocks advance.
    pub(super) fn skip(&mut self, ticks: u32) {
        for _ in 0..ticks {
            self.jitter.pull();
        }
        self.number += u64::from(ticks);
        self.counted.skipped += u64::from(ticks);
        self.stream.timestamp = self.stream.timestamp + ticks.wrapping_mul(FRAME_SAMPLES as u32);
    }

    fn is_of_call(&self, from: SocketAddr) -> bool {
        let address = from.ip().to_canonical();
        let remote = self.negotiated.remote;
        // The first source may belong to an earlier call on this port, whose end the other side has not noticed.
        if remote.is_some_and(|remote| (remote.ip(), remote.port()) == (address, from.port())) {
            return true;
        }
        match (self.source, self.latch) {
            (Some(source), _) => source == from,
            (None, Latch::Anywhere) => true,
            (None, Latch::NegotiatedAddress) => remote.is_some_and(|remote| remote.ip() == address),
        }
    }

    fn pressed(&mut self, key: char) {
        if self.keys.len() < MOST_KEYS {
            self.keys.push_back(key);
        } else {
            self.counted.keys_dropped += 1;
        }
    }

    fn incoming_frame(&mut self) -> (crate::Frame, bool) {
        let (heard, lost) = match self.jitter.pull() {
            Pulled::Sound(frame) => {
                self.concealer.received(&frame);
                (frame, false)
            }
            Pulled::Lost | Pulled::Empty => (self.concealer.missed(), true),
        };
        // A tone is not speech, and its reports prove that the line is alive.
        if self.inbox.is_on() {
            (SILENCE, false)
        } else {
            (heard, lost)
        }
    }

    fn say(
        &mut self,
        now: Instant,
        datagram: &mut Vec<u8>,
    ) -> (Option<crate::Frame>, Option<SocketAddr>) {
        let timestamp = self.stream.timestamp;
        self.stream.timestamp = timestamp + FRAME_SAMPLES as u32;
        let to = self
            .source
            .or(self.negotiated.remote)
            .filter(|_| self.negotiated.listens);
        let Some(to) = to else {
            self.sending = false;
            return (None, None);
        };
        let (codec, codec_type) = self.negotiated.send;
        let mut packet = Packet {
            payload_type: codec_type,
            marker: !self.sending,
            sequence: self.stream.number(),
            timestamp,
            ssrc: self.stream.ssrc,
            payload: &[],
        };
        let mut said = None;
        let event = self
            .negotiated
            .event
            .and_then(|event| Some((event, self.outbox.next(timestamp)?)));
        self.payload.clear();
        match event {
            Some((
                event_type,
                telephone_event::Outgoing::Report {
                    first,
                    timestamp,
                    report,
                },
            )) => {
                packet.payload_type = event_type;
                packet.marker = first;
                packet.timestamp = timestamp;
                self.payload.extend(report.to_bytes());
            }
            Some((_, telephone_event::Outgoing::Silence)) => {
                self.payload.resize(FRAME_SAMPLES, codec.silence())
            }
            None => {
                let mut frame = SILENCE;
                self.speaker.pull(&mut frame, now);
                said = (frame != SILENCE).then_some(frame);
                codec.encode_into(&frame, &mut self.payload);
            }
        }
        if self.outbox.is_done() {
            for done in self.senders.drain(..) {
                // The requester may be gone.
                let _ = done.send(());
            }
        }
        self.sending = true;
        packet.payload = &self.payload;
        packet.write(datagram);
        (said, Some(to))
    }
}
