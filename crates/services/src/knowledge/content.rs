//! The content of a new document.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use offhook_documents::Format;
use offhook_domain::body::{Id, Name, Optional, Required, Text};
use offhook_egress::{Policy, TargetUrl};
use ring::digest::{SHA256, digest};

use super::NAME;
use crate::prelude::*;

/// Text has no length limit of its own: the body's limit is lower.
const TEXT: usize = usize::MAX;

/// The content that a client sent.
#[derive(Debug)]
pub enum NewContent {
    /// `{name, folder_id?, text | url | content_base64}`.
    Json(Json),
    /// An upload.
    File(DocumentFile),
}

body! {
    /// `POST /v1/knowledge/documents`, as JSON.
    #[derive(Debug)]
    pub CreateDocument {
        name: String, Required(Name(*NAME.end())), "The name, 1 to 255 characters. With `content_base64` its extension determines the format.";
        folder_id: Option<FolderId>, Optional(Id::of()), "The folder; null: none.";
        text: Option<String>, Optional(Name(TEXT)), "The text. One of `text`, `url` and `content_base64` is required.";
        url: Option<String>, Optional(Text(1..=2_048)), "A public https URL to fetch: at most 15 s and 20 MiB, no redirects.";
        content_base64: Option<String>, Optional(Text(1..=TEXT)), "A txt, md, html, pdf, docx or csv file.";
    }
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
    let CreateDocument {
        name,
        folder_id,
        text,
        url,
        content_base64,
    } = CreateDocument::of(body, &())?;
    let fault = |name, fault: Fault| Err(FieldError::new(name, fault));
    let (source, format, url, content) = match (text, url, content_base64) {
        (Some(text), None, None) => {
            let content = Some(text.into_bytes());
            (DocumentSource::Text, Some(Format::Text), None, content)
        }
        (None, Some(url), None) => {
            let url = TargetUrl::parse(&url, Policy::default())
                .map_err(|error| FieldError::new("url", error))?;
            let url = Some(url.as_str().to_owned());
            (DocumentSource::Url, None, url, None)
        }
        (None, None, Some(encoded)) => {
            let content = STANDARD
                .decode(encoded)
                .map_err(|_| FieldError::new("content_base64", Fault::Base64))?;
            let format = format("content_base64", &name, None, &content)?;
            (DocumentSource::File, Some(format), None, Some(content))
        }
        (None, None, None) => return fault("text", Fault::NoContent),
        (Some(_), Some(_), _) => return fault("url", Fault::TwoContents),
        _ => return fault("content_base64", Fault::TwoContents),
    };
    Ok(ReadContent {
        name,
        folder: folder_id,
        source,
        format,
        url,
        content,
    })
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
