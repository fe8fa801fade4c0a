//! Column types of this project: each gives both databases their own best column from one `table!`.
//!
//! | type | PostgreSQL | SQLite |
//! |---|---|---|
//! | [`Uuid`] | `uuid` | `BLOB` of 16 bytes |
//! | [`Instant`] | `timestamptz` | `INTEGER`, microseconds since 1970 |
//! | [`Json`] | `json` (the client's own text) | `TEXT` |
//! | [`Word`] | `text` | `TEXT` |

use std::io::Write;

use diesel::deserialize::{self, FromSql, Queryable};
use diesel::expression::AsExpression;
use diesel::internal::derives::as_expression::Bound;
use diesel::pg::{Pg, PgValue};
use diesel::query_builder::QueryId;
use diesel::serialize::{self, IsNull, Output, ToSql};
use diesel::sql_types::{BigInt, Binary, Nullable, SqlType, Text};
use diesel::sqlite::{Sqlite, SqliteValue};
use offhook_domain::AnalysisStatus;
use offhook_domain::SliceId;
use offhook_domain::{
    AccountId, AgentId, AgentStatus, AttemptId, BatchId, BatchStatus, CallState, Channel, ClaimId,
    ConversationId, ConversationStatus, CredentialId, CredentialProvider, DeliveryId, DocumentId,
    DocumentSource, DocumentStatus, E164, EndpointId, EventId, EventType, FailureReason, FolderId,
    KeyId, LedgerId, MemberId, NodeId, NumberProvider, PausedReason, PhoneNumberId, Plan,
    RecipientId, RecipientStatus, Runtime, Scopes, TerminationReason, Timestamp, ToolId,
};
use offhook_domain::{EmailAddress, IntegrationStatus, InvitationId, MemberRole};
use offhook_domain::{
    InvoiceId, InvoiceStatus, LogEntryId, RequestId, ResourceId, ResourceKind, TransactionType,
    VoiceGender, VoiceProvider, VoiceSource,
};
use offhook_domain::{SentStatus, WhatsAppMessageId, WhatsAppThreadId};

use crate::records::{AttemptOutcome, DeliveryState, EndpointStatus};

/// A UUID.
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

/// A word of a vocabulary, or a phone number: text that a domain type reads.
#[derive(Debug, Clone, Copy, Default, SqlType, QueryId)]
#[diesel(postgres_type(oid = 25, array_oid = 1009))]
#[diesel(sqlite_type(name = "Text"))]
pub struct Word;

/// A domain type as a value in a statement. The types themselves are foreign, and only a local type may say which
/// column it fits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct V<T>(pub(crate) T);

/// Marks the types that fit a column type.
pub(crate) trait Fits<ST> {}

macro_rules! values {
    ($($sql:ty),*) => {$(
        impl<T: Fits<$sql>> AsExpression<$sql> for V<T> {
            type Expression = Bound<$sql, Self>;

            fn as_expression(self) -> Self::Expression {
                Bound::new(self)
            }
        }

        impl<T: Fits<$sql>> AsExpression<Nullable<$sql>> for V<T> {
            type Expression = Bound<Nullable<$sql>, Self>;

            fn as_expression(self) -> Self::Expression {
                Bound::new(self)
            }
        }

        impl<T: ToSql<$sql, Pg> + std::fmt::Debug> ToSql<$sql, Pg> for V<T> {
            fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
                self.0.to_sql(out)
            }
        }

        impl<T: ToSql<$sql, Sqlite> + std::fmt::Debug> ToSql<$sql, Sqlite> for V<T> {
            fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Sqlite>) -> serialize::Result {
                self.0.to_sql(out)
            }
        }

        impl<T: Fits<$sql> + std::fmt::Debug, DB: diesel::backend::Backend> ToSql<Nullable<$sql>, DB> for V<T>
        where
            Self: ToSql<$sql, DB>,
        {
            fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, DB>) -> serialize::Result {
                ToSql::<$sql, DB>::to_sql(self, out)
            }
        }
    )*};
}

values!(Uuid, Instant, Json, Word);

/// Lets a domain type stand for a column type on both databases.
macro_rules! column {
    ($sql:ident: $rust:ty, |$value:ident, $out:ident| pg $to_pg:expr, sqlite $to_sqlite:expr,
     from |$pg:ident| $from_pg:expr, |$sqlite:ident| $from_sqlite:expr) => {
        impl Fits<$sql> for $rust {}

        impl ToSql<$sql, Pg> for $rust {
            fn to_sql<'b>(&'b self, $out: &mut Output<'b, '_, Pg>) -> serialize::Result {
                let $value = self;
                $to_pg
            }
        }

        impl ToSql<$sql, Sqlite> for $rust {
            fn to_sql<'b>(&'b self, $out: &mut Output<'b, '_, Sqlite>) -> serialize::Result {
                let $value = self;
                $out.set_value($to_sqlite);
                Ok(IsNull::No)
            }
        }

        impl FromSql<$sql, Pg> for $rust {
            fn from_sql($pg: PgValue<'_>) -> deserialize::Result<Self> {
                $from_pg
            }
        }

        impl FromSql<$sql, Sqlite> for $rust {
            fn from_sql($sqlite: SqliteValue<'_, '_, '_>) -> deserialize::Result<Self> {
                $from_sqlite
            }
        }
    };
}

