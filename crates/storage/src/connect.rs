//! Opens PostgreSQL sessions: reads the URL, and decides on encryption (`sslmode`, `sslrootcert`).

mod tls;

use std::sync::Arc;
use std::time::Duration;

use diesel_async::{AsyncPgConnection, SimpleAsyncConnection as _};
use percent_encoding::percent_decode_str;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use crate::{Result, StoreError};
use tls::Tls;

/// Settings of every session. Every wait is limited, so that an outage is an error, not a hang. Statements are planned
/// once, not per set of values: every list has an index for each filter, and conditions that decide on an index are
/// written out. No statement runs long enough for the JIT compiler to pay off. Indexes are on disks with cheap seeks:
/// with the server's default, a batch of 100 rows is found by a scan of the whole table.
pub(crate) const SESSION: &str = "(VALUES ('lock_timeout', '2s'), ('statement_timeout', '5s'), \
    ('idle_in_transaction_session_timeout', '5s'), ('synchronous_commit', 'on'), \
    ('plan_cache_mode', 'force_generic_plan'), ('jit', 'off'), ('random_page_cost', '1.1')) \
    AS session (name, value)";

/// How long opening a connection may take, per address of the host.
const CONNECT_WITHIN: Duration = Duration::from_secs(2);

/// Opens sessions on one database.
#[derive(Clone)]
pub(crate) struct Door {
    config: tokio_postgres::Config,
    tls: Tls,
}

impl Door {
    /// Reads the URL.
    ///
    /// `sslmode` is `disable`, `prefer` (the default: encrypted if the server can), `require` (encrypted or refused) or
    /// `verify-full`. `verify-full` also checks the server's certificate and name, against the PEM file in
    /// `sslrootcert`, or else against the system's roots. With `sslrootcert`, `require` checks too.
    pub(crate) fn of(url: &str) -> Result<Self> {
        let (url, trust) = read_trust(url).map_err(StoreError::Url)?;
        let mut config: tokio_postgres::Config = url
            .parse()
            .map_err(|error: tokio_postgres::Error| StoreError::Url(describe(&error)))?;
        config
            .application_name("offhook")
            .connect_timeout(CONNECT_WITHIN)
            .tcp_user_timeout(Duration::from_secs(5))
            .keepalives_idle(Duration::from_secs(5));
        let tls = Tls::new(client_config(&trust).map_err(StoreError::Url)?);
        Ok(Self { config, tls })
    }

    /// A session with the settings of [`SESSION`].
    pub(crate) async fn connect(&self) -> Result<AsyncPgConnection, NoSession> {
        let (client, connection) = self.config.connect(self.tls.clone()).await?;
        let session = AsyncPgConnection::try_from_client_and_connection(client, connection);
        let mut conn = session.await.map_err(NoSession::broken)?;
        // Not by the startup parameter `options`, which PgBouncer refuses or drops. Where it lends sessions to others, the
        // role has the same settings.
        let set = format!("SELECT set_config(name, value, false) FROM {SESSION}");
        conn.batch_execute(&set).await.map_err(NoSession::broken)?;
        Ok(conn)
    }

    /// A session as the server begins it.
    pub(crate) async fn client(&self) -> Result<Client, NoSession> {
        let (client, connection) = self.config.connect(self.tls.clone()).await?;
        tokio::spawn(connection);
        Ok(client)
    }
}

/// The error when no session could be opened.
#[derive(Debug)]
pub(crate) struct NoSession {
    /// A sentence.
    pub(crate) why: String,
    /// The server is alive, but it, the role or the database has reached its limit of sessions.
    pub(crate) is_full: bool,
}

impl NoSession {
    pub(crate) fn broken(error: impl std::fmt::Display) -> Self {
        Self {
            why: error.to_string(),
            is_full: false,
        }
    }
}

impl From<tokio_postgres::Error> for NoSession {
    fn from(error: tokio_postgres::Error) -> Self {
        Self {
            why: describe(&error),
            is_full: error.code() == Some(&SqlState::TOO_MANY_CONNECTIONS),
        }
    }
}

