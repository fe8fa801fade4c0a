//! The provider of the legacy agents. Each account has its own key there, and the deployment none: what can be seen is
//! whether the address answers, and as the provider would.

use reqwest::StatusCode;

use super::finding::{Finding, Hop};
use crate::prelude::*;

const HOP: Hop = Hop("legacy");

/// How long an answer may take.
const LIMIT: Duration = Duration::from_secs(10);

pub(super) async fn look(settings: &Settings) -> Option<Finding> {
    let base_url = settings.legacy_base_url.as_deref()?;
    Some(match ask(base_url).await {
        Ok(StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => HOP.good(
            "the address of `legacy.base_url` answers, and asks for a key; the accounts' own keys were not tried",
        ),
        Ok(status) => HOP.warning(format!(
            "the address of `legacy.base_url` answers a request without a key with {}, where the provider would answer \
             with 401: see that it is the provider's, without the path's /v1",
            status.as_u16()
        )),
        Err(error) => HOP.failed(format!(
            "the address of `legacy.base_url` does not answer ({error}): see the setting, this machine's way out to it, and \
             for https its roots of TLS (ca-certificates); proxies of the environment are not used"
        )),
    })
}

async fn ask(base_url: &str) -> Result<StatusCode, &'static str> {
    let client = client().map_err(|_| "TLS cannot be set up")?;
    let url = format!("{}/v1/convai/agents", base_url.trim_end_matches('/'));
    let asked = client.get(url).send().await;
    let answer = asked.map_err(|error| {
        if error.is_timeout() {
            "no answer in time"
        } else if error.is_connect() {
            "no connection"
        } else {
            "no HTTP answer"
        }
    })?;
    Ok(answer.status())
}

/// As the provider is asked: the environment's proxies have no part in it, and a redirect is not followed.
fn client() -> anyhow::Result<reqwest::Client> {
    let client = offhook_egress::trusted_client()?.timeout(LIMIT);
    Ok(client.build()?)
}
