//! Limits connections: their number, the time that each request head may take, and how slowly a client may read.
//!
//! The HTTP library only limits the first head of a connection. A client could hold its place forever with half a
//! second head, or by not reading what the server sends.

use std::cell::Cell;
use std::collections::HashMap;
use std::io::{self, IoSlice};
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use actix_web::dev::ServiceRequest;
use actix_web::rt::net::{ActixStream, Ready, TcpStream};
use offhook_metrics::metrics;
use offhook_ratelimit::{IPV6_PREFIX_BITS, Key};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use crate::RateLimits;

/// The response to a client whose request head did not arrive in time.
const TIMED_OUT: &[u8] =
    b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

/// How long a WebSocket may have output waiting without any of it leaving. Meanwhile its speaker is not polled.
const STUCK_AT_MOST: Duration = Duration::from_secs(10);

/// Bytes of a response that must leave within the time limit while the client reads slowly.
const MOVES: usize = 64 * 1024;

/// One address may open this fraction (one eighth) of all connections.
const SHARE: usize = 8;

/// The open connections, and their maximum.
#[derive(Debug)]
pub(crate) struct Places {
    most: usize,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    all: usize,
    each: HashMap<Key, usize>,
}

impl Places {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            open: Mutex::default(),
        }
    }

    /// Takes a place for a connection from this address. `None` if all places are taken or the address has reached
    /// its share. Trusted proxies have no share.
    fn take(self: &Arc<Self>, address: IpAddr, is_proxy: bool) -> Option<Place> {
        let mut open = self.open.lock();
        if open.all >= self.most {
            return None;
        }
        let key = (!is_proxy).then(|| Key::address(address, IPV6_PREFIX_BITS));
        if let Some(key) = key {
            let one = open.each.entry(key).or_default();
            if *one >= (self.most / SHARE).max(1) {
                return None;
            }
            *one += 1;
        }
        open.all += 1;
        Some(Place {
            places: self.clone(),
            key,
        })
    }
}

/// The place of one connection; dropping it frees the place.
#[derive(Debug)]
struct Place {
    places: Arc<Places>,
    key: Option<Key>,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.places.open.lock();
        open.all -= 1;
        let Some(key) = self.key else { return };
        if let Some(one) = open.each.get_mut(&key) {
            *one -= 1;
            if *one == 0 {
                open.each.remove(&key);
            }
        }
    }
}

/// A socket that has a place.
#[derive(Debug)]
pub(crate) struct Placed {
    io: TcpStream,
    _place: Place,
}

impl Placed {
    /// Gives a new connection a place. A connection without one is closed at once.
    pub(crate) fn admit(
        io: TcpStream,
        places: &Arc<Places>,
        limits: &RateLimits,
    ) -> io::Result<Self> {
        let address = io.peer_addr()?.ip();
        let place = places.take(address, limits.is_proxy(address));
        let Some(_place) = place else {
            metrics().http.refused("connections");
            return Err(io::ErrorKind::ConnectionRefused.into());
        };
        Ok(Self { io, _place })
    }

    pub(crate) fn peer(&self) -> Option<SocketAddr> {
        self.io.peer_addr().ok()
    }
}

impl AsyncRead for Placed {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buf)
    }
}

impl AsyncWrite for Placed {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }
}

impl ActixStream for Placed {
    fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<Ready>> {
        ActixStream::poll_read_ready(&self.io, cx)
    }

    fn poll_write_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<Ready>> {
        ActixStream::poll_write_ready(&self.io, cx)
    }
}

/// Where a connection is between one request and the next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Stage {
    /// Nothing has arrived since the last response.
    #[default]
    Quiet,
    /// A head has begun.
    Head,
    /// The server is answering a request. Other code limits its body.
    Request,
    /// The connection has become a WebSocket: no more heads will come.
    Upgraded,
}

/// A connection's stage, shared by the connection and the edge.
#[derive(Debug, Clone, Default)]
pub(crate) struct Turn(Rc<Cell<Stage>>);

impl Turn {
    /// Marks the connection as a WebSocket.
    pub(crate) fn upgrade(&self) {
        self.0.set(Stage::Upgraded);
    }
}

/// A request that the server is answering; dropping it ends the request's turn.
pub(crate) struct Answering(Option<Turn>);

