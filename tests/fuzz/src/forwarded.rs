//! `X-Forwarded-For`: lines as a client and its proxies may write them. First byte: whether the peer is trusted.

use std::net::IpAddr;

use ipnet::IpNet;
use offhook_ratelimit::client_ip::{client_key, network};

pub(crate) fn run(data: &[u8]) {
    let Some((&first, rest)) = data.split_first() else {
        return;
    };
    let trusted: Vec<IpNet> = ["10.0.0.0/8", "fd00::/8"]
        .map(|net| net.parse().expect("a network"))
        .into();
    let is_trusted = |address: IpAddr| trusted.iter().any(|net| net.contains(&address));
    let peer: IpAddr = match first % 3 {
        0 => IpAddr::from([10, 0, 0, 1]),
        1 => IpAddr::from([198, 51, 100, 7]),
        _ => "::ffff:10.0.0.2".parse().expect("an address"),
    };
    let lines: Vec<&[u8]> = rest.split(|&byte| byte == b'\n').collect();
    let client = client_key(Some(peer), &lines, &trusted);
    assert_eq!(client, client.to_canonical());
    assert_eq!(network(network(client, 64), 64), network(client, 64));
    assert_eq!(
        client_key(Some(peer), &lines, &[]),
        peer.to_canonical(),
        "believed without a proxy"
    );
    if !is_trusted(peer.to_canonical()) {
        assert_eq!(client, peer, "believed a peer that is no proxy");
        return;
    }
    // Text that a client writes left of its own address changes nothing.
    let mut forged = lines.clone();
    forged.insert(0, b"203.0.113.99, 10.9.9.9, ::1");
    let with_forged = client_key(Some(peer), &forged, &trusted);
    if !is_trusted(client) {
        assert_eq!(with_forged, client, "a forged line was believed");
    }
}
