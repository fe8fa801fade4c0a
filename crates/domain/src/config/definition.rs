//! How members of a configuration are defined, once: their reader, default, API reference and form follow from it.

use std::ops::RangeInclusive;

use uuid::Uuid;

use super::read;
use crate::agent::Vocabulary;
use crate::json::{Fields, Json, Result};

/// A member of a configuration or of one of its sections.
#[derive(Debug, Clone, Copy)]
pub struct Member {
    /// Its name in the JSON.
    pub name: &'static str,
    /// The form of its value.
    pub shape: Shape,
    /// Its meaning, as the API's reference shows it.
    pub about: &'static str,
}

/// The form of a member's value. Every member may be absent.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// A short string, or null.
    Line,
    /// A string of several lines, or null.
    Text,
    /// A number.
    Number,
    /// An integer.
    Integer,
    /// An integer, or null.
    NullableInteger,
    /// True or false.
    Flag,
    /// One of these words.
    Word(fn() -> Vec<&'static str>),
    /// An object with members of the provider's.
    Object,
    /// A list of UUIDs.
    Uuids,
    /// An object with these members.
    Section(&'static [Member]),
    /// Rows or objects that have a reader of their own.
    Other,
}

/// Members that are read together.
pub(super) trait Section: Sized {
    const MEMBERS: &'static [Member];

    fn read(fields: Fields<'_>) -> Result<Self>;
}

/// How a member of the type `T` is read; `rule` is what its value must satisfy.
pub(super) trait Kind<T> {
    type Rule;

    const SHAPE: Shape;

    fn read(fields: &mut Fields<'_>, name: &str, default: T, rule: Self::Rule) -> Result<T>;
}

macro_rules! kinds {
    ($($kind:ident: $type:ty, $rule:ty, $shape:expr, |$fields:ident, $name:ident, $default:ident, $value:ident| $read:expr;)+) => {$(
        pub(super) struct $kind;

        impl Kind<$type> for $kind {
            type Rule = $rule;

            const SHAPE: Shape = $shape;

            fn read($fields: &mut Fields<'_>, $name: &str, $default: $type, $value: $rule) -> Result<$type> {
                $read
            }
        }
    )+};
}

kinds! {
    Line: Option<String>, RangeInclusive<usize>, Shape::Line, |fields, name, default, chars|
        Ok(read::owned(fields, name, chars)?.or(default));
    Text: Option<String>, RangeInclusive<usize>, Shape::Text, |fields, name, default, chars|
        Ok(read::owned(fields, name, chars)?.or(default));
    Template: String, usize, Shape::Text, |fields, name, _default, chars| read::template(fields, name, chars);
    Language: Option<String>, (), Shape::Line, |fields, name, default, _rule|
        Ok(read::language(fields, name)?.or(default));
    OwnLanguage: String, (), Shape::Line, |fields, name, default, _rule|
        Ok(read::language(fields, name)?.unwrap_or(default));
    // -0 would not survive a round trip through its text, so it becomes 0.
    Number: f64, RangeInclusive<f64>, Shape::Number, |fields, name, default, range|
        Ok(fields.optional_number(name, range)?.map_or(default, |number| number + 0.0));
    Integer: i64, RangeInclusive<i64>, Shape::Integer, |fields, name, default, range|
        Ok(fields.optional_integer(name, range)?.unwrap_or(default));
    SampleRate: Option<i64>, (), Shape::NullableInteger, |fields, name, default, _rule|
        Ok(read::sample_rate(fields, name)?.or(default));
    Flag: bool, (), Shape::Flag, |fields, name, default, _rule|
        Ok(fields.optional_bool(name)?.unwrap_or(default));
    Settings: Json, (), Shape::Object, |fields, name, _default, _rule| read::settings(fields, name);
    Uuids: Vec<Uuid>, usize, Shape::Uuids, |fields, name, _default, most| read::uuids(fields, name, most);
}

pub(super) struct Word;

impl<T: Vocabulary> Kind<T> for Word {
    type Rule = ();

    const SHAPE: Shape = Shape::Word(T::words);

    fn read(fields: &mut Fields<'_>, name: &str, default: T, (): ()) -> Result<T> {
        Ok(fields.optional_choice(name, T::choices)?.unwrap_or(default))
    }
}

/// A section of its own.
pub(super) struct Nested;

impl<T: Section> Kind<T> for Nested {
    type Rule = ();

    const SHAPE: Shape = Shape::Section(T::MEMBERS);

    fn read(fields: &mut Fields<'_>, name: &str, default: T, (): ()) -> Result<T> {
        fields.optional_object(name)?.map_or(Ok(default), T::read)
    }
}

/// What the rule reads.
pub(super) struct Own;

impl<T> Kind<T> for Own {
    type Rule = fn(&mut Fields<'_>, &str) -> Result<T>;

    const SHAPE: Shape = Shape::Other;

    fn read(fields: &mut Fields<'_>, name: &str, _default: T, read: Self::Rule) -> Result<T> {
        read(fields, name)
    }
}

/// Defines a section. Each member is `name: type = default, kind: rule, "meaning";`, in the documented order.
macro_rules! section {
    ($(#[$meta:meta])* $section:ident {
        $($(#[$attribute:meta])* $name:ident: $type:ty = $default:expr, $kind:ty: $rule:expr, $about:literal;)+
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, ::serde::Serialize)]
        pub struct $section { $(#[doc = $about] $(#[$attribute])* pub $name: $type,)+ }

        impl Default for $section {
            fn default() -> Self {
                Self { $($name: $default,)+ }
            }
        }

        impl $crate::config::definition::Section for $section {
            const MEMBERS: &'static [$crate::config::definition::Member] = &[$(
                $crate::config::definition::Member {
                    name: stringify!($name),
                    shape: <$kind as $crate::config::definition::Kind<$type>>::SHAPE,
                    about: $about,
                },
            )+];

            fn read(mut fields: $crate::json::Fields<'_>) -> $crate::json::Result<Self> {
                let read = Self { $(
                    $name: <$kind as $crate::config::definition::Kind<$type>>::read(
                        &mut fields, stringify!($name), $default, $rule,
                    )?,
                )+ };
                fields.finish()?;
                Ok(read)
            }
        }
    };
}
pub(super) use section;
