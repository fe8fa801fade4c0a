//! Session descriptions (RFC 8866) and their negotiation (RFC 3264), as far as a phone call by G.711 needs them.

use std::fmt::Write;
use std::net::{IpAddr, SocketAddr};

use sdp_types::{Attribute, Media, Session};

use crate::codec::Codec;

/// The payload type of telephone-events in our offer.
pub const EVENT: u8 = 101;

/// A longer description is not read. Those of phones and carriers have less than 2 KiB.
pub const MAX_LEN: usize = 16 * 1024;

/// Which way sound goes, as the side that writes it sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Both ways.
    SendRecv,
    /// It speaks and does not listen: we are on hold, with music or without.
    SendOnly,
    /// It listens and does not speak.
    RecvOnly,
    /// Neither.
    Inactive,
}

impl Direction {
    /// The same as the other side sees it.
    #[must_use]
    pub const fn reversed(self) -> Self {
        match self {
            Self::SendOnly => Self::RecvOnly,
            Self::RecvOnly => Self::SendOnly,
            same => same,
        }
    }

    /// Whether the side that writes it listens.
    #[must_use]
    pub const fn receives(self) -> bool {
        matches!(self, Self::SendRecv | Self::RecvOnly)
    }

    const fn name(self) -> &'static str {
        match self {
            Self::SendRecv => "sendrecv",
            Self::SendOnly => "sendonly",
            Self::RecvOnly => "recvonly",
            Self::Inactive => "inactive",
        }
    }

    fn in_attributes(attributes: &[Attribute]) -> Option<Self> {
        let all = [
            Self::SendRecv,
            Self::SendOnly,
            Self::RecvOnly,
            Self::Inactive,
        ];
        attributes.iter().find_map(|attribute| {
            let name = &attribute.attribute;
            all.into_iter()
                .find(|direction| name.eq_ignore_ascii_case(direction.name()))
        })
    }
}

/// Our side of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Local {
    /// Where the other side is to send to: our address as it sees us.
    pub address: IpAddr,
    /// The port of our socket, or the one that a NAT maps to it.
    pub port: u16,
    /// Names the session; the same in every description of a call.
    pub session: u64,
    /// One more with every description that differs from the one before.
    pub version: u64,
}

/// What the other side accepts and where it listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remote {
    /// Where it listens. Unspecified (`0.0.0.0`) is how old phones put a call on hold.
    pub address: IpAddr,
    /// The port there; never 0.
    pub port: u16,
    /// The codecs that both sides know and their payload types, in the other side's order; never empty.
    pub codecs: Vec<(Codec, u8)>,
    /// The payload type of telephone-events, if it takes them.
    pub event: Option<u8>,
    /// Which way sound goes, as the other side sees it.
    pub direction: Direction,
}

impl Remote {
    /// What to send: the other side's first choice.
    #[must_use]
    pub fn codec(&self) -> (Codec, u8) {
        self.codecs
            .first()
            .copied()
            .unwrap_or((Codec::Pcmu, Codec::Pcmu.payload_type()))
    }

    /// Where to send to, unless the address is unspecified.
    #[must_use]
    pub fn socket(&self) -> Option<SocketAddr> {
        (!self.address.is_unspecified()).then(|| SocketAddr::new(self.address, self.port))
    }

    /// Whether the other side listens to us.
    #[must_use]
    pub fn listens(&self) -> bool {
        self.direction.receives() && !self.address.is_unspecified()
    }

    /// Whether the other side has put us on hold: it listens no more.
    #[must_use]
    pub fn holds(&self) -> bool {
        !self.listens()
    }
}

/// Why a description cannot be used. To an offer the answer is 488, and to one that is malformed 400.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It has more than [`MAX_LEN`] bytes.
    #[error("the SDP has more than {MAX_LEN} bytes")]
    TooLong,
    /// It is none.
    #[error("the SDP is malformed: {0}")]
    Malformed(String),
    /// No `m=audio` line.
    #[error("the SDP has no `m=audio` line")]
    NoAudio,
    /// Every `m=audio` line has port 0.
    #[error("the SDP refuses audio: the port of `m=audio` is 0")]
    AudioRefused,
    /// Every `m=audio` line asks for encryption.
    #[error(
        "the SDP has SRTP alone ({0}), which is not supported: allow plain RTP (RTP/AVP) on the trunk"
    )]
    SrtpOnly(String),
    /// An `m=audio` line of a transport that is neither RTP nor SRTP.
    #[error("the SDP has audio over {0} alone; plain RTP (RTP/AVP) is supported")]
    UnknownTransport(String),
    /// Neither PCMU nor PCMA at 8000 Hz.
    #[error("the SDP has no codec that is supported (PCMU or PCMA at 8000 Hz), only {0}")]
    UnknownCodecs(String),
    /// No `c=` line holds for the audio.
    #[error("the SDP has no `c=` line for its audio")]
    NoAddress,
    /// The address in the `c=` line cannot be sent to.
    #[error("the SDP's `c=` line has {0:?}, which is not the IP address of one host")]
    Address(String),
}

