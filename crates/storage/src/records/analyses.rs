//! What is extracted from conversations that have ended.

use diesel::prelude::*;
use offhook_domain::{AccountId, AnalysisStatus, ClaimId, ConversationId, Timestamp};

use crate::schema;

/// What is to be extracted from an agent's conversations.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = schema::analysis_schemas)]
pub struct AnalysisSchema {
    /// A JSON Schema, as JSON text; `None`: nothing.
    pub definition: Option<String>,
    /// When it was set.
    pub created_at: Timestamp,
}

/// What was extracted from a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = schema::conversation_analyses)]
pub struct Analysis {
    /// How far it is.
    pub status: AnalysisStatus,
    /// The data, as JSON text: it fits the schema that was in force when the conversation ended.
    pub data: Option<String>,
    /// Why there is none, for people.
    pub error: Option<String>,
    /// Since when it is as it is; `None` while it waits.
    pub completed_at: Option<Timestamp>,
}

/// An analysis that somebody makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnalysisJob {
    /// The conversation, which is settled.
    pub conversation: ConversationId,
    /// Whose it is.
    pub account: AccountId,
    /// The claim.
    pub claim: ClaimId,
    /// How often it has been tried, this time included.
    pub tries: i32,
    /// The JSON Schema that was in force when the conversation ended, as JSON text.
    pub definition: Option<String>,
}

/// How an analysis ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnalysisEnd {
    /// With data, as JSON text.
    Completed(String),
    /// Without; the reason, for people.
    Failed(String),
}
