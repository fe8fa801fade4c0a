//! The operator's settings for listeners and timers.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rsipstack::sip;
use rustls::ClientConfig;

/// The transport of SIP messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Transport {
    /// UDP.
    Udp,
    /// TCP.
    Tcp,
    /// TLS over TCP.
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

/// A listener.
#[derive(Clone)]
pub struct Listen {
    /// The transport.
    pub transport: Transport,
    /// The local address; port 0 selects a free port.
    pub address: SocketAddr,
    /// The address seen from outside, if the host is behind NAT.
    pub external: Option<SocketAddr>,
    /// For TLS: the certificate chain and its key, both in PEM.
    pub certificate: Option<(Vec<u8>, Vec<u8>)>,
}

impl Listen {
    /// Creates a listener without NAT and TLS.
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

/// Hides the key.
impl fmt::Debug for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Listen({:?} {})", self.transport, self.address)
    }
}

/// Time limits.
#[derive(Debug, Clone)]
pub struct Timers {
    /// Until the first response of a call; after it the carrier counts as unreachable.
    pub first_provisional: Duration,
    /// For ringing.
    pub ring: Duration,
    /// For the other side to confirm the end of a call.
    pub goodbye: Duration,
    /// For a connection to a carrier.
    pub connect: Duration,
    /// For the carrier to report the result of a transfer.
    pub transfer: Duration,
    /// For the carrier to answer a keep-alive.
    pub keep_alive: Duration,
    /// T1 of RFC 3261 §17: the estimated round-trip time; all retransmission intervals are multiples of it.
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

/// The settings of an endpoint, without its trunks.
#[derive(Clone)]
pub struct SipSettings {
    /// The listeners. Each transport of a trunk needs one, except TLS.
    pub listen: Vec<Listen>,
    /// The time limits.
    pub timers: Timers,
    /// How carriers' certificates are checked; required for TLS trunks.
    pub tls: Option<Arc<ClientConfig>>,
    /// The `User-Agent` header.
    pub user_agent: String,
}

impl SipSettings {
    /// Creates settings with default timers and without TLS.
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
