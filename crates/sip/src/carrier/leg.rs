//! One call's leg: its signaling events and its audio.

use futures_util::FutureExt as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use offhook_domain::FailureReason;
use offhook_engine::ports::audio::{AudioEvent, AudioLeg, TICKS_AHEAD, Tick};
use offhook_media::playout::Speaker;
use offhook_media::ports::CallSocket;
use offhook_media::pump::{Counted, Latch, Negotiated, Pump};
use offhook_media::sdp::{self, Local, Offer, Remote};
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tracing::warn;

use super::line::{Line, Sound, SpeechInput};
use crate::call::{Reply, SipCall, SipEvent};

/// Events that may wait for the engine. An engine that lets more pile up is gone, and its call ends.
const EVENTS_WAITING: usize = 256;

/// The state of a leg's task.
pub(super) struct Leg {
    call: SipCall,
    socket: Option<CallSocket>,
    local: Local,
    latch: Latch,
    /// The other side's session description, once known.
    remote: Option<Remote>,
    sound: Arc<Sound>,
    held: bool,
    rang: bool,
    /// Receives the pump's counters at the end of the call.
    counted: Arc<Mutex<Counted>>,
    /// The call is incoming.
    pub(super) came_in: bool,
}

/// The channels from the leg to the engine.
struct Ends {
    events: mpsc::Sender<AudioEvent>,
    ticks: mpsc::Sender<Tick>,
    speaker: Speaker,
}

impl Leg {
    pub(super) fn new(
        call: SipCall,
        socket: CallSocket,
        local: Local,
        latch: Latch,
        counted: Arc<Mutex<Counted>>,
    ) -> Self {
        Self {
            call,
            socket: Some(socket),
            local,
            latch,
            remote: None,
            sound: Arc::default(),
            held: false,
            rang: false,
            counted,
            came_in: false,
        }
    }

    /// Sets the other side's session description that is already known.
    pub(super) fn set_remote(&mut self, remote: Option<Remote>) {
        self.remote = remote;
    }

    /// Starts the leg's task, which calls `ended` at the end.
    pub(super) fn start(self, ended: impl FnOnce() + Send + 'static) -> AudioLeg {
        let (events, told) = mpsc::channel(EVENTS_WAITING);
        let (ticks, heard) = mpsc::channel(TICKS_AHEAD);
        let (speaker, played) = Speaker::new();
        let leg = AudioLeg {
            events: told,
            ticks: heard,
            played,
            playout: Arc::new(speaker.clone()),
            signalling: Arc::new(Line {
                control: self.call.control(),
                sound: Arc::clone(&self.sound),
            }),
        };
        let ends = Ends {
            events,
            ticks,
            speaker,
        };
        tokio::spawn(
            async move {
                self.run(ends).await;
                ended();
            }
            .boxed(),
        );
        leg
    }

    async fn run(mut self, ends: Ends) {
        let (keys, mut pressed) = mpsc::unbounded_channel();
        loop {
            let event = tokio::select! {
                event = self.call.next() => match event {
                    Some(event) => self.translate(event, &ends, &keys),
                    None => break,
                },
                Some(key) = pressed.recv() => vec![AudioEvent::Dtmf(key)],
                () = ends.events.closed() => break,
            };
            let mut over = false;
            for event in event {
                over |= matches!(event, AudioEvent::Hangup | AudioEvent::Failed(_));
                over |= ends.events.try_send(event).is_err();
            }
            if over {
                break;
            }
        }
        // The socket is closed with the pump; dropping the call ends it if it still goes on.
        if let Some(pump) = self.sound.pump.lock().take() {
            self.counted.lock().merge(&pump.counted());
        }
    }

