//! Agents: runtimes and states.

macro_rules! vocabulary {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident => $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$vdoc])* $variant,)* }

        impl $name {
            /// All values.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Returns the value's text in the API.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// Returns all values for error messages: `a`, `b` or `c`.
            #[must_use]
            pub fn choices() -> String {
                let names: Vec<String> = Self::ALL.iter().map(|v| format!("`{}`", v.as_str())).collect();
                match names.split_last() {
                    Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
                    _ => names.concat(),
                }
            }
        }

        impl $crate::agent::Vocabulary for $name {
            fn choices() -> String {
                Self::choices()
            }

            fn words() -> Vec<&'static str> {
                Self::ALL.iter().map(|v| v.as_str()).collect()
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl ::std::str::FromStr for $name {
            type Err = $crate::agent::UnknownWord;

            fn from_str(text: &str) -> Result<Self, $crate::agent::UnknownWord> {
                Self::ALL.iter().copied().find(|v| v.as_str() == text).ok_or($crate::agent::UnknownWord)
            }
        }

        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
    };
}
pub(crate) use vocabulary;

/// Defines a set of words of a vocabulary of at most 32: in text separated by commas, in JSON a list.
macro_rules! word_set {
    ($(#[$doc:meta])* $name:ident of $word:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Default)]
        pub struct $name(u32);

        impl $name {
            /// Returns whether `word` is in the set.
            #[must_use]
            pub const fn contains(self, word: $word) -> bool {
                self.0 & (1 << word as u32) != 0
            }

            /// Returns whether the set is empty.
            #[must_use]
            pub const fn is_empty(self) -> bool {
                self.0 == 0
            }

            /// Returns the words in the documented order.
            pub fn iter(self) -> impl Iterator<Item = $word> {
                $word::ALL.iter().copied().filter(move |word| self.contains(*word))
            }
        }

        impl FromIterator<$word> for $name {
            fn from_iter<I: IntoIterator<Item = $word>>(words: I) -> Self {
                Self(words.into_iter().fold(0, |set, word| set | 1 << word as u32))
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                for (at, word) in self.iter().enumerate() {
                    write!(f, "{}{word}", if at == 0 { "" } else { "," })?;
                }
                Ok(())
            }
        }

        impl ::std::fmt::Debug for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }

        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_seq(self.iter())
            }
        }
    };
}
pub(crate) use word_set;

/// A closed set of words.
pub trait Vocabulary: ::std::str::FromStr + 'static {
    /// All words for error messages: `a`, `b` or `c`.
    fn choices() -> String;

    /// All words.
    fn words() -> Vec<&'static str>;
}

/// The text is no value of the type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a known value")]
pub struct UnknownWord;

vocabulary! {
    /// The runtime of an agent.
    Runtime {
        /// This service: configuration, versions and publishing are managed here.
        Engine => "engine",
        /// An external provider: listed and renamed here, configured there.
        Legacy => "legacy",
    }
}

vocabulary! {
    /// The status of an agent.
    AgentStatus {
        /// Never published.
        Draft => "draft",
        /// Serves calls.
        Active => "active",
        /// Rejects calls until it is active again.
        Paused => "paused",
        /// Archived; its conversations are kept.
        Archived => "archived",
        /// The published version cannot run a call.
        Error => "error",
    }
}

impl AgentStatus {
    /// The status in Spanish.
    #[must_use]
    pub const fn in_spanish(self) -> &'static str {
        match self {
            Self::Draft => "Borrador",
            Self::Active => "Activo",
            Self::Paused => "En pausa",
            Self::Archived => "Archivado",
            Self::Error => "Error",
        }
    }

    /// Returns whether a client may request this change: `active` ⇄ `paused`, any → `archived` → `paused`; the same
    /// status is no change.
    #[must_use]
    pub fn may_become(self, next: Self) -> bool {
        use AgentStatus::{Active, Archived, Paused};
        self == next
            || matches!(
                (self, next),
                (Active, Paused) | (Paused, Active) | (Archived, Paused)
            )
            || next == Archived
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_documented_changes_of_status_are_allowed() {
        use AgentStatus::{Active, Archived, Draft, Error, Paused};
        let allowed = [
            (Active, Paused),
            (Paused, Active),
            (Archived, Paused),
            (Draft, Archived),
            (Active, Archived),
            (Paused, Archived),
            (Error, Archived),
        ];
        for from in AgentStatus::ALL.iter().copied() {
            for to in AgentStatus::ALL.iter().copied() {
                assert_eq!(
                    from.may_become(to),
                    from == to || allowed.contains(&(from, to)),
                    "{from} → {to}"
                );
            }
        }
    }

    #[test]
    fn choices_read_like_a_sentence() {
        assert_eq!(Runtime::choices(), "`engine` or `legacy`");
    }
}
