//! Connections: each has a place among so many, every head on it a deadline, and what is sent must be read.
//!
//! The HTTP library bounds the first head of a connection alone: with half a second one a client could hold its place
//! for ever, as could one that does not read what it is sent.

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

use crate::HttpState;

/// What a client gets whose head did not come in time.
const TIMED_OUT: &[u8] =
    b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

/// How long nothing may leave on a WebSocket that has something to send. Who speaks on it is not asked meanwhile.
const STUCK_AT_MOST: Duration = Duration::from_secs(10);

/// Bytes of an answer that must leave within its limit where its reader keeps the line full.
const MOVES: usize = 64 * 1024;

/// Connections of one address: this share of all.
const SHARE: usize = 8;

/// The connections that are open, and how many may be.
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

    /// A place for a connection from this address; `None` if there is none, or it has its share. A proxy that is trusted
    /// has no share.
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

/// One of them; dropping it gives it back.
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
    /// Gives a connection that came in its place; one without is closed at once.
    pub(crate) fn admit(io: TcpStream, state: &HttpState) -> io::Result<Self> {
        let address = io.peer_addr()?.ip();
        let place = state.places.take(address, state.limits.is_proxy(address));
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
    /// Nothing has come since the last answer.
    #[default]
    Quiet,
    /// A head has begun.
    Head,
    /// A request is being answered; its body is bounded elsewhere.
    Request,
    /// It is a WebSocket from here on: there are no more heads.
    Upgraded,
}

/// A connection's stage, as the connection and the edge tell each other.
#[derive(Debug, Clone, Default)]
pub(crate) struct Turn(Rc<Cell<Stage>>);

impl Turn {
    /// What follows on the connection is no request.
    pub(crate) fn upgrade(&self) {
        self.0.set(Stage::Upgraded);
    }
}

/// A request that is being answered; dropping it ends its turn.
pub(crate) struct Answering(Option<Turn>);

impl Answering {
    /// The head of this request is whole.
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

/// A connection that breaks off when a head takes longer than its limit, or the other side of a WebSocket does not read.
pub(crate) struct Connection<S> {
    io: S,
    turn: Turn,
    limit: Duration,
    answer_limit: Duration,
    /// How many heads have begun.
    heads: u64,
    alarm: Option<Alarm>,
    /// Since something waits to leave.
    stuck: Option<Stuck>,
}

/// What has left since the line is full, and when that is too little.
struct Stuck {
    until: Pin<Box<Sleep>>,
    moved: usize,
}

/// Wound once for all the heads that come while it runs: the clock is not read for each. So a head has one
/// limit at least and two at most.
struct Alarm {
    sleep: Pin<Box<Sleep>>,
    /// The head that it was wound for.
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

    /// Whether the head that has begun is late; if not, the task is woken to look again.
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

    /// What became of an attempt to send `offered` bytes: the end, if too little has left for too long. If something may
    /// still leave, the task is woken to look again.
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
                    // The line took it all, or moves.
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
                // As far as it goes at once: whoever sends slowly may read slowly too.
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
