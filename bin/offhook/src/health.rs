//! `offhook health`: the service of this data directory asked for a sign of life, where there is no other client to ask it
//! (an image without a shell).

use tokio::net::TcpStream;

use crate::doctor::ask;
use crate::prelude::*;
use crate::{data_dir, links};

/// How long a connection may take.
const LIMIT: Duration = Duration::from_secs(3);

/// `offhook health`'s flags.
#[derive(Debug, Args)]
pub(crate) struct HealthArgs {
    /// Check readiness (/readyz) instead of liveness (/healthz).
    #[arg(long)]
    ready: bool,
}

/// Succeeds if the service answers well.
pub(crate) async fn run(settings: &Settings, args: HealthArgs) -> anyhow::Result<()> {
    let address = data_dir::read_listen(&settings.data_dir);
    let address = address.unwrap_or(settings.listen);
    if settings.http.tls.is_some() {
        if args.ready {
            bail!("--ready needs a plain listener: behind TLS only a connection can be tried");
        }
        return connect(address).await;
    }
    let path = if args.ready { "/readyz" } else { "/healthz" };
    let asked = ask(address, path).await.with_context(|| {
        format!("nothing answers at {address} (is `offhook serve` running with this --data-dir?)")
    });
    match asked? {
        (200, _) => output::print(false, &Value::Null, "ok"),
        (status, body) => bail!(
            "{path} answers with {status}: {}",
            body["reason"].as_str().unwrap_or("no reason given")
        ),
    }
}

/// Behind TLS the certificate has a name that is not known here; that the listener takes connections is a sign of life.
async fn connect(address: SocketAddr) -> anyhow::Result<()> {
    timeout(LIMIT, TcpStream::connect(links::here(address)))
        .await
        .with_context(|| format!("{address} takes no connection"))??;
    Ok(())
}
