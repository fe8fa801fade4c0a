//! Phone numbers: `+`, a country code that does not begin with 0, and 7 to 15 digits, in one spelling.

use offhook_domain::E164;

pub(crate) fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let Ok(number) = text.parse::<E164>() else {
        return;
    };
    assert_eq!(number.as_str(), text);
    let digits = text.strip_prefix('+').expect("a number without its +");
    assert!(
        digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0'),
        "{text}"
    );
    assert!((7..=15).contains(&digits.len()), "{text}");
}
