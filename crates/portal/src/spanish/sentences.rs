//! Sentences that the service makes in English where they have no kind of their own: the rules of one field alone, the rows
//! of a list of people, why a document has no text, what the ledger's own entries are for. Each is known by its words.

use super::rules;
use offhook_domain::json::UrlRule;

macro_rules! sentences {
    ($($english:literal => $spanish:expr;)*) => {
        /// Sentences in English and in Spanish. `{}` stands for an inserted value, in the same order in both, kept as it is;
        /// `{~}` in Spanish for an inserted sentence, translated too. The first match counts.
        const SENTENCES: &[(&str, &str)] = &[$(($english, $spanish)),*];
    };
}

sentences! {
    // Any field: matched by its words alone within another sentence.
    "is required" => "es obligatorio";
    "must not be empty" => "no puede estar vacío";
    "must be a string" => "debe ser un texto";
    "must be true or false" => "debe ser true o false";
    "must be an object" => "debe ser un objeto";
    "must be an array" => "debe ser una lista";
    "must be an integer from 1 (Monday) to 7" => "debe ser un número entero de 1 (lunes) a 7";
    "must be an integer from 10 to 5000, or false" => "debe ser un número entero de 10 a 5000, o false";
    "must be an integer from {} to {}" => "debe ser un número entero de {} a {}";
    "must be a number from {} to {}" => "debe ser un número de {} a {}";
    "longer than {} characters" => "tiene más de {} caracteres";
    "shorter than {} characters" => "tiene menos de {} caracteres";
    "longer than 120 characters" => "tiene más de 120 caracteres";
    "more than {} items" => "tiene más de {} elementos";
    "fewer than {} items" => "tiene menos de {} elementos";
    "unknown field" => "no existe ese campo";
    "is read-only" => "no se puede cambiar";
    "more than {} members" => "tiene más de {} miembros";
    "must be printable ASCII without spaces" => "debe ser ASCII imprimible sin espacios";
    // Numbers.
    "must begin with `+` and the country code, such as +5215512345678"
        => "debe comenzar con `+` y el código del país, como +5215512345678";
    "the `+` arrived as a space: write it as %2B in a URL"
        => "el `+` llegó como un espacio: en una dirección escríbelo como %2B";
    "must be an E.164 phone number: `+`, a digit 1-9, then 6 to 14 digits"
        => "debe ser un número telefónico E.164: `+`, un dígito de 1 a 9 y de 6 a 14 dígitos más";
    "this service calls only numbers that begin with {}" => "este servicio solo llama a números que comienzan con {}";
    // JSON.
    "contains half of a surrogate pair: \\ud800 to \\udbff must be followed by \\udc00 to \\udfff"
        => "contiene medio par sustituto: después de \\ud800 a \\udbff debe seguir \\udc00 a \\udfff";
    "a member's name contains half of a surrogate pair" => "el nombre de un miembro contiene medio par sustituto";
    "nested deeper than 64 levels" => "anida más de 64 niveles";
    "must not contain U+0000" => "no puede contener U+0000";
    "a member's name contains U+0000" => "el nombre de un miembro contiene U+0000";
    "appears more than once" => "aparece más de una vez";
    "must be UTF-8" => "debe ser UTF-8";
    "is given more than once" => "se envió más de una vez";
    "must be a JSON object" => "debe ser un objeto JSON";
    // Metadata and variables.
    "the key is longer than {} characters" => "el nombre tiene más de {} caracteres";
    "larger than {} bytes of compact JSON" => "pasa de {} bytes de JSON compacto";
    "must be a string, a number, true, false or null" => "debe ser un texto, un número, true, false o null";
    "a variable's name has 1 to 64 characters, no braces and no space around it"
        => "el nombre de una variable tiene de 1 a 64 caracteres, sin llaves ni espacios alrededor";
    "the provider of the agent does not have this number: assign it there, and it comes with the next sync"
        => "ElevenLabs no tiene este número: asígnalo ahí, y llegará con la próxima sincronización";
    // JSON Schemas.
    "must be an object: a JSON Schema" => "debe ser un objeto: un JSON Schema";
    "must be a JSON Schema, as an object, or null" => "debe ser un JSON Schema, como objeto, o null";
    "is required; null clears it" => "es obligatorio; null lo quita";
    "is longer than {} bytes of compact JSON" => "pasa de {} bytes de JSON compacto";
    "holds a number that cannot be represented" => "tiene un número que no se puede representar";
    "must have the `type` `object`: models send arguments as an object"
        => "debe tener el `type` `object`: los modelos envían los argumentos como objeto";
    "must have the `type` `object`: what is extracted is an object"
        => "debe tener el `type` `object`: lo que se extrae es un objeto";
    "has more than {} of `unevaluatedProperties` and `unevaluatedItems`"
        => "tiene más de {} `unevaluatedProperties` y `unevaluatedItems`";
    "has more than {} patterns" => "tiene más de {} patrones";
    "has patterns that take too long: write shorter or fewer ones"
        => "tiene patrones que tardan demasiado: escribe menos, o más cortos";
    // The rest is the schema library's own text.
    "is no valid JSON Schema at {}: {}" => "no es un JSON Schema válido en {}: {}";
    "is no valid JSON Schema: {}" => "no es un JSON Schema válido: {}";
    "nests deeper than {} levels, references followed" => "anida más de {} niveles, siguiendo las referencias";
    "has a `$ref` that leads back to itself: write it out"
        => "tiene un `$ref` que lleva a sí mismo: escríbelo completo";
    "has more than {} parts, references followed" => "tiene más de {} partes, siguiendo las referencias";
    "has a `$ref` that is not local: only `#` and `#/…` are followed"
        => "tiene un `$ref` que no es local: solo se siguen `#` y `#/…`";
    "has a `$ref` that leads nowhere" => "tiene un `$ref` que no lleva a ninguna parte";
    "must not use `{}`: refer by `#/…` alone" => "no puede usar `{}`: refiere solo con `#/…`";
    // Tools and their headers.
    "must be a lower-case letter, then up to 63 lower-case letters, digits or `_`"
        => "debe ser una letra minúscula, y luego hasta 63 letras minúsculas, dígitos o `_`";
    "goes with the kind `{}` alone" => "solo va con el tipo `{}`";
    "is required with the kind `{}`" => "es obligatorio con el tipo `{}`";
    "names `{}`, which the URL's query has: take it out of one of the two"
        => "nombra `{}`, que ya está en la consulta de la URL: quítalo de uno de los dos";
    "follows from the kind `{}`: leave it out" => "se deduce del tipo `{}`: quítalo";
    "appears more than once: the case of a header's name does not count"
        => "aparece más de una vez: en el nombre de un encabezado no cuentan las mayúsculas";
    "`***` stands for a stored value, and there is none: send the value"
        => "`***` representa un valor guardado y no hay ninguno: envía el valor";
    "must be printable ASCII without a space at either end"
        => "debe ser ASCII imprimible sin espacios al principio ni al final";
    "must be a header's name of at most 64 characters"
        => "debe ser el nombre de un encabezado, de 64 caracteres como máximo";
    "is written by the service: leave it out" => "lo escribe el servicio: quítalo";
    "`{}` is how models search an agent's documents (`config.knowledge_base.mode` `tool`): choose another name"
        => "con `{}` los modelos buscan en los documentos de un agente (`config.knowledge_base.mode` `tool`): elige otro nombre";
    // Agents.
    "`custom` needs `llm.provider` to be `custom`, whose endpoint it shares"
        => "`custom` requiere que `llm.provider` sea `custom`, cuyo endpoint comparte";
    "is required with the provider `custom`" => "es obligatorio con el proveedor `custom`";
    "goes with the provider `custom` alone" => "solo va con el proveedor `custom`";
    "appears more than once: the first one would always count" => "aparece más de una vez: siempre contaría la primera";
    "a provider's name has 1 to 200 characters" => "el nombre de un proveedor tiene de 1 a 200 caracteres";
    "more than {} `{{`" => "tiene más de {} `{{`";
    "must be 8000, 16000 or 24000" => "debe ser 8000, 16000 o 24000";
    "must be a UUID (8-4-4-4-12 hexadecimal digits)" => "debe ser un UUID (8-4-4-4-12 dígitos hexadecimales)";
    "is required where there are several: `{}`; {}" => "es obligatorio donde hay varios: `{}`; {~}";
    "GET /v1/models?kind=stt lists the providers" => "GET /v1/models?kind=stt los enumera";
    "is required beside `voice_id`; GET /v1/voices lists voices"
        => "es obligatorio junto con `voice_id`; GET /v1/voices enumera las voces";
    "is required beside `voice_id`" => "es obligatorio junto con `voice_id`";
    "is required beside `provider`; GET /v1/voices lists them"
        => "es obligatorio junto con `provider`; GET /v1/voices las enumera";
    "is required, and no provider that {} is set up on this service (section `speech.<name>`)"
        => "es obligatorio, y en este servicio no está configurado ningún proveedor que {~} (sección `speech.<nombre>`)";
    "listens" => "escuche";
    "speaks" => "hable";
    "`{}` is not set up on this service to {} (section `speech.{}`)"
        => "`{}` no está configurado en este servicio para {~} (sección `speech.{}`)";
    "listen" => "escuchar";
    "speak" => "hablar";
    "cannot follow `{}`: {}" => "no puede seguir a `{}`: {~}";
    "`{}` has no such model; GET /v1/models?kind={} lists them"
        => "`{}` no tiene ese modelo; GET /v1/models?kind={} los enumera";
    "`{}` has no such voice; GET /v1/voices lists them" => "`{}` no tiene esa voz; GET /v1/voices las enumera";
    "is shared and the list does not say by whom; choose one that is not `shared`, or ask the operator to run `offhook voices sync`"
        => "es compartida y la lista no dice por quién; elige una que no sea `shared`, o pide al operador del servicio que ejecute `offhook voices sync`";
    "is shared, and this service has no workspace at `{}` to add it to (voices.{}.base_url); choose one that is not `shared`"
        => "es compartida, y este servicio no tiene en `{}` un espacio de trabajo al cual agregarla (voices.{}.base_url); elige una que no sea `shared`";
    "is shared, and the workspace at `{}` has no room for another voice; choose one that is not `shared`, or ask the operator to make room"
        => "es compartida, y en el espacio de trabajo de `{}` no cabe otra voz; elige una que no sea `shared`, o pide al operador del servicio que haga lugar";
    "`{}` shares this voice no more; GET /v1/voices lists the others"
        => "`{}` ya no comparte esta voz; GET /v1/voices enumera las demás";
    "must be a voice id of letters, digits, `-`, `_`, `.` and `+`; GET /v1/voices lists them"
        => "debe ser el id de una voz, con letras, dígitos, `-`, `_`, `.` y `+`; GET /v1/voices los enumera";
    "this voice's provider speaks at {} to {} times its own speed: choose one of these"
        => "el proveedor de esta voz habla de {} a {} veces su velocidad: elige una de estas";
    "is required with this provider: name the model that it is to use"
        => "es obligatorio con este proveedor: di qué modelo debe usar";
    "must hold strings of 1 to {} characters" => "debe tener textos de 1 a {} caracteres";
    "must hold strings of at most {} characters" => "debe tener textos de {} caracteres como máximo";
    "must be of letters, digits, `-`, `_` and `.`: a local program is told of it"
        => "debe tener letras, dígitos, `-`, `_` y `.`: se le pasa a un programa local";
    "must be `auto`, `on` or `off`" => "debe ser `auto`, `on` u `off`";
    // Widgets, webhooks, credentials.
    "is there twice" => "está dos veces";
    "must name at least one origin while the widget is enabled"
        => "debe nombrar al menos un origen mientras el widget esté activado";
    "must be an origin such as https://www.example.com, without a path"
        => "debe ser un origen como https://www.example.com, sin ruta";
    "must name one host, such as https://www.example.com: there is no wildcard"
        => "debe nombrar un host, como https://www.example.com: no hay comodines";
    "must begin with https://; http:// is for localhost alone"
        => "debe comenzar con https://; http:// es solo para localhost";
    "must be written as browsers do: {}" => "debe escribirse como lo hacen los navegadores: {}";
    "must be `enabled` or `disabled`" => "debe ser `enabled` o `disabled`";
    "must be within the last 14 days" => "debe estar dentro de los últimos 14 días";
    "must not be in the future" => "no puede estar en el futuro";
    "the secret must be a JSON object with `access_token`, `app_secret`, `verify_token` and `phone_numbers`"
        => "el secreto debe ser un objeto JSON con `access_token`, `app_secret`, `verify_token` y `phone_numbers`";
    "the workspace has no such agent" => "el espacio de trabajo no tiene ese agente";
    "the secret must be a JSON object with `origin` and `api_key`"
        => "el secreto debe ser un objeto JSON con `origin` y `api_key`";
    "must be scheme, host and port of `llm.endpoint`, such as https://models.example.com"
        => "debe ser el esquema, el servidor y el puerto de `llm.endpoint`, como https://models.example.com";
    "must be an object that says of each phone number id which number it is"
        => "debe ser un objeto que diga de cada id de número telefónico qué número es";
    "must name 1 to {} numbers" => "debe nombrar de 1 a {} números";
    "each name must be a phone number id of WhatsApp Manager: digits alone"
        => "cada nombre debe ser un id de número telefónico de WhatsApp Manager: solo dígitos";
    // Lists of people.
    "the first row must name the columns, in UTF-8" => "la primera fila debe nombrar las columnas, en UTF-8";
    "the first row must name the columns, one of them `to`"
        => "la primera fila debe nombrar las columnas, una de ellas `to`";
    "the first row must not contain U+0000" => "la primera fila no puede contener U+0000";
    "is not CSV" => "no es CSV";
    "each column needs a name of its own in the first row"
        => "cada columna necesita un nombre propio en la primera fila";
    "more than {} rows" => "tiene más de {} filas";
    "is not UTF-8" => "no es UTF-8";
    "has {} cells in place of {}" => "tiene {} celdas en lugar de {}";
    // Faults of a row's other columns are faults of its metadata.
    "row {}: the body: {}" => "fila {}: los metadatos: {~}";
    "row {}: {}" => "fila {}: {~}";
    "and {} more" => "y {} más";
    // Documents.
    "must be base64 (RFC 4648)" => "debe ser base64 (RFC 4648)";
    "is required, unless `url` or `content_base64` is given"
        => "es obligatorio si no se envía `url` ni `content_base64`";
    "must not be given with another of `text`, `url` and `content_base64`"
        => "no puede enviarse junto con otro de `text`, `url` y `content_base64`";
    "is required, as the file has no name of its own" => "es obligatorio: el archivo no tiene nombre propio";
    "must be a txt, md, html, pdf, docx or csv file" => "debe ser un archivo txt, md, html, pdf, docx o csv";
    "The address took longer than 15 seconds: send the file itself."
        => "La dirección tardó más de 15 segundos: envía el archivo mismo.";
    "The address answered with a redirect ({}): give the address that it leads to."
        => "La dirección respondió con una redirección ({}): da la dirección a la que lleva.";
    "The address answered with status {}: it must be readable without signing in."
        => "La dirección respondió con el estado {}: debe poder leerse sin iniciar sesión.";
    "The address holds more than 20 MiB: split it into several documents."
        => "La dirección tiene más de 20 MiB: divídelo en varios documentos.";
    "The address holds what cannot be read: it {}." => "La dirección tiene algo que no se puede leer: {~}.";
    "The address holds {}: it {}." => "La dirección tiene {}: {~}.";
    "The address cannot be fetched: {}." => "No se puede leer la dirección: {~}.";
    "The address cannot be fetched: it {}." => "No se puede leer la dirección: {~}.";
    "its name leads to an address that is not public" => "su nombre lleva a una dirección que no es pública";
    "its name leads nowhere" => "su nombre no lleva a ninguna parte";
    "nothing answers there" => "no hay respuesta";
    "its certificate or TLS is faulty" => "su certificado o su TLS no es válido";
    "it took too long" => "tardó demasiado";
    "it broke the connection off" => "cortó la conexión";
    "it does not speak HTTP/1.1" => "no habla HTTP/1.1";
    "must be at most {} characters long: shorten the URL" => rules::url(UrlRule::Length);
    "must not contain spaces, backslashes or control characters: percent-encode them"
        => rules::url(UrlRule::Characters);
    "must be a whole URL, such as https://example.com/events" => rules::url(UrlRule::Whole);
    "must begin with https://" => rules::url(UrlRule::Https);
    "must not contain a user name or password: remove the part before the @" => rules::url(UrlRule::Credentials);
    "must not have a fragment: remove the # and what follows it" => rules::url(UrlRule::Fragment);
    "must name a host, not an IP address: use a domain name that resolves to a public address"
        => rules::url(UrlRule::Address);
    "must name a public host, such as example.com: this name is only known inside a network"
        => rules::url(UrlRule::Local);
    "must have a valid host name: labels of letters, digits and hyphens, with a dot between them and none at the end"
        => rules::url(UrlRule::Host);
    "must use port 443 or a port from 1024 to 65535" => rules::url(UrlRule::Port);
    "The file is not in the object store any more: send it again."
        => "El archivo ya no está en el almacén de objetos: envíalo de nuevo.";
    "Reading the file ended its reader three times: save it anew, or send its text."
        => "El archivo hizo fallar tres veces a su lector: guárdalo de nuevo, o envía su texto.";
    "Reading the file took longer than 20 seconds: split it, or send its text."
        => "Leer el archivo tardó más de 20 segundos: divídelo, o envía su texto.";
    "Reading the file failed, perhaps for want of memory: save it anew, or send its text."
        => "No se pudo leer el archivo, quizá por falta de memoria: guárdalo de nuevo, o envía su texto.";
    "The file holds no text; if it is a scan, run text recognition (OCR) on it and send the result."
        => "El archivo no tiene texto; si es un escaneo, pásale reconocimiento de texto (OCR) y envía el resultado.";
    "The file holds no text." => "El archivo no tiene texto.";
    "The file holds more than 10 MiB of text: split it into several documents."
        => "El archivo tiene más de 10 MiB de texto: divídelo en varios documentos.";
    "The file is not text: send it in the format that its name says."
        => "El archivo no es texto: envíalo en el formato que dice su nombre.";
    "The Word document could not be read: open it, save it as .docx anew, and send that."
        => "No se pudo leer el documento de Word: ábrelo, guárdalo de nuevo como .docx y envía ese.";
    "The Word document unpacks to far more than a text of its size: save its text in a new document and send that."
        => "El documento de Word se expande a mucho más que un texto de su tamaño: guarda su texto en un documento nuevo y envía ese.";
    "The Word document is in the old .doc format or protected by a password: save it as .docx without one."
        => "El documento de Word está en el formato antiguo .doc o protegido con contraseña: guárdalo como .docx sin contraseña.";
    "The PDF is protected by a password: remove the protection and send it again."
        => "El PDF está protegido con contraseña: quítale la protección y envíalo de nuevo.";
    "The PDF could not be read: open it, print it to a new PDF, and send that."
        => "No se pudo leer el PDF: ábrelo, imprímelo en un PDF nuevo y envía ese.";
    "The table could not be read: check its quotes and separators."
        => "No se pudo leer la tabla: revisa sus comillas y separadores.";
    // Analyses.
    "the model's answer was not a JSON object" => "la respuesta del modelo no fue un objeto JSON";
    "the model's answer was too long" => "la respuesta del modelo fue demasiado larga";
    "the model's answer was too long for so large a schema"
        => "la respuesta del modelo fue demasiado larga para un esquema tan grande";
    "the model's answer did not fit the schema at `{}`" => "la respuesta del modelo no cumplió el esquema en `{}`";
    "no model of the agent answered" => "no respondió ningún modelo del agente";
    "the analysis was interrupted too often" => "el análisis se interrumpió demasiadas veces";
    "the schema that it was ordered by is gone" => "ya no existe el esquema con el que se pidió";
    "the conversation is gone" => "la conversación ya no existe";
    "the agent's version has no model" => "la versión del agente no tiene modelo";
    "the schema cannot be used any more: set it again" => "el esquema ya no se puede usar: guárdalo de nuevo";
    // Messages on WhatsApp, in a transcript.
    "Not answered: no model could be reached. The customer was told nothing."
        => "Sin respuesta: no se pudo llegar a ningún modelo. No se le dijo nada al cliente.";
    "Not answered: the account's credits do not cover an answer. The customer was told nothing."
        => "Sin respuesta: los créditos de la cuenta no alcanzan para una. No se le dijo nada al cliente.";
    "Not sent: WhatsApp could not be reached, or took no messages, for 15 minutes."
        => "No se envió: durante 15 minutos no se pudo llegar a WhatsApp, o no aceptó mensajes.";
    "Not sent: the account has no credential `whatsapp` any more that names this number."
        => "No se envió: la cuenta ya no tiene una credencial `whatsapp` que nombre este número.";
    "It is not known whether WhatsApp sent this message ({}). It is not sent again."
        => "No se sabe si WhatsApp envió este mensaje ({~}). No se envía otra vez.";
    "It is not known whether WhatsApp took this message: the process that sent it ended before it was answered. It is not sent again."
        => "No se sabe si WhatsApp aceptó este mensaje: el proceso que lo envió terminó antes de la respuesta. No se envía otra vez.";
    "WhatsApp did take the message of which it was not known whether it was sent."
        => "WhatsApp sí aceptó el mensaje del que no se sabía si se había enviado.";
    // Why WhatsApp did not send a message.
    "WhatsApp did not answer" => "WhatsApp no respondió";
    "WhatsApp answered with status {}" => "WhatsApp respondió con el estado {}";
    "WhatsApp's answer is not the documented one" => "la respuesta de WhatsApp no es la documentada";
    "WhatsApp refused the access token: see that it is valid and has `whatsapp_business_messaging` for this number, and store the credential `whatsapp` anew"
        => "WhatsApp rechazó el token de acceso: revisa que sea válido y que tenga `whatsapp_business_messaging` para este número, y guarda de nuevo la credencial `whatsapp`";
    "WhatsApp sent nothing: the customer last wrote more than 24 hours ago, and has to write first"
        => "WhatsApp no envió nada: el cliente escribió por última vez hace más de 24 horas, y tiene que escribir primero";
    "WhatsApp cannot deliver to this customer: the number may have no WhatsApp, or takes no messages of businesses"
        => "WhatsApp no puede entregar a este cliente: quizá el número no tiene WhatsApp, o no acepta mensajes de empresas";
    "WhatsApp sends nothing for this business at present (code {}): see its state and its payment in WhatsApp Manager"
        => "WhatsApp no envía nada de esta empresa por ahora (código {}): revisa su estado y su pago en WhatsApp Manager";
    "WhatsApp does not send from this number (code {}): see that it is registered, and the ids in the credential"
        => "WhatsApp no envía desde este número (código {}): revisa que esté registrado, y los ids de la credencial";
    "WhatsApp did not deliver the message, and does not say why" => "WhatsApp no entregó el mensaje, y no dice por qué";
    "WhatsApp refused the message (code {}): its meaning is in the list of the Cloud API's error codes"
        => "WhatsApp rechazó el mensaje (código {}): su significado está en la lista de códigos de error de la Cloud API";
    "WhatsApp refused the message with status {}" => "WhatsApp rechazó el mensaje con el estado {}";
    // Upstream errors.
    "{} did not do its part: {}. Nothing was changed here." => "{~} falló: {~}. Aquí no se cambió nada.";
    "The provider of the legacy agents" => "ElevenLabs";
    "The provider of the voice" => "El proveedor de la voz";
    "The carrier" => "El operador telefónico";
    "Twilio did not list the account's numbers, try again in a moment"
        => "Twilio no listó los números de la cuenta; inténtalo en un momento";
    "it does not accept the account's credential" => "no acepta la credencial de la cuenta";
    // Why a provider did not list the account's resources.
    "no connection to the legacy provider could be opened"
        => "no se pudo abrir una conexión con ElevenLabs";
    "the legacy provider did not give an answer that can be read"
        => "ElevenLabs no dio una respuesta que se pueda leer";
    "the legacy provider takes no more requests of this account for now: try again later"
        => "ElevenLabs no acepta por ahora más solicitudes de esta cuenta: intenta de nuevo más tarde";
    "the legacy provider refused: {}" => "ElevenLabs rechazó la solicitud: {~}";
    "it does not accept the account's credential, or not for this"
        => "no acepta la credencial de la cuenta, o no para esto";
    "it does not know what was asked for" => "no conoce lo que se le pidió";
    "the account there has no credits left" => "la cuenta de allá ya no tiene créditos";
    "the state of what was asked for does not allow it" => "el estado de lo que se le pidió no lo permite";
    "its address redirects elsewhere, which is not followed" => "su dirección redirige a otra parte, y eso no se sigue";
    "it does not accept the request" => "no acepta la solicitud";
    "the credential opens no workspace" => "la credencial no abre ningún espacio de trabajo";
    "the provider cannot be reached" => "no se puede llegar al proveedor";
    "the provider does not accept the credential, or not for its voices"
        => "el proveedor no acepta la credencial, o no para sus voces";
    "the provider answered with {}" => "el proveedor respondió con {}";
    "the provider's answer is not of its form: {}" => "la respuesta del proveedor no tiene su forma: {~}";
    "a page is not the JSON that it should be" => "una página no es el JSON que debería ser";
    "a page is too large" => "una página es demasiado grande";
    "no such path" => "no existe esa ruta";
    "the list does not end" => "la lista no termina";
    "the list goes round in a circle" => "la lista da vueltas en círculo";
    "a page does not say whether more follow" => "una página no dice si siguen más";
    "the list goes on and does not say where" => "la lista continúa y no dice dónde";
    "the credential holds characters that no HTTP header can carry"
        => "la credencial tiene caracteres que ningún encabezado HTTP puede llevar";
    "the provider shares no such voice" => "el proveedor no comparte esa voz";
    "the workspace at the provider has no room for another voice"
        => "el espacio de trabajo del proveedor no tiene lugar para otra voz";
    // Why an application is not connected.
    "{} answered the request for consent with an error" => "{} respondió con un error a la solicitud de permiso";
    "{} did not answer when it was asked for access: connect it again"
        => "{} no respondió cuando se le pidió acceso: conéctala de nuevo";
    "{} did not take the consent, which is good once and for a few minutes: connect it again"
        => "{} no aceptó el permiso, que vale una sola vez y por unos minutos: conéctala de nuevo";
    "{} does not know this service: whoever runs it must look at integrations.{}.client_id and integrations.{}.client_secret"
        => "{} no conoce este servicio: su operador debe revisar integrations.{}.client_id e integrations.{}.client_secret";
    "{} was allowed less than what agents need: connect it again, and allow all of it"
        => "A {} se le permitió menos de lo que necesitan los agentes: conéctala de nuevo y permite todo";
    "{} answered the request for access with HTTP status {}: connect it again later"
        => "{} respondió a la solicitud de acceso con el estado HTTP {}: conéctala de nuevo más tarde";
    "{} answered the request for access in a form that is not the documented one"
        => "{} respondió a la solicitud de acceso de una forma que no es la documentada";
    "{} granted access for a time, and that is over: connect it again"
        => "{} dio acceso por un tiempo, que ya terminó: conéctala de nuevo";
    "{} takes the authorization no more (it was withdrawn there, or has run out): connect it again"
        => "{} ya no acepta la autorización (se retiró allá, o venció): conéctala de nuevo";
    "{} takes no authorization of this service, not even a new one (HTTP status 401): look there what it may do, and connect it again"
        => "{} no acepta ninguna autorización de este servicio, ni una nueva (estado HTTP 401): revisa allá qué se le permite, y conéctala de nuevo";
    "{} does not answer, and the access that it granted has lapsed; it is asked again and again"
        => "{} no responde, y el acceso que dio ya venció; se sigue reintentando";
    "{} does not know this service any more: whoever runs it must look at integrations.{}.client_id and integrations.{}.client_secret"
        => "{} ya no conoce este servicio: su operador debe revisar integrations.{}.client_id e integrations.{}.client_secret";
    "{} answers with HTTP status {}, and the access that it granted has lapsed; it is asked again and again"
        => "{} responde con el estado HTTP {}, y el acceso que dio ya venció; se sigue reintentando";
    "{} answers in a form that is not the documented one, and the access that it granted has lapsed; it is asked again and again"
        => "{} responde de una forma que no es la documentada, y el acceso que dio ya venció; se sigue reintentando";
    // Transactions.
    "Credits at account creation" => "Créditos al crear la cuenta";
    "Monthly credits of the {} plan, {}" => "Créditos mensuales del plan {}, {}";
    "Monthly credits of the {} plan" => "Créditos mensuales del plan {}";
    "Fee of the {} plan, {}" => "Cuota del plan {}, {}";
    "Monthly credits of the {}" => "Créditos mensuales: {}";
    "Fee of the {}" => "Cuota: {}";
    "Auto-refill" => "Recarga automática";
    "Call of {} s" => "Llamada de {} s";
    "Chat of {} answers" => "Chat de {} respuestas";
    // Chats.
    "The account's plan holds no calls: choose one that does."
        => "El plan de la cuenta no incluye llamadas: elige uno que sí.";
    "The account's plan has no API, and so no widget."
        => "El plan de la cuenta no incluye la API, y por eso tampoco el widget.";
    "Too many sessions with this agent began in this minute."
        => "En este minuto comenzaron demasiadas sesiones con este agente.";
    "The widget's daily credits are used up, or held by conversations that are open. The next day begins at midnight UTC."
        => "Los créditos diarios del widget se agotaron o los retienen conversaciones abiertas. El día siguiente comienza a la medianoche UTC.";
    // What is said of a field, within another sentence.
    "the body: {}" => "el formulario: {~}";
    "`{}`: {}" => "`{}`: {~}";
    "it {}" => "{~}";
}

