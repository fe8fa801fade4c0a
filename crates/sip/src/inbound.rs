//! Incoming requests: within dialogs, OPTIONS, and calls.

use futures_util::FutureExt as _;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use rsipstack::dialog::dialog::DialogState;
use rsipstack::sip::prelude::{HeadersExt, ToTypedHeader};
use rsipstack::sip::{Header, Method, Request, StatusCode, typed};
use rsipstack::transaction::{Transaction, TransactionReceiver};
use tokio::time::sleep;
use tracing::{info, warn};

use crate::call::{Command, Live, SipCall, SipEvent, goodbye};
use crate::dialog::{SDP, capabilities, sdp};
use crate::digest::{self, Verdict};
use crate::endpoint::{ALLOW, Shared};
use crate::gate::{has_to_tag, ip_of, opens_dialog};

/// An incoming call that waits for an answer. Dropping it rejects the call for now.
pub struct Incoming {
    /// The name of its trunk.
    pub trunk: String,
    /// The caller's number as the carrier wrote it; `None` if it is withheld.
    pub from: Option<String>,
    /// The called number as the carrier wrote it.
    pub to: String,
    /// The caller's offer; without one, our answer contains the offer.
    pub offer: Option<String>,
    call: SipCall,
}

/// Hides numbers and descriptions.
impl fmt::Debug for Incoming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Incoming(by {})", self.trunk)
    }
}

/// Why a call is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The number is not assigned.
    NotFound,
    /// All lines are busy.
    Busy,
    /// No agent may answer now.
    Unavailable,
    /// This endpoint accepts no calls now; another one may, and this one may soon.
    Later,
    /// The call is declined.
    Declined,
    /// No media could be negotiated.
    NotAcceptable,
}

impl Refusal {
    const fn code(self) -> u16 {
        match self {
            Self::NotFound => 404,
            Self::Busy => 486,
            Self::Unavailable => 480,
            Self::Later => 503,
            Self::Declined => 603,
            Self::NotAcceptable => 488,
        }
    }
}

impl Incoming {
    /// Sends ringing; with a session description, as early media (183).
    pub fn ring(&self, sdp: Option<String>) {
        self.command(Command::Ring(sdp));
    }

    /// Answers with our session description. [`SipEvent::Answered`] follows once the caller has confirmed.
    #[must_use]
    pub fn answer(self, sdp: String) -> SipCall {
        self.command(Command::Answer(sdp));
        self.call
    }

    /// Returns what another process needs to end the call once it was answered here, in the format of
    /// [`SipTrunks::end_dialog`](crate::SipTrunks::end_dialog).
    #[must_use]
    pub fn dialog(&self) -> String {
        self.call.control().saved()
    }

    /// Rejects the call.
    pub fn refuse(self, why: Refusal) {
        self.command(Command::Refuse(why.code()));
    }

    fn command(&self, command: Command) {
        self.call.control().command(command);
    }
}

/// Reserves the name of an incoming call while it lasts.
pub(crate) struct NameReservation {
    shared: Arc<Shared>,
    name: CallName,
}

/// The Call-ID and the caller's tag.
pub(crate) type CallName = (String, String);

impl NameReservation {
    /// `None` if a call of this name exists.
    fn note(shared: &Arc<Shared>, name: CallName) -> Option<Self> {
        shared.came_in.lock().insert(name.clone()).then(|| Self {
            shared: Arc::clone(shared),
            name,
        })
    }
}

/// The name of a call; `None` if its headers are invalid.
fn name(request: &Request) -> Option<CallName> {
    let tag = request.from_header().ok()?.tag().ok()??;
    let call_id = request.call_id_header().ok()?;
    Some((call_id.value().to_owned(), tag.value().to_owned()))
}

impl Drop for NameReservation {
    fn drop(&mut self) {
        self.shared.came_in.lock().remove(&self.name);
    }
}

