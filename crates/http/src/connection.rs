//! A connection on which every head has a deadline, and every byte that a WebSocket sends.
//!
//! The HTTP library bounds the first head of a connection alone: with half a second one a client could hold its place
//! for ever, as could one that does not read what a WebSocket sends it.

use std::cell::Cell;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use actix_web::dev::ServiceRequest;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// What a client gets whose head did not come in time.
const TIMED_OUT: &[u8] =
    b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

/// How long nothing may leave on a WebSocket that has something to send. Who speaks on it is not asked meanwhile.
const STUCK_AT_MOST: Duration = Duration::from_secs(10);

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
    /// How many heads have begun.
    heads: u64,
    alarm: Option<Alarm>,
    /// Since something waits to leave on a WebSocket.
    stuck: Option<Pin<Box<Sleep>>>,
}

/// Wound once for all the heads that come while it runs: the clock is not read for each. So a head has one
/// limit at least and two at most.
struct Alarm {
    sleep: Pin<Box<Sleep>>,
    /// The head that it was wound for.
    head: u64,
}

impl<S> Connection<S> {
    pub(crate) fn new(io: S, limit: Duration) -> Self {
        Self {
            io,
            turn: Turn::default(),
            limit,
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

    /// What became of an attempt to send: on a WebSocket, the end if nothing has left for too long. If something may still
    /// leave, the task is woken to look again.
    fn sent<T>(
        &mut self,
        cx: &mut Context<'_>,
        polled: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if self.turn.0.get() != Stage::Upgraded {
            return polled;
        }
        if polled.is_ready() {
            self.stuck = None;
            return polled;
        }
        let stuck = self
            .stuck
            .get_or_insert_with(|| Box::pin(sleep(STUCK_AT_MOST)));
        match stuck.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => polled,
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
        self.sent(cx, polled)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.io).poll_flush(cx);
        self.sent(cx, polled)
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
        self.sent(cx, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }
}
