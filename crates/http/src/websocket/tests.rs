//! Tests connections of the HTTP library over a wire that holds one kilobyte, with a paused clock.

use std::cell::Cell;
use std::rc::Rc;

use actix_http::{HttpService, Protocol};
use actix_service::{Service, ServiceFactory, map_config};
use actix_web::dev::AppConfig;
use actix_web::{App, web};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::task::{JoinHandle, LocalSet, spawn_local};
use tokio::time::{sleep, timeout};

use super::*;
use crate::edge::connection::Connection;

/// The most bytes in transit.
const WIRE: usize = 1_024;

const LONG: Duration = Duration::from_secs(3_600);

/// Sends 640 bytes every 20 ms unless `is_quiet`, and reports what it receives.
struct Talker<const MOST_BINARY: usize> {
    is_there: Rc<Cell<bool>>,
    is_quiet: bool,
}

impl<const MOST_BINARY: usize> Drop for Talker<MOST_BINARY> {
    fn drop(&mut self) {
        self.is_there.set(false);
    }
}

impl<const MOST_BINARY: usize> Speaker for Talker<MOST_BINARY> {
    const PROTOCOL: Option<&str> = Some("test");
    const MOST_BINARY: usize = MOST_BINARY;
    const MOST_OTHERS: u32 = 20;
    type News = ();

    async fn news(&mut self) {
        match self.is_quiet {
            true => std::future::pending().await,
            false => sleep(Duration::from_millis(20)).await,
        }
    }

    fn tell(&mut self, (): (), line: &mut Line) {
        line.binary(Bytes::from_static(&[0; 640]));
    }

    fn text(&mut self, text: &[u8], line: &mut Line) {
        match text {
            b"end" => line.close(CloseCode::Normal, "ended"),
            _ => line.text(format!("{} bytes of text", text.len())),
        }
    }

    fn binary(&mut self, bytes: &[u8], line: &mut Line) {
        line.text(format!("{} bytes", bytes.len()));
    }
}

/// The client of a connection.
struct Peer {
    wire: DuplexStream,
    /// The connection's task.
    served: JoinHandle<bool>,
    /// Whether the speaker still exists.
    is_there: Rc<Cell<bool>>,
}

impl Peer {
    /// A peer after the handshake, with a speaker that accepts up to 8 bytes at once.
    async fn new(is_quiet: bool) -> Self {
        Self::of::<8>(is_quiet).await
    }

