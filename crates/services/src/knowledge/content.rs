//! The content of a new document.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use offhook_documents::Format;
use offhook_domain::json::{Fault, FieldError, Fields, Json};
use offhook_domain::{DocumentSource, FolderId};
use offhook_egress::{Policy, TargetUrl};
use ring::digest::{SHA256, digest};

use super::NAME;

/// Text has no length limit of its own: the body's limit is lower.
const TEXT: std::ops::RangeInclusive<usize> = 1..=usize::MAX;

/// The content that a client sent.
#[derive(Debug)]
pub enum NewContent {
    /// `{name, folder_id?, text | url | content_base64}`.
    Json(Json),
    /// An upload.
    File(DocumentFile),
}

/// An uploaded file with its form fields.
#[derive(Debug)]
pub struct DocumentFile {
    /// `name`; defaults to the file's own name.
    pub name: Option<String>,
    /// `folder_id`.
    pub folder_id: Option<String>,
    /// The file's own name.
    pub file_name: Option<String>,
    /// The media type that the client sent.
    pub content_type: Option<String>,
    pub content: Vec<u8>,
}

/// A parsed new document.
pub(super) struct ReadContent {
    pub(super) name: String,
    pub(super) folder: Option<FolderId>,
    pub(super) source: DocumentSource,
    /// `None` until it is fetched.
    pub(super) format: Option<Format>,
    pub(super) url: Option<String>,
    pub(super) content: Option<Vec<u8>>,
}

/// SHA-256.
pub(super) fn hash(content: &[u8]) -> Vec<u8> {
    digest(&SHA256, content).as_ref().to_vec()
}

pub(super) fn read(content: NewContent) -> Result<ReadContent, FieldError> {
    match content {
        NewContent::Json(body) => read_json(&body),
        NewContent::File(file) => read_file(file),
    }
}

fn read_json(body: &Json) -> Result<ReadContent, FieldError> {
    let mut fields = Fields::of(body, "")?;
    let name = name(fields.required_string("name", NAME)?, &fields)?.to_owned();
    let folder = folder(&mut fields)?;
    let text = fields.optional_string("text", TEXT)?;
    let url = fields.optional_string("url", 1..=2_048)?;
    let encoded = fields.optional_string("content_base64", TEXT)?;
    let read = |source, format, url, content| ReadContent {
        name: name.clone(),
        folder,
        source,
        format,
        url,
        content,
    };
    let read = match (text, url, encoded) {
        (Some(text), None, None) => {
            if text.trim().is_empty() {
                return Err(fields.fault("text", Fault::Blank));
            }
            let content = Some(text.as_bytes().to_vec());
            read(DocumentSource::Text, Some(Format::Text), None, content)
        }
        (None, Some(url), None) => {
            let url = TargetUrl::parse(url, Policy::default())
                .map_err(|error| fields.fault("url", error))?;
            let url = Some(url.as_str().to_owned());
            read(DocumentSource::Url, None, url, None)
        }
        (None, None, Some(encoded)) => {
            let content = STANDARD
                .decode(encoded)
                .map_err(|_| fields.fault("content_base64", Fault::Base64))?;
            let format = format("content_base64", &name, None, &content)?;
            read(DocumentSource::File, Some(format), None, Some(content))
        }
        (None, None, None) => {
            return Err(fields.fault("text", Fault::NoContent));
        }
        _ => {
            let more = if text.is_some() && url.is_some() {
                "url"
            } else {
                "content_base64"
            };
            return Err(fields.fault(more, Fault::TwoContents));
        }
    };
    fields.finish()?;
    Ok(read)
}

fn read_file(file: DocumentFile) -> Result<ReadContent, FieldError> {
    let own = file.file_name.as_deref().map(base_name).unwrap_or_default();
    let name = match &file.name {
        Some(name) => name.clone(),
        None => own.chars().take(*NAME.end()).collect(),
    };
    if name.trim().is_empty() {
        return Err(FieldError::new("name", Fault::NameOfFile));
    }
    if name.chars().count() > *NAME.end() {
        return Err(FieldError::new("name", Fault::TooLong(*NAME.end())));
    }
    let folder = match file.folder_id.as_deref() {
        None | Some("") => None,
        Some(id) => Some(
            id.parse()
                .map_err(|_| FieldError::new("folder_id", Fault::Uuid))?,
        ),
    };
    let named = if own.is_empty() { name.as_str() } else { own };
    let content_type = file.content_type.as_deref();
    let format = format("file", named, content_type, &file.content)?;
    Ok(ReadContent {
        name,
        folder,
        source: DocumentSource::File,
        format: Some(format),
        url: None,
        content: Some(file.content),
    })
}

/// The part after the last separator: some clients send whole paths.
fn base_name(name: &str) -> &str {
    name.rsplit(['/', '\\']).next().unwrap_or_default().trim()
}

/// A file's format by its name, else by its media type, else by its content.
fn format(
    field: &str,
    name: &str,
    content_type: Option<&str>,
    content: &[u8],
) -> Result<Format, FieldError> {
    if content.is_empty() {
        return Err(FieldError::new(field, Fault::Empty));
    }
    let unknown = || FieldError::new(field, Fault::FileKind);
    let by_name = Format::of_name(name).map_err(|_| unknown())?;
    by_name
        .or_else(|| content_type.and_then(Format::of_mime_type))
        .or_else(|| Format::of_content(content))
        .ok_or_else(unknown)
}

pub(super) fn name<'a>(text: &'a str, fields: &Fields<'_>) -> Result<&'a str, FieldError> {
    if text.trim().is_empty() {
        return Err(fields.fault("name", Fault::Blank));
    }
    Ok(text)
}

pub(super) fn folder(fields: &mut Fields<'_>) -> Result<Option<FolderId>, FieldError> {
    let Some(text) = fields.optional_string("folder_id", 0..=usize::MAX)? else {
        return Ok(None);
    };
    let id = text.parse();
    id.map(Some)
        .map_err(|_| fields.fault("folder_id", Fault::Uuid))
}
