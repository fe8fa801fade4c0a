//! Schemas of response members, by Rust type.

use serde_json::value::RawValue;

use super::schemas::{
    any_object, array, boolean, e164, instant, integer, nullable, number, string, uuid, words,
};
use crate::prelude::*;

/// A type that has a schema.
pub(crate) trait Shape {
    fn shape() -> Value;
}

/// The schema of a member of a record.
pub(crate) fn shape_of_member<R, T: Shape>(_: fn(&R) -> &T) -> Value {
    T::shape()
}

/// The schema of a value computed from a record.
pub(crate) fn shape_of_value<'a, R: 'a, T: Shape>(_: fn(&'a R) -> T) -> Value {
    T::shape()
}

macro_rules! shapes {
    ($($schema:expr => $($type:ty)*;)*) => {$($(
        impl Shape for $type {
            fn shape() -> Value {
                $schema
            }
        }
    )*)*};
}

shapes! {
    string() => str String CallHandle EmailAddress;
    integer() => i32 i64 u32 usize;
    number() => f64 Price;
    boolean() => bool;
    instant() => Timestamp;
    e164() => E164;
    any_object() => Json RawValue;
    array(words(Scope::ALL)) => Scopes;
    array(words(EventType::ALL)) => EventTypes;
    words(&Plan::ALL) => Plan;
    uuid() => AccountId AgentId AttemptId BatchId ConversationId DeliveryId DocumentId EndpointId EventId FolderId;
    uuid() => InvoiceId KeyId LedgerId LogEntryId MemberId PhoneNumberId RecipientId RequestId
        SuppressionId CampaignId CampaignRecipientId ScenarioId TestRunId;
}

macro_rules! vocabularies {
    ($($type:ident)*) => {
        shapes! { $(words($type::ALL) => $type;)* }
    };
}

vocabularies! {
    BatchStatus CampaignPause CampaignRecipientStatus CampaignStatus DeliveryState DialRule DocumentSource DocumentStatus EndpointStatus EventType FailureReason IntegrationCategory
    IntegrationStatus InvoiceStatus MemberRole NumberProvider Outcome PausedReason RecipientStatus SuppressionSource TestStatus TransactionType VoiceGender
    VoiceProvider VoiceSource
}

impl<T: Shape + ?Sized> Shape for &T {
    fn shape() -> Value {
        T::shape()
    }
}

impl<T: Shape> Shape for Option<T> {
    fn shape() -> Value {
        nullable(T::shape())
    }
}

impl<T: Shape> Shape for Vec<T> {
    fn shape() -> Value {
        array(T::shape())
    }
}
