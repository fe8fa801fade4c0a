//! The mouth of one call over a WebSocket: what all such services share. One connection carries many texts, each in a
//! context of its own.

use futures_util::FutureExt as _;
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::Stream;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use offhook_engine::ports::speech::{SpeechError, SpeechPiece, SpokenText, Synthesiser};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use tokio_tungstenite::tungstenite::{Bytes, Message};

use super::Result;
use super::socket::{Came, Socket, Upgrade};

/// How long a text may wait for its first sound, and for more of it.
const SILENCE_LIMIT: Duration = Duration::from_secs(3);

/// How often a sign of life is sent while nobody speaks, so that nothing on the way forgets the connection.
const PING_AFTER: Duration = Duration::from_secs(15);

/// What a service's messages look like. Contexts are numbers; the service has them as text.
pub(super) trait Speaking: Send + 'static {
    /// Speaks a text in a new context.
    ///
    /// # Errors
    /// [`SpeechError`] if it cannot be spoken.
    fn begin(&mut self, context: u64, text: SpokenText) -> Result<Vec<Message>>;

    /// Nobody listens to a context any more.
    fn cancel(&mut self, context: u64) -> Option<Message>;

    /// Understands a message of the service.
    ///
    /// # Errors
    /// [`SpeechError`] if nobody can read it, or the service reports a failure that ends everything.
    fn read(&mut self, text: &str) -> Result<Vec<Told>>;

    /// A context is over, one way or another: what was kept for it can go.
    fn forget(&mut self, context: u64);
}

/// What a service says of a context.
pub(super) struct Told {
    pub(super) context: u64,
    pub(super) what: What,
}

/// What there is to say of a context.
pub(super) enum What {
    /// More of it.
    Piece(SpeechPiece),
    /// It works on it.
    Alive,
    /// That was all.
    Done,
    /// There is no more, and should be.
    Failed(SpeechError),
}

/// Opens the connection, and speaks on it.
///
/// # Errors
/// [`SpeechError`] if there is no connection.
pub(super) async fn mouth(
    upgrade: Upgrade,
    speaking: impl Speaking,
) -> Result<Box<dyn Synthesiser>> {
    let socket = upgrade.open().await?;
    let (orders, received) = mpsc::unbounded_channel();
    let mouth = Mouth {
        upgrade,
        socket: Some(socket),
        speaking,
        orders: received,
        active: BTreeMap::new(),
        said_at: Instant::now(),
        came_at: Instant::now(),
    };
    tokio::spawn(mouth.run().boxed());
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

/// What the engine holds.
struct Handle {
    orders: mpsc::UnboundedSender<Order>,
    next: AtomicU64,
}

impl Synthesiser for Handle {
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

/// One text's sound. Dropping it before its end cancels the text.
struct Pieces {
    context: u64,
    received: mpsc::UnboundedReceiver<Piece>,
    /// Until the end.
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

/// The connection's own task.
struct Mouth<S> {
    upgrade: Upgrade,
    /// Services close what is idle for too long; the next text opens it again.
    socket: Option<Socket>,
    speaking: S,
    orders: mpsc::UnboundedReceiver<Order>,
    active: BTreeMap<u64, Active>,
    said_at: Instant,
    /// When anything last came.
    came_at: Instant,
}

struct Active {
    pieces: mpsc::UnboundedSender<Piece>,
    begun_at: Instant,
    /// When the service was last heard to work.
    heard_at: Instant,
}

impl<S: Speaking> Mouth<S> {
    async fn run(mut self) {
        loop {
            let overdue = self.overdue();
            let idle = self.said_at + PING_AFTER;
            tokio::select! {
                order = self.orders.recv() => match order {
                    // The call is over, and so is all that it said.
                    None => break,
                    Some(order) => self.obey(order).await,
                },
                came = next(&mut self.socket) => self.hear(came).await,
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

    /// The context that has waited longest for a sound, and until when it may.
    fn overdue(&self) -> Option<(u64, Instant)> {
        let times = self.active.iter();
        times
            .map(|(context, active)| (*context, active.heard_at + SILENCE_LIMIT))
            .min_by_key(|(_, at)| *at)
    }

    async fn obey(&mut self, order: Order) {
        match order {
            Order::Speak(context, text, pieces) => {
                let begun_at = Instant::now();
                let active = Active {
                    pieces,
                    begun_at,
                    heard_at: begun_at,
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
        let messages = self.speaking.begin(context, text)?;
        if self.socket.is_none() {
            self.socket = Some(self.upgrade.open().await?);
        }
        for message in messages {
            self.send(message).await;
        }
        Ok(())
    }

    /// A context waited too long.
    async fn give_up(&mut self, context: u64) {
        let begun_at = self.active.get(&context).map(|active| active.begun_at);
        self.end(context, Some(SpeechError::Timeout));
        if begun_at.is_some_and(|at| self.came_at < at) {
            // Nothing came at all since it was asked for: the next text is to find a connection that works.
            self.lose(SpeechError::Timeout);
        } else {
            self.cancel(context).await;
        }
    }

    async fn cancel(&mut self, context: u64) {
        if let Some(message) = self.speaking.cancel(context) {
            self.send(message).await;
        }
    }

    /// Sends a message; if that fails, the connection is gone.
    async fn send(&mut self, message: Message) {
        self.said_at = Instant::now();
        if let Some(socket) = &mut self.socket
            && let Err(error) = socket.send(message).await
        {
            self.lose(error);
        }
    }

    async fn hear(&mut self, came: Result<Came>) {
        self.came_at = Instant::now();
        let told = match came {
            Ok(Came::Text(text)) => self.speaking.read(&text),
            Ok(Came::Other) => return,
            Err(error) => return self.lose(error),
        };
        match told {
            Ok(told) => {
                for Told { context, what } in told {
                    self.tell(context, what);
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

    fn tell(&mut self, context: u64, what: What) {
        if !self.active.contains_key(&context) {
            // Cancelled: nobody hears it any more.
            return;
        }
        // A service may work on one text after the other, so that any sign of life is one for all.
        let now = Instant::now();
        for active in self.active.values_mut() {
            active.heard_at = now;
        }
        match what {
            What::Alive => {}
            What::Piece(piece) => {
                if let Some(active) = self.active.get(&context) {
                    let _ = active.pieces.send(Ok(piece));
                }
            }
            What::Done => self.end(context, None),
            What::Failed(error) => self.end(context, Some(error)),
        }
    }

    /// Ends a context's stream.
    fn end(&mut self, context: u64, error: Option<SpeechError>) {
        self.speaking.forget(context);
        if let Some(active) = self.active.remove(&context)
            && let Some(error) = error
        {
            let _ = active.pieces.send(Err(error));
        }
    }

    /// The connection is gone, and with it what was being said.
    fn lose(&mut self, error: SpeechError) {
        self.socket = None;
        let contexts: Vec<u64> = self.active.keys().copied().collect();
        for context in contexts {
            self.end(context, Some(error.clone()));
        }
    }
}

/// What comes next; nothing ever, while there is no connection.
async fn next(socket: &mut Option<Socket>) -> Result<Came> {
    match socket {
        Some(socket) => socket.next().await,
        None => std::future::pending().await,
    }
}
