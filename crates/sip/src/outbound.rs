//! An outgoing call until it is answered or given up.

use futures_util::FutureExt as _;
use std::convert::Infallible;
use std::sync::Arc;

use offhook_domain::FailureReason;
use rsipstack::dialog::DialogId;
use rsipstack::dialog::dialog::DialogState;
use rsipstack::dialog::invitation::{InviteAsyncResult, InviteOption};
use rsipstack::sip::{Header, StatusCode};
use tokio::sync::oneshot;
use tokio::task::{JoinError, JoinHandle};
use tokio::time::{Instant, sleep, sleep_until};
use tracing::info;

use crate::call::{Command, Live, SipCall, SipEvent, goodbye};
use crate::dialog::{SDP, sdp};
use crate::endpoint::{ALLOW, CALL_ID_DOMAIN, CallError, Invite, Shared, TrunkState};
use crate::outcome::Failure;
use crate::reach::reach;
use crate::trunk::CallerId;

/// Sends the INVITE.
pub(crate) async fn call(
    shared: &Arc<Shared>,
    trunk: usize,
    invite: Invite,
) -> Result<SipCall, CallError> {
    let state = &shared.trunks[trunk];
    let name = || state.trunk.name.clone();
    let destination = reach(shared, trunk)
        .await
        .map_err(|error| CallError::NotConnected {
            trunk: name(),
            fault: error.to_string(),
        })?;
    let handle = invite.handle;
    let mut headers = vec![Header::Allow(ALLOW.into())];
    headers.extend(caller_id(state, invite.from.as_str()));
    let option = InviteOption {
        caller: state.our_uri(invite.from.as_str()),
        callee: state.uri(invite.to.as_str()),
        contact: shared.contact(state.trunk.transport.into()),
        destination: Some(destination),
        content_type: Some(SDP.to_owned()),
        offer: Some(invite.offer.clone().into_bytes()),
        credential: state.trunk.credential.clone(),
        headers: Some(headers),
        call_id: Some(format!("{handle}@{CALL_ID_DOMAIN}")),
        ..InviteOption::default()
    };
    let (sender, states) = shared.layer.new_dialog_state_channel();
    let (dialog, sent) = shared
        .layer
        .do_invite_async(option, sender)
        .map_err(|_| CallError::Malformed(name()))?;
    info!(%handle, trunk = state.trunk.name, "calling");
    let (call, live) = Live::new(shared, trunk, dialog, states);
    live.descriptions.lock().ours = Some(invite.offer);
    tokio::spawn(
        async move {
            let setup = Setup { live, sent };
            if let Some((live, id)) = setup.run().await {
                live.talk(id).await;
            }
        }
        .boxed(),
    );
    Ok(call)
}

/// The caller ID header besides `From`.
fn caller_id(state: &TrunkState, number: &str) -> Option<Header> {
    let uri = state.our_uri(number);
    match state.trunk.caller_id {
        CallerId::From => None,
        CallerId::PAssertedIdentity => Some(Header::PAssertedIdentity(format!("<{uri}>").into())),
        CallerId::RemotePartyId => Some(Header::Other(
            "Remote-Party-ID".to_owned(),
            format!("<{uri}>;party=calling;screen=yes;privacy=off"),
        )),
    }
}

/// A call with a pending INVITE.
struct Setup {
    live: Live,
    sent: JoinHandle<InviteAsyncResult>,
}

impl Setup {
    /// Waits for the answer. `None` if there will be none; then the call is completely handled.
    async fn run(mut self) -> Option<(Live, DialogId)> {
        let timers = self.live.shared.timers.clone();
        // A provisional response came.
        let mut heard = false;
        // Later reports of the stack belong to the answered call.
        let mut confirmed = false;
        let mut deadline = Instant::now() + timers.first_provisional;
        loop {
            tokio::select! {
                biased;
                command = self.live.commands.recv() => match command {
                    Some(Command::HangUp(done)) => {
                        self.withdraw(heard, Some(done));
                        return None;
                    }
                    None => {
                        self.withdraw(heard, None);
                        return None;
                    }
                    // There is no dialog to transfer yet; dropping the sender fails the request.
                    Some(_) => {}
                },
                Some(state) = self.live.states.recv(), if !confirmed => {
                    let alive = matches!(state, DialogState::Trying(_) | DialogState::Early(..));
                    if alive && !heard {
                        heard = true;
                        deadline = Instant::now() + timers.ring;
                    }
                    match state {
                        DialogState::Early(_, response) => {
                            self.live.admit_route(&response);
                            let event = SipEvent::Provisional {
                                code: response.status_code.code(),
                                sdp: sdp(&response, &response.body),
                            };
                            if !self.live.report(event) {
                                self.withdraw(heard, None);
                                return None;
                            }
                        }
                        DialogState::Confirmed(..) => confirmed = true,
                        _ => {}
                    }
                }
                result = &mut self.sent => return self.settle(result.ok()),
                () = sleep_until(deadline) => {
                    let reason = if heard {
                        FailureReason::NoAnswer
                    } else {
                        FailureReason::CarrierError
                    };
                    self.fail(Failure::local(reason));
                    self.withdraw(heard, None);
                    return None;
                }
            }
        }
    }

