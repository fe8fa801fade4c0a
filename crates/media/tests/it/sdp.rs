use offhook_media::codec::Codec::{Pcma, Pcmu};
use offhook_media::sdp::{Direction, Local, MAX_LEN, Offer, Refusal, Remote, offer, read_answer};
use proptest::prelude::*;

fn local() -> Local {
    Local {
        address: [192, 0, 2, 1].into(),
        port: 40_002,
        session: 17,
        version: 2,
    }
}

/// A description with these lines after the usual head.
fn described(lines: &str) -> String {
    let lines = lines
        .trim()
        .lines()
        .map(str::trim)
        .collect::<Vec<_>>()
        .join("\r\n");
    format!(
        "v=0\r\no=- 1 1 IN IP4 198.51.100.7\r\ns=-\r\nc=IN IP4 198.51.100.7\r\nt=0 0\r\n{lines}\r\n"
    )
}

fn remote() -> Remote {
    Remote {
        address: [198, 51, 100, 7].into(),
        port: 4_000,
        codecs: vec![(Pcmu, 0)],
        event: Some(101),
        direction: Direction::SendRecv,
    }
}

#[test]
fn our_offer_is_one_line_of_g711_and_keys() {
    let expected = "v=0\r\no=- 17 2 IN IP4 192.0.2.1\r\ns=-\r\nc=IN IP4 192.0.2.1\r\nt=0 0\r\n\
        m=audio 40002 RTP/AVP 0 8 101\r\na=rtpmap:0 PCMU/8000\r\na=rtpmap:8 PCMA/8000\r\n\
        a=rtpmap:101 telephone-event/8000\r\na=fmtp:101 0-15\r\na=ptime:20\r\na=sendrecv\r\n";
    assert_eq!(offer(&local(), Direction::SendRecv), expected);
    let v6 = Local {
        address: "2001:db8::1".parse().expect("an address"),
        ..local()
    };
    assert!(offer(&v6, Direction::Inactive).contains("\r\nc=IN IP6 2001:db8::1\r\n"));
    let read = read_answer(expected.as_bytes()).expect("our own");
    assert_eq!(read.codecs, vec![(Pcmu, 0), (Pcma, 8)]);
    assert_eq!(read.event, Some(101));
}

#[test]
fn an_answer_says_what_to_send_and_where() {
    let cases = [
        (
            "m=audio 4000 RTP/AVP 0 101\na=rtpmap:101 telephone-event/8000",
            remote(),
        ),
        // Static types need no mapping; the first known codec is the other side's preference.
        (
            "m=audio 4000 RTP/AVP 18 8 0",
            Remote {
                codecs: vec![(Pcma, 8), (Pcmu, 0)],
                event: None,
                ..remote()
            },
        ),
        // Dynamic types, names in any case, one channel written out.
        (
            "m=audio 4000 RTP/AVP 97 96\na=rtpmap:96 Telephone-Event/8000\na=rtpmap:97 pcma/8000/1\na=fmtp:96 0-16",
            Remote {
                codecs: vec![(Pcma, 97)],
                event: Some(96),
                ..remote()
            },
        ),
        // A mapping overrides the static table; events at another rate are ignored.
        (
            "m=audio 4000 RTP/AVP 0 8 101\na=rtpmap:0 L16/8000\na=rtpmap:101 telephone-event/48000",
            Remote {
                codecs: vec![(Pcma, 8)],
                event: None,
                ..remote()
            },
        ),
        // The line's own address and direction override the session's.
        (
            "a=recvonly\nm=audio 4000 RTP/AVP 0 101\nc=IN IP4 203.0.113.5\na=rtpmap:101 telephone-event/8000\na=sendonly",
            Remote {
                address: [203, 0, 113, 5].into(),
                direction: Direction::SendOnly,
                ..remote()
            },
        ),
        (
            "a=inactive\nm=audio 4000 RTP/AVP 0 101\na=rtpmap:101 telephone-event/8000",
            Remote {
                direction: Direction::Inactive,
                ..remote()
            },
        ),
        (
            "m=audio 4000 RTP/AVP 0 101\nc=IN IP6 2001:db8::7\na=rtpmap:101 telephone-event/8000",
            Remote {
                address: "2001:db8::7".parse().expect("an address"),
                ..remote()
            },
        ),
        // Refused video, SRTP next to RTP, and unknown attributes.
        (
            "m=audio 4002 RTP/SAVP 0\na=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:x\nm=video 0 RTP/AVP 31\n\
             m=audio 4000 RTP/AVP 0 101\na=rtpmap:101 telephone-event/8000\na=x-nobody\na=ptime:30",
            remote(),
        ),
    ];
    for (lines, expected) in cases {
        assert_eq!(
            read_answer(described(lines).as_bytes()),
            Ok(expected),
            "{lines}"
        );
    }
}

