//! The bodies of batch calls: JSON, or a form with a CSV file, at most 20 MiB, with an optional Idempotency-Key.

use actix_web::dev::Payload;
use actix_web::http::header::{CONTENT_TYPE, HeaderMap};
use actix_web::web::Bytes;
use futures_util::stream;
use offhook_domain::json::{Fault, FieldError, Fields, Json};
use offhook_services::BatchBody;

use super::body::{FromBody, Optional, bytes_up_to, has_type, invalid_json, parse};
use super::idempotency;
use crate::prelude::*;

const MAX_BYTES: usize = 20 * 1024 * 1024;

/// The form field that holds the CSV file.
const FILE: &str = "file";

/// A batch that a client may send again under the same Idempotency-Key.
#[derive(Debug)]
pub(crate) struct BatchUpload {
    pub(crate) key: Option<String>,
    pub(crate) body: BatchBody,
}

impl FromBody for BatchUpload {
    async fn read(req: &HttpRequest, payload: Payload) -> Result<Self, ApiError> {
        let headers = req.headers();
        let key = idempotency::key(headers)?;
        let bytes = bytes_up_to(req, payload, MAX_BYTES).await?;
        let body = match boundary(headers) {
            Some(boundary) => form(bytes, boundary).await?,
            None => BatchBody::Json(parse(headers, &bytes)?),
        };
        Ok(Self { key, body })
    }
}

/// A JSON body, or the CSV file of a form or of the body itself.
#[derive(Debug)]
pub(crate) enum JsonOrFile {
    Json(Json),
    File(Vec<u8>),
}

impl FromBody for JsonOrFile {
    async fn read(req: &HttpRequest, payload: Payload) -> Result<Self, ApiError> {
        let headers = req.headers();
        let bytes = bytes_up_to(req, payload, MAX_BYTES).await?;
        if has_type(headers, "text/csv") {
            return Ok(Self::File(bytes));
        }
        let Some(boundary) = boundary(headers) else {
            return parse(headers, &bytes).map(Self::Json);
        };
        match form(bytes, boundary).await? {
            BatchBody::Csv { fields, file } => {
                Fields::of(&fields, "").and_then(Fields::finish)?;
                Ok(Self::File(file))
            }
            BatchBody::Json(json) => Ok(Self::Json(json)),
        }
    }
}

/// A JSON body; or a CSV file as the body itself, or in a form with other fields.
#[derive(Debug)]
pub(crate) struct RowsOrFile {
    pub(crate) fields: Json,
    pub(crate) file: Option<Vec<u8>>,
}

impl FromBody for RowsOrFile {
    async fn read(req: &HttpRequest, payload: Payload) -> Result<Self, ApiError> {
        let headers = req.headers();
        let bytes = bytes_up_to(req, payload, MAX_BYTES).await?;
        let (fields, file) = if has_type(headers, "text/csv") {
            (Json::Object(Vec::new()), Some(bytes))
        } else if let Some(boundary) = boundary(headers) {
            match form(bytes, boundary).await? {
                BatchBody::Csv { fields, file } => (fields, Some(file)),
                BatchBody::Json(json) => (json, None),
            }
        } else {
            (parse(headers, &bytes)?, None)
        };
        Ok(Self { fields, file })
    }
}

/// The body of a batch retry, which a client may send again under the same key. Every field is optional.
#[derive(Debug)]
pub(crate) struct Retry {
    pub(crate) key: Option<String>,
    pub(crate) json: Json,
}

impl FromBody for Retry {
    async fn read(req: &HttpRequest, payload: Payload) -> Result<Self, ApiError> {
        let key = idempotency::key(req.headers())?;
        let Optional(json) = Optional::read(req, payload).await?;
        Ok(Self { key, json })
    }
}

fn boundary(headers: &HeaderMap) -> Option<String> {
    let mut lines = headers.get_all(CONTENT_TYPE);
    let (line, None) = (lines.next()?, lines.next()) else {
        return None;
    };
    multer::parse_boundary(line.to_str().ok()?).ok()
}

/// Turns text fields into members of an object, so that the rules for a JSON body also apply to a form.
async fn form(bytes: Vec<u8>, boundary: String) -> Result<BatchBody, ApiError> {
    let malformed = |_| invalid_json("The body is not a multipart form.");
    let whole = stream::iter([Ok::<_, std::convert::Infallible>(Bytes::from(bytes))]);
    let mut form = multer::Multipart::new(whole, boundary);
    let mut members: Vec<(String, Json)> = Vec::new();
    let mut file = None;
    while let Some(field) = form.next_field().await.map_err(malformed)? {
        let name = field.name().unwrap_or_default().to_owned();
        let taken = members.iter().any(|(known, _)| *known == name);
        if taken || (name == FILE && file.is_some()) {
            return Err(FieldError::new(name, Fault::GivenTwice).into());
        }
        let content = field.bytes().await.map_err(malformed)?;
        if name == FILE {
            file = Some(content.to_vec());
            continue;
        }
        let text = std::str::from_utf8(&content).ok();
        let Some(text) = text.filter(|text| !text.contains('\0')) else {
            return Err(FieldError::new(name, Fault::PlainUtf8).into());
        };
        members.push((name, Json::String(text.to_owned())));
    }
    let file = file.ok_or_else(|| FieldError::new(FILE, Fault::Required))?;
    let fields = Json::Object(members);
    Ok(BatchBody::Csv { fields, file })
}
