use std::net::{IpAddr, Ipv4Addr};

use offhook_media::ports::{PortError, PortRange, Ports};

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

#[test]
fn a_range_counts_its_even_ports() {
    for (first, last, count) in [
        (40_000, 40_000, 1),
        (40_001, 40_003, 1),
        (40_000, 40_999, 500),
        (65_534, 65_535, 1),
    ] {
        assert_eq!(PortRange::new(first, last).map(PortRange::count), Ok(count));
    }
    for (first, last) in [
        (40_001, 40_001),
        (40_010, 40_000),
        (65_535, 65_535),
        (1_000, 2_000),
        (0, 0),
    ] {
        let refusal = PortRange::new(first, last).expect_err("no range");
        let expected = format!(
            "the range of ports {first}-{last} has no even port above 1023: name one such as 40000-40999"
        );
        assert_eq!(refusal.to_string(), expected);
    }
}

#[tokio::test]
async fn ports_are_even_differ_and_are_given_back() {
    let ports = Ports::new(PortRange::new(23_001, 23_006).expect("a range"));
    let one = ports.open(LOOPBACK).await.expect("a socket");
    let two = ports.open(LOOPBACK).await.expect("a socket");
    let three = ports.open(LOOPBACK).await.expect("a socket");
    let mut taken = [one.port(), two.port(), three.port()];
    taken.sort_unstable();
    assert_eq!(taken, [23_002, 23_004, 23_006]);
    let refusal = ports.open(LOOPBACK).await.expect_err("all taken");
    let expected = "all 3 even ports of the RTP range are in use: widen it";
    assert_eq!(refusal.to_string(), expected);
    let back = two.port();
    drop(two);
    assert_eq!(ports.in_use(), 2);
    assert_eq!(
        ports.open(LOOPBACK).await.expect("it is free again").port(),
        back
    );
}

#[tokio::test]
async fn a_port_rests_before_it_is_used_again() {
    let ports = Ports::new(PortRange::new(23_100, 23_199).expect("a range"));
    let first = ports.open(LOOPBACK).await.expect("a socket").port();
    let second = ports.open(LOOPBACK).await.expect("a socket").port();
    assert_ne!(first, second);
    assert_eq!(ports.in_use(), 0);
}

#[tokio::test]
async fn the_ports_of_a_process_that_died_are_not_the_first_of_the_next_one() {
    let range = PortRange::new(23_400, 23_999).expect("a range");
    let mut firsts = std::collections::HashSet::new();
    for _ in 0..20 {
        let socket = Ports::new(range).open(LOOPBACK).await.expect("a socket");
        firsts.insert(socket.port());
    }
    assert!(firsts.len() > 10, "{firsts:?}");
}

#[tokio::test]
async fn a_port_of_another_program_is_passed_over() {
    let _theirs = std::net::UdpSocket::bind((LOOPBACK, 23_200)).expect("a socket");
    let ports = Ports::new(PortRange::new(23_200, 23_203).expect("a range"));
    assert_eq!(
        ports.open(LOOPBACK).await.expect("the other one").port(),
        23_202
    );
}

#[tokio::test]
async fn an_address_of_another_machine_is_refused() {
    let ports = Ports::new(PortRange::new(23_300, 23_301).expect("a range"));
    let refusal = ports
        .open([192, 0, 2, 1].into())
        .await
        .expect_err("not ours");
    assert!(matches!(refusal, PortError::Socket { .. }), "{refusal}");
    assert_eq!(ports.in_use(), 0);
}
