//! The bare loop: posts the bodies of open deliveries, and records results in batches of 64 with one UPDATE and one
//! INSERT. No claims, leases, fairness, signatures, guarded addresses or retries.

use futures_util::{StreamExt as _, stream};
use reqwest::Client;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use tokio_postgres::NoTls;

const OPEN: &str = "SELECT d.id::text, e.body, w.url FROM deliveries d JOIN events e ON e.id = d.event_id \
     JOIN webhook_endpoints w ON w.id = d.endpoint_id WHERE d.state = 'pending' ORDER BY d.id";
const UPDATE: &str = "UPDATE deliveries SET state = 'delivered', attempts_count = 1, next_attempt_at = NULL \
     WHERE id = ANY($1::text[]::uuid[])";
const INSERT: &str = "INSERT INTO attempts (id, delivery_id, number, at, outcome, status_code, duration_ms) \
     SELECT gen_random_uuid(), id, 1, now(), 'succeeded', 200, 1 FROM UNNEST($1::text[]::uuid[]) AS d(id)";

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Options {
    pub(crate) database: String,
    pub(crate) concurrency: usize,
}

pub(crate) async fn run(options: Options) -> anyhow::Result<()> {
    let (mut database, connection) = tokio_postgres::connect(&options.database, NoTls).await?;
    tokio::spawn(connection);
    let update = database.prepare(UPDATE).await?;
    let insert = database.prepare(INSERT).await?;
    let open = database.query(OPEN, &[]).await?;
    let (done, mut batches) = mpsc::channel::<Vec<String>>(16);
    let recorder = tokio::spawn(async move {
        while let Some(batch) = batches.recv().await {
            let transaction = database.transaction().await?;
            transaction.execute(&update, &[&batch]).await?;
            transaction.execute(&insert, &[&batch]).await?;
            transaction.commit().await?;
        }
        anyhow::Ok(())
    });
    let tls = offhook_egress::client_config()?;
    let http = Client::builder().tls_backend_preconfigured(tls).build()?;
    let sent = stream::iter(open).map(|row| {
        let request = http
            .post(row.get::<_, &str>(2))
            .body(row.get::<_, Vec<u8>>(1));
        let request = request.header("content-type", "application/json").send();
        tokio::spawn(async move {
            request.await?.error_for_status()?.bytes().await?;
            anyhow::Ok(row.get::<_, String>(0))
        })
    });
    let mut sent = sent.buffer_unordered(options.concurrency).chunks(64);
    while let Some(batch) = sent.next().await {
        let ids: Result<anyhow::Result<Vec<_>>, _> = batch.into_iter().collect();
        done.send(ids??).await?;
    }
    drop(done);
    recorder.await??;
    println!("{}", crate::process::cpu_seconds(std::process::id())?);
    Ok(())
}