    async fn of<const MOST_BINARY: usize>(is_quiet: bool) -> Self {
        let is_there = Rc::new(Cell::new(true));
        let flag = is_there.clone();
        let app = App::new().route(
            "/",
            web::get().to(move |req: HttpRequest, payload: web::Payload| {
                let is_there = flag.clone();
                let talker = Talker::<MOST_BINARY> { is_there, is_quiet };
                let stop = CancellationToken::new();
                let opened = open(&req, payload.into_inner(), stop, talker);
                async move { opened.unwrap() }
            }),
        );
        let service = HttpService::build()
            .on_connect_ext(|connection: &Connection<DuplexStream>, data| {
                data.insert(connection.turn().clone());
            })
            .finish(map_config(app, |()| AppConfig::default()))
            .new_service(())
            .await
            .unwrap();
        let (mut wire, ours) = duplex(WIRE);
        let served = spawn_local(async move {
            let connection = Connection::new(ours, (LONG, LONG));
            let ended = service.call((connection, Protocol::Http1, None)).await;
            ended.is_ok()
        });
        let handshake = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\
                          Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
        wire.write_all(handshake).await.unwrap();
        let mut peer = Self {
            wire,
            served,
            is_there,
        };
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(peer.wire.read_u8().await.unwrap());
        }
        let head = String::from_utf8(head).unwrap().to_lowercase();
        assert!(head.starts_with("http/1.1 101"), "{head}");
        assert!(
            head.contains("sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo="),
            "{head}"
        );
        assert!(head.contains("sec-websocket-protocol: test"), "{head}");
        peer
    }

    /// Sends a frame with this first byte, masked with zeros.
    async fn send(&mut self, first: u8, payload: &[u8]) {
        let mut frame = vec![first];
        match u8::try_from(payload.len()) {
            Ok(length @ 0..126) => frame.push(0x80 | length),
            _ => {
                frame.push(0xff);
                frame.extend((payload.len() as u64).to_be_bytes());
            }
        }
        frame.extend([0; 4]);
        frame.extend(payload);
        // The connection may have ended meanwhile.
        let _ = self.wire.write_all(&frame).await;
    }

    /// The next frame: its first byte and its payload.
    async fn next(&mut self) -> (u8, Vec<u8>) {
        let first = self.wire.read_u8().await.unwrap();
        let mut length = usize::from(self.wire.read_u8().await.unwrap());
        if length == 126 {
            length = usize::from(self.wire.read_u16().await.unwrap());
        }
        let mut payload = vec![0; length];
        self.wire.read_exact(&mut payload).await.unwrap();
        (first, payload)
    }

    /// The response to a frame: a text, or the code of a close.
    async fn text(&mut self) -> Result<String, u16> {
        match self.next().await {
            (0x81, text) => Ok(String::from_utf8(text).unwrap()),
            (0x88, reason) => Err(u16::from_be_bytes([reason[0], reason[1]])),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_nobody_reads_ends_after_ten_seconds_and_its_speaker_with_it() {
    let test = async {
        let peer = Peer::new(false).await;
        let since = Instant::now();
        let ended = timeout(LONG, peer.served).await;
        assert!(!ended.expect("it goes on for an hour").unwrap());
        let lasted = since.elapsed().as_millis();
        assert!((10_000..10_500).contains(&lasted), "{lasted}");
        assert!(!peer.is_there.get());
        drop(peer.wire);
    };
    LocalSet::new().run_until(test).await;
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_is_read_slowly_or_has_nothing_to_say_goes_on() {
    let test = async {
        let mut slow = Peer::new(false).await;
        let mut waits = Peer::new(true).await;
        for _ in 0..20 {
            sleep(Duration::from_secs(9)).await;
            let mut some = vec![0; 512];
            slow.wire.read_exact(&mut some).await.unwrap();
        }
        assert!(slow.is_there.get() && !slow.served.is_finished());
        assert!(waits.is_there.get() && !waits.served.is_finished());
        // One ping every 15 seconds.
        for _ in 0..12 {
            assert_eq!(waits.next().await, (0x89, Vec::new()));
        }
        waits.send(0x81, b"still there").await;
        assert_eq!(waits.text().await, Ok("11 bytes of text".to_owned()));
    };
    LocalSet::new().run_until(test).await;
}

#[tokio::test(start_paused = true)]
async fn a_message_that_may_come_is_taken_whole_and_any_other_ends_the_connection() {
    let test = async {
        let mut peer = Peer::new(true).await;
        peer.send(0x82, b"sound").await;
        assert_eq!(peer.text().await, Ok("5 bytes".to_owned()));
        for (first, part) in [(0x01, "pie"), (0x00, "ces"), (0x80, "!")] {
            peer.send(first, part.as_bytes()).await;
        }
        assert_eq!(peer.text().await, Ok("7 bytes of text".to_owned()));
        for (first, part) in [(0x02, "12345"), (0x80, "678")] {
            peer.send(first, part.as_bytes()).await;
        }
        assert_eq!(peer.text().await, Ok("8 bytes".to_owned()));
        peer.send(0x89, b"ping").await;
        assert_eq!(peer.next().await, (0x8a, b"ping".to_vec()));

        for (what, frames, code) in [
            ("too much sound", vec![(0x82, 9)], 1009),
            ("too much sound in pieces", vec![(0x02, 5), (0x80, 4)], 1009),
            ("too long a text", vec![(0x81, 64 * 1024 + 1)], 1009),
            (
                "too long a text in pieces",
                vec![(0x01, 64 * 1024), (0x00, 1)],
                1009,
            ),
            ("no frame", vec![(0xf3, 1)], 1002),
            ("a piece of nothing", vec![(0x80, 1)], 1002),
            ("a flood of pings", vec![(0x8a, 0); 21], 1008),
        ] {
            let mut peer = Peer::new(true).await;
            for (first, length) in frames {
                peer.send(first, &vec![b'a'; length]).await;
            }
            assert_eq!(peer.text().await, Err(code), "{what}");
            assert!(!peer.is_there.get(), "{what}");
        }
        for first in [0x82, 0x02] {
            let mut texts_alone = Peer::of::<0>(true).await;
            texts_alone.send(0x81, b"text").await;
            assert_eq!(texts_alone.text().await, Ok("4 bytes of text".to_owned()));
            texts_alone.send(first, b"s").await;
            assert_eq!(texts_alone.text().await, Err(1003));
        }
    };
    LocalSet::new().run_until(test).await;
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_is_closed_ends_within_two_seconds_whatever_the_other_side_does() {
    let test = async {
        let mut peer = Peer::new(true).await;
        peer.send(0x81, b"end").await;
        assert_eq!(peer.text().await, Err(1000));
        assert!(!peer.is_there.get());
        let since = Instant::now();
        peer.send(0x82, b"more").await;
        assert_eq!(peer.wire.read(&mut [0]).await.unwrap(), 0);
        assert!(since.elapsed() <= Duration::from_secs(4));

        let mut goes = Peer::new(true).await;
        goes.send(0x88, &[]).await;
        assert_eq!(goes.next().await, (0x88, Vec::new()));
        assert!(!goes.is_there.get());
    };
    LocalSet::new().run_until(test).await;
}
