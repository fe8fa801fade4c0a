//! Malicious requests: for addresses inside the network, for a second request hidden in the first, for headers in the
//! service's own responses, and for memory.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use offhook_tests::{Account, Options, Server, both, exchange, must, text};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The first address of each block of IANA's special-purpose registries for IPv4, and those of cloud services.
const V4: [Ipv4Addr; 19] = [
    Ipv4Addr::new(0, 0, 0, 0),
    Ipv4Addr::new(10, 0, 0, 1),
    Ipv4Addr::new(100, 64, 0, 1),
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(127, 0, 0, 1),
    Ipv4Addr::new(168, 63, 129, 16),
    Ipv4Addr::new(169, 254, 169, 254),
    Ipv4Addr::new(172, 16, 0, 1),
    Ipv4Addr::new(192, 0, 0, 8),
    Ipv4Addr::new(192, 0, 2, 1),
    Ipv4Addr::new(192, 31, 196, 1),
    Ipv4Addr::new(192, 52, 193, 1),
    Ipv4Addr::new(192, 88, 99, 1),
    Ipv4Addr::new(192, 168, 0, 1),
    Ipv4Addr::new(192, 175, 48, 1),
    Ipv4Addr::new(198, 18, 0, 1),
    Ipv4Addr::new(224, 0, 0, 1),
    Ipv4Addr::new(240, 0, 0, 1),
    Ipv4Addr::new(255, 255, 255, 255),
];

/// The same for IPv6, with the forms that carry an IPv4 address.
const V6: [&str; 15] = [
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::1",
    "100::1",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::1",
    "2620:4f:8000::1",
    "3fff::1",
    "5f00::1",
    "fd00:ec2::254",
    "fe80::1",
];

/// Hosts that resolve to an address of the matrix, in every spelling that URL parsers and resolvers know.
fn hosts() -> Vec<String> {
    let mut hosts: Vec<String> = [
        "localhost",
        "localhost.",
        "metadata.google.internal",
        "printer.local",
        "db",
    ]
    .map(str::to_owned)
    .into();
    for address in V4 {
        let [a, b, c, d] = address.octets();
        let bits = u32::from(address);
        let low = bits & 0x00ff_ffff;
        hosts.extend([
            address.to_string(),
            format!("{address}."),
            format!("{bits}"),
            format!("0x{bits:x}"),
            format!("0{a:o}.0{b:o}.0{c:o}.0{d:o}"),
            format!("{a}.{low}"),
            format!("[::ffff:{address}]"),
            format!(
                "%3{}{}",
                a.to_string().as_bytes()[0] - b'0',
                &address.to_string()[1..]
            ),
        ]);
    }
    for address in V6 {
        let address: Ipv6Addr = must("an address", address.parse());
        hosts.push(format!("[{address}]"));
    }
    hosts
}

/// Each API field that takes a URL: the field's name in the error, and the request with the URL in it.
async fn ask(account: &Account, field: &str, url: &str, webhook: &str) -> (u16, Value) {
    let request = match field {
        "url of a webhook" => account.post("/v1/webhooks", json!({"url": url})),
        "url of a changed webhook" => {
            account.patch(&format!("/v1/webhooks/{webhook}"), json!({"url": url}))
        }
        "http.url of a tool" => account.post(
            "/v1/agents/tools",
            json!({"name": "t", "description": "T.", "kind": "http", "http": {"method": "GET", "url": url}}),
        ),
        "mcp.url of a tool" => account.post(
            "/v1/agents/tools",
            json!({"name": "t", "description": "T.", "kind": "mcp", "mcp": {"url": url, "functions": ["f"]}}),
        ),
        "url of a document" => account.post("/v1/knowledge/documents", json!({"name": "d", "url": url})),
        "llm.endpoint of an agent" => account.post(
            "/v1/agents",
            json!({"name": "a", "language": "es-MX", "config": {
                "system_prompt": "p",
                "llm": {"provider": "custom", "model": "m", "endpoint": url},
            }}),
        ),
        other => panic!("{other}"),
    };
    let answer = request.await;
    (answer.status, answer.json())
}

