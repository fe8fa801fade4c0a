//! JSON that others write: what no reader takes costs the value that it stands in, and not all that stands beside it.

use serde::de::DeserializeOwned;
use serde_json::Number;
use serde_json::error::Category;

/// The deepest nesting that is kept of a text that must be mended.
const MAX_DEPTH: usize = 100;

/// Stands for what is no character.
const NO_CHARACTER: char = char::REPLACEMENT_CHARACTER;

/// Stands for a value that cannot be read. Not `null`, by which many say something: that a list has ended, for one.
const NO_VALUE: &str = "{}";

/// Reads JSON of somebody who need not write it well. What cannot be read as it is, is mended first: half a surrogate pair
/// and bytes that are no UTF-8 become U+FFFD, a number that is none (`1e999`, `NaN`) and what nests too deep become an
/// empty object, a control character in a text becomes a space, and a byte order mark is left out. Two members of one name
/// are not mended: nobody can tell which one is meant.
///
/// # Errors
/// The text is no JSON even so, or not of this form.
pub fn read_foreign<T: DeserializeOwned>(body: &[u8]) -> Result<T, serde_json::Error> {
    serde_json::from_slice(body).or_else(|fault| match fault.classify() {
        Category::Syntax => serde_json::from_str(&mended(body)),
        // Of another form, or not the whole of it: nothing that could be mended.
        Category::Data | Category::Eof | Category::Io => Err(fault),
    })
}