#[test]
fn the_end_of_lines_may_be_written_either_way() {
    let text = described("m=audio 4000 RTP/AVP 0 101\na=rtpmap:101 telephone-event/8000")
        .replace('\r', "");
    assert_eq!(read_answer(text.as_bytes()), Ok(remote()));
}

#[test]
fn who_does_not_listen_has_put_us_on_hold() {
    let cases = [
        ("a=sendrecv", false),
        ("a=recvonly", false),
        ("a=sendonly", true),
        ("a=inactive", true),
        ("c=IN IP4 0.0.0.0", true),
        ("c=IN IP6 ::", true),
    ];
    for (line, holds) in cases {
        let read = read_answer(described(&format!("m=audio 4000 RTP/AVP 0\n{line}")).as_bytes())
            .expect("an answer");
        assert_eq!(
            (read.is_on_hold(), read.listens()),
            (holds, !holds),
            "{line}"
        );
        assert_eq!(read.socket().is_some(), !line.starts_with("c="), "{line}");
    }
}

#[test]
fn a_refusal_says_why() {
    let table = include_str!("../cases/sdp.txt").lines();
    for row in table.filter(|row| !row.starts_with('#')) {
        let (lines, expected) = row.split_once('\t').expect("two columns");
        let lines = &lines.replace("\\n", "\n");
        let refusal = read_answer(described(lines).as_bytes()).expect_err(lines);
        assert_eq!(refusal.to_string(), expected, "{lines}");
        assert_eq!(
            Offer::read(described(lines).as_bytes()).map(|_| ()),
            Err(refusal)
        );
    }
}

#[test]
fn what_is_no_description_is_malformed() {
    let cases: [&[u8]; 9] = [
        b"",
        b"\r\n",
        b"hello",
        b"v=1\r\nm=audio 4000 RTP/AVP 0\r\n",
        b"m=audio 4000 RTP/AVP 0\r\n",
        b"v=0\r\nm=audio 70000 RTP/AVP 0\r\n",
        b"v=0\r\nm=audio -1 RTP/AVP 0\r\n",
        b"v=0\r\nm=audio 4000\r\n",
        b"v=0\r\nc=IN IP4 1.2.3.4\r\nm=audio 4000 RTP/AVP 0\r\na=\xFF\xFE\r\n",
    ];
    for text in cases {
        let refusal = read_answer(text).expect_err("malformed");
        assert!(
            matches!(refusal, Refusal::Malformed(_)),
            "{text:?}: {refusal:?}"
        );
        assert!(refusal.is_malformed());
    }
    let without_address = read_answer(b"v=0\r\nm=audio 4000 RTP/AVP 0\r\n");
    assert_eq!(without_address, Err(Refusal::NoAddress));
    let long = described(&format!(
        "m=audio 4000 RTP/AVP 0\na=x:{}",
        "y".repeat(MAX_LEN)
    ));
    assert_eq!(read_answer(long.as_bytes()), Err(Refusal::TooLong));
}

#[test]
fn an_answer_mirrors_the_offer_line_by_line() {
    let text = described(
        "m=video 5000 RTP/AVP 31 99\nm=audio 4002 RTP/SAVP 0\nm=audio 4000 RTP/AVPF 9 97 0 96\n\
         a=rtpmap:97 PCMA/8000\na=rtpmap:96 telephone-event/8000\na=sendonly\nm=audio 4004 RTP/AVP 0",
    );
    let offer = Offer::read(text.as_bytes()).expect("an offer");
    assert_eq!(offer.remote.codecs, [(Pcma, 97), (Pcmu, 0)]);
    let expected = "v=0\r\no=- 17 2 IN IP4 192.0.2.1\r\ns=-\r\nc=IN IP4 192.0.2.1\r\nt=0 0\r\n\
        m=video 0 RTP/AVP 31 99\r\nm=audio 0 RTP/SAVP 0\r\n\
        m=audio 40002 RTP/AVPF 97 96\r\na=rtpmap:97 PCMA/8000\r\na=rtpmap:96 telephone-event/8000\r\n\
        a=fmtp:96 0-15\r\na=ptime:20\r\na=recvonly\r\nm=audio 0 RTP/AVP 0\r\n";
    assert_eq!(offer.answer(&local()), expected);
}

