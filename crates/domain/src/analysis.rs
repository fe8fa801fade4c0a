//! Data extraction from finished conversations.

use crate::agent::vocabulary;

vocabulary! {
    /// The status of a conversation's analysis.
    AnalysisStatus {
        /// Not done yet.
        Pending => "pending",
        /// The data fits the schema.
        Completed => "completed",
        /// There is no data; `error` says why.
        Failed => "failed",
    }
}