impl Answering {
    /// Marks the head of this request as complete.
    pub(crate) fn begin(req: &ServiceRequest) -> Self {
        let turn = req.conn_data::<Turn>().cloned();
        if let Some(turn) = &turn {
            turn.0.set(Stage::Request);
        }
        Self(turn)
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        if let Some(turn) = &self.0
            && turn.0.get() != Stage::Upgraded
        {
            turn.0.set(Stage::Quiet);
        }
    }
}

/// A connection that fails when a head exceeds its time limit, or when the client does not read.
pub(crate) struct Connection<S> {
    io: S,
    turn: Turn,
    limit: Duration,
    answer_limit: Duration,
    /// How many heads have begun.
    heads: u64,
    alarm: Option<Alarm>,
    /// Set while output waits to leave.
    stuck: Option<Stuck>,
}

/// The bytes that have left since the output blocked, and the deadline for [`MOVES`] of them.
struct Stuck {
    until: Pin<Box<Sleep>>,
    moved: usize,
}

/// One timer for all heads that arrive while it runs, so the clock is not read for each head. A head therefore has at
/// least one limit and at most two.
struct Alarm {
    sleep: Pin<Box<Sleep>>,
    /// The number of the head that the timer was started for.
    head: u64,
}

impl<S> Connection<S> {
    pub(crate) fn new(io: S, (limit, answer_limit): (Duration, Duration)) -> Self {
        Self {
            io,
            turn: Turn::default(),
            limit,
            answer_limit,
            heads: 0,
            alarm: None,
            stuck: None,
        }
    }

    pub(crate) fn turn(&self) -> &Turn {
        &self.turn
    }

    /// Whether the current head is late. If not, the timer wakes the task to check again.
    fn is_late(&mut self, cx: &mut Context<'_>) -> bool {
        let (limit, head) = (self.limit, self.heads);
        let alarm = self.alarm.get_or_insert_with(|| Alarm {
            sleep: Box::pin(sleep(limit)),
            head,
        });
        while alarm.sleep.as_mut().poll(cx).is_ready() {
            if alarm.head == head {
                return true;
            }
            alarm.head = head;
            alarm.sleep.as_mut().reset(Instant::now() + limit);
        }
        false
    }

    /// Handles the result of an attempt to send `offered` bytes. Fails if too little has left for too long. Otherwise
    /// a timer wakes the task to check again.
    fn sent(
        &mut self,
        cx: &mut Context<'_>,
        polled: Poll<io::Result<usize>>,
        offered: usize,
    ) -> Poll<io::Result<usize>> {
        let is_upgraded = self.turn.0.get() == Stage::Upgraded;
        match polled {
            Poll::Ready(Ok(sent)) => {
                if let Some(stuck) = &mut self.stuck {
                    stuck.moved += sent;
                    // All of it has left, or enough has.
                    if is_upgraded || sent == offered || stuck.moved >= MOVES {
                        self.stuck = None;
                    }
                }
                polled
            }
            Poll::Ready(Err(_)) => polled,
            Poll::Pending => {
                let limit = if is_upgraded {
                    STUCK_AT_MOST
                } else {
                    self.answer_limit
                };
                let stuck = self.stuck.get_or_insert_with(|| Stuck {
                    until: Box::pin(sleep(limit)),
                    moved: 0,
                });
                match stuck.until.as_mut().poll(cx) {
                    Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
                    Poll::Pending => polled,
                }
            }
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Connection<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let polled = Pin::new(&mut self.io).poll_read(cx, buf);
        let stage = self.turn.0.get();
        match polled {
            Poll::Ready(Ok(())) if stage == Stage::Quiet && buf.filled().len() > before => {
                self.turn.0.set(Stage::Head);
                self.heads += 1;
            }
            Poll::Pending if stage == Stage::Head && self.is_late(cx) => {
                // One attempt only: a client that sends slowly may also read slowly.
                let _ = Pin::new(&mut self.io).poll_write(cx, TIMED_OUT);
                let _ = Pin::new(&mut self.io).poll_flush(cx);
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            _ => {}
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Connection<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.io).poll_write(cx, buf);
        self.sent(cx, polled, buf.len())
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.io).poll_write_vectored(cx, bufs);
        self.sent(cx, polled, bufs.iter().map(|buf| buf.len()).sum())
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }
}
