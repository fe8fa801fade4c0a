//! Load: kept connections, prepared bytes, and latencies.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use futures_util::future::try_join_all;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::pairs::percentile;

/// When a load ends.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Until {
    /// After this time.
    Elapsed(Duration),
    /// After this many requests in all.
    Count(usize),
}

/// The result of a load.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// Requests per second.
    pub(crate) rate: f64,
    /// Latencies in milliseconds, sorted.
    pub(crate) latencies: Vec<f64>,
}

impl Loaded {
    /// The latency that this share of the requests did not exceed.
    pub(crate) fn percentile(&self, share: f64) -> f64 {
        percentile(&self.latencies, share)
    }
}

/// Sends requests on `connections` connections, each after the response to the previous one. `request` writes the
/// next request of a connection; every response must have the status code `expected`.
pub(crate) async fn run(
    address: SocketAddr,
    connections: usize,
    until: Until,
    expected: u16,
    request: impl Fn(usize, usize, &mut Vec<u8>),
) -> anyhow::Result<Loaded> {
    let mut clients = Vec::new();
    for _ in 0..connections {
        clients.push(Client::connect(address).await?);
    }
    let began = Instant::now();
    let request = &request;
    let each = clients
        .into_iter()
        .enumerate()
        .map(|(number, mut client)| async move {
            let (mut latencies, mut bytes) = (Vec::new(), Vec::new());
            for sent in 0.. {
                let ends = match until {
                    Until::Elapsed(time) => began.elapsed() >= time,
                    Until::Count(count) => sent * connections + number >= count,
                };
                if ends {
                    break;
                }
                bytes.clear();
                request(number, sent, &mut bytes);
                let sent_at = Instant::now();
                let status = client.exchange(&bytes).await?;
                latencies.push(sent_at.elapsed().as_secs_f64() * 1e3);
                if status != expected {
                    bail!("{status} instead of {expected}: {}", client.text());
                }
            }
            Ok(latencies)
        });
    let mut latencies: Vec<f64> = try_join_all(each).await?.into_iter().flatten().collect();
    let rate = latencies.len() as f64 / began.elapsed().as_secs_f64();
    latencies.sort_by(f64::total_cmp);
    Ok(Loaded { rate, latencies })
}

/// The rate of one repeated request.
pub(crate) async fn rate(
    address: SocketAddr,
    connections: usize,
    until: Until,
    expected: u16,
    bytes: &[u8],
) -> anyhow::Result<f64> {
    let send = |_: usize, _: usize, out: &mut Vec<u8>| out.extend_from_slice(bytes);
    let loaded = run(address, connections, until, expected, send).await?;
    Ok(loaded.rate)
}

/// A kept HTTP/1.1 connection.
pub(crate) struct Client {
    stream: TcpStream,
    answer: Vec<u8>,
    body_at: usize,
}

impl Client {
    pub(crate) async fn connect(address: SocketAddr) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            answer: Vec::with_capacity(32 * 1024),
            body_at: 0,
        })
    }

    /// Sends a request and reads its complete response; returns the status code.
    pub(crate) async fn exchange(&mut self, request: &[u8]) -> anyhow::Result<u16> {
        self.stream.write_all(request).await?;
        self.answer.clear();
        loop {
            if self.stream.read_buf(&mut self.answer).await? == 0 {
                bail!("the connection was closed in an answer");
            }
            let Some(head) = self.answer.windows(4).position(|at| at == b"\r\n\r\n") else {
                continue;
            };
            self.body_at = head + 4;
            let (status, length) = read_head(&self.answer[..head])?;
            while self.answer.len() < self.body_at + length {
                if self.stream.read_buf(&mut self.answer).await? == 0 {
                    bail!("the connection was closed in a body");
                }
            }
            return Ok(status);
        }
    }

    /// The last response's body.
    pub(crate) fn body(&self) -> &[u8] {
        &self.answer[self.body_at..]
    }

    /// The last response, for a message.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.answer).into_owned()
    }
}

fn read_head(head: &[u8]) -> anyhow::Result<(u16, usize)> {
    let head = std::str::from_utf8(head)?;
    let status = head.get(9..12).context("no status")?.parse()?;
    let length = head.lines().skip(1).find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse().ok())
            .flatten()
    });
    Ok((status, length.unwrap_or(0)))
}

/// A request as bytes.
pub(crate) fn request(method: &str, path: &str, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nHost: bench\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}
