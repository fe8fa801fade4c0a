//! Knowledge: searching 10,000 documents beside 1,000, among 1,000 other accounts; and reading documents in, beside the
//! same without a database.

mod ingest;
mod text;

use std::time::Instant;

use anyhow::{anyhow, ensure};
use offhook_domain::{AccountId, Clock as _, DocumentId, DocumentSource, DocumentStatus, Json};
use offhook_services::{Services, SystemClock, bench_index};
use offhook_storage::{BenchDocument, Document};

use super::Bench;
use crate::database::{Database, Kind};
use crate::pairs::{compare, percentile};
use crate::report::{Report, Target, number};
use crate::seed;
use crate::sql::{Of, Sql, uuid};
use text::Writer;

/// Queries of a round.
const QUERIES: usize = 200;
/// Bytes of a document: some 10 passages.
const DOCUMENT: usize = 8_000;
const OTHERS: i64 = 1_000;
/// Documents that are stored in one transaction.
const AT_ONCE: i64 = 50;
/// A round is 400 searches.
const ROUNDS: usize = 5;

pub(super) async fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    for kind in bench.databases() {
        ingest::on(kind, bench, report).await?;
        search(kind, bench, report).await?;
    }
    Ok(())
}

async fn search(kind: Kind, bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let documents = bench.rows / 100;
    let many = Shelf::new(kind, bench, documents).await?;
    let few = Shelf::new(kind, bench, documents / 10).await?;
    let rounds = bench.rounds.min(ROUNDS);
    let pair = compare(
        rounds,
        async || many.search().await,
        async || few.search().await,
    )
    .await?;
    let detail = format!(
        "p95 {} and {} ms; {} and {} passages; {} of {QUERIES} queries found the document they are from first",
        number(pair.a),
        number(pair.b),
        many.passages,
        few.passages,
        many.found().await?
    );
    let name = format!(
        "search in 10,000 documents / in 1,000, p95, {}",
        kind.name()
    );
    report.add(&name, Target::AtMost(3.0), pair.ratio, "", &detail);
    let name = format!("search in 10,000 documents, p95, {}", kind.name());
    report.add(&name, Target::Reported, pair.a, " ms", "");
    for shelf in [many, few] {
        drop(shelf.services);
        shelf.database.remove().await?;
    }
    Ok(())
}

/// An account's documents, with what to look for.
struct Shelf {
    database: Database,
    services: Services,
    queries: Vec<(DocumentId, Json)>,
    passages: i64,
}

impl Shelf {
    async fn new(kind: Kind, bench: &Bench, count: i64) -> anyhow::Result<Self> {
        let name = format!("knowledge_{count}");
        let database = Database::new(kind, &bench.postgres, &name).await?;
        let sql = Sql::of(&database);
        let now = sql.instant("1760000000000000");
        let accounts = sql.insert(
            "accounts (id, name, plan, created_at)",
            &format!(
                "{}, 'Account', 'enterprise', {now}",
                sql.id(Of::Account, "i")
            ),
            0,
            OTHERS + 1,
        );
        sql.fill(&database, &accounts).await?;
        let store = database.place.open().await?;
        let mut writer = Writer::new(7);
        let mut queries = Vec::new();
        let (mut number, mut passages) = (0, 0);
        for other in 1..=OTHERS {
            let document = document(other, number, &writer.document(DOCUMENT));
            store.bench_documents(vec![document]).await?;
            number += 1;
        }
        let every = (count / QUERIES as i64).max(1);
        while number < OTHERS + count {
            let mut some = Vec::new();
            for _ in 0..AT_ONCE.min(OTHERS + count - number) {
                let text = writer.document(DOCUMENT);
                if number % every == 0 && queries.len() < QUERIES {
                    queries.push((id(number), query(&writer.cut(&text))?));
                }
                some.push(document(0, number, &text));
                number += 1;
            }
            passages += (some.iter())
                .map(|document| i64::from(document.document.chunks_count))
                .sum::<i64>();
            store.bench_documents(some).await?;
            while store.fold_words(SystemClock.now()).await? {}
        }
        sql.settle(
            &database,
            &[
                "knowledge_documents",
                "knowledge_passages",
                "knowledge_words",
                "knowledge_indexed",
                "knowledge_folded",
                "knowledge_terms",
            ],
        )
        .await?;
        drop(store);
        ensure!(queries.len() == QUERIES, "{} queries", queries.len());
        Ok(Self {
            services: seed::open(&database).await?,
            database,
            queries,
            passages,
        })
    }

    /// Milliseconds that 95 % of the searches did not exceed.
    async fn search(&self) -> anyhow::Result<f64> {
        let mut took = Vec::with_capacity(QUERIES);
        for (_, query) in &self.queries {
            let began = Instant::now();
            let found = self.services.knowledge().search(account(0), query).await;
            took.push(began.elapsed().as_secs_f64() * 1e3);
            let found = found.map_err(|error| anyhow!("{error:?}"))?;
            ensure!(!found.is_empty(), "{query:?} found nothing");
        }
        took.sort_by(f64::total_cmp);
        Ok(percentile(&took, 0.95))
    }

    /// How many queries find the document that they were cut from before any other.
    async fn found(&self) -> anyhow::Result<usize> {
        let mut first = 0;
        for (id, query) in &self.queries {
            let found = self.services.knowledge().search(account(0), query).await;
            let found = found.map_err(|error| anyhow!("{error:?}"))?;
            first += usize::from(found.first().is_some_and(|hit| hit.document_id == *id));
        }
        Ok(first)
    }
}

fn account(number: i64) -> AccountId {
    AccountId::from_uuid(uuid(Of::Account, number))
}

fn id(number: i64) -> DocumentId {
    DocumentId::from_uuid(uuid(Of::Row, number))
}

fn query(words: &str) -> anyhow::Result<Json> {
    let body = serde_json::json!({ "query": words }).to_string();
    Json::parse(body.as_bytes()).map_err(|error| anyhow!("{error:?}"))
}

fn document(owner: i64, number: i64, text: &str) -> BenchDocument {
    let part = bench_index(text);
    let at = SystemClock.now();
    BenchDocument {
        document: Document {
            id: id(number),
            account_id: account(owner),
            folder_id: None,
            name: format!("document {number}"),
            source: DocumentSource::Text,
            mime_type: Some("text/plain".to_owned()),
            url: None,
            size_bytes: i64::try_from(text.len()).ok(),
            content_hash: None,
            chunks_count: i32::try_from(part.passages.len()).unwrap_or(i32::MAX),
            status: DocumentStatus::Ready,
            error: None,
            created_at: at,
            updated_at: at,
        },
        part,
    }
}