impl Refusal {
    /// Whether the description itself is at fault, and not what it asks for.
    #[must_use]
    pub const fn is_malformed(&self) -> bool {
        matches!(
            self,
            Self::TooLong | Self::Malformed(_) | Self::NoAddress | Self::Address(_)
        )
    }
}

/// Our offer: PCMU, PCMA and telephone-events, 20 ms a packet, one line of media.
#[must_use]
pub fn offer(local: &Local, direction: Direction) -> String {
    let mut text = head(local);
    let codecs = Codec::ALL.map(|codec| (codec, codec.payload_type()));
    audio(
        &mut text,
        local.port,
        "RTP/AVP",
        &codecs,
        Some(EVENT),
        direction,
    );
    text
}

/// Reads the answer to our offer.
///
/// # Errors
/// [`Refusal`] says why no sound can come of it.
pub fn read_answer(answer: &[u8]) -> Result<Remote, Refusal> {
    let session = parse(answer)?;
    Ok(choose(&session)?.1)
}

/// The other side's offer, in an INVITE or a re-INVITE, with all that an answer must mirror.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// What it offers, as far as we know it.
    pub remote: Remote,
    lines: Vec<Line>,
    chosen: usize,
}

/// A line of media in an offer.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Line {
    media: String,
    proto: String,
    formats: String,
}

impl Offer {
    /// Reads an offer.
    ///
    /// # Errors
    /// [`Refusal`] says why it cannot be accepted.
    pub fn read(offer: &[u8]) -> Result<Self, Refusal> {
        let session = parse(offer)?;
        let (chosen, remote) = choose(&session)?;
        let lines = session.medias.into_iter().map(|media| Line {
            media: media.media,
            proto: media.proto,
            formats: media.fmt,
        });
        Ok(Self {
            remote,
            lines: lines.collect(),
            chosen,
        })
    }

    /// Our answer: the other side's first codec, its telephone-events, the direction that mirrors its own, and port 0 for
    /// every other line (RFC 3264, §6).
    #[must_use]
    pub fn answer(&self, local: &Local) -> String {
        let mut text = head(local);
        // Who offers `0.0.0.0` does not listen, whatever the direction says.
        let theirs = match (self.remote.address.is_unspecified(), self.remote.direction) {
            (true, Direction::SendRecv) => Direction::SendOnly,
            (true, Direction::RecvOnly) => Direction::Inactive,
            (_, direction) => direction,
        };
        for (place, line) in self.lines.iter().enumerate() {
            if place == self.chosen {
                let codec = [self.remote.codec()];
                audio(
                    &mut text,
                    local.port,
                    &line.proto,
                    &codec,
                    self.remote.event,
                    theirs.reversed(),
                );
            } else {
                let _ = write!(
                    text,
                    "m={} 0 {} {}\r\n",
                    line.media, line.proto, line.formats
                );
            }
        }
        text
    }
}

fn head(local: &Local) -> String {
    let Local {
        address,
        session,
        version,
        ..
    } = local;
    let family = if address.is_ipv4() { "IP4" } else { "IP6" };
    format!(
        "v=0\r\no=- {session} {version} IN {family} {address}\r\ns=-\r\nc=IN {family} {address}\r\nt=0 0\r\n"
    )
}

fn audio(
    text: &mut String,
    port: u16,
    proto: &str,
    codecs: &[(Codec, u8)],
    event: Option<u8>,
    direction: Direction,
) {
    // Writing to a string cannot fail.
    let _ = write!(text, "m=audio {port} {proto}");
    for payload_type in codecs
        .iter()
        .map(|&(_, payload_type)| payload_type)
        .chain(event)
    {
        let _ = write!(text, " {payload_type}");
    }
    text.push_str("\r\n");
    for (codec, payload_type) in codecs {
        let _ = write!(text, "a=rtpmap:{payload_type} {}/8000\r\n", codec.name());
    }
    if let Some(event) = event {
        let _ = write!(
            text,
            "a=rtpmap:{event} telephone-event/8000\r\na=fmtp:{event} 0-15\r\n"
        );
    }
    let _ = write!(text, "a=ptime:20\r\na={}\r\n", direction.name());
}

fn parse(text: &[u8]) -> Result<Session, Refusal> {
    if text.len() > MAX_LEN {
        return Err(Refusal::TooLong);
    }
    Session::parse(text).map_err(|error| {
        let text = error.to_string();
        Refusal::Malformed(text.chars().filter(|c| !c.is_control()).take(120).collect())
    })
}