/// What diesel's derive would make generic over the database, made for each.
macro_rules! queryable {
    ($sql:ident: $rust:ty) => {
        impl Queryable<$sql, Pg> for $rust {
            type Row = Self;

            fn build(row: Self) -> deserialize::Result<Self> {
                Ok(row)
            }
        }

        impl Queryable<$sql, Sqlite> for $rust {
            type Row = Self;

            fn build(row: Self) -> deserialize::Result<Self> {
                Ok(row)
            }
        }
    };
}

macro_rules! id_columns {
    ($($id:ident)*) => {$(
        column! {
            Uuid: $id, |id, out|
            pg {
                out.write_all(id.uuid().as_bytes())?;
                Ok(IsNull::No)
            },
            sqlite id.uuid().as_bytes().to_vec(),
            from |value| Ok($id::from_uuid(uuid::Uuid::from_slice(value.as_bytes())?)),
            |value| {
                let bytes = <Vec<u8> as FromSql<Binary, Sqlite>>::from_sql(value)?;
                Ok($id::from_uuid(uuid::Uuid::from_slice(&bytes)?))
            }
        }
        queryable!(Uuid: $id);
    )*};
}

id_columns! {
    AccountId AgentId AttemptId ClaimId ConversationId DeliveryId EndpointId EventId KeyId LedgerId MemberId NodeId
    ToolId
}

id_columns! { LogEntryId RequestId ResourceId }

/// Microseconds from 1970-01-01 to 2000-01-01, where PostgreSQL's `timestamptz` begins.
const POSTGRES_EPOCH: i64 = 946_684_800_000_000;

column! {
    Instant: Timestamp, |at, out|
    pg {
        out.write_all(&at.micros().saturating_sub(POSTGRES_EPOCH).to_be_bytes())?;
        Ok(IsNull::No)
    },
    sqlite at.micros(),
    from |value| {
        let bytes: [u8; 8] = value.as_bytes().try_into()?;
        Ok(Timestamp::from_micros(i64::from_be_bytes(bytes).saturating_add(POSTGRES_EPOCH)))
    },
    |value| Ok(Timestamp::from_micros(<i64 as FromSql<BigInt, Sqlite>>::from_sql(value)?))
}

id_columns! { BatchId CredentialId InvoiceId PhoneNumberId RecipientId }

id_columns! { InvitationId }

id_columns! { SliceId }

id_columns! { DocumentId FolderId }

id_columns! { WhatsAppMessageId WhatsAppThreadId }

queryable!(Instant: Timestamp);

column! {
    Json: String, |text, out|
    pg {
        out.write_all(text.as_bytes())?;
        Ok(IsNull::No)
    },
    sqlite text.as_str(),
    from |value| Ok(std::str::from_utf8(value.as_bytes())?.to_owned()),
    |value| <String as FromSql<Text, Sqlite>>::from_sql(value)
}

/// Words of a vocabulary, stored as their wire form.
macro_rules! word_columns {
    ($($word:ident)*) => {$(
        column! {
            Word: $word, |word, out|
            pg {
                out.write_all(word.to_string().as_bytes())?;
                Ok(IsNull::No)
            },
            sqlite word.to_string(),
            from |value| {
                let text = std::str::from_utf8(value.as_bytes())?;
                text.parse().map_err(|_| concat!("no ", stringify!($word)).into())
            },
            |value| {
                let text = <String as FromSql<Text, Sqlite>>::from_sql(value)?;
                text.parse().map_err(|_| concat!("no ", stringify!($word)).into())
            }
        }
        queryable!(Word: $word);
    )*};
}

word_columns! {
    AgentStatus AttemptOutcome CallState Channel ConversationStatus DeliveryState E164 EndpointStatus EventType
    FailureReason Plan Runtime Scopes TerminationReason
}

word_columns! { VoiceGender VoiceProvider VoiceSource }

word_columns! { BatchStatus CredentialProvider NumberProvider PausedReason RecipientStatus }

word_columns! { EmailAddress IntegrationStatus MemberRole }

word_columns! { InvoiceStatus TransactionType }
word_columns! { DocumentSource DocumentStatus }
word_columns! { SentStatus }

word_columns! { AnalysisStatus ResourceKind }
