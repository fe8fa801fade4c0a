//! A webhook receiver that records its requests.

use std::sync::Arc;
use std::time::Duration;

use offhook_domain::{AttemptId, EventId};
use parking_lot::Mutex;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;

use crate::it::receiver::{Request, read_request};

/// The response to a request.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Answer {
    /// Respond at once.
    Status(u16),
    /// Respond when [`Hook::let_through`] allows it.
    Held(u16),
    /// Never respond.
    Never,
}

type Respond = dyn Fn(usize) -> Answer + Send + Sync;

/// Listens on loopback until it is dropped with its test's runtime.
pub(crate) struct Hook {
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<Request>>>,
    count: watch::Receiver<usize>,
    gate: Arc<Semaphore>,
}

struct Connections {
    respond: Box<Respond>,
    requests: Arc<Mutex<Vec<Request>>>,
    count: watch::Sender<usize>,
    gate: Arc<Semaphore>,
}

impl Hook {
    /// `respond` gets the number of the request, from 1.
    pub(crate) async fn new(respond: impl Fn(usize) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/in", listener.local_addr().unwrap());
        let (sender, count) = watch::channel(0);
        let connections = Arc::new(Connections {
            respond: Box::new(respond),
            requests: Arc::default(),
            count: sender,
            gate: Arc::new(Semaphore::new(0)),
        });
        let (requests, gate) = (connections.requests.clone(), connections.gate.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(connections.clone().serve(stream));
            }
        });
        Self {
            url,
            requests,
            count,
            gate,
        }
    }

    pub(crate) async fn answering(status: u16) -> Self {
        Self::new(move |_| Answer::Status(status)).await
    }

    /// Waits for `count` requests in all.
    pub(crate) async fn received(&self, count: usize) {
        let mut counts = self.count.clone();
        let waiting = counts.wait_for(|received| *received >= count);
        if timeout(Duration::from_secs(30), waiting).await.is_err() {
            panic!("{} requests of {count}", self.count());
        }
    }

    pub(crate) fn count(&self) -> usize {
        *self.count.borrow()
    }

    /// Releases this many held responses.
    pub(crate) fn let_through(&self, answers: usize) {
        self.gate.add_permits(answers);
    }

    pub(crate) fn header(&self, request: usize, name: &str) -> String {
        let requests = self.requests.lock();
        let prefix = format!("{name}: ");
        let head = &requests[request].head;
        let line = head.lines().find_map(|line| line.strip_prefix(&prefix));
        line.unwrap_or_else(|| panic!("no {name} in {head}"))
            .to_owned()
    }

    pub(crate) fn body(&self, request: usize) -> Vec<u8> {
        self.requests.lock()[request].body.clone()
    }

    pub(crate) fn event_id(&self, request: usize) -> EventId {
        self.header(request, "X-Service-Event-Id").parse().unwrap()
    }

    pub(crate) fn attempt_id(&self, request: usize) -> AttemptId {
        self.header(request, "X-Service-Delivery").parse().unwrap()
    }
}

impl Connections {
    async fn serve(self: Arc<Self>, mut stream: TcpStream) {
        while stream.peek(&mut [0]).await.is_ok_and(|read| read > 0) {
            let request = read_request(&mut stream).await;
            let number = {
                let mut requests = self.requests.lock();
                requests.push(request);
                requests.len()
            };
            let answer = (self.respond)(number);
            self.count.send_modify(|count| *count += 1);
            let status = match answer {
                Answer::Status(status) => status,
                Answer::Held(status) => {
                    self.gate.acquire().await.unwrap().forget();
                    status
                }
                Answer::Never => return crate::it::receiver::closed(stream).await,
            };
            let response = format!("HTTP/1.1 {status} Said\r\ncontent-length: 0\r\n\r\n");
            if stream.write_all(response.as_bytes()).await.is_err() {
                return;
            }
        }
    }
}
