//! Receivers on loopback, written byte by byte; most of them misbehave.

use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// A request as received.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

/// A listening socket.
pub(crate) struct Receiver {
    listener: TcpListener,
    pub(crate) port: u16,
}

impl Receiver {
    pub(crate) async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        Self { listener, port }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/in", self.port)
    }

    pub(crate) async fn accept(&self) -> TcpStream {
        self.listener.accept().await.unwrap().0
    }

    /// Accepts a connection, reads a request and writes `response`. The connection stays open until it is dropped.
    pub(crate) async fn answer(&self, response: &[u8]) -> (TcpStream, Request) {
        let mut stream = self.accept().await;
        let request = read_request(&mut stream).await;
        stream.write_all(response).await.unwrap();
        (stream, request)
    }

    /// Whether no further connection has come: the kernel knows at once, tokio's readiness only later.
    pub(crate) fn left_alone(self) -> bool {
        let accepted = self.listener.into_std().unwrap().accept();
        accepted.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
    }
}

/// Reads a head and the announced number of body bytes.
pub(crate) async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> Request {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    let head = String::from_utf8(head).unwrap();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("Content-Length: "))
        .map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.unwrap();
    Request { head, body }
}

/// Waits until the other side has closed the connection.
pub(crate) async fn closed(mut stream: TcpStream) {
    while stream.read(&mut [0; 1024]).await.is_ok_and(|read| read > 0) {}
}

/// TLS with an untrusted certificate.
pub(crate) fn self_signed() -> TlsAcceptor {
    let issued = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(issued.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![issued.cert.der().clone()], key)
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}
