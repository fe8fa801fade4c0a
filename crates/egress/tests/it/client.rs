//! The whole client against listeners on loopback.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use offhook_domain::json::UrlFault;
use offhook_egress::{Failure, GuardedClient, Policy, TargetUrl, client_config, is_blocked};
use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use reqwest::Method;
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio_rustls::TlsAcceptor;

use crate::it::resolving::Scripted;

pub(crate) const PRIVATE: Policy = Policy {
    allow_private: true,
};
const EMPTY_OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";

pub(crate) async fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// Whether nothing has connected: the kernel knows at once, tokio's readiness only later.
pub(crate) fn untouched(listener: TcpListener) -> bool {
    let accepted = listener.into_std().unwrap().accept();
    accepted.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
}

/// Reads one request head and responds.
async fn answer(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), response: &[u8]) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    stream.write_all(response).await.unwrap();
    String::from_utf8(head).unwrap()
}

fn target(text: &str) -> TargetUrl {
    TargetUrl::parse(text, PRIVATE).unwrap()
}

fn private_client(lookup: &Arc<Scripted>) -> GuardedClient {
    let lookup = Arc::clone(lookup);
    GuardedClient::with_parts(PRIVATE, lookup, client_config().unwrap()).unwrap()
}

async fn get(client: &GuardedClient, target: &TargetUrl) -> Result<reqwest::Response, Failure> {
    let request = client.request(Method::GET, target).unwrap();
    request.send().await.map_err(|error| Failure::of(&error))
}

#[tokio::test]
async fn a_name_that_resolves_to_loopback_is_blocked_and_nothing_connects() {
    let (listener, address) = listener().await;
    let lookup = Scripted::new(&[&["127.0.0.1"]]);
    let client =
        GuardedClient::with_parts(Policy::default(), lookup, client_config().unwrap()).unwrap();
    let url = format!("https://hooks.example.com:{}/", address.port());
    let target = TargetUrl::parse(&url, Policy::default()).unwrap();
    let error = client
        .request(Method::POST, &target)
        .unwrap()
        .send()
        .await
        .unwrap_err();
    assert!(is_blocked(&error));
    assert_eq!(Failure::of(&error).as_str(), "blocked_address");
    assert!(untouched(listener));
}

#[tokio::test]
async fn a_target_read_under_a_laxer_policy_is_refused_before_the_connection() {
    let (listener, address) = listener().await;
    let client = GuardedClient::new(Policy::default()).unwrap();
    for (text, fault) in [
        (format!("http://{address}/"), UrlFault::Scheme),
        (format!("https://{address}/"), UrlFault::AddressLiteral),
        ("https://localhost/".to_owned(), UrlFault::LocalName),
    ] {
        let request = client.request(Method::POST, &target(&text));
        assert_eq!(request.err(), Some(fault), "{text}");
    }
    assert!(untouched(listener));
}

#[tokio::test]
async fn each_connect_asks_for_the_name_again_and_goes_to_that_answer() {
    let (listener, address) = listener().await;
    let lookup = Scripted::new(&[&["127.0.0.1"], &[]]);
    let client = private_client(&lookup);
    let url = target(&format!("http://hooks.example.com:{}/", address.port()));
    let receiver = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        answer(
            &mut stream,
            b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
        )
        .await
    };
    let (response, _) = tokio::join!(get(&client, &url), receiver);
    assert_eq!(response.unwrap().status(), 200);
    assert_eq!(get(&client, &url).await.unwrap_err(), Failure::Dns);
    assert_eq!(lookup.queries.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_kept_connection_serves_the_next_request() {
    let (listener, address) = listener().await;
    let lookup = Scripted::new(&[&["127.0.0.1"]]);
    let client = private_client(&lookup);
    let url = target(&format!("http://hooks.example.com:{}/", address.port()));
    let receiver = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        answer(&mut stream, EMPTY_OK).await;
        answer(&mut stream, EMPTY_OK).await;
    };
    let requests = async {
        for _ in 0..2 {
            assert_eq!(get(&client, &url).await.unwrap().bytes().await.unwrap(), "");
        }
    };
    tokio::join!(requests, receiver);
    assert_eq!(lookup.queries.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_redirect_is_an_answer_like_any_other() {
    let (listener, address) = listener().await;
    let (elsewhere, other) = self::listener().await;
    let client = private_client(&Scripted::new(&[&["127.0.0.1"]]));
    let response =
        format!("HTTP/1.1 307 Away\r\nlocation: http://{other}/\r\ncontent-length: 0\r\n\r\n");
    let receiver = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        answer(&mut stream, response.as_bytes()).await
    };
    let url = target(&format!("http://{address}/"));
    let (response, _) = tokio::join!(get(&client, &url), receiver);
    assert_eq!(response.unwrap().status(), 307);
    assert!(untouched(elsewhere));
}

/// A certificate for `hooks.example.com` that expires with `last_year`, and a client that only trusts it.
pub(crate) fn trusted_pair(last_year: i32) -> (TlsAcceptor, rustls::ClientConfig) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(["hooks.example.com".to_owned()]).unwrap();
    params.not_after = date_time_ymd(last_year, 12, 31);
    let certificate = params.self_signed(&key).unwrap();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let server = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate.der().clone()).unwrap();
    let client = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    (TlsAcceptor::from(Arc::new(server)), client)
}

