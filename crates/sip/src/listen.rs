//! Opens the listeners.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use rsipstack::transport::tls::{TlsConfig, TlsListenerConnection};
use rsipstack::transport::udp::UdpConnection;
use rsipstack::transport::{TcpListenerConnection, TransportLayer};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::settings::{Listen, SipSettings, Transport};
use crate::trunk::Trunk;

/// How long the stack may take to open a listener.
const OPENING: Duration = Duration::from_secs(2);

/// Why the endpoint did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// An address cannot be bound.
    #[error("`listen`: {address} cannot be listened to: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// No address is configured.
    #[error("`listen`: name at least one address")]
    NoListener,
    /// A TLS listener has no certificate.
    #[error("`listen`: {0} speaks TLS and needs a certificate with its key")]
    NoCertificate(SocketAddr),
    /// Two trunks have the same name.
    #[error("`name`: two trunks are called `{0}`")]
    TwiceNamed(String),
    /// A trunk's transport cannot be used.
    #[error("`transport` of trunk `{trunk}`: {fault}")]
    Transport {
        /// The name of the trunk.
        trunk: String,
        /// What is missing.
        fault: &'static str,
    },
    /// The SIP stack failed to start.
    #[error("the SIP stack does not start: {0}")]
    Stack(String),
}

/// Checks that trunks and listeners fit together.
pub(crate) fn check(settings: &SipSettings, trunks: &[Trunk]) -> Result<(), StartError> {
    if settings.listen.is_empty() {
        return Err(StartError::NoListener);
    }
    for (index, trunk) in trunks.iter().enumerate() {
        if trunks[..index].iter().any(|other| other.name == trunk.name) {
            return Err(StartError::TwiceNamed(trunk.name.clone()));
        }
        let listened = settings
            .listen
            .iter()
            .any(|listen| listen.transport == trunk.transport);
        let fault = match trunk.transport {
            Transport::Udp if !listened => "`listen` has no `udp` address to send from",
            Transport::Tcp if !listened => "`listen` has no `tcp` address to be called back at",
            Transport::Tls if settings.tls.is_none() => "TLS is not set up",
            _ => continue,
        };
        return Err(StartError::Transport {
            trunk: trunk.name.clone(),
            fault,
        });
    }
    Ok(())
}

/// Opens the listeners. Datagram sockets come first, because the stack uses the first one as its own address. Returns
/// the addresses of the listeners that the stack only opens when it runs.
pub(crate) async fn listen(
    transports: &TransportLayer,
    mut listen: Vec<Listen>,
    stop: &CancellationToken,
) -> Result<Vec<SocketAddr>, StartError> {
    let mut later = Vec::new();
    listen.sort_by_key(|listen| listen.transport != Transport::Udp);
    for each in listen {
        let refused = |source: io::Error| StartError::Listen {
            address: each.address,
            source,
        };
        let other = |error: rsipstack::Error| match error {
            rsipstack::Error::IoError(source) => refused(source),
            other => refused(io::Error::other(other.to_string())),
        };
        match each.transport {
            Transport::Udp => {
                let ends = Some(stop.child_token());
                let socket =
                    UdpConnection::create_connection(each.address, each.external, ends).await;
                transports.add_transport(socket.map_err(other)?.into());
            }
            Transport::Tcp => {
                let address = free(each.address).map_err(refused)?;
                later.push(address);
                let listener = TcpListenerConnection::new(address, each.external).await;
                transports.add_transport(listener.map_err(other)?.into());
            }
            Transport::Tls => {
                let Some((certificate, key)) = each.certificate.clone() else {
                    return Err(StartError::NoCertificate(each.address));
                };
                // The stack's TLS server uses the process's default provider. All our code names ring explicitly, so an
                // already installed provider is this one.
                let _ = rustls::crypto::ring::default_provider().install_default();
                let address = free(each.address).map_err(refused)?;
                later.push(address);
                let config = TlsConfig {
                    cert: Some(certificate),
                    key: Some(key),
                    ..TlsConfig::default()
                };
                let listener = TlsListenerConnection::new(address, each.external, config).await;
                transports.add_transport(listener.map_err(other)?.into());
            }
        }
    }
    Ok(later)
}

/// Checks that an address can be bound, and returns it with its port. The stack opens stream listeners later and does
/// not report failures.
fn free(address: SocketAddr) -> io::Result<SocketAddr> {
    std::net::TcpListener::bind(address)?.local_addr()
}

/// Waits until an address accepts connections.
pub(crate) async fn opened(address: SocketAddr) -> Result<(), StartError> {
    let reachable = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    let deadline = Instant::now() + OPENING;
    loop {
        match TcpStream::connect((reachable, address.port())).await {
            Ok(_) => return Ok(()),
            Err(source) if Instant::now() >= deadline => {
                return Err(StartError::Listen { address, source });
            }
            Err(_) => sleep(Duration::from_millis(5)).await,
        }
    }
}
