//! Times in `from`, `to` and `expires_at`: an accepted time prints as an accepted, equal time.

use offhook_domain::Timestamp;

pub(crate) fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let from = Timestamp::parse_from(text);
    let to = Timestamp::parse_to(text);
    assert_eq!(from.is_ok(), to.is_ok(), "{text}");
    let (Ok(from), Ok(to)) = (from, to) else {
        return;
    };
    assert!(from <= to, "{text}");
    // Printed times have milliseconds.
    let printed = from.to_string();
    let again = Timestamp::parse_from(&printed).expect("a printed time");
    assert!(
        again <= from && from.since(again).as_micros() < 1_000,
        "{text}: {printed}"
    );
}
