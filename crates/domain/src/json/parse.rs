//! Parses JSON text.
//!
//! First `serde_json` validates the whole text, without recursion. The tree is then cut out of the valid text, which
//! keeps each number's literal and takes linear time. Half a surrogate pair, `"\ud800"`, is valid syntax (RFC 8259,
//! section 8.2) but no text, so it is a fault of its field, like U+0000.

use std::collections::HashSet;

use serde::de::IgnoredAny;

use super::{Fault, FieldError, Json, JsonError, MAX_DEPTH, item_path, member_path};

pub(super) fn parse(bytes: &[u8]) -> Result<Json, JsonError> {
    let text = std::str::from_utf8(bytes).map_err(|_| JsonError::NotJson)?;
    serde_json::from_str::<IgnoredAny>(text).map_err(|_| JsonError::NotJson)?;
    let mut cutter = Cutter {
        text,
        at: 0,
        fault: None,
    };
    let value = cutter.value(&Place::Root, 0)?;
    match cutter.fault {
        Some(fault) => Err(JsonError::Field(fault)),
        None => Ok(value),
    }
}

/// The position of a value; it becomes a path only for an error.
enum Place<'p> {
    Root,
    Member(&'p Place<'p>, &'p str),
    Item(&'p Place<'p>, usize),
}

impl Place<'_> {
    fn path(&self) -> String {
        match self {
            Self::Root => String::new(),
            Self::Member(parent, name) => member_path(&parent.path(), name),
            Self::Item(parent, index) => item_path(&parent.path(), *index),
        }
    }
}

struct Cutter<'a> {
    text: &'a str,
    at: usize,
    /// The first fault.
    fault: Option<FieldError>,
}

