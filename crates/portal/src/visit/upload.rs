//! Forms with a file (RFC 7578): drawn, and read as they arrive.

use std::io;
use std::time::Duration;

use actix_web::HttpRequest;
use actix_web::http::header::CONTENT_TYPE;
use actix_web::web::{Bytes, BytesMut, Payload};
use futures_util::{StreamExt as _, future, stream};
use multer::{Constraints, Multipart, SizeLimit};
use offhook_http::{ApiError, BODY_TIMEOUT, Code, Room, announced_length};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::prelude::*;
use crate::visit::{TOKEN_FIELD, Upload, room};

/// The field of a form that holds the file.
pub(crate) const FILE: &str = "file";

/// A field that holds a whole file as text, reviewed on an earlier page.
pub(crate) const FILE_TEXT: &str = "file_text";

/// The longest other field.
const MAX_FIELD: u64 = 64 * 1024;

/// Room for the other fields and the boundaries around a file.
const AROUND: usize = 256 * 1024;

/// Bytes of a refused form that are read and discarded: a browser shows the response only after sending everything.
const READ_ON: usize = 64 * 1024 * 1024;

/// The same for a form of a visitor who is not signed in: no form takes a larger file.
const READ_ON_OF_NOBODY: usize = 24 * 1024 * 1024;

/// A parsed chunk is at least this long, and at least this share of what came before it: a sender of single bytes would
/// otherwise have the form's start parsed once per byte.
const PIECE: usize = 16 * 1024;
const SHARE: usize = 8;

/// The longest time that a signed-in visitor's form may take to arrive, even over a slow line.
const TIME: Duration = Duration::from_secs(600);

pub(crate) struct SentFile {
    /// Its own name.
    pub(crate) name: Option<String>,
    /// The media type that the browser gave it.
    pub(crate) content_type: Option<String>,
    /// Its bytes.
    pub(crate) content: Vec<u8>,
}

/// A form with a file of at most `most` bytes. The page's script shows the upload's progress; without script the browser
/// sends the form itself.
pub(crate) fn form(visitor: &Visitor, path: &str, most: usize, fields: &Markup) -> Markup {
    let t = visitor.lang();
    html! {
        form method="post" enctype="multipart/form-data"
            action={ (crate::PATH) (path) "?" (TOKEN_FIELD) "=" (visitor.form_token()) }
            data-upload=(most) data-too-large=(too_large(most, t)) {
            (fields)
            p.sending hidden role="status" {
                progress max="1" value="0" aria-label=(t.t("Sent so far", "Enviado hasta ahora")) {}
            }
        }
    }
}

/// The field that chooses the file.
pub(crate) fn chooser(label: &str, accept: &str, hint: &str) -> Markup {
    html! {
        div.field {
            label for="field-file" { (label) }
            input #field-file type="file" name=(FILE) accept=(accept) required aria-describedby="field-file-hint";
            p.hint #field-file-hint { (hint) }
        }
    }
}

fn too_large(most: usize, lang: Lang) -> String {
    let mebibytes = most / (1024 * 1024);
    text!(
        lang,
        "The file is larger than {mebibytes} MiB. Split it and upload the parts one at a time.",
        "El archivo pesa más de {mebibytes} MiB. Divídelo y sube las partes una por una."
    )
}

/// Reads the form: its fields, as far as they arrived, and its file of at most `most` bytes; `None` if none was chosen.
pub(crate) async fn read<R>(
    upload: &mut Upload<R>,
    most: usize,
) -> (Fields, Result<Option<SentFile>>) {
    read_within(upload, (most, most)).await
}

/// The same for a form that may hold the reviewed file as text. Browsers send each line break of a text as two characters.
pub(crate) async fn read_again<R>(
    upload: &mut Upload<R>,
    most: usize,
) -> (Fields, Result<Option<SentFile>>) {
    read_within(upload, (most, 2 * most)).await
}

async fn read_within<R>(
    upload: &mut Upload<R>,
    (most, most_as_text): (usize, usize),
) -> (Fields, Result<Option<SentFile>>) {
    let lang = upload.lang();
    let mut fields = Fields::default();
    let Ok(boundary) = multer::parse_boundary(kind_of(upload.request())) else {
        return (fields, Err(Trouble::Unreadable));
    };
    let longest = most_as_text + AROUND;
    if announced_length(upload.request().headers()) > longest as u64 {
        let message = too_large(most, lang);
        return (fields, Err(Code::PayloadTooLarge.error(message).into()));
    }
    let room = room(upload.request(), Some(upload.account()));
    let (sender, mut receiver) = mpsc::channel::<Result<Bytes, io::Error>>(1);
    let arrived = feed(&mut upload.body, sender, room, most + READ_ON);
    let whole = stream::poll_fn(move |context| receiver.poll_recv(context));
    let parts = parts(whole, boundary, (most, most_as_text), &mut fields);
    let read = timeout(TIME, future::join(arrived, parts)).await;
    let file = match read {
        Ok((Err(no_room), _)) => Err(Trouble::Said(no_room)),
        Ok((Ok(()), Ok(file))) => Ok(file),
        Ok((Ok(()), Err(fault))) if is_too_large(&fault) => {
            let message = too_large(most, lang);
            Err(Code::PayloadTooLarge.error(message).into())
        }
        Ok((Ok(()), Err(_))) | Err(_) => Err(Trouble::Unreadable),
    };
    (fields, file)
}

