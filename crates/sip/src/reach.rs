//! Resolves a carrier's name and connects to it.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use parking_lot::Mutex;
use rsipstack::sip::{Host, HostWithPort};
use rsipstack::transport::tls::TlsConnection;
use rsipstack::transport::{SipAddr, SipConnection};
use rustls::pki_types::ServerName;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsConnector;

use crate::endpoint::Shared;
use crate::settings::Transport;

/// How long a resolved address is used without a new lookup.
const FRESH: Duration = Duration::from_secs(60);

/// Why nothing could be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unreachable {
    #[error("the carrier's name has no address here")]
    NoAddress,
    #[error("the carrier cannot be connected to")]
    NotConnected,
    #[error("the carrier's certificate is not to be trusted, or it speaks no TLS")]
    NotTrusted,
}

/// The address and connection of a trunk.
#[derive(Default)]
pub(crate) struct Route {
    address: Mutex<Option<(SocketAddr, Instant)>>,
    encrypted: tokio::sync::Mutex<Option<(SocketAddr, TlsConnection)>>,
}

/// The destination of requests to a trunk, with an open connection if its transport needs one.
pub(crate) async fn reach(shared: &Shared, trunk: usize) -> Result<SipAddr, Unreachable> {
    let address = resolve(shared, trunk).await?;
    shared.gate.add_address(trunk, address.ip());
    let transport = shared.trunks[trunk].trunk.transport;
    let destination = SipAddr::new(transport.into(), address.into());
    match transport {
        Transport::Udp => {}
        Transport::Tcp => {
            let transports = &shared.endpoint.transport_layer;
            // An existing connection is found and reused.
            match timeout(shared.timers.connect, transports.lookup(&destination, None)).await {
                Ok(Ok(_)) => {}
                Ok(Err(_)) | Err(_) => return Err(Unreachable::NotConnected),
            }
        }
        Transport::Tls => connect_tls(shared, trunk, address, &destination).await?,
    }
    Ok(destination)
}

async fn resolve(shared: &Shared, trunk: usize) -> Result<SocketAddr, Unreachable> {
    let state = &shared.trunks[trunk];
    let port = state.trunk.port();
    let name = match &state.trunk.host {
        Host::IpAddr(address) => return Ok(SocketAddr::new(*address, port)),
        Host::Domain(name) => name.0.as_str(),
    };
    let known = *state.route.address.lock();
    if let Some((address, since)) = known
        && since.elapsed() < FRESH
    {
        return Ok(address);
    }
    let found = match timeout(shared.timers.connect, lookup_host((name, port))).await {
        Ok(Ok(mut found)) => {
            found.find(|address| shared.can_send_to(state.trunk.transport, address.ip()))
        }
        Ok(Err(_)) | Err(_) => None,
    };
    match (found, known) {
        (Some(address), _) => {
            *state.route.address.lock() = Some((address, Instant::now()));
            Ok(address)
        }
        // After a failed lookup the previous address is better than none.
        (None, Some((address, _))) => Ok(address),
        (None, None) => Err(Unreachable::NoAddress),
    }
}

/// Opens a TLS connection with the process's certificate checks; the stack's own code has no trusted roots.
async fn connect_tls(
    shared: &Shared,
    trunk: usize,
    address: SocketAddr,
    destination: &SipAddr,
) -> Result<(), Unreachable> {
    let state = &shared.trunks[trunk];
    let mut open = state.route.encrypted.lock().await;
    let alive = open.as_ref().is_some_and(|(to, connection)| {
        *to == address
            && connection
                .cancel_token()
                .is_none_or(|token| !token.is_cancelled())
    });
    if alive {
        return Ok(());
    }
    let config = shared.tls.clone().ok_or(Unreachable::NotTrusted)?;
    let name = match &state.trunk.host {
        Host::IpAddr(address) => ServerName::IpAddress((*address).into()),
        Host::Domain(name) => {
            ServerName::try_from(name.0.clone()).map_err(|_| Unreachable::NotTrusted)?
        }
    };
    let connect = async {
        let stream = TcpStream::connect(address)
            .await
            .map_err(|_| Unreachable::NotConnected)?;
        TlsConnector::from(config)
            .connect(name, stream)
            .await
            .map_err(|_| Unreachable::NotTrusted)
    };
    let stream = timeout(shared.timers.connect, connect)
        .await
        .map_err(|_| Unreachable::NotConnected)??;
    let ends = Some(shared.stop.child_token());
    let connection = TlsConnection::from_client_stream(stream, destination.clone(), ends)
        .await
        .map_err(|_| Unreachable::NotConnected)?;
    shared
        .endpoint
        .transport_layer
        .add_connection(SipConnection::Tls(connection.clone()));
    *open = Some((address, connection));
    Ok(())
}

/// Whether a listener and an address are of the same IP family.
pub(crate) fn same_family(listener: &HostWithPort, to: IpAddr) -> bool {
    match listener.host {
        Host::IpAddr(from) => from.is_ipv4() == to.is_ipv4(),
        Host::Domain(_) => true,
    }
}
