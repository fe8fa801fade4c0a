//! RTP packets (RFC 3550), and arithmetic on wrapping counters.

use std::hash::{BuildHasher, RandomState};
use std::ops::Add;

/// The header length of every packet that we send, in bytes.
pub const HEADER_LEN: usize = 12;

/// A sequence number: one more per packet, from any start, modulo 2¹⁶.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sequence(pub u16);

impl Sequence {
    /// Returns how many packets after `earlier` this one is, from -32,768 to 32,767: the shorter way around.
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

/// The time of a packet's first sample, in samples from any start, modulo 2³².
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Timestamp(pub u32);

impl Timestamp {
    /// Returns how many samples after `earlier` this is, from -2³¹ to 2³¹ - 1: the shorter way around.
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

/// An RTP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<'a> {
    /// The payload type, from 0 to 127.
    pub payload_type: u8,
    /// Set for the first packet of a talkspurt, or of a telephone-event.
    pub marker: bool,
    /// The sequence number.
    pub sequence: Sequence,
    /// The time of the first sample.
    pub timestamp: Timestamp,
    /// The SSRC of the stream.
    pub ssrc: u32,
    /// The encoded audio, or an event.
    pub payload: &'a [u8],
}

/// Why a datagram is no RTP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotRtp {
    /// It is RTCP on the same port (RFC 5761, §4).
    #[error("the datagram is RTCP")]
    Rtcp,
    /// It has another version, such as STUN and DTLS.
    #[error("the datagram is not of RTP version 2")]
    Version,
    /// It is shorter than its header says.
    #[error("the datagram ends before its payload")]
    Truncated,
}

impl<'a> Packet<'a> {
    /// Parses a datagram. Skips contributing sources, an extension and padding. Returns [`NotRtp`] after a look at the
    /// first bytes only.
    pub fn read(datagram: &'a [u8]) -> Result<Self, NotRtp> {
        // 192 to 223 in the second byte would be the payload types 64 to 95 with a marker, which are not in use.
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

    /// Writes the packet into `datagram`, which is cleared first. Only the lower seven bits of the payload type count.
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

/// The state of an outgoing stream: the header values of its next packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outgoing {
    /// The SSRC.
    pub ssrc: u32,
    /// The next sequence number.
    pub sequence: Sequence,
    /// The next timestamp.
    pub timestamp: Timestamp,
}

impl Outgoing {
    /// Creates a stream with random start values, as RFC 3550, §5.1 requires, so that SSRCs hardly collide and the
    /// packets cannot be predicted.
    #[must_use]
    pub fn random() -> Self {
        // `RandomState` is seeded from the system's random numbers, and each one differs.
        let state = RandomState::new();
        let (first, second) = (state.hash_one(0u8), state.hash_one(1u8));
        Self {
            ssrc: first as u32,
            sequence: Sequence(second as u16),
            timestamp: Timestamp((second >> 32) as u32),
        }
    }

    /// Returns the current sequence number and advances it.
    pub fn number(&mut self) -> Sequence {
        let sequence = self.sequence;
        self.sequence = sequence + 1;
        sequence
    }
}
