//! One call of a phone: its requests and responses (RFC 3261 §12 to §15).

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use super::message::{Message, with_body};
use super::sound::Sound;
use super::{Exchange, PATIENCE, lock};

/// T1 of RFC 3261 §17.
const T1: Duration = Duration::from_millis(500);

/// How often a message without a response is repeated.
const REPEATS: u32 = 40;

pub(super) struct Dialog {
    exchange: Arc<Exchange>,
    id: String,
    /// Our side, as our requests name it.
    local: String,
    tag: String,
    pub(super) sound: Sound,
    state: Mutex<State>,
}

pub(super) struct State {
    /// The request that began the call.
    invite: Option<Message>,
    /// Its CSeq number, if it is ours.
    invite_number: u32,
    peer: SocketAddr,
    /// The other side, as our requests name it.
    remote: String,
    /// The target of our requests in the call.
    target: String,
    number: u32,
    version: u32,
    /// Our last response to the request that began the call.
    reply: Option<String>,
    pub(super) is_confirmed: bool,
    pub(super) is_cancelled: bool,
    pub(super) has_ended: bool,
    /// Final responses to our requests, by CSeq number.
    answers: Vec<(u32, u16)>,
    pub(super) requests: Vec<Message>,
}

impl Dialog {
    /// An incoming call.
    pub(super) async fn called(
        exchange: &Arc<Exchange>,
        peer: SocketAddr,
        invite: Message,
    ) -> Arc<Self> {
        let tag = format!("phone{}", exchange.number());
        let sound = Sound::open().await;
        sound.meet(invite.body());
        let dialog = Arc::new(Self {
            exchange: Arc::clone(exchange),
            id: invite.call_id().to_owned(),
            local: format!("{};tag={tag}", invite.header("To")),
            tag,
            sound,
            state: Mutex::new(State {
                remote: invite.header("From").to_owned(),
                target: invite.address("Contact").to_owned(),
                ..State::new(peer)
            }),
        });
        dialog.state().invite = Some(invite);
        dialog.reply("100 Trying", "").await;
        dialog
    }

