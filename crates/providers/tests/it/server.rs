//! A service that handles one connection after another as the test says, byte by byte.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// What the service does after reading a request.
#[derive(Clone)]
pub(crate) enum Act {
    /// Sends these bytes.
    Send(Vec<u8>),
    /// Waits until the test lets it continue.
    Pause,
    /// Closes the connection.
    Close,
}

pub(crate) struct Server {
    pub(crate) base_url: String,
    pub(crate) go_on: Arc<Notify>,
    /// Notified when the service begins to wait.
    pub(crate) waits: Arc<Notify>,
    /// Notified when the client closed its connection while the service waited.
    pub(crate) client_gone: Arc<Notify>,
    requests: Arc<Mutex<Vec<String>>>,
    connections: Arc<Mutex<usize>>,
}

impl Server {
    /// Starts a service that does the same on every request.
    pub(crate) async fn start(acts: Vec<Act>) -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let server = Self {
            base_url: format!("http://{}/v1", listener.local_addr()?),
            go_on: Arc::default(),
            waits: Arc::default(),
            client_gone: Arc::default(),
            requests: Arc::default(),
            connections: Arc::default(),
        };
        let signals = [&server.go_on, &server.waits, &server.client_gone].map(Arc::clone);
        let (requests, connections) = (
            Arc::clone(&server.requests),
            Arc::clone(&server.connections),
        );
        tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                *connections.lock() += 1;
                let (acts, signals) = (acts.clone(), signals.clone());
                let requests = Arc::clone(&requests);
                tokio::spawn(async move {
                    while let Some(request) = read_request(&mut socket).await {
                        requests.lock().push(request);
                        if !act(&mut socket, &acts, &signals).await {
                            return;
                        }
                    }
                });
            }
        });
        Ok(server)
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().clone()
    }

    pub(crate) fn connections(&self) -> usize {
        *self.connections.lock()
    }
}

async fn act(
    socket: &mut TcpStream,
    acts: &[Act],
    [go_on, waits, gone]: &[Arc<Notify>; 3],
) -> bool {
    for act in acts {
        match act {
            Act::Send(bytes) => {
                if socket.write_all(bytes).await.is_err() {
                    return false;
                }
            }
            Act::Pause => {
                waits.notify_one();
                let mut byte = [0; 1];
                tokio::select! {
                    () = go_on.notified() => {}
                    _ = socket.read(&mut byte) => {
                        gone.notify_one();
                        return false;
                    }
                }
            }
            Act::Close => return false,
        }
    }
    true
}

async fn read_request(socket: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let mut buffer = [0; 4096];
        match socket.read(&mut buffer).await {
            Ok(0) | Err(_) => return None,
            Ok(n) => bytes.extend_from_slice(&buffer[..n]),
        }
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .filter_map(|line| line.split_once(':'))
                .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
                .and_then(|(_, value)| value.trim().parse().ok())
                .unwrap_or(0);
            if body.len() >= length {
                return Some(text.into_owned());
            }
        }
    }
}