    /// Handles the final response of the INVITE, or its failure.
    fn settle(mut self, result: Option<InviteAsyncResult>) -> Option<(Live, DialogId)> {
        match result {
            Some(Ok((id, Some(response)))) if response.status_code == StatusCode::OK => {
                self.live.admit_route(&response);
                let sdp = sdp(&response, &response.body);
                self.live.descriptions.lock().theirs.clone_from(&sdp);
                // An owner that is gone has sent a command, or sends it when its channel is dropped.
                self.live.report(SipEvent::Answered { sdp });
                Some((self.live, id))
            }
            Some(Ok((_, Some(response)))) => {
                self.fail(Failure::from_response(
                    response.status_code.code(),
                    &response,
                ));
                None
            }
            // The stack's own error text may contain numbers.
            Some(Ok((_, None)) | Err(_)) | None => {
                self.fail(Failure::local(FailureReason::CarrierError));
                None
            }
        }
    }

    fn fail(&self, failure: Failure) {
        let trunk = &self.live.shared.trunks[self.live.trunk].trunk.name;
        let Failure {
            reason,
            code,
            cause,
        } = failure;
        info!(trunk, %reason, code, cause, "not answered");
        self.live.report(SipEvent::Failed(failure));
    }

    /// Gives up the call in the background: the phone stops ringing, and a late answer is ended.
    fn withdraw(self, heard: bool, done: Option<oneshot::Sender<()>>) {
        tokio::spawn(
            async move {
                let Self { mut live, mut sent } = self;
                let result = if heard {
                    cancel(&mut live, &mut sent, done).await
                } else {
                    // A CANCEL is not allowed before a provisional response (RFC 3261 §9.1). Aborting makes the stack
                    // stop repeating the INVITE, and cancel or end what still comes of it.
                    sent.abort();
                    sent.await
                };
                // The call may have been answered before the stack knew of the cancellation.
                if let Ok(Ok((id, Some(response)))) = result
                    && response.status_code == StatusCode::OK
                {
                    goodbye(&live.shared, &live.dialog, &id).await;
                }
            }
            .boxed(),
        );
    }
}

/// Cancels a ringing call, and waits for the end of its INVITE.
async fn cancel(
    live: &mut Live,
    sent: &mut JoinHandle<InviteAsyncResult>,
    done: Option<oneshot::Sender<()>>,
) -> Result<InviteAsyncResult, JoinError> {
    // After 64 T1 a canceled INVITE counts as ended (RFC 3261 §9.1).
    let patience = live.shared.timers.t1 * 64;
    tokio::select! {
        result = &mut *sent => return result,
        never = keep_cancelling(live, done) => match never {},
        () = sleep(patience) => {}
    }
    sent.abort();
    sent.await
}

/// Sends a CANCEL, and repeats it after each further sign of life. A challenge may have crossed the CANCEL, which then
/// does not apply to the new INVITE.
async fn keep_cancelling(live: &mut Live, mut done: Option<oneshot::Sender<()>>) -> Infallible {
    loop {
        // Whether the CANCEL was accepted does not matter; the INVITE's end decides.
        let _ = live.dialog.cancel().await;
        if let Some(done) = done.take() {
            let _ = done.send(());
        }
        loop {
            match live.states.recv().await {
                Some(DialogState::Trying(_) | DialogState::Early(..)) => break,
                Some(_) => {}
                None => std::future::pending().await,
            }
        }
    }
}
