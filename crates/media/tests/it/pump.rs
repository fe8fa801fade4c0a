use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use offhook_media::codec::Codec;
use offhook_media::playout::{Played, Segment, Speaker};
use offhook_media::ports::{PortRange, Ports};
use offhook_media::pump::{Counted, Latch, Negotiated, Pump, SendKeysError, Tick, Ticks, queue};
use offhook_media::rtp::{Packet, Sequence, Timestamp};
use offhook_media::sdp::{Direction, Remote};
use offhook_media::telephone_event::{Outbox, Outgoing};
use offhook_media::{FRAME_SAMPLES, FRAME_TIME, SILENCE};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{advance, sleep};

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// The other side: a socket, and the state of its stream.
struct Peer {
    socket: UdpSocket,
    to: SocketAddr,
    sequence: u16,
    timestamp: u32,
}

/// A received packet.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Came {
    payload_type: u8,
    marker: bool,
    sequence: Sequence,
    timestamp: Timestamp,
    ssrc: u32,
    payload: Vec<u8>,
}

impl Peer {
    fn at(address: [u8; 4], to: SocketAddr) -> Self {
        let socket = UdpSocket::bind(SocketAddr::from((address, 0))).expect("a socket");
        socket.set_nonblocking(true).expect("an option");
        Self {
            socket,
            to,
            sequence: 65_530,
            timestamp: u32::MAX - 400,
        }
    }

    fn address(&self) -> SocketAddr {
        self.socket.local_addr().expect("an address")
    }

    fn send(&mut self, payload_type: u8, payload: &[u8]) {
        let mut datagram = Vec::new();
        let packet = Packet {
            payload_type,
            marker: false,
            sequence: Sequence(self.sequence),
            timestamp: Timestamp(self.timestamp),
            ssrc: 0xABCD,
            payload,
        };
        packet.write(&mut datagram);
        self.socket.send_to(&datagram, self.to).expect("sent");
        self.lose();
    }

    /// A packet that was sent and lost.
    fn lose(&mut self) {
        self.sequence = self.sequence.wrapping_add(1);
        self.timestamp = self.timestamp.wrapping_add(160);
    }

    fn came(&self) -> Vec<Came> {
        let mut buffer = [0; 2_048];
        std::iter::from_fn(|| {
            self.socket
                .recv(&mut buffer)
                .ok()
                .map(|length| buffer[..length].to_vec())
        })
        .map(|datagram| {
            let packet = Packet::read(&datagram).expect("RTP");
            Came {
                payload_type: packet.payload_type,
                marker: packet.marker,
                sequence: packet.sequence,
                timestamp: packet.timestamp,
                ssrc: packet.ssrc,
                payload: packet.payload.to_vec(),
            }
        })
        .collect()
    }
}

struct Call {
    pump: Pump,
    speaker: Speaker,
    played: UnboundedReceiver<Played>,
    ticks: Ticks,
    keys: UnboundedReceiver<char>,
    peer: Peer,
    ports: Ports,
}

fn remote(address: SocketAddr) -> Remote {
    Remote {
        address: address.ip(),
        port: address.port(),
        codecs: vec![(Codec::Pcmu, 0)],
        event: Some(101),
        direction: Direction::SendRecv,
    }
}

/// A call whose other side announced `port`, or else its real port.
async fn call_with(latch: Latch, port: Option<u16>, capacity: usize) -> Call {
    let ports = Ports::new(PortRange::new(24_000, 24_999).expect("a range"));
    let socket = ports.open(LOOPBACK).await.expect("a socket");
    let peer = Peer::at([127, 0, 0, 1], SocketAddr::new(LOOPBACK, socket.port()));
    let (speaker, played) = Speaker::new();
    let (outlet, ticks, keys) = queue(capacity);
    let said = SocketAddr::new(LOOPBACK, port.unwrap_or(peer.address().port()));
    let pump = Pump::start(
        socket,
        Negotiated::new(&remote(said)),
        latch,
        speaker.clone(),
        outlet,
    )
    .expect("a pump");
    // Always half a frame after the pump's ticks.
    sleep(FRAME_TIME / 2).await;
    Call {
        pump,
        speaker,
        played,
        ticks,
        keys,
        peer,
        ports,
    }
}

