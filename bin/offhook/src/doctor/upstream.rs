//! One question to a service of somebody else's that changes nothing there: whether it can be reached, lets the key in, and
//! answers as such a service does. Nothing that it says is repeated.

use std::time::{Duration, Instant};

use offhook_egress::Failure;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response, Url};
use serde_json::Value;

use super::finding::{Finding, Hop};

/// How long a connection may take.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// How long the whole answer may take.
const LIMIT: Duration = Duration::from_secs(15);

/// The largest answer that is read.
const MAX_ANSWER_BYTES: usize = 16 * 1024 * 1024;

pub(super) struct Question<'a> {
    /// The hop that it is about.
    pub(super) hop: Hop,
    /// The section of the settings, such as `models.openai`.
    pub(super) section: &'a str,
    /// Where the service is: `<section>.base_url`.
    pub(super) base_url: &'a str,
    /// Whose interface it has.
    pub(super) shape: Shape,
    /// What it lists, such as "models".
    pub(super) list: &'static str,
    /// `<section>.api_key`, if there is one.
    pub(super) api_key: Option<&'a str>,
    /// Whether a service that has no such path may be a good one all the same.
    pub(super) may_lack_path: bool,
}

/// Whose interface a service has.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape {
    Cartesia,
    Deepgram,
    ElevenLabs,
    OpenAi,
}

impl Shape {
    /// The path of its list with a query that keeps it short, and where it wants a key.
    const fn asked(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Cartesia => ("voices?limit=1", "authorization", "Bearer "),
            Self::Deepgram => ("v1/models", "authorization", "Token "),
            Self::ElevenLabs => ("v2/voices?page_size=1", "xi-api-key", ""),
            Self::OpenAi => ("models", "authorization", "Bearer "),
        }
    }
}

/// The version of its interface that a service of Cartesia's shape is asked in.
const VERSION: (&str, &str) = ("cartesia-version", "2026-03-01");

impl Question<'_> {
    pub(super) async fn ask(&self) -> Finding {
        let (hop, section) = (self.hop, self.section);
        let Some(url) = self.url() else {
            return hop.failed(format!(
                "`{section}.base_url` is no URL: write it whole, such as https://api.example.com"
            ));
        };
        let place = place(&url);
        let Some((client, headers)) = self.client() else {
            return hop.failed(format!(
                "`{section}` cannot be asked: see that `{section}.api_key` is one line of plain characters, and that the \
                 system's roots of TLS are installed (ca-certificates)"
            ));
        };
        let began = Instant::now();
        let answer = client.get(url).headers(headers).send().await;
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => return self.unreached(&place, Failure::of(&error)),
        };
        match answer.status().as_u16() {
            200..=299 => self.judge(&place, answer, began).await,
            status => self.refused(&place, status),
        }
    }

    fn url(&self) -> Option<Url> {
        let (path, ..) = self.shape.asked();
        let whole = format!("{}/{path}", self.base_url.trim_end_matches('/'));
        Url::parse(&whole).ok().filter(Url::has_host)
    }

    fn client(&self) -> Option<(Client, HeaderMap)> {
        let mut headers = HeaderMap::new();
        headers.insert(VERSION.0, HeaderValue::from_static(VERSION.1));
        let (_, name, scheme) = self.shape.asked();
        if let Some(key) = self.api_key {
            let mut value = HeaderValue::from_str(&format!("{scheme}{key}")).ok()?;
            value.set_sensitive(true);
            headers.insert(HeaderName::from_static(name), value);
        }
        let client = offhook_egress::trusted_client()
            .ok()?
            .connect_timeout(CONNECT_LIMIT)
            .timeout(LIMIT);
        Some((client.build().ok()?, headers))
    }

    async fn judge(&self, place: &str, answer: Response, began: Instant) -> Finding {
        let (hop, section) = (self.hop, self.section);
        match is_json(answer).await {
            Ok(true) => hop.good(format!(
                "`{section}`: {place} lists {}, after {} ms",
                self.list,
                began.elapsed().as_millis()
            )),
            Ok(false) => hop.failed(format!(
                "`{section}`: {place} answers, and not as such a service does: correct `{section}.base_url`, which its \
                 paths follow"
            )),
            Err(failure) => self.unreached(place, failure),
        }
    }

    fn unreached(&self, place: &str, failure: Failure) -> Finding {
        let section = self.section;
        let seconds = LIMIT.as_secs();
        let (what, remedy) = match failure {
            Failure::Dns => (
                "its name does not resolve".to_owned(),
                "see this machine's resolver (/etc/resolv.conf)",
            ),
            Failure::Tls => (
                "TLS with it fails".to_owned(),
                "see that its certificate is of a known authority (SSL_CERT_FILE names others) and this machine's clock is \
                 right, and that it speaks TLS on that port",
            ),
            Failure::Timeout => (
                format!("it does not answer within {seconds} s"),
                "see that the firewall lets this machine out to it",
            ),
            Failure::Reset => (
                "it closes the connection without a whole answer".to_owned(),
                "see that nothing between here and there ends it",
            ),
            Failure::Protocol => (
                "it does not speak HTTP".to_owned(),
                "see that the port is the service's",
            ),
            Failure::Connect | Failure::BlockedAddress => (
                "no connection can be made".to_owned(),
                "see that it runs and the firewall lets this machine out to it",
            ),
        };
        self.hop.failed(format!(
            "`{section}`: {place} cannot be asked, as {what}: {remedy}, or correct `{section}.base_url`"
        ))
    }

    fn refused(&self, place: &str, status: u16) -> Finding {
        let (hop, section, list) = (self.hop, self.section, self.list);
        let says = format!("`{section}`: {place} answers with {status}");
        match status {
            401 | 403 if self.api_key.is_none() => hop.failed(format!("{says} as it wants a key: set `{section}.api_key`")),
            401 => hop.failed(format!(
                "{says}, so it does not know the key: correct `{section}.api_key`, or let that key list {list}"
            )),
            403 => hop.failed(format!(
                "{says}, so the key may not list {list}: allow it there, or give another `{section}.api_key`"
            )),
            404 | 405 if self.may_lack_path => hop.warning(format!(
                "{says}: it has no list of {list} by which the key could be tried; if agents get no answer either, correct \
                 `{section}.base_url`"
            )),
            429 => hop.warning(format!(
                "{says}, so it has too much to do, or the key's share is used up: see the limits of its plan"
            )),
            500.. => hop.failed(format!(
                "{says}, a fault of its own: see its status page or its log, and try again later"
            )),
            _ => hop.failed(format!(
                "{says}, where it should list {list}: correct `{section}.base_url`, which its paths follow"
            )),
        }
    }
}

/// Host and port, without what may be beside them in a URL.
fn place(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

/// What a service says in JSON, if it does so in 64 KiB: a refusal is a few hundred bytes.
pub(super) async fn body_of(mut answer: Response) -> reqwest::Result<Value> {
    let mut body = Vec::new();
    while body.len() < 64 * 1024
        && let Some(chunk) = answer.chunk().await?
    {
        body.extend_from_slice(&chunk);
    }
    Ok(serde_json::from_slice(&body).unwrap_or_default())
}

/// Whether a whole answer is a JSON object or list.
async fn is_json(mut answer: Response) -> Result<bool, Failure> {
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(|error| Failure::of(&error))? {
        if body.len() + chunk.len() > MAX_ANSWER_BYTES {
            return Ok(false);
        }
        body.extend_from_slice(&chunk);
    }
    let value = serde_json::from_slice(&body);
    Ok(matches!(value, Ok(Value::Object(_) | Value::Array(_))))
}

#[cfg(test)]
mod tests;
