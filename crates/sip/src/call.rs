//! A call: its owner's handle, and the task that runs it once it was answered.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use offhook_domain::E164;
use parking_lot::Mutex;
use rsipstack::dialog::DialogId;
use rsipstack::dialog::dialog::{DialogState, DialogStateReceiver};
use rsipstack::dialog::invite_dialog::InviteDialog;
use rsipstack::sip::{HasHeaders, Header};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout, timeout_at};

use crate::endpoint::Shared;
use crate::gate::Guest;
use crate::inbound::NameReservation;
use crate::outcome::Failure;
use crate::saved;

/// Events that may wait for a call's owner. An owner that lets more pile up is gone, and its call ends.
const EVENTS_WAITING: usize = 256;

/// The carrier's progress reports of a transfer that may wait.
const PROGRESS_WAITING: usize = 8;

/// An event of a call. [`Hangup`](Self::Hangup) and [`Failed`](Self::Failed) are always the last.
pub enum SipEvent {
    /// A provisional response. With a description, the network already sends audio (early media).
    Provisional {
        /// The status code: 180 for ringing, 183 for session progress.
        code: u16,
        /// The session description of the early media.
        sdp: Option<String>,
    },
    /// The call was answered; for an incoming call: the caller confirmed our answer.
    Answered {
        /// The other side's session description, if the message has one.
        sdp: Option<String>,
    },
    /// The other side offers a new session: it holds or resumes the call, or moves its media.
    Renegotiated {
        /// The offered session description.
        offer: String,
        /// Answers the offer. Dropping it rejects the offer.
        reply: Reply,
    },
    /// A key press, sent by INFO.
    Digit(char),
    /// The other side hung up or went away.
    Hangup,
    /// The call was never answered.
    Failed(Failure),
}

/// Hides descriptions and keys.
impl fmt::Debug for SipEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has = |sdp: &Option<String>| if sdp.is_some() { " with SDP" } else { "" };
        match self {
            Self::Provisional { code, sdp } => write!(f, "Provisional({code}{})", has(sdp)),
            Self::Answered { sdp } => write!(f, "Answered{}", has(sdp)),
            Self::Renegotiated { .. } => f.write_str("Renegotiated"),
            Self::Digit(_) => f.write_str("Digit"),
            Self::Hangup => f.write_str("Hangup"),
            Self::Failed(failure) => write!(f, "{failure:?}"),
        }
    }
}

/// Answers an offer.
pub struct Reply(pub(crate) oneshot::Sender<String>);

impl Reply {
    /// Answers with our session description.
    pub fn answer(self, sdp: String) {
        // The call may already be over.
        let _ = self.0.send(sdp);
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reply")
    }
}

/// One call. Dropping it hangs up.
pub struct SipCall {
    events: mpsc::Receiver<SipEvent>,
    control: CallControl,
}

impl SipCall {
    /// Waits for the next event; `None` once the line is gone.
    pub async fn next(&mut self) -> Option<SipEvent> {
        self.events.recv().await
    }

    /// Returns the handle for actions on the call.
    #[must_use]
    pub fn control(&self) -> CallControl {
        self.control.clone()
    }
}

impl Drop for SipCall {
    fn drop(&mut self) {
        let (done, _) = oneshot::channel();
        let _ = self.control.commands.send(Command::HangUp(done));
    }
}

impl fmt::Debug for SipCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SipCall")
    }
}

/// Actions on a call.
#[derive(Clone)]
pub struct CallControl {
    commands: mpsc::UnboundedSender<Command>,
    dialog: InviteDialog,
    shared: Arc<Shared>,
    trunk: usize,
}

impl fmt::Debug for CallControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CallControl")
    }
}

/// Why a transfer failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TransferError {
    /// The call is over.
    #[error("the call is over")]
    Gone,
    /// The carrier refused with this SIP status.
    #[error("the carrier refused the transfer with {0}")]
    Refused(u16),
    /// The carrier accepted the request but never reported the result. The customer is still on this line.
    #[error("the carrier did not say what became of the transfer")]
    Unconfirmed,
}

impl CallControl {
    /// Ends the call in whatever state it is, and waits briefly for the other side's confirmation. A second call has no
    /// effect.
    pub async fn hang_up(&self) {
        let (done, finished) = oneshot::channel();
        if self.commands.send(Command::HangUp(done)).is_ok() {
            let patience = self.shared.timers.goodbye + Duration::from_millis(500);
            let _ = timeout(patience, finished).await;
        }
    }

    /// Transfers the other side to another number (RFC 3515, blind), and hangs up afterwards. Returns [`TransferError`]
    /// if the other side is still on this line, or the line is gone.
    pub async fn transfer(&self, to: &E164) -> Result<(), TransferError> {
        let (progress, mut told) = mpsc::channel(PROGRESS_WAITING);
        self.commands
            .send(Command::Refer(progress))
            .map_err(|_| TransferError::Gone)?;
        let deadline = Instant::now() + self.shared.timers.transfer;
        let trunk = &self.shared.trunks[self.trunk];
        let referred_by = Header::ReferredBy(format!("<{}>", trunk.our_uri("offhook")).into());
        let target = format!("<{}>", trunk.uri(to.as_str()));
        let asked = self.dialog.refer(target, Some(vec![referred_by]), None);
        match timeout_at(deadline, asked).await {
            Ok(Ok(Some(answer))) => match answer.status_code.code() {
                200..=299 => {}
                code => return Err(TransferError::Refused(code)),
            },
            Ok(Ok(None) | Err(_)) => return Err(TransferError::Gone),
            Err(_) => return Err(TransferError::Unconfirmed),
        }
        loop {
            match timeout_at(deadline, told.recv()).await {
                Ok(Some(100..=199)) => {}
                Ok(Some(200..=299)) => break,
                Ok(Some(code)) => return Err(TransferError::Refused(code)),
                // Many carriers connect the customer and hang up on us instead of reporting the result.
                Ok(None) => return Ok(()),
                Err(_) => return Err(TransferError::Unconfirmed),
            }
        }
        self.hang_up().await;
        Ok(())
    }

