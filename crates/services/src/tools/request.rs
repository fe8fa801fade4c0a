//! The request of an `http` tool: guarded against forbidden targets, with a deadline and a limit on the response.

use std::time::Duration;

use offhook_domain::tool::{Header, HttpRequest};
use offhook_egress::{Failure, GuardedClient, TargetUrl};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use reqwest::{Method, Response, StatusCode};
use serde_json::{Map, Value};
use tokio::time::timeout;

/// Bytes of a response that are read.
pub(super) const MAX_ANSWER_BYTES: usize = 16 * 1024;

/// The user agent, unless the tool's own headers set one.
pub(super) const AGENT: &str = "Service-Tool/1.0";

/// Sends the request, and describes the result to the model in words; an error if it was refused or got no answer.
pub(super) async fn ask(
    client: &GuardedClient,
    http: &HttpRequest,
    headers: &[Header],
    arguments: Map<String, Value>,
) -> Result<String, String> {
    let limit = Duration::from_millis(u64::try_from(http.timeout_ms).unwrap_or_default());
    let late = |_| {
        Err(format!(
            "The tool did not answer within {} ms.",
            http.timeout_ms
        ))
    };
    let answered = timeout(limit, exchange(client, http, headers, arguments));
    answered.await.unwrap_or_else(late)
}

async fn exchange(
    client: &GuardedClient,
    http: &HttpRequest,
    headers: &[Header],
    mut arguments: Map<String, Value>,
) -> Result<String, String> {
    let target = target(client, http, &mut arguments)?;
    let method = Method::from_bytes(http.method.as_str().as_bytes())
        .map_err(|_| "The tool's method is unknown.".to_owned())?;
    let mut request = client
        .request(method, &target)
        .map_err(|_| "The tool's URL is not allowed.".to_owned())?
        .header(USER_AGENT, AGENT)
        .header(ACCEPT, "application/json, text/plain;q=0.9, */*;q=0.1");
    if !http.method.asks_by_query() {
        let body = serde_json::to_vec(&arguments).unwrap_or_default();
        request = request.header(CONTENT_TYPE, "application/json").body(body);
    }
    let response = request
        .headers(own(headers))
        .send()
        .await
        .map_err(|error| format!("The tool could not be asked ({}).", Failure::of(&error)))?;
    let status = response.status();
    let body = read(response)
        .await
        .map_err(|error| format!("The tool's answer broke off ({}).", Failure::of(&error)))?;
    outcome(status, &body)
}

/// The URL with the arguments in its query, if they belong there. The model cannot override what the URL already says.
fn target(
    client: &GuardedClient,
    http: &HttpRequest,
    arguments: &mut Map<String, Value>,
) -> Result<TargetUrl, String> {
    let parse = |text: &str| {
        TargetUrl::parse(text, client.policy())
            .map_err(|_| "The arguments are too long for a query: shorten them.".to_owned())
    };
    let target = parse(&http.url)?;
    for (name, _) in target.as_url().query_pairs() {
        arguments.remove(&*name);
    }
    if !http.method.asks_by_query() || arguments.is_empty() {
        return Ok(target);
    }
    let mut url = target.as_url().clone();
    {
        let mut query = url.query_pairs_mut();
        for (name, value) in arguments {
            match value {
                Value::Null => {}
                Value::String(text) => {
                    query.append_pair(name, text);
                }
                other => {
                    query.append_pair(name, &other.to_string());
                }
            }
        }
    }
    parse(url.as_str())
}

/// The tool's own headers; each replaces one of the service's.
pub(super) fn own(headers: &[Header]) -> HeaderMap {
    let mut own = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        if let (Ok(name), Ok(mut value)) =
            (name.parse::<HeaderName>(), HeaderValue::from_str(value))
        {
            value.set_sensitive(true);
            own.insert(name, value);
        }
    }
    own
}

async fn read(mut response: Response) -> Result<Vec<u8>, reqwest::Error> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        let room = MAX_ANSWER_BYTES - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if body.len() == MAX_ANSWER_BYTES {
            break;
        }
    }
    Ok(body)
}

fn outcome(status: StatusCode, body: &[u8]) -> Result<String, String> {
    let mut text = String::from_utf8_lossy(body).into_owned();
    // Not every database can store it in a text, and the transcript contains the response.
    text.retain(|character| character != '\0');
    let text = text.trim();
    match (status.is_success(), text.is_empty()) {
        (true, true) => Ok("Done.".to_owned()),
        (true, false) => Ok(text.to_owned()),
        (false, true) => Err(format!(
            "The tool answered with HTTP status {}.",
            status.as_u16()
        )),
        (false, false) => Err(format!(
            "The tool answered with HTTP status {}: {text}",
            status.as_u16()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_loses_its_nul() {
        for (status, body, expected) in [
            (200, "\0 one\0two\0", Ok("onetwo")),
            (200, "\0 \0", Ok("Done.")),
            (
                500,
                "no\0",
                Err("The tool answered with HTTP status 500: no"),
            ),
            (500, "\0", Err("The tool answered with HTTP status 500.")),
        ] {
            let status = StatusCode::from_u16(status).unwrap();
            let answer = outcome(status, body.as_bytes());
            let answer = answer.as_deref().map_err(String::as_str);
            assert_eq!(answer, expected, "{body:?}");
        }
    }
}
