//! The faults of a field.

use std::borrow::Cow;
use std::fmt;

use super::Rule;
use crate::{E164Error, TimestampError};

/// A fault of a field. Common faults have their own variants, so that a page can translate them; the text of each is
/// the message for the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// `is required`
    Required,
    /// `must not be empty`
    Empty,
    /// `must be a string`
    NotText,
    /// `must be true or false`
    NotBool,
    /// `must be an object`
    NotObject,
    /// `must be an array`
    NotArray,
    /// `must be an integer from A to B`
    NotInteger {
        /// The minimum.
        low: i64,
        /// The maximum.
        high: i64,
    },
    /// `must be a number from A to B`
    NotNumber {
        /// The minimum, as written.
        low: String,
        /// The maximum, as written.
        high: String,
    },
    /// `longer than N characters`
    TooLong(usize),
    /// `shorter than N characters`
    TooShort(usize),
    /// `more than N items`
    TooMany(usize),
    /// `fewer than N items`
    TooFew(usize),
    /// `unknown field`
    Unknown,
    /// A rule for fields of one kind. Boxed, because most results carry an error type but no fault.
    Rule(Box<Rule>),
    /// A rule for this field only.
    Own(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Required => f.write_str("is required"),
            Self::Empty => f.write_str("must not be empty"),
            Self::NotText => f.write_str("must be a string"),
            Self::NotBool => f.write_str("must be true or false"),
            Self::NotObject => f.write_str("must be an object"),
            Self::NotArray => f.write_str("must be an array"),
            Self::NotInteger { low, high } => write!(f, "must be an integer from {low} to {high}"),
            Self::NotNumber { low, high } => write!(f, "must be a number from {low} to {high}"),
            Self::TooLong(most) => write!(f, "longer than {most} characters"),
            Self::TooShort(least) => write!(f, "shorter than {least} characters"),
            Self::TooMany(most) => write!(f, "more than {most} items"),
            Self::TooFew(least) => write!(f, "fewer than {least} items"),
            Self::Unknown => f.write_str("unknown field"),
            Self::Rule(rule) => write!(f, "{rule}"),
            Self::Own(message) => f.write_str(message),
        }
    }
}

impl From<Rule> for Fault {
    fn from(rule: Rule) -> Self {
        Self::Rule(Box::new(rule))
    }
}

impl From<E164Error> for Fault {
    fn from(error: E164Error) -> Self {
        Rule::Phone(error).into()
    }
}

impl From<TimestampError> for Fault {
    fn from(error: TimestampError) -> Self {
        Rule::Date(error).into()
    }
}

impl From<String> for Fault {
    fn from(message: String) -> Self {
        Self::Own(message)
    }
}

impl From<&str> for Fault {
    fn from(message: &str) -> Self {
        Self::Own(message.to_owned())
    }
}

impl From<&String> for Fault {
    fn from(message: &String) -> Self {
        Self::Own(message.clone())
    }
}

impl From<Cow<'_, str>> for Fault {
    fn from(message: Cow<'_, str>) -> Self {
        Self::Own(message.into_owned())
    }
}
