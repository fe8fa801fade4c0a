//! What the database reports about itself.

use offhook_domain::Timestamp;

/// The database, as the operator sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AboutDatabase {
    /// Product and version: `PostgreSQL 17.2`, `SQLite 3.50.4`.
    pub version: String,
    pub major: i32,
    /// The database's own clock. `None` for the embedded one, which uses this process's.
    pub clock: Option<Timestamp>,
    /// Connections that the server allows. `None` for the embedded one.
    pub connections: Option<i32>,
    /// Settings, with name and value, under which committed data might not survive a power cut.
    pub unsafe_settings: Vec<(String, String)>,
}
