//! Opening the listeners, and why an endpoint does not start.

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

/// Why the endpoint does not run.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// An address cannot be listened to.
    #[error("`listen`: {address} cannot be listened to: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// No address is listened to.
    #[error("`listen`: name at least one address")]
    NoListener,
    /// A listener with TLS has no certificate.
    #[error("`listen`: {0} speaks TLS and needs a certificate with its key")]
    NoCertificate(SocketAddr),
    /// Two trunks have one name.
    #[error("`name`: two trunks are called `{0}`")]
    TwiceNamed(String),
    /// A trunk's transport cannot be used.
    #[error("`transport` of trunk `{trunk}`: {fault}")]
    Transport {
        /// The trunk.
        trunk: String,
        /// What is missing.
        fault: &'static str,
    },
    /// The stack would not start.
    #[error("the SIP stack does not start: {0}")]
    Stack(String),
}

/// Whether trunks and listeners go together.
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

/// Opens the listeners. Datagrams' come first: the stack takes the first one for its own address. What is returned are
/// the addresses of those that the stack opens only when it runs.
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
                // The stack's TLS server takes the process's provider. All of ours name ring themselves, so whoever
                // installed one first installed this one.
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

/// The address that can be listened to, with its port: the stack opens connections' listeners later and tells nobody
/// when it cannot.
fn free(address: SocketAddr) -> io::Result<SocketAddr> {
    std::net::TcpListener::bind(address)?.local_addr()
}

/// Waits till an address is listened to.
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
