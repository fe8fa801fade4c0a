//! The forms of values.

use std::collections::HashSet;
use std::marker::PhantomData;
use std::ops::RangeInclusive;
use std::str::FromStr;

use super::{Body, Form, Shape};
use crate::agent::Vocabulary;
use crate::config::is_bcp47_shape;
use crate::json::{Fault, FieldError, Fields, Json, Result, item_path};
use crate::messages::Choices;
use crate::{E164, E164Error, Timestamp};

/// Defines forms that have a rule.
macro_rules! forms {
    ($($(#[$doc:meta])* $form:ident($rule:ty): $value:ty, |$of:ident| $shape:expr,
        |$fields:ident, $name:ident| $read:expr;)+) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $form(pub $rule);

        impl Form for $form {
            type Value = $value;

            fn shape(&self) -> Shape {
                let $of = &self.0;
                $shape
            }

            fn read(&self, $fields: &mut Fields<'_>, $name: &str) -> Result<$value> {
                let $of = &self.0;
                $read
            }
        }
    )+};
}

/// Defines forms of a type `T`.
macro_rules! forms_of {
    ($($(#[$doc:meta])* $form:ident<$t:ident: $bound:path>, $shape:expr, |$fields:ident, $name:ident| $read:expr;)+) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $form<T>(PhantomData<T>);

        impl<T> $form<T> {
            /// The form for this type.
            #[must_use]
            pub const fn of() -> Self {
                Self(PhantomData)
            }
        }

        impl<$t: $bound> Form for $form<$t> {
            type Value = $t;

            fn shape(&self) -> Shape {
                $shape
            }

            fn read(&self, $fields: &mut Fields<'_>, $name: &str) -> Result<$t> {
                $read
            }
        }
    )+};
}

/// The value of a member that is known to be there.
fn there<T>(value: Option<T>, fields: &Fields<'_>, name: &str) -> Result<T> {
    value.ok_or_else(|| fields.fault(name, Fault::Required))
}

const fn text(most: usize, is_long: bool) -> Shape {
    Shape::Text { most, is_long }
}

forms! {
    /// A string with this number of characters (Unicode scalar values).
    Text(RangeInclusive<usize>): String, |chars| text(*chars.end(), false), |fields, name|
        Ok(fields.required_string(name, chars.clone())?.to_owned());
    /// A string with at most this number of characters, which a form shows in several lines.
    LongText(usize): String, |most| text(*most, true), |fields, name|
        Ok(fields.required_string(name, 0..=*most)?.to_owned());
    /// A string of 1 to this number of characters that is not blank.
    Name(usize): String, |most| text(*most, false), |fields, name| {
        let text = fields.required_string(name, 1..=*most)?;
        match text.trim().is_empty() {
            true => Err(fields.fault(name, Fault::Blank)),
            false => Ok(text.to_owned()),
        }
    };
    /// A language code (BCP 47) of at most this number of characters.
    Language(usize): String, |most| text(*most, false), |fields, name| {
        let tag = fields.required_string(name, 0..=*most)?;
        match is_bcp47_shape(tag) {
            true => Ok(tag.to_owned()),
            false => Err(fields.fault(name, Fault::Language)),
        }
    };
    /// A number in this range. -0 would not survive a round trip through its text, so it becomes 0.
    Number(RangeInclusive<f64>): f64, |range| Shape::Number { low: *range.start(), high: *range.end() }, |fields, name| {
        let number = fields.optional_number(name, range.clone())?;
        there(number, fields, name).map(|number| number + 0.0)
    };
    /// An integer in this range.
    Integer(RangeInclusive<i64>): i64, |range| Shape::Integer { low: *range.start(), high: *range.end() }, |fields, name| {
        let integer = fields.optional_integer(name, range.clone())?;
        there(integer, fields, name)
    };
    /// At most this number of distinct UUIDs with hyphens.
    Uuids(usize): Vec<uuid::Uuid>, |most| { let _ = most; Shape::Uuids }, |fields, name| {
        let items = fields.optional_array(name, 0..=*most)?.unwrap_or_default();
        let path = fields.path_of(name);
        let mut seen = HashSet::new();
        let read = |(at, item): (usize, &Json)| {
            let fault = |fault: Fault| FieldError::new(item_path(&path, at), fault);
            let uuid = item.as_str().filter(|text| text.len() == 36);
            let uuid = uuid.and_then(|text| uuid::Uuid::try_parse(text).ok());
            let uuid = uuid.ok_or_else(|| fault(Fault::WholeUuid))?;
            seen.insert(uuid).then_some(uuid).ok_or_else(|| fault(Fault::Twice))
        };
        items.iter().enumerate().map(read).collect()
    };
}

/// Defines forms without a rule.
macro_rules! plain_forms {
    ($($(#[$doc:meta])* $form:ident: $value:ty, $shape:expr, |$fields:ident, $name:ident| $read:expr;)+) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $form;

        impl Form for $form {
            type Value = $value;

            fn shape(&self) -> Shape {
                $shape
            }

            fn read(&self, $fields: &mut Fields<'_>, $name: &str) -> Result<$value> {
                $read
            }
        }
    )+};
}

plain_forms! {
    /// True or false.
    Flag: bool, Shape::Flag, |fields, name| {
        let flag = fields.optional_bool(name)?;
        there(flag, fields, name)
    };
    /// A phone number (E.164).
    Phone: E164, Shape::Phone, |fields, name| {
        let text = fields.required_string(name, 1..=64)?;
        text.parse().map_err(|error: E164Error| fields.fault(name, error))
    };
    /// An instant (RFC 3339).
    Instant: Timestamp, Shape::Instant, |fields, name| {
        let text = fields.required_string(name, 1..=64)?;
        Timestamp::parse_from(text).map_err(|error| fields.fault(name, error))
    };
}

forms_of! {
    /// A word of a vocabulary.
    Word<T: Vocabulary>, Shape::Word(T::words()), |fields, name| {
        let word = fields.optional_choice(name, T::choices)?;
        there(word, fields, name)
    };
    /// An id: a UUID.
    Id<T: FromStr>, Shape::Uuid, |fields, name| {
        let text = fields.required_string(name, 0..=64)?;
        text.parse().map_err(|_| fields.fault(name, Fault::Uuid))
    };
    /// An object with known members.
    Nested<T: Section>, Shape::Section(T::members()), |fields, name| {
        let nested = fields.optional_object(name)?;
        T::read(there(nested, fields, name)?, &())
    };
}

/// A list of at least one of the words of a vocabulary, each once.
#[derive(Debug)]
pub struct Words<T>(PhantomData<T>);

impl<T> Words<T> {
    /// The form for this type.
    #[must_use]
    pub const fn of() -> Self {
        Self(PhantomData)
    }
}

impl<T: Vocabulary + FromStr> Form for Words<T> {
    type Value = Vec<T>;

    fn shape(&self) -> Shape {
        Shape::Words(T::words())
    }

    fn read(&self, fields: &mut Fields<'_>, name: &str) -> Result<Vec<T>> {
        let items = fields.optional_array(name, 1..=T::words().len())?;
        let path = fields.path_of(name);
        let mut seen = HashSet::new();
        let mut words = Vec::new();
        for (at, item) in items.unwrap_or_default().iter().enumerate() {
            let fault = |fault: Fault| FieldError::new(item_path(&path, at), fault);
            let word = item.as_str().unwrap_or_default();
            let read = word.parse();
            words.push(read.map_err(|_| fault(Fault::Choice(Choices(T::choices()))))?);
            if !seen.insert(word) {
                return Err(fault(Fault::Twice));
            }
        }
        Ok(words)
    }
}

/// A body that is read by itself.
pub trait Section: Body<Context = ()> {}

impl<T: Body<Context = ()>> Section for T {}

/// What has a reader of its own.
#[derive(Debug)]
pub struct Own<T>(pub fn(&mut Fields<'_>, &str) -> Result<T>);

impl<T> Form for Own<T> {
    type Value = T;

    fn shape(&self) -> Shape {
        Shape::Other
    }

    fn read(&self, fields: &mut Fields<'_>, name: &str) -> Result<T> {
        (self.0)(fields, name)
    }
}

/// A reader of its own, with the shape of another form.
#[derive(Debug)]
pub struct Like<F, R>(pub F, pub R);

impl<T, F: Form, R: Fn(&mut Fields<'_>, &str) -> Result<T>> Form for Like<F, R> {
    type Value = T;

    fn shape(&self) -> Shape {
        self.0.shape()
    }

    fn read(&self, fields: &mut Fields<'_>, name: &str) -> Result<T> {
        (self.1)(fields, name)
    }
}
