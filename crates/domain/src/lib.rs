#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod agent;
mod analysis;
mod batch;
mod billing;
mod call;
mod campaign;
mod campaign_settings;
mod changes;
mod credential;
mod dialing;
mod document;
mod e164;
mod email;
mod ids;
mod integration;
mod member;
mod number;
mod plan;
mod price;
mod resource;
mod scenario;
mod scope;
mod timestamp;
mod voice;
mod webhook;
mod whatsapp;

pub mod body;
pub mod config;
pub mod json;
pub mod messages;
pub mod metadata;
pub mod ports;
pub mod tool;

pub use agent::{AgentStatus, Runtime, Vocabulary};
pub use analysis::{AnalysisFault, AnalysisStatus};
pub use batch::{BatchStatus, PausedReason, RecipientStatus};
pub use billing::{EntryText, InvoiceStatus, ThresholdKind, TransactionType};
pub use call::{
    CallHandle, CallOutcome, CallState, Channel, ContextResult, ConversationStatus, FailureReason,
    Outcome, TerminationReason, TurnRole,
};
pub use campaign::{CampaignPause, CampaignRecipientStatus, CampaignStatus};
pub use campaign_settings::{CampaignSettings, CircuitBreaker, Retry, RetryRules};
pub use changes::{Changes, FieldChange};
pub use config::{AgentConfig, ConfigWrite};
pub use credential::{CredentialProvider, OwnKey};
pub use dialing::{CallWindow, Consent, DialRule, DialWindow, DialingRules, SuppressionSource};
pub use document::{DocumentFault, DocumentSource, DocumentStatus, MAX_DOCUMENT_BYTES, Unfetched};
pub use e164::{E164, E164Error};
pub use email::{EmailAddress, EmailAddressError};
pub use ids::LogEntryId;
pub use ids::ResourceId;
pub use ids::{
    AccountId, AgentId, AttemptId, BatchId, CampaignId, CampaignRecipientId, ClaimId,
    ConversationId, CredentialId, DeliveryId, DocumentId, EndpointId, EventId, FolderId, IdError,
    InvitationId, InvoiceId, KeyId, LedgerId, MemberId, NodeId, NoteId, PhoneNumberId, RecipientId,
    RequestId, SavedViewId, ScenarioId, SuppressionId, TestRunId, ToolId, WhatsAppMessageId,
    WhatsAppThreadId,
};
pub use integration::{IntegrationCategory, IntegrationFault, IntegrationStatus};
pub use json::{FieldError, Fields, Json, JsonError};
pub use member::MemberRole;
pub use metadata::Metadata;
pub use number::NumberProvider;
pub use plan::{Plan, PlanTerms, Plans};
pub use price::{ANSWER_SECONDS, Credits, Price};
pub use resource::{Resource, ResourceKind};
pub use scenario::{CheckKind, CheckResult, EndedBy, SaidLanguage, TestStatus};
pub use scope::{Scope, Scopes};
pub use timestamp::{Clock, Timestamp, TimestampError};
pub use tool::Tool;
pub use voice::{Voice, VoiceGender, VoiceList, VoiceProvider, VoiceSource};
pub use webhook::{AttemptOutcome, DeliveryState, EndpointStatus, EventType, EventTypes};
pub use whatsapp::{SentStatus, WhatsAppNote};