fn kind_of(req: &HttpRequest) -> &str {
    let kind = req.headers().get(CONTENT_TYPE);
    kind.and_then(|kind| kind.to_str().ok()).unwrap_or("")
}

/// The fields before the file, of a form from an earlier session or from a visitor who is not signed in. The file is
/// discarded as it arrives.
pub(crate) async fn before_the_file(
    req: &HttpRequest,
    mut body: Payload,
    account: Option<AccountId>,
) -> Result<Fields> {
    let mut fields = Fields::default();
    if announced_length(req.headers()) > READ_ON_OF_NOBODY as u64 {
        return Err(Trouble::TooLarge);
    }
    if let Ok(boundary) = multer::parse_boundary(kind_of(req)) {
        let (sender, mut receiver) = mpsc::channel::<Result<Bytes, io::Error>>(1);
        let arrived = feed(&mut body, sender, room(req, account), READ_ON_OF_NOBODY);
        let whole = stream::poll_fn(move |context| receiver.poll_recv(context));
        let typed = typed(whole, boundary, &mut fields);
        // If reading fails, what arrived before is kept.
        let _ = timeout(BODY_TIMEOUT, future::join(arrived, typed)).await;
    }
    Ok(fields)
}

async fn typed(
    body: impl futures_util::Stream<Item = Result<Bytes, io::Error>> + Send,
    boundary: String,
    fields: &mut Fields,
) -> Result<(), multer::Error> {
    let limits = SizeLimit::new()
        .whole_stream(AROUND as u64)
        .per_field(MAX_FIELD);
    let constraints = Constraints::new().size_limit(limits);
    let mut form = Multipart::with_constraints(body, boundary, constraints);
    let mut room = AROUND;
    while let Some(part) = form.next_field().await? {
        let name = part.name().unwrap_or_default().to_owned();
        let value = match name.as_str() {
            FILE | FILE_TEXT => break,
            _ => part.bytes().await?,
        };
        match room.checked_sub(name.len() + value.len()) {
            Some(left) => room = left,
            None => break,
        }
        fields.push(&name, &String::from_utf8_lossy(&value));
    }
    Ok(())
}

/// Feeds the body to the parser in chunks, because its stream is not `Send` and the parser needs that. Bytes after `until`
/// are not read, and bytes that the parser no longer wants are discarded.
async fn feed(
    body: &mut Payload,
    sender: mpsc::Sender<Result<Bytes, io::Error>>,
    mut room: Option<Room>,
    until: usize,
) -> Result<(), ApiError> {
    let (mut taken, mut piece) = (0, BytesMut::new());
    while let Some(chunk) = body.next().await {
        let chunk = match chunk {
            Ok(chunk) => chunk,
            Err(fault) => {
                let _ = sender.send(Err(io::Error::other(fault.to_string()))).await;
                return Ok(());
            }
        };
        taken += chunk.len();
        if taken > until {
            return Ok(());
        }
        if sender.is_closed() {
            (piece, room) = (BytesMut::new(), None);
            continue;
        }
        if let Some(room) = &mut room {
            room.grow_to(taken)?;
        }
        piece.extend_from_slice(&chunk);
        if piece.len() >= PIECE.max(taken / SHARE) {
            let _ = sender.send(Ok(piece.split().freeze())).await;
        }
    }
    if !piece.is_empty() {
        let _ = sender.send(Ok(piece.freeze())).await;
    }
    Ok(())
}

async fn parts(
    body: impl futures_util::Stream<Item = Result<Bytes, io::Error>> + Send,
    boundary: String,
    (most, most_as_text): (usize, usize),
    fields: &mut Fields,
) -> Result<Option<SentFile>, multer::Error> {
    let limits = SizeLimit::new()
        .whole_stream((most_as_text + AROUND) as u64)
        .per_field(MAX_FIELD)
        .for_field(FILE, most as u64)
        .for_field(FILE_TEXT, most_as_text as u64);
    let constraints = Constraints::new().size_limit(limits);
    let mut form = Multipart::with_constraints(body, boundary, constraints);
    let mut file = None;
    while let Some(part) = form.next_field().await? {
        let name = part.name().unwrap_or_default().to_owned();
        let file_name = part.file_name().filter(|name| !name.is_empty());
        let file_name = file_name.map(str::to_owned);
        let content_type = part.content_type().map(ToString::to_string);
        let content = part.bytes().await?;
        if name != FILE {
            fields.push(&name, &String::from_utf8_lossy(&content));
        } else if file_name.is_some() || !content.is_empty() {
            file = Some(SentFile {
                name: file_name.map(|name| name.replace('\0', "")),
                content_type,
                content: content.into(),
            });
        }
    }
    Ok(file)
}

const fn is_too_large(fault: &multer::Error) -> bool {
    matches!(
        fault,
        multer::Error::FieldSizeExceeded { .. } | multer::Error::StreamSizeExceeded { .. }
    )
}
