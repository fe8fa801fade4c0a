//! The headers of every response, and input that never became a request.

use std::time::Duration;

use actix_web::{HttpServer, web};
use offhook_http::HttpConfig;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::it::app::{Setup, TestApp};
use crate::it::client::{Request, exchange, must};

#[tokio::test(flavor = "multi_thread")]
async fn the_request_id_is_the_servers_own() {
    let app = TestApp::start().await;
    let mine = "0190163d-8694-739b-aea5-966c26f8ad91";
    let mut seen = vec![mine.to_owned()];
    for path in ["/v1/me", "/v1/models", "/healthz", "/nothing"] {
        let answer = app.get(path).header("X-Request-Id", mine).await;
        let id = answer.header("x-request-id").unwrap_or_default().to_owned();
        assert_eq!((id.len(), id.as_bytes()[14]), (36, b'7'), "{path}");
        assert!(!seen.contains(&id), "{path}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        seen.push(id);
    }
    let keyed = app.get("/v1/models").await;
    assert_eq!(keyed.header("cache-control"), Some("no-store"));
}

fn fails() -> String {
    panic!("secret reason")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_that_panics_answers_500_and_the_server_lives_on() {
    let app = TestApp::start().await;
    let state = app.state.clone();
    let server = HttpServer::new(move || {
        let panics = web::get().to(|| async { fails() });
        offhook_http::app(state.clone()).route("/v1/panic", panics)
    });
    let server = must(server.workers(1).disable_signals().bind("127.0.0.1:0"));
    let address = server.addrs()[0];
    let server = server.run();
    let handle = server.handle();
    tokio::spawn(server);
    for _ in 0..3 {
        let answer = Request::new(address, "GET", "/v1/panic")
            .key(&app.token)
            .await;
        let message = answer.assert_error(500, "internal_error");
        assert!(!message.contains("secret"), "{message}");
    }
    let me = Request::new(address, "GET", "/v1/me").key(&app.token);
    me.await.assert(200);
    handle.stop(false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_head_that_cannot_be_read_gets_a_bare_answer() {
    let app = TestApp::start().await;
    for head in ["x\r\n\r\n", "GET / HTTP/1.1\r\nbad header\r\n\r\n"] {
        let answer = exchange(app.address, head.as_bytes()).await;
        assert!(answer.starts_with(b"HTTP/1.1 400"), "{answer:?}");
    }
    app.read("/v1/me").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_head_that_does_not_come_in_time_gets_a_bare_408() {
    let app = TestApp::with(Setup {
        config: HttpConfig {
            head_timeout: Duration::from_millis(50),
            ..HttpConfig::default()
        },
        ..Setup::default()
    })
    .await;
    let answer = exchange(app.address, b"GET /v1/me HTTP/1.1\r\nHost: te").await;
    assert!(answer.starts_with(b"HTTP/1.1 408"), "{answer:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_later_head_on_a_connection_has_a_limit_too_and_a_quiet_connection_none() {
    let limit = Duration::from_millis(800);
    let app = TestApp::with(Setup {
        config: HttpConfig {
            head_timeout: limit,
            ..HttpConfig::default()
        },
        ..Setup::default()
    })
    .await;
    let whole = b"GET /healthz HTTP/1.1\r\nHost: test\r\n\r\n";
    let mut socket = TcpStream::connect(app.address).await.unwrap();
    let mut answer = vec![0; 4096];
    for _ in 0..3 {
        socket.write_all(whole).await.unwrap();
        let read = socket.read(&mut answer).await.unwrap();
        assert!(answer[..read].starts_with(b"HTTP/1.1 200"), "{answer:?}");
        // Quiet for longer than a head may take.
        tokio::time::sleep(limit * 3).await;
    }
    socket.write_all(&whole[..20]).await.unwrap();
    let began = std::time::Instant::now();
    let mut rest = Vec::new();
    let ended = tokio::time::timeout(Duration::from_secs(20), socket.read_to_end(&mut rest));
    ended.await.unwrap().unwrap();
    assert!(rest.starts_with(b"HTTP/1.1 408"), "{rest:?}");
    assert!(began.elapsed() >= limit / 2);

    // A byte now and then does not extend the time.
    let mut socket = TcpStream::connect(app.address).await.unwrap();
    socket.write_all(whole).await.unwrap();
    let read = socket.read(&mut answer).await.unwrap();
    assert!(answer[..read].starts_with(b"HTTP/1.1 200"), "{answer:?}");
    let began = std::time::Instant::now();
    for byte in b"GET /healthz HTTP/1.1\r\nx: "
        .iter()
        .chain(std::iter::repeat(&b'y'))
    {
        if socket.write_all(&[*byte]).await.is_err() {
            break;
        }
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "it goes on and on"
        );
        tokio::time::sleep(limit / 10).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_address_has_a_share_of_the_connections_and_gets_it_back() {
    let app = TestApp::with(Setup {
        config: HttpConfig {
            max_connections: 16,
            ..HttpConfig::default()
        },
        ..Setup::default()
    })
    .await;
    let is_served = async |socket: &mut TcpStream| {
        let _ = socket
            .write_all(b"GET /healthz HTTP/1.1\r\nHost: test\r\n\r\n")
            .await;
        let mut answer = [0; 12];
        socket.read_exact(&mut answer).await.is_ok()
    };
    let mut open = Vec::new();
    for _ in 0..2 {
        let mut socket = TcpStream::connect(app.address).await.unwrap();
        assert!(is_served(&mut socket).await);
        open.push(socket);
    }
    let mut more = TcpStream::connect(app.address).await.unwrap();
    assert!(!is_served(&mut more).await);
    open.pop();
    let again = async || {
        let mut socket = TcpStream::connect(app.address).await.unwrap();
        is_served(&mut socket).await
    };
    let given_back = async {
        while !again().await {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), given_back)
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_nobody_reads_ends_with_its_connection() {
    let app = TestApp::with(Setup {
        config: HttpConfig {
            answer_timeout: Duration::from_millis(300),
            ..HttpConfig::default()
        },
        ..Setup::default()
    })
    .await;
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut socket = socket.connect(app.address).await.unwrap();
    let asked = b"GET /openapi.json HTTP/1.1\r\nHost: test\r\n\r\n".repeat(20);
    socket.write_all(&asked).await.unwrap();
    // The operating system buffers some of it, even if the server does not read.
    let is_closed = async {
        while socket
            .write_all(b"GET / HTTP/1.1\r\nHost: test\r\n\r\n")
            .await
            .is_ok()
        {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), is_closed)
        .await
        .unwrap();
    // A client that reads gets the whole document, every time.
    for _ in 0..3 {
        let document = app.bare("GET", "/openapi.json").await.assert(200);
        assert_eq!(document, offhook_http::openapi_document());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_openapi_document_is_served() {
    let app = TestApp::start().await;
    let document = app.bare("GET", "/openapi.json").await.assert(200);
    assert_eq!(document["info"]["version"], "1.0.0");
    assert_eq!(document, offhook_http::openapi_document());
}

#[tokio::test(flavor = "multi_thread")]
async fn browsers_may_ask_only_from_listed_origins() {
    let app = TestApp::with(Setup {
        config: HttpConfig {
            cors_origins: vec!["https://app.example.com".to_owned()],
            ..HttpConfig::default()
        },
        ..Setup::default()
    })
    .await;
    let preflight = |origin: &str| {
        app.bare("OPTIONS", "/v1/calls")
            .header("Origin", origin)
            .header("Access-Control-Request-Method", "POST")
    };
    let allowed = preflight("https://app.example.com").await;
    assert_eq!((allowed.status, allowed.body.len()), (204, 0));
    let origin = "access-control-allow-origin";
    assert_eq!(allowed.header(origin), Some("https://app.example.com"));
    let expected = Some("GET, POST, PUT, PATCH, DELETE");
    assert_eq!(allowed.header("access-control-allow-methods"), expected);
    let refused = preflight("https://evil.example.com").await;
    refused.assert_error(405, "method_not_allowed");
    assert_eq!(refused.header(origin), None);
    // Pages can also read errors.
    let error = app
        .bare("GET", "/v1/me")
        .header("Origin", "https://app.example.com");
    let error = error.await;
    error.assert_error(401, "unauthorized");
    assert_eq!(error.header(origin), Some("https://app.example.com"));
    assert_eq!(error.header("vary"), Some("Origin"));
    let app = TestApp::start().await;
    let none = app
        .get("/v1/me")
        .header("Origin", "https://app.example.com");
    let none = none.await;
    assert_eq!((none.header(origin), none.header("vary")), (None, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_process_says_whether_it_can_serve() {
    let app = TestApp::start().await;
    let health = app.bare("GET", "/healthz").await.assert(200);
    assert_eq!(health, json!({"status": "ok"}));
    let ready = app.bare("GET", "/readyz").await.assert(200);
    assert_eq!(ready, json!({"status": "ready"}));
    app.services.health().stop();
    let stopping = app.bare("GET", "/readyz").await.assert(503);
    assert_eq!(
        stopping,
        json!({"status": "stopping", "reason": "this process is being stopped: its live calls go on to their end"})
    );
    app.bare("GET", "/healthz").await.assert(200);
}
