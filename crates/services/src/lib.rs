//! Offhook's use cases: the rules that need data. The HTTP API, portal and command line all use them.

mod accounts;
mod agents;
mod analyses;
mod assembly;
mod batches;
mod billing;
mod built_in;
mod caller;
mod calls;
mod campaigns;
mod casefold;
mod catalog;
mod chats;
mod clock;
mod context;
mod conversations;
mod credentials;
pub mod csv_file;
mod dialer;
mod digest;
mod draining;
mod endpoints;
mod error;
mod events;
mod feed;
mod figures;
mod gate;
mod health;
mod idempotency;
mod inbound;
mod integrations;
mod jobs;
mod keys;
mod knowledge;
mod leases;
mod legacy;
mod live;
mod maintenance;
mod network;
mod numbers;
mod overview;
mod own_keys;
mod page;
mod people;
mod personas;
mod plan_changes;
mod prelude;
mod price;
mod providers;
mod recordings;
mod redis_membership;
mod refusal;
mod request_logs;
mod restored;
mod retention;
mod retry;
mod runner;
mod scenarios;
mod signals;
mod speech;
mod spoken;
mod tail;
mod talks;
mod team;
mod toolkits;
mod tools;
mod transact;
mod trials;
mod turns;
mod uploads;
mod variables;
mod voices;
mod webhooks;
mod whatsapp;
mod widgets;
mod workers;
mod zones;

/// The bodies of requests, as they are defined beside their use cases.
pub mod bodies {
    pub use crate::agents::{CreateAgent, PublishAgent, SetAgentSettings, UpdateAgent};
    pub use crate::analyses::SetAnalysisSchema;
    pub use crate::calls::CallRequest;
    pub use crate::campaigns::{CampaignRecipientRequest, CampaignRequest};
    pub use crate::gate::{DialCheckRequest, SuppressionRequest};
    pub use crate::knowledge::{
        CreateDocument, CreateFolder, SearchKnowledge, UpdateDocument, UpdateFolder,
    };
    pub use crate::numbers::{CreatePhoneNumber, UpdatePhoneNumber};
    pub use crate::scenarios::{CallerLine, Check as ScenarioCheck, Mock, RunScenarios, Scenario};
    pub use crate::webhooks::{CreateWebhook, Recover, RotateSecret, TestWebhook, UpdateWebhook};
    pub use crate::widgets::SetWidget;
}

pub use accounts::{Accounts, BUYER_CHARS, BUYER_LINES, BuyerFault};
pub use agents::{
    AgentSettings, AgentSettingsView, AgentTexts, AgentVersionView, AgentView, Agents, ContextUrl,
    OfferedProvider,
};
pub use analyses::{Analyses, AnalysisSchemaView};
pub use assembly::{Services, ServicesConfig};
pub use batches::{BatchBody, Batches, PrintBatch, RECIPIENTS_AT_MOST};
pub use billing::{Billing, MonthSoFar, Seller, USAGE_DAYS};
pub use caller::Caller;
pub use calls::{CallSettings, Calls, Looks, PlaceCall};
pub use campaigns::{
    AddedRecipients, CAMPAIGN_ROWS_AT_MOST, CampaignEstimate, Campaigns, RecipientsPreview,
    RecipientsUpload,
};
pub use catalog::{Catalog, CatalogError, Model, ModelKind, ModelPrice, PricePart, price, priced};
pub use chats::{Answering, ChatEvent, ChatReply, ChatTranscript, Chats, OpenedChat, WidgetDoor};
pub use clock::{SharedClock, SystemClock};
pub(crate) use context::Context;
pub use context::Wakes;
pub use conversations::{Conversations, Cost, EndReason, Found, Search, SoFar, tag};
pub use credentials::{CredentialFault, Credentials};
pub use error::{InputError, SecretFault, UseCaseError};
pub use gate::{DialCheck, Gate, SuppressionsImported};
pub use health::Health;
pub use idempotency::PlacedReply;
pub use inbound::{Inbound, InboundCall};
pub use integrations::{Begun, ConnectError, ConsentAnswer, Integration, Integrations, Renewals};
pub use jobs::{Jobs, Phase};
pub use keys::{KeyError, KeyFault, Keys};
pub use knowledge::{Deleted, DocumentFile, DocumentWorker, Knowledge, NewContent, SearchHit};
pub use legacy::{Legacy, ReportError, SyncError};
pub(crate) use live::Live;
pub use network::Network;
pub use numbers::{Imported, Numbers};
pub use offhook_documents as documents;
pub use offhook_engine::ports::KeyAnswer;
pub use offhook_engine::ports::callbacks::{
    Callback as CarrierCallback, CarrierCallbacks, MediaConnection,
};
pub use offhook_engine::ports::waiting::{NotAnswered, WaitingLine};
pub use offhook_engine::{Turn as SpokenTurn, TurnLatency, TurnRole, ports::Passage};
pub use offhook_objects as objects;
pub use offhook_storage as store;
pub use overview::{Overview, REPLY_STEPS, Totals, Waits};
pub use page::{Page, PageRequest};
pub use people::{
    BeginError, ChangePasswordError, CodeError, GivenFactor, InvitationFor, JoinError, Link,
    LinkError, LinkFor, NewFactor, NewService, PASSWORD_LENGTHS, PasswordFault, People, Person,
    ProviderFault, RelyingParty, SignInError, SignedIn, SingleSignOnBegun, SingleSignOnError,
    SingleSignOnFault, TwoStepError, new_factor,
};
pub use plan_changes::{PlanChange, PlanChangeError, PlanChanges};
pub(crate) use providers::Providers;
pub use recordings::{KeepError, Recording, RecordingKeeper, Waveform};
pub use refusal::{DialRefusal, Refusal, Remedy, VersionField};
pub use request_logs::{Logged, MOST_COUNTED, RequestLogs, Told};
pub use restored::{Held, Restored};
pub use retention::Retention;
pub(crate) use runner::Runner;
pub use scenarios::{
    AnswerTime, Conversation as TestConversation, Judged, Played, Progress, SaidLine, Scenario,
    ScenarioView, Scenarios, UsedTool,
};
pub use tail::Followed;
pub use talks::{TALK_FRAME_BYTES, TALK_RATE, Talk, TalkEvent, Talks};
pub use team::{Invited, Seats, Team, TeamRefusal};
pub use toolkits::Toolkit;
pub use tools::{ToolShelf, ToolView};
pub use trials::{Draft, TRIAL_REPLIES, TRIAL_SECONDS, TrialNote, TrialReply, TrialTurn, Trials};
pub use uploads::UploadCollector;
pub use voices::{ListedVoice, SyncOutcome, VoiceFilter, VoicePlace, VoiceSyncError, Voices};
pub use webhooks::{Registered, Webhooks, event_example};
pub use whatsapp::{WhatsApp, WhatsAppError, WhatsAppText};
pub use widgets::Widgets;
pub use zones::Zone;

/// The result of a use case that fails only if the store does.
type Result<T, E = store::StoreError> = std::result::Result<T, E>;

// Unit and integration tests are one binary.
#[cfg(test)]
#[path = "../tests/it/main.rs"]
mod it;
