//! The plain loop: posts the same body over kept connections with a common HTTP client, and does nothing else.

use std::time::Instant;

use futures_util::{StreamExt as _, stream};
use reqwest::Client;
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Options {
    pub(crate) url: String,
    pub(crate) body: String,
    pub(crate) count: usize,
    pub(crate) concurrency: usize,
}

/// Prints how many it has posted per second.
pub(crate) async fn run(options: Options) -> anyhow::Result<()> {
    let tls = offhook_egress::client_config()?;
    let http = Client::builder().tls_backend_preconfigured(tls).build()?;
    let began = Instant::now();
    let sent = stream::iter(0..options.count).map(|_| {
        let request = http.post(&options.url).body(options.body.clone());
        let request = request.header("content-type", "application/json").send();
        tokio::spawn(async move {
            request.await?.error_for_status()?.bytes().await?;
            anyhow::Ok(())
        })
    });
    let mut sent = sent.buffer_unordered(options.concurrency);
    while let Some(one) = sent.next().await {
        one??;
    }
    println!("{}", options.count as f64 / began.elapsed().as_secs_f64());
    Ok(())
}
