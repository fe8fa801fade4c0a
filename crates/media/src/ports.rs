//! The UDP ports of calls: even ports of a range, released when their call ends.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::net::UdpSocket;

/// Expedited forwarding (RFC 3246), in the former type-of-service byte.
const EXPEDITED: u32 = 46 << 2;

/// A range of ports. Calls use its even ports (RFC 3550, §11); the odd port after each stays free for RTCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortRange {
    first: u16,
    last: u16,
}

/// The range has no port for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the range of ports {first}-{last} has no even port above 1023: name one such as 40000-40999"
)]
pub struct NoEvenPort {
    first: u16,
    last: u16,
}

impl PortRange {
    /// Creates a range from `first` to `last`. Returns [`NoEvenPort`] if it has no usable port.
    pub fn new(first: u16, last: u16) -> Result<Self, NoEvenPort> {
        let range = Self { first, last };
        if first < 1_024 || range.count() == 0 {
            return Err(NoEvenPort { first, last });
        }
        Ok(range)
    }

    /// Returns the number of calls that it has ports for.
    #[must_use]
    pub fn count(self) -> u16 {
        let first_even = u32::from(self.first).next_multiple_of(2);
        let ports = (u32::from(self.last) + 1).saturating_sub(first_even);
        ports.div_ceil(2) as u16
    }

    /// The even port at an index, which wraps around.
    fn port(self, place: u16) -> u16 {
        self.first.next_multiple_of(2) + 2 * (place % self.count())
    }
}

/// The free ports of a range.
#[derive(Debug, Clone)]
pub struct Ports {
    range: PortRange,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    taken: HashSet<u16>,
    /// The index to try next. A port rests before it is reused, because the other side of its last call may not have
    /// noticed the end. The first index is random, because the last call may belong to a process that died.
    next: u16,
}

/// Why a call got no socket.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// All ports are in use, by calls or by other programs.
    #[error("all {0} even ports of the RTP range are in use: widen it")]
    NoneFree(u16),
    /// The address does not belong to this machine, or sockets cannot be opened.
    #[error("no UDP socket can be opened on {address}: {error}")]
    Socket {
        /// The address to bind.
        address: IpAddr,
        /// The system's error.
        error: io::Error,
    },
}

impl Ports {
    /// Creates the pool of a range.
    #[must_use]
    pub fn new(range: PortRange) -> Self {
        let state = State {
            taken: HashSet::new(),
            next: RandomState::new().hash_one(0_u8) as u16 % range.count(),
        };
        Self {
            range,
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// Opens a socket on a free port. Returns [`PortError`] if no port is free, or the address cannot be used.
    pub async fn open(&self, address: IpAddr) -> Result<CallSocket, PortError> {
        for _ in 0..self.range.count() {
            let Some(lease) = self.lease() else {
                continue;
            };
            match UdpSocket::bind(SocketAddr::new(address, lease.port)).await {
                Ok(socket) => return Ok(CallSocket { socket, lease }),
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
                Err(error) => return Err(PortError::Socket { address, error }),
            }
        }
        Err(PortError::NoneFree(self.range.count()))
    }

    /// Returns the number of ports in use by calls.
    #[must_use]
    pub fn in_use(&self) -> usize {
        self.state.lock().taken.len()
    }

    /// Takes the next port, unless a call uses it.
    fn lease(&self) -> Option<Lease> {
        let mut state = self.state.lock();
        let port = self.range.port(state.next);
        state.next = (state.next + 1) % self.range.count();
        state.taken.insert(port).then(|| Lease {
            port,
            state: self.state.clone(),
        })
    }
}

/// A call's socket. Dropping it releases the port.
#[derive(Debug)]
pub struct CallSocket {
    socket: UdpSocket,
    lease: Lease,
}

impl CallSocket {
    /// Returns the port.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.lease.port
    }

    /// The socket for a pump, which releases the port at its end.
    pub(crate) fn into_parts(self) -> io::Result<(std::net::UdpSocket, Lease)> {
        Ok((plain(self.socket)?, self.lease))
    }
}

/// Reserves a port until it is dropped.
#[derive(Debug)]
pub(crate) struct Lease {
    port: u16,
    state: Arc<Mutex<State>>,
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.state.lock().taken.remove(&self.port);
    }
}

/// Detaches the socket from the reactor: the pump polls it once per tick, so that packets cause no wake-ups.
fn plain(socket: UdpSocket) -> io::Result<std::net::UdpSocket> {
    // Routers may respect this mark; if the system does not allow it, the call goes on without.
    let _ = match socket.local_addr()? {
        SocketAddr::V4(_) => socket.set_tos_v4(EXPEDITED),
        SocketAddr::V6(_) => Ok(()),
    };
    socket.into_std()
}
