//! Shared code of synthesizers over a WebSocket. One connection per call carries many texts, each in its own context.

use futures_util::FutureExt as _;
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::Stream;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use offhook_engine::ports::speech::{SpeechError, SpeechPiece, SpokenText, Synthesizer};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use tokio_tungstenite::tungstenite::{Bytes, Message};

use super::Result;
use super::socket::{Received, Socket, Upgrade};

/// Limit for a text's first audio, and between pieces.
const SILENCE_LIMIT: Duration = Duration::from_secs(3);

/// The interval of pings on an idle connection, so that no middlebox drops it.
const PING_AFTER: Duration = Duration::from_secs(15);

/// A service's message format. Contexts are numbers, which the service gets as text.
pub(crate) trait SynthesizerProtocol: Send + 'static {
    /// Messages that speak a text in a new context.
    fn begin(&mut self, context: u64, text: SpokenText) -> Result<Vec<Message>>;

    /// The message that cancels a context, if the service has one.
    fn cancel(&mut self, context: u64) -> Option<Message>;

    /// Parses a message of the service. Fails if it is unreadable, or reports a failure of the whole connection.
    fn read(&mut self, text: &str) -> Result<Vec<ContextUpdate>>;

    /// The context has ended: its state can be dropped.
    fn forget(&mut self, context: u64);
}

/// A report about a context.
pub(crate) struct ContextUpdate {
    pub(crate) context: u64,
    pub(crate) update: Update,
}

pub(crate) enum Update {
    /// More audio or word times.
    Piece(SpeechPiece),
    /// The service is working on it.
    Alive,
    /// The context is complete.
    Done,
    /// The context failed before its end.
    Failed(SpeechError),
}

/// Opens the connection and starts a synthesizer on it.
pub(crate) async fn start_synthesizer(
    upgrade: Upgrade,
    protocol: impl SynthesizerProtocol,
) -> Result<Box<dyn Synthesizer>> {
    let socket = upgrade.open().await?;
    let (orders, received) = mpsc::unbounded_channel();
    let synthesizer = SpeechOutput {
        upgrade,
        socket: Some(socket),
        protocol,
        orders: received,
        active: BTreeMap::new(),
        sent_at: Instant::now(),
        received_at: Instant::now(),
    };
    tokio::spawn(synthesizer.run().boxed());
    Ok(Box::new(Handle {
        orders,
        next: AtomicU64::new(1),
    }))
}

enum Order {
    Speak(u64, SpokenText, mpsc::UnboundedSender<Piece>),
    Cancel(u64),
}

type Piece = Result<SpeechPiece>;

/// The engine's handle.
struct Handle {
    orders: mpsc::UnboundedSender<Order>,
    next: AtomicU64,
}

impl Synthesizer for Handle {
    fn speak(&self, text: SpokenText) -> BoxStream<'static, Piece> {
        let context = self.next.fetch_add(1, Ordering::Relaxed);
        let (pieces, received) = mpsc::unbounded_channel();
        let orders = self.orders.clone();
        let _ = orders.send(Order::Speak(context, text, pieces));
        Pieces {
            context,
            received,
            orders: Some(orders),
        }
        .boxed()
    }
}

/// The audio of one text. Dropping it before the end cancels the text.
struct Pieces {
    context: u64,
    received: mpsc::UnboundedReceiver<Piece>,
    /// `None` after the end.
    orders: Option<mpsc::UnboundedSender<Order>>,
}

impl Stream for Pieces {
    type Item = Piece;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Piece>> {
        let piece = self.received.poll_recv(cx);
        if let Poll::Ready(None | Some(Err(_))) = piece {
            self.orders = None;
            self.received.close();
        }
        piece
    }
}

impl Drop for Pieces {
    fn drop(&mut self) {
        if let Some(orders) = self.orders.take() {
            let _ = orders.send(Order::Cancel(self.context));
        }
    }
}

/// The connection's task.
struct SpeechOutput<S> {
    upgrade: Upgrade,
    /// Services close idle connections; the next text reconnects.
    socket: Option<Socket>,
    protocol: S,
    orders: mpsc::UnboundedReceiver<Order>,
    active: BTreeMap<u64, Active>,
    sent_at: Instant,
    /// When the last message arrived.
    received_at: Instant,
}

struct Active {
    pieces: mpsc::UnboundedSender<Piece>,
    begun_at: Instant,
    /// When the service last showed that it was working.
    alive_at: Instant,
}

