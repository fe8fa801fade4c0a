//! Refusals because of the current state, by kind, each in English and in Spanish.

use offhook_domain::ports::VoiceLibraryError;
use offhook_engine::legacy::LegacyError;

use crate::prelude::*;

messages! {
/// Why an operation is not possible now, with the remedy if there is one.
pub enum Refusal {
    // Agents.
    AgentArchived => "the agent is archived: PATCH `status` to `paused` first",
        "El agente está archivado. Primero restáuralo (queda en pausa).";
    AgentContended => "the agent is being changed by others: try again",
        "Otras personas están cambiando el agente. Inténtalo de nuevo.";
    AgentUnconfigured => "the agent has no configuration yet: PATCH `config` first",
        "El agente aún no tiene configuración. Primero guarda una.";
    AgentStatus { now: AgentStatus, next: AgentStatus, remedy: Remedy } =>
        "`status`: an agent that is `{now}` cannot become `{next}`{remedy}",
        "Un agente en estado «{now}» no puede pasar a «{next}»{remedy}.";
    StaleVersion { field: VersionField, head: i32 } =>
        "{field}the agent is at version {head}; read it again and make the change on that",
        "{field}El agente ya va en la versión {head}. Recarga la página y haz el cambio ahí.";
    /// A configuration lacks something that publishing requires.
    Unpublishable(fault: Box<FieldError>) => "{fault}", "{fault}";
    TooManyPreviews => "too many previews and drafts in this minute: try again in the next one",
        "Demasiadas pruebas de voz y borradores en este minuto. Inténtalo de nuevo en el siguiente.";
    PreviewFailed => "the voice's provider did not speak: try again, or choose another voice",
        "El proveedor de la voz no respondió. Inténtalo de nuevo o elige otra voz.";
    NoLegacyCredential =>
        "the account has no credential for the agent's provider: store one in the portal (Settings, Provider \
         credentials)",
        "La cuenta no tiene credencial de ElevenLabs. Guárdala en Configuración, Credenciales de proveedores.";
    LegacyChange => "a legacy agent can only be renamed; its configuration lives at its provider",
        "Un agente de ElevenLabs solo se puede renombrar; su configuración está en ElevenLabs.";
    LegacyPublish => "a legacy agent is published at its provider", "Un agente de ElevenLabs se publica en ElevenLabs.";
    LegacyArchive => "a legacy agent is put away at its provider; here it can only be renamed",
        "Un agente de ElevenLabs se retira en ElevenLabs; aquí solo se puede renombrar.";
    LegacyVersions => "a legacy agent has no versions here; its configuration lives at its provider",
        "Un agente de ElevenLabs no tiene versiones aquí; su configuración está en ElevenLabs.";
    LegacyWidget => "a legacy agent has no widget: its configuration lives at its provider",
        "Un agente de ElevenLabs no tiene widget; su configuración está en ElevenLabs.";
    LegacyAnalysis =>
        "a legacy agent's conversations are held and summed up at its provider: only an engine agent's are analysed",
        "Las conversaciones de un agente de ElevenLabs se guardan y resumen en ElevenLabs. Solo se analizan las de \
         un agente de Offhook.";
    WidgetOfArchived => "the agent is archived: set its status to `paused` first",
        "El agente está archivado. Primero restáuralo (queda en pausa).";
    WidgetOfUnpublished => "the agent was never published: publish it first",
        "El agente nunca se ha publicado. Primero publícalo.";

    // Scenarios.
    LegacyScenario => "a legacy agent is tested at its provider: only engine agents have scenarios",
        "Un agente de ElevenLabs se prueba en ElevenLabs. Solo los agentes de Offhook tienen escenarios.";
    NothingSaid => "the customer said nothing in this conversation: choose another one",
        "El cliente no dijo nada en esta conversación. Elige otra.";
    ScenarioNameTaken(name: String) => "`name`: the agent has a scenario `{name}`: choose another name, or change that one",
        "El agente ya tiene un escenario «{name}». Elige otro nombre o cambia ese.";
    NoTape => "the conversation has no recording here with two sides of 8 kHz: choose another one",
        "La conversación no tiene aquí una grabación de dos lados a 8 kHz. Elige otra.";
    TooManyScenarios(most: i64) => "an agent has at most {most} scenarios: delete one first",
        "Un agente tiene {most} escenarios como máximo. Primero borra uno.";
    NoScenarios => "the agent has no such scenarios: make one by POST /v1/scenarios, or send `scenarios`",
        "El agente no tiene escenarios. Primero crea uno.";
    TestRunEnded => "the run has ended", "La ejecución ya terminó.";
    TestRunsBusy(most: usize) => "{most} runs of scenarios are under way, the most at once: wait until one has ended",
        "Hay {most} pruebas en curso, el máximo a la vez. Espera a que termine una.";
    NoMoreTests(most: i64) => "the account has held {most} test conversations today, the most in a day in UTC",
        "La cuenta ya usó sus {most} conversaciones de prueba de hoy (UTC).";
    SuiteEmpty(suite: String) =>
        "the agent's settings require the suite `{suite}`, which has no scenarios: add one, or set `required_suite` to null",
        "La configuración del agente exige las pruebas «{suite}», que no tienen escenarios. Agrega uno o quita la exigencia.";
    SuiteUnpassed { suite: String, version: i32, names: String } =>
        "version {version} has not passed the required suite `{suite}`: {names}; test it with the stored scenarios (POST /v1/agents/{{id}}/test-runs, or `offhook test` after `offhook agents apply`), then publish",
        "La versión {version} no ha aprobado las pruebas exigidas «{suite}»: {names}. Ejecútalas y luego publica.";

    // Tools.
    TooManyTools(most: i64) => "an account has at most {most} tools: delete one first",
        "Una cuenta tiene {most} herramientas como máximo: primero borra una.";
    ToolOfIntegration => "the tool is a function of an integration: only its `name` and `description` may be changed",
        "La herramienta viene de una integración. Solo se pueden cambiar su nombre y su descripción.";
    ToolContended => "the tool is being changed by others: try again",
        "Otras personas están cambiando la herramienta. Inténtalo de nuevo.";
    ToolNameTaken(name: String) => "`name`: the account has a tool `{name}` already: choose another name",
        "La cuenta ya tiene una herramienta {name}. Elige otro nombre.";

    // Conversations.
    TooManyNotes(most: i64) => "the conversation has {most} notes already, or was deleted: delete a note first",
        "La conversación ya tiene {most} notas o se eliminó: primero borra una nota.";
    TooManyTags(most: i64) => "a conversation has at most {most} tags: remove one first",
        "Una conversación tiene {most} etiquetas como máximo: primero quita una.";
    TooManyViews(most: i64) => "a member has at most {most} saved views: delete one first",
        "Un miembro tiene {most} vistas guardadas como máximo: primero borra una.";

    // Calls, chats and talks.
    AgentTakesNoCalls(status: AgentStatus) => "the agent is `{status}`, and only an `active` one takes calls",
        "El estado del agente es «{status}». Solo un agente activo recibe llamadas.";
    AgentAnswersNot(status: AgentStatus) => "the agent is `{status}`, and only an `active` one answers",
        "El estado del agente es «{status}». Solo un agente activo recibe llamadas.";
    NeverPublished => "the agent was never published: publish it first",
        "El agente nunca se ha publicado. Primero publícalo.";
    AgentServesNoMore => "the agent serves no more", "El agente ya no recibe llamadas.";
    NoNumber =>
        "the account has no phone number that this service's own agents can call from: import one first; those of \
         legacy agents are their provider's",
        "La cuenta no tiene un número desde el cual puedan llamar los agentes de Offhook. Primero importa uno; los \
         de los agentes de ElevenLabs son de ElevenLabs.";
    NoLegacyNumber =>
        "the account has no phone number that its legacy agents can call from: assign one to the agent at its \
         provider, and it comes with the next sync; if the number is here already, give it to the agent by PATCH \
         /v1/phone-numbers/{{id}}",
        "La cuenta no tiene un número desde el cual puedan llamar sus agentes de ElevenLabs. Asigna uno al agente en \
         ElevenLabs: llegará con la próxima sincronización. Si el número ya está aquí, asígnalo al agente en Números.";
    /// They open in this many seconds.
    OutsideHours(_opens_in: u64) => "outside the agent's calling hours",
        "Está fuera del horario de llamadas del agente.";
    HoursNeverOpen => "the agent's calling hours never open: name at least one day",
        "El horario de llamadas del agente no abre nunca. Elige al menos un día.";
    /// It would be allowed in this many seconds, if time alone helps.
    DialRefused(rule: &'static str, why: DialRefusal, _after: Option<u64>) => "the rule `{rule}` refuses the call: {why}",
        "La regla «{rule}» no permite la llamada: {why}";
    InFlight => "the first request with this Idempotency-Key is still being answered",
        "Este formulario ya se envió y todavía se está procesando. Espera un momento y revisa si ya se hizo.";
    CallEnded => "the call has ended", "La llamada ya terminó.";
    CallElsewhere =>
        "the call is under way at the legacy provider, which has no operation to end a call: it ends when one of its \
         two sides does",
        "La llamada está en curso en ElevenLabs, que no tiene forma de terminarla. Termina cuando cuelga uno de los \
         dos lados.";
    BeingAnswered => "another message of this session is being answered: wait for the answer, and send it again",
        "Todavía se está respondiendo otro mensaje de esta conversación. Espera la respuesta y envíalo de nuevo.";
    SessionEnded => "the session has ended: begin another one", "La conversación terminó. Inicia otra.";
    LinesBusy => "the account has as many calls at once as its plan allows: try again when one has ended",
        "La cuenta ya tiene todas las llamadas simultáneas que permite su plan. Inténtalo cuando termine una.";
    SpeechUnavailable =>
        "the agent cannot be talked to: no speech-to-text or text-to-speech provider is configured for it",
        "No se puede hablar con el agente: falta configurar su transcripción o su voz.";
    /// They open in this many seconds, if any day of the week does.
    TalkOutsideHours(_opens_in: Option<u64>) => "it is outside the agent's calling hours",
        "Está fuera del horario de llamadas del agente.";

    TrialsBusy(most: usize) => "{most} trials of this account are under way: end one first",
        "Ya hay {most} pruebas en curso en esta cuenta. Termina una primero.";
    NoMoreTrialReplies(most: i64) => "the account's {most} trial replies of today are used up. The next day begins at midnight UTC",
        "Las {most} respuestas de prueba de hoy se agotaron. El día siguiente comienza a la medianoche UTC.";
    NoMoreTrialTalk(most: i64) =>
        "what is left of the account's {most} minutes of trial talk today does not cover this one. The next day begins at midnight UTC",
        "Lo que queda hoy de los {most} minutos de prueba hablada no alcanza para esta. El día siguiente comienza a la medianoche UTC.";

    NoCalls => "the account's plan holds no calls: choose one that does", "El plan de la cuenta no incluye llamadas: elige uno que sí.";
    NoApi => "the account's plan has no API, and so no widget",
        "El plan de la cuenta no incluye la API, y por eso tampoco el widget.";
    TooManySessions => "too many sessions with this agent began in this minute",
        "En este minuto comenzaron demasiadas sesiones con este agente.";
    CapReached =>
        "the widget's daily credits are used up, or held by conversations that are open. The next day begins at midnight UTC",
        "Los créditos diarios del widget se agotaron o los retienen conversaciones abiertas. El día siguiente comienza a la \
         medianoche UTC.";

    // Batches.
    BatchOfEngineAgent =>
        "`agent_id`: batch calls are made by legacy agents only; an engine agent's calls are placed one by one",
        "Solo los agentes de ElevenLabs hacen llamadas por lote; un agente de Offhook llama de uno en uno.";
    BatchOfIdleAgent(status: AgentStatus) => "`agent_id`: the agent is `{status}`, and only an `active` one calls",
        "El estado del agente es «{status}». Solo un agente activo recibe llamadas.";
    BatchNotPausable(now: BatchStatus) => "a batch that is `{now}` cannot be paused",
        "Un lote en estado «{now}» no se puede pausar.";
    BatchNotResumable(now: BatchStatus) => "a batch that is `{now}` cannot be resumed: only a paused one can",
        "Un lote en estado «{now}» no se puede reanudar: solo uno en pausa.";
    BatchNotCancellable(now: BatchStatus) => "a batch that is `{now}` cannot be cancelled",
        "Un lote en estado «{now}» no se puede cancelar.";
    NobodyLeft => "everybody in the batch was called well",
        "Ninguna llamada del lote falló: no hay nada que reintentar.";
    BatchUnderWay(status: BatchStatus) => "the batch is `{status}`: only an ended one can be tried again",
        "El lote está en estado «{status}». Solo uno que terminó se puede reintentar.";

    // Campaigns.
    CampaignOfLegacyAgent =>
        "`agent_id`: campaigns are called by engine agents; a legacy agent calls by POST /v1/batch-calls",
        "Las campañas las llaman los agentes de Offhook; un agente de ElevenLabs llama por lote.";
    CampaignEmpty => "the campaign has no recipients: add some first", "La campaña no tiene destinatarios. Primero agrega algunos.";
    CampaignStarted(now: CampaignStatus) => "a campaign that is `{now}` cannot be started: only a `draft` can",
        "Una campaña en estado «{now}» no se puede iniciar: solo un borrador.";
    CampaignNotPausable(now: CampaignStatus) => "a campaign that is `{now}` cannot be paused: only a `running` one can",
        "Una campaña en estado «{now}» no se puede pausar: solo una que está llamando.";
    CampaignNotResumable(now: CampaignStatus) => "a campaign that is `{now}` cannot be resumed: only a `paused` one can",
        "Una campaña en estado «{now}» no se puede reanudar: solo una en pausa.";
    CampaignNotCancellable(now: CampaignStatus) => "a campaign that is `{now}` cannot be cancelled",
        "Una campaña en estado «{now}» no se puede cancelar.";
    CampaignOver(now: CampaignStatus) => "the campaign is `{now}` and takes no more recipients: create another one",
        "La campaña está en estado «{now}» y ya no acepta destinatarios. Crea otra.";
    CampaignFull(most: i32) => "a campaign has at most {most} recipients: create another one",
        "Una campaña tiene {most} destinatarios como máximo. Crea otra.";

    // Phone numbers.
    NumbersByOperator =>
        "numbers of this service's trunk are given by its operator: ask for one (`offhook number add`)",
        "El operador del servicio asigna los números de la troncal. Pídele uno.";
    NumbersByImport =>
        "numbers are taken from the account's own carrier, and cannot be chosen: store its credential and import \
         them (`POST /v1/phone-numbers/import`)",
        "Los números vienen del operador telefónico de la cuenta y no se pueden elegir aquí. Guarda su credencial en \
         Configuración, Credenciales de proveedores, e impórtalos.";
    NumberNotListed =>
        "`phone_number`: the simulated network does not list this number for the account; choose another one of \
         +15005550000 to +15005559999",
        "La red simulada no ofrece este número a la cuenta. Elige otro, de +15005550000 a +15005559999.";
    NoCarrierCredential { account: AccountId, provider: CredentialProvider } =>
        "the account has no carrier credential: store one in the portal (Settings, Provider credentials), or let the \
         operator do it with `offhook account credential set --account {account} --provider {provider}`",
        "La cuenta no tiene credencial de operador telefónico. Guárdala en Configuración, Credenciales de \
         proveedores, o pide al operador del servicio que lo haga con offhook account credential set --account \
         {account} --provider {provider}.";
    CredentialRefused =>
        "Twilio does not accept the account's credential: store it again as `AccountSid:AuthToken` (a key's secret \
         does not do: Twilio signs with the token what it tells)",
        "Twilio no acepta la credencial de la cuenta. Guárdala de nuevo como AccountSid:AuthToken (el secreto de una \
         clave no sirve: Twilio firma sus webhooks con el token).";
    NumberAlreadyOurs => "`phone_number`: the account has this number already", "La cuenta ya tiene este número.";
    NumberOfAnother => "another account has this number", "Otra cuenta tiene este número.";
    NoSuchAccount(account: AccountId) => "there is no account {account}", "No existe la cuenta {account}.";
    NumberOfArchived => "`agent_id`: the agent is archived; make it `paused` or `active` first, or choose another",
        "El agente está archivado. Restáuralo o elige otro.";
    NumberUnproven =>
        "`agent_id`: the provider of the legacy agents lists this number, which does not show that it is the \
         account's: import it with the account's own carrier credential first, or choose a legacy agent",
        "Este número llegó con los agentes de ElevenLabs, lo que no demuestra que sea tuyo. Impórtalo primero de tu \
         operador telefónico, o elige un agente de ElevenLabs.";

    // Other services. Nothing of their answers is in a message.
    LegacyFailed(error: LegacyError) =>
        "The provider of the legacy agents did not do its part: {error}. Nothing was changed here.",
        "ElevenLabs falló: {error}. Aquí no se cambió nada.";
    VoicesFailed(error: VoiceLibraryError) =>
        "The provider of the voice did not do its part: {error}. Nothing was changed here.",
        "El proveedor de la voz falló: {error}. Aquí no se cambió nada.";
    CarrierFailed(error: String) => "The carrier did not do its part: {error}. Nothing was changed here.",
        "El operador telefónico falló: {error}. Aquí no se cambió nada.";
    CarrierCredential =>
        "The carrier did not do its part: it does not accept the account's credential. Nothing was changed here.",
        "El operador telefónico falló: no acepta la credencial de la cuenta. Aquí no se cambió nada.";
    TwilioList =>
        "The carrier did not do its part: Twilio did not list the account's numbers, try again in a moment. Nothing was \
         changed here.",
        "El operador telefónico falló: Twilio no listó los números de la cuenta; inténtalo en un momento. Aquí no se cambió \
         nada.";
    CallsNotReceived =>
        "The carrier did not do its part: the numbers were imported, and calls to them do not come in yet, as it did not take \
         this service's address: import them again. Nothing was changed here.",
        "El operador telefónico falló: los números se importaron, y aún no entran llamadas a ellos, porque no aceptó la \
         dirección de este servicio: impórtalos de nuevo. Aquí no se cambió nada.";

    // Webhooks.
    TooManyEndpoints(most: i64) => "an account has at most {most} webhook endpoints: delete one first",
        "Una cuenta tiene {most} puntos de conexión como máximo: primero borra uno.";
    PayloadGone => "the delivery is more than 14 days old and its payload is kept no more: read the call instead",
        "La entrega tiene más de 14 días y su contenido ya no se guarda. Consulta la llamada.";
    EndpointDisabled => "the endpoint is disabled: enable it first (PATCH status)",
        "El punto de conexión está deshabilitado. Primero habilítalo.";

    // Knowledge.
    DocumentUnread => "the document is still being read: ask again when its `status` is `ready`",
        "El documento todavía se está procesando. Vuelve cuando esté listo.";
    DocumentFailed => "the document has no text: its `error` says why",
        "El documento no tiene texto. Su error dice por qué.";
    FolderNameTaken => "`name`: another folder has this name", "Otra carpeta tiene este nombre.";
    TooManyFolders(most: i64) => "an account has at most {most} folders: delete one first",
        "Una cuenta tiene {most} carpetas como máximo: primero borra una.";
}}

impl Refusal {
    /// The seconds after which a plain retry can succeed, if waiting helps.
    pub const fn retry_after_s(&self) -> Option<u64> {
        match self {
            Self::InFlight | Self::BeingAnswered | Self::LinesBusy => Some(1),
            Self::OutsideHours(opens_in) => Some(*opens_in),
            Self::TalkOutsideHours(opens_in) => *opens_in,
            Self::DialRefused(_, _, after) => *after,
            _ => None,
        }
    }
}

messages! {
/// Why a rule refuses a call, with the remedy.
#[derive(Copy)]
pub enum DialRefusal {
    SuppressionList => "the number is on the account's suppression list", "el número está en la lista de exclusión de la cuenta.";
    AllowedPrefixes => "the account calls no numbers with this prefix; its dialing rules say which",
        "la cuenta no llama a números con este prefijo; sus reglas de llamada dicen a cuáles sí.";
    Consent => "the account requires `consent` for every call", "la cuenta exige `consent` en cada llamada.";
    TimeZone => "the number's time zone is unknown, and so is when it may be called",
        "no se conoce la zona horaria del número, y por eso tampoco cuándo se le puede llamar.";
    Window => "it is outside the account's window in a time zone of the number",
        "está fuera del horario de la cuenta en una zona horaria del número.";
    CallingHours => "it is outside the agent's calling hours", "está fuera del horario de llamadas del agente.";
    AttemptsPerDay => "the number was called as often as the account allows in 24 hours",
        "ya se llamó al número tantas veces como la cuenta permite en 24 horas.";
    AttemptsPerWeek => "the number was called as often as the account allows in seven days",
        "ya se llamó al número tantas veces como la cuenta permite en siete días.";
    MinimumPause => "the account's pause since the last call to the number is not over",
        "no ha pasado el tiempo mínimo de la cuenta desde la última llamada al número.";
    DailyCredits => "the account's credits of this UTC day are spent or reserved",
        "los créditos de la cuenta para este día (UTC) se gastaron o están reservados.";
}}

impl From<DialRule> for DialRefusal {
    fn from(rule: DialRule) -> Self {
        match rule {
            DialRule::SuppressionList => Self::SuppressionList,
            DialRule::AllowedPrefixes => Self::AllowedPrefixes,
            DialRule::Consent => Self::Consent,
            DialRule::TimeZone => Self::TimeZone,
            DialRule::Window => Self::Window,
            DialRule::CallingHours => Self::CallingHours,
            DialRule::AttemptsPerDay => Self::AttemptsPerDay,
            DialRule::AttemptsPerWeek => Self::AttemptsPerWeek,
            DialRule::MinimumPause => Self::MinimumPause,
            DialRule::DailyCredits => Self::DailyCredits,
        }
    }
}

messages! {
/// What makes an agent active.
#[derive(Copy)]
pub enum Remedy {
    None => "", "";
    Restore => "; make it `paused` first", ": primero restáuralo";
    Publish => "; publish it (POST …/publish)", ": publícalo";
}}

impl Remedy {
    pub(crate) const fn of(now: AgentStatus, next: AgentStatus) -> Self {
        match (now, next) {
            (AgentStatus::Archived, AgentStatus::Active) => Self::Restore,
            (_, AgentStatus::Active) => Self::Publish,
            _ => Self::None,
        }
    }
}

messages! {
/// The field that names a version; a page has none.
#[derive(Copy)]
pub enum VersionField {
    Expected => "`expected_version`: ", "";
    Config => "`config.version`: ", "";
}}
