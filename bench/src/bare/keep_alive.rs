//! Posts on kept connections, without client library, signature or database: the limit.

use std::net::SocketAddr;

use futures_util::future::try_join_all;
use serde::{Deserialize, Serialize};

use crate::load::{self, Until};

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Options {
    pub(crate) receivers: Vec<SocketAddr>,
    pub(crate) connections: usize,
    pub(crate) count: usize,
    /// Bytes of each body.
    pub(crate) size: usize,
}

pub(crate) async fn run(options: Options) -> anyhow::Result<()> {
    let receivers = options.receivers.len();
    let connections = (options.connections / receivers).max(1);
    let body = "x".repeat(options.size);
    let bytes = load::request("POST", "/", "Content-Type: application/json\r\n", &body);
    let each = options.receivers.into_iter().map(|receiver| {
        let until = Until::Count(options.count / receivers);
        load::run(receiver, connections, until, 200, |_, _, out| {
            out.extend_from_slice(&bytes)
        })
    });
    try_join_all(each).await.map(drop)
}
