//! Hangs up a call of a process that died (RFC 3261 §12.2.1.1, §15.1.1).

use std::sync::Arc;
use std::time::Duration;

use rsipstack::dialog::authenticate::{AuthRetry, handle_client_authenticate};
use rsipstack::dialog::dialog::DialogSnapshot;
use rsipstack::sip::uri::ParamsExt;
use rsipstack::sip::{
    self, Header, Host, Method, Request, SipMessage, StatusCode, StatusCodeKind, Uri, typed,
};
use rsipstack::transaction::Transaction;
use rsipstack::transaction::key::{TransactionKey, TransactionRole};
use rsipstack::transport::SipAddr;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;
use tracing::info;

use crate::endpoint::Shared;
use crate::reach::reach;
use crate::settings::Transport;

/// How far its successor skips ahead in the dead process's CSeq numbers. That process may have sent requests after it
/// saved its number, and the other side only accepts higher ones.
const AHEAD: u32 = 1_000;

/// The highest CSeq number (RFC 3261 §8.1.1.5).
const HIGHEST: u32 = (1 << 31) - 1;

/// Why an orphaned call was not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EndError {
    /// The saved dialog is invalid, or its trunk is no longer configured.
    #[error("what was kept of the call cannot be used")]
    Unreadable,
    /// The carrier is unreachable: nothing was sent.
    #[error("the carrier cannot be reached")]
    NotConnected,
    /// The carrier did not confirm the end of the call.
    #[error("the carrier did not confirm the end of the call")]
    Unconfirmed,
}

/// A dialog from our side.
#[derive(Serialize, Deserialize)]
pub(crate) struct Dialog {
    trunk: String,
    call_id: String,
    /// Our address, with our tag.
    from: String,
    /// The other side's address, with its tag.
    to: String,
    /// The other side's contact.
    target: String,
    /// The proxies on the way, in order.
    routes: Vec<String>,
    /// The CSeq number of our last request.
    cseq: u32,
}

impl Dialog {
    pub(crate) fn of(trunk: &str, snapshot: &DialogSnapshot) -> Self {
        let (local, remote) = (&snapshot.id.local_tag, &snapshot.id.remote_tag);
        let (from_tag, to_tag) = match snapshot.role {
            TransactionRole::Client => (local, remote),
            TransactionRole::Server => (remote, local),
        };
        let from = snapshot.from.clone().with_tag(from_tag.clone().into());
        let to = snapshot.to.clone().with_tag(to_tag.clone().into());
        // In a new dialog, `From` is the caller.
        let (ours, theirs) = match snapshot.role {
            TransactionRole::Client => (from.to_string(), to.to_string()),
            TransactionRole::Server => (to.to_string(), from.to_string()),
        };
        Self {
            trunk: trunk.to_owned(),
            call_id: snapshot.id.call_id.clone(),
            from: ours,
            to: theirs,
            target: snapshot.remote_uri.to_string(),
            routes: snapshot
                .route_set
                .iter()
                .map(|route| route.value().to_owned())
                .collect(),
            cseq: snapshot.local_cseq,
        }
    }