    /// An outgoing call.
    pub(super) async fn calling(
        exchange: &Arc<Exchange>,
        peer: SocketAddr,
        id: &str,
        local: String,
        remote: String,
        target: String,
    ) -> Arc<Self> {
        Arc::new(Self {
            exchange: Arc::clone(exchange),
            id: id.to_owned(),
            local,
            tag: String::new(),
            sound: Sound::open().await,
            state: Mutex::new(State {
                remote,
                target,
                ..State::new(peer)
            }),
        })
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// The request that began an incoming call.
    pub(super) fn invitation(&self) -> Message {
        match &self.state().invite {
            Some(invite) => invite.clone(),
            None => panic!("it was the phone that called"),
        }
    }

    pub(super) fn invite_number(&self) -> u32 {
        self.state().invite_number
    }

    /// The final response to our request with this number, once there is one.
    pub(super) fn answer_to(&self, number: u32) -> Option<u16> {
        let state = self.state();
        let mut answers = state.answers.iter();
        answers
            .find(|(of, _)| *of == number)
            .map(|(_, status)| *status)
    }

    /// Responds to the request that began the call.
    pub(super) async fn reply(&self, status: &str, body: &str) {
        let contact = self.exchange.contact();
        let (peer, reply) = {
            let mut state = self.state();
            let Some(invite) = &state.invite else { return };
            let reply = invite.answer(status, &self.tag, &contact, body);
            state.reply = Some(reply.clone());
            (state.peer, reply)
        };
        self.exchange.send(peer, &reply).await;
    }

    pub(super) async fn answer(self: &Arc<Self>) {
        let body = self.sound.description(1, "sendrecv");
        self.reply("200 OK", &body).await;
        self.sound.begin();
        self.repeat_reply();
    }

    pub(super) async fn refuse(self: &Arc<Self>, status: &str) {
        self.reply(status, "").await;
        self.repeat_reply();
    }

    /// Repeats the response until it is confirmed (RFC 3261 §13.3.1.4).
    fn repeat_reply(self: &Arc<Self>) {
        let dialog = Arc::clone(self);
        tokio::spawn(async move {
            for _ in 0..REPEATS {
                tokio::time::sleep(T1).await;
                let (peer, reply) = {
                    let state = dialog.state();
                    if state.is_confirmed || state.has_ended {
                        return;
                    }
                    (state.peer, state.reply.clone())
                };
                if let Some(reply) = reply {
                    dialog.exchange.send(peer, &reply).await;
                }
            }
        });
    }

    /// Sends the request that begins the call, until a response arrives.
    pub(super) async fn invite(self: &Arc<Self>) {
        let body = self.sound.description(1, "sendrecv");
        let number = self.next_number();
        self.state().invite_number = number;
        let invite = self.wire("INVITE", number, "", &body);
        let peer = self.state().peer;
        self.exchange.send(peer, &invite).await;
        self.state().invite = Message::read(invite.as_bytes());
        let dialog = Arc::clone(self);
        tokio::spawn(async move {
            for _ in 0..REPEATS {
                tokio::time::sleep(T1).await;
                if dialog.state().reply.is_some() || dialog.answer_to(number).is_some() {
                    return;
                }
                dialog.exchange.send(peer, &invite).await;
            }
        });
    }

    pub(super) async fn cancel(&self) {
        let (number, peer) = {
            let state = self.state();
            (state.invite_number, state.peer)
        };
        let cancel = self.wire("CANCEL", number, "", "");
        self.exchange.send(peer, &cancel).await;
    }

    /// Sends a request within the call until it has a response; returns the status code.
    pub(super) async fn request(&self, method: &str, headers: &str, body: &str) -> u16 {
        let number = self.next_number();
        let request = self.wire(method, number, headers, body);
        let began = tokio::time::Instant::now();
        loop {
            let peer = self.state().peer;
            self.exchange.send(peer, &request).await;
            let again = tokio::time::Instant::now() + T1;
            while tokio::time::Instant::now() < again {
                if let Some(status) = self.answer_to(number) {
                    return status;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            assert!(began.elapsed() < PATIENCE, "no answer to {method}");
        }
    }

    /// Offers the same audio with another direction.
    pub(super) async fn describe_anew(&self, direction: &str) {
        let version = {
            let mut state = self.state();
            state.version += 1;
            state.version
        };
        let body = self.sound.description(version, direction);
        let status = self.request("INVITE", "", &body).await;
        assert_eq!(status, 200, "an offer of {direction}");
    }

    /// Handles a message at once.
    pub(super) async fn take(self: &Arc<Self>, message: Message, from: SocketAddr) {
        match message.method() {
            Some(method) => self.take_request(method, &message, from).await,
            None => self.take_answer(&message, from).await,
        }
    }

    async fn take_request(self: &Arc<Self>, method: &str, message: &Message, from: SocketAddr) {
        let is_new = {
            let mut state = self.state();
            let same = |old: &&Message| old.cseq() == message.cseq();
            let is_new = state.requests.iter().find(same).is_none();
            if is_new {
                state.requests.push(message.clone());
            }
            is_new
        };
        let mut body = String::new();
        let status = match method {
            "ACK" => return self.take_ack(),
            "INVITE" if message.tag("To").is_none() => {
                let reply = self.state().reply.clone();
                return self.exchange.send(from, &reply.unwrap_or_default()).await;
            }
            "CANCEL" => "200 OK",
            "BYE" => {
                self.state().has_ended = true;
                self.sound.end();
                "200 OK"
            }
            "REFER" => "202 Accepted",
            "INVITE" => {
                self.sound.meet(message.body());
                body = self.sound.description(2, "sendrecv");
                "200 OK"
            }
            _ => "200 OK",
        };
        let contact = self.exchange.contact();
        let answer = message.answer(status, &self.tag, &contact, &body);
        self.exchange.send(from, &answer).await;
        if !is_new {
            return;
        }
        match method {
            // A CANCEL that crosses the answer has no effect.
            "CANCEL" if !self.state().has_replied() => {
                self.state().is_cancelled = true;
                self.refuse("487 Request Terminated").await;
            }
            "REFER" => {
                let dialog = Arc::clone(self);
                tokio::spawn(async move { dialog.notify().await });
            }
            _ => {}
        }
    }

    fn take_ack(&self) {
        let mut state = self.state();
        state.is_confirmed = true;
        // A cancelled or refused call gets no more messages.
        state.has_ended |= state.is_cancelled;
    }

    async fn take_answer(&self, message: &Message, from: SocketAddr) {
        let ((number, method), Some(status)) = (message.cseq(), message.status()) else {
            return;
        };
        let is_first = {
            let mut state = self.state();
            if status < 200 {
                state.reply.get_or_insert_default();
                return;
            }
            let is_first = state.answers.iter().all(|(of, _)| *of != number) && method != "CANCEL";
            if is_first {
                state.answers.push((number, status));
            }
            if status == 200 && method == "INVITE" {
                state.remote = message.header("To").to_owned();
                let target = message.address("Contact");
                if !target.is_empty() {
                    state.target = target.to_owned();
                }
            }
            is_first
        };
        if method != "INVITE" {
            return;
        }
        let mut ack = self.wire("ACK", number, "", "");
        if status == 200 {
            ack = ack.replace(";rport", "a;rport");
        } else {
            // The ACK names the other side as the refusal does.
            let remote = format!("To: {}\r\n", self.state().remote);
            ack = ack.replace(&remote, &format!("To: {}\r\n", message.header("To")));
        }
        self.exchange.send(from, &ack).await;
        if status == 200 && is_first {
            self.sound.meet(message.body());
            self.sound.begin();
        }
    }

    /// Reports a completed transfer (RFC 3515 §2.4.4).
    async fn notify(&self) {
        let headers = "Event: refer\r\nSubscription-State: terminated;reason=noresource\r\n\
                       Content-Type: message/sipfrag;version=2.0\r\n";
        self.request("NOTIFY", headers, "SIP/2.0 200 OK\r\n").await;
    }

    fn next_number(&self) -> u32 {
        let mut state = self.state();
        state.number += 1;
        state.number
    }

    /// A request. A CANCEL shares the branch of the request that it cancels (RFC 3261 §9.1), and so does the ACK of a
    /// refusal (§17.1.1.3). The ACK of a success is a transaction of its own (§13.2.2.4).
    fn wire(&self, method: &str, number: u32, headers: &str, body: &str) -> String {
        let us = self.exchange.address;
        let state = self.state();
        let port = us.port();
        let body = if headers.contains("Content-Type") {
            format!("Content-Length: {}\r\n\r\n{body}", body.len())
        } else {
            with_body(body)
        };
        let call = self.id.split('@').next().unwrap_or_default();
        format!(
            "{method} {target} SIP/2.0\r\nVia: SIP/2.0/UDP {us};branch=z9hG4bK{port}{call}{number};rport\r\n\
             From: {local}\r\nTo: {remote}\r\nCall-ID: {id}\r\nCSeq: {number} {method}\r\nContact: <{contact}>\r\n\
             Max-Forwards: 70\r\n{headers}{body}",
            target = state.target,
            local = self.local,
            remote = state.remote,
            id = self.id,
            contact = self.exchange.contact(),
        )
    }
}

impl State {
    /// Whether the request that began the call has our final response.
    fn has_replied(&self) -> bool {
        let reply = self.reply.as_deref();
        reply.is_some_and(|reply| !reply.starts_with("SIP/2.0 1"))
    }

    fn new(peer: SocketAddr) -> Self {
        Self {
            invite: None,
            invite_number: 0,
            peer,
            remote: String::new(),
            target: String::new(),
            number: 0,
            version: 1,
            reply: None,
            is_confirmed: false,
            is_cancelled: false,
            has_ended: false,
            answers: Vec::new(),
            requests: Vec::new(),
        }
    }
}