both! {
    async fn no_field_takes_an_address_of_the_special_purpose_registries(database: Database) {
        let options = Options::on(database).default_of("webhooks.allow_private_targets");
        let server = Server::start(options).await;
        let account = server.account("scale").await;
        let webhook = account
            .post("/v1/webhooks", json!({"url": "https://hooks.example.com/x"}))
            .await
            .assert(201);
        let webhook = text(&webhook["id"]).to_owned();
        for field in [
            "url of a webhook",
            "url of a changed webhook",
            "http.url of a tool",
            "mcp.url of a tool",
            "url of a document",
            "llm.endpoint of an agent",
        ] {
            let name = field.split(' ').next().unwrap_or_default();
            for host in hosts() {
                let url = format!("https://{host}:8443/latest/meta-data");
                let (status, body) = ask(&account, field, &url, &webhook).await;
                assert_eq!(status, 400, "{field}: {url}: {body}");
                let message = text(&body["message"]);
                assert_eq!(body["error"], "invalid_body", "{field}: {url}: {body}");
                assert!(message.contains(name), "{field}: {url}: {message}");
            }
            for url in [
                "http://hooks.example.com/",
                "ftp://hooks.example.com/",
                "file:///etc/passwd",
                "gopher://hooks.example.com/",
                "https://user:pw@hooks.example.com/",
                "https://hooks.example.com/#x",
                "https://hooks.example.com:22/",
                "https://hooks.example.com\\@127.0.0.1/",
                "https://127.0.0.1\\@hooks.example.com/",
                "https://hooks.example.com/\r\nHost: x",
                "//hooks.example.com/",
            ] {
                let (status, body) = ask(&account, field, url, &webhook).await;
                assert_eq!(status, 400, "{field}: {url}: {body}");
            }
        }
    }
}