#[test]
fn an_answer_turns_the_direction_round() {
    let cases = [
        ("a=sendrecv", "a=sendrecv"),
        ("a=sendonly", "a=recvonly"),
        ("a=recvonly", "a=sendonly"),
        ("a=inactive", "a=inactive"),
        ("c=IN IP4 0.0.0.0", "a=recvonly"),
        ("c=IN IP4 0.0.0.0\na=recvonly", "a=inactive"),
    ];
    for (offered, answered) in cases {
        let text = described(&format!("m=audio 4000 RTP/AVP 0\n{offered}"));
        let answer = Offer::read(text.as_bytes())
            .expect("an offer")
            .answer(&local());
        assert!(
            answer.ends_with(&format!("\r\n{answered}\r\n")),
            "{offered}: {answer}"
        );
    }
}

fn line() -> impl Strategy<Value = String> {
    let number = prop_oneof![Just(0u32), Just(8), Just(101), 0u32..140];
    prop_oneof![
        (
            prop_oneof!["audio", "video", "[a-z]{1,5}"],
            prop_oneof![Just(0u32), 1u32..70_000],
            prop_oneof!["RTP/AVP", "RTP/AVPF", "RTP/SAVP", "[A-Z/]{1,9}"],
            prop::collection::vec(number.clone(), 0..5),
        )
            .prop_map(|(media, port, proto, formats)| {
                let formats: Vec<String> = formats.iter().map(u32::to_string).collect();
                format!("m={media} {port} {proto} {}", formats.join(" "))
            }),
        (
            number,
            prop_oneof!["PCMU", "pcma", "telephone-event", "opus"],
            prop_oneof!["8000", "8000/1", "48000/2"]
        )
            .prop_map(|(number, name, rate)| format!("a=rtpmap:{number} {name}/{rate}")),
        prop_oneof![
            "1\\.2\\.3\\.[0-9]{1,3}",
            "0\\.0\\.0\\.0",
            "::",
            "fe80::1",
            "[a-z.]{1,9}"
        ]
        .prop_map(|address| format!("c=IN IP4 {address}")),
        prop_oneof!["sendrecv", "sendonly", "recvonly", "inactive", "ptime:20"]
            .prop_map(|name| format!("a={name}")),
        "[a-z]=[ -~]{0,20}",
    ]
}

proptest! {
    #[test]
    fn an_offer_that_is_read_is_answered_with_what_it_offers(lines in prop::collection::vec(line(), 0..12)) {
        let text = described(&format!("m=audio 4000 RTP/AVP 0\n{}", lines.join("\n")));
        let Ok(offer) = Offer::read(text.as_bytes()) else {
            return Ok(());
        };
        prop_assert!(offer.remote.port != 0 && !offer.remote.codecs.is_empty());
        prop_assert!(offer.remote.codecs.iter().all(|&(_, payload_type)| payload_type < 128));
        prop_assert_eq!(read_answer(text.as_bytes()), Ok(offer.remote.clone()));
        let answer = offer.answer(&local());
        let media = |text: &str| text.lines().filter(|line| line.starts_with("m=")).count();
        prop_assert_eq!(media(&answer), media(&text));
        let ours = read_answer(answer.as_bytes()).expect("our own answer");
        prop_assert_eq!(ours.codecs, vec![offer.remote.codec()]);
        prop_assert_eq!((ours.event, ours.port, ours.address), (offer.remote.event, 40_002, local().address));
    }

    #[test]
    fn no_text_breaks_the_reader(text in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = Offer::read(&text);
        let mut text = text;
        text.splice(0..0, *b"v=0\r\nm=audio 4000 RTP/AVP 0\r\n");
        let _ = Offer::read(&text);
    }
}
