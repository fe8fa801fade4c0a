//! Notes on conversations, and members' saved filters.

use crate::prelude::*;

/// A note on a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = conversation_notes)]
pub struct Note {
    pub id: NoteId,
    pub account_id: AccountId,
    pub conversation_id: ConversationId,
    pub member_id: MemberId,
    /// The author's name when it was written: it stays when they leave.
    pub author: String,
    pub text: String,
    pub created_at: Timestamp,
}

/// What became of the request to a context URL that a conversation began with.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = conversation_contexts)]
pub struct ContextNote {
    pub conversation_id: ConversationId,
    pub at: Timestamp,
    pub took_ms: i32,
    pub result: ContextResult,
    /// What was refused, wrong or left out; may be empty.
    pub detail: String,
}

/// A member's named filter of the list of conversations.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = saved_views)]
pub struct SavedView {
    pub id: SavedViewId,
    pub account_id: AccountId,
    pub member_id: MemberId,
    /// Unique for its member.
    pub name: String,
    /// The query of the list's address.
    pub query: String,
}