/// The responses to these bytes.
async fn answers(server: &Server, bytes: &str) -> Vec<String> {
    let read = exchange(server.address(), bytes.as_bytes())
        .await
        .unwrap_or_default();
    let read = String::from_utf8_lossy(&read).into_owned();
    let lines = read.match_indices("HTTP/1.1 ").map(|(at, _)| &read[at..]);
    lines.map(|line| line.chars().take(12).collect()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_hidden_in_another_ones_body_is_never_answered() {
    let server = Server::start(Options::on(offhook_tests::Database::Sqlite)).await;
    let hidden = "GET /healthz HTTP/1.1\r\nHost: test\r\n\r\n";
    let length = hidden.len();
    let chunk = format!("{length:x}\r\n{hidden}\r\n0\r\n\r\n");
    // Framings on which a proxy and the service could disagree: each is refused, and the rest of the input is not
    // read.
    for head in [
        format!("Content-Length: {length}\r\nContent-Length: 0"),
        format!("Content-Length: 0\r\nContent-Length: {length}"),
        format!("Content-Length: 0, {length}"),
        "Content-Length: +0".to_owned(),
        "Content-Length: -1".to_owned(),
        "Content-Length: 0x0".to_owned(),
        "Content-Length: 99999999999999999999".to_owned(),
        "Transfer-Encoding : chunked".to_owned(),
        "Transfer-Encoding: xchunked".to_owned(),
        "Transfer-Encoding: chunked, identity".to_owned(),
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity".to_owned(),
        "X: y\r\n Transfer-Encoding: chunked".to_owned(),
        "Transfer-Encoding:\u{b}chunked".to_owned(),
        "X\u{0}: y".to_owned(),
    ] {
        for body in [hidden, chunk.as_str()] {
            let request = format!(
                "POST /v1/calls HTTP/1.1\r\nHost: test\r\nConnection: close\r\n{head}\r\n\r\n{body}"
            );
            let answers = answers(&server, &request).await;
            assert_eq!(answers, ["HTTP/1.1 400"], "{head:?} before {body:?}");
        }
    }
    // Both framings: the chunked one counts (RFC 9112 6.3), and the connection ends after it.
    let request = format!(
        "POST /v1/calls HTTP/1.1\r\nHost: test\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{hidden}"
    );
    let both = answers(&server, &request).await;
    assert!(both.len() == 1, "{both:?}");
    for size in ["-1", "0x4", "ffffffffffffffff1", "zz"] {
        let request = format!(
            "POST /v1/calls HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n{size}\r\n{hidden}\r\n0\r\n\r\n"
        );
        let answers = answers(&server, &request).await;
        assert!(answers.len() <= 1, "a chunk of {size}: {answers:?}");
    }
    server.client().get("/healthz").await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_a_client_writes_becomes_a_header_of_an_answer() {
    let server = Server::start(Options::on(offhook_tests::Database::Sqlite)).await;
    let account = server.account("scale").await;
    let split = "x\r\nSet-Cookie: session=1\r\n\r\n<html>";
    let document = account
        .post(
            "/v1/knowledge/documents",
            json!({"name": format!("a\"{split}"), "text": "Words."}),
        )
        .await;
    // Line ends in a name are refused, or escaped in the header.
    let targets = match document.status {
        202 => vec![format!(
            "/v1/knowledge/documents/{}/content",
            text(&document.json()["id"])
        )],
        _ => {
            document.assert_error(400, "invalid_body");
            Vec::new()
        }
    };
    let encoded = "%0d%0aSet-Cookie:%20session=1%0d%0a%0d%0a";
    let targets = targets.into_iter().chain([
        format!("/v1/{encoded}"),
        format!("/v1/agents/{encoded}"),
        format!("/v1/calls?cursor={encoded}"),
        format!("/v1/calls?{encoded}=1"),
        format!("/v1/knowledge/documents/{encoded}/content"),
    ]);
    for target in targets {
        let answer = account
            .get(&target)
            .header("X-Request-Id", "mine")
            .header("Origin", "https://evil.example")
            .header("X-Forwarded-Host", "evil.example")
            .await;
        assert_eq!(answer.header("set-cookie"), None, "{target}");
        assert_ne!(answer.header("x-request-id"), Some("mine"), "{target}");
        let names: Vec<_> = answer
            .headers
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        assert!(!names.contains(&"access-control-allow-origin"), "{names:?}");
        assert!(
            answer
                .headers
                .iter()
                .all(|(_, value)| !value.contains("evil")),
            "{target}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_packed_body_is_never_unpacked() {
    let server = Server::start(Options::on(offhook_tests::Database::Sqlite)).await;
    let account = server.account("scale").await;
    // `{}` compressed with gzip, which would be a valid body of this operation.
    let packed = [
        0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xab, 0xae, 5, 0, 0x43, 0xbf, 0xa6, 0xa3, 2, 0, 0, 0,
    ];
    let agent = account.agent().await;
    for encoding in ["gzip", "deflate", "br", "zstd", "GZIP", "identity, gzip"] {
        account
            .request("POST", &format!("/v1/agents/{agent}/publish"))
            .header("Content-Type", "application/json")
            .header("Content-Encoding", encoding)
            .body(packed)
            .await
            .assert_error(400, "invalid_json");
    }
}

/// Every route that accepts a body without authentication, and its largest body.
const OPEN_TO_ALL: [(&str, &str, u64); 5] = [
    ("/portal/sign-in", FORM, 8 << 20),
    ("/portal/knowledge/upload?_token=x", FILE, 24 << 20),
    ("/portal/batch-calls/send?_token=x", FILE, 24 << 20),
    ("/portal/agents", FORM, 4 << 20),
    (
        "/callbacks/legacy/01a218d4-f991-7dc4-a0a9-4be15a2a8ea7",
        JSON,
        4 << 20,
    ),
];
const FORM: &str = "application/x-www-form-urlencoded";
const FILE: &str = "multipart/form-data; boundary=x";
const JSON: &str = "application/json\r\nElevenLabs-Signature: t=1,v0=00";

fn head(path: &str, kind: &str, length: u64) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: test\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_stranger_announces_is_refused_before_it_comes() {
    let server = Server::start(Options::on(offhook_tests::Database::Sqlite)).await;
    for (path, kind, most) in OPEN_TO_ALL {
        for length in [most + 1, 10_000_000_000_000] {
            let mut socket = must("a connection", TcpStream::connect(server.address()).await);
            must(
                "a head",
                socket.write_all(head(path, kind, length).as_bytes()).await,
            );
            let mut answer = [0; 12];
            let read = timeout(Duration::from_secs(5), socket.read_exact(&mut answer)).await;
            assert!(
                read.is_ok_and(|read| read.is_ok()),
                "{path}: {length} bytes are waited for"
            );
            assert_eq!(&answer[..10], b"HTTP/1.1 4", "{path}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_strangers_send_and_never_end_fills_no_memory() {
    let server = Server::start(Options::on(offhook_tests::Database::Sqlite)).await;
    let before = server.resident_mib();
    let piece = vec![b'a'; 64 * 1024];
    let mut open = Vec::new();
    // More than a gigabyte if all of it were read: bytes before a form's first part, and endless fields.
    for connection in 0..100_usize {
        let (path, kind, most) = OPEN_TO_ALL[connection % OPEN_TO_ALL.len()];
        let mut socket = must("a connection", TcpStream::connect(server.address()).await);
        must(
            "a head",
            socket.write_all(head(path, kind, most).as_bytes()).await,
        );
        open.push((socket, most - 1));
    }
    let sending = open.iter_mut().map(|(socket, left)| {
        let piece = &piece;
        async move {
            while *left > 0 {
                let next = usize::try_from(*left).map_or(piece.len(), |left| left.min(piece.len()));
                let sent = timeout(Duration::from_secs(2), socket.write_all(&piece[..next])).await;
                if !sent.is_ok_and(|sent| sent.is_ok()) {
                    return;
                }
                *left -= next as u64;
            }
        }
    });
    futures_util::future::join_all(sending).await;
    let grown = server.resident_mib().saturating_sub(before);
    assert!(grown <= 128, "{grown} MiB");
    server.client().get("/healthz").await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_that_nobody_reads_fill_no_memory() {
    let server = Server::start(Options::on(offhook_tests::Database::Sqlite)).await;
    let before = server.resident_mib();
    let mut open = Vec::new();
    // 380 MiB, if each connection held its response.
    for _ in 0..300 {
        let mut socket = must("a connection", TcpStream::connect(server.address()).await);
        must(
            "a request",
            socket
                .write_all(b"GET /openapi.json HTTP/1.1\r\nHost: test\r\n\r\n")
                .await,
        );
        open.push(socket);
    }
    for socket in &mut open {
        must("the beginning of an answer", socket.read_u8().await);
    }
    let grown = server.resident_mib().saturating_sub(before);
    assert!(grown <= 80, "{grown} MiB");
}
