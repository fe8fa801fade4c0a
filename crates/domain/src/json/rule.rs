//! Rules of single fields, which a page can translate.

use crate::{E164Error, TimestampError};

/// The rule that a field broke; the text of each is the message for the client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each is told by its message")]
pub enum Rule {
    #[error("must not be blank")]
    Blank,
    #[error("must not be null")]
    Null,
    #[error("must be a UUID")]
    Uuid,
    #[error("appears more than once")]
    Twice,
    #[error("must be {0}")]
    Choice(String),
    #[error("longer than {0} bytes")]
    Bytes(usize),
    #[error("is required to publish")]
    ToPublish,
    #[error("must be a BCP 47 language tag, such as es-MX")]
    Language,
    #[error("must be an IANA time zone, such as America/Mexico_City")]
    TimeZone,
    #[error("must be a time of day as `HH:MM`, 00:00 to 23:59")]
    TimeOfDay,
    #[error(transparent)]
    Date(TimestampError),
    #[error(transparent)]
    Phone(E164Error),
    #[error("this service calls only numbers that begin with {0}")]
    Prefixes(String),
    #[error("no agent of this account has this id")]
    NoAgent,
    #[error("no number of this account has this id")]
    NoNumber,
    #[error("the account has no such folder")]
    NoFolder,
    #[error("the account has no such document")]
    NoDocument,
    #[error("the account has no such tool; GET /v1/agents/tools lists them")]
    NoTool,
    #[error("the agent has no such version")]
    NoVersion,
    #[error("`{provider}` has no such model; GET /v1/models?kind={kind} lists them")]
    NoModel {
        provider: String,
        kind: &'static str,
    },
    #[error("`{0}` is not set up on this service (models.{0}.base_url)")]
    NoProvider(String),
    /// A text that is no JSON, with the line and column of the syntax error.
    #[error("{message}")]
    Json {
        place: Option<(usize, usize)>,
        message: String,
    },
    /// The format of a file, with the message of the file reader.
    #[error("{0}")]
    FileKind(String),
    /// A URL, with the message of the request guard.
    #[error("{message}")]
    Url { rule: UrlRule, message: String },
}

/// The rule that a URL broke.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is told by the message beside it")]
pub enum UrlRule {
    Length,
    Characters,
    Whole,
    Https,
    Credentials,
    Fragment,
    Address,
    Local,
    Host,
    Port,
}
