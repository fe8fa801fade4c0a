//! Numbers by value, and the canonical text.

use super::Json;
use super::text::{compact, write_list};

pub(super) fn canonical(value: &Json) -> String {
    let mut out = String::new();
    write(&mut out, value);
    out
}

pub(super) fn without_empty(value: &Json, member: &str) -> String {
    let Json::Object(members) = value else {
        return canonical(value);
    };
    let mut out = String::new();
    let kept = members
        .iter()
        .filter(|(name, value)| name != member || !is_empty(value));
    write_members(&mut out, kept.collect());
    out
}

fn is_empty(value: &Json) -> bool {
    match value {
        Json::Null => true,
        Json::Object(members) => members.is_empty(),
        _ => false,
    }
}

fn write(out: &mut String, value: &Json) {
    match value {
        Json::Number(literal) => write_number(out, literal),
        Json::Array(items) => write_list(out, ['[', ']'], items, write),
        Json::Object(members) => write_members(out, members.iter().collect()),
        Json::Null | Json::Bool(_) | Json::String(_) => out.push_str(&compact(value)),
    }
}

fn write_members(out: &mut String, mut members: Vec<&(String, Json)>) {
    members.sort_by(|a, b| a.0.cmp(&b.0));
    write_list(out, ['{', '}'], members, |out, (name, value)| {
        out.push_str(&compact(name));
        out.push(':');
        write(out, value);
    });
}

fn write_number(out: &mut String, literal: &str) {
    let Some(decimal) = Decimal::read(literal) else {
        out.push_str(literal);
        return;
    };
    if decimal.digits.is_empty() {
        out.push('0');
        return;
    }
    if decimal.negative {
        out.push('-');
    }
    out.push_str(&decimal.digits);
    out.push('e');
    out.push_str(&decimal.exponent.to_string());
}

/// The value of a number literal, if it is an integer within 64 bits.
pub(super) fn integer(literal: &str) -> Option<i64> {
    let decimal = Decimal::read(literal)?;
    if decimal.digits.is_empty() {
        return Some(0);
    }
    let zeros = usize::try_from(decimal.exponent).ok()?;
    // 19 digits are enough for every i64; this also limits the allocation.
    if decimal.digits.len().checked_add(zeros)? > 19 {
        return None;
    }
    let sign = if decimal.negative { "-" } else { "" };
    format!("{sign}{}{}", decimal.digits, "0".repeat(zeros))
        .parse()
        .ok()
}

/// The number ±`digits` × 10^`exponent`. The digits have no leading or trailing zeros, so equal numbers are equal here;
/// zero has no digits. Nothing is expanded: 1e999999999 is one digit.
struct Decimal {
    negative: bool,
    digits: String,
    exponent: i128,
}

impl Decimal {
    /// `None` if the exponent is too large.
    fn read(literal: &str) -> Option<Self> {
        let (negative, rest) = match literal.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, literal),
        };
        let (mantissa, exponent) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{fraction}");
        let without_tail = digits.trim_end_matches('0');
        if without_tail.is_empty() {
            return Some(Self {
                negative: false,
                digits: String::new(),
                exponent: 0,
            });
        }
        let tail = i128::try_from(digits.len() - without_tail.len()).ok()?;
        let exponent = exponent
            .parse::<i128>()
            .ok()?
            .checked_sub(i128::try_from(fraction.len()).ok()?)?
            .checked_add(tail)?;
        Some(Self {
            negative,
            digits: without_tail.trim_start_matches('0').to_owned(),
            exponent,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::strategies::{json, respelled};
    use super::*;

    fn canonical_of(text: &str) -> String {
        Json::parse(text.as_bytes()).unwrap().canonical()
    }

    #[test]
    fn equal_numbers_have_one_form_and_others_do_not() {
        let classes: [&[&str]; 11] = [
            &["1", "1.0", "1e0", "10e-1", "0.1E+1", "1.000"],
            &[
                "0",
                "-0",
                "0.0",
                "-0e9",
                "0e999999999999999999999999999999999999999999",
            ],
            &["-1", "-1.0"],
            &["100", "1e2", "1E2", "1.00e+002"],
            &["0.1", "1e-1"],
            &["1e999999999", "10e999999998", "0.1e1000000000"],
            &["9007199254740993"],
            &["9007199254740992"],
            &["0.1000000000000000055511151231257827"],
            &[
                "1e99999999999999999999999999",
                "10e99999999999999999999999998",
            ],
            &["1e99999999999999999999999999999999999999999999"],
        ];
        let forms: Vec<String> = classes.iter().map(|c| canonical_of(c[0])).collect();
        for (class, form) in classes.iter().zip(&forms) {
            for text in *class {
                assert_eq!(&canonical_of(text), form, "{text}");
            }
        }
        let distinct: std::collections::HashSet<_> = forms.iter().collect();
        assert_eq!(distinct.len(), forms.len());
    }

    #[test]
    fn a_member_that_is_absent_null_or_empty_is_one_and_the_same() {
        let of = |text: &str| {
            Json::parse(text.as_bytes())
                .unwrap()
                .canonical_without_empty("metadata")
        };
        let plain = of(r#"{"to":"x"}"#);
        assert_eq!(plain, r#"{"to":"x"}"#);
        assert_eq!(of(r#"{"to":"x","metadata":null}"#), plain);
        assert_eq!(of(r#"{"metadata":{ },"to":"x"}"#), plain);
        for other in [
            r#"{"to":"x","metadata":[]}"#,
            r#"{"to":"x","metadata":{"a":null}}"#,
            r#"{"to":"x","meta":{}}"#,
            r#"{"to":{"metadata":{}}}"#,
        ] {
            assert_eq!(of(other), canonical_of(other));
        }
    }

    proptest! {
        #[test]
        fn the_form_does_not_depend_on_order_white_space_or_spelling(
            (value, text) in json().prop_flat_map(|v| (Just(v.clone()), respelled(v))),
        ) {
            let again = Json::parse(text.as_bytes()).unwrap();
            prop_assert_eq!(again.canonical(), value.canonical());
        }

        #[test]
        fn the_form_is_json_with_the_same_form(value in json()) {
            let form = value.canonical();
            prop_assert_eq!(Json::parse(form.as_bytes()).unwrap().canonical(), form);
        }

        #[test]
        fn integers_have_the_form_of_their_value(a in any::<i64>(), b in any::<i64>()) {
            prop_assert_eq!(Json::from(a).as_i64(), Some(a));
            prop_assert_eq!(Json::from(a).canonical() == Json::from(b).canonical(), a == b);
        }
    }
}
