//! The project's column types: each maps one `table!` column to the best type of each database.
//!
//! | type | PostgreSQL | SQLite |
//! |---|---|---|
//! | [`Uuid`] | `uuid` | `BLOB` of 16 bytes |
//! | [`Instant`] | `timestamptz` | `INTEGER`, microseconds since 1970 |
//! | [`Json`] | `json` (the client's own text) | `TEXT` |
//! | [`Word`] | `text` | `TEXT` |

use diesel::query_builder::QueryId;
use diesel::sql_types::SqlType;

#[derive(Debug, Clone, Copy, Default, SqlType, QueryId)]
#[diesel(postgres_type(oid = 2950, array_oid = 2951))]
#[diesel(sqlite_type(name = "Binary"))]
pub struct Uuid;

/// An instant with microseconds.
#[derive(Debug, Clone, Copy, Default, SqlType, QueryId)]
#[diesel(postgres_type(oid = 1184, array_oid = 1185))]
#[diesel(sqlite_type(name = "Long"))]
pub struct Instant;

/// JSON text, kept byte for byte.
#[derive(Debug, Clone, Copy, Default, SqlType, QueryId)]
#[diesel(postgres_type(oid = 114, array_oid = 199))]
#[diesel(sqlite_type(name = "Text"))]
pub struct Json;

/// A word of a vocabulary, or a phone number: text that a domain type parses.
#[derive(Debug, Clone, Copy, Default, SqlType, QueryId)]
#[diesel(postgres_type(oid = 25, array_oid = 1009))]
#[diesel(sqlite_type(name = "Text"))]
pub struct Word;
