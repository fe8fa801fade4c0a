//! Reading documents in, as the service does, beside taking out their text, cutting it and listing its words for nobody.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{anyhow, ensure};
use offhook_documents::{ChildExtractor, Extractor, Format, InProcess};
use offhook_domain::{AccountId, DocumentStatus, Json};
use offhook_egress::{GuardedClient, Policy};
use offhook_services::{NewContent, PageRequest, Services, bench_index};
use offhook_storage::DocumentFilter;
use tokio_util::sync::CancellationToken;

use super::super::Bench;
use super::text::Writer;
use crate::database::{Database, Kind};
use crate::pairs::compare;
use crate::report::{Report, Target, number};
use crate::seed;

/// Documents of a round, and their bytes: a manual of 20 pages.
const DOCUMENTS: usize = 32;
const BYTES: usize = 64 * 1024;
/// Workers that the service has.
const WORKERS: usize = 2;
const ROUNDS: usize = 3;

pub(super) async fn on(kind: Kind, bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let database = Database::new(kind, &bench.postgres, "ingest").await?;
    let services = seed::open(&database).await?;
    let tenant = seed::tenants(&services, 1).await?.remove(0);
    let child: Arc<dyn Extractor> = Arc::new(ChildExtractor::new(bench.binary.clone()));
    let mut writer = Writer::new(11);
    let texts: Vec<String> = (0..DOCUMENTS).map(|_| writer.document(BYTES)).collect();
    let rounds = bench.rounds.min(ROUNDS);
    let pair = compare(
        rounds,
        async || ingest(&services, tenant.account, &texts, child.clone()).await,
        async || plain(&texts, child.clone()).await,
    )
    .await?;
    let detail = format!(
        "{} and {} MiB/s, {DOCUMENTS} texts of {} KiB",
        number(pair.a),
        number(pair.b),
        BYTES / 1024
    );
    let name = format!(
        "reading documents in / extracting and cutting them, {}",
        kind.name()
    );
    report.add(&name, Target::AtLeast(0.3), pair.ratio, "", &detail);
    let within = plain(&texts, Arc::new(InProcess)).await?;
    let name = format!(
        "reading documents in / the same without child processes, {}",
        kind.name()
    );
    let detail = format!("{} MiB/s", number(within));
    report.add(&name, Target::Reported, pair.a / within, "", &detail);
    drop(services);
    database.remove().await
}

fn rate(texts: &[String], began: Instant) -> f64 {
    let bytes: usize = texts.iter().map(String::len).sum();
    bytes as f64 / (1024.0 * 1024.0) / began.elapsed().as_secs_f64()
}

/// MiB/s from the moment at which documents wait to that at which the last is ready. The words of those of the round before
/// are folded meanwhile: as many as are folded at once.
async fn ingest(
    services: &Services,
    account: AccountId,
    texts: &[String],
    extractor: Arc<dyn Extractor>,
) -> anyhow::Result<f64> {
    for text in texts {
        let body = serde_json::json!({ "name": "manual", "text": text }).to_string();
        let body = Json::parse(body.as_bytes()).map_err(|error| anyhow!("{error:?}"))?;
        let added = services.knowledge().add(account, NewContent::Json(body));
        added.await.map_err(|error| anyhow!("{error:?}"))?;
    }
    let client = GuardedClient::new(Policy::default())?;
    let stop = CancellationToken::new();
    let began = Instant::now();
    let librarian = services.librarian(extractor, client).run(stop.clone());
    let librarian = tokio::spawn(librarian);
    while any(services, account, DocumentStatus::Processing).await? {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let rate = rate(texts, began);
    stop.cancel();
    librarian.await?;
    let failed = any(services, account, DocumentStatus::Failed).await?;
    ensure!(!failed, "a document could not be read");
    Ok(rate)
}

async fn any(
    services: &Services,
    account: AccountId,
    status: DocumentStatus,
) -> anyhow::Result<bool> {
    let filter = DocumentFilter {
        status: Some(status),
        ..DocumentFilter::default()
    };
    let page = PageRequest {
        after: None,
        limit: 1,
    };
    let page = services
        .knowledge()
        .documents(account, filter, page)
        .await?;
    Ok(!page.items.is_empty())
}

/// MiB/s of as many workers without a database.
async fn plain(texts: &[String], extractor: Arc<dyn Extractor>) -> anyhow::Result<f64> {
    let began = Instant::now();
    let mut workers = Vec::new();
    for worker in 0..WORKERS {
        let mine: Vec<String> = texts
            .iter()
            .skip(worker)
            .step_by(WORKERS)
            .cloned()
            .collect();
        let extractor = extractor.clone();
        workers.push(tokio::spawn(async move {
            for text in mine {
                let text = extractor.extract(Format::Text, text.into_bytes()).await?;
                tokio::task::spawn_blocking(move || bench_index(&text)).await?;
            }
            anyhow::Ok(())
        }));
    }
    for worker in workers {
        worker.await??;
    }
    Ok(rate(texts, began))
}
