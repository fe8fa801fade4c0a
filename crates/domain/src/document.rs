//! Knowledge documents.

use crate::agent::vocabulary;
use crate::json::UrlFault;
use crate::messages;

/// The largest document: a file that is uploaded, or what a URL answers.
pub const MAX_DOCUMENT_BYTES: usize = 20 * 1024 * 1024;

vocabulary! {
    /// The source of a document's content.
    DocumentSource {
        /// Text in the request.
        Text => "text",
        /// An uploaded file.
        File => "file",
        /// Fetched from a URL.
        Url => "url",
    }
}

vocabulary! {
    /// The status of a document.
    DocumentStatus {
        /// Its text is being extracted.
        Processing => "processing",
        /// It can be searched.
        Ready => "ready",
        /// It has no text; `error` says why.
        Failed => "failed",
    }
}

messages! { stored
/// Why a document has no text.
pub enum DocumentFault {
    // Of its address.
    AddressSlow => "The address took longer than 15 seconds: send the file itself.",
        "La dirección tardó más de 15 segundos: envía el archivo mismo.";
    Redirect(status: u16) => "The address answered with a redirect ({status}): give the address that it leads to.",
        "La dirección respondió con una redirección ({status}): da la dirección a la que lleva.";
    Status(status: u16) => "The address answered with status {status}: it must be readable without signing in.",
        "La dirección respondió con el estado {status}: debe poder leerse sin iniciar sesión.";
    AddressLarge => "The address holds more than 20 MiB: split it into several documents.",
        "La dirección tiene más de 20 MiB: divídelo en varios documentos.";
    UnknownContent => "The address holds what cannot be read: it must be a txt, md, html, pdf, docx or csv file.",
        "La dirección tiene algo que no se puede leer: debe ser un archivo txt, md, html, pdf, docx o csv.";
    OtherContent(kind: String) => "The address holds {kind}: it must be a txt, md, html, pdf, docx or csv file.",
        "La dirección tiene {kind}: debe ser un archivo txt, md, html, pdf, docx o csv.";
    Address(fault: UrlFault) => "The address cannot be fetched: it {fault}.", "No se puede leer la dirección: {fault}.";
    Unfetched(why: Unfetched) => "The address cannot be fetched: {why}.", "No se puede leer la dirección: {why}.";

    // Of its reader.
    Missing => "The file is not in the object store any more: send it again.",
        "El archivo ya no está en el almacén de objetos: envíalo de nuevo.";
    GivenUp => "Reading the file ended its reader three times: save it anew, or send its text.",
        "El archivo hizo fallar tres veces a su lector: guárdalo de nuevo, o envía su texto.";
    Slow => "Reading the file took longer than 20 seconds: split it, or send its text.",
        "Leer el archivo tardó más de 20 segundos: divídelo, o envía su texto.";
    Crashed => "Reading the file failed, perhaps for want of memory: save it anew, or send its text.",
        "No se pudo leer el archivo, quizá por falta de memoria: guárdalo de nuevo, o envía su texto.";

    // Of its content.
    NoText => "The file holds no text.", "El archivo no tiene texto.";
    Scan => "The file holds no text; if it is a scan, run text recognition (OCR) on it and send the result.",
        "El archivo no tiene texto; si es un escaneo, pásale reconocimiento de texto (OCR) y envía el resultado.";
    TooLong => "The file holds more than 10 MiB of text: split it into several documents.",
        "El archivo tiene más de 10 MiB de texto: divídelo en varios documentos.";
    Binary => "The file is not text: send it in the format that its name says.",
        "El archivo no es texto: envíalo en el formato que dice su nombre.";
    Word => "The Word document could not be read: open it, save it as .docx anew, and send that.",
        "No se pudo leer el documento de Word: ábrelo, guárdalo de nuevo como .docx y envía ese.";
    WordBomb => "The Word document unpacks to far more than a text of its size: save its text in a new document and send that.",
        "El documento de Word se expande a mucho más que un texto de su tamaño: guarda su texto en un documento nuevo y envía ese.";
    OldWord => "The Word document is in the old .doc format or protected by a password: save it as .docx without one.",
        "El documento de Word está en el formato antiguo .doc o protegido con contraseña: guárdalo como .docx sin contraseña.";
    LockedPdf => "The PDF is protected by a password: remove the protection and send it again.",
        "El PDF está protegido con contraseña: quítale la protección y envíalo de nuevo.";
    Pdf => "The PDF could not be read: open it, print it to a new PDF, and send that.",
        "No se pudo leer el PDF: ábrelo, imprímelo en un PDF nuevo y envía ese.";
    Table => "The table could not be read: check its quotes and separators.",
        "No se pudo leer la tabla: revisa sus comillas y separadores.";
}}

messages! { stored
/// Why an address gave nothing.
pub enum Unfetched {
    Blocked => "its name leads to an address that is not public", "su nombre lleva a una dirección que no es pública";
    Name => "its name leads nowhere", "su nombre no lleva a ninguna parte";
    Silent => "nothing answers there", "no hay respuesta";
    Tls => "its certificate or TLS is faulty", "su certificado o su TLS no es válido";
    Slow => "it took too long", "tardó demasiado";
    Broken => "it broke the connection off", "cortó la conexión";
    Protocol => "it does not speak HTTP/1.1", "no habla HTTP/1.1";
}}
