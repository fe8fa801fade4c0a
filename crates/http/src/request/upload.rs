//! Reads uploads: JSON, or one file as multipart/form-data.

use actix_web::dev::Payload;
use actix_web::http::header::{CONTENT_TYPE, HeaderMap};
use actix_web::web::Bytes;
use futures_util::stream;
use multer::Multipart;
use offhook_domain::json::{Fault, FieldError, member_path};
use offhook_services::{DocumentFile, NewContent};

use super::body::{FromBody, bytes_up_to, has_type, parse};
use crate::prelude::*;

/// Bytes that a form may have besides the file: other fields and boundaries.
const AROUND: usize = 64 * 1024;

const TOO_LARGE: &str = "The body is larger than 20 MiB.";

const BROKEN: &str = "the body: is no multipart/form-data as RFC 7578 has it";

/// An uploaded document. The handler takes it out, because it is large.
pub(crate) struct Upload(pub(crate) NewContent);

impl FromBody for Option<Upload> {
    async fn read(req: &HttpRequest, payload: Payload) -> Result<Self, ApiError> {
        let headers = req.headers();
        let is_form = has_type(headers, "multipart/form-data");
        let most = if is_form {
            MAX_DOCUMENT_BYTES + AROUND
        } else {
            MAX_DOCUMENT_BYTES
        };
        let bytes = bytes_up_to(req, payload, most).await?;
        if !is_form {
            return Ok(Some(Upload(NewContent::Json(parse(headers, &bytes)?))));
        }
        let file = form(headers, bytes).await?;
        Ok(Some(Upload(NewContent::File(file))))
    }
}

fn broken() -> ApiError {
    Code::InvalidBody.error(BROKEN)
}

async fn form(headers: &HeaderMap, bytes: Vec<u8>) -> Result<DocumentFile, ApiError> {
    let content_type = headers
        .get(CONTENT_TYPE)
        .and_then(|line| line.to_str().ok());
    let boundary =
        multer::parse_boundary(content_type.unwrap_or_default()).map_err(|_| broken())?;
    let body = stream::iter([Ok::<_, std::convert::Infallible>(Bytes::from(bytes))]);
    let mut parts = Multipart::new(body, boundary);
    let mut file = None;
    let (mut name, mut folder_id) = (None, None);
    while let Some(part) = parts.next_field().await.map_err(|_| broken())? {
        let field = part.name().unwrap_or_default().to_owned();
        let (file_name, content_type) = (
            part.file_name().map(str::to_owned),
            part.content_type().map(ToString::to_string),
        );
        let content = part.bytes().await.map_err(|_| broken())?;
        let twice = match field.as_str() {
            "file" => {
                if content.len() > MAX_DOCUMENT_BYTES {
                    return Err(Code::PayloadTooLarge.error(TOO_LARGE));
                }
                file.replace((file_name, content_type, content)).is_some()
            }
            "name" => name.replace(text(&field, &content)?).is_some(),
            "folder_id" => folder_id.replace(text(&field, &content)?).is_some(),
            _ => return Err(FieldError::new(member_path("", &field), Fault::Unknown).into()),
        };
        if twice {
            return Err(FieldError::new(field, Fault::GivenTwice).into());
        }
    }
    let Some((file_name, content_type, content)) = file else {
        return Err(FieldError::new("file", Fault::Required).into());
    };
    Ok(DocumentFile {
        name,
        folder_id,
        file_name,
        content_type,
        content: content.into(),
    })
}

fn text(field: &str, content: &[u8]) -> Result<String, FieldError> {
    match std::str::from_utf8(content) {
        Ok(text) if text.contains('\0') => Err(FieldError::new(field, Fault::Zero)),
        Ok(text) => Ok(text.to_owned()),
        Err(_) => Err(FieldError::new(field, Fault::NotUtf8)),
    }
}
