//! A telephone: a SIP user agent over UDP with its own audio, on loopback. It shares no code with the service's
//! signaling, so that each proves the other. It only misbehaves where a test asks for it.

mod dialog;
mod message;
mod sound;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::net::UdpSocket;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use self::dialog::Dialog;
use self::message::Message;
pub use self::sound::{Utterance, Weather};
use crate::wait::{eventually, must, within};

/// How long the other side may take for anything, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(40);

/// A telephone; dropping it disconnects it.
pub struct Phone {
    exchange: Arc<Exchange>,
    ringing: tokio::sync::Mutex<mpsc::UnboundedReceiver<Arc<Dialog>>>,
    task: JoinHandle<()>,
}

/// The state that all calls of a phone share.
struct Exchange {
    socket: UdpSocket,
    address: SocketAddr,
    calls: Mutex<HashMap<String, Arc<Dialog>>>,
    ringing: mpsc::UnboundedSender<Arc<Dialog>>,
    is_deaf: AtomicBool,
    numbers: AtomicU32,
}

impl Phone {
    /// A phone on a free port.
    pub async fn start() -> Self {
        let socket = must("a phone's socket", UdpSocket::bind("127.0.0.1:0").await);
        let (ringing, calls) = mpsc::unbounded_channel();
        let exchange = Arc::new(Exchange {
            address: must("a phone's address", socket.local_addr()),
            socket,
            calls: Mutex::default(),
            ringing,
            is_deaf: AtomicBool::new(false),
            numbers: AtomicU32::new(1),
        });
        let task = tokio::spawn(Arc::clone(&exchange).listen());
        Self {
            exchange,
            ringing: tokio::sync::Mutex::new(calls),
            task,
        }
    }

    /// Its address, for a trunk's `server`.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.exchange.address
    }

    /// Makes the phone ignore all messages, or respond again.
    pub fn set_deaf(&self, deaf: bool) {
        self.exchange.is_deaf.store(deaf, Ordering::Relaxed);
    }

    /// The next incoming call. It does not ring yet.
    ///
    /// # Panics
    /// If none comes.
    pub async fn is_called(&self) -> PhoneCall {
        let mut ringing = self.ringing.lock().await;
        match within("a call to the phone", PATIENCE, ringing.recv()).await {
            Some(dialog) => PhoneCall(dialog),
            None => panic!("the phone is unplugged"),
        }
    }

    /// The next incoming call, answered after a ring, and confirmed.
    pub async fn answers(&self) -> PhoneCall {
        let call = self.is_called().await;
        call.ring().await;
        call.answer().await;
        call.is_confirmed().await;
        call
    }

    /// The number of incoming calls so far.
    #[must_use]
    pub fn calls(&self) -> usize {
        lock(&self.exchange.calls).len()
    }

    /// Calls `to` at a server, as `from`.
    pub async fn call(&self, server: SocketAddr, from: &str, to: &str) -> PhoneCall {
        let number = self.exchange.number();
        let id = format!("{number}-{}@phone", self.exchange.address.port());
        let us = self.exchange.address;
        let dialog = Dialog::calling(
            &self.exchange,
            server,
            &id,
            format!("<sip:{from}@{us}>;tag=phone{number}"),
            format!("<sip:{to}@{server}>"),
            format!("sip:{to}@{server}"),
        )
        .await;
        lock(&self.exchange.calls).insert(id, Arc::clone(&dialog));
        dialog.invite().await;
        PhoneCall(dialog)
    }
}

impl Drop for Phone {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Exchange {
    async fn listen(self: Arc<Self>) {
        let mut datagram = vec![0; 65_536];
        loop {
            // An error reports a closed port at an earlier destination.
            let Ok((length, from)) = self.socket.recv_from(&mut datagram).await else {
                continue;
            };
            if self.is_deaf.load(Ordering::Relaxed) {
                continue;
            }
            if let Some(message) = Message::read(datagram.get(..length).unwrap_or_default()) {
                self.take(message, from).await;
            }
        }
    }

    async fn take(self: &Arc<Self>, message: Message, from: SocketAddr) {
        let known = lock(&self.calls).get(message.call_id()).cloned();
        match (known, message.method()) {
            (Some(dialog), _) => dialog.take(message, from).await,
            (None, Some("INVITE")) => {
                let dialog = Dialog::called(self, from, message).await;
                lock(&self.calls).insert(dialog.id().to_owned(), Arc::clone(&dialog));
                let _ = self.ringing.send(dialog);
            }
            (None, Some("OPTIONS")) => {
                let answer = message.answer("200 OK", "phone", &self.contact(), "");
                self.send(from, &answer).await;
            }
            (None, Some(method)) if method != "ACK" => {
                let status = "481 Call/Transaction Does Not Exist";
                let answer = message.answer(status, "phone", &self.contact(), "");
                self.send(from, &answer).await;
            }
            _ => {}
        }
    }

