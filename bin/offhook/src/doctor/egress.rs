//! The way out to webhook receivers, through the guard that they are sent through.

use offhook_egress::{Failure, GuardedClient, TargetUrl};
use reqwest::Method;

use super::finding::{Finding, Hop};
use crate::prelude::*;

const HOP: Hop = Hop("egress");

/// As long as a webhook attempt may take.
const LIMIT: Duration = Duration::from_secs(10);

pub(super) async fn look(settings: &Settings, url: Option<&str>) -> Finding {
    let Some(url) = url else {
        let sentence =
            "give --egress with an https URL on the internet, and it is asked as webhooks are sent";
        return HOP.skipped(sentence);
    };
    let policy = parts::webhook_policy(settings);
    let target = match TargetUrl::parse(url, policy) {
        Ok(target) => target,
        Err(error) => {
            return HOP.failed(format!(
                "the URL may not be a webhook's ({error}): give one that may"
            ));
        }
    };
    match timeout(LIMIT, ask(&target, settings)).await {
        Ok(Ok(status)) => HOP.good(format!("the URL answers with {status}")),
        Ok(Err(Some(failure))) => HOP.failed(sentence(failure)),
        Ok(Err(None)) => HOP.failed("the client for webhooks cannot be set up: see that the system's roots of TLS are installed \
             (ca-certificates), or name them in SSL_CERT_FILE",
        ),
        Err(_) => HOP.failed(sentence(Failure::Timeout)),
    }
}

async fn ask(target: &TargetUrl, settings: &Settings) -> Result<u16, Option<Failure>> {
    let client = GuardedClient::new(parts::webhook_policy(settings)).map_err(|_| None)?;
    let request = client.request(Method::HEAD, target).map_err(|_| None)?;
    let answer = request.send().await;
    let answer = answer.map_err(|error| Some(Failure::of(&error)))?;
    Ok(answer.status().as_u16())
}

fn sentence(failure: Failure) -> String {
    let (what, remedy) = match failure {
        Failure::Dns => (
            "the name does not resolve",
            "see this machine's resolver (/etc/resolv.conf), and whether it has a way to the internet at all",
        ),
        Failure::BlockedAddress => (
            "the name has an address that is not public",
            "webhooks may not go there; a resolver that answers with inner addresses for public names is in the way",
        ),
        Failure::Connect => (
            "no connection can be made",
            "open the way out to port 443 in the firewall; proxies of the environment are not used",
        ),
        Failure::Tls => (
            "the certificate or the handshake is faulty",
            "see this machine's date and its roots of TLS (ca-certificates), and whether something opens TLS on the way",
        ),
        Failure::Timeout => (
            "no answer came within 10 s",
            "see whether a firewall drops what goes out to port 443",
        ),
        Failure::Reset => (
            "the connection was closed before an answer",
            "see whether something on the way refuses the name",
        ),
        Failure::Protocol => (
            "the answer is not HTTP/1.1",
            "see whether something on the way answers in the receiver's place",
        ),
    };
    format!("{what}: {remedy}")
}
