//! What is extracted from conversations that have ended.

use crate::agent::vocabulary;

vocabulary! {
    /// How far the analysis of a conversation is.
    AnalysisStatus {
        /// It is still to be made.
        Pending => "pending",
        /// There is data that fits the schema.
        Completed => "completed",
        /// There is none; `error` says why.
        Failed => "failed",
    }
}
