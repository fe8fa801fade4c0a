//! A webhook receiver that responds with 200 at once, and notes when requests arrived.

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::ensure;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::LocalSet;

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// The length of a call's handle, such as `call_01890000-0000-7000-8000-000000000000`.
const HANDLE: usize = 41;

/// The length of an event's id.
const ID: usize = 36;

#[derive(Debug, Default)]
struct Seen {
    count: usize,
    first: Option<Instant>,
    last: Option<Instant>,
    /// When the first byte of each request arrived, by what it is about.
    came: HashMap<String, Instant>,
    keeps: Keeps,
    /// Only requests with this text count.
    with: &'static str,
}

/// By what a request is found again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Keeps {
    #[default]
    Nothing,
    /// The handle of its call.
    Calls,
    /// The id of its event.
    Events,
}

/// Listens on several addresses, on the `LocalSet` of the calling thread.
#[derive(Clone)]
pub(crate) struct Receiver {
    pub(crate) addresses: Vec<SocketAddr>,
    seen: Rc<RefCell<Seen>>,
}

impl Receiver {
    /// Listens on `ports` ports; `silent` receivers accept requests and never respond.
    pub(crate) async fn start(
        tasks: &LocalSet,
        ports: usize,
        silent: bool,
    ) -> anyhow::Result<Self> {
        let seen: Rc<RefCell<Seen>> = Rc::default();
        let mut addresses = Vec::new();
        for _ in 0..ports {
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            addresses.push(listener.local_addr()?);
            let seen = seen.clone();
            tasks.spawn_local(async move {
                while let Ok((stream, _)) = listener.accept().await {
                    let seen = seen.clone();
                    // Only the sender needs to notice a broken connection.
                    tokio::task::spawn_local(async move {
                        let _ = serve(stream, &seen, silent).await;
                    });
                }
            });
        }
        Ok(Self { addresses, seen })
    }

    /// Clears the records; from now on keeps these, of requests with this text.
    pub(crate) fn reset(&self, keeps: Keeps, with: &'static str) {
        *self.seen.borrow_mut() = Seen {
            keeps,
            with,
            ..Seen::default()
        };
    }

    /// When the request about this call or event arrived.
    pub(crate) fn came(&self, about: &str) -> Option<Instant> {
        self.seen.borrow().came.get(about).copied()
    }

    /// Waits for `count` requests; returns the time from the first to the last.
    pub(crate) async fn wait_for(&self, count: usize, most: Duration) -> anyhow::Result<Duration> {
        let last = self.wait_for_last(count, most).await?;
        let first = self.seen.borrow().first;
        Ok(last - first.unwrap_or(last))
    }

    /// Waits for `count` requests; returns when the last one arrived.
    pub(crate) async fn wait_for_last(
        &self,
        count: usize,
        most: Duration,
    ) -> anyhow::Result<Instant> {
        let began = Instant::now();
        loop {
            {
                let seen = self.seen.borrow();
                if let (true, Some(last)) = (seen.count >= count, seen.last) {
                    return Ok(last);
                }
                let came = seen.count;
                ensure!(began.elapsed() < most, "{came} of {count} deliveries came");
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

async fn serve(mut stream: TcpStream, seen: &RefCell<Seen>, silent: bool) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut bytes = Vec::with_capacity(4096);
    loop {
        bytes.clear();
        let mut came = None;
        let whole = loop {
            if stream.read_buf(&mut bytes).await? == 0 {
                return Ok(());
            }
            came.get_or_insert_with(Instant::now);
            if let Some(whole) = request_length(&bytes)
                && bytes.len() >= whole
            {
                break whole;
            }
        };
        note(&mut seen.borrow_mut(), &bytes[..whole], came);
        if !silent {
            stream.write_all(ANSWER).await?;
        }
    }
}

fn note(seen: &mut Seen, request: &[u8], came: Option<Instant>) {
    let with = seen.with.as_bytes();
    if !with.is_empty() && !request.windows(with.len()).any(|window| window == with) {
        return;
    }
    seen.count += 1;
    seen.first = seen.first.or(came);
    seen.last = came;
    let (before, skipped, length): (&[u8], _, _) = match seen.keeps {
        Keeps::Nothing => return,
        Keeps::Calls => (b"call_", 0, HANDLE),
        Keeps::Events => (b"{\"id\":\"", 7, ID),
    };
    let mut windows = request.windows(before.len());
    if let Some(at) = windows.position(|window| window == before)
        && let Some(about) = request.get(at + skipped..at + skipped + length)
        && let Some(came) = came
    {
        let about = String::from_utf8_lossy(about).into_owned();
        seen.came.entry(about).or_insert(came);
    }
}

/// The length of the request at the beginning of `bytes`, once its head is complete.
fn request_length(bytes: &[u8]) -> Option<usize> {
    let head = bytes.windows(4).position(|at| at == b"\r\n\r\n")?;
    let length = std::str::from_utf8(&bytes[..head])
        .ok()?
        .lines()
        .find_map(|line| {
            let (name, value) = line.split_once(':')?;
            let is_length = name.eq_ignore_ascii_case("content-length");
            is_length
                .then(|| value.trim().parse::<usize>().ok())
                .flatten()
        });
    Some(head + 4 + length.unwrap_or(0))
}
