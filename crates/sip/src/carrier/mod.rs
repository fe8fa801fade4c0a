//! Implements the engine's carrier port for a SIP trunk: signaling by this crate, audio by `offhook-media`.

mod leg;
mod line;

use offhook_boxed::boxed;
use std::collections::HashMap;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::net::IpAddr;
use std::sync::Arc;

use async_trait::async_trait;
use offhook_domain::{CallHandle, FailureReason};
use offhook_engine::ports::audio::{AudioCarrier, AudioLeg};
use offhook_engine::ports::{DialError, DialRequest};
use offhook_media::ports::{CallSocket, PortError, Ports};
use offhook_media::pump::{Counted, Latch};
use offhook_media::sdp::{self, Direction, Local, Offer};
use parking_lot::Mutex;

use self::leg::Leg;
use crate::call::{CallControl, SipCall};
use crate::endpoint::{CallError, Invite, SipTrunks};
use crate::inbound::{Incoming, Refusal};
use crate::saved::EndError;

/// Addresses and ports of the calls' audio.
#[derive(Debug, Clone)]
pub struct SoundSettings {
    /// The local address of the sockets.
    pub bind: IpAddr,
    /// The address in session descriptions, if the host is behind NAT.
    pub external: Option<IpAddr>,
    /// The ports for calls.
    pub ports: Ports,
    /// Which packets belong to a call.
    pub latch: Latch,
}

/// Places and answers calls with audio on one trunk.
pub struct SipCarrier {
    trunks: Arc<SipTrunks>,
    trunk: String,
    sound: SoundSettings,
    live: Live,
    counted: Arc<Mutex<Counted>>,
}

/// The calls in progress.
type Live = Arc<Mutex<HashMap<CallHandle, CallControl>>>;

impl std::fmt::Debug for SipCarrier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SipCarrier({})", self.trunk)
    }
}

/// Why an incoming call was not answered. It was rejected.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    /// The caller's offer is unacceptable.
    #[error(transparent)]
    Offer(#[from] sdp::Refusal),
    /// No socket for the audio.
    #[error(transparent)]
    Port(#[from] PortError),
}

#[boxed]
impl SipCarrier {
    /// Creates a carrier for the trunk of this name. Returns [`CallError::UnknownTrunk`] if it does not exist.
    pub fn new(
        trunks: Arc<SipTrunks>,
        trunk: &str,
        sound: SoundSettings,
    ) -> Result<Self, CallError> {
        trunks.is_down(trunk)?;
        Ok(Self {
            trunks,
            trunk: trunk.to_owned(),
            sound,
            live: Live::default(),
            counted: Arc::default(),
        })
    }

    /// Returns the audio counters of all finished calls, both directions.
    #[must_use]
    pub fn counted(&self) -> Counted {
        *self.counted.lock()
    }

    /// Answers an incoming call, or rejects it if its audio cannot be carried; [`AnswerError`] says why.
    pub async fn answer(&self, incoming: Incoming) -> Result<AudioLeg, AnswerError> {
        let offer = match &incoming.offer {
            None => None,
            Some(offer) => match Offer::read(offer.as_bytes()) {
                Ok(offer) => Some(offer),
                Err(refusal) => {
                    incoming.refuse(Refusal::NotAcceptable);
                    return Err(refusal.into());
                }
            },
        };
        let socket = match self.socket().await {
            Ok(socket) => socket,
            Err(error) => {
                incoming.refuse(Refusal::Unavailable);
                return Err(error.into());
            }
        };
        let local = self.local(&socket);
        let answer = offer.as_ref().map_or_else(
            || sdp::offer(&local, Direction::SendRecv),
            |offer| offer.answer(&local),
        );
        let call = incoming.answer(answer);
        let mut leg = self.leg(call, socket, local);
        leg.came_in = true;
        leg.set_remote(offer.map(|offer| offer.remote));
        Ok(leg.start(|| {}))
    }

    fn leg(&self, call: SipCall, socket: CallSocket, local: Local) -> Leg {
        let counted = Arc::clone(&self.counted);
        Leg::new(call, socket, local, self.sound.latch, counted)
    }

    async fn socket(&self) -> Result<CallSocket, PortError> {
        self.sound.ports.open(self.sound.bind).await
    }

    fn local(&self, socket: &CallSocket) -> Local {
        Local {
            address: self.sound.external.unwrap_or(self.sound.bind),
            port: socket.port(),
            // Some parsers read the number as signed.
            session: RandomState::new().build_hasher().finish() >> 1,
            version: 1,
        }
    }
}

#[async_trait]
impl AudioCarrier for SipCarrier {
    async fn dial(&self, request: DialRequest) -> Result<AudioLeg, DialError> {
        // Nothing was sent, and a port may become free soon.
        let socket = self.socket().await.map_err(|error| {
            tracing::warn!(trunk = self.trunk, %error, "no socket for a call");
            DialError::NotConnected
        })?;
        let local = self.local(&socket);
        let handle = request.handle;
        let invite = Invite {
            handle,
            from: request.from,
            to: request.to,
            offer: sdp::offer(&local, Direction::SendRecv),
        };
        let call = self
            .trunks
            .call(&self.trunk, invite)
            .await
            .map_err(|error| match error {
                CallError::NotConnected { .. } => DialError::NotConnected,
                CallError::UnknownTrunk(_) | CallError::Malformed(_) => {
                    DialError::Refused(FailureReason::CarrierError)
                }
            })?;
        self.live.lock().insert(handle, call.control());
        let live = Arc::clone(&self.live);
        let leg = self.leg(call, socket, local);
        Ok(leg.start(move || {
            live.lock().remove(&handle);
        }))
    }

    /// Only this process's calls are known. An unanswered call of another process ends by the carrier's own timeouts,
    /// because we no longer send anything.
    async fn hang_up_orphan(&self, handle: CallHandle) -> Result<(), DialError> {
        let control = self.live.lock().get(&handle).cloned();
        if let Some(control) = control {
            control.hang_up().await;
        }
        Ok(())
    }

    fn dialog(&self, handle: CallHandle) -> Option<String> {
        let control = self.live.lock().get(&handle).cloned();
        control.map(|control| control.saved())
    }

    async fn hang_up_dialog(&self, handle: CallHandle, dialog: &str) -> Result<(), DialError> {
        if self.live.lock().contains_key(&handle) {
            return self.hang_up_orphan(handle).await;
        }
        match self.trunks.end_dialog(dialog).await {
            Ok(()) => Ok(()),
            Err(EndError::NotConnected) => Err(DialError::NotConnected),
            Err(EndError::Unconfirmed) => Err(DialError::Unknown),
            Err(error @ EndError::Unreadable) => {
                tracing::warn!(%handle, %error, "a call that was left behind cannot be ended");
                Err(DialError::Refused(FailureReason::CarrierError))
            }
        }
    }

    fn is_down(&self) -> bool {
        self.trunks.is_down(&self.trunk).unwrap_or(false)
    }
}
