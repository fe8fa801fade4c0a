//! Texts for people, each in English and in Spanish.

use std::fmt;

/// A text for people. Its `Display` is the English that the API sends.
pub trait Message: fmt::Display {
    /// Writes the text in Spanish. A number or a name is the same in both languages.
    fn fmt_spanish(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fmt(f)
    }

    /// Returns the text in Spanish.
    fn spanish(&self) -> String
    where
        Self: Sized,
    {
        Spanish(self).to_string()
    }
}

/// A message whose `Display` is its Spanish.
#[derive(Debug)]
pub struct Spanish<'a, T: ?Sized>(pub &'a T);

impl<T: Message + ?Sized> fmt::Display for Spanish<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt_spanish(f)
    }
}

/// Defines an enum of messages: a row is a variant with its values, its English and its Spanish. Both name the values in
/// braces, and each value in both. After `stored`, the enum is also [`Stored`].
#[macro_export]
macro_rules! messages {
    (stored $($rows:tt)+) => {
        $crate::messages! { $($rows)+ }
        $crate::messages! { @read $($rows)+ }
    };
    (@read $(#[$meta:meta])* pub enum $name:ident {
        $($(#[$row:meta])* $variant:ident $(($($item:ident: $item_type:ty),+))? $({ $($field:ident: $field_type:ty),+ })?
            => $english:literal, $spanish:literal;)+
    }) => {
        impl $crate::messages::Stored for $name {
            fn read(text: &str) -> Option<Self> {
                $(
                    let found = $crate::messages::Values::find($english, text, |_values| {
                        Some(Self::$variant
                            $(($(<$item_type as $crate::messages::Stored>::of(_values, stringify!($item))?),+))?
                            $({ $($field: <$field_type as $crate::messages::Stored>::of(_values, stringify!($field))?),+ })?)
                    });
                    if found.is_some() {
                        return found;
                    }
                )+
                None
            }
        }
    };
    ($(#[$meta:meta])* pub enum $name:ident {
        $($(#[$row:meta])* $variant:ident $(($($item:ident: $item_type:ty),+))? $({ $($field:ident: $field_type:ty),+ })?
            => $english:literal, $spanish:literal;)+
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum $name {$(
            #[doc = concat!("```text\n", $english, "\n```")]
            $(#[$row])*
            $variant $(($($item_type),+))? $({ $(#[doc = stringify!($field)] $field: $field_type),+ })?,
        )+}

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                match self {
                    $(Self::$variant $(($($item),+))? $({ $($field),+ })? => write!(f, $english),)+
                }
            }
        }

        impl $crate::messages::Message for $name {
            fn fmt_spanish(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                match self {$(
                    Self::$variant $(($($item),+))? $({ $($field),+ })? => {
                        $($(let $item = $crate::messages::Spanish($item);)+)?
                        $($(let $field = $crate::messages::Spanish($field);)+)?
                        write!(f, $spanish)
                    }
                )+}
            }
        }

        impl ::std::error::Error for $name {}

        const _: () = {$(
            let names: &[&str] = &[$($(stringify!($item)),+)? $($(stringify!($field)),+)?];
            assert!($crate::messages::has_each($english, names), concat!(stringify!($variant), ": a value is not in the English"));
            assert!($crate::messages::has_each($spanish, names), concat!(stringify!($variant), ": a value is not in the Spanish"));
        )+};
    };
}

/// Returns whether a text has each of these names in braces. A name that begins with `_` is in no text.
#[must_use]
pub const fn has_each(text: &str, names: &[&str]) -> bool {
    let mut at = 0;
    while at < names.len() {
        let name = names[at].as_bytes();
        if name[0] != b'_' && !has(text.as_bytes(), name) {
            return false;
        }
        at += 1;
    }
    true
}

const fn has(text: &[u8], name: &[u8]) -> bool {
    let mut at = 0;
    while at + name.len() + 2 <= text.len() {
        let mut same = 0;
        while same < name.len() && text[at + 1 + same] == name[same] {
            same += 1;
        }
        if same == name.len() && text[at] == b'{' && text[at + 1 + same] == b'}' {
            return true;
        }
        at += 1;
    }
    false
}

/// A message that is stored as its English, or a value in one.
pub trait Stored: Sized {
    /// Returns the message whose English this is; `None` for any other text.
    fn read(text: &str) -> Option<Self>;

    /// Returns the value of this name.
    fn of(values: &Values<'_>, name: &str) -> Option<Self> {
        let (_, text) = values.0.iter().find(|(known, _)| *known == name)?;
        Self::read(text)
    }
}

/// The values in a stored message, by name.
#[derive(Debug)]
pub struct Values<'t>(Vec<(&'static str, &'t str)>);

impl<'t> Values<'t> {
    /// Makes a message of what stands in `text` for the names in `english`; `None` if the rest differs.
    pub fn find<T>(
        english: &'static str,
        text: &'t str,
        message: impl FnOnce(&Self) -> Option<T>,
    ) -> Option<T> {
        let mut pieces = english.split('{');
        let mut rest = text.strip_prefix(pieces.next()?)?;
        let mut values = Vec::new();
        let mut pieces = pieces.peekable();
        while let Some(piece) = pieces.next() {
            let (name, literal) = piece.split_once('}')?;
            let end = match pieces.peek() {
                Some(_) => rest.find(literal)?,
                None => rest.strip_suffix(literal)?.len(),
            };
            values.push((name, &rest[..end]));
            rest = &rest[end + literal.len()..];
        }
        if rest.is_empty() {
            message(&Self(values))
        } else {
            None
        }
    }
}

/// Values that are the same in both languages.
macro_rules! values {
    ($($kind:ty),+) => {$(
        impl Message for $kind {}

        impl Stored for $kind {
            fn read(text: &str) -> Option<Self> {
                text.parse().ok()
            }
        }
    )+};
}

values!(
    String,
    u16,
    i32,
    i64,
    u64,
    usize,
    crate::AccountId,
    crate::CredentialProvider
);

impl Message for &'static str {}

/// A value that the text does not have.
impl<T> Stored for Option<T> {
    fn read(_: &str) -> Option<Self> {
        None
    }

    fn of(_: &Values<'_>, _: &str) -> Option<Self> {
        Some(None)
    }
}

impl<T: Message + ?Sized> Message for Box<T> {
    fn fmt_spanish(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt_spanish(f)
    }
}

/// Words that a page translates.
macro_rules! words {
    ($($kind:ty),+) => {$(
        impl Message for $kind {
            fn fmt_spanish(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.in_spanish())
            }
        }
    )+};
}

words!(
    crate::AgentStatus,
    crate::BatchStatus,
    crate::CampaignStatus
);

/// Messages with `; ` between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed<T>(pub Vec<T>);

impl<T: fmt::Display> fmt::Display for Listed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        listed(&self.0, f)
    }
}

impl<T: Message> Message for Listed<T> {
    fn fmt_spanish(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let spanish: Vec<_> = self.0.iter().map(Spanish).collect();
        listed(&spanish, f)
    }
}

fn listed(items: &[impl fmt::Display], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (at, item) in items.iter().enumerate() {
        write!(f, "{}{item}", if at == 0 { "" } else { "; " })?;
    }
    Ok(())
}

/// The values that a field may have, each between backticks: `a`, `b` or `c`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choices(pub String);

impl fmt::Display for Choices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Message for Choices {
    fn fmt_spanish(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pieces = self.0.split('`').enumerate();
        let pieces = pieces.map(|(at, piece)| match (at % 2, piece) {
            (0, " or ") => " o ",
            (0, "one of ") => "uno de ",
            _ => piece,
        });
        f.write_str(&pieces.collect::<Vec<_>>().join("`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::UrlFault;
    use crate::{DocumentFault, EntryText, IntegrationFault, Unfetched};

    #[test]
    fn a_stored_message_is_read_back_by_its_english() {
        fn kept<T: Message + Stored + PartialEq + fmt::Debug>(messages: Vec<T>) {
            for message in messages {
                assert_eq!(T::read(&message.to_string()), Some(message));
            }
        }
        kept(vec![
            DocumentFault::UnknownContent,
            DocumentFault::OtherContent("image/png".to_owned()),
            DocumentFault::Address(UrlFault::Scheme),
            DocumentFault::Unfetched(Unfetched::Slow),
            DocumentFault::Redirect(301),
        ]);
        let (plan, month) = ("scale".to_owned(), "2026-04".to_owned());
        kept(vec![
            EntryText::FirstCredits(plan.clone()),
            EntryText::MonthlyCredits { plan, month },
            EntryText::Call(61),
        ]);
        let (name, toolkit) = ("A, B".to_owned(), "a".to_owned());
        kept(vec![
            IntegrationFault::Silent(name.clone()),
            IntegrationFault::UnknownClient { name, toolkit },
        ]);
        for other in ["", "{}", "Call of x s", "Call of 5", "Enero"] {
            assert_eq!(EntryText::read(other), None, "{other}");
        }
    }

    #[test]
    fn choices_are_named_in_spanish_and_their_values_stay() {
        for (choices, expected) in [
            ("`a` or `b`", "`a` o `b`"),
            (
                "one of `a`, `b or c` or `one of d`",
                "uno de `a`, `b or c` o `one of d`",
            ),
        ] {
            assert_eq!(Choices(choices.to_owned()).spanish(), expected);
        }
    }
}
