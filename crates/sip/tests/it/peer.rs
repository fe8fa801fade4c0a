//! A raw socket, for faults that SIPp cannot produce.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::UdpSocket;
use tokio::time::timeout;

use crate::it::sipp::header;
use crate::it::support::PATIENCE;

pub(crate) struct Peer {
    socket: UdpSocket,
    pub(crate) address: SocketAddr,
}

impl Peer {
    pub(crate) async fn on(host: &str) -> Self {
        let socket = UdpSocket::bind((host, 0)).await.unwrap();
        let address = socket.local_addr().unwrap();
        Self { socket, address }
    }

    pub(crate) async fn send(&self, to: SocketAddr, bytes: impl AsRef<[u8]>) {
        self.socket.send_to(bytes.as_ref(), to).await.unwrap();
    }

    /// The next message that begins with `beginning`. Skips others.
    pub(crate) async fn receive(&self, beginning: &str) -> (String, SocketAddr) {
        let mut buffer = vec![0; 65_536];
        let awaited = async {
            loop {
                let (length, from) = self.socket.recv_from(&mut buffer).await.unwrap();
                let message = String::from_utf8_lossy(&buffer[..length]).into_owned();
                if message.starts_with(beginning) {
                    return (message, from);
                }
            }
        };
        timeout(PATIENCE, awaited)
            .await
            .unwrap_or_else(|_| panic!("no {beginning} came"))
    }

    /// Whether no message arrives for a while.
    pub(crate) async fn hears_nothing(&self, patience: Duration) -> bool {
        let mut buffer = [0; 2048];
        timeout(patience, self.socket.recv_from(&mut buffer))
            .await
            .is_err()
    }

    /// A response to a request.
    pub(crate) fn answer(&self, request: &str, status: &str, headers: &str, body: &str) -> String {
        let to = header(request, "To");
        let tag = if to.contains("tag=") || status.starts_with("100") {
            ""
        } else {
            ";tag=peer"
        };
        let mut answer = format!("SIP/2.0 {status}\r\n");
        for via in request.lines().filter(|line| line.starts_with("Via: ")) {
            answer += &format!("{}\r\n", via.trim());
        }
        answer += &format!(
            "From: {}\r\nTo: {to}{tag}\r\nCall-ID: {}\r\nCSeq: {}\r\nContact: <sip:peer@{}>\r\n{headers}\
             Content-Length: {}\r\n\r\n{body}",
            header(request, "From"),
            header(request, "Call-ID"),
            header(request, "CSeq"),
            self.address,
            body.len()
        );
        answer
    }

    /// Responds to a request with only a status.
    pub(crate) async fn reply(&self, to: SocketAddr, request: &str, status: &str) {
        self.send(to, self.answer(request, status, "", "")).await;
    }

    /// A call to `to`.
    pub(crate) fn invite(&self, to: SocketAddr, headers: &str, body: &str) -> String {
        let us = self.address;
        format!(
            "INVITE sip:+15005550100@{to} SIP/2.0\r\nVia: SIP/2.0/UDP {us};branch=z9hG4bK-{port}-1;rport\r\n\
             From: <sip:+15551234567@{us}>;tag=caller\r\nTo: <sip:+15005550100@{to}>\r\n\
             Call-ID: {port}@peer\r\nCSeq: 1 INVITE\r\nContact: <sip:caller@{us}>\r\nMax-Forwards: 70\r\n{headers}\
             Content-Length: {}\r\n\r\n{body}",
            body.len(),
            port = us.port(),
        )
    }
}
