//! What an operator says of listeners, and how long things may take.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rsipstack::sip;
use rustls::ClientConfig;

/// What SIP travels on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Transport {
    /// Datagrams.
    Udp,
    /// A plain connection.
    Tcp,
    /// An encrypted connection.
    Tls,
}

impl Transport {
    pub(crate) const fn default_port(self) -> u16 {
        match self {
            Self::Udp | Self::Tcp => 5060,
            Self::Tls => 5061,
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        [("udp", Self::Udp), ("tcp", Self::Tcp), ("tls", Self::Tls)]
            .into_iter()
            .find_map(|(known, transport)| name.eq_ignore_ascii_case(known).then_some(transport))
    }
}

impl From<Transport> for sip::Transport {
    fn from(transport: Transport) -> Self {
        match transport {
            Transport::Udp => Self::Udp,
            Transport::Tcp => Self::Tcp,
            Transport::Tls => Self::Tls,
        }
    }
}

/// Where we listen.
#[derive(Clone)]
pub struct Listen {
    /// By which transport.
    pub transport: Transport,
    /// On which address; port 0 picks one.
    pub address: SocketAddr,
    /// The address that the outside sees, where a router stands between.
    pub external: Option<SocketAddr>,
    /// With TLS: our certificate chain and its key, both PEM.
    pub certificate: Option<(Vec<u8>, Vec<u8>)>,
}

impl Listen {
    /// An address without a router before it and without TLS.
    #[must_use]
    pub const fn on(transport: Transport, address: SocketAddr) -> Self {
        Self {
            transport,
            address,
            external: None,
            certificate: None,
        }
    }
}

/// Without the key.
impl fmt::Debug for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Listen({:?} {})", self.transport, self.address)
    }
}

/// How long things may take.
#[derive(Debug, Clone)]
pub struct Timers {
    /// Till the first sign of life of a call: then the carrier counts as unreachable.
    pub first_provisional: Duration,
    /// For a phone to ring.
    pub ring: Duration,
    /// For the other side to confirm the end of a call.
    pub goodbye: Duration,
    /// For a connection to a carrier.
    pub connect: Duration,
    /// For the carrier to say what became of a transfer.
    pub transfer: Duration,
    /// For the carrier to answer a keep-alive.
    pub keep_alive: Duration,
    /// T1 of RFC 3261 §17: what a round trip may take; all repetitions are multiples of it.
    pub t1: Duration,
}

impl Default for Timers {
    fn default() -> Self {
        Self {
            first_provisional: Duration::from_secs(6),
            ring: Duration::from_secs(45),
            goodbye: Duration::from_secs(4),
            connect: Duration::from_secs(3),
            transfer: Duration::from_secs(30),
            keep_alive: Duration::from_secs(5),
            t1: Duration::from_millis(500),
        }
    }
}

/// Everything but the trunks.
#[derive(Clone)]
pub struct SipSettings {
    /// Where we listen. Each transport that a trunk uses is listened to; TLS need not be.
    pub listen: Vec<Listen>,
    /// How long things may take.
    pub timers: Timers,
    /// How carriers' certificates are checked; without it no trunk may use TLS.
    pub tls: Option<Arc<ClientConfig>>,
    /// What we call ourselves in `User-Agent`.
    pub user_agent: String,
}

impl SipSettings {
    /// The usual times, and no TLS.
    #[must_use]
    pub fn new(listen: Vec<Listen>) -> Self {
        Self {
            listen,
            timers: Timers::default(),
            tls: None,
            user_agent: concat!("offhook/", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }
}

impl fmt::Debug for SipSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SipSettings({:?})", self.listen)
    }
}
