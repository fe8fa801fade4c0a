//! scratch
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use offhook_dispatch::{DispatchConfig, Dispatcher};
use offhook_dispatch::sender::Sender;
use offhook_domain::*;
use offhook_egress::Policy;
use offhook_storage::*;
use offhook_testkit::TestDatabase;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{Notify, Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

struct Sys;
impl Clock for Sys { fn now(&self) -> Timestamp {
    #[expect(clippy::disallowed_methods, reason="x")]
    let n = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    Timestamp::from_micros(n.as_micros() as i64) } }

static GOT: AtomicUsize = AtomicUsize::new(0);
static CONNS: AtomicUsize = AtomicUsize::new(0);

fn receiver() -> u16 {
    let (tx, rx) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
            let l = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            tx.send(l.local_addr().unwrap().port()).unwrap();
            loop {
                let (mut s, _) = l.accept().await.unwrap();
                CONNS.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(async move {
                    s.set_nodelay(true).ok();
                    let mut buf = Vec::with_capacity(4096);
                    loop {
                        let end = loop {
                            if let Some(p) = buf.windows(4).position(|w| w == b"\r\n\r\n") {
                                let head = std::str::from_utf8(&buf[..p]).unwrap().to_ascii_lowercase();
                                let len: usize = head.lines().find_map(|l| l.strip_prefix("content-length: ")).unwrap().parse().unwrap();
                                if buf.len() >= p + 4 + len { break p + 4 + len; }
                            }
                            if s.read_buf(&mut buf).await.unwrap_or(0) == 0 { return; }
                        };
                        buf.drain(..end);
                        GOT.fetch_add(1, Ordering::Relaxed);
                        if s.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await.is_err() { return; }
                    }
                });
            }
        });
    });
    rx.recv().unwrap()
}

fn cpu() -> f64 {
    let s = std::fs::read_to_string("/proc/self/stat").unwrap();
    let v: Vec<&str> = s.rsplit_once(')').unwrap().1.split_whitespace().collect();
    (v[11].parse::<f64>().unwrap() + v[12].parse::<f64>().unwrap()) / 100.0
}

