//! RTP packets (RFC 3550), and arithmetic on counters that wrap.

use std::hash::{BuildHasher, RandomState};
use std::ops::Add;

/// The header before the payload of every packet that we send.
pub const HEADER_LEN: usize = 12;

/// A packet's number: one more for each packet, from any start, modulo 2¹⁶.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sequence(pub u16);

impl Sequence {
    /// How many packets after `earlier` this one is, from -32,768 to 32,767: the nearer way round.
    #[must_use]
    pub const fn since(self, earlier: Self) -> i16 {
        self.0.wrapping_sub(earlier.0) as i16
    }
}

impl Add<u16> for Sequence {
    type Output = Self;

    fn add(self, packets: u16) -> Self {
        Self(self.0.wrapping_add(packets))
    }
}

/// The instant of a packet's first sample, in samples from any start, modulo 2³².
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Timestamp(pub u32);

impl Timestamp {
    /// How many samples after `earlier` this is, from -2³¹ to 2³¹ - 1: the nearer way round.
    #[must_use]
    pub const fn since(self, earlier: Self) -> i32 {
        self.0.wrapping_sub(earlier.0) as i32
    }
}

impl Add<u32> for Timestamp {
    type Output = Self;

    fn add(self, samples: u32) -> Self {
        Self(self.0.wrapping_add(samples))
    }
}

/// A packet, read or to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<'a> {
    /// What the payload is, from 0 to 127.
    pub payload_type: u8,
    /// The first packet of a talkspurt, or of a telephone-event.
    pub marker: bool,
    /// Its number.
    pub sequence: Sequence,
    /// When its first sample was taken.
    pub timestamp: Timestamp,
    /// Which stream it is of.
    pub ssrc: u32,
    /// The codes, or an event.
    pub payload: &'a [u8],
}

/// Why a datagram is not taken for a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotRtp {
    /// It is control traffic on the same port (RFC 5761, §4).
    #[error("the datagram is RTCP")]
    Rtcp,
    /// It is of another version: STUN and DTLS are too.
    #[error("the datagram is not of RTP version 2")]
    Version,
    /// It is shorter than its header says.
    #[error("the datagram ends before its payload")]
    Truncated,
}

impl<'a> Packet<'a> {
    /// Reads a datagram. Contributing sources, an extension and padding are passed over.
    ///
    /// # Errors
    /// [`NotRtp`], which costs no more than a look at the first bytes.
    pub fn read(datagram: &'a [u8]) -> Result<Self, NotRtp> {
        // 192 to 223 in the second byte would be the payload types 64 to 95 with a marker: nobody uses these.
        if datagram.len() >= 2 && datagram[0] >> 6 == 2 && (192..=223).contains(&datagram[1]) {
            return Err(NotRtp::Rtcp);
        }
        let (header, mut rest) = datagram
            .split_first_chunk::<HEADER_LEN>()
            .ok_or(NotRtp::Truncated)?;
        let [first, second, s0, s1, t0, t1, t2, t3, source @ ..] = *header;
        if first >> 6 != 2 {
            return Err(NotRtp::Version);
        }
        let sources = usize::from(first & 0x0F) * 4;
        rest = rest.get(sources..).ok_or(NotRtp::Truncated)?;
        if first & 0x10 != 0 {
            let (about, behind) = rest.split_first_chunk::<4>().ok_or(NotRtp::Truncated)?;
            let words = usize::from(u16::from_be_bytes([about[2], about[3]]));
            rest = behind.get(words * 4..).ok_or(NotRtp::Truncated)?;
        }
        if first & 0x20 != 0 {
            let padding = usize::from(*rest.last().ok_or(NotRtp::Truncated)?);
            let length = rest.len().checked_sub(padding);
            let length = length.filter(|_| padding > 0).ok_or(NotRtp::Truncated)?;
            rest = &rest[..length];
        }
        Ok(Self {
            payload_type: second & 0x7F,
            marker: second & 0x80 != 0,
            sequence: Sequence(u16::from_be_bytes([s0, s1])),
            timestamp: Timestamp(u32::from_be_bytes([t0, t1, t2, t3])),
            ssrc: u32::from_be_bytes(source),
            payload: rest,
        })
    }

    /// Writes the packet into `datagram`, which is emptied first. Of the payload type the lower seven bits count.
    pub fn write(&self, datagram: &mut Vec<u8>) {
        datagram.clear();
        datagram.push(0x80);
        datagram.push(u8::from(self.marker) << 7 | self.payload_type & 0x7F);
        datagram.extend(self.sequence.0.to_be_bytes());
        datagram.extend(self.timestamp.0.to_be_bytes());
        datagram.extend(self.ssrc.to_be_bytes());
        datagram.extend(self.payload);
    }
}

/// Where a stream of ours stands: what the next packet carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outgoing {
    /// The stream's name.
    pub ssrc: u32,
    /// The next packet's number.
    pub sequence: Sequence,
    /// The next frame's instant.
    pub timestamp: Timestamp,
}

impl Outgoing {
    /// A stream that starts anywhere, as RFC 3550, §5.1 asks, so that two streams hardly have the same name and what is
    /// sent cannot be foretold.
    #[must_use]
    pub fn random() -> Self {
        // Each `RandomState` is keyed from the system's random numbers, at first, and differs from every other one.
        let state = RandomState::new();
        let (first, second) = (state.hash_one(0u8), state.hash_one(1u8));
        Self {
            ssrc: first as u32,
            sequence: Sequence(second as u16),
            timestamp: Timestamp((second >> 32) as u32),
        }
    }

    /// The number of the packet to be sent now; the next call has the next one.
    pub fn number(&mut self) -> Sequence {
        let sequence = self.sequence;
        self.sequence = sequence + 1;
        sequence
    }
}
