//! Session descriptions, as offers and as answers. An accepted one can be called: an address of one host, a port, a
//! codec that the text names. Our answer mirrors its lines, and reads back as the agreed session.

use offhook_media::codec::Codec;
use offhook_media::sdp::{Direction, Local, MAX_LEN, Offer, Refusal, offer, read_answer};

/// Whether an audio line has this number among its formats.
fn is_offered(text: &str, payload_type: u8) -> bool {
    let number = payload_type.to_string();
    let mut formats = text
        .lines()
        .filter_map(|line| {
            line.get(..8)
                .filter(|start| start.eq_ignore_ascii_case("m=audio "))
                .and(line.get(8..))
        })
        .flat_map(|line| line.split_ascii_whitespace().skip(2));
    formats.any(|format| format.trim_start_matches(['+', '0']) == number.trim_start_matches('0'))
}

pub(crate) fn run(data: &[u8]) {
    let local = Local {
        address: [192, 0, 2, 1].into(),
        port: 40_000,
        session: 1,
        version: 1,
    };
    let read = Offer::read(data);
    let as_answer = read_answer(data);
    match &read {
        Ok(offer) => assert_eq!(as_answer.as_ref(), Ok(&offer.remote)),
        Err(refusal) => {
            assert_eq!(as_answer.as_ref(), Err(refusal));
            let sentence = refusal.to_string();
            assert!(
                sentence.len() < 700 && !sentence.contains(char::is_control),
                "{sentence}"
            );
            assert_eq!(*refusal == Refusal::TooLong, data.len() > MAX_LEN);
        }
    }
    let Ok(theirs) = read else {
        return;
    };
    let remote = &theirs.remote;
    let text = String::from_utf8_lossy(data);
    assert!(remote.port != 0 && !remote.address.is_multicast());
    assert!(!remote.codecs.is_empty() && remote.codecs.len() <= Codec::ALL.len());
    for payload_type in remote
        .codecs
        .iter()
        .map(|&(_, payload_type)| payload_type)
        .chain(remote.event)
    {
        assert!(
            payload_type < 128 && is_offered(&text, payload_type),
            "{payload_type} in {text}"
        );
    }
    assert_eq!(remote.listens(), !remote.is_on_hold());
    let answer = theirs.answer(&local);
    assert!(!answer.contains('\0'));
    let media = |text: &str| text.lines().filter(|line| line.starts_with("m=")).count();
    assert_eq!(media(&answer), media(&text), "{answer}");
    let agreed = read_answer(answer.as_bytes()).expect("our own answer");
    assert_eq!((agreed.address, agreed.port), (local.address, local.port));
    assert_eq!(
        (agreed.codecs, agreed.event),
        (vec![remote.codec()], remote.event)
    );
    if !remote.listens() {
        assert!(
            !matches!(agreed.direction, Direction::SendRecv | Direction::SendOnly),
            "we speak to who holds"
        );
    }
    let ours = read_answer(offer(&local, agreed.direction).as_bytes()).expect("our own offer");
    assert_eq!(ours.direction, agreed.direction);
}
