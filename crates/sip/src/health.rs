//! Monitors carriers by a periodic OPTIONS (RFC 3261 §11), which also keeps NAT mappings open.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rsipstack::sip::{self, Method, SipMessage, StatusCodeKind, typed};
use rsipstack::transaction::key::{TransactionKey, TransactionRole};
use rsipstack::transaction::{Transaction, make_tag};
use rsipstack::transport::SipAddr;
use tokio::time::{sleep, timeout};
use tracing::{info, warn};

use crate::endpoint::Shared;
use crate::reach::{Unreachable, reach};

/// The interval for a carrier that does not answer.
const DOWN_RETRY: Duration = Duration::from_secs(10);

/// The state of a carrier.
#[derive(Default)]
pub(crate) struct Health {
    down: AtomicBool,
}

impl Health {
    pub(crate) fn is_down(&self) -> bool {
        self.down.load(Ordering::Relaxed)
    }
}

/// Why an OPTIONS got no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoAnswer {
    /// There is no trunk with this name.
    #[error("there is no trunk `{0}`")]
    UnknownTrunk(String),
    /// The carrier is unreachable, for this reason.
    #[error("{0}")]
    Unreachable(String),
    /// No answer came in time.
    #[error("the carrier does not answer")]
    Silence,
}

/// Monitors one trunk until the endpoint stops.
pub(crate) async fn watch(shared: Arc<Shared>, trunk: usize) {
    let Some(interval) = shared.trunks[trunk].trunk.keep_alive else {
        // Its calls may come in before one goes out, so its addresses must be known.
        let _ = reach(&shared, trunk).await;
        return;
    };
    let stop = shared.stop.clone();
    let watching = async {
        loop {
            let up = answers(&shared, trunk).await;
            let state = &shared.trunks[trunk];
            let was_down = state.health.down.swap(!up, Ordering::Relaxed);
            let name = state.trunk.name();
            match (was_down, up) {
                (false, false) => warn!(trunk = name, "the carrier does not answer"),
                (true, true) => info!(trunk = name, "the carrier answers again"),
                (false, true) | (true, false) => {}
            }
            sleep(if up {
                interval
            } else {
                interval.min(DOWN_RETRY)
            })
            .await;
        }
    };
    tokio::select! {
        () = stop.cancelled() => {}
        () = watching => {}
    }
}

/// Whether the carrier answers an OPTIONS, with any status of its own.
async fn answers(shared: &Arc<Shared>, trunk: usize) -> bool {
    probe(shared, trunk).await.is_ok()
}

/// The carrier's status for an OPTIONS.
pub(crate) async fn probe(shared: &Arc<Shared>, trunk: usize) -> Result<u16, NoAnswer> {
    match timeout(shared.timers.keep_alive, send_probe(shared, trunk)).await {
        Ok(Ok(Some(status))) => Ok(status),
        Ok(Err(error)) => Err(NoAnswer::Unreachable(error.to_string())),
        Ok(Ok(None)) | Err(_) => Err(NoAnswer::Silence),
    }
}

async fn send_probe(shared: &Arc<Shared>, trunk: usize) -> Result<Option<u16>, Unreachable> {
    let destination = reach(shared, trunk).await?;
    Ok(send_options(shared, trunk, destination).await)
}

async fn send_options(shared: &Arc<Shared>, trunk: usize, destination: SipAddr) -> Option<u16> {
    let state = &shared.trunks[trunk];
    let transport = sip::Transport::from(state.trunk.transport);
    let via = shared
        .endpoint
        .get_via(Some(shared.our_address(transport)), None)
        .ok()?;
    let mut uri = state.uri("");
    uri.auth = None;
    let from = typed::From::from(state.our_uri("offhook")).with_tag(make_tag());
    let to = typed::To::from(uri.clone());
    let sequence = shared.layer.increment_last_seq();
    let mut request =
        shared
            .endpoint
            .make_request(Method::Options, uri, via, from, to, sequence, None);
    request
        .headers
        .push(typed::Contact::from(shared.contact(transport)).into());
    let key = TransactionKey::from_request(&request, TransactionRole::Client).ok()?;
    let mut transaction = Transaction::new_client(key, request, Arc::clone(&shared.endpoint), None);
    transaction.destination = Some(destination);
    transaction.send().await.ok()?;
    while let Some(message) = transaction.receive().await {
        let SipMessage::Response(response) = message else {
            continue;
        };
        if response.status_code.kind() != StatusCodeKind::Provisional {
            // The stack generates these two itself when no answer comes.
            let status = response.status_code.code();
            return (!matches!(status, 408 | 503)).then_some(status);
        }
    }
    None
}