impl<S: SynthesizerProtocol> SpeechOutput<S> {
    async fn run(mut self) {
        loop {
            let overdue = self.overdue();
            let idle = self.sent_at + PING_AFTER;
            tokio::select! {
                order = self.orders.recv() => match order {
                    // The call is over, and with it all its texts.
                    None => break,
                    Some(order) => self.obey(order).await,
                },
                received = next(&mut self.socket) => self.receive(received).await,
                () = sleep_until(overdue.map_or(idle, |(_, at)| at)), if overdue.is_some() => {
                    if let Some((context, _)) = overdue {
                        self.give_up(context).await;
                    }
                }
                () = sleep_until(idle), if self.socket.is_some() => {
                    self.send(Message::Ping(Bytes::new())).await;
                }
            }
        }
        if let Some(socket) = self.socket {
            socket.close(None).await;
        }
    }

    /// The context that has waited longest, and its deadline.
    fn overdue(&self) -> Option<(u64, Instant)> {
        let times = self.active.iter();
        times
            .map(|(context, active)| (*context, active.alive_at + SILENCE_LIMIT))
            .min_by_key(|(_, at)| *at)
    }

    async fn obey(&mut self, order: Order) {
        match order {
            Order::Speak(context, text, pieces) => {
                let begun_at = Instant::now();
                let active = Active {
                    pieces,
                    begun_at,
                    alive_at: begun_at,
                };
                self.active.insert(context, active);
                if let Err(error) = self.begin(context, text).await {
                    self.end(context, Some(error));
                }
            }
            Order::Cancel(context) => {
                if self.active.contains_key(&context) {
                    self.end(context, None);
                    self.cancel(context).await;
                }
            }
        }
    }

    async fn begin(&mut self, context: u64, text: SpokenText) -> Result<()> {
        let messages = self.protocol.begin(context, text)?;
        if self.socket.is_none() {
            self.socket = Some(self.upgrade.open().await?);
        }
        for message in messages {
            self.send(message).await;
        }
        Ok(())
    }

    /// A context has waited too long.
    async fn give_up(&mut self, context: u64) {
        let begun_at = self.active.get(&context).map(|active| active.begun_at);
        self.end(context, Some(SpeechError::Timeout));
        if begun_at.is_some_and(|at| self.received_at < at) {
            // No message at all came since the text was sent: the next text needs a new connection.
            self.lose(SpeechError::Timeout);
        } else {
            self.cancel(context).await;
        }
    }

    async fn cancel(&mut self, context: u64) {
        if let Some(message) = self.protocol.cancel(context) {
            self.send(message).await;
        }
    }

    /// Sends a message; on failure the connection is gone.
    async fn send(&mut self, message: Message) {
        self.sent_at = Instant::now();
        if let Some(socket) = &mut self.socket
            && let Err(error) = socket.send(message).await
        {
            self.lose(error);
        }
    }

    async fn receive(&mut self, received: Result<Received>) {
        self.received_at = Instant::now();
        let updates = match received {
            Ok(Received::Text(text)) => self.protocol.read(&text),
            Ok(Received::Other) => return,
            Err(error) => return self.lose(error),
        };
        match updates {
            Ok(updates) => {
                for ContextUpdate { context, update } in updates {
                    self.apply(context, update);
                }
            }
            Err(error) => {
                if let Some(socket) = self.socket.take() {
                    tokio::spawn(socket.close(None).boxed());
                }
                self.lose(error);
            }
        }
    }

    fn apply(&mut self, context: u64, update: Update) {
        if !self.active.contains_key(&context) {
            // A canceled context: its audio is dropped.
            return;
        }
        // A service may work on one text after the other, so any sign of life counts for all.
        let now = Instant::now();
        for active in self.active.values_mut() {
            active.alive_at = now;
        }
        match update {
            Update::Alive => {}
            Update::Piece(piece) => {
                if let Some(active) = self.active.get(&context) {
                    let _ = active.pieces.send(Ok(piece));
                }
            }
            Update::Done => self.end(context, None),
            Update::Failed(error) => self.end(context, Some(error)),
        }
    }

    /// Ends a context's stream.
    fn end(&mut self, context: u64, error: Option<SpeechError>) {
        self.protocol.forget(context);
        if let Some(active) = self.active.remove(&context)
            && let Some(error) = error
        {
            let _ = active.pieces.send(Err(error));
        }
    }

    /// The connection is gone, and with it all active texts.
    fn lose(&mut self, error: SpeechError) {
        self.socket = None;
        let contexts: Vec<u64> = self.active.keys().copied().collect();
        for context in contexts {
            self.end(context, Some(error.clone()));
        }
    }
}

/// The next message; never resolves without a connection.
async fn next(socket: &mut Option<Socket>) -> Result<Received> {
    match socket {
        Some(socket) => socket.next().await,
        None => std::future::pending().await,
    }
}