async fn fill(raw: &tokio_postgres::Client, store: &Store, port: u16, endpoints: usize, total: usize) {
    let now = Sys.now();
    raw.batch_execute("TRUNCATE accounts CASCADE").await.unwrap();
    let mut account: AccountId = mint(now);
    for e in 0..endpoints {
        if e % 20 == 0 {
            account = mint(now);
            store.create_account(Account { id: account, name: "a".into(), plan: Plan::Pro, engine_module: None, created_at: now }, None, None).await.unwrap();
        }
        let secret = offhook_signing::SigningSecret::generate(&ring::rand::SystemRandom::new()).unwrap();
        let id: EndpointId = mint(now);
        store.create_endpoint(Endpoint { id, account_id: account, url: format!("http://127.0.0.1:{port}/in/{e}"), description: None, status: EndpointStatus::Enabled, disabled_reason: None, created_at: now, updated_at: now }, secret.expose(), secret.prefix(), 20).await.unwrap();
    }
    let n = total / endpoints;
    raw.batch_execute(&format!("
      CREATE TEMP TABLE src ON COMMIT DROP AS SELECT gen_random_uuid() AS ev, gen_random_uuid() AS d, e.id AS ep, e.account_id AS acc, now() - interval '1 hour' + g * interval '1 ms' AS at FROM webhook_endpoints e, generate_series(1, {n}) g;
      INSERT INTO events (id, account_id, type, body, created_at) SELECT ev, acc, 'call.completed', convert_to('{{\"id\":\"' || ev || '\",\"type\":\"call.completed\",\"created_at\":\"2026-04-30T18:32:11.123Z\",\"data\":{{\"id\":\"call_' || ev || '\",\"agent_id\":\"agent\",\"status\":\"completed\",\"duration_seconds\":42,\"transcript_summary\":\"' || repeat('They agreed. ', 20) || '\",\"termination_reason\":\"agent_hangup\"}}}}', 'UTF8'), at FROM src;
      INSERT INTO deliveries (id, account_id, endpoint_id, event_id, event_type, state, attempts_count, abandoned_count, next_attempt_at, created_at) SELECT d, acc, ep, ev, 'call.completed', 'pending', 0, 0, at, at FROM src;
    ")).await.unwrap();
    raw.batch_execute("VACUUM ANALYZE").await.unwrap();
}

#[tokio::main]
async fn main() {
    rustls::crypto::ring::default_provider().install_default().ok();
    let args: Vec<String> = std::env::args().collect();
    let total: usize = 50_000;
    let port = receiver();
    let db = TestDatabase::postgres().await;
    let store = db.open().await;
    let StoreConfig::Postgres { url, .. } = db.config() else { panic!() };
    let (raw, conn) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(conn);
    for endpoints in [1usize, 100] {
      for round in 0..2 {
        if args.get(1).map(String::as_str) != Some("ours") {
            fill(&raw, &store, port, endpoints, total).await;
            // bare
            let rows = raw.query("SELECT d.id::text, e.body, w.url FROM deliveries d JOIN events e ON e.id = d.event_id JOIN webhook_endpoints w ON w.id = d.endpoint_id", &[]).await.unwrap();
            let client = reqwest::Client::builder().no_proxy().pool_max_idle_per_host(64).build().unwrap();
            let (tx, mut rx) = mpsc::channel::<(String, i32, i32)>(4096);
            let (raw2, conn) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
            tokio::spawn(conn);
            let began = Instant::now(); let c0 = cpu();
            let rec = tokio::spawn(async move {
                let up = raw2.prepare("UPDATE deliveries d SET state='delivered', attempts_count=1, next_attempt_at=NULL FROM UNNEST($1::text[]::uuid[]) r(id) WHERE d.id=r.id").await.unwrap();
                let ins = raw2.prepare("INSERT INTO attempts (id, delivery_id, number, at, outcome, status_code, duration_ms, response_snippet) SELECT gen_random_uuid(), r.id, 1, now(), 'succeeded', r.s, r.d, 'ok' FROM UNNEST($1::text[]::uuid[], $2::int[], $3::int[]) r(id, s, d)").await.unwrap();
                let mut done = 0;
                while done < total {
                    let mut b = vec![]; 
                    while b.len() < 64 && done + b.len() < total { b.push(rx.recv().await.unwrap()); }
                    done += b.len();
                    let ids: Vec<_> = b.iter().map(|x| x.0.clone()).collect();
                    let ss: Vec<_> = b.iter().map(|x| x.1).collect();
                    let ds: Vec<_> = b.iter().map(|x| x.2).collect();
                    raw2.batch_execute("BEGIN").await.unwrap();
                    raw2.execute(&up, &[&ids]).await.unwrap();
                    raw2.execute(&ins, &[&ids, &ss, &ds]).await.unwrap();
                    raw2.batch_execute("COMMIT").await.unwrap();
                }
            });
            let sem = Arc::new(Semaphore::new(64));
            for row in rows {
                let p = sem.clone().acquire_owned().await.unwrap();
                let (client, tx) = (client.clone(), tx.clone());
                tokio::spawn(async move {
                    let id: String = row.get(0); let body: Vec<u8> = row.get(1); let url: String = row.get(2);
                    let t = Instant::now();
                    let r = client.post(url).header("content-type", "application/json").body(body).send().await.unwrap();
                    let st = r.status().as_u16(); r.bytes().await.unwrap();
                    drop(p);
                    tx.send((id, i32::from(st), t.elapsed().as_millis() as i32)).await.unwrap();
                });
            }
            rec.await.unwrap();
            let s = began.elapsed().as_secs_f64();
            println!("bare  endpoints={endpoints} round={round} {:.0}/s cpu={:.2}", total as f64 / s, cpu() - c0);
        }
        fill(&raw, &store, port, endpoints, total).await;
        raw.batch_execute("SELECT pg_stat_reset()").await.unwrap();
        let stop = CancellationToken::new();
        let config = DispatchConfig::new(store.clone(), Arc::new(Sys), Sender::new(Policy { allow_private: true }).unwrap(), Arc::new(Notify::new()));
        let (g0, n0) = (GOT.load(Ordering::Relaxed), CONNS.load(Ordering::Relaxed));
        let began = Instant::now(); let c0 = cpu();
        let task = tokio::spawn(Dispatcher::new(config).run(stop.clone()));
        while GOT.load(Ordering::Relaxed) - g0 < total { tokio::time::sleep(Duration::from_millis(2)).await; if began.elapsed().as_secs() > 60 { println!("stuck at {}", GOT.load(Ordering::Relaxed) - g0); break; } }
        let s0 = began.elapsed().as_secs_f64();
        stop.cancel(); task.await.unwrap();
        let s = began.elapsed().as_secs_f64();
        let row = raw.query_one("SELECT count(*) FILTER (WHERE state='delivered') , (SELECT count(*) FROM attempts WHERE outcome='succeeded') FROM deliveries", &[]).await.unwrap();
        let tx = raw.query_one("SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()", &[]).await.unwrap();
        println!("ours  endpoints={endpoints} round={round} {:.0}/s ({s0:.2}s {s:.2}s) cpu={:.2} conns={} delivered={} attempts={} commits={}", total as f64 / s, cpu() - c0, CONNS.load(Ordering::Relaxed) - n0, row.get::<_, i64>(0), row.get::<_, i64>(1), tx.get::<_, i64>(0));
      }
    }
}
