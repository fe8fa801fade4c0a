//! A bad network between a client and a server.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// How the network treats bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// They pass.
    Good,
    /// They pass after this delay, in both directions.
    Slow(Duration),
    /// They vanish; connections are accepted and stay open.
    BlackHole,
}

/// A proxy before one server.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    network: watch::Sender<Network>,
    cut: watch::Sender<u64>,
    accepting: JoinHandle<()>,
}

impl Proxy {
    /// A good network before `server`.
    ///
    /// # Panics
    /// If no port is free.
    pub async fn before(server: SocketAddr) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let listener = listener.unwrap_or_else(|error| panic!("a port: {error}"));
        let address = listener.local_addr();
        let address = address.unwrap_or_else(|error| panic!("an address: {error}"));
        let (network, cut) = (watch::Sender::new(Network::Good), watch::Sender::new(0));
        let (networks, cuts) = (network.clone(), cut.clone());
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (network, mut cut) = (networks.subscribe(), cuts.subscribe());
                tokio::spawn(async move {
                    tokio::select! {
                        _ = cut.changed() => {}
                        () = join(client, server, network) => {}
                    }
                });
            }
        });
        Self {
            address,
            network,
            cut,
            accepting,
        }
    }

    /// The proxy's address, in place of the server's.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Changes the network's behavior.
    pub fn set(&self, network: Network) {
        self.network.send_replace(network);
    }

    /// Closes all connections.
    pub fn cut(&self) {
        self.cut.send_modify(|cuts| *cuts += 1);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
        self.cut();
    }
}

async fn join(client: TcpStream, server: SocketAddr, network: watch::Receiver<Network>) {
    let Ok(server) = TcpStream::connect(server).await else {
        return;
    };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let ((from_client, to_client), (from_server, to_server)) =
        (client.into_split(), server.into_split());
    tokio::select! {
        () = pass(from_client, to_server, network.clone()) => {}
        () = pass(from_server, to_client, network) => {}
    }
}

async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, network: watch::Receiver<Network>) {
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = from.read(&mut bytes).await {
        let network = *network.borrow();
        match network {
            Network::Good => {}
            Network::Slow(time) => tokio::time::sleep(time).await,
            Network::BlackHole => continue,
        }
        if to.write_all(&bytes[..read]).await.is_err() {
            return;
        }
    }
}
