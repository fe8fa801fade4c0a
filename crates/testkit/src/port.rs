//! Ports for programs that must be told theirs.

use std::hash::{BuildHasher as _, RandomState};
use std::net::{Ipv4Addr, TcpListener, UdpSocket};

/// Where connections get their own ports from; one that is given up for a while below it is taken by none of them.
const EPHEMERAL: u64 = 32_768;

/// The first that needs no privilege and that few programs have as their own.
const FIRST: u64 = 12_000;

/// A port of this machine that is free for datagrams and for connections.
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
