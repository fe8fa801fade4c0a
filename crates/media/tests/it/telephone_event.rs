use offhook_media::rtp::Timestamp;
use offhook_media::telephone_event::{Inbox, NoKey, Outbox, Outgoing, Report, code, key};
use proptest::prelude::*;

const fn report(code: u8, end: bool, duration: u16) -> Report {
    Report {
        code,
        end,
        volume: 10,
        duration,
    }
}

/// A phone's packets for a key: three reports while it sounds, and its end three times.
fn press(code: u8, at: u32) -> Vec<(u32, bool, Report)> {
    [
        (false, 160),
        (false, 320),
        (false, 480),
        (true, 640),
        (true, 640),
        (true, 640),
    ]
    .into_iter()
    .enumerate()
    .map(|(place, (end, duration))| (at, place == 0, report(code, end, duration)))
    .collect()
}

fn keys(inbox: &mut Inbox, packets: &[(u32, bool, Report)]) -> String {
    packets
        .iter()
        .flat_map(|&(at, marker, report)| inbox.take(7, Timestamp(at), marker, report))
        .flatten()
        .collect()
}

#[test]
fn every_key_has_its_event() {
    for (place, character) in "0123456789*#ABCD".chars().enumerate() {
        assert_eq!(key(place as u8), Some(character));
        assert_eq!(code(character), Some(place as u8));
    }
    assert_eq!((code('a'), code('d')), (Some(12), Some(15)));
    assert_eq!(
        (key(16), code('E'), code('é'), code('①')),
        (None, None, None, None)
    );
}

#[test]
fn a_report_is_written_as_rfc_4733_says() {
    assert_eq!(report(5, true, 0x0320).to_bytes(), [5, 0x8A, 0x03, 0x20]);
    let expected = Some(report(5, true, 0x0320));
    assert_eq!(Report::read(&[5, 0x8A, 0x03, 0x20]), expected);
    let expected = Some(report(5, false, 0x0320));
    assert_eq!(Report::read(&[5, 0x0A, 0x03, 0x20, 1, 2, 3, 4]), expected);
    assert_eq!(Report::read(&[5, 0x8A, 0x03]), None);
}

#[test]
fn a_key_counts_once_however_often_its_end_is_sent() {
    let mut inbox = Inbox::default();
    assert_eq!(keys(&mut inbox, &press(1, 1_000)), "1");
    assert_eq!(keys(&mut inbox, &press(1, 3_000)), "1");
    assert_eq!(keys(&mut inbox, &press(11, 5_000)), "#");
    assert!(!inbox.is_on());
}

#[test]
fn a_key_whose_end_is_lost_counts_after_a_tenth_of_a_second() {
    let mut inbox = Inbox::default();
    assert_eq!(keys(&mut inbox, &press(4, 1_000)[..2]), "");
    assert!(inbox.is_on());
    let told: Vec<Option<char>> = (0..8).map(|_| inbox.tick()).collect();
    assert_eq!(told, [None, None, None, None, Some('4'), None, None, None]);
    assert_eq!(keys(&mut inbox, &press(4, 1_000)[4..]), "", "a late end");
}

#[test]
fn a_key_whose_end_is_lost_counts_before_the_next() {
    let mut inbox = Inbox::default();
    let packets = [&press(4, 1_000)[..2], &press(5, 3_000)].concat();
    assert_eq!(keys(&mut inbox, &packets), "45");
}

#[test]
fn what_is_older_than_the_newest_event_changes_nothing() {
    let mut inbox = Inbox::default();
    let packets = [press(4, 1_000), press(5, 3_000), press(4, 1_000)].concat();
    assert_eq!(keys(&mut inbox, &packets), "45");
}

#[test]
fn a_key_held_for_ten_seconds_counts_once() {
    let mut inbox = Inbox::default();
    let first = (1..=409u16).map(|place| (u32::MAX, place == 1, report(8, false, place * 160)));
    let second = (1..=90u16).map(|place| {
        (
            65_440 - 1,
            false,
            report(8, place > 87, place.min(88) * 160),
        )
    });
    let packets: Vec<_> = first.chain(second).collect();
    assert_eq!(keys(&mut inbox, &packets), "8");
}