#[tokio::test]
async fn tls_goes_to_the_vetted_address_under_the_urls_own_name() {
    let (listener, address) = listener().await;
    let (acceptor, tls) = trusted_pair(4000);
    let lookup = Scripted::new(&[&["127.0.0.1"]]);
    let client = GuardedClient::with_parts(PRIVATE, lookup, tls).unwrap();
    let url = target(&format!(
        "https://hooks.example.com:{}/in?a=1",
        address.port()
    ));
    let receiver = async {
        let (stream, _) = listener.accept().await.unwrap();
        let mut stream = acceptor.accept(stream).await.unwrap();
        assert_eq!(stream.get_ref().1.server_name(), Some("hooks.example.com"));
        answer(&mut stream, EMPTY_OK).await
    };
    let (response, head) = tokio::join!(get(&client, &url), receiver);
    assert_eq!(response.unwrap().status(), 200);
    let port = address.port();
    let expected =
        format!("GET /in?a=1 HTTP/1.1\r\nAccept: */*\r\nHost: hooks.example.com:{port}\r\n\r\n");
    assert_eq!(head, expected);
}

#[tokio::test]
async fn a_certificate_out_of_date_or_for_another_name_is_a_tls_failure() {
    for (last_year, host) in [(2000, "hooks.example.com"), (4000, "other.example.com")] {
        let (listener, address) = listener().await;
        let (acceptor, tls) = trusted_pair(last_year);
        let lookup = Scripted::new(&[&["127.0.0.1"]]);
        let client = GuardedClient::with_parts(PRIVATE, lookup, tls).unwrap();
        let url = target(&format!("https://{host}:{}/", address.port()));
        let receiver = async {
            let (stream, _) = listener.accept().await.unwrap();
            acceptor.accept(stream).await.is_err()
        };
        let (response, refused) = tokio::join!(get(&client, &url), receiver);
        assert_eq!(
            response.unwrap_err(),
            Failure::Tls,
            "{host} until {last_year}"
        );
        assert!(refused);
    }
}

#[tokio::test]
async fn a_connection_cut_in_the_handshake_is_a_tls_failure() {
    let (listener, address) = listener().await;
    let client = private_client(&Scripted::new(&[&["127.0.0.1"]]));
    let url = target(&format!("https://hooks.example.com:{}/", address.port()));
    let receiver = async { drop(listener.accept().await.unwrap()) };
    let (response, ()) = tokio::join!(get(&client, &url), receiver);
    assert_eq!(response.unwrap_err(), Failure::Tls);
}

#[tokio::test]
async fn a_closed_port_is_a_connect_failure() {
    let (listener, address) = listener().await;
    drop(listener);
    let client = private_client(&Scripted::new(&[&["127.0.0.1"]]));
    for scheme in ["http", "https"] {
        let url = target(&format!("{scheme}://{address}/"));
        assert_eq!(
            get(&client, &url).await.unwrap_err(),
            Failure::Connect,
            "{scheme}"
        );
    }
}

/// Runs itself again with the proxy variables set, and listens at the proxies' address.
#[tokio::test]
async fn the_environments_proxies_are_ignored() {
    const INNER: &str = "OFFHOOK_EGRESS_TEST_INSIDE";
    if std::env::var_os(INNER).is_none() {
        let (proxy, address) = listener().await;
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args([
            "--exact",
            "it::client::the_environments_proxies_are_ignored",
        ]);
        for name in [
            "HTTP_PROXY",
            "HTTPS_PROXY",
            "ALL_PROXY",
            "http_proxy",
            "https_proxy",
            "all_proxy",
        ] {
            child.env(name, format!("http://{address}"));
        }
        child
            .env(INNER, "1")
            .env_remove("NO_PROXY")
            .env_remove("no_proxy");
        let output = tokio::select! {
            output = child.kill_on_drop(true).output() => output.unwrap(),
            _ = proxy.accept() => panic!("a proxy of the environment was used"),
        };
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stdout)
        );
        assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
        assert!(untouched(proxy));
        return;
    }
    let (listener, address) = listener().await;
    let client = private_client(&Scripted::new(&[&["127.0.0.1"]]));
    let receiver = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        answer(&mut stream, EMPTY_OK).await
    };
    let url = target(&format!("http://hooks.example.com:{}/", address.port()));
    let (response, head) = tokio::join!(get(&client, &url), receiver);
    assert_eq!(response.unwrap().status(), 200);
    assert!(head.starts_with("GET / HTTP/1.1\r\n"));

    // TLS: with a proxy the first bytes would be CONNECT, sent there.
    let receiver = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.read_u8().await.unwrap()
    };
    let url = target(&format!("https://hooks.example.com:{}/", address.port()));
    let (response, first) = tokio::join!(get(&client, &url), receiver);
    assert_eq!(response.unwrap_err(), Failure::Tls);
    assert_eq!(first, 22, "a TLS handshake record");
}
