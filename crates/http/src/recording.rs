//! `GET /v1/conversations/{id}/audio`: a WAV file, whole or the requested range (RFC 9110, section 14).

use actix_web::body::SizedStream;
use actix_web::dev::Payload;
use actix_web::http::header::{ACCEPT_RANGES, CONTENT_RANGE, ETAG, HeaderMap, IF_RANGE, RANGE};
use offhook_services::Recording;

use crate::prelude::*;
use crate::request::body::FromBody;

/// The range headers of the request; a GET has no body.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    range: Option<String>,
    if_range: Option<String>,
}

impl FromBody for Wanted {
    async fn read(req: &HttpRequest, _: Payload) -> Result<Self, ApiError> {
        Ok(Self::of(req.headers()))
    }
}

impl Wanted {
    fn of(headers: &HeaderMap) -> Self {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        Self {
            range: text(RANGE).map(str::to_owned),
            if_range: text(IF_RANGE).map(str::to_owned),
        }
    }
}

/// Responds with the recording of a conversation, whole or the range in `headers`. Fails if the file does not have
/// that range, or if the file is gone or unreachable.
pub async fn send(
    id: ConversationId,
    recording: Recording,
    headers: &HeaderMap,
) -> Result<HttpResponse, ApiError> {
    answer(id, recording, &Wanted::of(headers)).await
}

pub(crate) async fn answer(id: ConversationId, recording: Recording, wanted: &Wanted) -> Reply {
    let size = recording.bytes;
    // A recording never changes once it exists.
    let tag = format!("\"{id}-{size}\"");
    let range = match wanted.part(size, &tag) {
        Part::Whole => None,
        Part::Range(first, last) => Some((first, last)),
        Part::Nothing => return Err(ApiError::range_not_satisfiable(size)),
    };
    let (first, last) = range.unwrap_or((0, size.saturating_sub(1)));
    let length = if size == 0 { 0 } else { last - first + 1 };
    let part = recording.part(first, first + length).await?;
    let content = part.ok_or_else(ApiError::not_found)?;
    let mut answer = match range {
        None => HttpResponse::Ok(),
        Some(_) => HttpResponse::PartialContent(),
    };
    answer.content_type("audio/wav");
    answer.insert_header((ACCEPT_RANGES, "bytes"));
    answer.insert_header((ETAG, tag));
    if range.is_some() {
        answer.insert_header((CONTENT_RANGE, format!("bytes {first}-{last}/{size}")));
    }
    Ok(answer.body(SizedStream::new(length, content)))
}

/// The requested part of a file.
#[derive(Debug, PartialEq, Eq)]
enum Part {
    Whole,
    /// From the first to the last byte, both included.
    Range(u64, u64),
    /// A range outside the file.
    Nothing,
}

impl Wanted {
    /// Ignores a range of another unit, several ranges, a malformed range, and a range of another version of the
    /// file.
    fn part(&self, size: u64, tag: &str) -> Part {
        let Some(range) = &self.range else {
            return Part::Whole;
        };
        if self.if_range.as_deref().is_some_and(|given| given != tag) {
            return Part::Whole;
        }
        let ends = range
            .strip_prefix("bytes=")
            .and_then(|ends| ends.trim().split_once('-'));
        let Some((first, last)) = ends else {
            return Part::Whole;
        };
        match (number(first), number(last)) {
            (Some(first), Some(last)) if first <= last && first < size => {
                Part::Range(first, last.min(size - 1))
            }
            (Some(first), Some(last)) if first <= last => Part::Nothing,
            (Some(first), None) if last.is_empty() => {
                if first < size {
                    Part::Range(first, size - 1)
                } else {
                    Part::Nothing
                }
            }
            (None, Some(count)) if first.is_empty() => {
                if count == 0 || size == 0 {
                    Part::Nothing
                } else {
                    Part::Range(size.saturating_sub(count), size - 1)
                }
            }
            _ => Part::Whole,
        }
    }
}

fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(range: &str, if_range: Option<&str>) -> Part {
        let wanted = Wanted {
            range: Some(range.to_owned()),
            if_range: if_range.map(str::to_owned),
        };
        wanted.part(100, "\"tag\"")
    }

    #[test]
    fn one_range_of_bytes_is_honoured() {
        assert_eq!(Wanted::default().part(100, "\"tag\""), Part::Whole);
        assert_eq!(part("bytes=0-9", None), Part::Range(0, 9));
        assert_eq!(part("bytes=90-", None), Part::Range(90, 99));
        assert_eq!(part("bytes=-10", None), Part::Range(90, 99));
        assert_eq!(part("bytes=-1000", None), Part::Range(0, 99));
        assert_eq!(part("bytes=50-1000", None), Part::Range(50, 99));
    }

    #[test]
    fn what_is_no_range_is_the_whole_and_one_beyond_the_end_is_nothing() {
        for whole in [
            "bytes=9-1",
            "bytes=a-b",
            "bytes=-",
            "bytes=0-1,4-5",
            "items=0-1",
            "0-1",
        ] {
            assert_eq!(part(whole, None), Part::Whole, "{whole}");
        }
        for nothing in ["bytes=100-", "bytes=100-200", "bytes=-0"] {
            assert_eq!(part(nothing, None), Part::Nothing, "{nothing}");
        }
    }

    #[test]
    fn a_range_for_another_version_is_the_whole() {
        assert_eq!(part("bytes=0-9", Some("\"tag\"")), Part::Range(0, 9));
        assert_eq!(part("bytes=0-9", Some("\"other\"")), Part::Whole);
        assert_eq!(part("bytes=0-9", Some("W/\"tag\"")), Part::Whole);
    }
}
