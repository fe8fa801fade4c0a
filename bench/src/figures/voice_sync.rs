//! Taking over a catalog of 20,000 voices: the release binary asks a provider that answers at once, while it serves.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::sleep;

use super::Bench;
use crate::binary::{Offhook, find};
use crate::database::{Database, Kind, Place};
use crate::load::{self, Client};
use crate::pairs::median;
use crate::process::{forget_peak, peak_kib};
use crate::report::{Report, Target, number};

const VOICES: usize = 20_000;
const PAGE: usize = 100;
/// How long the service is left alone before it is looked at.
const IDLE: Duration = Duration::from_secs(3);
const LIMIT: Duration = Duration::from_secs(120);

pub(super) async fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    for kind in bench.databases() {
        let (mut seconds, mut extra, mut again) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..bench.rounds.min(3) {
            let sync = once(kind, bench).await?;
            seconds.push(sync.seconds);
            extra.push(sync.extra_mib);
            again.push(sync.again);
        }
        let name = |what: &str| format!("{what}, {}", kind.name());
        let rounds = seconds.len();
        let again = number(median(again));
        let detail =
            format!("median of {rounds}; `voices sync` once more, with nothing new: {again} s");
        let took = median(seconds);
        report.add(
            &name("sync of 20,000 voices"),
            Target::AtMost(10.0),
            took,
            " s",
            &detail,
        );
        let words =
            "the peak above the idle service, with the list in memory and a page of it shown";
        let mib = median(extra);
        report.add(
            &name("memory of that sync"),
            Target::AtMost(60.0),
            mib,
            " MiB",
            words,
        );
    }
    Ok(())
}

struct Sync {
    /// From the first page to the first voice that a client sees.
    seconds: f64,
    extra_mib: f64,
    again: f64,
}

async fn once(kind: Kind, bench: &Bench) -> anyhow::Result<Sync> {
    let (go, wait) = watch::channel(false);
    let provider = provider(wait).await?;
    let database = Database::new(kind, &bench.postgres, "voice_sync").await?;
    let key = tempfile::NamedTempFile::new()?;
    std::fs::write(key.path(), "07".repeat(32))?;
    let mut config = String::new();
    if let Place::Postgres(url) = &database.place {
        let file = key.path().display();
        config = format!("database_url = \"{url}\"\nmaster_key_file = \"{file}\"\n");
    }
    config += &format!(
        "[limits]\nenabled = false\n[voices.provider_a]\nbase_url = \"http://{provider}\"\napi_key = \"k\"\n"
    );
    let offhook = Offhook::new(&bench.binary, &config)?;
    let token = offhook.token().await?;
    let (serving, _) = offhook.serve().await?;
    let mut client = Client::connect(serving.address).await?;
    let headers = format!("Authorization: Bearer {token}\r\n");
    let first = load::request(
        "GET",
        "/v1/voices?provider=provider_a&recommended=false&limit=1",
        &headers,
        "",
    );
    ensure!(
        source(&mut client, &first).await? == "static",
        "the list is there already"
    );
    sleep(IDLE).await;
    let idle = serving.kib()?;
    forget_peak(serving.id()?)?;
    let began = Instant::now();
    go.send_replace(true);
    while source(&mut client, &first).await? != "shared" {
        ensure!(
            began.elapsed() < LIMIT,
            "no voice came within {} s",
            LIMIT.as_secs()
        );
        sleep(Duration::from_millis(20)).await;
    }
    let seconds = began.elapsed().as_secs_f64();
    let extra_mib = (peak_kib(serving.id()?)? - idle) / 1024.0;
    let began = Instant::now();
    offhook.administer("voices sync").await?;
    let again = began.elapsed().as_secs_f64();
    serving.stop().await?;
    database.remove().await?;
    Ok(Sync {
        seconds,
        extra_mib,
        again,
    })
}

/// Where the first voice comes from.
async fn source(client: &mut Client, request: &[u8]) -> anyhow::Result<String> {
    let status = client.exchange(request).await?;
    ensure!(status == 200, "GET /v1/voices: {}", client.text());
    let page: Value = serde_json::from_slice(client.body())?;
    let source = find(&page, "data").and_then(|data| data[0]["source"].as_str());
    Ok(source.context("a voice")?.to_owned())
}

/// A provider with an empty workspace and 20,000 voices in its library, which answers once it may.
async fn provider(wait: watch::Receiver<bool>) -> anyhow::Result<SocketAddr> {
    let pages: Arc<Vec<String>> = Arc::new((0..VOICES / PAGE).map(page).collect());
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (pages, wait) = (pages.clone(), wait.clone());
            // A connection that breaks is the service's to notice.
            tokio::spawn(async move {
                let _ = answer(stream, &pages, wait).await;
            });
        }
    });
    Ok(address)
}

async fn answer(
    mut stream: TcpStream,
    pages: &[String],
    mut wait: watch::Receiver<bool>,
) -> anyhow::Result<()> {
    const EMPTY: &str = r#"{"voices":[],"has_more":false}"#;
    let mut head = Vec::new();
    loop {
        let mut buffer = [0; 4_096];
        let read = stream.read(&mut buffer).await?;
        ensure!(read > 0, "it hung up");
        head.extend_from_slice(&buffer[..read]);
        if !head.ends_with(b"\r\n\r\n") {
            continue;
        }
        wait.wait_for(|may| *may).await?;
        let target = String::from_utf8_lossy(&head).into_owned();
        let target = target.split(' ').nth(1).unwrap_or_default();
        let number = target
            .split(['?', '&'])
            .find_map(|part| part.strip_prefix("page="))
            .and_then(|number| number.parse::<usize>().ok());
        let body = number.and_then(|number| pages.get(number));
        let body = body.map_or(EMPTY, String::as_str);
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(answer.as_bytes()).await?;
        head.clear();
    }
}

/// A page in the provider's shape, with members that nobody reads.
fn page(number: usize) -> String {
    let voice = |at: usize| {
        let number = number * PAGE + at;
        json!({
            "public_owner_id": format!("{number:064x}"), "voice_id": format!("voice{number:015}"), "date_unix": 1_714_000_000,
            "name": format!("Voice {number} - warm and clear"), "accent": "mexican", "gender": "female", "age": "middle_aged",
            "descriptive": "calm", "use_case": "conversational", "category": "professional", "language": "es",
            "locale": "es-MX", "description": "A warm voice for conversations on the phone, patient and clear, from Puebla.",
            "preview_url": format!("https://storage.example.com/previews/{number:032x}/{number:032x}.mp3"),
            "usage_character_count_1y": 12_345, "usage_character_count_7d": 123, "play_api_usage_character_count_1y": 99,
            "cloned_by_count": 17, "rate": 1.0, "fiat_rate": null, "free_users_allowed": true,
            "live_moderation_enabled": false, "featured": false, "verified_languages": [
                {"language": "es", "model_id": "multilingual_2", "accent": "mexican", "locale": "es-MX",
                    "preview_url": "https://storage.example.com/previews/1.mp3"},
                {"language": "en", "model_id": "flash_2_5", "accent": "american", "locale": "en-US", "preview_url": null},
            ],
            "notice_period": 730, "instagram_username": null, "twitter_username": null, "image_url": "", "is_added_by_user": false,
        })
    };
    let voices: Vec<Value> = (0..PAGE).map(voice).collect();
    json!({"voices": voices, "has_more": (number + 1) * PAGE < VOICES, "last_sort_id": "x"})
        .to_string()
}
