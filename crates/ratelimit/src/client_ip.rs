//! The client of a request, by network address.
//!
//! The client is the connection's peer, unless the peer is one of our own proxies. Each proxy appends its peer's
//! address to `X-Forwarded-For`. So only the right end, which our proxies appended, can be trusted. The client wrote
//! everything left of the first address that is not ours.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

/// The most addresses of `X-Forwarded-For` that are read, from the right.
pub const MAX_HOPS: usize = 16;

/// A longer element of `X-Forwarded-For`, in bytes, is not an address.
pub const MAX_ELEMENT_BYTES: usize = 64;

/// The address that a request is counted by.
///
/// `peer` is the other end of the connection, `None` on a Unix socket. `x_forwarded_for` has all lines of that header
/// in the order received. `trusted` has the networks of our own proxies. Without trusted networks the header is
/// ignored. With them, it is read from right to left while the addresses are trusted: the first untrusted one is the
/// client. The walk ends at the nearest good hop before an element that is not an address, and after 16 hops.
///
/// The peer of a Unix socket is local, and counts as trusted if there are trusted networks. All requests without a
/// known address are counted together as 0.0.0.0.
///
/// The result is canonical: IPv4-mapped addresses become IPv4.
#[must_use]
pub fn client_key(peer: Option<IpAddr>, x_forwarded_for: &[&[u8]], trusted: &[IpNet]) -> IpAddr {
    let mut nearest = peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| {
        peer.to_canonical()
    });
    if trusted.is_empty() || (peer.is_some() && !is_trusted(nearest, trusted)) {
        return nearest;
    }
    let elements = x_forwarded_for
        .iter()
        .rev()
        .flat_map(|line| line.rsplit(|&byte| byte == b','));
    for element in elements.take(MAX_HOPS) {
        let Some(address) = parse_element(element) else {
            break;
        };
        nearest = address;
        if !is_trusted(address, trusted) {
            break;
        }
    }
    nearest
}

/// The network that an address is counted with. An IPv4 address (also an IPv4-mapped one) is its own network. An IPv6
/// address stands for its first `ipv6_prefix_bits`, clamped to 48 to 64.
#[must_use]
pub fn network(address: IpAddr, ipv6_prefix_bits: u8) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(v4) => IpAddr::V4(v4),
        IpAddr::V6(v6) => {
            let kept = u128::MAX << (128 - u32::from(ipv6_prefix_bits.clamp(48, 64)));
            IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & kept))
        }
    }
}

fn is_trusted(address: IpAddr, trusted: &[IpNet]) -> bool {
    trusted.iter().any(|network| network.contains(&address))
}

/// An address in the forms that proxies write: bare, with a port (`192.0.2.1:443`, `[2001:db8::1]:443`), in brackets,
/// with a zone.
fn parse_element(element: &[u8]) -> Option<IpAddr> {
    let element = element.trim_ascii();
    if element.len() > MAX_ELEMENT_BYTES {
        return None;
    }
    let text = std::str::from_utf8(element).ok()?;
    let host = if let Some(bracketed) = text.strip_prefix('[') {
        let (host, port) = bracketed.split_once(']')?;
        (port.is_empty() || is_port(port.strip_prefix(':')?)).then_some(host)?
    } else {
        match text.split_once(':') {
            Some((host, port)) if host.contains('.') => is_port(port).then_some(host)?,
            _ => text,
        }
    };
    let address = match host.split_once('%') {
        Some((v6, _zone)) => IpAddr::V6(v6.parse().ok()?),
        None => host.parse().ok()?,
    };
    Some(address.to_canonical())
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u16>().is_ok()
}
