//! Parses an object field by field in the documented order, so that the first of several errors is reported.

use std::ops::RangeInclusive;
use std::str::FromStr;

use super::{Fault, FieldError, Json, Result, member_path};
use crate::messages::Choices;

/// The unread members of an object.
#[derive(Debug)]
pub struct Fields<'a> {
    members: &'a [(String, Json)],
    taken: Vec<bool>,
    path: String,
}

impl<'a> Fields<'a> {
    /// Creates a reader of the object at `path` (empty for the body itself). Fails with `must be an object`.
    pub fn of(json: &'a Json, path: &str) -> Result<Self> {
        let Json::Object(members) = json else {
            return Err(FieldError::new(path, Fault::NotObject));
        };
        Ok(Self {
            members,
            taken: vec![false; members.len()],
            path: path.to_owned(),
        })
    }

    /// Returns the path of the object.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the path of a member.
    #[must_use]
    pub fn path_of(&self, name: &str) -> String {
        member_path(&self.path, name)
    }

    /// Creates an error for a member.
    #[must_use]
    pub fn fault(&self, name: &str, fault: impl Into<Fault>) -> FieldError {
        FieldError::new(self.path_of(name), fault)
    }

    /// Returns the member as sent, including null, and leaves it unread.
    #[must_use]
    pub fn peek(&self, name: &str) -> Option<&'a Json> {
        self.members
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, value)| value)
    }

    /// Returns the member as sent, including null.
    pub fn take(&mut self, name: &str) -> Option<&'a Json> {
        let at = self.members.iter().position(|(n, _)| n == name)?;
        self.taken[at] = true;
        Some(&self.members[at].1)
    }

    /// Returns the member; null means absent.
    pub fn present(&mut self, name: &str) -> Option<&'a Json> {
        self.take(name).filter(|value| **value != Json::Null)
    }

    /// Returns a required member. Fails with `is required`.
    pub fn required(&mut self, name: &str) -> Result<&'a Json> {
        self.present(name)
            .ok_or_else(|| self.fault(name, Fault::Required))
    }

    /// Returns a required string with this number of characters (Unicode scalar values). Fails with `is required`,
    /// `must be a string`, `must not be empty` or `longer than N characters`.
    pub fn required_string(&mut self, name: &str, chars: RangeInclusive<usize>) -> Result<&'a str> {
        let value = self.required(name)?;
        self.string(name, value, &chars)
    }

    /// Returns a string with this number of characters (Unicode scalar values). Fails like [`Fields::required_string`],
    /// except for absence.
    pub fn optional_string(
        &mut self,
        name: &str,
        chars: RangeInclusive<usize>,
    ) -> Result<Option<&'a str>> {
        self.present(name)
            .map(|value| self.string(name, value, &chars))
            .transpose()
    }

    fn string(
        &self,
        name: &str,
        value: &'a Json,
        chars: &RangeInclusive<usize>,
    ) -> Result<&'a str> {
        check_string(value, chars).map_err(|fault| self.fault(name, fault))
    }

    /// Returns one of a few values; `choices` lists them for the message. Fails with `must be a string` or `must be …`.
    pub fn optional_choice<T: FromStr>(
        &mut self,
        name: &str,
        choices: fn() -> String,
    ) -> Result<Option<T>> {
        let Some(word) = self.optional_string(name, 0..=usize::MAX)? else {
            return Ok(None);
        };
        match word.parse() {
            Ok(value) => Ok(Some(value)),
            Err(_) => Err(self.fault(name, Fault::Choice(Choices(choices())))),
        }
    }

    /// Returns an integer; `5.0` counts as 5. Fails with `must be an integer from A to B`.
    pub fn optional_integer(
        &mut self,
        name: &str,
        range: RangeInclusive<i64>,
    ) -> Result<Option<i64>> {
        let Some(value) = self.present(name) else {
            return Ok(None);
        };
        match value.as_i64() {
            Some(integer) if range.contains(&integer) => Ok(Some(integer)),
            _ => {
                let (low, high) = range.into_inner();
                Err(self.fault(name, Fault::NotInteger { low, high }))
            }
        }
    }

    /// Returns a number. Fails with `must be a number from A to B`.
    pub fn optional_number(
        &mut self,
        name: &str,
        range: RangeInclusive<f64>,
    ) -> Result<Option<f64>> {
        let Some(value) = self.present(name) else {
            return Ok(None);
        };
        match value.as_f64() {
            Some(number) if range.contains(&number) => Ok(Some(number)),
            _ => {
                let (low, high) = range.into_inner();
                let (low, high) = (low.to_string(), high.to_string());
                Err(self.fault(name, Fault::NotNumber { low, high }))
            }
        }
    }

    /// Returns a boolean. Fails with `must be true or false`.
    pub fn optional_bool(&mut self, name: &str) -> Result<Option<bool>> {
        self.present(name)
            .map(|value| {
                value
                    .as_bool()
                    .ok_or_else(|| self.fault(name, Fault::NotBool))
            })
            .transpose()
    }

    /// Returns a reader of a nested object. Fails with `must be an object`.
    pub fn optional_object(&mut self, name: &str) -> Result<Option<Fields<'a>>> {
        self.present(name)
            .map(|value| Fields::of(value, &self.path_of(name)))
            .transpose()
    }

    /// Returns an array with this number of items; [`item_path`](super::item_path) builds the path of one. Fails with
    /// `must be an array`, `must not be empty`, `fewer than N items` or `more than N items`.
    pub fn optional_array(
        &mut self,
        name: &str,
        items: RangeInclusive<usize>,
    ) -> Result<Option<&'a [Json]>> {
        let Some(value) = self.present(name) else {
            return Ok(None);
        };
        let Json::Array(array) = value else {
            return Err(self.fault(name, Fault::NotArray));
        };
        let fault = match check_size(array.len(), &items) {
            Size::Fits => return Ok(Some(array)),
            Size::None => Fault::Empty,
            Size::Under(least) => Fault::TooFew(least),
            Size::Over(most) => Fault::TooMany(most),
        };
        Err(self.fault(name, fault))
    }

    /// Finishes the object. Fails with `unknown field` for the first unread member.
    pub fn finish(self) -> Result<()> {
        match self.taken.iter().position(|taken| !taken) {
            Some(at) => Err(self.fault(&self.members[at].0, Fault::Unknown)),
            None => Ok(()),
        }
    }
}

