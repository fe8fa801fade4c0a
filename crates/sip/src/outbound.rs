//! A call that goes out, till it is answered or given up.

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

/// The headers that say who calls, beside `From`.
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

/// A call whose INVITE is under way.
struct Setup {
    live: Live,
    sent: JoinHandle<InviteAsyncResult>,
}

impl Setup {
    /// Waits for the answer. `None` if there will be none: then everything else about the call is seen to.
    async fn run(mut self) -> Option<(Live, DialogId)> {
        let timers = self.live.shared.timers.clone();
        // The other side gave a sign of life.
        let mut heard = false;
        // What the stack reports after this belongs to the answered call.
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
                    // There is nobody to hand over yet: dropped, the request learns it.
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
                            if !self.live.tell(event) {
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
                    self.fail(Failure::ours(reason));
                    self.withdraw(heard, None);
                    return None;
                }
            }
        }
    }

    /// The INVITE has its final answer, or could not be carried through.
    fn settle(mut self, result: Option<InviteAsyncResult>) -> Option<(Live, DialogId)> {
        match result {
            Some(Ok((id, Some(response)))) if response.status_code == StatusCode::OK => {
                self.live.admit_route(&response);
                let sdp = sdp(&response, &response.body);
                self.live.descriptions.lock().theirs.clone_from(&sdp);
                // An owner that is gone has told it by a command, or does when its end of the channel is dropped.
                self.live.tell(SipEvent::Answered { sdp });
                Some((self.live, id))
            }
            Some(Ok((_, Some(response)))) => {
                self.fail(Failure::told(response.status_code.code(), &response));
                None
            }
            // The stack's own words of it may hold numbers.
            Some(Ok((_, None)) | Err(_)) | None => {
                self.fail(Failure::ours(FailureReason::CarrierError));
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
        self.live.tell(SipEvent::Failed(failure));
    }

    /// Gives the call up, beside whoever waits: the phone stops ringing, and what is answered all the same is ended.
    fn withdraw(self, heard: bool, done: Option<oneshot::Sender<()>>) {
        tokio::spawn(
            async move {
                let Self { mut live, mut sent } = self;
                let result = if heard {
                    cancel(&mut live, &mut sent, done).await
                } else {
                    // Nothing may be cancelled before a provisional answer (RFC 3261 §9.1). Cut off, the stack repeats the
                    // INVITE no more, and cancels or ends what comes of it yet.
                    sent.abort();
                    sent.await
                };
                // It may have been answered before the stack learned of our wish.
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

/// Cancels a call that rings, and waits for the end of its INVITE.
async fn cancel(
    live: &mut Live,
    sent: &mut JoinHandle<InviteAsyncResult>,
    done: Option<oneshot::Sender<()>>,
) -> Result<InviteAsyncResult, JoinError> {
    // 64 T1, after which a cancelled INVITE counts as ended (RFC 3261 §9.1).
    let patience = live.shared.timers.t1 * 64;
    tokio::select! {
        result = &mut *sent => return result,
        never = keep_cancelling(live, done) => match never {},
        () = sleep(patience) => {}
    }
    sent.abort();
    sent.await
}

/// Sends CANCEL, and again whenever the call gives another sign of life: a challenge may have crossed the CANCEL, and
/// then an INVITE that it did not mean is under way.
async fn keep_cancelling(live: &mut Live, mut done: Option<oneshot::Sender<()>>) -> Infallible {
    loop {
        // A refused CANCEL is no different from an accepted one: the INVITE's end decides.
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
