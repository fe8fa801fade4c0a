//! Fetches a document from a URL that an account provided.

use std::time::Duration;

use offhook_documents::{Format, UnknownFormat};
use offhook_egress::{Failure, GuardedClient, TargetUrl};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Method, Response};
use tokio::time::timeout;

/// How long a URL may take to deliver its whole content.
pub(super) const LIMIT: Duration = Duration::from_secs(15);

/// The same limit as for uploads.
pub(super) const MAX_BYTES: usize = 20 * 1024 * 1024;

/// The content at a URL.
pub(super) struct Fetched {
    pub(super) format: Format,
    pub(super) content: Vec<u8>,
    /// The character set that the server names.
    pub(super) charset: Option<String>,
}

/// Fetches a URL's content; the error is a sentence that says why it could not be fetched within `limit`.
pub(super) async fn fetch(
    client: &GuardedClient,
    url: &str,
    limit: Duration,
) -> Result<Fetched, String> {
    let target = TargetUrl::parse(url, client.policy())
        .map_err(|error| format!("The address cannot be fetched: it {error}."))?;
    timeout(limit, get(client, &target))
        .await
        .unwrap_or_else(|_| {
            Err("The address took longer than 15 seconds: send the file itself.".to_owned())
        })
}

async fn get(client: &GuardedClient, target: &TargetUrl) -> Result<Fetched, String> {
    let request = client
        .request(Method::GET, target)
        .map_err(|error| format!("The address cannot be fetched: it {error}."))?;
    let response = request.send().await.map_err(|error| failed(&error))?;
    let status = response.status();
    if status.is_redirection() {
        return Err(format!(
            "The address answered with a redirect ({}): give the address that it leads to.",
            status.as_u16()
        ));
    }
    if !status.is_success() {
        return Err(format!(
            "The address answered with status {}: it must be readable without signing in.",
            status.as_u16()
        ));
    }
    let kind = response.headers().get(CONTENT_TYPE).cloned();
    let kind = kind.as_ref().and_then(|value| value.to_str().ok());
    let content = body(response).await?;
    Ok(Fetched {
        format: format(kind, target, &content)?,
        content,
        charset: kind.and_then(charset),
    })
}

/// The parameter `charset` of a media type.
fn charset(kind: &str) -> Option<String> {
    let parameters = kind.split(';').skip(1);
    let mut named = parameters.filter_map(|parameter| parameter.split_once('='));
    let (_, value) = named.find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))?;
    Some(value.trim().trim_matches('"').to_owned())
}

async fn body(mut response: Response) -> Result<Vec<u8>, String> {
    let mut content = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(|error| failed(&error))? {
        if content.len() + piece.len() > MAX_BYTES {
            return Err(
                "The address holds more than 20 MiB: split it into several documents.".to_owned(),
            );
        }
        content.extend_from_slice(&piece);
    }
    Ok(content)
}

/// The format by the media type, else by the URL, else by the content.
fn format(kind: Option<&str>, target: &TargetUrl, content: &[u8]) -> Result<Format, String> {
    let by_address = || {
        let path = target.as_url().path();
        Format::of_name(path.rsplit('/').next().unwrap_or_default())
    };
    // Servers send unknown types as a byte stream or plain text.
    let vague = |kind: &str| {
        let essence = kind.split(';').next().unwrap_or_default().trim();
        essence.is_empty()
            || essence.eq_ignore_ascii_case("application/octet-stream")
            || essence.eq_ignore_ascii_case("text/plain")
    };
    match kind.filter(|kind| !vague(kind)) {
        Some(kind) => Format::of_mime_type(kind).ok_or_else(|| {
            let essence: String = kind
                .split(';')
                .next()
                .unwrap_or_default()
                .trim()
                .chars()
                .take(100)
                .collect();
            format!("The address holds {essence}: it {UnknownFormat}.")
        }),
        None => by_address()
            .ok()
            .flatten()
            .or_else(|| Format::of_content(content))
            .ok_or_else(|| format!("The address holds what cannot be read: it {UnknownFormat}.")),
    }
}

fn failed(error: &reqwest::Error) -> String {
    let why = match Failure::of(error) {
        Failure::BlockedAddress => "its name leads to an address that is not public",
        Failure::Dns => "its name leads nowhere",
        Failure::Connect => "nothing answers there",
        Failure::Tls => "its certificate or TLS is faulty",
        Failure::Timeout => "it took too long",
        Failure::Reset => "it broke the connection off",
        Failure::Protocol => "it does not speak HTTP/1.1",
    };
    format!("The address cannot be fetched: {why}.")
}
