//! Whose request it is, by network address.
//!
//! The address is the connection's peer, unless the peer is one of our own proxies. Each proxy appends the address it
//! was called from to `X-Forwarded-For`, so only what our proxies appended, the right end, is to be believed: what
//! stands left of the first address that is not ours was written by the client and may be anything.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

/// At most so many addresses of `X-Forwarded-For` are read, from the right.
pub const MAX_HOPS: usize = 16;

/// A longer element of `X-Forwarded-For` is no address.
pub const MAX_ELEMENT_BYTES: usize = 64;

/// The address that a request is counted by.
///
/// `peer` is the other end of the connection, `None` on a Unix socket; `x_forwarded_for` all lines of that header in
/// the order received; `trusted` the networks of our own proxies. Without trusted networks the header is ignored. With
/// them, it is read from right to left while the addresses are trusted: the first other one is the client. Something
/// that is not an address ends the walk at the nearest good hop, and so does the 16th hop.
///
/// The peer of a Unix socket can only be local and counts as trusted if there are trusted networks. A request of which
/// no address is known is counted as 0.0.0.0, together with all others like it.
///
/// The result is canonical: IPv4-mapped addresses are IPv4.
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

/// The network that an address is counted with: an IPv4 address is its own (also when it comes IPv4-mapped), an IPv6
/// address stands for its first `ipv6_prefix_bits`, from 48 to 64 (others are taken as the nearest).
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

/// An address as proxies write it: bare, with a port (`192.0.2.1:443`, `[2001:db8::1]:443`), in brackets, with a zone.
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
