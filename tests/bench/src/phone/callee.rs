//! The callee: answers each INVITE at once, and reports when it arrived.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context as _;
use tokio::net::UdpSocket;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// A server on a free port; dropping it ends it.
pub(crate) struct Callee {
    pub(crate) address: SocketAddr,
    taken: mpsc::UnboundedReceiver<Taken>,
    task: JoinHandle<()>,
}

/// An answered call.
pub(crate) struct Taken {
    /// The called number.
    pub(crate) number: String,
    pub(crate) invited_at: Instant,
    /// The socket for its audio, and the other side's address.
    pub(crate) sound: UdpSocket,
    pub(crate) to: SocketAddr,
    pub(crate) bye: Bye,
}

/// Ends a call.
pub(crate) struct Bye {
    socket: Arc<UdpSocket>,
    to: SocketAddr,
    request: String,
}

impl Bye {
    pub(crate) async fn send(&self) -> anyhow::Result<()> {
        self.socket
            .send_to(self.request.as_bytes(), self.to)
            .await?;
        Ok(())
    }
}

impl Callee {
    /// Listens. Must be called within a runtime.
    pub(crate) async fn start() -> anyhow::Result<Self> {
        let socket = Arc::new(UdpSocket::bind("127.0.0.1:0").await?);
        let address = socket.local_addr()?;
        let (told, taken) = mpsc::unbounded_channel();
        let server = Server {
            socket,
            address,
            told,
            answers: HashMap::new(),
        };
        let task = tokio::spawn(async move {
            if let Err(error) = server.serve().await {
                eprintln!("the callee ended: {error:#}");
            }
        });
        Ok(Self {
            address,
            taken,
            task,
        })
    }

    pub(crate) async fn taken(&mut self) -> anyhow::Result<Taken> {
        self.taken.recv().await.context("the callee ended")
    }
}

impl Drop for Callee {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Server {
    socket: Arc<UdpSocket>,
    address: SocketAddr,
    told: mpsc::UnboundedSender<Taken>,
    /// The answer of each call, for a repeated INVITE.
    answers: HashMap<String, String>,
}

impl Server {
    async fn serve(mut self) -> anyhow::Result<()> {
        let mut buffer = vec![0; 65_536];
        loop {
            let (length, from) = self.socket.recv_from(&mut buffer).await?;
            let at = Instant::now();
            let message = String::from_utf8_lossy(&buffer[..length]).into_owned();
            let method = message.split(' ').next().unwrap_or_default();
            match method {
                "INVITE" => self.invited(&message, from, at).await?,
                // The latter is a response to our BYE.
                "ACK" | "SIP/2.0" => {}
                _ => {
                    let answer = self.answer(&message, "");
                    self.socket.send_to(answer.as_bytes(), from).await?;
                    if method == "BYE" {
                        self.answers.remove(header(&message, "Call-ID"));
                    }
                }
            }
        }
    }

    async fn invited(
        &mut self,
        request: &str,
        from: SocketAddr,
        at: Instant,
    ) -> anyhow::Result<()> {
        let call = header(request, "Call-ID").to_owned();
        if let Some(answer) = self.answers.get(&call) {
            self.socket.send_to(answer.as_bytes(), from).await?;
            return Ok(());
        }
        let sound = UdpSocket::bind("127.0.0.1:0").await?;
        let port = sound.local_addr()?.port();
        let body = format!(
            "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n\
             m=audio {port} RTP/AVP 0\r\na=rtpmap:0 PCMU/8000\r\na=ptime:20\r\na=sendrecv\r\n"
        );
        let answer = self.answer(request, &body);
        self.socket.send_to(answer.as_bytes(), from).await?;
        let media = request
            .lines()
            .find_map(|line| line.strip_prefix("m=audio "));
        let media = media.and_then(|rest| rest.split(' ').next()?.parse().ok());
        let taken = Taken {
            number: number(request).to_owned(),
            invited_at: at,
            sound,
            to: SocketAddr::from(([127, 0, 0, 1], media.context("an offer without a port")?)),
            bye: Bye {
                socket: Arc::clone(&self.socket),
                to: from,
                request: self.bye(request),
            },
        };
        self.answers.insert(call, answer);
        let _ = self.told.send(taken);
        Ok(())
    }

    fn answer(&self, request: &str, body: &str) -> String {
        let mut answer = "SIP/2.0 200 OK\r\n".to_owned();
        for via in request.lines().filter(|line| line.starts_with("Via: ")) {
            answer += &format!("{via}\r\n");
        }
        let to = header(request, "To");
        let tag = if to.contains("tag=") {
            ""
        } else {
            ";tag=phone"
        };
        let kind = if body.is_empty() {
            ""
        } else {
            "Content-Type: application/sdp\r\n"
        };
        answer += &format!(
            "From: {}\r\nTo: {to}{tag}\r\nCall-ID: {}\r\nCSeq: {}\r\nContact: <sip:phone@{}>\r\n{kind}\
             Content-Length: {}\r\n\r\n{body}",
            header(request, "From"),
            header(request, "Call-ID"),
            header(request, "CSeq"),
            self.address,
            body.len()
        );
        answer
    }

    fn bye(&self, invite: &str) -> String {
        let contact = header(invite, "Contact");
        let target = contact
            .split(['<', '>'])
            .find(|part| part.starts_with("sip:"))
            .unwrap_or(contact);
        let call = header(invite, "Call-ID");
        format!(
            "BYE {target} SIP/2.0\r\nVia: SIP/2.0/UDP {us};branch=z9hG4bK-bye-{branch};rport\r\n\
             From: {to};tag=phone\r\nTo: {from}\r\nCall-ID: {call}\r\nCSeq: 1 BYE\r\nMax-Forwards: 70\r\n\
             Content-Length: 0\r\n\r\n",
            us = self.address,
            branch = call.replace(|c: char| !c.is_ascii_alphanumeric(), "-"),
            to = header(invite, "To"),
            from = header(invite, "From"),
        )
    }
}

/// The value of a header; empty if there is none.
fn header<'a>(message: &'a str, name: &str) -> &'a str {
    let lines = message.lines().take_while(|line| !line.is_empty());
    let mut values = lines.filter_map(|line| {
        let (known, value) = line.split_once(':')?;
        known.eq_ignore_ascii_case(name).then_some(value.trim())
    });
    values.next().unwrap_or_default()
}

/// The called number of a request.
fn number(request: &str) -> &str {
    let uri = request.split(' ').nth(1).unwrap_or_default();
    let user = uri.strip_prefix("sip:").unwrap_or(uri);
    user.split('@').next().unwrap_or_default()
}