fn mended(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let mut rest = text.trim_start_matches('\u{feff}');
    let mut mended = String::with_capacity(rest.len());
    // How deep it nests, and where that begins which nests too deep.
    let (mut depth, mut too_deep) = (0_usize, None);
    while let Some(character) = rest.chars().next() {
        let length = match character {
            '"' => mend_text(rest, &mut mended),
            '-' | '+' | '.' | '0'..='9' | 'N' | 'I' => mend_number(rest, &mut mended),
            '[' | '{' => {
                depth += 1;
                if depth > MAX_DEPTH && too_deep.is_none() {
                    too_deep = Some((mended.len(), depth));
                }
                mended.push(character);
                1
            }
            ']' | '}' => {
                mended.push(character);
                if let Some((begin, _)) = too_deep.filter(|(_, began)| *began == depth) {
                    mended.truncate(begin);
                    mended.push_str(NO_VALUE);
                    too_deep = None;
                }
                depth = depth.saturating_sub(1);
                1
            }
            _ => {
                mended.push(character);
                character.len_utf8()
            }
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    mended
}

/// Mends the number that `rest` begins with; how long it is there.
fn mend_number(rest: &str, mended: &mut String) -> usize {
    let is_of_it =
        |character: char| character.is_ascii_alphanumeric() || matches!(character, '+' | '-' | '.');
    let length = rest.find(|c| !is_of_it(c)).unwrap_or(rest.len());
    let number = rest.get(..length).unwrap_or_default();
    let is_one = serde_json::from_str::<Number>(number).is_ok();
    mended.push_str(if is_one { number } else { NO_VALUE });
    length
}

/// Mends the text in quotes that `rest` begins with; how long it is there.
fn mend_text(rest: &str, mended: &mut String) -> usize {
    mended.push('"');
    let mut at = 1;
    while let Some(character) = rest.get(at..).and_then(|behind| behind.chars().next()) {
        let behind = rest.get(at + 1..).unwrap_or_default();
        at += character.len_utf8();
        match character {
            '"' => {
                mended.push('"');
                break;
            }
            '\\' => at += mend_escape(behind, mended),
            '\0'..='\u{1f}' => mended.push(' '),
            _ => mended.push(character),
        }
    }
    at
}

/// Mends an escape, of which `behind` is what follows the backslash; how much of that belongs to it.
fn mend_escape(behind: &str, mended: &mut String) -> usize {
    let unit = |escape: &str| {
        let digits = escape.strip_prefix('u')?.get(..4)?;
        let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        u16::from_str_radix(digits, 16).ok().filter(|_| is_hex)
    };
    let Some(first) = unit(behind) else {
        return match behind.chars().next() {
            Some(kept @ ('"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't')) => {
                mended.push('\\');
                mended.push(kept);
                1
            }
            _ => {
                mended.push(NO_CHARACTER);
                0
            }
        };
    };
    let second = behind
        .get(5..)
        .and_then(|next| next.strip_prefix('\\'))
        .and_then(unit);
    let units = [first, second.unwrap_or_default()];
    let mut pair = char::decode_utf16(units);
    let is_pair = (0xd800..0xdc00).contains(&first);
    let (length, is_whole) = match (pair.next(), is_pair) {
        (Some(Ok(_)), true) => (11, true),
        (Some(Ok(_)), false) => (5, true),
        _ => (5, false),
    };
    if is_whole {
        mended.push('\\');
        mended.push_str(behind.get(..length).unwrap_or_default());
    } else {
        mended.push(NO_CHARACTER);
    }
    length
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn what_no_reader_takes_costs_the_value_that_it_stands_in() {
        let deep = |levels: usize| {
            let (open, close) = ("[".repeat(levels), "]".repeat(levels));
            format!(r#"{{"deep":{open}1{close},"good":1}}"#).into_bytes()
        };
        let half = json!({"text": "Hi \u{fffd}", "good": 1});
        let none = json!({"value": {}, "good": 1});
        for (body, read) in [
            (br#"{"text":"Hi \ud83d","good":1}"#.to_vec(), half.clone()),
            (br#"{"text":"Hi \ude00","good":1}"#.to_vec(), half.clone()),
            (b"{\"text\":\"Hi \xff\",\"good\":1}".to_vec(), half),
            (
                br#"{"text":"\ud83d\ud83d\ude00\ud83dx","good":"\\ud83d \"\/\u00e9"}"#.to_vec(),
                json!({"text": "\u{fffd}\u{1f600}\u{fffd}x", "good": "\\ud83d \"/é"}),
            ),
            (
                br#"{"text":"\q\u12","good":1}"#.to_vec(),
                json!({"text": "\u{fffd}q\u{fffd}u12", "good": 1}),
            ),
            (br#"{"value":1e999,"good":1}"#.to_vec(), none.clone()),
            (br#"{"value":-Infinity,"good":1}"#.to_vec(), none.clone()),
            (br#"{"value": NaN ,"good":1}"#.to_vec(), none),
            (
                br#"{"value":-0.5e3,"other":[1e999]}"#.to_vec(),
                json!({"value": -500.0, "other": [{}]}),
            ),
            (
                b"{\"text\":\"one\ntwo\",\"good\":1}".to_vec(),
                json!({"text": "one two", "good": 1}),
            ),
            (b"\xef\xbb\xbf{\"good\":1}".to_vec(), json!({"good": 1})),
            (br#"{"good":2,"good":1}"#.to_vec(), json!({"good": 1})),
        ] {
            let told: Value = read_foreign(&body).unwrap();
            assert_eq!(told, read, "{}", String::from_utf8_lossy(&body));
        }
        let told: Value = read_foreign(&deep(500)).unwrap();
        assert_eq!(told["good"], 1);
        let told: Value = read_foreign(&deep(3)).unwrap();
        assert_eq!(told["deep"], json!([[[1]]]));
    }

    #[test]
    fn a_member_that_is_told_twice_is_not_told() {
        #[derive(Debug, serde::Deserialize)]
        struct Status {
            status: String,
        }
        for body in [
            r#"{"status":"busy","status":"done"}"#,
            r#"{"status":"busy","text":"\ud83d","status":"done"}"#,
        ] {
            read_foreign::<Status>(body.as_bytes()).unwrap_err();
        }
        let read: Status = read_foreign(br#"{"x":1,"status":"\ud83d","x":2}"#).unwrap();
        assert_eq!(read.status, "\u{fffd}");
    }

    #[test]
    fn what_is_no_json_is_none() {
        for body in [
            "",
            "{",
            "{\"a\":1",
            "junk",
            "{\"a\":\"b",
            "[1,]",
            "\"\\",
            "]",
        ] {
            let read: Result<Value, _> = read_foreign(body.as_bytes());
            assert!(read.is_err(), "{body}");
        }
    }

    proptest! {
        #[test]
        fn anything_is_read_or_refused(body in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = read_foreign::<Value>(&body);
        }

        #[test]
        fn what_is_well_written_is_mended_to_itself(text in ".{0,24}", number in any::<f64>()) {
            let value = json!({"text": text, "list": [number, {"text": text}]});
            let written = value.to_string();
            prop_assert_eq!(mended(written.as_bytes()), written);
        }
    }
}