/// The first line of audio that can be used, with its place. If there is none, the refusal is that of the audio line
/// that came nearest.
fn choose(session: &Session) -> Result<(usize, Remote), Refusal> {
    let mut nearest = Refusal::NoAudio;
    for (place, media) in session.medias.iter().enumerate() {
        if !media.media.eq_ignore_ascii_case("audio") {
            continue;
        }
        match read_line(session, media) {
            Ok(remote) => return Ok((place, remote)),
            Err(refusal) if nearness(&refusal) > nearness(&nearest) => nearest = refusal,
            Err(_) => {}
        }
    }
    Err(nearest)
}

const fn nearness(refusal: &Refusal) -> u8 {
    match refusal {
        Refusal::NoAudio => 0,
        Refusal::AudioRefused => 1,
        Refusal::UnknownTransport(_) => 2,
        Refusal::SrtpOnly(_) => 3,
        Refusal::UnknownCodecs(_) => 4,
        _ => 5,
    }
}

fn read_line(session: &Session, media: &Media) -> Result<Remote, Refusal> {
    if media.port == 0 {
        return Err(Refusal::AudioRefused);
    }
    let proto = media.proto.to_ascii_uppercase();
    match proto.as_str() {
        "RTP/AVP" | "RTP/AVPF" => {}
        encrypted if encrypted.contains("SAVP") => return Err(Refusal::SrtpOnly(plain(encrypted))),
        other => return Err(Refusal::UnknownTransport(plain(other))),
    }
    let (codecs, event) = formats(media)?;
    let connection = media
        .connections
        .first()
        .or(session.connection.as_ref())
        .ok_or(Refusal::NoAddress)?;
    let written = connection.connection_address.as_str();
    let address: IpAddr = written
        .parse()
        .map_err(|_| Refusal::Address(plain(written)))?;
    let address = address.to_canonical();
    let broadcast = matches!(address, IpAddr::V4(v4) if v4.is_broadcast());
    if address.is_multicast() || broadcast {
        return Err(Refusal::Address(plain(written)));
    }
    let direction = Direction::in_attributes(&media.attributes)
        .or_else(|| Direction::in_attributes(&session.attributes))
        .unwrap_or(Direction::SendRecv);
    Ok(Remote {
        address,
        port: media.port,
        codecs,
        event,
        direction,
    })
}

/// Codecs with their payload types, and the payload type of telephone-events.
type Formats = (Vec<(Codec, u8)>, Option<u8>);

/// The codecs of a line and the payload type of its telephone-events.
fn formats(media: &Media) -> Result<Formats, Refusal> {
    let mut codecs: Vec<(Codec, u8)> = Vec::new();
    let mut event = None;
    let mut unknown = Vec::new();
    for payload_type in media.fmt.split_ascii_whitespace().filter_map(payload_type) {
        let mapped = mapping(media, payload_type);
        let named = Codec::ALL.into_iter().find(|codec| match mapped {
            Some(mapped) => is_encoding(mapped, codec.name()),
            None => codec.payload_type() == payload_type,
        });
        match (named, mapped) {
            (Some(codec), _) if codecs.iter().any(|&(known, _)| known == codec) => {}
            (Some(codec), _) => codecs.push((codec, payload_type)),
            (None, Some(mapped)) if is_encoding(mapped, "telephone-event") => {
                event.get_or_insert(payload_type);
            }
            (None, Some(mapped)) => unknown.push(plain(mapped)),
            (None, None) => unknown.push(format!("payload type {payload_type}")),
        }
    }
    if codecs.is_empty() {
        unknown.truncate(8);
        return Err(Refusal::UnknownCodecs(match unknown.is_empty() {
            true => "none".to_owned(),
            false => unknown.join(", "),
        }));
    }
    Ok((codecs, event))
}

fn payload_type(text: &str) -> Option<u8> {
    text.parse().ok().filter(|&payload_type| payload_type < 128)
}

/// What `a=rtpmap` says of a payload type: `PCMU/8000`.
fn mapping(media: &Media, payload_type: u8) -> Option<&str> {
    media.attributes.iter().find_map(|attribute| {
        if !attribute.attribute.eq_ignore_ascii_case("rtpmap") {
            return None;
        }
        let (number, encoding) = attribute.value.as_deref()?.trim_start().split_once(' ')?;
        (number.parse() == Ok(payload_type)).then(|| encoding.trim())
    })
}

/// Whether an encoding is `name` with one channel at 8000 Hz.
fn is_encoding(mapped: &str, name: &str) -> bool {
    let mut parts = mapped.split('/');
    parts
        .next()
        .is_some_and(|encoding| encoding.eq_ignore_ascii_case(name))
        && parts.next() == Some("8000")
        && parts.next().is_none_or(|channels| channels == "1")
}

/// A piece of the other side's text that may stand in a message of ours: short, and of printable ASCII.
fn plain(text: &str) -> String {
    text.chars()
        .take(40)
        .map(|c| if c.is_ascii_graphic() { c } else { '?' })
        .collect()
}