/// The sentence in Spanish, if it is one of the service's own.
pub(super) fn said(text: &str) -> Option<String> {
    rows(text).or_else(|| {
        let fitting = |(english, spanish): &(&str, &str)| {
            let named = named(english, text)?;
            Some(filled(spanish, &named))
        };
        SENTENCES.iter().find_map(fitting)
    })
}

/// The inserted values in `text`, if the rest equals `english`.
fn named<'a>(english: &str, text: &'a str) -> Option<Vec<&'a str>> {
    let mut parts = english.split("{}");
    let mut rest = text.strip_prefix(parts.next()?)?;
    let mut named = Vec::new();
    let mut parts = parts.peekable();
    while let Some(part) = parts.next() {
        let end = match parts.peek() {
            Some(_) => rest.find(part)?,
            // The last part ends the sentence.
            None => rest.len().checked_sub(part.len())?,
        };
        named.push(rest.get(..end)?);
        rest = rest.get(end..)?.strip_prefix(part)?;
    }
    rest.is_empty().then_some(named)
}

fn filled(spanish: &str, named: &[&str]) -> String {
    let mut named = named.iter();
    let mut filled = String::new();
    let mut rest = spanish;
    while let Some((before, tail)) = rest.split_once('{') {
        filled.push_str(before);
        rest = if let Some(behind) = tail.strip_prefix('}') {
            filled.push_str(named.next().copied().unwrap_or_default());
            behind
        } else if let Some(behind) = tail.strip_prefix("~}") {
            let inner = named.next().copied().unwrap_or_default();
            filled.push_str(&said(inner).unwrap_or_else(|| inner.to_owned()));
            behind
        } else {
            filled.push('{');
            tail
        };
    }
    filled + rest
}

