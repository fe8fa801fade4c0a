//! A carrier's server that does with each call what the end of the number says, and remembers every request.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use offhook_tests::{eventually, must};
use tokio::net::UdpSocket;
use tokio::task::JoinHandle;

/// How long anything may take on a busy machine.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// The endings of numbers: three digits of a status refuse with it.
pub(super) const RINGS: &str = "180";
pub(super) const ANSWERS: &str = "200";

pub(super) struct Callee {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
    is_deaf: Arc<AtomicBool>,
    task: JoinHandle<()>,
}

impl Callee {
    pub(super) async fn start() -> Self {
        let socket = must("a socket", UdpSocket::bind("127.0.0.1:0").await);
        let address = must("an address", socket.local_addr());
        let (requests, is_deaf) = (Arc::default(), Arc::<AtomicBool>::default());
        let task = tokio::spawn(serve(socket, Arc::clone(&requests), Arc::clone(&is_deaf)));
        Self {
            address,
            requests,
            is_deaf,
            task,
        }
    }

    pub(super) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers nothing any more, or again.
    pub(super) fn set_deaf(&self, deaf: bool) {
        self.is_deaf.store(deaf, Ordering::SeqCst);
    }

    /// The requests of this method so far, repetitions left out.
    pub(super) fn requests(&self, method: &str) -> Vec<String> {
        let beginning = format!("{method} ");
        let mut requests = must("the requests", self.requests.lock()).clone();
        requests.retain(|request| request.starts_with(&beginning));
        requests.dedup();
        requests
    }

    /// Waits for a request of this method.
    pub(super) async fn receives(&self, method: &str) -> String {
        eventually(&format!("a {method}"), PATIENCE, || async {
            self.requests(method).pop()
        })
        .await
    }
}

impl Drop for Callee {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The value of a header.
pub(super) fn header<'a>(message: &'a str, name: &str) -> &'a str {
    let beginning = format!("{name}: ");
    let line = message
        .lines()
        .find_map(|line| line.strip_prefix(&beginning));
    line.unwrap_or_default().trim_end()
}

async fn serve(socket: UdpSocket, requests: Arc<Mutex<Vec<String>>>, is_deaf: Arc<AtomicBool>) {
    let mut buffer = vec![0; 65_536];
    let address = must("an address", socket.local_addr());
    // The INVITEs that ring, to be refused once they are cancelled.
    let mut ringing: Vec<String> = Vec::new();
    while let Ok((length, from)) = socket.recv_from(&mut buffer).await {
        let request = String::from_utf8_lossy(&buffer[..length]).into_owned();
        if is_deaf.load(Ordering::SeqCst) || request.starts_with("SIP/2.0") {
            continue;
        }
        must("the requests", requests.lock()).push(request.clone());
        let mut answers = Vec::new();
        match request.split(' ').next().unwrap_or_default() {
            "INVITE" => {
                let number = header(&request, "To").split('@').next().unwrap_or_default();
                let ending = &number[number.len().saturating_sub(3)..];
                answers.push(answer(&request, "100 Trying", address, ""));
                match ending {
                    RINGS => {
                        answers.push(answer(&request, "180 Ringing", address, ""));
                        ringing.push(request);
                    }
                    ANSWERS => {
                        let description = format!(
                            "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n\
                             m=audio {} RTP/AVP 0 101\r\na=rtpmap:0 PCMU/8000\r\na=rtpmap:101 telephone-event/8000\r\n",
                            address.port()
                        );
                        answers.push(answer(&request, "180 Ringing", address, ""));
                        answers.push(answer(&request, "200 OK", address, &description));
                    }
                    status => answers.push(answer(&request, &format!("{status} No"), address, "")),
                }
            }
            "ACK" => {}
            "CANCEL" => {
                answers.push(answer(&request, "200 OK", address, ""));
                let id = header(&request, "Call-ID");
                let mut invites = ringing.iter();
                if let Some(invite) = invites.find(|invite| header(invite, "Call-ID") == id) {
                    answers.push(answer(invite, "487 Request Terminated", address, ""));
                }
            }
            _ => answers.push(answer(&request, "200 OK", address, "")),
        }
        for answer in answers {
            let _ = socket.send_to(answer.as_bytes(), from).await;
        }
    }
}

fn answer(request: &str, status: &str, us: SocketAddr, body: &str) -> String {
    let to = header(request, "To");
    let tag = match to.contains("tag=") || status.starts_with("100") {
        true => "",
        false => ";tag=callee",
    };
    let vias: String = request
        .lines()
        .filter(|line| line.starts_with("Via: "))
        .map(|line| format!("{}\r\n", line.trim_end()))
        .collect();
    let content = match body {
        "" => "",
        _ => "Content-Type: application/sdp\r\n",
    };
    format!(
        "SIP/2.0 {status}\r\n{vias}From: {}\r\nTo: {to}{tag}\r\nCall-ID: {}\r\nCSeq: {}\r\nContact: <sip:callee@{us}>\r\n\
         {content}Content-Length: {}\r\n\r\n{body}",
        header(request, "From"),
        header(request, "Call-ID"),
        header(request, "CSeq"),
        body.len()
    )
}
