//! The applications that accounts can connect: whether tokens can be had there. Each is asked to renew what it never
//! granted, in the form in which the service renews: what it says to that shows whether it is a token endpoint, and knows
//! this deployment's client. Nothing of it is repeated.

use offhook_domain::ports::GrantError;
use offhook_egress::Failure;
use offhook_providers::{ApplicationSettings, token_refusal, token_url};
use reqwest::StatusCode;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use url::form_urlencoded;

use super::finding::{Finding, Hop};
use super::upstream::body_of;
use crate::prelude::*;

const HOP: Hop = Hop("integrations");

/// How long an application may take to answer.
const LIMIT: Duration = Duration::from_secs(5);

/// A refresh token that nobody has.
const INVENTED: &str = "offhook-doctor-invented-this";

/// What an application says to a refresh token that it never granted.
enum Answer {
    /// It refuses the token or the request, and not the client.
    Refused,
    /// It does not know the client, or lets it renew nothing.
    Client,
    /// It has not looked, by this status.
    Busy(StatusCode),
    /// With this status, what no token endpoint says.
    Other(StatusCode),
}

/// One finding for each application of the settings.
pub(super) async fn look(settings: &Settings) -> Vec<Finding> {
    let mut findings = Vec::with_capacity(settings.integrations.len());
    for (toolkit, application) in &settings.integrations {
        let Some(url) = token_url(toolkit, application) else {
            continue;
        };
        let key = format!("integrations.{toolkit}");
        let lapses = "until then nothing can be connected, and what is connected lapses";
        findings.push(match ask(url, application).await {
            Ok(Answer::Refused) => settled(settings, &key),
            Ok(Answer::Client) => HOP.failed(format!(
                "`{key}`: its token_url does not take this service's client: correct `{key}.client_id` and \
                 `{key}.client_secret`; {lapses}"
            )),
            Ok(Answer::Busy(status)) => HOP.warning(format!(
                "`{key}`: its token_url answers with HTTP status {}: look at the application's status page",
                status.as_u16()
            )),
            Ok(Answer::Other(status)) => HOP.failed(format!(
                "`{key}`: what answers at its token_url, with HTTP status {}, is no token endpoint: correct \
                 `{key}.token_url`; {lapses}",
                status.as_u16()
            )),
            Err(fault) => HOP.failed(format!(
                "`{key}`: its token_url gives no answer ({fault}): let this machine reach it, or correct \
                 `{key}.token_url`; {lapses}"
            )),
        });
    }
    findings
}

fn settled(settings: &Settings, key: &str) -> Finding {
    match &settings.http.public_url {
        Some(url) => {
            let url = url.trim_end_matches('/');
            HOP.good(format!(
                "`{key}`: its token_url answers as it should; the redirect URL to register there is \
                 {url}/portal/integrations/callback"
            ))
        }
        None => HOP.warning(format!(
            "`{key}`: its token_url answers as it should, and `http.public_url` is not set: set it, as the application \
             sends members back to an address that is registered there"
        )),
    }
}

/// What it says to the invented token, which it is asked to renew as the service renews others.
async fn ask(url: &str, application: &ApplicationSettings) -> Result<Answer, String> {
    // As the service asks: redirects are not followed.
    let client = offhook_egress::trusted_client()
        .ok()
        .and_then(|client| client.timeout(LIMIT).build().ok())
        .ok_or("TLS cannot be set up")?;
    let form = form_urlencoded::Serializer::new(String::new())
        .append_pair("grant_type", "refresh_token")
        .append_pair("refresh_token", INVENTED)
        .append_pair("client_id", &application.client_id)
        .append_pair("client_secret", &application.client_secret)
        .finish();
    let asked = client
        .post(url)
        .header(ACCEPT, "application/json")
        .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(form)
        .send()
        .await;
    let fault = |error: reqwest::Error| Failure::of(&error).as_str().to_owned();
    let answer = asked.map_err(fault)?;
    let status = answer.status();
    let is_patience =
        [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_MANY_REQUESTS].contains(&status);
    if status.is_server_error() || is_patience {
        return Ok(Answer::Busy(status));
    }
    let body = body_of(answer).await.map_err(fault)?;
    Ok(meant(&body).unwrap_or(Answer::Other(status)))
}

fn meant(body: &Value) -> Option<Answer> {
    match token_refusal(body) {
        Some(GrantError::Client) => Some(Answer::Client),
        Some(_) => Some(Answer::Refused),
        None => (body["error"] == "invalid_request").then_some(Answer::Refused),
    }
}