/// Handles all requests that start a transaction, until the endpoint stops.
pub(crate) async fn accept(shared: Arc<Shared>, mut requests: TransactionReceiver) {
    let stop = shared.stop.clone();
    loop {
        let request = tokio::select! {
            () = stop.cancelled() => return,
            request = requests.recv() => match request {
                Some(request) => request,
                None => return,
            },
        };
        let from = request
            .connection
            .as_ref()
            .and_then(|connection| connection.get_remote_addr())
            .and_then(ip_of);
        let Some(from) = from else { continue };
        if opens_dialog(&request.original) {
            let (trunk, guest) = match shared.gate.trunk_of(from) {
                Some(trunk) => (trunk, None),
                None => match digest::judge(&shared, &request, from) {
                    Verdict::Trunk(trunk) => (trunk, Some(from)),
                    Verdict::Challenge if shared.gate.is_open() => {
                        digest::challenge(&shared, request, from).await;
                        continue;
                    }
                    // Dropped without an answer.
                    Verdict::Challenge | Verdict::Drop => continue,
                },
            };
            offer(&shared, request, trunk, guest);
        } else {
            tokio::spawn(other(Arc::clone(&shared), request).boxed());
        }
    }
}

/// Handles a request within a dialog, or one that needs none.
async fn other(shared: Arc<Shared>, mut request: Transaction) {
    let method = request.original.method;
    if has_to_tag(&request.original) {
        match shared.layer.match_dialog(&request) {
            Some(mut dialog) => {
                let _ = dialog.handle(&mut request).await;
                // The stack does not answer requests before the call is up.
                if method != Method::Invite && method != Method::Ack && !request.is_terminated() {
                    let _ = request.reply(StatusCode::RequestPending).await;
                }
                return;
            }
            None if method == Method::Ack => return,
            None => {
                let _ = request.reply(StatusCode::CallTransactionDoesNotExist).await;
            }
        }
    } else {
        let answer = match method {
            Method::Ack | Method::Cancel => return,
            Method::Options => StatusCode::OK,
            _ => StatusCode::MethodNotAllowed,
        };
        let _ = request.reply_with(answer, capabilities(), None).await;
    }
    if method == Method::Invite {
        drain(request).await;
    }
}

/// Repeats a rejection until it is confirmed.
async fn drain(mut invite: Transaction) {
    while invite.receive().await.is_some() {}
}

/// Rejects a call before it has a dialog.
fn refuse(mut invite: Transaction, status: StatusCode, headers: Vec<Header>) {
    tokio::spawn(
        async move {
            let _ = invite.reply_with(status, headers, None).await;
            drain(invite).await;
        }
        .boxed(),
    );
}

/// Offers a trunk's call to the application.
fn offer(shared: &Arc<Shared>, mut invite: Transaction, trunk: usize, guest: Option<IpAddr>) {
    let request = &invite.original;
    let offer = sdp(request, &request.body);
    if offer.is_none() && !request.body.is_empty() {
        let headers = vec![Header::Accept(SDP.into())];
        return refuse(invite, StatusCode::UnsupportedMediaType, headers);
    }
    let Some(to) = request.uri.user().map(str::to_owned) else {
        return refuse(invite, StatusCode::NotFound, Vec::new());
    };
    let from = caller(request);
    let Ok(place) = shared.incoming.try_reserve() else {
        warn!(
            trunk = shared.trunks[trunk].trunk.name(),
            "no call is taken: too many wait"
        );
        return refuse(invite, StatusCode::ServiceUnavailable, Vec::new());
    };
    // The same INVITE by another path (RFC 3261 §8.2.2.2), or a second one of an existing call.
    let Some(name) = name(request) else {
        return refuse(invite, StatusCode::BadRequest, Vec::new());
    };
    let Some(known) = NameReservation::note(shared, name) else {
        return refuse(invite, StatusCode::LoopDetected, Vec::new());
    };
    let contact = invite
        .connection
        .as_ref()
        .map(|connection| shared.contact(connection.transport()));
    let (sender, states) = shared.layer.new_dialog_state_channel();
    let created = shared
        .layer
        .get_or_create_server_invite(&invite, sender, None, contact);
    let Ok(dialog) = created else {
        return refuse(invite, StatusCode::BadRequest, Vec::new());
    };
    let (call, mut live) = Live::new(shared, trunk, dialog.clone(), states);
    live.admit(guest);
    live.admit_route(request);
    live.known = Some(known);
    live.descriptions.lock().theirs.clone_from(&offer);
    let name = shared.trunks[trunk].trunk.name.clone();
    info!(trunk = name, "a call comes in");
    place.send(Incoming {
        trunk: name,
        from,
        to,
        offer,
        call,
    });
    let mut handled = dialog.clone();
    tokio::spawn(async move { handled.handle(&mut invite).await }.boxed());
    tokio::spawn(
        async move {
            if let Some(live) = ring(live).await {
                let id = live.dialog.id();
                live.talk(id).await;
            }
        }
        .boxed(),
    );
}

