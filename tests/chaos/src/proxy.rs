//! A proxy between a node and a server: passes bytes on until it has to cut or stall.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// How the proxy treats bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// They pass.
    Open,
    /// They pass after this delay.
    Slow(Duration),
    /// They wait; connections stay open.
    Stalled,
}

/// A proxy in front of one server.
#[derive(Clone)]
pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    way: Arc<watch::Sender<Way>>,
    cuts: Arc<watch::Sender<u64>>,
}

impl Proxy {
    /// Listens on a free port.
    pub(crate) async fn start(on: IpAddr, server: SocketAddr) -> anyhow::Result<Self> {
        let listener = TcpListener::bind((on, 0)).await?;
        let proxy = Self {
            address: listener.local_addr()?,
            way: Arc::new(watch::Sender::new(Way::Open)),
            cuts: Arc::new(watch::Sender::new(0)),
        };
        let (way, cuts) = (proxy.way.clone(), proxy.cuts.clone());
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let (way, cuts) = (way.subscribe(), cuts.subscribe());
                tokio::spawn(connect(near, server, way, cuts));
            }
        });
        Ok(proxy)
    }

    pub(crate) fn cut(&self) {
        self.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// Changes the behavior.
    pub(crate) fn set(&self, way: Way) {
        self.way.send_replace(way);
    }
}

async fn connect(
    near: TcpStream,
    server: SocketAddr,
    way: watch::Receiver<Way>,
    mut cuts: watch::Receiver<u64>,
) {
    cuts.mark_unchanged();
    let Ok(far) = TcpStream::connect(server).await else {
        return;
    };
    // Closes with a reset instead of an orderly end.
    let _ = (near.set_zero_linger(), far.set_zero_linger());
    let _ = (near.set_nodelay(true), far.set_nodelay(true));
    let (near_in, near_out) = near.into_split();
    let (far_in, far_out) = far.into_split();
    tokio::select! {
        () = pass(near_in, far_out, way.clone()) => {}
        () = pass(far_in, near_out, way) => {}
        _ = cuts.changed() => {}
    }
}

async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut way: watch::Receiver<Way>) {
    let mut bytes = vec![0; 16 * 1024];
    while let Ok(count) = from.read(&mut bytes).await {
        if count == 0 {
            return;
        }
        if way.wait_for(|way| *way != Way::Stalled).await.is_err() {
            return;
        }
        let now = *way.borrow();
        if let Way::Slow(delay) = now {
            tokio::time::sleep(delay).await;
        }
        if to.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}
