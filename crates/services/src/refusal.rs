//! Refusals because of the current state, by kind: a page shows them in its reader's language, the API by their
//! `Display`.

use offhook_domain::{AccountId, AgentStatus, BatchStatus, CredentialProvider, FieldError};
use offhook_storage::BatchStep;

/// Why an operation is not possible now, with the remedy if there is one.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Refusal {
    // Agents.
    #[error("the agent is archived: PATCH `status` to `paused` first")]
    AgentArchived,
    #[error("the agent is being changed by others: try again")]
    AgentContended,
    #[error("the agent has no configuration yet: PATCH `config` first")]
    AgentUnconfigured,
    #[error("`status`: an agent that is `{now}` cannot become `{next}`{}", remedy(*.now, *.next))]
    AgentStatus { now: AgentStatus, next: AgentStatus },
    #[error("`{field}`: the agent is at version {head}; read it again and make the change on that")]
    StaleVersion { field: &'static str, head: i32 },
    /// A configuration lacks something that publishing requires.
    #[error("{0}")]
    Unpublishable(Box<FieldError>),
    #[error(
        "the account has no credential for the agent's provider: store one in the portal (Settings, Provider credentials)"
    )]
    NoLegacyCredential,
    #[error("a legacy agent can only be renamed; its configuration lives at its provider")]
    LegacyChange,
    #[error("a legacy agent is published at its provider")]
    LegacyPublish,
    #[error("a legacy agent is put away at its provider; here it can only be renamed")]
    LegacyArchive,
    #[error("a legacy agent has no versions here; its configuration lives at its provider")]
    LegacyVersions,
    #[error("a legacy agent has no widget: its configuration lives at its provider")]
    LegacyWidget,
    #[error(
        "a legacy agent's conversations are held and summed up at its provider: only an engine agent's are analysed"
    )]
    LegacyAnalysis,
    #[error("the agent is archived: set its status to `paused` first")]
    WidgetOfArchived,
    #[error("the agent was never published: publish it first")]
    WidgetOfUnpublished,

    // Tools.
    #[error("an account has at most {0} tools: delete one first")]
    TooManyTools(i64),
    #[error(
        "the tool is a function of an integration: only its `name` and `description` may be changed"
    )]
    ToolOfIntegration,
    #[error("the tool is being changed by others: try again")]
    ToolContended,
    #[error("`name`: the account has a tool `{0}` already: choose another name")]
    ToolNameTaken(String),

    // Calls, chats and talks.
    #[error("the agent is `{0}`, and only an `active` one takes calls")]
    AgentTakesNoCalls(AgentStatus),
    #[error("the agent is `{0}`, and only an `active` one answers")]
    AgentAnswersNot(AgentStatus),
    #[error("the agent was never published: publish it first")]
    NeverPublished,
    #[error("the agent serves no more")]
    AgentServesNoMore,
    #[error(
        "the account has no phone number that this service's own agents can call from: import one first; those of legacy \
         agents are their provider's"
    )]
    NoNumber,
    #[error(
        "the account has no phone number that its legacy agents can call from: assign one to the agent at its provider, and \
         it comes with the next sync; if the number is here already, give it to the agent by PATCH /v1/phone-numbers/{{id}}"
    )]
    NoLegacyNumber,
    /// They open in this many seconds.
    #[error("outside the agent's calling hours")]
    OutsideHours(u64),
    #[error("the agent's calling hours never open: name at least one day")]
    HoursNeverOpen,
    #[error("the first request with this Idempotency-Key is still being answered")]
    InFlight,
    #[error("the call has ended")]
    CallEnded,
    #[error(
        "the call is under way at the legacy provider, which has no operation to end a call: it ends when one of its two \
         sides does"
    )]
    CallElsewhere,
    #[error(
        "another message of this session is being answered: wait for the answer, and send it again"
    )]
    BeingAnswered,
    #[error("the session has ended: begin another one")]
    SessionEnded,
    #[error(
        "the account has as many calls at once as its plan allows: try again when one has ended"
    )]
    LinesBusy,
    #[error(
        "the agent cannot be talked to: no speech-to-text or text-to-speech provider is configured for it"
    )]
    SpeechUnavailable,
    /// They open in this many seconds, if any day of the week does.
    #[error("it is outside the agent's calling hours")]
    TalkOutsideHours(Option<u64>),

    // Batches.
    #[error(
        "`agent_id`: batch calls are made by legacy agents only; an engine agent's calls are placed one by one"
    )]
    BatchOfEngineAgent,
    #[error("`agent_id`: the agent is `{0}`, and only an `active` one calls")]
    BatchOfIdleAgent(AgentStatus),
    #[error("a batch that is `{now}` cannot be {}", stepped(*.step))]
    BatchStep { now: BatchStatus, step: BatchStep },
    #[error("everybody in the batch was called well")]
    NobodyLeft,
    #[error("the batch is `{0}`: only an ended one can be tried again")]
    BatchUnderWay(BatchStatus),

    // Phone numbers.
    #[error(
        "numbers of this service's trunk are given by its operator: ask for one (`offhook number add`)"
    )]
    NumbersByOperator,
    #[error(
        "numbers are taken from the account's own carrier, and cannot be chosen: store its credential and import them \
         (`POST /v1/phone-numbers/import`)"
    )]
    NumbersByImport,
    #[error(
        "`phone_number`: the simulated network does not list this number for the account; choose another one of \
         +15005550000 to +15005559999"
    )]
    NumberNotListed,
    #[error(
        "the account has no carrier credential: store one in the portal (Settings, Provider credentials), or let the \
         operator do it with `offhook account credential set --account {account} --provider {provider}`"
    )]
    NoCarrierCredential {
        account: AccountId,
        provider: CredentialProvider,
    },
    #[error(
        "Twilio does not accept the account's credential: store it again as `AccountSid:AuthToken` (a key's secret does \
         not do: Twilio signs with the token what it tells)"
    )]
    CredentialRefused,
    #[error("`phone_number`: the account has this number already")]
    NumberAlreadyOurs,
    #[error("another account has this number")]
    NumberOfAnother,
    #[error("there is no account {0}")]
    NoSuchAccount(AccountId),
    #[error(
        "`agent_id`: the agent is archived; make it `paused` or `active` first, or choose another"
    )]
    NumberOfArchived,
    #[error(
        "`agent_id`: the provider of the legacy agents lists this number, which does not show that it is the account's: import \
         it with the account's own carrier credential first, or choose a legacy agent"
    )]
    NumberUnproven,

    // Webhooks.
    #[error("an account has at most {0} webhook endpoints: delete one first")]
    TooManyEndpoints(i64),
    #[error(
        "the delivery is more than 14 days old and its payload is kept no more: read the call instead"
    )]
    PayloadGone,
    #[error("the endpoint is disabled: enable it first (PATCH status)")]
    EndpointDisabled,

    // Knowledge.
    #[error("the document is still being read: ask again when its `status` is `ready`")]
    DocumentUnread,
    #[error("the document has no text: its `error` says why")]
    DocumentFailed,
    #[error("`name`: another folder has this name")]
    FolderNameTaken,
    #[error("an account has at most {0} folders: delete one first")]
    TooManyFolders(i64),
}

impl Refusal {
    /// The seconds after which a plain retry can succeed, if waiting helps.
    pub const fn retry_after_s(&self) -> Option<u64> {
        match self {
            Self::InFlight | Self::BeingAnswered | Self::LinesBusy => Some(1),
            Self::OutsideHours(opens_in) => Some(*opens_in),
            Self::TalkOutsideHours(opens_in) => *opens_in,
            _ => None,
        }
    }
}

const fn remedy(now: AgentStatus, next: AgentStatus) -> &'static str {
    match (now, next) {
        (AgentStatus::Archived, AgentStatus::Active) => "; make it `paused` first",
        (_, AgentStatus::Active) => "; publish it (POST …/publish)",
        _ => "",
    }
}

const fn stepped(step: BatchStep) -> &'static str {
    match step {
        BatchStep::Pause => "paused",
        BatchStep::Resume => "resumed: only a paused one can",
        BatchStep::Cancel => "cancelled",
    }
}
