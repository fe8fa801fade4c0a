use std::net::IpAddr;

use ipnet::IpNet;
use offhook_ratelimit::client_ip::{client_key, network};

fn ip(text: &str) -> IpAddr {
    text.parse()
        .unwrap_or_else(|_| panic!("{text} is no address"))
}

fn nets(texts: &[&str]) -> Vec<IpNet> {
    texts
        .iter()
        .map(|text| {
            text.parse()
                .unwrap_or_else(|_| panic!("{text} is no network"))
        })
        .collect()
}

#[test]
fn without_trusted_networks_only_the_peer_counts() {
    for header in [
        &b"1.2.3.4"[..],
        b"127.0.0.1",
        b"10.0.0.1, 1.2.3.4",
        b"garbage",
        b"",
    ] {
        let expected = ip("10.0.0.1");
        assert_eq!(client_key(Some(ip("10.0.0.1")), &[header], &[]), expected);
    }
    assert_eq!(client_key(None, &[b"1.2.3.4"], &[]), ip("0.0.0.0"));
}

#[test]
fn no_forged_header_moves_the_client() {
    let trusted = nets(&["10.0.0.0/8", "fd00::/8", "192.0.2.1/32"]);
    let long = "1".repeat(65);
    let many_trusted = vec!["10.9.9.9"; 40].join(",");
    // (peer, header lines, client)
    let cases: &[(&str, &[&str], &str)] = &[
        // The peer is not one of our proxies: its header is not trusted.
        ("203.0.113.9", &["1.1.1.1"], "203.0.113.9"),
        ("203.0.113.9", &["10.0.0.1"], "203.0.113.9"),
        ("2001:db8::1", &["10.0.0.1", "1.1.1.1"], "2001:db8::1"),
        // One proxy, and what the client wrote before it.
        ("10.0.0.1", &["203.0.113.9"], "203.0.113.9"),
        ("10.0.0.1", &["1.1.1.1, 203.0.113.9"], "203.0.113.9"),
        ("10.0.0.1", &["10.0.0.2, 203.0.113.9"], "203.0.113.9"),
        ("10.0.0.1", &["127.0.0.1,::1,203.0.113.9"], "203.0.113.9"),
        ("10.0.0.1", &["junk \t;, 203.0.113.9"], "203.0.113.9"),
        // The client's line and the proxy's line are one list.
        ("10.0.0.1", &["1.1.1.1", "203.0.113.9"], "203.0.113.9"),
        (
            "10.0.0.1",
            &["1.1.1.1, 10.0.0.9", "203.0.113.9, 10.0.0.2"],
            "203.0.113.9",
        ),
        ("10.0.0.1", &["203.0.113.9", "10.0.0.2"], "203.0.113.9"),
        // Several proxies.
        (
            "10.0.0.1",
            &["1.1.1.1, 203.0.113.9, 192.0.2.1, 10.2.0.1"],
            "203.0.113.9",
        ),
        ("10.0.0.1", &["2001:db8::5, fd00::1"], "2001:db8::5"),
        // Only our own networks: the farthest address.
        ("10.0.0.1", &["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
        // No header: the proxy itself.
        ("10.0.0.1", &[], "10.0.0.1"),
        // An element that is not an address ends the walk at the nearest good hop.
        ("10.0.0.1", &[""], "10.0.0.1"),
        ("10.0.0.1", &["1.1.1.1, unknown"], "10.0.0.1"),
        ("10.0.0.1", &["1.1.1.1, unknown, 10.0.0.2"], "10.0.0.2"),
        ("10.0.0.1", &["1.1.1.1,"], "10.0.0.1"),
        ("10.0.0.1", &["1.1.1.1,,10.0.0.2"], "10.0.0.2"),
        ("10.0.0.1", &["1.1.1.1, _hidden"], "10.0.0.1"),
        ("10.0.0.1", &["1.1.1.1, 203.0.113.256"], "10.0.0.1"),
        ("10.0.0.1", &["1.1.1.1, 203.0.113.09"], "10.0.0.1"),
        ("10.0.0.1", &["1.1.1.1, 0xcb.0.113.9"], "10.0.0.1"),
        ("10.0.0.1", &["1.1.1.1, 203.0.113.9 6.6.6.6"], "10.0.0.1"),
        ("10.0.0.1", &["1.1.1.1, for=203.0.113.9"], "10.0.0.1"),
        ("10.0.0.1", &[&long], "10.0.0.1"),
        // More hops than the limit.
        ("10.0.0.1", &["6.6.6.6", &many_trusted], "10.9.9.9"),
        // Forms of the same address.
        ("::ffff:10.0.0.1", &["::ffff:203.0.113.9"], "203.0.113.9"),
        ("10.0.0.1", &["  203.0.113.9\t"], "203.0.113.9"),
        ("10.0.0.1", &["203.0.113.9:51234"], "203.0.113.9"),
        ("10.0.0.1", &["203.0.113.9:512345"], "10.0.0.1"),
        ("10.0.0.1", &["203.0.113.9:"], "10.0.0.1"),
        ("10.0.0.1", &["203.0.113.9:+1"], "10.0.0.1"),
        ("10.0.0.1", &["[2001:db8::5]"], "2001:db8::5"),
        ("10.0.0.1", &["[2001:db8::5]:443"], "2001:db8::5"),
        ("10.0.0.1", &["[2001:db8::5]443"], "10.0.0.1"),
        ("10.0.0.1", &["[2001:db8::5"], "10.0.0.1"),
        ("10.0.0.1", &["[::ffff:203.0.113.9]:443"], "203.0.113.9"),
        ("10.0.0.1", &["fe80::1%eth0"], "fe80::1"),
        ("10.0.0.1", &["203.0.113.9%eth0"], "10.0.0.1"),
    ];
    for (peer, lines, client) in cases {
        let lines: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
        assert_eq!(
            client_key(Some(ip(peer)), &lines, &trusted),
            ip(client),
            "{peer} {lines:?}"
        );
    }
}

#[test]
fn bytes_that_are_no_text_are_no_address() {
    let trusted = nets(&["10.0.0.0/8"]);
    assert_eq!(
        client_key(Some(ip("10.0.0.1")), &[b"1.1.1.1, \xff\xfe"], &trusted),
        ip("10.0.0.1")
    );
    assert_eq!(
        client_key(Some(ip("10.0.0.1")), &[b"1.1.1.1, \0"], &trusted),
        ip("10.0.0.1")
    );
}

#[test]
fn sixteen_hops_are_read_and_no_more() {
    let trusted = nets(&["10.0.0.0/8"]);
    let header = |hops: usize| format!("203.0.113.9{}", ", 10.0.0.2".repeat(hops));
    let client =
        |hops: usize| client_key(Some(ip("10.0.0.1")), &[header(hops).as_bytes()], &trusted);
    assert_eq!(client(15), ip("203.0.113.9"));
    assert_eq!(client(16), ip("10.0.0.2"));
}

#[test]
fn a_local_proxy_on_a_unix_socket_is_believed_if_proxies_are_trusted() {
    let trusted = nets(&["10.0.0.0/8"]);
    assert_eq!(
        client_key(None, &[b"1.1.1.1, 203.0.113.9"], &trusted),
        ip("203.0.113.9")
    );
    assert_eq!(client_key(None, &[], &trusted), ip("0.0.0.0"));
    assert_eq!(client_key(None, &[b"unknown"], &trusted), ip("0.0.0.0"));
}

#[test]
fn addresses_are_counted_by_their_network() {
    for (address, bits, counted) in [
        ("203.0.113.9", 64, "203.0.113.9"),
        ("::ffff:203.0.113.9", 64, "203.0.113.9"),
        ("2001:db8:1:2:3:4:5:6", 64, "2001:db8:1:2::"),
        ("2001:db8:1:2ff:3:4:5:6", 56, "2001:db8:1:200::"),
        ("2001:db8:1:2:3:4:5:6", 48, "2001:db8:1::"),
        ("2001:db8:1:2:3:4:5:6", 0, "2001:db8:1::"),
        ("2001:db8:1:2:3:4:5:6", 128, "2001:db8:1:2::"),
    ] {
        assert_eq!(network(ip(address), bits), ip(counted), "{address}/{bits}");
    }
}
