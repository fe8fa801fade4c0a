//! The simulated network in this process.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use offhook_domain::{CallHandle, E164, FailureReason, NodeId};
use offhook_engine::ports::{
    Carrier, DialError, DialRequest, Leg, LegEvent, Line, LineError, Spoken,
};
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};

use crate::simulator::numbers::{self, Behaviour, SHARED_NUMBER};
use crate::simulator::pace::Pace;
use crate::simulator::person::{Command, Person};

/// Dials, transfers and digits kept at most; the oldest are dropped first.
const REMEMBERED: usize = 10_000;

/// Events that may wait for the session.
const EVENTS_WAITING: usize = 8;

/// A phone network of scripted people, in this process. Clones share the network.
#[derive(Clone)]
pub struct Simulator(Arc<Exchange>);

/// A call that was placed on the network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dial {
    /// The caller's reference.
    pub handle: CallHandle,
    /// The called number.
    pub to: E164,
    /// The node that placed the call.
    pub node: NodeId,
}

impl Simulator {
    /// A network whose people are `speed` times faster than real time.
    pub fn new(speed: f64) -> Self {
        Self(Exchange::new(speed))
    }

    /// The dials so far, in order, including repeated dials of a handle. Only the last 10,000 are kept.
    pub fn dials(&self) -> Vec<Dial> {
        self.0.dials.lock().iter().cloned().collect()
    }

    /// The transfers so far, in order. Only the last 10,000 are kept.
    pub fn transfers(&self) -> Vec<(CallHandle, E164)> {
        self.0.transfers.lock().iter().cloned().collect()
    }

    /// The tones sent so far, in order. Only the last 10,000 are kept.
    pub fn digits(&self) -> Vec<(CallHandle, String)> {
        self.0.digits.lock().iter().cloned().collect()
    }

    /// The number of calls in progress.
    pub fn live(&self) -> usize {
        self.0.live().len()
    }
}

#[async_trait]
impl Carrier for Simulator {
    async fn dial(&self, request: DialRequest) -> Result<Leg, DialError> {
        if Behaviour::of(&request.to) == Behaviour::Unreachable {
            return Err(DialError::NotConnected);
        }
        let (events, commands) = self.0.dial(&request);
        Ok(Leg {
            events,
            line: Box::new(LocalLine {
                exchange: Arc::clone(&self.0),
                handle: request.handle,
                commands,
                said: AtomicU64::new(0),
            }),
            speed: self.0.pace.speed(),
        })
    }

    async fn hang_up_orphan(&self, handle: CallHandle) -> Result<(), DialError> {
        self.0.command(handle, Command::HangUp);
        Ok(())
    }

    fn shared_number(&self) -> Option<E164> {
        SHARED_NUMBER.parse().ok()
    }

    async fn numbers(&self, credential: &str) -> Result<Vec<E164>, DialError> {
        numbers::of_credential(credential).ok_or(DialError::Refused(FailureReason::CarrierError))
    }

    fn gives(&self, number: &E164) -> bool {
        numbers::are_given(number)
    }
}

/// The calls of a network.
pub(crate) struct Exchange {
    pub(crate) pace: Pace,
    calls: Mutex<HashMap<CallHandle, mpsc::UnboundedSender<Command>>>,
    dials: Mutex<VecDeque<Dial>>,
    transfers: Mutex<VecDeque<(CallHandle, E164)>>,
    digits: Mutex<VecDeque<(CallHandle, String)>>,
}

impl Exchange {
    pub(crate) fn new(speed: f64) -> Arc<Self> {
        Arc::new(Self {
            pace: Pace::new(speed),
            calls: Mutex::default(),
            dials: Mutex::default(),
            transfers: Mutex::default(),
            digits: Mutex::default(),
        })
    }

