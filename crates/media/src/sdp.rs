//! Session descriptions (RFC 8866) and their negotiation (RFC 3264), as far as a G.711 phone call needs them.

use std::fmt::Write;
use std::net::{IpAddr, SocketAddr};

use sdp_types::{Attribute, Media, Session};

use crate::codec::Codec;

/// The payload type of telephone-events in our offer.
pub const EVENT: u8 = 101;

/// The longest description that is read. Those of phones and carriers are shorter than 2 KiB.
pub const MAX_LEN: usize = 16 * 1024;

/// The direction of audio, from the view of the description's author.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Both ways.
    SendRecv,
    /// Sends only: we are on hold, with music or without.
    SendOnly,
    /// Receives only.
    RecvOnly,
    /// Neither.
    Inactive,
}

impl Direction {
    /// Returns the direction from the other side's view.
    #[must_use]
    pub const fn reversed(self) -> Self {
        match self {
            Self::SendOnly => Self::RecvOnly,
            Self::RecvOnly => Self::SendOnly,
            same => same,
        }
    }

    /// Returns whether the author receives audio.
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
    /// The address where the other side reaches us.
    pub address: IpAddr,
    /// The port of our socket, or its mapping in a NAT.
    pub port: u16,
    /// The session id; the same in every description of a call.
    pub session: u64,
    /// Increases by one with each changed description.
    pub version: u64,
}

/// The other side's formats and address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remote {
    /// The address where it listens. Old phones send an unspecified one (`0.0.0.0`) to put a call on hold.
    pub address: IpAddr,
    /// The port where it listens; never 0.
    pub port: u16,
    /// The codecs that both sides support, with their payload types, in the other side's order; never empty.
    pub codecs: Vec<(Codec, u8)>,
    /// The payload type of telephone-events, if it accepts them.
    pub event: Option<u8>,
    /// The direction of audio from the other side's view.
    pub direction: Direction,
}

impl Remote {
    /// Returns the codec to send: the other side's first choice.
    #[must_use]
    pub fn codec(&self) -> (Codec, u8) {
        self.codecs
            .first()
            .copied()
            .unwrap_or((Codec::Pcmu, Codec::Pcmu.payload_type()))
    }

    /// Returns the destination, unless the address is unspecified.
    #[must_use]
    pub fn socket(&self) -> Option<SocketAddr> {
        (!self.address.is_unspecified()).then(|| SocketAddr::new(self.address, self.port))
    }

    /// Returns whether the other side listens.
    #[must_use]
    pub fn listens(&self) -> bool {
        self.direction.receives() && !self.address.is_unspecified()
    }

    /// Returns whether the other side has put us on hold: it no longer listens.
    #[must_use]
    pub fn is_on_hold(&self) -> bool {
        !self.listens()
    }
}

/// Why a description cannot be used. The response to such an offer is 488, or 400 if it is malformed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It is longer than [`MAX_LEN`].
    #[error("the SDP has more than {MAX_LEN} bytes")]
    TooLong,
    /// It is not valid SDP.
    #[error("the SDP is malformed: {0}")]
    Malformed(String),
    /// It has no `m=audio` line.
    #[error("the SDP has no `m=audio` line")]
    NoAudio,
    /// Every `m=audio` line has port 0.
    #[error("the SDP refuses audio: the port of `m=audio` is 0")]
    AudioRefused,
    /// Every `m=audio` line requires encryption.
    #[error(
        "the SDP has SRTP alone ({0}), which is not supported: allow plain RTP (RTP/AVP) on the trunk"
    )]
    SrtpOnly(String),
    /// An `m=audio` line has a transport other than RTP and SRTP.
    #[error("the SDP has audio over {0} alone; plain RTP (RTP/AVP) is supported")]
    UnknownTransport(String),
    /// It has neither PCMU nor PCMA at 8000 Hz.
    #[error("the SDP has no codec that is supported (PCMU or PCMA at 8000 Hz), only {0}")]
    UnknownCodecs(String),
    /// No `c=` line applies to the audio.
    #[error("the SDP has no `c=` line for its audio")]
    NoAddress,
    /// The address in the `c=` line is not usable.
    #[error("the SDP's `c=` line has {0:?}, which is not the IP address of one host")]
    Address(String),
}

impl Refusal {
    /// Returns whether the description is malformed, as opposed to not supported.
    #[must_use]
    pub const fn is_malformed(&self) -> bool {
        matches!(
            self,
            Self::TooLong | Self::Malformed(_) | Self::NoAddress | Self::Address(_)
        )
    }
}

/// Returns our offer: PCMU, PCMA and telephone-events, 20 ms per packet, one media line.
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

/// Parses the answer to our offer. Returns [`Refusal`] if it allows no audio.
pub fn read_answer(answer: &[u8]) -> Result<Remote, Refusal> {
    let session = parse(answer)?;
    Ok(choose(&session)?.1)
}

/// The other side's offer, in an INVITE or a re-INVITE, with all that an answer must mirror.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// The supported part of the offer.
    pub remote: Remote,
    lines: Vec<Line>,
    chosen: usize,
}

/// A media line of an offer.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Line {
    media: String,
    proto: String,
    formats: String,
}

impl Offer {
    /// Parses an offer. Returns [`Refusal`] if it cannot be accepted.
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

    /// Returns our answer: the other side's first codec, its telephone-events, the mirrored direction, and port 0 for
    /// every other line (RFC 3264, §6).
    #[must_use]
    pub fn answer(&self, local: &Local) -> String {
        let mut text = head(local);
        // A side that offers `0.0.0.0` does not listen, whatever the direction says.
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

/// The first usable audio line and its index. If there is none, returns the refusal of the audio line that came
/// closest.
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

/// The codecs of a line, and the payload type of its telephone-events.
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

/// The `a=rtpmap` value of a payload type, such as `PCMU/8000`.
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

/// The other side's text made safe for our messages: short, and printable ASCII.
fn plain(text: &str) -> String {
    text.chars()
        .take(40)
        .map(|c| if c.is_ascii_graphic() { c } else { '?' })
        .collect()
}
