//! Data extracted from ended conversations.

use crate::prelude::*;

/// The data to extract from an agent's conversations.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = analysis_schemas)]
pub struct AnalysisSchema {
    /// A JSON Schema, as JSON text. `None` extracts nothing.
    pub definition: Option<String>,
    pub created_at: Timestamp,
}

/// The data extracted from a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = conversation_analyses)]
pub struct Analysis {
    pub status: AnalysisStatus,
    /// The data, as JSON text. It matches the schema that was in force when the conversation ended.
    pub data: Option<String>,
    /// Why there is no data, for people.
    pub error: Option<String>,
    /// When it reached this status. `None` while it waits.
    pub completed_at: Option<Timestamp>,
}

/// A claimed analysis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnalysisJob {
    /// The conversation, which is settled.
    pub conversation: ConversationId,
    pub account: AccountId,
    pub claim: ClaimId,
    /// How many attempts there were, this one included.
    pub tries: i32,
    /// The JSON Schema that was in force when the conversation ended, as JSON text.
    pub definition: Option<String>,
}

/// How an analysis ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnalysisEnd {
    /// Extracted data, as JSON text.
    Completed(String),
    /// No data; the reason, for people.
    Failed(String),
}
