//! Domain types as values of the column types ([`types`](crate::database::types)).

use diesel::deserialize::{self, FromSql, Queryable};
use diesel::expression::{AsExpression, TypedExpressionType};
use diesel::internal::derives::as_expression::Bound;
use diesel::serialize::{self, IsNull, Output, ToSql};
use diesel::sql_types::{BigInt, Binary, Bool, Integer, Nullable, SqlType, Text, is_nullable};
use offhook_domain::*;

use crate::database::{Db, RawValue, Value, micros, text};

pub(crate) use crate::database::types::{Instant, Json, Uuid, Word};

/// A domain type as a value in a statement. The types themselves are foreign. Diesel makes every `Expression` an
/// `AsExpression`, and the compiler assumes that a foreign type may become an `Expression`, even where the column's
/// type belongs to this crate. So only a local type may declare which column it fits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct V<T>(pub(crate) T);

/// Marks the types that fit a column type.
pub(crate) trait Fits<ST> {}

impl<ST, T: Fits<ST> + ?Sized> Fits<ST> for &T {}

macro_rules! plain {
    ($($sql:ty: $($rust:ty),*;)*) => {
        $($(impl Fits<$sql> for $rust {})*)*
    };
}

plain! {
    BigInt: i64;
    Binary: [u8], [u8; 32], Vec<u8>;
    Bool: bool;
    Integer: i32;
    Text: str, String;
}

macro_rules! expression {
    ([$($generics:tt)*] $value:ty => $bound:ty as $sql:ty: $convert:expr) => {
        impl<$($generics)*> AsExpression<$sql> for V<$value> {
            type Expression = Bound<$sql, $bound>;

            fn as_expression(self) -> Self::Expression {
                let convert: fn($value) -> $bound = $convert;
                Bound::new(convert(self.0))
            }
        }
    };
}

