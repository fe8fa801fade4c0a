//! Phone numbers.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::messages;

/// A phone number in E.164 form: `+`, a digit 1–9, then 6 to 14 digits (`^\+[1-9]\d{6,14}$`).
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct E164(Box<str>);

messages! {
/// Why a text is no E.164 number.
#[derive(Copy)]
pub enum E164Error {
    NoPlus => "must begin with `+` and the country code, such as +5215512345678",
        "debe comenzar con `+` y el código del país, como +5215512345678";
    /// The `+` becomes a space when it is not escaped in a URL.
    PlusLost => "the `+` arrived as a space: write it as %2B in a URL",
        "el `+` llegó como un espacio: en una dirección escríbelo como %2B";
    Malformed => "must be an E.164 phone number: `+`, a digit 1-9, then 6 to 14 digits",
        "debe ser un número telefónico E.164: `+`, un dígito de 1 a 9 y de 6 a 14 dígitos más";
}}

impl E164 {
    /// Returns the number with its `+`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for E164 {
    type Err = E164Error;

    fn from_str(text: &str) -> Result<Self, E164Error> {
        let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let Some(digits) = text.strip_prefix('+') else {
            return Err(match text.strip_prefix(' ') {
                Some(rest) if all_digits(rest) => E164Error::PlusLost,
                _ if !text.is_empty() && all_digits(text) => E164Error::NoPlus,
                _ => E164Error::Malformed,
            });
        };
        if (7..=15).contains(&digits.len()) && all_digits(digits) && !digits.starts_with('0') {
            Ok(Self(text.into()))
        } else {
            Err(E164Error::Malformed)
        }
    }
}

impl fmt::Display for E164 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Redacted, because phone numbers in logs are personal data.
impl fmt::Debug for E164 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("E164(…)")
    }
}

impl Serialize for E164 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seven_to_fifteen_digits_after_the_plus_are_a_number() {
        for text in ["+1234567", "+123456789012345", "+15005550100"] {
            assert_eq!(
                text.parse::<E164>().map(|n| n.to_string()),
                Ok(text.to_owned())
            );
        }
    }

    #[test]
    fn each_fault_has_its_own_remedy() {
        use E164Error::{Malformed, NoPlus, PlusLost};
        let cases = [
            ("15005550100", NoPlus),
            (" 15005550100", PlusLost),
            ("", Malformed),
            ("+", Malformed),
            ("+0123456", Malformed),
            ("+123456", Malformed),
            ("+1234567890123456", Malformed),
            ("+1500555010a", Malformed),
            ("+١٢٣٤٥٦٧", Malformed),
            ("+1234567\n", Malformed),
        ];
        for (text, error) in cases {
            assert_eq!(text.parse::<E164>(), Err(error), "{text:?}");
        }
    }

    #[test]
    fn a_number_does_not_show_itself_in_debug_output() {
        let number: E164 = "+15005550100".parse().unwrap();
        assert_eq!(format!("{number:?}"), "E164(…)");
    }
}
