//! Documents from URLs: the guarded fetch, against a server whose host name resolves to this machine.

use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use offhook_egress::{GuardedClient, Lookup, LookupError, Policy};
use offhook_services::documents::InProcess;
use offhook_testkit::files;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::it::app::{TestApp, text};
use crate::it::client::must;
use crate::it::knowledge::{DOCUMENTS, SEARCH, read};

const HOST: &str = "docs.example.com";

/// Making it takes longer than a server may take to respond.
static BOMB: LazyLock<Vec<u8>> = LazyLock::new(files::docx_bomb);

const MAX: usize = 20 * 1024 * 1024;

/// Resolves every name to this address.
struct One(IpAddr);

impl Lookup for One {
    fn lookup(&self, _host: &str) -> BoxFuture<'static, Result<Vec<IpAddr>, LookupError>> {
        std::future::ready(Ok(vec![self.0])).boxed()
    }
}

/// A server on this machine with a certificate for [`HOST`].
struct Site {
    port: u16,
    requests: Arc<AtomicUsize>,
    trusting: ClientConfig,
}

impl Site {
    async fn start() -> Self {
        let CertifiedKey { cert, signing_key } =
            must(generate_simple_self_signed(vec![HOST.to_owned()]));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut roots = RootCertStore::empty();
        must(roots.add(cert.der().clone()));
        let trusting = ClientConfig::builder_with_provider(provider.clone());
        let trusting = must(trusting.with_safe_default_protocol_versions())
            .with_root_certificates(roots)
            .with_no_client_auth();
        let key = PrivateKeyDer::Pkcs8(signing_key.serialize_der().into());
        let config = ServerConfig::builder_with_provider(provider);
        let config = must(config.with_safe_default_protocol_versions())
            .with_no_client_auth()
            .with_single_cert(vec![cert.der().clone()], key);
        let acceptor = TlsAcceptor::from(Arc::new(must(config)));
        let listener = must(TcpListener::bind("127.0.0.1:0").await);
        let site = Self {
            port: must(listener.local_addr()).port(),
            requests: Arc::default(),
            trusting,
        };
        let requests = site.requests.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (acceptor, requests) = (acceptor.clone(), requests.clone());
                tokio::spawn(async move { answer(acceptor, socket, &requests).await });
            }
        });
        site
    }

    fn url(&self, path: &str) -> String {
        format!("https://{HOST}:{}/{path}", self.port)
    }

    /// Starts to read documents, with names that resolve to `address`.
    fn document_worker(&self, app: &TestApp, address: &str, policy: Policy) -> CancellationToken {
        let lookup = Arc::new(One(must(address.parse())));
        let client = must(GuardedClient::with_parts(
            policy,
            lookup,
            self.trusting.clone(),
        ));
        let stop = CancellationToken::new();
        let document_worker = app.services.document_worker(Arc::new(InProcess), client);
        let document_worker = document_worker.fetch_within(Duration::from_secs(4));
        tokio::spawn(document_worker.run(stop.clone()));
        stop
    }
}

