//! Checks `is_public` against a second copy of the IANA special-purpose address registries.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use offhook_egress::is_public;
use proptest::prelude::*;

/// Not globally reachable, or not unicast, and two that are only reachable from inside a cloud or a tunnel.
const V4: &[&str] = &[
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "168.63.129.16/32",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
];

/// Everything outside 2000::/3, then the special blocks inside.
const V6: &[&str] = &[
    "::/3",
    "4000::/2",
    "8000::/1",
    "2001::/23",
    "2001:db8::/32",
    "2002::/16",
    "3fff::/20",
];

fn nets(texts: &[&str]) -> Vec<IpNet> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn expected(address: IpAddr) -> bool {
    let judged = address.to_canonical();
    let refused = if judged.is_ipv4() { nets(V4) } else { nets(V6) };
    !refused.iter().any(|net| net.contains(&judged))
}

#[test]
fn both_ends_of_every_special_block_are_refused_and_their_neighbours_judged_alone() {
    for net in nets(V4).into_iter().chain(nets(V6)) {
        let (before, first, last, after): (IpAddr, IpAddr, IpAddr, IpAddr) = match net {
            IpNet::V4(net) => {
                let (first, last) = (u32::from(net.network()), u32::from(net.broadcast()));
                let at = |bits| IpAddr::V4(Ipv4Addr::from_bits(bits));
                (
                    at(first.wrapping_sub(1)),
                    at(first),
                    at(last),
                    at(last.wrapping_add(1)),
                )
            }
            IpNet::V6(net) => {
                let (first, last) = (u128::from(net.network()), u128::from(net.broadcast()));
                let at = |bits| IpAddr::V6(Ipv6Addr::from_bits(bits));
                (
                    at(first.wrapping_sub(1)),
                    at(first),
                    at(last),
                    at(last.wrapping_add(1)),
                )
            }
        };
        assert!(!is_public(first), "{first} of {net}");
        assert!(!is_public(last), "{last} of {net}");
        assert_eq!(is_public(before), expected(before), "{before} before {net}");
        assert_eq!(is_public(after), expected(after), "{after} after {net}");
    }
}

#[test]
fn ordinary_addresses_of_the_internet_are_public() {
    for text in [
        "1.1.1.1",
        "8.8.8.8",
        "93.184.215.14",
        "192.0.1.1",
        "2606:4700::1111",
        "2a00:1450::1",
    ] {
        assert!(is_public(text.parse().unwrap()), "{text}");
    }
}

#[test]
fn every_disguise_of_a_private_address_is_refused() {
    for text in [
        "::",
        "::1",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:10.1.2.3",
        "::ffff:169.254.169.254",
        "::ffff:0:127.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b::8.8.8.8",
        "64:ff9b:1::a9fe:a9fe",
        "100::1",
        "2001:0:7f00:1::",
        "2002:7f00:1::",
        "5f00::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fec0::1",
        "ff02::1",
    ] {
        assert!(!is_public(text.parse().unwrap()), "{text}");
    }
}

fn inside(net: IpNet) -> impl Strategy<Value = IpAddr> {
    any::<u128>().prop_map(move |bits| match net {
        IpNet::V4(net) => {
            let host = u32::from(Ipv4Net::hostmask(&net)) & bits as u32;
            IpAddr::V4(Ipv4Addr::from_bits(u32::from(net.network()) | host))
        }
        IpNet::V6(net) => {
            let host = u128::from(Ipv6Net::hostmask(&net)) & bits;
            IpAddr::V6(Ipv6Addr::from_bits(u128::from(net.network()) | host))
        }
    })
}

fn special() -> impl Strategy<Value = IpAddr> {
    let all: Vec<IpNet> = nets(V4).into_iter().chain(nets(V6)).collect();
    proptest::sample::select(all).prop_flat_map(inside)
}

proptest! {
    #[test]
    fn ipv4_is_public_exactly_outside_the_special_blocks(bits: u32) {
        let address = IpAddr::V4(Ipv4Addr::from_bits(bits));
        prop_assert_eq!(is_public(address), expected(address));
    }

    #[test]
    fn ipv6_is_public_exactly_outside_the_special_blocks(bits: u128) {
        // Half of the cases fall into 2000::/3.
        let bits = if bits & 1 == 0 { (bits >> 3) | (1 << 125) } else { bits };
        let address = IpAddr::V6(Ipv6Addr::from_bits(bits));
        prop_assert_eq!(is_public(address), expected(address));
    }

    #[test]
    fn nothing_in_a_special_block_is_public_unless_it_is_a_mapped_public_address(address in special()) {
        prop_assert_eq!(is_public(address), expected(address));
    }

    #[test]
    fn a_mapped_address_is_judged_as_the_one_in_it(bits: u32) {
        let address = Ipv4Addr::from_bits(bits);
        prop_assert_eq!(is_public(address.to_ipv6_mapped().into()), is_public(address.into()));
    }

    #[test]
    fn a_nat64_address_is_never_public(bits: u32) {
        let address = Ipv6Addr::from_bits((0x0064_ff9b_u128 << 96) | u128::from(bits));
        prop_assert!(!is_public(address.into()));
    }
}
