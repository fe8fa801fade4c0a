//! What the database says of itself.

use offhook_domain::Timestamp;

/// The database, for the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AboutDatabase {
    /// Product and version: `PostgreSQL 17.2`, `SQLite 3.50.4`.
    pub version: String,
    /// The version's first number.
    pub major: i32,
    /// The database's own clock; `None` for the embedded one, which has this process's.
    pub clock: Option<Timestamp>,
    /// Connections that the server allows; `None` for the embedded one.
    pub connections: Option<i32>,
    /// Settings that are not as they must be for what is committed to survive a power cut: a name and its value each.
    pub unsafe_settings: Vec<(String, String)>,
}