    pub(crate) fn to_text(&self) -> String {
        // Serializing a plain struct of strings cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Sends the BYE. An answer that the call does not exist counts as a confirmation.
pub(crate) async fn end(shared: &Arc<Shared>, saved: &str) -> Result<(), EndError> {
    let dialog: Dialog = serde_json::from_str(saved).map_err(|_| EndError::Unreadable)?;
    let trunk = shared
        .trunk(&dialog.trunk)
        .map_err(|_| EndError::Unreadable)?;
    let patience = shared.timers.connect + shared.timers.goodbye + Duration::from_millis(500);
    timeout(patience, bye(shared, trunk, &dialog))
        .await
        .map_err(|_| EndError::Unconfirmed)?
}

async fn bye(shared: &Arc<Shared>, trunk: usize, dialog: &Dialog) -> Result<(), EndError> {
    let request = request(shared, trunk, dialog).ok_or(EndError::Unreadable)?;
    let destination = destination(shared, trunk, dialog).await?;
    let _guest = match destination.addr.host {
        Host::IpAddr(address) => Some(shared.gate.admit(address)),
        Host::Domain(_) => None,
    };
    let key = TransactionKey::from_request(&request, TransactionRole::Client)
        .map_err(|_| EndError::Unreadable)?;
    let mut transaction = Transaction::new_client(key, request, Arc::clone(&shared.endpoint), None);
    transaction.destination = Some(destination.clone());
    let sent = transaction.send().await;
    sent.map_err(|_| EndError::NotConnected)?;
    let credential = &shared.trunks[trunk].trunk.credential;
    let mut challenged = AuthRetry::new();
    let mut number = first_number(dialog);
    while let Some(message) = transaction.receive().await {
        let SipMessage::Response(response) = message else {
            continue;
        };
        if response.status_code.kind() == StatusCodeKind::Provisional {
            continue;
        }
        let code = response.status_code.code();
        match (&response.status_code, credential) {
            (
                StatusCode::Unauthorized | StatusCode::ProxyAuthenticationRequired,
                Some(credential),
            ) if challenged.should_answer(&response) => {
                number = number.saturating_add(1).min(HIGHEST);
                let answered =
                    handle_client_authenticate(number, &transaction, response, credential).await;
                transaction = answered.map_err(|_| EndError::Unconfirmed)?;
                transaction.destination = Some(destination.clone());
                let sent = transaction.send().await;
                sent.map_err(|_| EndError::NotConnected)?;
            }
            // The stack generates these two itself when no answer comes.
            (StatusCode::RequestTimeout | StatusCode::ServiceUnavailable, _) => {
                return Err(EndError::Unconfirmed);
            }
            (status, _) => {
                let name = shared.trunks[trunk].trunk.name();
                info!(trunk = name, code, "a call that was left behind is hung up");
                let over = status.kind() == StatusCodeKind::Successful
                    || *status == StatusCode::CallTransactionDoesNotExist;
                return if over {
                    Ok(())
                } else {
                    Err(EndError::Unconfirmed)
                };
            }
        }
    }
    Err(EndError::Unconfirmed)
}

fn first_number(dialog: &Dialog) -> u32 {
    dialog.cseq.saturating_add(AHEAD).min(HIGHEST)
}

/// The BYE that the dead process would have sent.
fn request(shared: &Shared, trunk: usize, dialog: &Dialog) -> Option<Request> {
    let transport = sip::Transport::from(shared.trunks[trunk].trunk.transport);
    let address = shared.our_address(transport);
    let via = shared.endpoint.get_via(Some(address), None).ok()?;
    let mut request = shared.endpoint.make_request(
        Method::Bye,
        Uri::try_from(dialog.target.as_str()).ok()?,
        via,
        typed::From::parse(&dialog.from).ok()?,
        typed::To::parse(&dialog.to).ok()?,
        first_number(dialog),
        Some(dialog.call_id.clone().into()),
    );
    for route in &dialog.routes {
        request.headers.push(Header::Route(route.clone().into()));
    }
    request
        .headers
        .push(typed::Contact::from(shared.contact(transport)).into());
    Some(request)
}

/// The BYE's destination: over a connection to the trunk's server, as a datagram to the first proxy or the other side
/// itself.
async fn destination(shared: &Shared, trunk: usize, dialog: &Dialog) -> Result<SipAddr, EndError> {
    let server = reach(shared, trunk).await;
    let server = server.map_err(|_| EndError::NotConnected)?;
    if shared.trunks[trunk].trunk.transport != Transport::Udp {
        return Ok(server);
    }
    let next = match dialog.routes.first() {
        Some(route) => typed::Route::parse(route).ok().map(|route| route.uri),
        None => Uri::try_from(dialog.target.as_str()).ok(),
    };
    let next = next.ok_or(EndError::Unreadable)?;
    let by_udp = !matches!(next.transport(), Some(named) if *named != sip::Transport::Udp);
    // A name would need a lookup; the trunk's server can resolve it.
    Ok(match (&next.host_with_port.host, by_udp) {
        (Host::IpAddr(_), true) => SipAddr::new(sip::Transport::Udp, next.host_with_port.clone()),
        _ => server,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dialog() -> Dialog {
        Dialog {
            trunk: "carrier".to_owned(),
            call_id: "1@carrier".to_owned(),
            from: "<sip:+15005550100@us>;tag=a".to_owned(),
            to: "<sip:+15551234567@them>;tag=b".to_owned(),
            target: "sip:caller@192.0.2.1:5070".to_owned(),
            routes: vec!["<sip:192.0.2.2;lr>".to_owned()],
            cseq: 7,
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let text = dialog().to_text();
        let read: Dialog = serde_json::from_str(&text).unwrap();
        assert_eq!(read.to_text(), text);
        assert_eq!(first_number(&read), 1_007);
    }

    #[test]
    fn a_number_stays_within_what_requests_may_have() {
        let late = Dialog {
            cseq: HIGHEST - 3,
            ..dialog()
        };
        assert_eq!(first_number(&late), HIGHEST);
    }
}