/// The bad rows of a list of people, each with its fault.
fn rows(text: &str) -> Option<String> {
    let (counted, list) = text.split_once("; ")?;
    let (count, _) = counted.split_once(" bad row")?;
    let mut said = match count {
        "1" => "1 fila con errores".to_owned(),
        count => format!("{} filas con errores", count.parse::<usize>().ok()?),
    };
    // A row's fault may contain the separator: a piece that begins no row belongs to the one before.
    let mut pieces: Vec<String> = Vec::new();
    for piece in list.split("; ") {
        let begins = ["row ", "`recipients[", "and "];
        match pieces.last_mut() {
            Some(last) if !begins.iter().any(|begin| piece.starts_with(begin)) => {
                last.push_str("; ");
                last.push_str(piece);
            }
            _ => pieces.push(piece.to_owned()),
        }
    }
    for piece in pieces {
        said.push_str("; ");
        said.push_str(&self::said(&piece).unwrap_or(piece));
    }
    Some(said)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use regex::{Captures, Regex};

    use super::*;

    /// The files whose sentences reach a page.
    const SOURCES: &[&str] = &[
        "domain/src/config.rs",
        "domain/src/config/pronunciation.rs",
        "domain/src/config/read.rs",
        "domain/src/e164.rs",
        "domain/src/json/parse.rs",
        "domain/src/metadata.rs",
        "domain/src/tool/read.rs",
        "services/src/agents/check.rs",
        "services/src/agents/patch.rs",
        "services/src/agents/speech.rs",
        "services/src/analyses.rs",
        "services/src/analyses/analysis_worker.rs",
        "services/src/analyses/judge.rs",
        "services/src/batches/recipients.rs",
        "services/src/endpoints.rs",
        "engine/src/whatsapp.rs",
        "services/src/integrations/connecting.rs",
        "services/src/integrations/renewing.rs",
        "services/src/knowledge/content.rs",
        "services/src/knowledge/fetch.rs",
        "services/src/knowledge/document_worker.rs",
        "services/src/tools.rs",
        "services/src/tools/schema.rs",
        "services/src/voices/adding.rs",
        "services/src/webhooks.rs",
        "services/src/whatsapp/credential.rs",
        "services/src/whatsapp/sending.rs",
        "services/src/widgets.rs",
        "documents/src/child.rs",
        "documents/src/extract.rs",
        "documents/src/extract/docx.rs",
        "documents/src/extract/pdf.rs",
        "documents/src/extract/table.rs",
        "egress/src/target.rs",
        "providers/src/speech/settings.rs",
        "providers/src/elevenlabs/text_to_speech.rs",
        "providers/src/deepgram/speech_to_text.rs",
    ];

    /// Those of them whose errors have no kinds of their own, by which they could be told apart.
    const MESSAGES: &[&str] = &[
        "domain/src/e164.rs",
        "engine/src/whatsapp.rs",
        "services/src/voices/adding.rs",
        "egress/src/target.rs",
    ];

    /// Their texts that reach nobody's page: choices are a rule's, rows are put together by `rows`, models and operators are
    /// told the rest.
    const OTHERS: &[&str] = &[
        "0-9, *, #, A-D; w waits half a second",
        "one of `{}`",
        "one of `{}` or `{}`",
        "an analysis schema",
        // For the log.
        "conversations cannot be analysed",
        "Your answer is not one JSON object.",
        "Your answer is longer than {} bytes.",
        "Your answer is too long for the schema.",
        "the object",
        "Your answer does not fit the schema ({}).",
        "1 bad row",
        "{} bad rows",
        "; and {} more",
        "`to`: {}",
        "no connection to WhatsApp could be opened",
        "WhatsApp takes no more messages for now",
        "the schema of {} is no JSON",
        "a consent's secret",
        "the system gives no randomness",
        "a stored tool: {}",
        "a tool's sealed headers",
        "The arguments are not a JSON object. Call the tool again with one.",
        "The arguments are too long for the tool's schema. Call the tool again with shorter ones.",
        "the arguments: {}",
        "The arguments do not fit the tool's schema ({}). Call the tool again with arguments that do.",
        "a child without pipes",
    ];

    /// The files of which only some sentences reach a page, with a word on the lines of those: entries of the ledger, and
    /// faults of fields beside what the log is told.
    const MARKED: &[(&str, &str)] = &[
        ("engine/src/ports/voices.rs", "error("),
        ("providers/src/elevenlabs/client.rs", "Self::"),
        ("providers/src/legacy/workspace.rs", "LegacyError::Refused"),
        ("providers/src/voices/reading.rs", "VoiceLibraryError"),
        ("services/src/voices/own.rs", "REFUSED"),
        ("services/src/accounts.rs", "Some(credits)"),
        ("services/src/dialer/closing.rs", "description"),
        ("services/src/numbers.rs", "FieldError"),
        ("storage/src/queries/chat_endings.rs", "description"),
        ("storage/src/queries/months.rs", "description"),
    ];

    /// The texts of a source as they are in the table, each with what stands before it on its line. What is written into
    /// the log is none.
    fn texts(path: &str) -> Vec<(String, String)> {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let source = std::fs::read_to_string(crates.join(path));
        let source = source.unwrap_or_else(|error| panic!("{path}: {error}"));
        let code = source.split("#[cfg(test)]\nmod tests {").next().unwrap();
        let logged = Regex::new(r"(?s)tracing::[a-z]+!\(.*?\);").unwrap();
        let code = logged.replace_all(code, "");
        let text = Regex::new(r#"(?s)//[^\n]*|'(?:\\.|[^\\'])'|"((?:[^"\\]|\\.)*)""#).unwrap();
        let found = text.captures_iter(&code).filter_map(|found| {
            let text = found.get(1)?;
            let before = code[..text.start()].rsplit('\n').next()?;
            Some((before.to_owned(), plain(text.as_str())))
        });
        let is_sentence = |text: &str| text.contains(' ') && text.contains(char::is_alphanumeric);
        found.filter(|(_, text)| is_sentence(text)).collect()
    }

    /// A text without the names between its braces, its escapes and its broken lines.
    fn plain(text: &str) -> String {
        let odd = Regex::new(r"(?s)\{\{|\}\}|\{[^}]*\}|\\\n *|\\.").unwrap();
        let undone = odd.replace_all(text, |found: &Captures<'_>| match &found[0] {
            "{{" => "{".to_owned(),
            "}}" => "}".to_owned(),
            hole if hole.starts_with('{') => "{}".to_owned(),
            broken if broken.starts_with("\\\n") => String::new(),
            escaped => escaped[1..].to_owned(),
        });
        undone.into_owned()
    }

    #[test]
    fn every_sentence_of_the_service_that_reaches_a_page_has_its_spanish() {
        let mut unknown = Vec::new();
        let mut unused: Vec<&str> = OTHERS.to_vec();
        let mut look = |path: &'static str, reaches: &dyn Fn(&str) -> bool| {
            let mut told = texts(path);
            told.retain(|(before, _)| reaches(before));
            if told.is_empty() {
                unknown.push(format!("{path}: nothing of it reaches a page"));
            }
            for (_, text) in told {
                let is_known = SENTENCES.iter().any(|(known, _)| *known == text);
                unused.retain(|other| *other != text);
                if !is_known && !OTHERS.contains(&text.as_str()) {
                    unknown.push(format!("{path}: {text}"));
                }
            }
        };
        for path in SOURCES {
            let is_message = MESSAGES.contains(path);
            look(path, &|before| {
                is_message || !before.trim_start().starts_with("#[")
            });
        }
        for (path, word) in MARKED {
            look(path, &|before| before.contains(word));
        }
        let foreign = MESSAGES.iter().filter(|path| !SOURCES.contains(path));
        unused.extend(foreign);
        assert!(unused.is_empty(), "exceptions of nothing: {unused:?}");
        assert!(unknown.is_empty(), "{}", unknown.join("\n"));
    }

    #[test]
    fn each_sentence_names_as_much_in_both_languages() {
        for (english, spanish) in SENTENCES {
            let (en, es) = (english.matches("{}").count(), spanish.replace("{~}", "{}"));
            // An address that is too long is shortened, however long it may be.
            let es = es.matches("{}").count();
            assert!(
                en == es || english.starts_with("must be at most"),
                "{english}"
            );
            let sample = english.replace("{}", "17");
            let said = said(&sample).unwrap_or_default();
            assert!(
                !said.is_empty() && !said.contains("{}") && !said.contains("{~}"),
                "{sample}: {said}"
            );
        }
    }

    #[test]
    fn a_sentence_is_known_with_what_it_names() {
        for (english, spanish) in [
            ("has 3 cells in place of 2", "tiene 3 celdas en lugar de 2"),
            ("more than 500 `{{`", "tiene más de 500 `{{`"),
            (
                "is no valid JSON Schema at /properties/a/type: \"strnig\" is not valid",
                "no es un JSON Schema válido en /properties/a/type: \"strnig\" is not valid",
            ),
            (
                "`eleven` is not set up on this service to speak (section `speech.eleven`)",
                "`eleven` no está configurado en este servicio para hablar (sección `speech.eleven`)",
            ),
            (
                "The address cannot be fetched: it must begin with https://.",
                "No se puede leer la dirección: debe comenzar con https://.",
            ),
            (
                "The address cannot be fetched: its name leads nowhere.",
                "No se puede leer la dirección: su nombre no lleva a ninguna parte.",
            ),
            (
                "The address holds image/png: it must be a txt, md, html, pdf, docx or csv file.",
                "La dirección tiene image/png: debe ser un archivo txt, md, html, pdf, docx o csv.",
            ),
            (
                "It is not known whether WhatsApp sent this message (WhatsApp did not answer). It is not sent again.",
                "No se sabe si WhatsApp envió este mensaje (WhatsApp no respondió). No se envía otra vez.",
            ),
            (
                "HubSpot was allowed less than what agents need: connect it again, and allow all of it",
                "A HubSpot se le permitió menos de lo que necesitan los agentes: conéctala de nuevo y permite todo",
            ),
            (
                "Monthly credits of the scale plan, 2026-04",
                "Créditos mensuales del plan scale, 2026-04",
            ),
            (
                "2 bad rows; row 2: `to`: must begin with `+` and the country code, such as +5215512345678; \
                 row 4: `note; x`: longer than 2000 characters; and 50 more",
                "2 filas con errores; fila 2: `to`: debe comenzar con `+` y el código del país, como \
                 +5215512345678; fila 4: `note; x`: tiene más de 2000 caracteres; y 50 más",
            ),
            (
                "1 bad row; row 3: the body: larger than 5120 bytes of compact JSON",
                "1 fila con errores; fila 3: los metadatos: pasa de 5120 bytes de JSON compacto",
            ),
        ] {
            assert_eq!(said(english).as_deref(), Some(spanish));
        }
        for others in [
            "Enero, por transferencia",
            "",
            "row",
            "{}",
            "must be public",
            "Call of 5",
        ] {
            assert_eq!(said(others), None, "{others}");
        }
    }
}
