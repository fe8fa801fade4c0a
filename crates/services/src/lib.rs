//! Offhook's use cases: the rules that need data. HTTP, portal and command line all come through here.

mod accounts;
mod agents;
mod analyses;
mod assembly;
mod batches;
mod billing;
mod calls;
mod catalog;
mod chats;
mod clock;
mod conversations;
mod counting;
mod credentials;
mod dialer;
mod draining;
mod error;
mod events;
mod feed;
mod figures;
mod folding;
mod health;
mod housekeeping;
mod inbound;
mod integrations;
mod keys;
mod knowledge;
mod leases;
mod legacy;
mod network;
mod numbers;
mod overview;
mod page;
mod people;
mod plan_changes;
mod price;
mod recordings;
mod refusal;
mod request_logs;
mod restored;
mod retention;
mod shared;
mod signals;
mod speech;
mod spoken;
mod talks;
mod team;
mod toolkits;
mod tools;
mod uploads;
mod urls;
mod voices;
mod webhooks;
mod whatsapp;
mod widgets;
mod workers;

pub use accounts::Accounts;
pub use agents::{AgentVersionView, AgentView, Agents};
pub use analyses::{Analyses, AnalysisSchemaView};
pub use assembly::{Services, ServicesConfig};
pub use batches::{BatchBody, BatchError, Batches, CsvRows, PrintBatch, RECIPIENTS_AT_MOST};
pub use billing::{Billing, USAGE_DAYS};
pub use calls::{CallSettings, Calls, HangUpError, Looks, PlaceCall, PlaceCallError, PlacedReply};
pub use catalog::{Catalog, CatalogError, Model, ModelKind, ModelPrice};
pub use chats::{
    Answering, ChatError, ChatEvent, ChatReply, ChatTranscript, Chats, OpenedChat, WidgetDoor,
};
pub use clock::{SharedClock, SystemClock};
pub use conversations::{Conversations, RecordingError, SoFar};
pub use credentials::Credentials;
pub use dialer::Dialer;
pub use error::{InputError, ResourceError};
pub use health::Health;
pub use inbound::{Inbound, InboundCall, NotAnswered, WaitingLine};
pub use integrations::{Begun, ConnectError, ConsentAnswer, Integration, Integrations, Renewals};
pub use keys::{Caller, KeyError, KeyFault, Keys};
pub use knowledge::{
    Deleted, DocumentFile, Knowledge, KnowledgeError, Librarian, NewContent, SearchHit,
};
pub use legacy::{Legacy, ReportError, SyncError};
pub use network::Network;
pub use numbers::{Imported, Numbers};
pub use offhook_documents as documents;
pub use offhook_engine::ports::door::{Callback as CarrierCallback, CarrierDoor, MediaConnection};
pub use offhook_objects as objects;
pub use offhook_storage as store;
pub use overview::{LastDay, Overview};
pub use page::{Page, PageRequest};
pub use people::{
    BeginError, ChangePasswordError, InvitationFor, JoinError, Link, LinkError, LinkFor,
    NewService, PASSWORD_LENGTHS, PasswordFault, People, Person, SignInError, SignedIn,
    TeamRefusal,
};
pub use plan_changes::{PlanChange, PlanChangeError, PlanChanges};
pub use recordings::{KeepError, Recording, RecordingKeeper};
pub use refusal::Refusal;
pub use request_logs::{Logged, RequestLogs};
pub use restored::{Held, Restored};
pub use retention::Retention;
pub(crate) use shared::Shared;
pub use shared::Wakes;
pub use talks::{TALK_FRAME_BYTES, TALK_RATE, Talk, TalkError, TalkEvent, Talks};
pub use team::{Invited, Seats, Team};
pub use toolkits::Toolkit;
pub use tools::{ToolShelf, ToolView};
pub use uploads::{CollectError, UploadCollector};
pub use voices::{ListedVoice, SyncOutcome, VoiceFilter, VoicePlace, VoiceSyncError, Voices};
pub use webhooks::{Registered, Webhooks, event_example};
pub use whatsapp::{WhatsApp, WhatsAppError};
pub use widgets::Widgets;

/// What a use case comes to that fails only where the store does.
type Result<T, E = store::StoreError> = std::result::Result<T, E>;
