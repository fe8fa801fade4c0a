//! A call: what its owner sees of it, and the task that looks after it once it was answered.

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
use crate::inbound::Known;
use crate::outcome::Failure;
use crate::saved;

/// Events that may wait for a call's owner. An owner that lets them pile up is gone, and its call is ended.
const EVENTS_WAITING: usize = 256;

/// What the carrier says of a transfer that may wait.
const PROGRESS_WAITING: usize = 8;

/// What happens on a call. Nothing comes after [`Hangup`](Self::Hangup) and [`Failed`](Self::Failed).
pub enum SipEvent {
    /// The other side is being called. With a description its network sends sound already (early media).
    Provisional {
        /// 180 rings, 183 tells more.
        code: u16,
        /// Where the sound comes from.
        sdp: Option<String>,
    },
    /// It was answered; of a call that came in: our answer was confirmed.
    Answered {
        /// The other side's description, if this message has one.
        sdp: Option<String>,
    },
    /// The other side offers other sound: it holds the call, takes it back, or moves.
    Renegotiated {
        /// Its offer.
        offer: String,
        /// The way to answer. Dropped, it refuses.
        reply: Reply,
    },
    /// A key was pressed, told by INFO.
    Digit(char),
    /// The other side hung up, or went away.
    Hangup,
    /// It was never answered.
    Failed(Failure),
}

/// Without descriptions and keys.
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

/// The way to answer an offer.
pub struct Reply(pub(crate) oneshot::Sender<String>);

impl Reply {
    /// Answers with our description.
    pub fn answer(self, sdp: String) {
        // The call may be over by now.
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
    /// What happens next; `None` once the line is gone.
    pub async fn next(&mut self) -> Option<SipEvent> {
        self.events.recv().await
    }

    /// The way to do something to the call.
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

/// The way to do something to a call.
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

/// Why a customer was not handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TransferError {
    /// The call is over.
    #[error("the call is over")]
    Gone,
    /// The carrier refused, with this answer or this outcome.
    #[error("the carrier refused the transfer with {0}")]
    Refused(u16),
    /// The carrier took the request and never said what became of it. The customer is still on this line.
    #[error("the carrier did not say what became of the transfer")]
    Unconfirmed,
}

impl CallControl {
    /// Ends the call in whatever state it is, and waits for the other side's confirmation, though not for long. Ending
    /// it twice is the same as once.
    pub async fn hang_up(&self) {
        let (done, finished) = oneshot::channel();
        if self.commands.send(Command::HangUp(done)).is_ok() {
            let patience = self.shared.timers.goodbye + Duration::from_millis(500);
            let _ = timeout(patience, finished).await;
        }
    }

    /// Hands the other side over to another number (RFC 3515, blind), and hangs up when that is done.
    ///
    /// # Errors
    /// [`TransferError`] if the other side is still on this line, or the line is gone.
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
                // Many a carrier takes the customer along and hangs up on us instead of telling more.
                Ok(None) => return Ok(()),
                Err(_) => return Err(TransferError::Unconfirmed),
            }
        }
        self.hang_up().await;
        Ok(())
    }

    /// What another process needs to end the call, in the form that
    /// [`SipTrunks::end_dialog`](crate::SipTrunks::end_dialog) takes. It is whole once the call was answered.
    #[must_use]
    pub fn saved(&self) -> String {
        let trunk = self.shared.trunks[self.trunk].trunk.name();
        saved::Dialog::of(trunk, &self.dialog.snapshot()).to_text()
    }

    pub(crate) fn command(&self, command: Command) {
        let _ = self.commands.send(command);
    }
}

/// What a call's task is told.
pub(crate) enum Command {
    HangUp(oneshot::Sender<()>),
    /// A transfer was begun: what the carrier says of it goes here.
    Refer(mpsc::Sender<u16>),
    /// Of a call that came in: it rings, with early media or without.
    Ring(Option<String>),
    /// Of a call that came in: it is answered.
    Answer(String),
    /// Of a call that came in: it is refused.
    Refuse(u16),
}

/// The last descriptions of both sides.
#[derive(Default)]
pub(crate) struct Descriptions {
    pub(crate) ours: Option<String>,
    pub(crate) theirs: Option<String>,
}

/// A call as its task has it.
pub(crate) struct Live {
    pub(crate) shared: Arc<Shared>,
    pub(crate) trunk: usize,
    pub(crate) dialog: InviteDialog,
    pub(crate) states: DialogStateReceiver,
    pub(crate) commands: mpsc::UnboundedReceiver<Command>,
    pub(crate) descriptions: Arc<Mutex<Descriptions>>,
    /// Of a call that came in.
    pub(crate) known: Option<Known>,
    events: mpsc::Sender<SipEvent>,
    guests: Vec<Guest>,
    progress: Option<mpsc::Sender<u16>>,
}

impl Live {
    /// A call, as its owner and as its task have it.
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

    /// Tells the owner; `false` if nobody listens any more.
    pub(crate) fn tell(&self, event: SipEvent) -> bool {
        self.events.try_send(event).is_ok()
    }

    /// Hears the other side's own address for as long as the call lasts.
    pub(crate) fn admit(&mut self, address: Option<IpAddr>) {
        self.guests
            .extend(address.map(|address| self.shared.gate.admit(address)));
    }

    /// Hears the addresses that a message of the other side names.
    pub(crate) fn admit_route(&mut self, message: &impl HasHeaders) {
        self.guests.extend(self.shared.gate.admit_route(message));
    }

    /// An answered call, to its end. `id` is what the stack keeps its dialog by.
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
                        self.tell(SipEvent::Hangup);
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

    /// What the carrier says of a transfer under way.
    pub(crate) fn transfer_told(&mut self, code: u16) {
        if let Some(progress) = &self.progress {
            let _ = progress.try_send(code);
        }
    }
}

/// Ends an answered call, if it goes on still, and takes its dialog out of the stack. Whoever does not confirm is
/// forgotten after a while.
pub(crate) async fn goodbye(shared: &Shared, dialog: &InviteDialog, id: &DialogId) {
    let _ = timeout(shared.timers.goodbye, dialog.bye()).await;
    shared.layer.remove_dialog(id);
}