#[test]
fn a_gateway_that_stamps_every_packet_anew_presses_a_key_once() {
    let mut inbox = Inbox::default();
    let restamped: Vec<_> = press(6, 0)
        .into_iter()
        .enumerate()
        .map(|(place, (_, marker, report))| (1_000 + 160 * place as u32, marker, report))
        .collect();
    assert_eq!(keys(&mut inbox, &restamped), "6");
}

#[test]
fn a_stream_that_counts_anew_is_followed() {
    let mut inbox = Inbox::default();
    assert_eq!(keys(&mut inbox, &press(1, 900_000)), "1");
    assert_eq!(
        keys(&mut inbox, &press(2, 5_000)),
        "2",
        "the timestamps begin again"
    );
    let [none, two] = inbox.take(8, Timestamp(10), true, report(3, true, 160));
    assert_eq!((none, two), (None, Some('3')), "another stream");
}

#[test]
fn events_that_are_no_keys_are_passed_over() {
    let mut inbox = Inbox::default();
    assert_eq!(
        keys(
            &mut inbox,
            &[press(16, 1_000), press(32, 3_000), press(255, 5_000)].concat()
        ),
        ""
    );
}

#[test]
fn a_key_is_sent_for_a_tenth_of_a_second_and_its_end_three_times() {
    let mut outbox = Outbox::default();
    assert!(outbox.is_done());
    outbox.push("5w").expect("keys");
    let mut sent = Vec::new();
    let mut at = Timestamp(u32::MAX - 100);
    while let Some(out) = outbox.next(at) {
        sent.push(out);
        at = at + 160;
    }
    assert!(outbox.is_done());
    let reports: Vec<_> = sent
        .iter()
        .filter_map(|out| match out {
            Outgoing::Report {
                first,
                timestamp,
                report,
            } => Some((*first, timestamp.0, report.end, report.duration)),
            Outgoing::Silence => None,
        })
        .collect();
    let start = u32::MAX - 100;
    let expected = [
        (true, start, false, 160),
        (false, start, false, 320),
        (false, start, false, 480),
        (false, start, false, 640),
        (false, start, true, 800),
        (false, start, true, 800),
        (false, start, true, 800),
    ];
    assert_eq!(reports, expected);
    assert_eq!(sent.len(), 10 + 25, "a gap, and half a second's pause");
}

#[test]
fn a_character_that_is_no_key_adds_nothing() {
    let mut outbox = Outbox::default();
    assert_eq!(outbox.push("12x4"), Err(NoKey { at: 2 }));
    assert!(outbox.is_done());
    assert_eq!(outbox.next(Timestamp(0)), None);
}

proptest! {
    /// Lost packets lose no key as long as one packet per key arrives. Repeated and late packets add none.
    #[test]
    fn what_is_pressed_arrives(
        pressed in prop::collection::vec(0u8..16, 1..12),
        start: u32,
        fate in prop::collection::vec(0u8..10, 7 * 12),
    ) {
        let text: String = pressed.iter().filter_map(|&code| key(code)).collect();
        let mut outbox = Outbox::default();
        outbox.push(&text).expect("keys");
        let mut inbox = Inbox::default();
        let mut heard = String::new();
        let mut at = Timestamp(start);
        let (mut packet, mut of_event) = (0, 0);
        loop {
            match outbox.next(at) {
                Some(Outgoing::Report { first, timestamp, report }) => {
                    of_event = if first { 0 } else { of_event + 1 };
                    let fate = fate[packet];
                    packet += 1;
                    // The third always arrives.
                    if fate < 4 || of_event == 2 {
                        for _ in 0..=u8::from(fate == 3) {
                            heard.extend(inbox.take(1, timestamp, first, report).into_iter().flatten());
                        }
                    }
                }
                Some(Outgoing::Silence) => {}
                None => break,
            }
            heard.extend(inbox.tick());
            at = at + 160;
        }
        heard.extend((0..5).filter_map(|_| inbox.tick()));
        prop_assert_eq!(heard, text);
    }

    #[test]
    fn packets_press_no_more_keys_than_they_are(packets in prop::collection::vec((any::<u32>(), any::<bool>(), any::<[u8; 4]>()), 0..60)) {
        let mut inbox = Inbox::default();
        let mut pressed = 0;
        for (at, marker, payload) in &packets {
            let report = Report::read(payload).expect("four bytes");
            pressed += inbox.take(1, Timestamp(*at), *marker, report).into_iter().flatten().count();
        }
        prop_assert!(pressed <= packets.len());
    }
}
