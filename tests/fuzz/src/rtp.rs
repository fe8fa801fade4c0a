//! The packets of a call: pieces of the input, each after its length, as datagrams, with frames taken in between.
//! Nothing panics, no datagram is read beyond its end, and the jitter buffer stays within its window.

use offhook_media::codec::Codec;
use offhook_media::jitter::{JitterBuffer, Sound};
use offhook_media::rtp::Packet;
use offhook_media::telephone_event::{Inbox, Report};

pub(crate) fn run(data: &[u8]) {
    let mut buffer = JitterBuffer::default();
    let mut inbox = Inbox::default();
    let (mut packets, mut keys) = (0, 0);
    let mut rest = data;
    while let Some((&length, behind)) = rest.split_first() {
        let (datagram, next) = behind.split_at(behind.len().min(usize::from(length)));
        rest = next;
        if let Ok(packet) = Packet::read(datagram) {
            assert!(packet.payload.len() + 12 <= datagram.len());
            packets += 1;
            let mut again = Vec::new();
            packet.write(&mut again);
            assert_eq!(Packet::read(&again), Ok(packet));
            if let (96.., Some(report)) = (packet.payload_type, Report::read(packet.payload)) {
                buffer.pass(packet.ssrc, packet.sequence);
                keys += inbox
                    .take(packet.ssrc, packet.timestamp, packet.marker, report)
                    .iter()
                    .flatten()
                    .count();
            } else {
                let mut samples = Vec::new();
                Codec::Pcmu.decode_into(packet.payload, &mut samples);
                buffer.put(Sound {
                    ssrc: packet.ssrc,
                    sequence: packet.sequence,
                    timestamp: packet.timestamp,
                    samples,
                });
            }
        }
        if length % 2 == 0 {
            buffer.pull();
            keys += usize::from(inbox.tick().is_some());
        }
        assert!((320..=640).contains(&buffer.delay()));
    }
    assert!(keys <= packets);
    let counts = buffer.counts();
    assert!(
        counts.received + counts.late + counts.duplicates + counts.refused
            <= packets as u64 + counts.restarts
    );
}