async fn call() -> Call {
    call_with(Latch::NegotiatedAddress, None, 100).await
}

impl Call {
    async fn ticks(&mut self, count: usize) -> Vec<Tick> {
        let mut ticks = Vec::new();
        for _ in 0..count {
            ticks.push(self.ticks.next().await.expect("a tick"));
            sleep(FRAME_TIME).await;
        }
        ticks
    }

    fn counted(&self) -> Counted {
        self.pump.counted()
    }
}

#[tokio::test(start_paused = true)]
async fn silence_is_sent_from_the_first_tick_on_every_twenty_milliseconds() {
    let mut call = call().await;
    let ticks = call.ticks(49).await;
    assert!(
        ticks
            .iter()
            .enumerate()
            .all(|(number, tick)| tick.number == number as u64 && tick.said.is_none())
    );
    let came = call.peer.came();
    assert_eq!(came.len(), 50);
    for (place, packet) in came.iter().enumerate() {
        let first = &came[0];
        let expected = Came {
            payload_type: 0,
            marker: place == 0,
            sequence: first.sequence + place as u16,
            timestamp: first.timestamp + 160 * place as u32,
            ssrc: first.ssrc,
            payload: vec![0xFF; FRAME_SAMPLES],
        };
        assert_eq!(packet, &expected, "{place}");
    }
    let counted = call.counted();
    assert_eq!(counted.sent, 50);
    assert_eq!(counted.ticks, 50);
    assert_eq!(counted.lateness.most, Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn what_is_said_is_sent_and_told() {
    let mut call = call().await;
    let speech: Vec<i16> = (0..400).map(|place| place * 20).collect();
    call.speaker.enqueue(Segment(1), &speech);
    call.speaker.finish(Segment(1));
    let ticks = call.ticks(5).await;
    let said: Vec<i16> = ticks
        .iter()
        .filter_map(|tick| tick.said)
        .flatten()
        .collect();
    assert_eq!(said[..400], speech);
    let sent: Vec<i16> = call.peer.came()[1..4]
        .iter()
        .flat_map(|packet| packet.payload.clone())
        .map(|code| Codec::Pcmu.decode(code))
        .collect();
    let expected: Vec<i16> = said
        .iter()
        .map(|&sample| Codec::Pcmu.decode(Codec::Pcmu.encode(sample)))
        .collect();
    assert_eq!(sent, expected);
    assert!(matches!(
        call.played.recv().await,
        Some(Played::Began(Segment(1), _))
    ));
    assert!(matches!(
        call.played.recv().await,
        Some(Played::Ended(Segment(1), _))
    ));
}

#[tokio::test(start_paused = true)]
async fn what_the_caller_says_is_heard_in_either_codec() {
    let mut call = call().await;
    for (payload_type, codec) in [(0, Codec::Pcmu), (8, Codec::Pcma)] {
        for _ in 0..10 {
            call.peer
                .send(payload_type, &[codec.encode(5_000); FRAME_SAMPLES]);
            call.ticks(1).await;
        }
        let heard = call.ticks(1).await[0];
        assert_eq!(
            (heard.heard, heard.lost),
            ([codec.decode(codec.encode(5_000)); FRAME_SAMPLES], false)
        );
    }
    assert_eq!(call.counted().incoming.received, 20);
}

#[tokio::test(start_paused = true)]
async fn silence_on_the_line_is_told_as_lost() {
    let mut call = call().await;
    let ticks = call.ticks(20).await;
    assert!(ticks.iter().all(|tick| tick.lost && tick.heard == SILENCE));
    for _ in 0..10 {
        call.peer
            .send(0, &[Codec::Pcmu.encode(8_000); FRAME_SAMPLES]);
        call.ticks(1).await;
    }
    let ticks = call.ticks(10).await;
    let levels: Vec<(bool, i16)> = ticks
        .iter()
        .map(|tick| (tick.lost, tick.heard[159]))
        .collect();
    let (sound, lost): (Vec<_>, Vec<_>) = levels.into_iter().partition(|&(lost, _)| !lost);
    assert!(sound.iter().all(|&(_, level)| level > 7_000), "{sound:?}");
    let faded: Vec<i16> = lost.iter().map(|&(_, level)| level).collect();
    assert!(
        faded.is_sorted_by(|a, b| a >= b) && faded[4..].iter().all(|&level| level == 0),
        "{faded:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn it_sends_to_where_the_calls_packets_come_from() {
    // The other side's description names a port of its own network; its NAT sends from another.
    let mut call = call_with(Latch::NegotiatedAddress, Some(9), 100).await;
    call.ticks(3).await;
    assert_eq!(call.peer.came(), []);
    call.peer.send(0, &[0xFF; FRAME_SAMPLES]);
    call.ticks(3).await;
    assert!(call.peer.came().len() >= 2);
}

#[tokio::test(start_paused = true)]
async fn packets_of_a_third_address_are_counted_and_dropped() {
    let mut call = call().await;
    let mut stranger = Peer::at([127, 0, 0, 2], call.peer.to);
    let mut neighbour = Peer::at([127, 0, 0, 1], call.peer.to);
    for _ in 0..5 {
        stranger.send(0, &[0x80; FRAME_SAMPLES]);
        call.ticks(1).await;
    }
    assert_eq!(call.counted().unknown_source, 5);
    assert_eq!(call.counted().incoming.received, 0);
    call.peer.send(0, &[0xFF; FRAME_SAMPLES]);
    call.ticks(1).await;
    // Once the source is known, another port of the same address is unknown too.
    neighbour.send(0, &[0x80; FRAME_SAMPLES]);
    call.ticks(1).await;
    assert_eq!(call.counted().unknown_source, 6);
    assert_eq!(call.counted().incoming.received, 1);
    assert_eq!((stranger.came(), neighbour.came()), (vec![], vec![]));
}

#[tokio::test(start_paused = true)]
async fn who_still_sends_to_an_earlier_call_takes_nothing_from_the_next_one() {
    for latch in [Latch::NegotiatedAddress, Latch::Anywhere] {
        let mut call = call_with(latch, None, 100).await;
        let mut earlier = Peer::at([127, 0, 0, 1], call.peer.to);
        for _ in 0..10 {
            earlier.send(0, &[0x80; FRAME_SAMPLES]);
            call.ticks(1).await;
        }
        for _ in 0..20 {
            earlier.send(0, &[0x80; FRAME_SAMPLES]);
            call.peer.send(0, &[0xFF; FRAME_SAMPLES]);
            call.ticks(1).await;
        }
        earlier.came();
        call.peer.came();
        let heard = call.ticks(5).await;
        assert!(heard.iter().all(|tick| tick.heard == SILENCE), "{latch:?}");
        assert!(call.peer.came().len() >= 4, "{latch:?}");
        assert_eq!(earlier.came(), [], "{latch:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn only_a_new_address_loosens_the_latch() {
    let mut call = call().await;
    let mut moved = Peer::at([127, 0, 0, 3], call.peer.to);
    call.peer.send(0, &[0xFF; FRAME_SAMPLES]);
    call.ticks(2).await;
    // Refreshing the session changes nothing.
    call.pump
        .renegotiate(Negotiated::new(&remote(call.peer.address())));
    moved.send(0, &[0xFF; FRAME_SAMPLES]);
    call.ticks(2).await;
    assert_eq!(call.counted().unknown_source, 1);
    // The call moves to another address.
    call.pump
        .renegotiate(Negotiated::new(&remote(moved.address())));
    call.ticks(2).await;
    call.peer.came();
    assert!(!moved.came().is_empty());
    call.peer.send(0, &[0xFF; FRAME_SAMPLES]);
    call.ticks(2).await;
    assert_eq!(call.counted().unknown_source, 2);
    assert_eq!(call.peer.came(), vec![]);
}

#[tokio::test(start_paused = true)]
async fn the_address_may_be_any_if_that_is_asked_for() {
    let mut call = call_with(Latch::Anywhere, None, 100).await;
    let mut behind_nat = Peer::at([127, 0, 0, 9], call.peer.to);
    behind_nat.send(0, &[0xFF; FRAME_SAMPLES]);
    call.ticks(2).await;
    assert!(!behind_nat.came().is_empty());
    Peer::at([127, 0, 0, 8], call.peer.to).send(0, &[0xFF; FRAME_SAMPLES]);
    call.ticks(2).await;
    assert_eq!(call.counted().unknown_source, 1, "and then it is that one");
}

#[tokio::test(start_paused = true)]
async fn what_was_not_agreed_on_is_counted_and_settles_no_source() {
    let mut call = call_with(Latch::NegotiatedAddress, Some(9), 100).await;
    call.peer.send(18, &[0; 20]);
    call.peer.send(0, &[0xFF; 10]);
    call.peer.send(0, &[0xFF; 1_200]);
    call.peer.send(101, &[1]);
    call.peer
        .socket
        .send_to(&[0x80, 200, 0, 1, 0, 0, 0, 0], call.peer.to)
        .expect("sent");
    call.peer.socket.send_to(b"", call.peer.to).expect("sent");
    call.peer
        .socket
        .send_to(&[0; 100], call.peer.to)
        .expect("sent");
    call.ticks(2).await;
    let counted = call.counted();
    assert_eq!(counted.unknown_payload, 1);
    assert_eq!(counted.malformed, 5);
    assert_eq!(counted.rtcp, 1);
    assert_eq!(call.peer.came(), []);
}

#[tokio::test(start_paused = true)]
async fn a_flood_from_elsewhere_delays_nothing() {
    let mut call = call().await;
    let mut stranger = Peer::at([127, 0, 0, 2], call.peer.to);
    for _ in 0..20 {
        call.peer.send(0, &[0xFF; FRAME_SAMPLES]);
        for _ in 0..100 {
            stranger.send(0, &[0x80; FRAME_SAMPLES]);
        }
        call.ticks(1).await;
    }
    let counted = call.counted();
    assert_eq!(counted.incoming.received, 20);
    assert_eq!(counted.unknown_source, 2_000);
    assert_eq!(counted.sent, 21);
}

#[tokio::test(start_paused = true)]
async fn a_consumer_that_does_not_come_loses_the_oldest_ticks() {
    let mut call = call_with(Latch::NegotiatedAddress, None, 10).await;
    sleep(FRAME_TIME * 24).await;
    let first = call.ticks.next().await.expect("a tick");
    assert_eq!(first.number, 15);
    assert_eq!((call.counted().overflowed, call.counted().sent), (15, 25));
}

#[tokio::test(start_paused = true)]
async fn while_the_other_side_does_not_listen_nothing_is_sent_and_the_clock_runs_on() {
    let mut call = call().await;
    call.ticks(2).await;
    let before = call.peer.came().pop().expect("a packet");
    let held = Remote {
        direction: Direction::SendOnly,
        ..remote(call.peer.address())
    };
    call.pump.renegotiate(Negotiated::new(&held));
    call.speaker.enqueue(Segment(1), &[3_000; 160]);
    let ticks = call.ticks(10).await;
    assert!(ticks.iter().all(|tick| tick.said.is_none()));
    assert_eq!((call.peer.came(), call.speaker.waiting()), (vec![], 160));
    call.pump
        .renegotiate(Negotiated::new(&remote(call.peer.address())));
    call.ticks(2).await;
    let after = call.peer.came().remove(0);
    assert_eq!(after.sequence, before.sequence + 1);
    assert_eq!(after.timestamp, before.timestamp + 160 * 11);
    assert!(after.marker && after.payload != [0xFF; 160]);
}

#[tokio::test(start_paused = true)]
async fn keys_are_sent_in_place_of_sound() {
    let mut call = call().await;
    call.speaker.enqueue(Segment(1), &[3_000; 320]);
    let keys = call.pump.send_keys("1#");
    let keys = tokio::spawn(keys);
    call.ticks(19).await;
    assert!(!keys.is_finished());
    assert_eq!(call.speaker.waiting(), 320, "it goes on behind the keys");
    call.ticks(3).await;
    assert_eq!(keys.await.expect("a task"), Ok(()));
    let came = call.peer.came();
    let events: Vec<(bool, Vec<u8>)> = came
        .iter()
        .filter(|packet| packet.payload_type == 101)
        .map(|packet| (packet.marker, packet.payload.clone()))
        .collect();
    assert_eq!(events.len(), 14);
    assert_eq!(events[0], (true, vec![1, 10, 0, 160]));
    assert_eq!(events[6], (false, vec![1, 138, 3, 32]));
    assert_eq!(events[7], (true, vec![11, 10, 0, 160]));
    assert!(
        came.windows(2)
            .all(|pair| pair[1].sequence == pair[0].sequence + 1)
    );
    let refused = call.pump.send_keys("1x").await;
    assert_eq!(refused.map_err(|error| error.to_string()), Err("`digits` may hold 0-9, *, #, A-D, and w for a pause of half a second; the character at 1 is none of these".to_owned()));
    let unsent = call.pump.send_keys("1");
    drop(call);
    assert_eq!(unsent.await, Err(SendKeysError::Ended));
}

#[tokio::test(start_paused = true)]
async fn keys_that_the_caller_presses_are_told_once_and_not_heard() {
    let mut call = call().await;
    for _ in 0..5 {
        call.peer.send(0, &[0x80; FRAME_SAMPLES]);
        call.ticks(1).await;
    }
    let mut outbox = Outbox::default();
    outbox.push("7").expect("a key");
    let mut heard = Vec::new();
    while let Some(out) = outbox.next(Timestamp(call.peer.timestamp)) {
        if let Outgoing::Report {
            first,
            timestamp,
            report,
        } = out
        {
            let mut datagram = Vec::new();
            let packet = Packet {
                payload_type: 101,
                marker: first,
                sequence: Sequence(call.peer.sequence),
                timestamp,
                ssrc: 0xABCD,
                payload: &report.to_bytes(),
            };
            packet.write(&mut datagram);
            call.peer
                .socket
                .send_to(&datagram, call.peer.to)
                .expect("sent");
            call.peer.lose();
        }
        heard.extend(call.ticks(1).await);
    }
    assert!(
        heard[1..4]
            .iter()
            .all(|tick| tick.heard == SILENCE && !tick.lost)
    );
    assert_eq!(call.keys.try_recv(), Ok('7'));
    assert!(call.keys.try_recv().is_err());
    assert_eq!(call.counted().incoming.lost(), 0);
}

#[tokio::test(start_paused = true)]
async fn with_a_fifth_of_the_packets_lost_the_rest_is_heard_and_the_loss_is_counted() {
    let mut call = call().await;
    let mut heard = 0;
    for place in 0..500 {
        match place % 5 {
            3 => call.peer.lose(),
            _ => call.peer.send(0, &[0x90; FRAME_SAMPLES]),
        }
        heard += call.ticks(1).await.iter().filter(|tick| !tick.lost).count();
    }
    let incoming = call.counted().incoming;
    assert!(heard >= 397, "{heard}");
    assert_eq!(incoming.received, 400);
    assert_eq!(incoming.lost(), 100);
    assert_eq!(incoming.late, 0);
}

#[tokio::test(start_paused = true)]
async fn lateness_does_not_add_up_and_is_counted() {
    let mut call = call().await;
    call.ticks(3).await;
    // The machine is busy for 70 ms: the pump catches up on three missed deadlines.
    advance(Duration::from_millis(70)).await;
    sleep(FRAME_TIME).await;
    let counted = call.counted();
    assert!(
        counted.lateness.most >= Duration::from_millis(40),
        "{:?}",
        counted.lateness
    );
    assert_eq!(counted.skipped, 0);
    let sent = call.peer.came();
    assert!(
        sent.windows(2)
            .all(|pair| pair[1].timestamp == pair[0].timestamp + 160)
    );
    let before = (counted.ticks, sent.len());
    // The machine stalls for 2 s: the pump skips the ticks, and the clock goes on.
    advance(Duration::from_secs(2)).await;
    sleep(FRAME_TIME).await;
    let counted = call.counted();
    let ticks = counted.ticks - before.0;
    assert!(
        ticks <= 4 && counted.skipped >= 97 && counted.skipped + ticks <= 103,
        "{counted:?}"
    );
    let after = call.peer.came();
    let jump = after[0].timestamp.since(sent[sent.len() - 1].timestamp);
    assert_eq!(jump, 160 * (counted.skipped as i32 + 1));
    assert_eq!(after[0].sequence, sent[sent.len() - 1].sequence + 1);
    assert_eq!(
        counted.lateness.quantile(0.5),
        Duration::from_micros(250),
        "the least bound"
    );
    assert_eq!(counted.lateness.quantile(1.0), counted.lateness.most);
}

#[tokio::test(start_paused = true)]
async fn a_pump_that_is_dropped_ends_its_ticks_and_gives_its_port_back() {
    let call = call().await;
    let Call {
        pump,
        mut ticks,
        ports,
        ..
    } = call;
    assert_eq!(ports.in_use(), 1);
    drop(pump);
    while ticks.next().await.is_some() {}
    sleep(FRAME_TIME).await;
    assert_eq!(ports.in_use(), 0);
}

#[tokio::test(start_paused = true)]
async fn what_came_before_the_start_is_dropped() {
    let ports = Ports::new(PortRange::new(24_000, 24_999).expect("a range"));
    let socket = ports.open(LOOPBACK).await.expect("a socket");
    let mut peer = Peer::at([127, 0, 0, 1], SocketAddr::new(LOOPBACK, socket.port()));
    for _ in 0..50 {
        peer.send(0, &[0x80; FRAME_SAMPLES]);
    }
    let (speaker, _played) = Speaker::new();
    let (outlet, _ticks, _keys) = queue(10);
    let negotiated = Negotiated::new(&remote(peer.address()));
    let pump = Pump::start(
        socket,
        negotiated,
        Latch::NegotiatedAddress,
        speaker,
        outlet,
    )
    .expect("a pump");
    sleep(FRAME_TIME).await;
    assert_eq!(pump.counted().incoming.received, 0);
}

#[test]
fn what_may_come_in_is_what_both_sides_named() {
    let at = SocketAddr::new(LOOPBACK, 4_000);
    let negotiated = Negotiated::new(&Remote {
        codecs: vec![(Codec::Pcma, 97)],
        event: Some(8),
        ..remote(at)
    });
    let expected = Negotiated {
        remote: Some(at),
        send: (Codec::Pcma, 97),
        receive: vec![(Codec::Pcma, 97), (Codec::Pcmu, 0)],
        event: Some(8),
        receive_events: vec![8, 101],
        listens: true,
    };
    assert_eq!(negotiated, expected);
}
