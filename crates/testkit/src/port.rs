//! Ports for programs that take theirs as a setting.

use std::hash::{BuildHasher as _, RandomState};
use std::net::{Ipv4Addr, TcpListener, UdpSocket};

/// Connections get their own ports from here upward. A port below this may stay unused for a while without a
/// connection taking it.
const EPHEMERAL: u64 = 32_768;

/// The first port that needs no privilege and that few programs use by default.
const FIRST: u64 = 12_000;

/// A port of this machine that is free for UDP and TCP.
pub fn free_port() -> u16 {
    loop {
        let chance = RandomState::new().hash_one(()) % (EPHEMERAL - FIRST);
        let Ok(port) = u16::try_from(FIRST + chance) else {
            continue;
        };
        let all = (Ipv4Addr::UNSPECIFIED, port);
        if UdpSocket::bind(all).is_ok() && TcpListener::bind(all).is_ok() {
            return port;
        }
    }
}
