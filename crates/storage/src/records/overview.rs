//! What the overview of an account shows.

use crate::prelude::*;

/// The conversations whose totals an overview shows: those that began in a range, of one agent or of all.
#[derive(Debug, Clone, Copy)]
pub struct Stretch {
    pub agent: Option<AgentId>,
    /// Inclusive.
    pub since: Timestamp,
    /// Exclusive.
    pub until: Timestamp,
}

/// Totals of the conversations that began in one quarter of an hour: every time zone is a whole number of them from UTC.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, QueryableByName)]
pub struct Quarter {
    /// Counted from 1970-01-01 ([`Quarter::begins_at`]).
    #[diesel(sql_type = BigInt)]
    pub quarter: i64,
    /// Calls that have ended.
    #[diesel(sql_type = BigInt)]
    pub calls: i64,
    /// Those of them that failed.
    #[diesel(sql_type = BigInt)]
    pub failed: i64,
    /// Those in which a person answered and spoke ([`Outcome::is_success`]).
    #[diesel(sql_type = BigInt)]
    pub answered: i64,
    /// How long these lasted.
    #[diesel(sql_type = BigInt)]
    pub seconds: i64,
    /// What all conversations cost.
    #[diesel(sql_type = BigInt)]
    pub credits: i64,
}

impl Quarter {
    pub(crate) const SECONDS: i64 = 900;

    #[must_use]
    pub const fn begins_at(&self) -> Timestamp {
        Timestamp::from_micros(self.quarter * Self::SECONDS * 1_000_000)
    }
}

/// What one agent's conversations by one key have used in a stretch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, QueryableByName)]
pub struct UsageShare {
    #[diesel(sql_type = sql::Uuid)]
    pub agent_id: AgentId,
    /// The key that placed them; `None` for those that no key did.
    #[diesel(sql_type = Nullable<sql::Uuid>)]
    pub key_id: Option<KeyId>,
    #[diesel(sql_type = BigInt)]
    pub conversations: i64,
    #[diesel(sql_type = BigInt)]
    pub seconds: i64,
    #[diesel(sql_type = BigInt)]
    pub credits: Credits,
}

/// How long the customer of one call waited for the agent's replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallLatency {
    /// Replies that were measured.
    pub turns: i32,
    /// Median in milliseconds.
    pub p50_ms: i32,
    /// 95th percentile in milliseconds.
    pub p95_ms: i32,
}

/// A call in progress, with its latest moment.
#[derive(Debug, Clone, Queryable)]
pub struct LiveCall {
    pub view: ConversationView,
    /// Who spoke last, if the latest moment was a turn.
    pub role: Option<String>,
    /// What was said.
    pub said: Option<String>,
    /// When the latest moment happened.
    pub at: Option<Timestamp>,
}
