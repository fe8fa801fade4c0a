//! Connections for protocols that start as HTTP and then change, such as WebSockets.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::{Name, Resolve};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use url::{Host, Url};

use crate::{Blocked, Failure, GuardedResolver, Lookup, Policy, SetupError, SystemLookup};

/// Limit for connecting to all addresses of a name. It is divided among them, so that a dead one leaves time for the
/// next.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A bidirectional byte stream.
pub trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

/// An open connection, with TLS if the URL requires it.
pub type Connection = Box<dyn Duplex>;

/// Opens connections to the hosts of URLs, with the same resolver, address guard and TLS as
/// [`GuardedClient`](crate::GuardedClient). Each connection goes to an address that was checked for it, without a
/// proxy. For a deadline, the caller drops the future.
#[derive(Clone)]
pub struct GuardedDialer {
    resolver: GuardedResolver,
    policy: Policy,
    tls: TlsConnector,
}

impl GuardedDialer {
    /// A dialer with the system's resolver and [`client_config`](crate::client_config). Fails if TLS cannot be set up.
    pub fn new(policy: Policy) -> Result<Self, SetupError> {
        let tls = crate::client_config()?;
        Ok(Self::with_parts(policy, Arc::new(SystemLookup::new()), tls))
    }

    /// A dialer with another resolver and other TLS settings. The answers of `lookup` are still checked.
    pub fn with_parts(policy: Policy, lookup: Arc<dyn Lookup>, tls: ClientConfig) -> Self {
        Self {
            resolver: GuardedResolver::new(lookup, policy),
            policy,
            tls: TlsConnector::from(Arc::new(tls)),
        }
    }

    /// Connects to the host and port of `url`, with the scheme `https` or `wss`, or, if the policy allows private
    /// targets, `http` or `ws`. Returns the same [`Failure`] as a request; [`Failure::BlockedAddress`] for what the
    /// policy rejects.
    pub async fn open(&self, url: &Url) -> Result<Connection, Failure> {
        let (secure, default_port) = match url.scheme() {
            "https" | "wss" => (true, 443),
            "http" | "ws" if self.policy.allow_private => (false, 80),
            _ => return Err(Failure::BlockedAddress),
        };
        let host = url.host().ok_or(Failure::Dns)?;
        let addresses = self.addresses(&host).await?;
        let port = url.port().unwrap_or(default_port);
        let stream = connect(&addresses, port).await?;
        if !secure {
            return Ok(Box::new(stream));
        }
        let name = match host {
            Host::Domain(name) => {
                ServerName::try_from(name.to_owned()).map_err(|_| Failure::Tls)?
            }
            Host::Ipv4(address) => ServerName::from(IpAddr::V4(address)),
            Host::Ipv6(address) => ServerName::from(IpAddr::V6(address)),
        };
        let stream = self.tls.connect(name, stream).await;
        Ok(Box::new(stream.map_err(|_| Failure::Tls)?))
    }

    /// The checked addresses of `host`, at least one.
    async fn addresses(&self, host: &Host<&str>) -> Result<Vec<IpAddr>, Failure> {
        let name = match host {
            Host::Domain(name) => Name::from_str(name).map_err(|_| Failure::Dns)?,
            Host::Ipv4(address) if self.policy.allow_private => {
                return Ok(vec![IpAddr::V4(*address)]);
            }
            Host::Ipv6(address) if self.policy.allow_private => {
                return Ok(vec![IpAddr::V6(*address)]);
            }
            Host::Ipv4(_) | Host::Ipv6(_) => return Err(Failure::BlockedAddress),
        };
        match self.resolver.resolve(name).await {
            Ok(addresses) => Ok(addresses.map(|address| address.ip()).collect()),
            Err(error) if error.is::<Blocked>() => Err(Failure::BlockedAddress),
            Err(_) => Err(Failure::Dns),
        }
    }
}

async fn connect(addresses: &[IpAddr], port: u16) -> Result<TcpStream, Failure> {
    let count = u32::try_from(addresses.len()).unwrap_or(u32::MAX).max(1);
    let mut failure = Failure::Dns;
    for address in addresses {
        let opening = TcpStream::connect(SocketAddr::new(*address, port));
        failure = match timeout(CONNECT_TIMEOUT / count, opening).await {
            Ok(Ok(stream)) => {
                // Audio is sent in small frames, which must not be delayed.
                stream.set_nodelay(true).map_err(|_| Failure::Connect)?;
                return Ok(stream);
            }
            Ok(Err(_)) => Failure::Connect,
            Err(_) => Failure::Timeout,
        };
    }
    Err(failure)
}