async fn answer(acceptor: TlsAcceptor, socket: TcpStream, requests: &AtomicUsize) -> Option<()> {
    let mut socket = acceptor.accept(socket).await.ok()?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(socket.read_u8().await.ok()?);
    }
    requests.fetch_add(1, Ordering::SeqCst);
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1)?.trim_start_matches('/').to_owned();
    let whole = |status: &str, kind: &str, body: &[u8]| {
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status}\r\n{kind}Content-Length: {length}\r\nConnection: close\r\n\r\n"
        );
        [head.as_bytes(), body].concat()
    };
    let ok = |kind: &str, body: &[u8]| {
        let kind = format!("Content-Type: {kind}\r\n");
        whole("200 OK", &kind, body)
    };
    let bytes = match path.as_str() {
        "hours" => ok(
            "text/html; charset=utf-8",
            "<p>The pool opens at nine, señor.</p>".as_bytes(),
        ),
        "polish" => ok("text/html; charset=ISO-8859-2", b"<p>\xb3\xf3d\xbc</p>"),
        "japanese" => ok(
            "text/html",
            b"<meta charset=shift_jis><p>\x97\xbf\x8b\xe0</p>",
        ),
        "prices.csv" => ok(
            "text/plain; charset=windows-1252",
            b"room,a\xf1o\nSuite,2026\n",
        ),
        "a.pdf" => ok(
            "application/octet-stream",
            &files::pdf("Breakfast is early."),
        ),
        "no-type" => whole("200 OK", "", b"Towels are free."),
        "picture" => ok("image/png", b"\x89PNG\r\n\x1a\n"),
        "program" => ok("application/octet-stream", b"MZ\x90\0\x03\0\0\0"),
        "empty" => ok("text/plain", b""),
        "locked.pdf" => ok("application/pdf", &files::encrypted_pdf()),
        "bomb.docx" => ok("application/octet-stream", &BOMB),
        "missing" => whole("404 Not Found", "", b"gone"),
        "secret" => whole("401 Unauthorized", "WWW-Authenticate: Basic\r\n", b""),
        "moved" => whole(
            "302 Found",
            &format!("Location: https://{HOST}/hours\r\n"),
            b"",
        ),
        "inside" => whole(
            "307 Temporary Redirect",
            "Location: http://169.254.169.254/latest\r\n",
            b"",
        ),
        "most" => ok("text/plain", &vec![b'x'; MAX]),
        "more" => ok("text/plain", &vec![b'x'; MAX + 1]),
        "endless" => {
            let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n";
            socket.write_all(head).await.ok()?;
            // Until the client disconnects.
            while socket.write_all(&[b'x'; 65_536]).await.is_ok() {}
            return None;
        }
        "cut" => {
            b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n\r\nTowels"
                .to_vec()
        }
        "silent" => std::future::pending().await,
        "dripping" => {
            let head =
                b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1000\r\n\r\n";
            socket.write_all(head).await.ok()?;
            loop {
                socket.write_all(b"x").await.ok()?;
                socket.flush().await.ok()?;
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        }
        _ => b"SSH-2.0-OpenSSH_9.9\r\n".to_vec(),
    };
    socket.write_all(&bytes).await.ok()?;
    socket.shutdown().await.ok()
}

/// Adds a document by URL and waits until it has been read.
async fn from(app: &TestApp, url: &str) -> Value {
    let body = json!({"name": "Page", "url": url});
    let made = app.post(DOCUMENTS, body).await.assert(202);
    assert_eq!(made["source"], "url");
    assert_eq!(made["mime_type"], json!(null));
    assert_eq!(made["size_bytes"], json!(null));
    read(app, &text(&made["id"])).await
}

async fn content(app: &TestApp, document: &Value) -> String {
    let target = format!("{DOCUMENTS}/{}/content", text(&document["id"]));
    let answer = app.get(&target).await;
    assert_eq!(answer.status, 200);
    String::from_utf8_lossy(&answer.body).trim().to_owned()
}

const PRIVATE: Policy = Policy {
    allow_private: true,
};