/// Returns the text of a string with this number of characters, or its fault.
pub(crate) fn check_string<'a>(
    value: &'a Json,
    chars: &RangeInclusive<usize>,
) -> Result<&'a str, Fault> {
    let text = value.as_str().ok_or(Fault::NotText)?;
    // The parser rejects it, but a value built here may contain it.
    if text.contains('\0') {
        return Err(Fault::Zero);
    }
    match check_size(text.chars().count(), chars) {
        Size::Fits => Ok(text),
        Size::None => Err(Fault::Empty),
        Size::Under(least) => Err(Fault::TooShort(least)),
        Size::Over(most) => Err(Fault::TooLong(most)),
    }
}

/// A size compared with its bounds.
enum Size {
    Fits,
    None,
    Under(usize),
    Over(usize),
}

fn check_size(size: usize, range: &RangeInclusive<usize>) -> Size {
    let (low, high) = (*range.start(), *range.end());
    match size {
        size if size > high => Size::Over(high),
        size if size >= low => Size::Fits,
        0 => Size::None,
        _ => Size::Under(low),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Json {
        Json::parse(text.as_bytes()).unwrap()
    }

    /// The message of `read` for the object `text` at the path `p`.
    fn message<T>(text: &str, read: impl FnOnce(&mut Fields<'_>) -> Result<T>) -> String {
        let json = parsed(text);
        let mut fields = Fields::of(&json, "p").unwrap();
        match read(&mut fields) {
            Ok(_) => String::new(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn what_was_not_read_is_an_unknown_field() {
        let body = parsed(r#"{"name": "Ana", "agee": 3}"#);
        let mut fields = Fields::of(&body, "").unwrap();
        assert_eq!(fields.required_string("name", 1..=120).unwrap(), "Ana");
        assert_eq!(fields.optional_integer("age", 0..=150).unwrap(), None);
        let refused = fields.finish().unwrap_err();
        assert_eq!(refused.to_string(), "`agee`: unknown field");
    }

    #[test]
    fn strings_are_measured_in_characters() {
        let read = |fields: &mut Fields<'_>| fields.required_string("s", 1..=3).map(drop);
        assert_eq!(message(r#"{"s":"ñ😀é"}"#, read), "");
        assert_eq!(
            message(r#"{"s":"abcd"}"#, read),
            "`p.s`: longer than 3 characters"
        );
        assert_eq!(message(r#"{"s":""}"#, read), "`p.s`: must not be empty");
        assert_eq!(message(r#"{"s":1}"#, read), "`p.s`: must be a string");
        assert_eq!(message(r#"{"s":null}"#, read), "`p.s`: is required");
        assert_eq!(message("{}", read), "`p.s`: is required");
        assert_eq!(
            message("{}", |f| f.optional_string("s", 1..=3).map(drop)),
            ""
        );
    }

    #[test]
    fn numbers_name_their_range() {
        let integer = |fields: &mut Fields<'_>| fields.optional_integer("n", 1..=20).map(drop);
        for text in [r#"{"n":5.0}"#, r#"{"n":2e1}"#, r#"{"n":null}"#] {
            assert_eq!(message(text, integer), "");
        }
        for text in [
            r#"{"n":0}"#,
            r#"{"n":5.5}"#,
            r#"{"n":"5"}"#,
            r#"{"n":1e99}"#,
        ] {
            assert_eq!(
                message(text, integer),
                "`p.n`: must be an integer from 1 to 20"
            );
        }
        let number = |fields: &mut Fields<'_>| fields.optional_number("n", 0.5..=2.0).map(drop);
        assert_eq!(message(r#"{"n":0.5}"#, number), "");
        for text in [r#"{"n":0.4}"#, r#"{"n":1e999}"#, r#"{"n":true}"#] {
            assert_eq!(
                message(text, number),
                "`p.n`: must be a number from 0.5 to 2"
            );
        }
    }

    #[test]
    fn every_other_kind_has_its_message() {
        assert_eq!(
            message(r#"{"b":0}"#, |f| f.optional_bool("b")),
            "`p.b`: must be true or false"
        );
        assert_eq!(
            message(r#"{"o":[]}"#, |f| f.optional_object("o").map(drop)),
            "`p.o`: must be an object"
        );
        assert_eq!(
            message(r#"{"a":{}}"#, |f| f.optional_array("a", 1..=2).map(drop)),
            "`p.a`: must be an array"
        );
        assert_eq!(
            message(r#"{"a":[]}"#, |f| f.optional_array("a", 1..=2).map(drop)),
            "`p.a`: must not be empty"
        );
        assert_eq!(
            message(r#"{"a":[1,2,3]}"#, |f| f
                .optional_array("a", 1..=2)
                .map(drop)),
            "`p.a`: more than 2 items"
        );
        assert_eq!(
            message(r#"{"c":"other"}"#, |f| {
                f.optional_choice::<crate::Runtime>("c", crate::Runtime::choices)
            }),
            "`p.c`: must be `engine` or `legacy`"
        );
        assert_eq!(
            Fields::of(&Json::Null, "").unwrap_err().to_string(),
            "the body: must be an object"
        );
    }

    #[test]
    fn the_first_unknown_member_is_named_at_the_end() {
        let json = parsed(r#"{"x":1,"a":2,"y":3}"#);
        let mut fields = Fields::of(&json, "p").unwrap();
        assert_eq!(fields.take("a"), Some(&parsed("2")));
        assert_eq!(
            fields.finish().unwrap_err().to_string(),
            "`p.x`: unknown field"
        );
        let json = parsed(r#"{"a":null}"#);
        let mut fields = Fields::of(&json, "p").unwrap();
        assert_eq!(fields.present("a"), None);
        assert_eq!(fields.finish(), Ok(()));
    }
}
