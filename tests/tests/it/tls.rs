//! HTTPS (`http.tls_cert`, `http.tls_key`).

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use offhook_tests::{Options, Server, both, exchange, must};
use serde_json::{Value, json};

/// A certificate for localhost and its key, as PEM files in `directory`; returns the certificate.
pub(crate) fn write_pair(directory: &Path) -> rustls::pki_types::CertificateDer<'static> {
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let made = must("a certificate", rcgen::generate_simple_self_signed(names));
    let files = [
        ("cert.pem", made.cert.pem()),
        ("key.pem", made.signing_key.serialize_pem()),
    ];
    for (name, text) in files {
        must(name, std::fs::write(directory.join(name), text));
    }
    made.cert.der().clone()
}

fn with_pair(options: Options, directory: &Path) -> Options {
    options
        .set("http.tls_cert", directory.join("cert.pem").display())
        .set("http.tls_key", directory.join("key.pem").display())
}

/// A client that only trusts this certificate.
fn client(trusted: rustls::pki_types::CertificateDer<'static>) -> reqwest::Client {
    let mut roots = rustls::RootCertStore::empty();
    must("a root", roots.add(trusted));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider);
    let config = must("TLS", config.with_safe_default_protocol_versions())
        .with_root_certificates(roots)
        .with_no_client_auth();
    let client = reqwest::Client::builder()
        .tls_backend_preconfigured(config)
        .no_proxy()
        .timeout(Duration::from_secs(30));
    must("a client", client.build())
}

both! {
    async fn https_is_served_with_the_given_certificate(database: Database) {
        let directory = must("a directory", tempfile::tempdir());
        let trusted = write_pair(directory.path());
        let options = with_pair(Options::on(database), directory.path());
        let mut server = Server::start(options).await;
        let account = server.account("scale").await;
        let base = format!("https://localhost:{}", server.address().port());
        let https = client(trusted);

        let me = https.get(format!("{base}/v1/me")).bearer_auth(&account.token);
        let me = must("GET /v1/me", me.send().await);
        assert_eq!((me.status().as_u16(), me.version()), (200, reqwest::Version::HTTP_11));
        let me: Value = must("its body", me.json().await);
        assert_eq!(me["account"]["id"], json!(account.id));
        let body = json!({"name": "Eva", "language": "en-US"});
        let made = https.post(format!("{base}/v1/agents")).bearer_auth(&account.token).json(&body);
        assert_eq!(must("POST /v1/agents", made.send().await).status().as_u16(), 201);

        // A client that trusts another certificate, or uses plain HTTP, learns nothing.
        let other = must("a directory", tempfile::tempdir());
        let stranger = client(write_pair(other.path()));
        assert!(stranger.get(format!("{base}/healthz")).send().await.is_err());
        let plain = b"GET /healthz HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n";
        let answer = exchange(server.address(), plain).await.unwrap_or_default();
        assert!(!answer.starts_with(b"HTTP/"), "{answer:?}");
        assert!(server.stop().await.success());
        assert!(!server.log().contains("panicked"), "{}", server.log());
    }

    async fn a_certificate_that_cannot_be_served_stops_the_start(database: Database) {
        let directory = must("a directory", tempfile::tempdir());
        let options = with_pair(Options::on(database), directory.path());
        let refused = Server::refused(options).await;
        assert!(refused.contains("setting `http.tls_cert` ("), "{refused}");
        assert!(refused.contains("cannot be read"), "{refused}");
    }
}