impl From<NoSession> for StoreError {
    fn from(none: NoSession) -> Self {
        Self::Unavailable(none.why)
    }
}

/// Which certificates are trusted.
#[derive(Debug, PartialEq, Eq)]
enum Trust {
    /// All: encryption only, as with libpq's `prefer` and `require`.
    Anybody,
    /// Those of the system's roots.
    System,
    /// Those of the roots in this PEM file.
    File(String),
}

/// Removes from the URL the parameters that the client library does not read itself.
fn read_trust(url: &str) -> Result<(String, Trust), String> {
    // A password may hold a question mark.
    let credentials = url.find('@').unwrap_or(0);
    let Some(at) = url[credentials..].find('?').map(|at| credentials + at) else {
        return Ok((url.to_owned(), Trust::Anybody));
    };
    let (mut mode, mut root) = (None, None);
    let mut rest = Vec::new();
    for pair in url[at + 1..].split('&') {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = percent_decode_str(value).decode_utf8_lossy().into_owned();
        match name {
            "sslmode" => mode = Some(value),
            "sslrootcert" => root = Some(value),
            _ => rest.push(pair.to_owned()),
        }
    }
    let (mode, verify) = match mode.as_deref() {
        None => ("prefer", false),
        Some(mode @ ("disable" | "prefer" | "require")) => (mode, false),
        Some("verify-full") => ("require", true),
        Some(_) => {
            return Err("`sslmode` must be disable, prefer, require or verify-full".to_owned());
        }
    };
    let trust = match root {
        Some(_) if mode != "require" => {
            return Err(
                "`sslrootcert` checks nothing without `sslmode=verify-full` or `require`: add it"
                    .to_owned(),
            );
        }
        Some(root) if root == "system" => Trust::System,
        Some(root) => Trust::File(root),
        None if verify => Trust::System,
        None => Trust::Anybody,
    };
    rest.push(format!("sslmode={mode}"));
    Ok((format!("{}?{}", &url[..at], rest.join("&")), trust))
}

fn client_config(trust: &Trust) -> Result<ClientConfig, String> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let verifier: Arc<dyn ServerCertVerifier> = match trust {
        Trust::Anybody => Arc::new(Verifier {
            algorithms: provider.signature_verification_algorithms,
            listed: Vec::new(),
            roots: None,
        }),
        Trust::System => {
            let verifier = rustls_platform_verifier::Verifier::new(provider);
            Arc::new(verifier.map_err(|error| {
                format!("the system's trusted roots cannot be read ({error}): name a file in `sslrootcert`")
            })?)
        }
        Trust::File(path) => Arc::new(Verifier::read(path, provider)?),
    };
    Ok(builder
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth())
}

/// Which certificates are accepted. In any case the handshake proves that the server has the certificate's key.
#[derive(Debug)]
struct Verifier {
    algorithms: WebPkiSupportedAlgorithms,
    /// Accepted as they are: a server with a self-signed certificate is recognized by it, as in libpq.
    listed: Vec<CertificateDer<'static>>,
    /// Other certificates must lead to one of these; `None` accepts every certificate.
    roots: Option<Arc<WebPkiServerVerifier>>,
}