/// The caller's number: what the carrier asserts, or else what the caller claims.
fn caller(request: &Request) -> Option<String> {
    let asserted = request
        .p_asserted_identity_header()
        .and_then(|header| typed::From::parse(header.value()).ok())
        .map(|identity| identity.uri);
    let said = || {
        let from = request.from_header().ok()?.typed().ok()?;
        Some(from.uri)
    };
    let user = asserted.or_else(said)?.user()?.to_owned();
    (!user.is_empty() && !user.eq_ignore_ascii_case("anonymous")).then_some(user)
}

/// Waits until an incoming call was answered and confirmed. `None` if it ended before.
async fn ring(mut live: Live) -> Option<Live> {
    let limit = sleep(live.shared.timers.ring);
    tokio::pin!(limit);
    let id = live.dialog.id();
    let mut answered = false;
    let end = |live: &Live| live.shared.layer.remove_dialog(&id);
    loop {
        tokio::select! {
            biased;
            command = live.commands.recv() => {
                let done = match command {
                    Some(Command::Ring(sdp)) => {
                        let headers = sdp.as_ref().map(|_| vec![Header::ContentType(SDP.into())]);
                        let _ = live.dialog.ringing(headers, sdp.map(String::into_bytes));
                        continue;
                    }
                    Some(Command::Answer(sdp)) => {
                        answered = true;
                        live.descriptions.lock().ours = Some(sdp.clone());
                        let mut headers = vec![Header::Allow(ALLOW.into())];
                        headers.push(Header::ContentType(SDP.into()));
                        let _ = live.dialog.accept(Some(headers), Some(sdp.into_bytes()));
                        continue;
                    }
                    Some(Command::Refer(_)) => continue,
                    Some(Command::Refuse(code)) => {
                        let _ = live.dialog.reject(Some(code.into()), None);
                        end(&live);
                        return None;
                    }
                    Some(Command::HangUp(done)) => Some(done),
                    None => None,
                };
                if answered {
                    goodbye(&live.shared, &live.dialog, &id).await;
                } else {
                    let _ = live.dialog.reject(Some(StatusCode::TemporarilyUnavailable), None);
                    end(&live);
                }
                drop(done);
                return None;
            }
            state = live.states.recv() => match state {
                Some(DialogState::Confirmed(..)) => {
                    // If the offer was ours, the answer comes with the ACK.
                    let sdp = live
                        .dialog
                        .last_remote_ack()
                        .and_then(|ack| sdp(&ack, &ack.body));
                    if sdp.is_some() {
                        live.descriptions.lock().theirs.clone_from(&sdp);
                    }
                    live.report(SipEvent::Answered { sdp });
                    return Some(live);
                }
                // The caller gave up, or never confirmed our answer; then the stack has already sent a BYE.
                Some(DialogState::Terminated(..)) | None => {
                    live.report(SipEvent::Hangup);
                    end(&live);
                    return None;
                }
                Some(_) => {}
            },
            () = &mut limit, if !answered => {
                let _ = live.dialog.reject(Some(StatusCode::TemporarilyUnavailable), None);
                live.report(SipEvent::Hangup);
                end(&live);
                return None;
            }
        }
    }
}
