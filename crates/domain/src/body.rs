//! Bodies and their members, each defined once, in the documented order: the reader, the API reference and the portal's
//! form follow from the definition.

mod forms;

pub use forms::{
    Flag, Id, Instant, Integer, Language, Like, LongText, Name, Nested, Number, Own, Phone, Text,
    Uuids, Word, Words,
};

use crate::json::{Fault, Fields, Json, Result};

/// A member of a body.
#[derive(Debug, Clone)]
pub struct Member {
    /// Its name in the JSON.
    pub name: &'static str,
    /// The form of its value.
    pub shape: Shape,
    /// Its meaning, as the API's reference shows it.
    pub about: &'static str,
    /// Whether it must be there.
    pub is_required: bool,
    /// Whether it may be null.
    pub is_nullable: bool,
}

/// The form of a value.
#[derive(Debug, Clone)]
pub enum Shape {
    /// A string with at most so many characters; `is_long`: of several lines.
    Text {
        /// The most characters (Unicode scalar values).
        most: usize,
        /// Whether a form shows several lines.
        is_long: bool,
    },
    /// A sample rate in Hz, or null.
    SampleRate,
    /// A number from `low` to `high`.
    Number {
        /// The minimum.
        low: f64,
        /// The maximum.
        high: f64,
    },
    /// An integer from `low` to `high`.
    Integer {
        /// The minimum.
        low: i64,
        /// The maximum.
        high: i64,
    },
    /// True or false.
    Flag,
    /// One of these words.
    Word(Vec<&'static str>),
    /// Some of these words.
    Words(Vec<&'static str>),
    /// An object with members of the provider's.
    Object,
    /// A UUID.
    Uuid,
    /// UUIDs.
    Uuids,
    /// A phone number (E.164).
    Phone,
    /// An instant (RFC 3339).
    Instant,
    /// An object with these members.
    Section(Vec<Member>),
    /// What has a reader of its own.
    Other,
}

/// How a value is read, wherever it stands.
pub trait Form {
    /// What is read.
    type Value;

    /// The form of the value.
    fn shape(&self) -> Shape;

    /// Reads the member, which is there and not null.
    ///
    /// # Errors
    /// The first fault of the value.
    fn read(&self, fields: &mut Fields<'_>, name: &str) -> Result<Self::Value>;
}

/// How a member is read: its form, and what its absence or null means.
pub trait Read<T> {
    /// The form of its value.
    fn shape(&self) -> Shape;

    /// Whether it must be there.
    fn is_required(&self) -> bool {
        false
    }

    /// Whether it may be null.
    fn is_nullable(&self) -> bool {
        false
    }

    /// Reads the member.
    ///
    /// # Errors
    /// The first fault of the member.
    fn read(&self, fields: &mut Fields<'_>, name: &str) -> Result<T>;
}

/// Defines how a member is read whose form is `F`, given what was sent: nothing, null or a value.
macro_rules! readers {
    ($($(#[$doc:meta])* $reader:ident -> $of:ty, $required:literal, $nullable:literal,
        |$form:ident, $fields:ident, $name:ident| { $absent:expr, $null:expr, $value:expr };)+) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $reader<F>(pub F);

        impl<T, F: Form<Value = T>> Read<$of> for $reader<F> {
            fn shape(&self) -> Shape {
                self.0.shape()
            }

            fn is_required(&self) -> bool {
                $required
            }

            fn is_nullable(&self) -> bool {
                $nullable
            }

            fn read(&self, $fields: &mut Fields<'_>, $name: &str) -> Result<$of> {
                let $form = &self.0;
                match $fields.peek($name) {
                    None => $absent,
                    Some(Json::Null) => {
                        $fields.take($name);
                        $null
                    }
                    Some(_) => $value,
                }
            }
        }
    )+};
}

readers! {
    /// A member that must be there.
    Required -> T, true, false, |form, fields, name| {
        Err(fields.fault(name, Fault::Required)), Err(fields.fault(name, Fault::Required)), form.read(fields, name)
    };
    /// A member that may be left out; null leaves it out, too.
    Optional -> Option<T>, false, true, |form, fields, name| {
        Ok(None), Ok(None), form.read(fields, name).map(Some)
    };
    /// A member that must be there, and may be null.
    Nullable -> Option<T>, true, true, |form, fields, name| {
        Err(fields.fault(name, Fault::RequiredOrNull)), Ok(None), form.read(fields, name).map(Some)
    };
    /// A member that a change may leave out, and that cannot be null.
    Change -> Option<T>, false, false, |form, fields, name| {
        Ok(None), Err(fields.fault(name, Fault::Null)), form.read(fields, name).map(Some)
    };
    /// A member that a change may leave out; null clears it (`Some(None)`).
    Clearable -> Option<Option<T>>, false, true, |form, fields, name| {
        Ok(None), Ok(Some(None)), form.read(fields, name).map(|value| Some(Some(value)))
    };
}

/// A member with a default, for which null stands, too.
#[derive(Debug)]
pub struct Or<F, T>(pub F, pub T);

impl<T: Clone + From<F::Value>, F: Form> Read<T> for Or<F, T> {
    fn shape(&self) -> Shape {
        self.0.shape()
    }

    /// A text that is not set is shown as null; any other member by its default.
    fn is_nullable(&self) -> bool {
        matches!(self.0.shape(), Shape::Text { .. })
    }

    fn read(&self, fields: &mut Fields<'_>, name: &str) -> Result<T> {
        let given = Optional(&self.0).read(fields, name)?;
        Ok(given.map_or_else(|| self.1.clone(), T::from))
    }
}

impl<F: Form> Form for &F {
    type Value = F::Value;

    fn shape(&self) -> Shape {
        (**self).shape()
    }

    fn read(&self, fields: &mut Fields<'_>, name: &str) -> Result<F::Value> {
        (**self).read(fields, name)
    }
}

/// An object whose members are known.
pub trait Body: Sized {
    /// What its members are read against, besides their own rules.
    type Context: ?Sized;

    /// The members in the documented order.
    fn members() -> Vec<Member>;

    /// Reads the members, in this order; then nothing may be left.
    ///
    /// # Errors
    /// The first faulty member, or the first unknown one.
    fn read(fields: Fields<'_>, context: &Self::Context) -> Result<Self>;

    /// Reads a whole body.
    ///
    /// # Errors
    /// As [`Body::read`], or `must be an object`.
    fn of(json: &Json, context: &Self::Context) -> Result<Self> {
        Self::read(Fields::of(json, "")?, context)
    }
}

/// Defines a body. Each member is `name: type, reader, "meaning";`, in the documented order. A name in parentheses after
/// the body's is what readers may refer to: its type, and a value for the reference, which needs none.
#[macro_export]
macro_rules! body {
    ($(#[$meta:meta])* $vis:vis $body:ident $(($context:ident: $of:ty = $none:expr))? {
        $($(#[$attribute:meta])* $name:ident: $type:ty, $reader:expr, $about:literal;)+
    }) => {
        $(#[$meta])*
        $vis struct $body { $(#[doc = $about] $(#[$attribute])* pub $name: $type,)+ }

        impl $crate::body::Body for $body {
            type Context = $crate::body!(@type $($of)?);

            fn members() -> ::std::vec::Vec<$crate::body::Member> {
                $(let $context: &$of = $none;)?
                ::std::vec![$($crate::body::member::<$type, _>($crate::body::name(stringify!($name)), &$reader, $about)),+]
            }

            fn read(
                mut fields: $crate::json::Fields<'_>,
                context: &Self::Context,
            ) -> ::std::result::Result<Self, $crate::json::FieldError> {
                $(let $context = context;)?
                let _ = context;
                let read = Self { $(
                    $name: $crate::body::Read::<$type>::read(
                        &$reader, &mut fields, $crate::body::name(stringify!($name)),
                    )?,
                )+ };
                fields.finish()?;
                Ok(read)
            }
        }
    };
    (@type) => { () };
    (@type $of:ty) => { $of };
}

/// The name of a member, which may be a word of the language.
#[doc(hidden)]
#[must_use]
pub fn name(written: &'static str) -> &'static str {
    written.strip_prefix("r#").unwrap_or(written)
}

/// A member of a definition.
#[doc(hidden)]
pub fn member<T, R: Read<T>>(name: &'static str, reader: &R, about: &'static str) -> Member {
    Member {
        name,
        shape: reader.shape(),
        about,
        is_required: reader.is_required(),
        is_nullable: reader.is_nullable(),
    }
}
