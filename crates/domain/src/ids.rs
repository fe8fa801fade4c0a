//! Ids: lower-case UUIDs (version 7). Each kind of row has its own type, so that ids cannot be confused.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};
use uuid::Uuid;

use crate::Timestamp;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Uuid);

        impl $name {
            /// Creates an id from a time and 10 random bytes, in UUIDv7 layout: later ids sort later.
            #[must_use]
            pub fn mint(now: Timestamp, random: [u8; 10]) -> Self {
                let millis = u64::try_from(now.unix_millis()).unwrap_or(0);
                Self(uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid())
            }

            /// Wraps a stored UUID.
            #[must_use]
            pub const fn from_uuid(uuid: Uuid) -> Self {
                Self(uuid)
            }

            /// Returns the UUID, for storage.
            #[must_use]
            pub const fn uuid(self) -> Uuid {
                self.0
            }

            /// Returns the nil id, which sorts first.
            #[must_use]
            pub const fn nil() -> Self {
                Self(Uuid::nil())
            }
        }

        impl From<Uuid> for $name {
            fn from(uuid: Uuid) -> Self {
                Self(uuid)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.hyphenated().fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0.hyphenated())
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            /// Accepts only the hyphenated form of 36 characters, in either case.
            fn from_str(text: &str) -> Result<Self, IdError> {
                if text.len() != 36 {
                    return Err(IdError);
                }
                Uuid::try_parse(text).map(Self).map_err(|_| IdError)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
    )*};
}

/// The text is not a hyphenated UUID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a UUID (write it as 8-4-4-4-12 hexadecimal digits)")]
pub struct IdError;

ids! {
    /// A customer's account.
    AccountId;
    /// An agent of either runtime.
    AgentId;
    /// One attempt of a webhook delivery (`X-Service-Delivery`).
    AttemptId;
    /// A campaign.
    CampaignId;
    /// A recipient of a campaign.
    CampaignRecipientId;
    /// The fencing token of a claim: every step of the claimed work carries it.
    ClaimId;
    /// A conversation on any channel; a call's handle contains it.
    ConversationId;
    /// A scenario that an agent is tested with.
    ScenarioId;
    /// A run of scenarios.
    TestRunId;
    /// The delivery of one event to one endpoint.
    DeliveryId;
    /// A knowledge document.
    DocumentId;
    /// A webhook endpoint.
    EndpointId;
    /// An event (`X-Service-Event-Id`).
    EventId;
    /// A folder of knowledge documents.
    FolderId;
    /// An API key.
    KeyId;
    /// An entry of the request log.
    LogEntryId;
    /// A wallet transaction.
    LedgerId;
    /// A team member.
    MemberId;
    /// One running process of the service.
    NodeId;
    /// One HTTP request (`X-Request-Id`).
    RequestId;
    /// The object of a request; [`crate::Resource`] says which kind it is.
    ResourceId;
    /// A tool of an account.
    ToolId;
}

ids! {
    /// A batch of calls.
    BatchId;
    /// An account's credential at a provider.
    CredentialId;
    /// An account's invoice of a month.
    InvoiceId;
    /// A phone number of an account.
    PhoneNumberId;
    /// A recipient of a batch.
    RecipientId;
}

ids! {
    /// A note on a conversation.
    NoteId;
    /// A member's saved filter of a list.
    SavedViewId;
    /// A number that an account does not call.
    SuppressionId;
}

ids! {
    /// An invitation to an account's team.
    InvitationId;
}

ids! {
    /// The messages between a customer and an account's number on WhatsApp.
    WhatsAppThreadId;
    /// A WhatsApp message to a customer.
    WhatsAppMessageId;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_version_7_uuid_in_lower_case_and_later_ids_sort_later() {
        let early = AgentId::mint(Timestamp::from_micros(1_000_000), [0xff; 10]);
        let late = AgentId::mint(Timestamp::from_micros(1_001_000), [0; 10]);
        assert!(early < late);
        assert_eq!(early.uuid().get_version_num(), 7);
        assert_eq!(early.to_string(), early.to_string().to_lowercase());
        assert_eq!(early.to_string().parse(), Ok(early));
    }

    #[test]
    fn only_the_hyphenated_form_is_an_id() {
        for text in [
            "",
            "x",
            "{0190163d-8694-739b-aea5-966c26f8ad91}",
            "0190163d8694739baea5966c26f8ad91",
        ] {
            assert_eq!(text.parse::<AgentId>(), Err(IdError), "{text}");
        }
    }
}