impl Cutter<'_> {
    fn fault(&mut self, path: impl FnOnce() -> String, fault: Fault) {
        if self.fault.is_none() {
            self.fault = Some(FieldError::new(path(), fault));
        }
    }

    /// The next byte that is no white space, comma or colon: in valid text those can be skipped.
    fn next_token(&mut self) -> Option<u8> {
        let rest = &self.text.as_bytes()[self.at..];
        let token = rest
            .iter()
            .position(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b',' | b':'))?;
        self.at += token;
        Some(rest[token])
    }

    fn value(&mut self, place: &Place<'_>, depth: usize) -> Result<Json, JsonError> {
        match self.next_token() {
            Some(b'{' | b'[') if depth == MAX_DEPTH => {
                self.fault(String::new, Fault::TooDeep(MAX_DEPTH));
                self.skip_nested()?;
                Ok(Json::Null)
            }
            Some(b'{') => self.object(place, depth + 1),
            Some(b'[') => self.array(place, depth + 1),
            Some(b'"') => {
                let text = self.string()?;
                match &text {
                    None => self.fault(|| place.path(), Fault::HalfPair),
                    Some(text) if text.contains('\0') => {
                        self.fault(|| place.path(), Fault::Zero);
                    }
                    Some(_) => {}
                }
                Ok(Json::String(text.unwrap_or_default()))
            }
            _ => Ok(self.scalar()),
        }
    }

    fn object(&mut self, place: &Place<'_>, depth: usize) -> Result<Json, JsonError> {
        self.at += 1;
        let mut members: Vec<(String, Json)> = Vec::new();
        while self.next_token() == Some(b'"') {
            let name = self.string()?;
            match &name {
                None => self.fault(|| place.path(), Fault::HalfPairInName),
                Some(name) if name.contains('\0') => {
                    self.fault(|| place.path(), Fault::ZeroInName);
                }
                Some(_) => {}
            }
            let name = name.unwrap_or_default();
            let value = self.value(&Place::Member(place, &name), depth)?;
            members.push((name, value));
        }
        self.at += 1;
        let mut seen = HashSet::with_capacity(members.len());
        if let Some((name, _)) = members.iter().find(|(name, _)| !seen.insert(name.as_str())) {
            self.fault(|| Place::Member(place, name).path(), Fault::Twice);
        }
        Ok(Json::Object(members))
    }

    fn array(&mut self, place: &Place<'_>, depth: usize) -> Result<Json, JsonError> {
        self.at += 1;
        let mut items = Vec::new();
        while self.next_token().is_some_and(|byte| byte != b']') {
            let item = self.value(&Place::Item(place, items.len()), depth)?;
            items.push(item);
        }
        self.at += 1;
        Ok(Json::Array(items))
    }

    fn scalar(&mut self) -> Json {
        let rest = &self.text[self.at..];
        let end = rest
            .find([' ', '\t', '\n', '\r', ',', ']', '}'])
            .unwrap_or(rest.len());
        self.at += end;
        match &rest[..end] {
            "null" => Json::Null,
            "true" => Json::Bool(true),
            "false" => Json::Bool(false),
            literal => Json::Number(literal.into()),
        }
    }

    /// Parses a string from its opening quote; `None` if it contains half a surrogate pair, which only decoding
    /// detects.
    fn string(&mut self) -> Result<Option<String>, JsonError> {
        let rest = &self.text[self.at..];
        let bytes = rest.as_bytes();
        let mut end = 1;
        let mut escaped = false;
        while bytes.get(end).is_some_and(|byte| *byte != b'"') {
            let escape = bytes[end] == b'\\';
            escaped |= escape;
            end += if escape { 2 } else { 1 };
        }
        self.at += end + 1;
        let literal = rest.get(..=end).ok_or(JsonError::NotJson)?;
        Ok(if escaped {
            serde_json::from_str(literal).ok()
        } else {
            Some(literal[1..end].to_owned())
        })
    }

    /// Skips an array or object that is nested too deeply.
    fn skip_nested(&mut self) -> Result<(), JsonError> {
        let mut open = 0_usize;
        while let Some(byte) = self.next_token() {
            match byte {
                b'"' => {
                    self.string()?;
                    continue;
                }
                b'{' | b'[' => open += 1,
                b'}' | b']' => open = open.saturating_sub(1),
                _ => {}
            }
            self.at += 1;
            if open == 0 {
                break;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fault(text: &str) -> String {
        match Json::parse(text.as_bytes()) {
            Err(JsonError::Field(error)) => error.to_string(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn literals_and_order_are_kept() {
        let text = r#" { "b" : [ 1.0 , -0 , 1E+2 , 1e999999999 ] , "a" : "\u00e9\ud83d\ude00\/" , "c" : {} } "#;
        assert_eq!(
            Json::parse(text.as_bytes()).unwrap().to_compact(),
            r#"{"b":[1.0,-0,1E+2,1e999999999],"a":"é😀/","c":{}}"#
        );
    }

    #[test]
    fn what_is_not_json_is_not_json() {
        let cases: [&[u8]; 19] = [
            b"",
            b" ",
            b"{",
            b"[1,]",
            b"{\"a\":1,}",
            b"{a:1}",
            b"01",
            b"1.",
            b".5",
            b"+1",
            b"NaN",
            b"nul",
            b"{} {}",
            b"{}x",
            b"'a'",
            b"\"\n\"",
            b"\"\0\"",
            b"\"\xff\"",
            b"\xef\xbb\xbf{}",
        ];
        for bytes in cases {
            assert_eq!(
                Json::parse(bytes),
                Err(JsonError::NotJson),
                "{}",
                String::from_utf8_lossy(bytes)
            );
        }
    }

    #[test]
    fn a_fault_is_named_by_its_path() {
        assert_eq!(fault(r#"{"to":1,"to":2}"#), "`to`: appears more than once");
        assert_eq!(
            fault(r#"{"m":{"a":1,"\u0061":2}}"#),
            "`m.a`: appears more than once"
        );
        assert_eq!(
            fault(r#"{"m":[{"a":"x\u0000"}]}"#),
            "`m[0].a`: must not contain U+0000"
        );
        assert_eq!(
            fault(r#"{"m":{"\u0000":1}}"#),
            "`m`: a member's name contains U+0000"
        );
    }

    #[test]
    fn half_a_surrogate_pair_is_a_fault_of_its_field() {
        let half = "contains half of a surrogate pair: \\ud800 to \\udbff must be followed by \\udc00 to \\udfff";
        for text in [
            r"\ud800",
            r"a\udc00",
            r"\ud83dx",
            r"\ud83d\ud83d",
            r"\ude00\ud83d",
        ] {
            assert_eq!(
                fault(&format!(r#"{{"m":[{{"a":"{text}"}}]}}"#)),
                format!("`m[0].a`: {half}"),
                "{text}"
            );
        }
        assert_eq!(fault(r#""\ud800""#), format!("the body: {half}"));
        assert_eq!(
            fault(r#"{"m":{"\ud800":1,"\udc00":2}}"#),
            "`m`: a member's name contains half of a surrogate pair"
        );
    }

    #[test]
    fn broken_syntax_wins_over_every_other_fault() {
        for text in [
            r#"{"a":1,"a":2"#,
            r#"{"a":1,"a":2,"b":"\x"}"#,
            r#"{"a":"\ud800","b":"\ud80"}"#,
            r#"{"a":"\u0000","b":01}"#,
        ] {
            assert_eq!(
                Json::parse(text.as_bytes()),
                Err(JsonError::NotJson),
                "{text}"
            );
        }
        let deep = format!("{}{}\"\\ud800\"", "[".repeat(100), "]".repeat(100));
        assert_eq!(Json::parse(deep.as_bytes()), Err(JsonError::NotJson));
        let deep = format!("{}\"]\\ud800\"{}", "[".repeat(100), "]".repeat(100));
        assert_eq!(fault(&deep), "the body: nested deeper than 64 levels");
    }

    #[test]
    fn sixty_four_levels_are_read_and_no_more() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(Json::parse(nested(64).as_bytes()).is_ok());
        let message = "the body: nested deeper than 64 levels";
        assert_eq!(fault(&nested(65)), message);
        assert_eq!(fault(&nested(500_000)), message);
        assert_eq!(
            fault(&format!("{}1{}", r#"{"a":"#.repeat(70), "}".repeat(70))),
            message
        );
    }

    #[test]
    fn a_large_body_of_many_members_or_many_levels_is_read() {
        let members: Vec<String> = (0..60_000).map(|n| format!("\"m{n}\":{n}")).collect();
        let text = format!("{{{}}}", members.join(","));
        assert_eq!(Json::parse(text.as_bytes()).unwrap().to_compact(), text);
        let text = format!(
            "{}{}1{}",
            "[".repeat(64),
            "1,".repeat(500_000),
            "]".repeat(64)
        );
        assert_eq!(Json::parse(text.as_bytes()).unwrap().to_compact(), text);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in any::<Vec<u8>>()) {
            let _ = Json::parse(&bytes);
        }

        #[test]
        fn any_json_like_text_is_judged_as_serde_json_judges_it(text in r#"[\[\]{}",:\\u0dDe8\-+. tfn1a]{0,24}"#) {
            // There are two differences: numbers out of range (the alphabet allows `1e800`), and half a surrogate pair.
            let theirs = serde_json::from_str::<serde_json::Value>(&text);
            let is_ours = |e: serde_json::Error| {
                let e = e.to_string();
                e.contains("range") || e.contains("surrogate") || e.contains("hex escape")
            };
            match Json::parse(text.as_bytes()) {
                Err(JsonError::NotJson) => prop_assert!(theirs.is_err()),
                Err(JsonError::Field(_)) => {}
                Ok(_) => prop_assert!(theirs.is_ok() || theirs.is_err_and(is_ours)),
            }
        }
    }
}
