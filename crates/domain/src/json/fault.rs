//! The faults of a field, each with its text in English and in Spanish.

use std::fmt;

use super::FieldError;
use crate::messages::{Choices, Listed, Message};
use crate::{E164Error, TimestampError, messages};

messages! {
/// A fault of a field. Its text follows the field's name.
pub enum Fault {
    // Any field.
    Required => "is required", "es obligatorio";
    Empty => "must not be empty", "no puede estar vacío";
    Blank => "must not be blank", "no puede estar en blanco";
    Null => "must not be null", "no puede ser null";
    NotText => "must be a string", "debe ser un texto";
    NotBool => "must be true or false", "debe ser true o false";
    NotObject => "must be an object", "debe ser un objeto";
    NotArray => "must be an array", "debe ser una lista";
    NotInteger { low: i64, high: i64 } => "must be an integer from {low} to {high}", "debe ser un número entero de {low} a {high}";
    NotNumber { low: String, high: String } => "must be a number from {low} to {high}", "debe ser un número de {low} a {high}";
    NotScalar => "must be a string, a number, true, false or null", "debe ser un texto, un número, true, false o null";
    TooLong(most: usize) => "longer than {most} characters", "tiene más de {most} caracteres";
    TooShort(least: usize) => "shorter than {least} characters", "tiene menos de {least} caracteres";
    TooMany(most: usize) => "more than {most} items", "tiene más de {most} elementos";
    TooFew(least: usize) => "fewer than {least} items", "tiene menos de {least} elementos";
    TooManyMembers(most: usize) => "more than {most} members", "tiene más de {most} miembros";
    Bytes(most: usize) => "longer than {most} bytes", "tiene más de {most} bytes";
    JsonBytes(most: usize) => "larger than {most} bytes of compact JSON", "pasa de {most} bytes de JSON compacto";
    Unknown => "unknown field", "no existe ese campo";
    ReadOnly => "is read-only", "no se puede cambiar";
    Twice => "appears more than once", "aparece más de una vez";
    GivenTwice => "is given more than once", "se envió más de una vez";
    Choice(choices: Choices) => "must be {choices}", "debe ser {choices}";
    Uuid => "must be a UUID", "debe ser un UUID";
    WholeUuid => "must be a UUID (8-4-4-4-12 hexadecimal digits)", "debe ser un UUID (8-4-4-4-12 dígitos hexadecimales)";
    Graphic => "must be printable ASCII without spaces", "debe ser ASCII imprimible sin espacios";
    Trimmed => "must be printable ASCII without a space at either end",
        "debe ser ASCII imprimible sin espacios al principio ni al final";
    Language => "must be a BCP 47 language tag, such as es-MX", "debe ser una etiqueta de idioma BCP 47, como es-MX";
    UnknownLanguage(code: String) =>
        "`{code}` is not a registered language: begin with its code of two or three letters, such as en, es or en-US",
        "`{code}` no es un idioma registrado: comienza con su código de dos o tres letras, como es, en o es-MX";
    TimeZone => "must be an IANA time zone, such as America/Mexico_City",
        "debe ser una zona horaria de la IANA, como America/Mexico_City";
    TimeOfDay => "must be a time of day as `HH:MM`, 00:00 to 23:59", "debe ser una hora del día como `HH:MM`, de 00:00 a 23:59";
    Date(error: TimestampError) => "{error}", "{error}";
    Phone(error: E164Error) => "{error}", "{error}";
    Prefixes(prefixes: String) => "this service calls only numbers that begin with {prefixes}",
        "este servicio solo llama a números que comienzan con {prefixes}";
    Prefix => "must be a prefix: `+` and 1 to 14 digits, such as +52", "debe ser un prefijo: `+` y de 1 a 14 dígitos, como +52";
    CalendarDate => "must be a date as `YYYY-MM-DD`", "debe ser una fecha como `AAAA-MM-DD`";
    Url(fault: UrlFault) => "{fault}", "{fault}";

    // Queries.
    PercentUtf8 => "is not percent-encoded UTF-8", "no es UTF-8 codificado con %";
    UnnamedParameter => "has a parameter without a name", "tiene un parámetro sin nombre";
    UnknownParameter => "unknown parameter", "no existe ese parámetro";
    Cursor => "must be the next_cursor of this list with these filters", "debe ser el next_cursor de esta lista con estos filtros";
    AfterTo => "must not be after `to`", "no puede ser posterior a `to`";
    TooManyDays(most: i32) => "must not be more than {most} days before `to`, both days included",
        "no puede ser más de {most} días anterior a `to`, contando ambos";

    // JSON.
    Json(error: Misread) => "{error}", "{error}";
    NotJsonObject => "must be a JSON object", "debe ser un objeto JSON";
    TooDeep(most: usize) => "nested deeper than {most} levels", "anida más de {most} niveles";
    Zero => "must not contain U+0000", "no puede contener U+0000";
    ZeroInName => "a member's name contains U+0000", "el nombre de un miembro contiene U+0000";
    HalfPair => "contains half of a surrogate pair: \\ud800 to \\udbff must be followed by \\udc00 to \\udfff",
        "contiene medio par sustituto: después de \\ud800 a \\udbff debe seguir \\udc00 a \\udfff";
    HalfPairInName => "a member's name contains half of a surrogate pair", "el nombre de un miembro contiene medio par sustituto";
    NotUtf8 => "must be UTF-8", "debe ser UTF-8";
    PlainUtf8 => "must be UTF-8 without U+0000", "debe ser UTF-8 sin U+0000";
    KeyTooLong(most: usize) => "the key is longer than {most} characters", "el nombre tiene más de {most} caracteres";
    VariableName => "a variable's name has 1 to 64 characters, no braces and no space around it",
        "el nombre de una variable tiene de 1 a 64 caracteres, sin llaves ni espacios alrededor";

    // JSON Schemas.
    Schema => "must be an object: a JSON Schema", "debe ser un objeto: un JSON Schema";
    SchemaOrNull => "must be a JSON Schema, as an object, or null", "debe ser un JSON Schema, como objeto, o null";
    RequiredOrNull => "is required; null clears it", "es obligatorio; null lo quita";
    SchemaBytes(most: usize) => "is longer than {most} bytes of compact JSON", "pasa de {most} bytes de JSON compacto";
    SchemaNumber => "holds a number that cannot be represented", "tiene un número que no se puede representar";
    SchemaOfArguments => "must have the `type` `object`: models send arguments as an object",
        "debe tener el `type` `object`: los modelos envían los argumentos como objeto";
    SchemaOfExtract => "must have the `type` `object`: what is extracted is an object",
        "debe tener el `type` `object`: lo que se extrae es un objeto";
    SchemaUnevaluated(most: usize) => "has more than {most} of `unevaluatedProperties` and `unevaluatedItems`",
        "tiene más de {most} `unevaluatedProperties` y `unevaluatedItems`";
    SchemaPatterns(most: usize) => "has more than {most} patterns", "tiene más de {most} patrones";
    SchemaWork => "has patterns that take too long: write shorter or fewer ones",
        "tiene patrones que tardan demasiado: escribe menos, o más cortos";
    /// The reason is the validator's own, in English.
    SchemaInvalid(why: String) => "is no valid JSON Schema: {why}", "no es un JSON Schema válido: {why}";
    SchemaInvalidAt { place: String, why: String } => "is no valid JSON Schema at {place}: {why}",
        "no es un JSON Schema válido en {place}: {why}";
    SchemaDepth(most: usize) => "nests deeper than {most} levels, references followed",
        "anida más de {most} niveles, siguiendo las referencias";
    SchemaParts(most: usize) => "has more than {most} parts, references followed",
        "tiene más de {most} partes, siguiendo las referencias";
    SchemaCircle => "has a `$ref` that leads back to itself: write it out", "tiene un `$ref` que lleva a sí mismo: escríbelo completo";
    SchemaForeignRef => "has a `$ref` that is not local: only `#` and `#/…` are followed",
        "tiene un `$ref` que no es local: solo se siguen `#` y `#/…`";
    SchemaLostRef => "has a `$ref` that leads nowhere", "tiene un `$ref` que no lleva a ninguna parte";
    SchemaBase(name: String) => "must not use `{name}`: refer by `#/…` alone", "no puede usar `{name}`: refiere solo con `#/…`";

    // Tools and their headers.
    ToolName => "must be a lower-case letter, then up to 63 lower-case letters, digits or `_`",
        "debe ser una letra minúscula, y luego hasta 63 letras minúsculas, dígitos o `_`";
    ReservedTool(name: &'static str) =>
        "`{name}` is how models search an agent's documents (`config.knowledge_base.mode` `tool`): choose another name",
        "con `{name}` los modelos buscan en los documentos de un agente (`config.knowledge_base.mode` `tool`): elige otro nombre";
    OfKind(kind: &'static str) => "goes with the kind `{kind}` alone", "solo va con el tipo `{kind}`";
    RequiredOfKind(kind: &'static str) => "is required with the kind `{kind}`", "es obligatorio con el tipo `{kind}`";
    Derived(kind: &'static str) => "follows from the kind `{kind}`: leave it out", "se deduce del tipo `{kind}`: quítalo";
    InQuery(name: String) => "names `{name}`, which the URL's query has: take it out of one of the two",
        "nombra `{name}`, que ya está en la consulta de la URL: quítalo de uno de los dos";
    HeaderName => "must be a header's name of at most 64 characters",
        "debe ser el nombre de un encabezado, de 64 caracteres como máximo";
    HeaderTwice => "appears more than once: the case of a header's name does not count",
        "aparece más de una vez: en el nombre de un encabezado no cuentan las mayúsculas";
    OwnHeader => "is written by the service: leave it out", "lo escribe el servicio: quítalo";
    NothingHidden => "`***` stands for a stored value, and there is none: send the value",
        "`***` representa un valor guardado y no hay ninguno: envía el valor";

    FunctionName => "must be a function's name: letters, digits, `_`, `-`, `.` and `/`",
        "debe ser el nombre de una función: letras, dígitos, `_`, `-`, `.` y `/`";
    FunctionTooLong => "is longer than 64 characters behind the tool's name and `__`: choose a shorter `name`",
        "tiene más de 64 caracteres detrás del nombre de la herramienta y `__`: elige un `name` más corto";
    McpUnasked { tool: String, why: String } =>
        "the server of the tool `{tool}` did not list its functions ({why}): check the tool's `mcp.url` and `mcp.headers`, and try again",
        "el servidor de la herramienta `{tool}` no enumeró sus funciones ({why}): revisa su `mcp.url` y sus `mcp.headers`, e inténtalo de nuevo";
    McpNoFunction { tool: String, function: String } =>
        "the server of the tool `{tool}` has no function `{function}`: take it out of the tool's `mcp.functions`",
        "el servidor de la herramienta `{tool}` no tiene la función `{function}`: quítala de sus `mcp.functions`";
    McpSchema { tool: String, function: String, fault: Box<Fault> } =>
        "the tool `{tool}` cannot offer `{function}`, whose schema {fault}: take it out of the tool's `mcp.functions`, or change the server",
        "la herramienta `{tool}` no puede ofrecer `{function}`, cuyo esquema {fault}: quítala de sus `mcp.functions` o cambia el servidor";
    McpSameName(name: String) => "two functions of the agent would be called `{name}`: rename a tool",
        "dos funciones del agente se llamarían `{name}`: cambia el nombre de una herramienta";

    // Agents.
    ToPublish => "is required to publish", "es obligatorio para publicar";
    Weekday => "must be an integer from 1 (Monday) to 7", "debe ser un número entero de 1 (lunes) a 7";
    SampleRate => "must be 8000, 16000 or 24000", "debe ser 8000, 16000 o 24000";
    Placeholders(most: usize) => "more than {most} `{{{{`", "tiene más de {most} `{{{{`";
    ProviderName => "a provider's name has 1 to 200 characters", "el nombre de un proveedor tiene de 1 a 200 caracteres";
    Shadowed => "appears more than once: the first one would always count", "aparece más de una vez: siempre contaría la primera";
    SharesEndpoint => "`custom` needs `llm.provider` to be `custom`, whose endpoint it shares",
        "`custom` requiere que `llm.provider` sea `custom`, cuyo endpoint comparte";
    RequiredByCustom => "is required with the provider `custom`", "es obligatorio con el proveedor `custom`";
    OfCustom => "goes with the provider `custom` alone", "solo va con el proveedor `custom`";
    NoModel { provider: String, kind: &'static str } => "`{provider}` has no such model; GET /v1/models?kind={kind} lists them",
        "`{provider}` no tiene ese modelo; GET /v1/models?kind={kind} los enumera";
    NoProvider(provider: String) => "`{provider}` is not set up on this service (models.{provider}.base_url)",
        "`{provider}` no está configurado en este servicio (models.{provider}.base_url)";
    NoKey(provider: String) => "`{provider}` is not set up on this service, and the account has no key for it: add one in the portal under Settings, Provider credentials",
        "`{provider}` no está configurado en este servicio y la cuenta no tiene una clave: agrega una en el portal, en Configuración, Credenciales de proveedores";
    AgentHasNo(name: String) => "the agent has no tool `{name}`", "el agente no tiene la herramienta «{name}»";
    NoAgent => "no agent of this account has this id", "ningún agente de esta cuenta tiene este id";
    NoNumber => "no number of this account has this id", "ningún número de esta cuenta tiene este id";
    NumberNotCarried => "engine agents cannot call from this number here: choose one that GET /v1/phone-numbers lists with this service's carrier",
        "los agentes de Offhook no pueden llamar desde este número: elige otro";
    NoFolder => "the account has no such folder", "la cuenta no tiene esa carpeta";
    NoDocument => "the account has no such document", "la cuenta no tiene ese documento";
    NoTool => "the account has no such tool; GET /v1/agents/tools lists them", "la cuenta no tiene esa herramienta";
    NoVersion => "the agent has no such version", "el agente no tiene esa versión";
    NumberElsewhere => "the provider of the agent does not have this number: assign it there, and it comes with the next sync",
        "ElevenLabs no tiene este número: asígnalo ahí, y llegará con la próxima sincronización";

    // Speech.
    ListenerOf(several: String) => "is required where there are several: `{several}`; GET /v1/models?kind=stt lists the providers",
        "es obligatorio donde hay varios: `{several}`; GET /v1/models?kind=stt los enumera";
    NobodyListens => "is required, and no provider that listens is set up on this service (section `speech.<name>`)",
        "es obligatorio, y en este servicio no está configurado ningún proveedor que escuche (sección `speech.<nombre>`)";
    NobodySpeaks => "is required, and no provider that speaks is set up on this service (section `speech.<name>`)",
        "es obligatorio, y en este servicio no está configurado ningún proveedor que hable (sección `speech.<nombre>`)";
    CannotListen(provider: String) => "`{provider}` is not set up on this service to listen (section `speech.{provider}`)",
        "`{provider}` no está configurado en este servicio para escuchar (sección `speech.{provider}`)";
    CannotSpeak(provider: String) => "`{provider}` is not set up on this service to speak (section `speech.{provider}`)",
        "`{provider}` no está configurado en este servicio para hablar (sección `speech.{provider}`)";
    CannotFollow(other: Box<FieldError>) => "cannot follow {other}", "no puede seguir a {other}";
    BesideVoice => "is required beside `voice_id`", "es obligatorio junto con `voice_id`";
    BesideVoiceListed => "is required beside `voice_id`; GET /v1/voices lists voices",
        "es obligatorio junto con `voice_id`; GET /v1/voices enumera las voces";
    BesideProvider => "is required beside `provider`; GET /v1/voices lists them",
        "es obligatorio junto con `provider`; GET /v1/voices las enumera";
    NoVoice(provider: String) => "`{provider}` has no such voice; GET /v1/voices lists them",
        "`{provider}` no tiene esa voz; GET /v1/voices las enumera";
    VoiceOwnerUnknown =>
        "is shared and the list does not say by whom; choose one that is not `shared`, or ask the operator to run `offhook voices sync`",
        "es compartida y la lista no dice por quién; elige una que no sea `shared`, o pide al operador del servicio que ejecute `offhook voices sync`";
    NoWorkspace(provider: &'static str) =>
        "is shared, and this service has no workspace at `{provider}` to add it to (voices.{provider}.base_url); choose one that is not `shared`",
        "es compartida, y este servicio no tiene en `{provider}` un espacio de trabajo al cual agregarla (voices.{provider}.base_url); elige una que no sea `shared`";
    WorkspaceFull(provider: &'static str) =>
        "is shared, and the workspace at `{provider}` has no room for another voice; choose one that is not `shared`, or ask the operator to make room",
        "es compartida, y en el espacio de trabajo de `{provider}` no cabe otra voz; elige una que no sea `shared`, o pide al operador del servicio que haga lugar";
    VoiceNotShared(provider: &'static str) => "`{provider}` shares this voice no more; GET /v1/voices lists the others",
        "`{provider}` ya no comparte esta voz; GET /v1/voices enumera las demás";
    VoiceId => "must be a voice id of letters, digits, `-`, `_`, `.` and `+`; GET /v1/voices lists them",
        "debe ser el id de una voz, con letras, dígitos, `-`, `_`, `.` y `+`; GET /v1/voices los enumera";
    Speed { low: String, high: String } => "this voice's provider speaks at {low} to {high} times its own speed: choose one of these",
        "el proveedor de esta voz habla de {low} a {high} veces su velocidad: elige una de estas";
    NameModel => "is required with this provider: name the model that it is to use",
        "es obligatorio con este proveedor: di qué modelo debe usar";
    Terms(most: usize) => "must hold strings of 1 to {most} characters", "debe tener textos de 1 a {most} caracteres";
    Lines(most: usize) => "must hold strings of at most {most} characters", "debe tener textos de {most} caracteres como máximo";
    ProgramWord => "must be of letters, digits, `-`, `_` and `.`: a local program is told of it",
        "debe tener letras, dígitos, `-`, `_` y `.`: se le pasa a un programa local";
    Endpointing => "must be an integer from 10 to 5000, or false", "debe ser un número entero de 10 a 5000, o false";
    Normalization => "must be `auto`, `on` or `off`", "debe ser `auto`, `on` u `off`";

    // Widgets, webhooks, credentials.
    ThereTwice => "is there twice", "está dos veces";
    NoOrigin => "must name at least one origin while the widget is enabled",
        "debe nombrar al menos un origen mientras el widget esté activado";
    Origin => "must be an origin such as https://www.example.com, without a path",
        "debe ser un origen como https://www.example.com, sin ruta";
    OriginHost => "must name one host, such as https://www.example.com: there is no wildcard",
        "debe nombrar un host, como https://www.example.com: no hay comodines";
    OriginHttps => "must begin with https://; http:// is for localhost alone",
        "debe comenzar con https://; http:// es solo para localhost";
    OriginAs(written: String) => "must be written as browsers do: {written}",
        "debe escribirse como lo hacen los navegadores: {written}";
    EndpointStatus => "must be `enabled` or `disabled`", "debe ser `enabled` o `disabled`";
    TooOld => "must be within the last 14 days", "debe estar dentro de los últimos 14 días";
    Future => "must not be in the future", "no puede estar en el futuro";
    ModelOrigin => "must be scheme, host and port of `llm.endpoint`, such as https://models.example.com",
        "debe ser el esquema, el servidor y el puerto de `llm.endpoint`, como https://models.example.com";
    NumberIds => "must be an object that says of each phone number id which number it is",
        "debe ser un objeto que diga de cada id de número telefónico qué número es";
    NumberCount(most: usize) => "must name 1 to {most} numbers", "debe nombrar de 1 a {most} números";
    NumberId => "each name must be a phone number id of WhatsApp Manager: digits alone",
        "cada nombre debe ser un id de número telefónico de WhatsApp Manager: solo dígitos";

    // Scenarios.
    OneOf(names: &'static str) => "must have exactly one of {names}", "debe tener exactamente uno de {names}";
    NotOfCheck(kind: &'static str) => "does not go with the kind `{kind}`", "no va con el tipo `{kind}`";
    OneCaller => "is required, or a `persona` or a `recording` in its place: exactly one of them says who calls",
        "es obligatorio, o en su lugar una `persona` o un `recording`: exactamente uno dice quién llama";
    NeedsScope(scope: &'static str) => "needs a key with the scope `{scope}`", "requiere una clave con el alcance `{scope}`";
    OfPersona => "goes with a `persona` alone", "solo va con una `persona`";

    // Lists of people.
    ColumnsInUtf8 => "the first row must name the columns, in UTF-8", "la primera fila debe nombrar las columnas, en UTF-8";
    NoColumn(name: &'static str) => "the first row must name the columns, one of them `{name}`", "la primera fila debe nombrar las columnas, una de ellas `{name}`";
    ColumnZero => "the first row must not contain U+0000", "la primera fila no puede contener U+0000";
    ColumnNames => "each column needs a name of its own in the first row", "cada columna necesita un nombre propio en la primera fila";
    NotCsv => "is not CSV", "no es CSV";
    TooManyRows(most: usize) => "more than {most} rows", "tiene más de {most} filas";
    BadRow(row: Listed<RowFault>) => "1 bad row; {row}", "1 fila con errores; {row}";
    BadRows { count: usize, rows: Listed<RowFault> } => "{count} bad rows; {rows}", "{count} filas con errores; {rows}";
    MoreBadRows { count: usize, rows: Listed<RowFault>, more: usize } => "{count} bad rows; {rows}; and {more} more",
        "{count} filas con errores; {rows}; y {more} más";
    RowNotUtf8 => "is not UTF-8", "no es UTF-8";
    ZoneUnknown => "has no known time zone: give `time_zone`", "no tiene una zona horaria conocida: agrega `time_zone`";
    WindowNeverOpens => "the campaign's window is never open in all of the number's time zones at once: give `time_zone`, or widen the window",
        "el horario de la campaña nunca está abierto a la vez en todas las zonas horarias del número: agrega `time_zone` o amplía el horario";
    RetryRule(most: i64) => "must be `never`, `next_window` or minutes from 1 to {most}",
        "debe ser `never`, `next_window` o minutos, de 1 a {most}";
    Cells { count: usize, columns: usize } => "has {count} cells in place of {columns}", "tiene {count} celdas en lugar de {columns}";

    // Documents.
    Base64 => "must be base64 (RFC 4648)", "debe ser base64 (RFC 4648)";
    NoContent => "is required, unless `url` or `content_base64` is given", "es obligatorio si no se envía `url` ni `content_base64`";
    TwoContents => "must not be given with another of `text`, `url` and `content_base64`",
        "no puede enviarse junto con otro de `text`, `url` y `content_base64`";
    NameOfFile => "is required, as the file has no name of its own", "es obligatorio: el archivo no tiene nombre propio";
    FileKind => "must be a txt, md, html, pdf, docx or csv file", "debe ser un archivo txt, md, html, pdf, docx o csv";
}}

messages! { stored
/// What is wrong with the text of a URL.
#[derive(Copy)]
pub enum UrlFault {
    TooLong => "must be at most 2048 characters long: shorten the URL", "es demasiado larga: acorta la dirección";
    /// White space or a control character, which URL parsers drop silently, or a backslash, which some treat as a slash.
    BadCharacter => "must not contain spaces, backslashes or control characters: percent-encode them",
        "no puede tener espacios, barras invertidas ni caracteres de control: codifícalos con %";
    Malformed => "must be a whole URL, such as https://example.com/events",
        "debe ser una dirección completa, como https://example.com/events";
    Scheme => "must begin with https://", "debe comenzar con https://";
    Credentials => "must not contain a user name or password: remove the part before the @",
        "no puede tener usuario ni contraseña: quita lo que está antes de la @";
    Fragment => "must not have a fragment: remove the # and what follows it",
        "no puede tener un fragmento: quita el # y lo que sigue";
    /// An IP address, in any notation.
    AddressLiteral => "must name a host, not an IP address: use a domain name that resolves to a public address",
        "debe nombrar un servidor y no una dirección IP: usa un dominio que lleve a una dirección pública";
    LocalName => "must name a public host, such as example.com: this name is only known inside a network",
        "debe nombrar un servidor público, como example.com: este nombre solo se conoce dentro de una red";
    HostName =>
        "must have a valid host name: labels of letters, digits and hyphens, with a dot between them and none at the end",
        "debe tener un servidor válido: letras, dígitos y guiones, con puntos entre las partes y ninguno al final";
    /// A port below 1024 other than 443.
    Port => "must use port 443 or a port from 1024 to 65535", "debe usar el puerto 443 o uno de 1024 a 65535";
}}

messages! {
/// A fault in a list of people.
pub enum RowFault {
    Item(fault: Box<FieldError>) => "{fault}", "{fault}";
    Row { row: usize, fault: Fault } => "row {row}: {fault}", "fila {row}: {fault}";
    Cell { row: usize, fault: Box<FieldError> } => "row {row}: {fault}", "fila {row}: {fault}";
    /// The other columns are the metadata.
    Metadata { row: usize, fault: Fault } => "row {row}: the body: {fault}", "fila {row}: los metadatos: {fault}";
}}

/// Why a text is no JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misread {
    /// The line and column of the syntax error.
    pub place: Option<(usize, usize)>,
    /// The parser's message, in English.
    pub message: String,
}

impl fmt::Display for Misread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Message for Misread {
    fn fmt_spanish(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Some((line, column)) => {
                write!(f, "no es JSON válido en la línea {line}, columna {column}")
            }
            None => {
                f.write_str("no es JSON que se pueda leer: repite un miembro o anida demasiado")
            }
        }
    }
}

impl From<E164Error> for Fault {
    fn from(error: E164Error) -> Self {
        Self::Phone(error)
    }
}

impl From<TimestampError> for Fault {
    fn from(error: TimestampError) -> Self {
        Self::Date(error)
    }
}

impl From<UrlFault> for Fault {
    fn from(fault: UrlFault) -> Self {
        Self::Url(fault)
    }
}
