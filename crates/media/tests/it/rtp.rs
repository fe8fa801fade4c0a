use offhook_media::rtp::{NotRtp, Outgoing, Packet, Sequence, Timestamp};
use proptest::prelude::*;

const PACKET: Packet<'static> = Packet {
    payload_type: 8,
    marker: true,
    sequence: Sequence(0xFFFE),
    timestamp: Timestamp(0xFFFF_FF00),
    ssrc: 0x0102_0304,
    payload: &[0xD5, 0x55],
};

#[test]
fn a_packet_is_written_as_rfc_3550_says() {
    let mut datagram = vec![9; 3];
    PACKET.write(&mut datagram);
    let expected = [
        0x80, 0x88, 0xFF, 0xFE, 0xFF, 0xFF, 0xFF, 0x00, 1, 2, 3, 4, 0xD5, 0x55,
    ];
    assert_eq!(datagram, expected);
    assert_eq!(Packet::read(&datagram), Ok(PACKET));
}

#[test]
fn sources_extensions_and_padding_are_passed_over() {
    let mut datagram = vec![0xB2, 0x88, 0xFF, 0xFE, 0xFF, 0xFF, 0xFF, 0x00, 1, 2, 3, 4];
    datagram.extend([0; 8]);
    datagram.extend([0xBE, 0xDE, 0, 1, 9, 9, 9, 9]);
    datagram.extend([0xD5, 0x55, 0, 0, 3]);
    assert_eq!(Packet::read(&datagram), Ok(PACKET));
}

#[test]
fn what_is_no_packet_is_refused() {
    let cases: [(&[u8], NotRtp); 8] = [
        (&[], NotRtp::Truncated),
        (&[0x80; 11], NotRtp::Truncated),
        // STUN, DTLS, and the previous version.
        (&[0x00; 20], NotRtp::Version),
        (&[0x16; 20], NotRtp::Version),
        (&[0x40; 20], NotRtp::Version),
        // A sender report.
        (&[0x80, 200, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0], NotRtp::Rtcp),
        // Fifteen sources without room for them.
        (&[0x8F, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], NotRtp::Truncated),
        // Padding longer than the packet.
        (
            &[0xA0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9],
            NotRtp::Truncated,
        ),
    ];
    for (datagram, expected) in cases {
        assert_eq!(Packet::read(datagram), Err(expected), "{datagram:?}");
    }
}

#[test]
fn counters_go_on_behind_their_last_number() {
    assert_eq!(Sequence(0xFFFF) + 1, Sequence(0));
    assert_eq!(Sequence(0).since(Sequence(0xFFFF)), 1);
    assert_eq!(Sequence(0xFFFF).since(Sequence(0)), -1);
    assert_eq!(Timestamp(u32::MAX) + 160, Timestamp(159));
    assert_eq!(Timestamp(159).since(Timestamp(u32::MAX)), 160);
}

#[test]
fn a_stream_starts_anywhere_and_counts_on() {
    let (mut stream, other) = (Outgoing::random(), Outgoing::random());
    assert_ne!(
        (stream.ssrc, stream.sequence, stream.timestamp),
        (other.ssrc, other.sequence, other.timestamp)
    );
    let first = stream.number();
    assert_eq!(stream.number().since(first), 1);
}

proptest! {
    #[test]
    fn distances_undo_additions(start: u16, packets in 0u16..0x8000, at: u32, samples in 0u32..0x8000_0000) {
        prop_assert_eq!(i32::from((Sequence(start) + packets).since(Sequence(start))), i32::from(packets));
        prop_assert_eq!(i64::from((Timestamp(at) + samples).since(Timestamp(at))), i64::from(samples));
        if packets > 0 {
            prop_assert_eq!(i32::from(Sequence(start).since(Sequence(start) + packets)), -i32::from(packets));
        }
    }

    #[test]
    fn what_is_written_is_read(
        payload_type in prop_oneof![0u8..64, 96u8..128], marker: bool, sequence: u16, timestamp: u32, ssrc: u32,
        payload in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        let packet = Packet {
            payload_type,
            marker,
            sequence: Sequence(sequence),
            timestamp: Timestamp(timestamp),
            ssrc,
            payload: &payload,
        };
        let mut datagram = Vec::new();
        packet.write(&mut datagram);
        prop_assert_eq!(Packet::read(&datagram), Ok(packet));
    }

    #[test]
    fn no_datagram_breaks_the_reader(datagram in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(packet) = Packet::read(&datagram) {
            prop_assert!(packet.payload.len() + 12 <= datagram.len());
        }
    }
}
