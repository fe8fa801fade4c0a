//! Which addresses are public: the IANA special-purpose address registries, interpreted conservatively.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// IPv4 blocks that are never a public target, as (network, prefix length).
const REFUSED_V4: [(Ipv4Addr, u32); 17] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),          // "this network"
    (Ipv4Addr::new(10, 0, 0, 0), 8),         // private
    (Ipv4Addr::new(100, 64, 0, 0), 10), // carrier-grade NAT; 100.100.100.200 is a cloud's metadata
    (Ipv4Addr::new(127, 0, 0, 0), 8),   // loopback
    (Ipv4Addr::new(168, 63, 129, 16), 32), // Azure's platform services, reachable from inside only
    (Ipv4Addr::new(169, 254, 0, 0), 16), // link-local; 169.254.169.254 is cloud metadata
    (Ipv4Addr::new(172, 16, 0, 0), 12), // private
    (Ipv4Addr::new(192, 0, 0, 0), 24),  // protocol assignments
    (Ipv4Addr::new(192, 0, 2, 0), 24),  // documentation
    (Ipv4Addr::new(192, 88, 99, 0), 24), // 6to4 relays, deprecated
    (Ipv4Addr::new(192, 168, 0, 0), 16), // private
    (Ipv4Addr::new(198, 18, 0, 0), 15), // benchmarking
    (Ipv4Addr::new(198, 51, 100, 0), 24), // documentation
    (Ipv4Addr::new(203, 0, 113, 0), 24), // documentation
    (Ipv4Addr::new(224, 0, 0, 0), 4),   // multicast
    (Ipv4Addr::new(240, 0, 0, 0), 4),   // reserved
    (Ipv4Addr::new(255, 255, 255, 255), 32), // limited broadcast
];

/// The only IPv6 block with public unicast addresses.
const GLOBAL_UNICAST_V6: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// Blocks inside [`GLOBAL_UNICAST_V6`] that are never a public target.
const REFUSED_V6: [(Ipv6Addr, u32); 4] = [
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23), // protocol assignments: Teredo, ORCHID, benchmarking
    (Ipv6Addr::new(0x2001, 0x0db8, 0, 0, 0, 0, 0, 0), 32), // documentation
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16), // 6to4, which carries any IPv4 address
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20), // documentation
];

/// Whether `address` is an ordinary address of the public internet.
///
/// An IPv4-mapped IPv6 address counts as its IPv4 address. Every other IPv6 address outside 2000::/3 is rejected,
/// including the NAT64 prefix 64:ff9b::/96, whose IPv4 part may be private.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => match address.to_ipv4_mapped() {
            Some(mapped) => is_public_v4(mapped),
            None => is_public_v6(address),
        },
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    !REFUSED_V4.iter().any(|(network, prefix)| {
        (u32::from(address) ^ u32::from(*network)) >> (u32::BITS - prefix) == 0
    })
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let within = |(network, prefix): &(Ipv6Addr, u32)| {
        (u128::from(address) ^ u128::from(*network)) >> (u128::BITS - prefix) == 0
    };
    within(&GLOBAL_UNICAST_V6) && !REFUSED_V6.iter().any(within)
}