    async fn send(&self, to: SocketAddr, message: &str) {
        // The peer may be gone.
        let _ = self.socket.send_to(message.as_bytes(), to).await;
    }

    fn contact(&self) -> String {
        format!("sip:phone@{}", self.address)
    }

    fn number(&self) -> u32 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }
}

pub struct PhoneCall(Arc<Dialog>);

impl PhoneCall {
    /// The called number.
    #[must_use]
    pub fn to(&self) -> String {
        user_of(self.0.invitation().address("To")).to_owned()
    }

    /// The calling number.
    #[must_use]
    pub fn from(&self) -> String {
        user_of(self.0.invitation().address("From")).to_owned()
    }

    /// The Call-ID up to its `@`.
    #[must_use]
    pub fn handle(&self) -> String {
        self.0.id().split('@').next().unwrap_or_default().to_owned()
    }

    pub async fn ring(&self) {
        self.0.reply("180 Ringing", "").await;
    }

    /// Answers, and repeats the answer until it is confirmed.
    pub async fn answer(&self) {
        self.0.answer().await;
    }

    /// Waits for the confirmation of our answer.
    pub async fn is_confirmed(&self) {
        self.until("the confirmation of an answer", |dialog| {
            dialog.state().is_confirmed
        })
        .await;
    }

    /// Refuses the call, such as with `486 Busy Here`.
    pub async fn refuse(&self, status: &str) {
        self.0.refuse(status).await;
    }

    /// Waits for the answer to our call; fails with the status code of a refusal.
    pub async fn is_answered(&self) -> Result<(), u16> {
        let status = eventually("the answer to a call", PATIENCE, || async {
            self.0.answer_to(self.0.invite_number())
        })
        .await;
        if status == 200 { Ok(()) } else { Err(status) }
    }

    /// Cancels a call that is not answered yet.
    pub async fn cancel(&self) {
        self.0.cancel().await;
    }

    /// Hangs up, and waits for the other side's confirmation.
    pub async fn hang_up(&self) {
        self.0.request("BYE", "", "").await;
        self.0.state().has_ended = true;
        self.0.sound.end();
    }

    /// Puts the other side on hold.
    pub async fn hold(&self) {
        self.0.describe_anew("sendonly").await;
    }

    /// Takes the other side off hold.
    pub async fn resume(&self) {
        self.0.describe_anew("sendrecv").await;
    }

    /// The destination of a requested transfer, as the request wrote it.
    #[must_use]
    pub fn transferred_to(&self) -> Option<String> {
        let state = self.0.state();
        let mut requests = state.requests.iter();
        let refer = requests.find(|request| request.method() == Some("REFER"))?;
        Some(user_of(refer.address("Refer-To")).to_owned())
    }

    /// Whether the caller cancelled before an answer.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.state().is_cancelled
    }

    /// Waits until the caller cancels.
    pub async fn gives_up(&self) {
        self.until("the caller's giving up", |dialog| {
            dialog.state().is_cancelled
        })
        .await;
    }

    /// Whether the call is over, ended by either side.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.0.state().has_ended
    }

    /// Waits for the other side to hang up.
    pub async fn ends(&self) {
        self.until("the end of a call", |dialog| dialog.state().has_ended)
            .await;
    }

    /// Sets the packet loss and jitter of our packets.
    pub fn weather(&self, weather: Weather) {
        self.0.sound.set_weather(weather);
    }

    /// Queues audio to play after the current audio.
    pub fn say(&self, samples: &[i16]) {
        self.0.sound.say(samples);
    }

    /// Plays audio to its end.
    pub async fn says(&self, samples: &[i16]) {
        self.0.sound.say(samples);
        self.0.sound.is_said().await;
    }

    /// Presses keys one after another; `w` is a pause of half a second.
    pub async fn press(&self, keys: &str) {
        self.0.sound.press(keys);
        self.0.sound.is_said().await;
    }

    /// The keys received as telephone-events.
    #[must_use]
    pub fn keys(&self) -> String {
        self.0.sound.keys()
    }

    /// The other side's next utterance, to its end.
    pub async fn hears(&self) -> Utterance {
        self.0.sound.utterance().await
    }

    /// Waits until `packets` packets of 20 ms with new sound have arrived; returns when the sound began.
    /// [`hears`](Self::hears) still returns all of it.
    pub async fn hears_beginning(&self, packets: usize) -> Instant {
        self.0.sound.begins(packets).await
    }

    async fn until(&self, what: &str, holds: impl Fn(&Dialog) -> bool) {
        eventually(what, PATIENCE, || async { holds(&self.0).then_some(()) }).await;
    }
}

/// The part of an address before its `@`.
fn user_of(address: &str) -> &str {
    let rest = address.strip_prefix("sip:").unwrap_or(address);
    rest.split('@').next().unwrap_or_default()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