    /// Places a call. Dialing a handle again places another call.
    pub(crate) fn dial(
        self: &Arc<Self>,
        request: &DialRequest,
    ) -> (mpsc::Receiver<LegEvent>, mpsc::UnboundedSender<Command>) {
        self.remember(request);
        let (commands, inbox) = mpsc::unbounded_channel();
        let (outbox, events) = mpsc::channel(EVENTS_WAITING);
        let handle = request.handle;
        self.calls.lock().insert(handle, commands.clone());
        let person = Person::new(inbox, outbox, self.pace).live(Behaviour::of(&request.to));
        let (exchange, line) = (Arc::clone(self), commands.downgrade());
        tokio::spawn(async move {
            person.await;
            let mut calls = exchange.calls.lock();
            let same = |known: &mpsc::UnboundedSender<Command>| {
                line.upgrade().is_some_and(|line| line.same_channel(known))
            };
            if calls.get(&handle).is_some_and(same) {
                calls.remove(&handle);
            }
        });
        (events, commands)
    }

    /// Sends a command to a call. `false` if the call does not exist.
    pub(crate) fn command(&self, handle: CallHandle, command: Command) -> bool {
        self.call(handle)
            .is_some_and(|call| call.send(command).is_ok())
    }

    pub(crate) fn live(&self) -> Vec<CallHandle> {
        self.calls.lock().keys().copied().collect()
    }

    /// Transfers a call's person to `to`.
    pub(crate) fn transfer(
        &self,
        call: &mpsc::UnboundedSender<Command>,
        handle: CallHandle,
        to: E164,
    ) -> Result<(), LineError> {
        call.send(Command::Transfer).map_err(|_| LineError::Gone)?;
        tracing::info!(call = %handle, "a simulated call was transferred");
        remember(&self.transfers, (handle, to));
        Ok(())
    }

    /// Sends tones to a call's person.
    pub(crate) fn send_digits(
        &self,
        call: &mpsc::UnboundedSender<Command>,
        handle: CallHandle,
        digits: String,
    ) -> Result<(), LineError> {
        call.send(Command::Digits).map_err(|_| LineError::Gone)?;
        tracing::info!(call = %handle, "a simulated call was sent digits");
        remember(&self.digits, (handle, digits));
        Ok(())
    }

    /// The command channel of a call in progress.
    pub(crate) fn call(&self, handle: CallHandle) -> Option<mpsc::UnboundedSender<Command>> {
        self.calls.lock().get(&handle).cloned()
    }

    fn remember(&self, request: &DialRequest) {
        let dial = Dial {
            handle: request.handle,
            to: request.to.clone(),
            node: request.node,
        };
        remember(&self.dials, dial);
    }
}

fn remember<T>(list: &Mutex<VecDeque<T>>, new: T) {
    let mut list = list.lock();
    if list.len() >= REMEMBERED {
        list.pop_front();
    }
    list.push_back(new);
}

/// The line of a call in this process.
struct LocalLine {
    exchange: Arc<Exchange>,
    handle: CallHandle,
    commands: mpsc::UnboundedSender<Command>,
    said: AtomicU64,
}

#[async_trait]
impl Line for LocalLine {
    async fn say(&self, text: &str) -> Spoken {
        let (done, spoken) = oneshot::channel();
        let command = Command::Say {
            id: self.said.fetch_add(1, Ordering::Relaxed) + 1,
            text: text.to_owned(),
            done: Box::new(|spoken| drop(done.send(spoken))),
        };
        if self.commands.send(command).is_err() {
            return Spoken::default();
        }
        spoken.await.unwrap_or_default()
    }

    fn stop_speaking(&self) {
        let id = self.said.load(Ordering::Relaxed);
        let _ = self.commands.send(Command::Stop { id });
    }

    async fn transfer(&self, to: &E164) -> Result<(), LineError> {
        self.exchange
            .transfer(&self.commands, self.handle, to.clone())
    }

    async fn send_digits(&self, digits: &str) -> Result<(), LineError> {
        self.exchange
            .send_digits(&self.commands, self.handle, digits.to_owned())
    }

    async fn hang_up(&self) {
        let _ = self.commands.send(Command::HangUp);
    }
}

impl Drop for LocalLine {
    fn drop(&mut self) {
        let _ = self.commands.send(Command::HangUp);
    }
}
