//! Fetches a document from a URL that an account provided.

use offhook_documents::Format;
use offhook_egress::{Failure, GuardedClient, TargetUrl};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Method, Response};
use tokio::time::timeout;

use crate::prelude::*;

/// How long a URL may take to deliver its whole content.
pub(super) const LIMIT: Duration = Duration::from_secs(15);

/// The content at a URL.
pub(super) struct Fetched {
    pub(super) format: Format,
    pub(super) content: Vec<u8>,
    /// The character set that the server names.
    pub(super) charset: Option<String>,
}

/// Fetches a URL's content; the error says why it could not be fetched within `limit`.
pub(super) async fn fetch(
    client: &GuardedClient,
    url: &str,
    limit: Duration,
) -> Result<Fetched, DocumentFault> {
    let target = TargetUrl::parse(url, client.policy()).map_err(DocumentFault::Address)?;
    timeout(limit, get(client, &target))
        .await
        .unwrap_or(Err(DocumentFault::AddressSlow))
}

async fn get(client: &GuardedClient, target: &TargetUrl) -> Result<Fetched, DocumentFault> {
    let request = client
        .request(Method::GET, target)
        .map_err(DocumentFault::Address)?;
    let response = request.send().await.map_err(|error| failed(&error))?;
    let status = response.status();
    if status.is_redirection() {
        return Err(DocumentFault::Redirect(status.as_u16()));
    }
    if !status.is_success() {
        return Err(DocumentFault::Status(status.as_u16()));
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

async fn body(mut response: Response) -> Result<Vec<u8>, DocumentFault> {
    let mut content = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(|error| failed(&error))? {
        if content.len() + piece.len() > MAX_DOCUMENT_BYTES {
            return Err(DocumentFault::AddressLarge);
        }
        content.extend_from_slice(&piece);
    }
    Ok(content)
}

/// The format by the media type, else by the URL, else by the content.
fn format(kind: Option<&str>, target: &TargetUrl, content: &[u8]) -> Result<Format, DocumentFault> {
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
            DocumentFault::OtherContent(essence)
        }),
        None => by_address()
            .ok()
            .flatten()
            .or_else(|| Format::of_content(content))
            .ok_or(DocumentFault::UnknownContent),
    }
}

fn failed(error: &reqwest::Error) -> DocumentFault {
    DocumentFault::Unfetched(match Failure::of(error) {
        Failure::BlockedAddress => Unfetched::Blocked,
        Failure::Dns => Unfetched::Name,
        Failure::Connect => Unfetched::Silent,
        Failure::Tls => Unfetched::Tls,
        Failure::Timeout => Unfetched::Slow,
        Failure::Reset => Unfetched::Broken,
        Failure::Protocol => Unfetched::Protocol,
    })
}
