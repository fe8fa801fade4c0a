//! PostgreSQL behind a network that loses responses: a commit succeeds, but the client never learns it.

use std::collections::HashSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use url::Url;

use crate::database::Database;
use crate::wait::must;

/// The request for encryption (`SSLRequest`).
const WANTS_TLS: u32 = 80_877_103;

/// A proxy that forwards every message of the protocol (PostgreSQL's documentation, "Message Formats"). For
/// transactions that write moments of conversations, it drops every n-th response, and closes that connection.
#[derive(Debug)]
pub struct LostReplies {
    address: SocketAddr,
    counts: Arc<Counts>,
    accepting: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Counts {
    /// Every n-th response is lost; 0: none.
    every: AtomicU64,
    written: AtomicU64,
    lost: AtomicU64,
}

impl LostReplies {
    /// A proxy for the server of this database; it loses nothing yet.
    ///
    /// # Panics
    /// If the database is embedded, or its server has no address.
    pub async fn before(database: &Database) -> Self {
        let url = Url::parse(&database.url().unwrap_or_default());
        let server = must(
            "its address",
            must("a URL", url).socket_addrs(|| Some(5432)),
        )[0];
        let listener = must("a port", TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await);
        let address = must("an address", listener.local_addr());
        let counts = Arc::<Counts>::default();
        let counting = counts.clone();
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if let Ok(server) = TcpStream::connect(server).await {
                    tokio::spawn(join(client, server, counting.clone()));
                }
            }
        });
        Self {
            address,
            counts,
            accepting,
        }
    }

    /// The proxy's address, in place of the server's.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// From now on loses every n-th response.
    pub fn lose_every(&self, every: u64) {
        self.counts.every.store(every, Ordering::SeqCst);
    }

    /// How many responses were lost.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.counts.lost.load(Ordering::SeqCst)
    }
}

impl Drop for LostReplies {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn join(mut client: TcpStream, mut server: TcpStream, counts: Arc<Counts>) {
    // Each message is a separate write: none waits for the acknowledgment of the one before.
    if client.set_nodelay(true).is_err() || server.set_nodelay(true).is_err() {
        return;
    }
    if greet(&mut client, &mut server).await.is_err() {
        return;
    }
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let writes = AtomicBool::new(false);
    tokio::select! {
        _ = forward(from_client, to_server, &writes) => {}
        _ = answer(from_server, to_client, &writes, &counts) => {}
    }
}

/// Forwards the first message, which has no type byte. Before it, refuses the request for encryption.
async fn greet(client: &mut TcpStream, server: &mut TcpStream) -> std::io::Result<()> {
    loop {
        let length = client.read_u32().await?;
        let mut startup = vec![0; length.saturating_sub(4) as usize];
        client.read_exact(&mut startup).await?;
        if startup == WANTS_TLS.to_be_bytes() {
            client.write_all(b"N").await?;
            continue;
        }
        server.write_u32(length).await?;
        return server.write_all(&startup).await;
    }
}

/// Forwards the client's messages, and notes when a statement writes moments.
async fn forward(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    writes: &AtomicBool,
) -> std::io::Result<()> {
    let mut prepared = HashSet::new();
    loop {
        let (kind, body) = message(&mut from).await?;
        match kind {
            b'P' => {
                let mut parts = body.split(|byte| *byte == 0);
                let name = parts.next().unwrap_or_default().to_vec();
                let text = String::from_utf8_lossy(parts.next().unwrap_or_default()).to_lowercase();
                let is_write =
                    text.contains("insert into") && text.contains("conversation_moments");
                match is_write {
                    true => prepared.insert(name),
                    false => prepared.remove(&name),
                };
            }
            b'B' if body
                .split(|byte| *byte == 0)
                .nth(1)
                .is_some_and(|name| prepared.contains(name)) =>
            {
                writes.store(true, Ordering::SeqCst);
            }
            _ => {}
        }
        pass_on(&mut to, kind, &body).await?;
    }
}

/// Forwards the server's messages, until it must drop a response: the one that says that a transaction is over.
async fn answer(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    writes: &AtomicBool,
    counts: &Counts,
) -> std::io::Result<()> {
    let mut held = Vec::new();
    loop {
        let (kind, body) = message(&mut from).await?;
        let is_over = kind == b'Z' && body == b"I";
        held.push((kind, body));
        if is_over && writes.swap(false, Ordering::SeqCst) {
            let written = counts.written.fetch_add(1, Ordering::SeqCst) + 1;
            let every = counts.every.load(Ordering::SeqCst);
            if every > 0 && written.is_multiple_of(every) {
                counts.lost.fetch_add(1, Ordering::SeqCst);
                return Ok(());
            }
        }
        if kind == b'Z' || !writes.load(Ordering::SeqCst) {
            for (kind, body) in held.drain(..) {
                pass_on(&mut to, kind, &body).await?;
            }
        }
    }
}

async fn message(from: &mut OwnedReadHalf) -> std::io::Result<(u8, Vec<u8>)> {
    let kind = from.read_u8().await?;
    let length = from.read_u32().await?;
    let mut body = vec![0; length.saturating_sub(4) as usize];
    from.read_exact(&mut body).await?;
    Ok((kind, body))
}

async fn pass_on(to: &mut OwnedWriteHalf, kind: u8, body: &[u8]) -> std::io::Result<()> {
    let length = u32::try_from(body.len() + 4).unwrap_or(u32::MAX);
    let mut whole = vec![kind];
    whole.extend(length.to_be_bytes());
    whole.extend_from_slice(body);
    to.write_all(&whole).await
}