    /// Returns what another process needs to end the call, in the format of
    /// [`SipTrunks::end_dialog`](crate::SipTrunks::end_dialog). It is complete once the call was answered.
    #[must_use]
    pub fn saved(&self) -> String {
        let trunk = self.shared.trunks[self.trunk].trunk.name();
        saved::Dialog::of(trunk, &self.dialog.snapshot()).to_text()
    }

    pub(crate) fn command(&self, command: Command) {
        let _ = self.commands.send(command);
    }
}

/// A command to a call's task.
pub(crate) enum Command {
    HangUp(oneshot::Sender<()>),
    /// Transfer started; the carrier's progress reports go to this channel.
    Refer(mpsc::Sender<u16>),
    /// Incoming call: send ringing, with or without early media.
    Ring(Option<String>),
    /// Incoming call: answer.
    Answer(String),
    /// Incoming call: reject with this status.
    Refuse(u16),
}

/// The last session descriptions of both sides.
#[derive(Default)]
pub(crate) struct Descriptions {
    pub(crate) ours: Option<String>,
    pub(crate) theirs: Option<String>,
}

/// The state of a call's task.
pub(crate) struct Live {
    pub(crate) shared: Arc<Shared>,
    pub(crate) trunk: usize,
    pub(crate) dialog: InviteDialog,
    pub(crate) states: DialogStateReceiver,
    pub(crate) commands: mpsc::UnboundedReceiver<Command>,
    pub(crate) descriptions: Arc<Mutex<Descriptions>>,
    /// Set for incoming calls.
    pub(crate) known: Option<NameReservation>,
    events: mpsc::Sender<SipEvent>,
    guests: Vec<Guest>,
    progress: Option<mpsc::Sender<u16>>,
}

impl Live {
    /// Creates a call: the owner's handle and the task's state.
    pub(crate) fn new(
        shared: &Arc<Shared>,
        trunk: usize,
        dialog: InviteDialog,
        states: DialogStateReceiver,
    ) -> (SipCall, Self) {
        let (events, received) = mpsc::channel(EVENTS_WAITING);
        let (sender, commands) = mpsc::unbounded_channel();
        let call = SipCall {
            events: received,
            control: CallControl {
                commands: sender,
                dialog: dialog.clone(),
                shared: Arc::clone(shared),
                trunk,
            },
        };
        let live = Self {
            shared: Arc::clone(shared),
            trunk,
            dialog,
            states,
            commands,
            descriptions: Arc::default(),
            known: None,
            events,
            guests: Vec::new(),
            progress: None,
        };
        (call, live)
    }

    /// Sends an event to the owner; `false` if the owner is gone or its channel is full.
    pub(crate) fn report(&self, event: SipEvent) -> bool {
        self.events.try_send(event).is_ok()
    }

    /// Admits packets from the other side's own address while the call lasts.
    pub(crate) fn admit(&mut self, address: Option<IpAddr>) {
        self.guests
            .extend(address.map(|address| self.shared.gate.admit(address)));
    }

    /// Admits packets from the addresses in a message of the other side.
    pub(crate) fn admit_route(&mut self, message: &impl HasHeaders) {
        self.guests.extend(self.shared.gate.admit_route(message));
    }

    /// Runs an answered call to its end. `id` is the stack's key of its dialog.
    pub(crate) async fn talk(mut self, id: DialogId) {
        let done = loop {
            tokio::select! {
                biased;
                command = self.commands.recv() => match command {
                    Some(Command::HangUp(done)) => break Some(done),
                    None => break None,
                    Some(Command::Refer(progress)) => self.progress = Some(progress),
                    Some(Command::Ring(_) | Command::Answer(_) | Command::Refuse(_)) => {}
                },
                state = self.states.recv() => match state {
                    Some(DialogState::Terminated(..)) | None => {
                        self.report(SipEvent::Hangup);
                        break None;
                    }
                    Some(state) => if !self.handle(state) {
                        break None;
                    },
                },
            }
        };
        goodbye(&self.shared, &self.dialog, &id).await;
        if let Some(done) = done {
            let _ = done.send(());
        }
    }

    /// Passes the carrier's progress report of a transfer on.
    pub(crate) fn transfer_progress(&mut self, code: u16) {
        if let Some(progress) = &self.progress {
            let _ = progress.try_send(code);
        }
    }
}

/// Ends an answered call, if it still goes on, and removes its dialog from the stack. It waits for a confirmation only
/// for a limited time.
pub(crate) async fn goodbye(shared: &Shared, dialog: &InviteDialog, id: &DialogId) {
    let _ = timeout(shared.timers.goodbye, dialog.bye()).await;
    shared.layer.remove_dialog(id);
}