impl Verifier {
    /// Accepts certificates that are in a file or lead to a root in it. Either must be for the server's name.
    fn read(path: &str, provider: Arc<CryptoProvider>) -> Result<Self, String> {
        let wrong = |error: String| format!("`sslrootcert` ({path}) {error}");
        let listed: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path)
            .map_err(|error| wrong(format!("cannot be read: {error}")))?
            .collect();
        let listed = listed.map_err(|error| wrong(format!("is no PEM file: {error}")))?;
        if listed.is_empty() {
            return Err(wrong("holds no certificate".to_owned()));
        }
        let unfit =
            |error: String| wrong(format!("holds a certificate that cannot be used: {error}"));
        let mut roots = RootCertStore::empty();
        for certificate in &listed {
            roots
                .add(certificate.clone())
                .map_err(|error| unfit(error.to_string()))?;
        }
        let algorithms = provider.signature_verification_algorithms;
        let roots = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
            .build()
            .map_err(|error| unfit(error.to_string()))?;
        Ok(Self {
            algorithms,
            listed,
            roots: Some(roots),
        })
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(roots) = &self.roots else {
            return Ok(ServerCertVerified::assertion());
        };
        if self.listed.iter().any(|listed| listed == certificate) {
            verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
            return Ok(ServerCertVerified::assertion());
        }
        roots.verify_server_cert(certificate, intermediates, name, ocsp, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// The error with its cause: the client library's own message is only "db error".
fn describe(error: &tokio_postgres::Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use rustls::ServerConfig;
    use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;
    use tokio::task::JoinHandle;

    use super::*;

    /// A client's first message, which checks whether the server speaks TLS.
    const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

    /// The protocol version, with which a session's own first message begins.
    const VERSION: [u8; 4] = [0, 3, 0, 0];

    #[derive(Debug, PartialEq, Eq)]
    enum Opening {
        /// In plain text, without requesting TLS.
        Plain,
        /// It requested TLS, and continued in plain text.
        PlainAfterAsking,
        /// Encrypted before the first message.
        Encrypted,
        /// Broken off.
        BrokenOff,
    }

    /// Reads one opening, then disconnects. It speaks TLS if it has a certificate.
    async fn server(tls: Option<ServerConfig>) -> (u16, JoinHandle<Opening>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let opening = tokio::spawn(async move {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut first = [0; 8];
            socket.read_exact(&mut first).await.unwrap();
            if first[4..] == VERSION {
                return Opening::Plain;
            }
            assert_eq!(first, SSL_REQUEST);
            let Some(tls) = tls else {
                socket.write_all(b"N").await.unwrap();
                return match socket.read_exact(&mut first).await {
                    Ok(_) if first[4..] == VERSION => Opening::PlainAfterAsking,
                    _ => Opening::BrokenOff,
                };
            };
            socket.write_all(b"S").await.unwrap();
            let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(tls));
            let Ok(mut secure) = acceptor.accept(socket).await else {
                return Opening::BrokenOff;
            };
            match secure.read_exact(&mut first).await {
                Ok(_) if first[4..] == VERSION => Opening::Encrypted,
                _ => Opening::BrokenOff,
            }
        });
        (port, opening)
    }

    struct Certificate {
        config: ServerConfig,
        file: PathBuf,
        _directory: tempfile::TempDir,
    }

    /// A root and server certificate in one, as `openssl req -x509` makes it.
    fn certificate(name: &str) -> Certificate {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut params = rcgen::CertificateParams::new([name.to_owned()]).unwrap();
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let made = params.self_signed(&key).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("root one.pem");
        std::fs::write(&file, made.pem()).unwrap();
        let private = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.der().clone()], private)
            .unwrap();
        Certificate {
            config,
            file,
            _directory: directory,
        }
    }

    /// How a session with this query begins, and the client's error; the server disconnects all.
    async fn open(tls: Option<ServerConfig>, query: &str) -> (Opening, String) {
        let (port, opening) = server(tls).await;
        let url = format!("postgres://u:p@localhost:{port}/d{query}");
        let door = Door::of(&url).unwrap();
        let said = door.connect().await.err().map(|none| none.why);
        let said = said.unwrap_or_default();
        (opening.await.unwrap(), said)
    }

    #[tokio::test]
    async fn a_session_is_encrypted_as_its_mode_says() {
        let one = certificate("localhost");
        let with = || Some(one.config.clone());
        let file = one.file.to_str().unwrap().replace(' ', "%20");
        let checked = format!("?sslmode=verify-full&sslrootcert={file}");
        let required = format!("?sslrootcert={file}&sslmode=require");
        for (tls, query, opening) in [
            (with(), "", Opening::Encrypted),
            (with(), "?sslmode=disable", Opening::Plain),
            (with(), "?sslmode=prefer", Opening::Encrypted),
            (with(), "?sslmode=require", Opening::Encrypted),
            (with(), &checked, Opening::Encrypted),
            (with(), &required, Opening::Encrypted),
            (None, "", Opening::PlainAfterAsking),
            (None, "?sslmode=disable", Opening::Plain),
            (None, "?sslmode=prefer", Opening::PlainAfterAsking),
            (None, "?sslmode=require", Opening::BrokenOff),
            (None, &checked, Opening::BrokenOff),
        ] {
            assert_eq!(open(tls, query).await.0, opening, "{query}");
        }
    }

    /// The error for a server that refuses a session with the SQLSTATE `code`.
    async fn refused(code: &str) -> NoSession {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let fields = format!("SFATAL\0VFATAL\0C{code}\0Mno session for you\0\0");
        let length = u32::try_from(4 + fields.len()).unwrap();
        let said = [b"E", &length.to_be_bytes()[..], fields.as_bytes()].concat();
        tokio::spawn(async move {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut first = [0; 8];
            socket.read_exact(&mut first).await.unwrap();
            socket.write_all(&said).await.unwrap();
            // Closing a socket with unread data would discard the answer.
            let _ = socket.read_to_end(&mut Vec::new()).await;
        });
        let url = format!("postgres://u:p@localhost:{port}/d?sslmode=disable");
        let door = Door::of(&url).unwrap();
        door.connect().await.err().unwrap()
    }

    #[tokio::test]
    async fn a_server_that_takes_no_more_sessions_is_full_and_one_that_stops_is_not() {
        for (code, is_full) in [("53300", true), ("57P03", false), ("28P01", false)] {
            let none = refused(code).await;
            assert_eq!(none.is_full, is_full, "{code}: {none:?}");
            assert!(none.why.contains("no session for you"), "{none:?}");
        }
    }

    #[tokio::test]
    async fn a_certificate_that_is_not_trusted_is_refused_where_it_is_checked() {
        let (one, other) = (certificate("localhost"), certificate("localhost"));
        let misnamed = certificate("db.example.com");
        let file = |of: &Certificate| of.file.to_str().unwrap().replace(' ', "%20");
        let with = |mode: &str, file: String| format!("?sslmode={mode}&sslrootcert={file}");
        for (server, query) in [
            (&one, with("verify-full", file(&other))),
            (&one, with("require", file(&other))),
            (&one, "?sslmode=verify-full".to_owned()),
            (&misnamed, with("verify-full", file(&misnamed))),
        ] {
            let (opening, said) = open(Some(server.config.clone()), &query).await;
            assert_eq!(opening, Opening::BrokenOff, "{query}");
            assert!(said.contains("certificate"), "{query}: {said}");
        }
        let (_, said) = open(None, "?sslmode=require").await;
        assert!(said.contains("server does not support TLS"), "{said}");
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_the_remedy() {
        let refused = |query: &str| match Door::of(&format!("postgres://u:p?w@h/d{query}")) {
            Ok(_) => panic!("accepted: {query}"),
            Err(error) => error.to_string(),
        };
        for (query, said) in [
            (
                "?sslmode=verify-ca",
                "`sslmode` must be disable, prefer, require or verify-full",
            ),
            (
                "?sslmode=on",
                "`sslmode` must be disable, prefer, require or verify-full",
            ),
            (
                "?sslrootcert=/r.pem",
                "`sslrootcert` checks nothing without `sslmode=verify-full`",
            ),
            (
                "?sslmode=verify-full&sslrootcert=/no/r.pem",
                "`sslrootcert` (/no/r.pem) cannot be read",
            ),
            ("?sslmode=require&colour=red", "unknown option `colour`"),
        ] {
            let error = refused(query);
            assert!(error.contains(said), "{query}: {error}");
            assert!(!error.contains("p?w"), "{error}");
        }
    }

    #[test]
    fn the_rest_of_the_url_stays_as_it_is() {
        let (url, trust) = read_trust(
            "postgres://u:p?w@h/d?options=-c%20x=1&sslmode=verify-full&application_name=a@b",
        )
        .unwrap();
        assert_eq!(
            (url.as_str(), trust),
            (
                "postgres://u:p?w@h/d?options=-c%20x=1&application_name=a@b&sslmode=require",
                Trust::System
            )
        );
        let bare = read_trust("postgres://h/d").unwrap();
        assert_eq!(bare, ("postgres://h/d".to_owned(), Trust::Anybody));
    }
}
