//! The service that serves from this data directory, if one does.

use super::finding::{Finding, Hop};
use crate::prelude::*;
use crate::{data_dir, links};

const HOP: Hop = Hop("service");

/// How long it may take to answer.
const LIMIT: Duration = Duration::from_secs(5);

pub(super) async fn look(settings: &Settings) -> Option<Finding> {
    let address = data_dir::read_listen(&settings.data_dir)?;
    if settings.http.tls.is_some() {
        return Some(HOP.skipped(
            "it ends TLS itself, under a name that this command does not know: ask GET /readyz",
        ));
    }
    Some(match ask(address, "/readyz").await {
        Ok((200, _)) => HOP.good(format!("the one at {address} is ready")),
        Ok((status, body)) => HOP.failed(format!(
            "the one at {address} is not ready ({status}): {}; put that right, and it is ready by itself",
            body["reason"].as_str().unwrap_or("no reason given")
        )),
        Err(error) => HOP.failed(format!(
            "nothing answers at {address}, where one should serve ({error}): start it, or remove the file `listen` \
             from the data directory if it was killed and is to stay so"
        )),
    })
}

/// Status and body of a GET at the service on this machine.
pub(crate) async fn ask(address: SocketAddr, path: &str) -> anyhow::Result<(u16, Value)> {
    let url = links::on_this_machine("http", address) + path;
    let request = crate::parts::http_client()?.get(url).timeout(LIMIT);
    let response = request.send().await.map_err(reqwest::Error::without_url)?;
    let status = response.status().as_u16();
    let body = response.bytes().await.unwrap_or_default();
    Ok((status, serde_json::from_slice(&body).unwrap_or_default()))
}
