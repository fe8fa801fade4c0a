//! Random JSON for tests.

use std::collections::HashSet;

use proptest::collection::vec;
use proptest::prelude::*;

use super::Json;
use super::text::compact;

/// Strings without U+0000.
pub(crate) fn text() -> impl Strategy<Value = String> {
    any::<String>().prop_map(|text| text.replace('\0', ""))
}

/// Numbers in every valid notation.
pub(crate) fn number() -> impl Strategy<Value = Json> {
    "-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,6})?([eE][+-]?[0-9]{1,3})?"
        .prop_map(|literal| Json::Number(literal.into()))
}

/// Values that are neither arrays nor objects.
pub(crate) fn scalar() -> impl Strategy<Value = Json> {
    prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        number(),
        text().prop_map(Json::String),
    ]
}

/// An object of these members, without duplicate names.
pub(crate) fn object_of(members: Vec<(String, Json)>) -> Json {
    let mut seen = HashSet::new();
    Json::Object(
        members
            .into_iter()
            .filter(|(name, _)| seen.insert(name.clone()))
            .collect(),
    )
}

/// Any value that can be parsed.
pub(crate) fn json() -> impl Strategy<Value = Json> {
    scalar().prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Json::Array),
            vec((text(), inner), 0..6).prop_map(object_of),
        ]
    })
}

/// Another text of the same value: shuffled members, added white space, and other spellings of numbers and strings.
pub(crate) fn respelled(value: Json) -> impl Strategy<Value = String> {
    any::<u64>().prop_map(move |seed| {
        let mut out = String::new();
        respell(&mut out, &value, &mut Dice(seed));
        out
    })
}

/// A small generator (splitmix64), so that one seed determines every choice.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % sides as u64).unwrap()
    }
}

fn respell(out: &mut String, value: &Json, dice: &mut Dice) {
    space(out, dice);
    match value {
        Json::Number(literal) => out.push_str(&respell_number(literal, dice)),
        Json::String(text) => respell_string(out, text, dice),
        Json::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                respell(out, item, dice);
            }
            out.push(']');
        }
        Json::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            for at in (1..members.len()).rev() {
                members.swap(at, dice.roll(at + 1));
            }
            out.push('{');
            for (at, (name, value)) in members.into_iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                space(out, dice);
                respell_string(out, name, dice);
                space(out, dice);
                out.push(':');
                respell(out, value, dice);
            }
            out.push('}');
        }
        Json::Null | Json::Bool(_) => out.push_str(&value.to_compact()),
    }
    space(out, dice);
}

fn space(out: &mut String, dice: &mut Dice) {
    out.push_str(["", "", " ", "\n\t", "\r"][dice.roll(5)]);
}

fn respell_string(out: &mut String, text: &str, dice: &mut Dice) {
    if dice.roll(2) == 0 {
        return out.push_str(&compact(text));
    }
    out.push('"');
    for unit in text.encode_utf16() {
        out.push_str(&format!("\\u{unit:04X}"));
    }
    out.push('"');
}

/// The same number with a moved point or appended zeros.
fn respell_number(literal: &str, dice: &mut Dice) -> String {
    let (mantissa, exponent) = literal.split_once(['e', 'E']).unwrap_or((literal, "0"));
    let exponent: i64 = exponent.parse().unwrap();
    match dice.roll(4) {
        0 => literal.to_owned(),
        1 => format!("{mantissa}E{exponent:+}"),
        2 if mantissa.contains('.') => format!("{mantissa}00e{exponent}"),
        2 => format!("{mantissa}.0e{exponent}"),
        _ => {
            let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
            let (sign, whole) = match whole.strip_prefix('-') {
                Some(whole) => ("-", whole),
                None => ("", whole),
            };
            let shift = i64::try_from(whole.len()).unwrap();
            format!("{sign}0.{whole}{fraction}e{}", exponent + shift)
        }
    }
}
