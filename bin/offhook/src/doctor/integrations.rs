//! The applications that accounts can connect: whether tokens can be asked for there.

use std::time::Duration;

use offhook_egress::Failure;
use offhook_providers::token_url;

use super::Finding;
use crate::parts;
use crate::settings::Settings;

const HOP: &str = "integrations";

/// How long an application may take to answer.
const LIMIT: Duration = Duration::from_secs(5);

/// One finding for each application of the settings.
pub(super) async fn look(settings: &Settings) -> Vec<Finding> {
    let mut findings = Vec::with_capacity(settings.integrations.len());
    for (toolkit, application) in &settings.integrations {
        let Some(url) = token_url(toolkit, application) else {
            continue;
        };
        let key = format!("integrations.{toolkit}");
        findings.push(match answers(url).await {
            Ok(status) if status >= 500 => Finding::warning(
                HOP,
                format!("`{key}`: its token_url answers with HTTP status {status}: look at the application's status page"),
            ),
            Ok(_) => settled(settings, &key),
            Err(fault) => Finding::failed(
                HOP,
                format!(
                    "`{key}`: its token_url gives no answer ({fault}): let this machine reach it, or correct \
                     `{key}.token_url`; until then nothing can be connected, and what is connected lapses"
                ),
            ),
        });
    }
    findings
}

fn settled(settings: &Settings, key: &str) -> Finding {
    match &settings.http.public_url {
        Some(url) => {
            let url = url.trim_end_matches('/');
            Finding::good(
                HOP,
                format!(
                    "`{key}`: its token_url answers; the redirect URL to register there is {url}/portal/integrations/callback"
                ),
            )
        }
        None => Finding::warning(
            HOP,
            format!(
                "`{key}`: its token_url answers, and `http.public_url` is not set: set it, as the application sends members back to an address that is registered there"
            ),
        ),
    }
}

/// The status of its answer to a request that asks for nothing.
async fn answers(url: &str) -> Result<u16, String> {
    let client = parts::http_client().map_err(|error| error.to_string())?;
    let asked = client.get(url).timeout(LIMIT).send().await;
    match asked {
        Ok(answer) => Ok(answer.status().as_u16()),
        Err(error) => Err(Failure::of(&error).as_str().to_owned()),
    }
}