#[tokio::test(flavor = "multi_thread")]
async fn an_address_is_fetched_and_read_in_its_own_encoding() {
    let (app, site) = (TestApp::start().await, Site::start().await);
    let stop = site.document_worker(&app, "127.0.0.1", PRIVATE);
    for (path, mime_type, said) in [
        ("hours", "text/html", "The pool opens at nine, señor."),
        ("polish", "text/html", "łódź"),
        ("japanese", "text/html", "料金"),
        ("prices.csv", "text/csv", "room: Suite; año: 2026."),
        ("a.pdf", "application/pdf", "Breakfast is early."),
        ("no-type", "text/plain", "Towels are free."),
    ] {
        let document = from(&app, &site.url(path)).await;
        assert_eq!(
            (
                &document["status"],
                &document["mime_type"],
                &document["error"]
            ),
            (&json!("ready"), &json!(mime_type), &json!(null)),
            "{path}: {document}"
        );
        assert!(document["size_bytes"].as_i64() > Some(0), "{document}");
        assert_eq!(content(&app, &document).await, said, "{path}");
    }
    let found = app.post(SEARCH, json!({"query": "año"})).await.assert(200);
    assert_eq!(found["data"][0]["chunk"], "room: Suite; año: 2026.\n");
    stop.cancel();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_cannot_be_read_says_why_in_a_sentence() {
    LazyLock::force(&BOMB);
    let (app, site) = (TestApp::start().await, Site::start().await);
    let stop = site.document_worker(&app, "127.0.0.1", PRIVATE);
    for (path, why) in [
        (
            "picture",
            "The address holds image/png: it must be a txt, md, html, pdf, docx or csv file.",
        ),
        (
            "program",
            "The address holds what cannot be read: it must be a txt, md, html, pdf, docx or csv file.",
        ),
        ("empty", "The file holds no text."),
        (
            "missing",
            "The address answered with status 404: it must be readable without signing in.",
        ),
        (
            "secret",
            "The address answered with status 401: it must be readable without signing in.",
        ),
        (
            "moved",
            "The address answered with a redirect (302): give the address that it leads to.",
        ),
        (
            "inside",
            "The address answered with a redirect (307): give the address that it leads to.",
        ),
        (
            "cut",
            "The address cannot be fetched: it broke the connection off.",
        ),
        (
            "ssh",
            "The address cannot be fetched: it does not speak HTTP/1.1.",
        ),
        (
            "silent",
            "The address took longer than 15 seconds: send the file itself.",
        ),
        (
            "dripping",
            "The address took longer than 15 seconds: send the file itself.",
        ),
    ] {
        let document = from(&app, &site.url(path)).await;
        assert_eq!(
            (&document["status"], &document["error"]),
            (&json!("failed"), &json!(why)),
            "{path}"
        );
        assert_eq!(document["size_bytes"], json!(null));
        assert_eq!(document["chunks_count"], 0);
    }
    for (path, why) in [("locked.pdf", "password"), ("bomb.docx", "unpacks")] {
        let document = from(&app, &site.url(path)).await;
        assert_eq!(document["status"], "failed", "{path}");
        assert!(text(&document["error"]).contains(why), "{document}");
    }
    assert_eq!(
        site.requests.load(Ordering::SeqCst),
        13,
        "each once, and no redirect is followed"
    );
    stop.cancel();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_may_hold_twenty_mebibytes_and_no_byte_more() {
    let (app, site) = (TestApp::start().await, Site::start().await);
    let stop = site.document_worker(&app, "127.0.0.1", PRIVATE);
    for path in ["more", "endless"] {
        let document = from(&app, &site.url(path)).await;
        let expected = "The address holds more than 20 MiB: split it into several documents.";
        assert_eq!(document["error"], expected);
    }
    // Fetched, but with more text than a document may have.
    let document = from(&app, &site.url("most")).await;
    let expected = "The file holds more than 10 MiB of text: split it into several documents.";
    assert_eq!(document["error"], expected);
    stop.cancel();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_leads_into_a_private_network_is_not_fetched() {
    let site = Site::start().await;
    for address in [
        "127.0.0.1",
        "10.1.2.3",
        "169.254.169.254",
        "::1",
        "::ffff:127.0.0.1",
    ] {
        let app = TestApp::start().await;
        let stop = site.document_worker(&app, address, Policy::default());
        let document = from(&app, &site.url("hours")).await;
        assert_eq!(
            (&document["status"], &document["error"]),
            (
                &json!("failed"),
                &json!(
                    "The address cannot be fetched: its name leads to an address that is not public."
                )
            ),
            "{address}"
        );
        stop.cancel();
    }
    assert_eq!(site.requests.load(Ordering::SeqCst), 0);
}