    fn translate(
        &mut self,
        event: SipEvent,
        ends: &Ends,
        keys: &mpsc::UnboundedSender<char>,
    ) -> Vec<AudioEvent> {
        match event {
            SipEvent::Provisional { code, sdp } => self.provisional(code, sdp.as_deref()),
            SipEvent::Answered { sdp } => match self.answered(sdp.as_deref(), ends, keys) {
                Ok(()) => vec![AudioEvent::Answered],
                Err(fault) => {
                    warn!(fault, "an answered call has no sound and is ended");
                    vec![AudioEvent::Failed(FailureReason::CarrierError)]
                }
            },
            SipEvent::Renegotiated { offer, reply } => self.renegotiated(&offer, reply),
            // If keys come as telephone-events, an INFO only repeats the same key.
            SipEvent::Digit(_) if self.sound.takes_keys.load(Ordering::Relaxed) => Vec::new(),
            SipEvent::Digit(key) => vec![AudioEvent::Dtmf(key)],
            // A caller who gave up before our answer was not rejected.
            SipEvent::Hangup if self.came_in && self.socket.is_some() => {
                vec![AudioEvent::Failed(FailureReason::Cancelled)]
            }
            SipEvent::Hangup => vec![AudioEvent::Hangup],
            SipEvent::Failed(failure) => {
                let status = failure.code.map(AudioEvent::Status);
                status
                    .into_iter()
                    .chain([AudioEvent::Failed(failure.reason)])
                    .collect()
            }
        }
    }

    fn provisional(&mut self, code: u16, sdp: Option<&str>) -> Vec<AudioEvent> {
        let mut events = Vec::new();
        let early = sdp.and_then(|sdp| sdp::read_answer(sdp.as_bytes()).ok());
        if !self.rang && (code != 183 || early.is_none()) {
            self.rang = true;
            events.push(AudioEvent::Ringing);
        }
        if early.is_some() {
            // Many carriers describe their media here, and not again in the answer.
            self.remote = early;
            events.push(AudioEvent::EarlyMedia);
        }
        events
    }

    /// Starts the audio.
    fn answered(
        &mut self,
        sdp: Option<&str>,
        ends: &Ends,
        keys: &mpsc::UnboundedSender<char>,
    ) -> Result<(), String> {
        if let Some(sdp) = sdp {
            let answer = sdp::read_answer(sdp.as_bytes());
            self.remote = Some(answer.map_err(|refusal| refusal.to_string())?);
        }
        let remote = self
            .remote
            .as_ref()
            .ok_or("the answer describes no sound")?;
        let socket = self.socket.take().ok_or("it was answered twice")?;
        let negotiated = Negotiated::new(remote);
        let takes_keys = negotiated.event.is_some();
        self.sound.takes_keys.store(takes_keys, Ordering::Relaxed);
        self.held = remote.is_on_hold();
        let ear = SpeechInput {
            ticks: ends.ticks.clone(),
            keys: keys.clone(),
        };
        let pump = Pump::start(socket, negotiated, self.latch, ends.speaker.clone(), ear)
            .map_err(|error| error.to_string())?;
        *self.sound.pump.lock() = Some(pump);
        Ok(())
    }

    /// The other side offers a new session. An unacceptable offer is rejected, and the call goes on unchanged.
    fn renegotiated(&mut self, offer: &str, reply: Reply) -> Vec<AudioEvent> {
        let offer = match Offer::read(offer.as_bytes()) {
            Ok(offer) => offer,
            Err(refusal) => {
                warn!(%refusal, "an offer in a call is refused");
                return Vec::new();
            }
        };
        self.local.version += 1;
        reply.answer(offer.answer(&self.local));
        let negotiated = Negotiated::new(&offer.remote);
        let takes_keys = negotiated.event.is_some();
        self.sound.takes_keys.store(takes_keys, Ordering::Relaxed);
        if let Some(pump) = &*self.sound.pump.lock() {
            pump.renegotiate(negotiated);
        }
        let holds = offer.remote.is_on_hold();
        if std::mem::replace(&mut self.held, holds) == holds {
            return Vec::new();
        }
        vec![AudioEvent::Hold(holds)]
    }
}
