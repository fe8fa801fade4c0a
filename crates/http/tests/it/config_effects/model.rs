//! A model on loopback that pauses, says "All right.", and records its requests.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use offhook_egress::{GuardedClient, Lookup, LookupError, Policy};
use parking_lot::Mutex;
use rustls::pki_types::PrivateKeyDer;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::it::client::must;

/// How long the model pauses.
const THINKS: Duration = Duration::from_millis(100);

/// The host name under which [`Model::client`] finds it.
const HOST: &str = "models.example.com";

/// The model, over plain HTTP and over TLS.
pub(super) struct Model {
    /// The base URL of a configured provider.
    pub(super) plain: String,
    /// A value for `llm.endpoint`.
    pub(super) endpoint: String,
    /// Trusts the model's certificate, and resolves every name to this machine.
    pub(super) client: GuardedClient,
    asked: Asked,
}

type Asked = Arc<Mutex<Vec<Value>>>;

impl Model {
    pub(super) async fn start() -> Self {
        let asked = Asked::default();
        let plain = must(TcpListener::bind("127.0.0.1:0").await);
        let secure = must(TcpListener::bind("127.0.0.1:0").await);
        let (acceptor, client) = tls();
        let model = Self {
            plain: format!("http://{}/v1", must(plain.local_addr())),
            endpoint: format!("https://{HOST}:{}/v1", must(secure.local_addr()).port()),
            client,
            asked: asked.clone(),
        };
        let seen = asked.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = plain.accept().await {
                tokio::spawn(answer(socket, seen.clone()));
            }
        });
        tokio::spawn(async move {
            while let Ok((socket, _)) = secure.accept().await {
                let (acceptor, seen) = (acceptor.clone(), asked.clone());
                tokio::spawn(async move {
                    if let Ok(socket) = acceptor.accept(socket).await {
                        answer(socket, seen).await;
                    }
                });
            }
        });
        model
    }

    /// The reply requests to the model with this name.
    pub(super) fn asked(&self, name: &str) -> Vec<Value> {
        let asked = self.asked.lock();
        let is_reply = |body: &&Value| {
            let prompt = body["messages"][0]["content"].as_str();
            body["model"] == name && prompt.is_some_and(|text| text.contains("spoken conversation"))
        };
        asked.iter().filter(is_reply).cloned().collect()
    }
}

async fn answer(mut socket: impl AsyncRead + AsyncWrite + Unpin, asked: Asked) {
    let mut request = Vec::new();
    let body = loop {
        let mut piece = [0; 4_096];
        match socket.read(&mut piece).await {
            Ok(0) | Err(_) => return,
            Ok(length) => request.extend_from_slice(&piece[..length]),
        }
        let text = String::from_utf8_lossy(&request);
        let body = text.split_once("\r\n\r\n").map(|(_, body)| body);
        // A complete body is JSON, and a part of one is not.
        if let Some(Ok(body)) = body.map(serde_json::from_str) {
            break body;
        }
    };
    asked.lock().push(body);
    tokio::time::sleep(THINKS).await;
    let said = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n\
                data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"All right.\"}}]}\n\n\
                data: [DONE]\n\n";
    let _ = socket.write_all(said.as_bytes()).await;
    let _ = socket.shutdown().await;
}

/// Both sides of TLS with a certificate that only this client trusts.
fn tls() -> (TlsAcceptor, GuardedClient) {
    let issued = must(rcgen::generate_simple_self_signed([HOST.to_owned()]));
    let certificate = issued.cert.der().clone();
    let key = must(PrivateKeyDer::try_from(issued.signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let server = ServerConfig::builder_with_provider(provider.clone());
    let server = must(server.with_safe_default_protocol_versions()).with_no_client_auth();
    let server = must(server.with_single_cert(vec![certificate.clone()], key));
    let mut roots = RootCertStore::empty();
    must(roots.add(certificate));
    let client = ClientConfig::builder_with_provider(provider);
    let client = must(client.with_safe_default_protocol_versions());
    let client = client.with_root_certificates(roots).with_no_client_auth();
    let policy = Policy {
        allow_private: true,
    };
    let client = must(GuardedClient::with_parts(policy, Arc::new(Here), client));
    (TlsAcceptor::from(Arc::new(server)), client)
}

struct Here;

impl Lookup for Here {
    fn lookup(&self, _: &str) -> BoxFuture<'static, Result<Vec<IpAddr>, LookupError>> {
        async { Ok(vec![IpAddr::V4(Ipv4Addr::LOCALHOST)]) }.boxed()
    }
}
