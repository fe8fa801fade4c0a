//! Agents: runtimes and states.

macro_rules! vocabulary {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident => $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$vdoc])* $variant,)* }

        impl $name {
            /// Every value.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The wire form.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// Every wire form, for error messages: `a`, `b` or `c`.
            #[must_use]
            pub fn choices() -> String {
                let names: Vec<String> = Self::ALL.iter().map(|v| format!("`{}`", v.as_str())).collect();
                match names.split_last() {
                    Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
                    _ => names.concat(),
                }
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

/// The text is not in the vocabulary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a known value")]
pub struct UnknownWord;

vocabulary! {
    /// Who runs an agent.
    Runtime {
        /// Fully manageable: configuration, versions, publish.
        Engine => "engine",
        /// Listed and renamed here; its configuration lives elsewhere.
        Legacy => "legacy",
    }
}

vocabulary! {
    /// An agent's status.
    AgentStatus {
        /// Never published.
        Draft => "draft",
        /// Serves calls.
        Active => "active",
        /// Refuses calls until it is active again.
        Paused => "paused",
        /// Put away; its conversations stay.
        Archived => "archived",
        /// The published version cannot hold a call.
        Error => "error",
    }
}

impl AgentStatus {
    /// Whether a client may ask for this change: `active` ⇄ `paused`, any → `archived` → `paused`; staying is no change.
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
