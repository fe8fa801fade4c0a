//! Static files in the binary, the same for every client. A client that accepts gzip gets a copy that was compressed
//! once.
//!
//! No other response is compressed: the length of a compressed response that holds both a secret and an attacker's
//! text reveals the secret (BREACH).

use std::io::Write as _;
use std::sync::OnceLock;

use actix_web::http::header::{
    AcceptEncoding, CONTENT_ENCODING, CONTENT_TYPE, ETAG, Encoding, Header as _, HeaderName,
    IF_NONE_MATCH, VARY,
};
use actix_web::web::Bytes;
use actix_web::{HttpRequest, HttpResponse};
use flate2::Compression;
use flate2::write::GzEncoder;
use ring::digest::{SHA256, digest};

/// A static file.
pub struct FixedFile {
    media_type: &'static str,
    plain: Form,
    /// Compressed on the first request for it.
    gzipped: OnceLock<Option<Form>>,
}

/// The file in one encoding.
struct Form {
    bytes: Bytes,
    /// The entity tag, quotes included.
    tag: String,
}

impl FixedFile {
    /// A file with this `Content-Type`.
    pub fn new(media_type: &'static str, bytes: impl Into<Bytes>) -> Self {
        Self {
            media_type,
            plain: Form::of(bytes.into()),
            gzipped: OnceLock::new(),
        }
    }

    /// A file that is compressed in itself, such as a font: it is never gzipped.
    pub fn compressed(media_type: &'static str, bytes: impl Into<Bytes>) -> Self {
        Self {
            gzipped: OnceLock::from(None),
            ..Self::new(media_type, bytes)
        }
    }

    /// Responds with these headers and the file in the client's preferred encoding, or with 304 if the client's copy
    /// is current.
    pub fn answer(
        &self,
        req: &HttpRequest,
        headers: &[(HeaderName, &'static str)],
    ) -> HttpResponse {
        let gzipped = prefers_gzip(req).then(|| self.gzipped()).flatten();
        let form = gzipped.unwrap_or(&self.plain);
        let known = form.is_known(req);
        let mut answer = match known {
            true => HttpResponse::NotModified(),
            false => HttpResponse::Ok(),
        };
        answer
            .insert_header((ETAG, form.tag.as_str()))
            .insert_header((VARY, "Accept-Encoding"));
        for (name, value) in headers {
            answer.insert_header((name.clone(), *value));
        }
        if known {
            return answer.finish();
        }
        if gzipped.is_some() {
            answer.insert_header((CONTENT_ENCODING, "gzip"));
        }
        answer
            .insert_header((CONTENT_TYPE, self.media_type))
            .body(form.bytes.clone())
    }

    fn gzipped(&self) -> Option<&Form> {
        let compress = || {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
            encoder.write_all(&self.plain.bytes).ok()?;
            Some(Form::of(encoder.finish().ok()?.into()))
        };
        self.gzipped.get_or_init(compress).as_ref()
    }
}

impl Form {
    fn of(bytes: Bytes) -> Self {
        let digest = digest(&SHA256, &bytes);
        let hex: String = (digest.as_ref().iter().take(16))
            .map(|byte| format!("{byte:02x}"))
            .collect();
        Self {
            bytes,
            tag: format!("\"{hex}\""),
        }
    }

    /// Whether the client's copy is current.
    fn is_known(&self, req: &HttpRequest) -> bool {
        let known = req.headers().get_all(IF_NONE_MATCH);
        known
            .filter_map(|tags| tags.to_str().ok())
            .flat_map(|tags| tags.split(','))
            .any(|tag| tag.trim().trim_start_matches("W/") == self.tag || tag.trim() == "*")
    }
}

/// Whether the client names gzip and does not prefer an uncompressed response. An unreadable header counts as no
/// preference.
fn prefers_gzip(req: &HttpRequest) -> bool {
    let supported = [Encoding::identity(), Encoding::gzip()];
    let chosen = AcceptEncoding::parse(req)
        .ok()
        .and_then(|accepted| accepted.negotiate(supported.iter()));
    chosen == Some(Encoding::gzip())
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::ACCEPT_ENCODING;
    use actix_web::test::TestRequest;

    use super::*;

    #[test]
    fn gzip_is_sent_to_whoever_names_it_and_does_not_refuse_it() {
        let prefers = |lines: &[&'static str]| {
            let mut req = TestRequest::default();
            for line in lines {
                req = req.append_header((ACCEPT_ENCODING, *line));
            }
            prefers_gzip(&req.to_http_request())
        };
        for accepted in [
            "gzip",
            "GZIP",
            "gzip, deflate, br, zstd",
            "br;q=1.0, gzip;q=0.8, *;q=0.1",
            "gzip;q=0.001",
            "identity;q=0.5, gzip",
            "gzip, *;q=0",
        ] {
            assert!(prefers(&[accepted]), "{accepted}");
        }
        assert!(prefers(&["br", "gzip"]));
        for refused in [
            "",
            "*",
            "identity",
            "br, deflate",
            "gzip;q=0",
            "gzip; q=0.000, *",
            "gzip;q=0.5, identity",
            "gzip;q=2",
            "gzippy",
        ] {
            assert!(!prefers(&[refused]), "{refused}");
        }
        assert!(!prefers(&[]));
    }
}
