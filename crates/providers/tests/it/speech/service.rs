//! A service whose connections the test itself handles.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::{WebSocketStream, accept_hdr_async};

/// Longer than any step here takes.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) struct Service {
    listener: TcpListener,
    pub(super) base_url: String,
}

/// The client's handshake request.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) path: String,
    pub(super) query: Vec<(String, String)>,
    headers: Vec<(String, String)>,
}

/// One connection.
pub(super) struct Peer {
    pub(super) head: Head,
    socket: WebSocketStream<TcpStream>,
}

impl Service {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}", listener.local_addr().unwrap());
        Self { listener, base_url }
    }

    /// A connection before its first byte.
    pub(super) async fn connection(&self) -> TcpStream {
        patiently(self.listener.accept()).await.unwrap().0
    }

    /// Whether no connection waits to be accepted.
    pub(super) fn left_alone(self) -> bool {
        let accepted = self.listener.into_std().unwrap().accept();
        accepted.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
    }

    pub(super) async fn accept(&self) -> Peer {
        let stream = self.connection().await;
        let mut head = Head::default();
        #[expect(
            clippy::result_large_err,
            reason = "the callback's type is the library's"
        )]
        let look = |request: &Request, response: Response| -> Result<Response, ErrorResponse> {
            head = read_head(request);
            Ok(response)
        };
        let socket = patiently(accept_hdr_async(stream, look)).await.unwrap();
        Peer { head, socket }
    }

    /// Responds to one connection with a status code instead of a WebSocket.
    pub(super) async fn refuse(&self, status: u16) {
        let mut stream = self.connection().await;
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(patiently(stream.read_u8()).await.unwrap());
        }
        let body = r#"{"detail":"secret words of the upstream"}"#;
        let length = body.len();
        let answer = format!("HTTP/1.1 {status} No\r\ncontent-length: {length}\r\n\r\n{body}");
        stream.write_all(answer.as_bytes()).await.unwrap();
        // The client closes when it has read enough.
        let _ = stream.read_to_end(&mut Vec::new()).await;
    }
}

fn read_head(request: &Request) -> Head {
    let url = reqwest::Url::parse(&format!("http://service{}", request.uri())).unwrap();
    let header = |(name, value): (&reqwest::header::HeaderName, &reqwest::header::HeaderValue)| {
        (name.to_string(), value.to_str().unwrap().to_owned())
    };
    Head {
        path: url.path().to_owned(),
        query: url.query_pairs().into_owned().collect(),
        headers: request.headers().iter().map(header).collect(),
    }
}

impl Head {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// The query as one line, in order.
    pub(super) fn query_line(&self) -> String {
        let pair = |(name, value): &(String, String)| format!("{name}={value}");
        self.query.iter().map(pair).collect::<Vec<_>>().join("&")
    }
}

impl Peer {
    /// The next message except pings and pongs; `None` when the client has closed or is gone.
    pub(super) async fn next(&mut self) -> Option<Message> {
        loop {
            match patiently(self.socket.next()).await {
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(Message::Close(_)) | Err(_)) | None => return None,
                Some(Ok(message)) => return Some(message),
            }
        }
    }

    /// The next message of any kind.
    pub(super) async fn raw(&mut self) -> Message {
        patiently(self.socket.next()).await.unwrap().unwrap()
    }

    pub(super) async fn json(&mut self) -> Value {
        match self.next().await {
            Some(Message::Text(text)) => serde_json::from_str(text.as_str()).unwrap(),
            other => panic!("{other:?} is no text"),
        }
    }

    pub(super) async fn binary(&mut self) -> Vec<u8> {
        match self.next().await {
            Some(Message::Binary(bytes)) => bytes.to_vec(),
            other => panic!("{other:?} is no sound"),
        }
    }

    pub(super) async fn say(&mut self, json: Value) {
        self.text(&json.to_string()).await;
    }

    pub(super) async fn text(&mut self, text: &str) {
        let message = Message::text(text.to_owned());
        self.socket.send(message).await.unwrap();
    }

    /// Drops the connection without a close frame.
    pub(super) fn cut(self) {
        drop(self.socket);
    }

    /// Closes the connection as services do.
    pub(super) async fn close(mut self) {
        let _ = self.socket.close(None).await;
        while let Some(Ok(_)) = patiently(self.socket.next()).await {}
    }
}

async fn patiently<T>(future: impl Future<Output = T>) -> T {
    timeout(PATIENCE, future)
        .await
        .unwrap_or_else(|_| panic!("nothing happens"))
}

impl Service {
    /// Responds to one HTTP request; returns its head and body.
    pub(super) async fn answer(&self, status: u16, body: &str) -> (String, Vec<u8>) {
        let mut stream = self.connection().await;
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(patiently(stream.read_u8()).await.unwrap());
        }
        let head = String::from_utf8(head).unwrap();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .map_or(0, |length| length.parse().unwrap());
        let mut sent = vec![0; length];
        patiently(stream.read_exact(&mut sent)).await.unwrap();
        let length = body.len();
        let answer = format!(
            "HTTP/1.1 {status} Hm\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(answer.as_bytes()).await.unwrap();
        (head, sent)
    }
}

/// Waits until the client closes this connection, whatever it sends before.
pub(super) async fn hung_up(mut connection: TcpStream) {
    let mut sent = Vec::new();
    let _ = patiently(connection.read_to_end(&mut sent)).await;
}