macro_rules! values {
    ($($sql:ty),*) => {$(
        expression!([T: Fits<$sql>] T => T as $sql: |value| value);
        expression!([T: Fits<$sql>] T => Option<T> as Nullable<$sql>: Some);
        expression!([T: Fits<$sql>] Option<T> => Option<T> as Nullable<$sql>: |value| value);
        expression!(['a, T: Fits<$sql>] &'a Option<T> => Option<&'a T> as Nullable<$sql>: Option::as_ref);

        impl<T: ToSql<$sql, Db> + std::fmt::Debug> ToSql<$sql, Db> for V<T> {
            fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Db>) -> serialize::Result {
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

values!(
    Uuid, Instant, Json, Word, BigInt, Binary, Bool, Integer, Text
);

/// A value that is NULL.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Null;

impl<ST: SqlType<IsNull = is_nullable::NotNull>> AsExpression<Nullable<ST>> for Null
where
    Nullable<ST>: TypedExpressionType,
{
    type Expression = Bound<Nullable<ST>, Self>;

    fn as_expression(self) -> Self::Expression {
        Bound::new(self)
    }
}

impl<ST> ToSql<Nullable<ST>, Db> for Null {
    fn to_sql<'b>(&'b self, _out: &mut Output<'b, '_, Db>) -> serialize::Result {
        Ok(IsNull::Yes)
    }
}

/// Values for columns of a table, to insert or to set: `column = value`, `column = NULL`, `column += number`, `column -= number`. A name
/// alone takes the value of the variable of this name, or after `of record` that of the record's field.
macro_rules! row {
    ($table:ident: $($columns:tt)*) => {
        $crate::sql::row!(@ $table () () $($columns)*)
    };
    ($table:ident of $record:ident: $($columns:tt)*) => {
        $crate::sql::row!(@ $table ($record) () $($columns)*)
    };
    (@ $table:ident $of:tt ($($done:expr,)*)) => {
        ($($done,)*)
    };
    (@ $table:ident $of:tt ($($done:expr,)*) $column:ident = NULL $(, $($rest:tt)*)?) => {
        $crate::sql::row!(@ $table $of ($($done,)* $table::$column.eq($crate::sql::Null),) $($($rest)*)?)
    };
    (@ $table:ident $of:tt ($($done:expr,)*) $column:ident = $value:expr $(, $($rest:tt)*)?) => {
        $crate::sql::row!(@ $table $of ($($done,)* $table::$column.eq($crate::sql::V($value)),) $($($rest)*)?)
    };
    (@ $table:ident $of:tt ($($done:expr,)*) $column:ident += $value:expr $(, $($rest:tt)*)?) => {
        $crate::sql::row!(@ $table $of ($($done,)* $table::$column.eq($table::$column + $value),) $($($rest)*)?)
    };
    (@ $table:ident $of:tt ($($done:expr,)*) $column:ident -= $value:expr $(, $($rest:tt)*)?) => {
        $crate::sql::row!(@ $table $of ($($done,)* $table::$column.eq($table::$column - $value),) $($($rest)*)?)
    };
    (@ $table:ident () ($($done:expr,)*) $column:ident $(, $($rest:tt)*)?) => {
        $crate::sql::row!(@ $table () ($($done,)* $table::$column.eq($crate::sql::V($column)),) $($($rest)*)?)
    };
    (@ $table:ident ($record:ident) ($($done:expr,)*) $column:ident $(, $($rest:tt)*)?) => {
        $crate::sql::row!(@ $table ($record) ($($done,)* $table::$column.eq($crate::sql::V(&$record.$column)),) $($($rest)*)?)
    };
}

/// Inserts a [`row!`].
macro_rules! insert {
    ($conn:expr, $table:ident $($row:tt)*) => {
        diesel::insert_into($table::table)
            .values($crate::sql::row!($table $($row)*))
            .run($conn)
            .await
    };
}

/// Inserts a [`row!`] unless there is one with its key, and tells whether it did.
macro_rules! insert_new {
    ($conn:expr, $table:ident $($row:tt)*) => {
        diesel::insert_into($table::table)
            .values($crate::sql::row!($table $($row)*))
            .on_conflict_do_nothing()
            .changes($conn)
            .await
    };
}
pub(crate) use {insert, insert_new, row};

/// Maps a domain type to a column type.
macro_rules! column {
    ($sql:ident: $rust:ty, |$value:ident| $to:expr, |$raw:ident| $from:expr) => {
        impl Fits<$sql> for $rust {}

        impl ToSql<$sql, Db> for $rust {
            fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Db>) -> serialize::Result {
                let $value = self;
                out.set_value($to);
                Ok(IsNull::No)
            }
        }

        impl FromSql<$sql, Db> for $rust {
            fn from_sql($raw: RawValue<'_>) -> deserialize::Result<Self> {
                $from
            }
        }
    };
}

/// What diesel's derive would make generic over the database.
macro_rules! queryable {
    ($sql:ident: $rust:ty) => {
        impl Queryable<$sql, Db> for $rust {
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
            Uuid: $id, |id| Value::Uuid(*id.uuid().as_bytes()),
            |raw| Ok($id::from_uuid(<uuid::Uuid as FromSql<Uuid, Db>>::from_sql(raw)?))
        }
        queryable!(Uuid: $id);
    )*};
}

id_columns! {
    AccountId AgentId AttemptId BatchId CampaignId CampaignRecipientId ClaimId ConversationId CredentialId DeliveryId DocumentId EndpointId EventId
    FolderId InvitationId InvoiceId KeyId LedgerId LogEntryId MemberId NodeId NoteId PhoneNumberId RecipientId RequestId
    ResourceId SavedViewId ScenarioId SuppressionId TestRunId ToolId WhatsAppMessageId WhatsAppThreadId
}

column! {
    Instant: Timestamp, |at| Value::Instant(at.micros()), |raw| Ok(Timestamp::from_micros(micros(raw)?))
}

queryable!(Instant: Timestamp);

column! { Json: String, |json| Value::Text(json.clone()), |raw| text(raw) }

/// Words of a vocabulary, stored in their API form.
macro_rules! word_columns {
    ($($word:ident)*) => {$(
        column! {
            Word: $word, |word| Value::Text(word.to_string()),
            |raw| text(raw)?.parse().map_err(|_| concat!("no ", stringify!($word)).into())
        }
        queryable!(Word: $word);
    )*};
}

word_columns! {
    AgentStatus AnalysisStatus AttemptOutcome BatchStatus CallState CampaignPause CampaignRecipientStatus CampaignStatus Channel ContextResult ConversationStatus CredentialProvider
    DeliveryState DialRule DocumentSource DocumentStatus E164 EmailAddress EndpointStatus EventType EventTypes FailureReason
    IntegrationStatus InvoiceStatus MemberRole NumberProvider Outcome PausedReason Plan RecipientStatus ResourceKind Runtime
    Scopes SentStatus SuppressionSource TestStatus TerminationReason ThresholdKind TransactionType VoiceGender VoiceProvider VoiceSource
}
