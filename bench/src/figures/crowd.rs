//! 5,000 calls at once on one node: how late turns are, whether each call is closed once, and what requests notice.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde::Deserialize;
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tokio::task::LocalSet;
use tokio::time::sleep;

use super::Bench;
use crate::child::{Child, Role};
use crate::database::{Database, Kind};
use crate::load::{self, Client, Until};
use crate::pairs::percentile;
use crate::receiver::Receiver;
use crate::report::{Report, Target, number};
use crate::seed::{self, Tenant};
use crate::service::{Options, Ports};

const CALLS: usize = 5_000;
/// Calls before them.
const WARM: usize = 20;
/// Each may have 500 live calls.
const ACCOUNTS: usize = 50;
/// Requests that are timed, and the time between two.
const REQUESTS: usize = 400;
const APART: Duration = Duration::from_millis(25);
const MOST: Duration = Duration::from_secs(240);

/// How long the agents let a customer be silent before they answer, in milliseconds: what they are told to wait is not late.
const ENDPOINTING_MS: u32 = 700;

/// Lines that take some ten seconds to say: with the customer's answer, a turn is stored every six.
const PROMPT: &str = "You are Eva.\n\
    say: Lovely. Then I have put you down for tomorrow evening at six o'clock, a table for two people by the window, as you had asked for last week, is that right?\n\
    say: Wonderful, I have noted all of that now. The kitchen will be told about the nuts, and the parking space is yours for the whole evening. Anything else?\n\
    say: You are very welcome. We look forward to seeing you tomorrow evening at six o'clock, and please do call us whenever your plans should change at all.\n\
    say: Goodbye!";
const FIRST: &str = "Hello, this is Eva from Harbour Hotel. I am calling about the table that you booked with us for tomorrow evening. Is this a good moment to talk?";

pub(super) async fn run(
    bench: &Bench,
    report: &mut Report,
    tasks: &LocalSet,
) -> anyhow::Result<()> {
    for kind in bench.databases() {
        on(kind, bench, report, tasks).await?;
    }
    Ok(())
}

async fn on(
    kind: Kind,
    bench: &Bench,
    report: &mut Report,
    tasks: &LocalSet,
) -> anyhow::Result<()> {
    let receiver = Receiver::start(tasks, 1, false).await?;
    let database = Database::new(kind, &bench.postgres, "crowd").await?;
    let services = seed::open(&database).await?;
    let tenants = seed::tenants(&services, ACCOUNTS).await?;
    for tenant in &tenants {
        let url = format!("http://{}/", receiver.addresses[0]);
        seed::endpoint(&services, tenant.account, &url).await?;
    }
    drop(services);
    let mut child = Child::start(&Role::Service(Options {
        place: database.place.clone(),
        dialer: true,
        dispatcher: true,
    }))?;
    let ports: Ports = child.said().await?;
    let mut bodies = Vec::new();
    for tenant in &tenants {
        bodies.push(place(ports, tenant).await?);
    }

    // A few calls first, so that what is timed idle lists rows too. Until the dialer has claimed them none is live, so
    // their end is known by their events: those that come later would be counted among the crowd's.
    let warm = |connection: usize, _: usize, out: &mut Vec<u8>| out.extend(&bodies[connection]);
    load::run(ports.limited, WARM, Until::Count(WARM), 201, warm).await?;
    receiver.wait_for(2 * WARM, MOST).await?;
    settle(ports, &tenants).await?;
    let idle = timed(ports, &tenants[0]).await?;

    receiver.reset(true);
    let began = Instant::now();
    let send = |connection: usize, sent: usize, out: &mut Vec<u8>| {
        out.extend(&bodies[(connection + sent * 20) % ACCOUNTS]);
    };
    load::run(ports.limited, 20, Until::Count(CALLS), 201, send).await?;
    let placed = began.elapsed();
    let mut most = 0;
    while most < CALLS as i64 && began.elapsed() < MOST {
        let now = live(ports, &tenants).await?;
        if now < most {
            break;
        }
        most = now;
        sleep(Duration::from_millis(200)).await;
    }
    let busy = timed(ports, &tenants[0]).await?;
    let still = live(ports, &tenants).await?;
    settle(ports, &tenants).await?;
    sleep(Duration::from_secs(2)).await;
    let events = receiver.count();

    let told = told(ports, &tenants).await?;
    let name = kind.name();
    let detail = format!(
        "p50 {} ms of {} turns; {most} calls live at once, placed in {} s; {still} still live behind the timed requests",
        number(percentile(&told.lateness, 0.5)),
        told.lateness.len(),
        number(placed.as_secs_f64()),
    );
    report.add(
        &format!("turn lateness p95, 5,000 calls at once, {name}"),
        Target::AtMost(250.0),
        percentile(&told.lateness, 0.95),
        " ms",
        &detail,
    );
    let detail = format!(
        "{} completed; {events} events of {}",
        told.completed,
        2 * CALLS
    );
    let wrong = (told.calls - told.completed) + events.abs_diff(2 * CALLS);
    report.add(
        &format!("calls not closed exactly once, {name}"),
        Target::AtMost(0.0),
        wrong as f64,
        "",
        &detail,
    );
    let detail = format!("{} and {} ms", number(busy), number(idle));
    report.add(
        &format!("GET /v1/calls?limit=20 p99 meanwhile / idle, {name}"),
        Target::AtMost(3.0),
        busy / idle,
        "",
        &detail,
    );
    child.stop().await?;
    database.remove().await
}

/// Makes an agent of long sentences; the request that places a call of it.
async fn place(ports: Ports, tenant: &Tenant) -> anyhow::Result<Vec<u8>> {
    #[derive(Deserialize)]
    struct Made {
        id: String,
    }
    let headers = tenant.headers();
    let agent = json!({
        "name": "Talker", "language": "en-US",
        "config": {
            "system_prompt": PROMPT, "first_message": FIRST,
            "llm": {"provider": "scripted", "model": "scripted"},
            "conversation": {"turns": {"endpointing_ms": ENDPOINTING_MS}},
        },
    });
    let mut client = Client::connect(ports.limited).await?;
    let create = load::request("POST", "/v1/agents", &headers, &agent.to_string());
    ensure!(client.exchange(&create).await? == 201, "{}", client.text());
    let made: Made = serde_json::from_slice(client.body())?;
    let publish = format!("/v1/agents/{}/publish", made.id);
    let publish = load::request("POST", &publish, &headers, "{}");
    ensure!(client.exchange(&publish).await? == 200, "{}", client.text());
    let body = json!({"agent_id": made.id, "to": "+14155550123"});
    Ok(load::request(
        "POST",
        "/v1/calls",
        &headers,
        &body.to_string(),
    ))
}

/// How many calls are live.
async fn live(ports: Ports, tenants: &[Tenant]) -> anyhow::Result<i64> {
    let mut client = Client::connect(ports.limited).await?;
    let mut live = 0;
    for tenant in tenants {
        let me = load::request("GET", "/v1/me", &tenant.headers(), "");
        ensure!(client.exchange(&me).await? == 200, "{}", client.text());
        let me: Value = serde_json::from_slice(client.body())?;
        live += me["live_calls"].as_i64().context("live_calls")?;
    }
    Ok(live)
}

/// Waits until no call is queued or live.
async fn settle(ports: Ports, tenants: &[Tenant]) -> anyhow::Result<()> {
    let began = Instant::now();
    while live(ports, tenants).await? > 0 {
        ensure!(began.elapsed() < MOST, "calls did not end");
        sleep(Duration::from_millis(500)).await;
    }
    Ok(())
}

/// The p99, in milliseconds, of requests at a steady pace on one connection.
async fn timed(ports: Ports, tenant: &Tenant) -> anyhow::Result<f64> {
    let list = load::request("GET", "/v1/calls?limit=20", &tenant.headers(), "");
    let mut client = Client::connect(ports.limited).await?;
    let mut tick = tokio::time::interval(APART);
    let mut times = Vec::new();
    for _ in 0..REQUESTS {
        tick.tick().await;
        let sent = Instant::now();
        ensure!(client.exchange(&list).await? == 200, "{}", client.text());
        times.push(sent.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    Ok(percentile(&times, 0.99))
}

/// What the interface says of the calls afterwards.
struct Told {
    calls: usize,
    completed: usize,
    /// Milliseconds from when the agent was to answer what the customer said to when it did, sorted.
    lateness: Vec<f64>,
}

async fn told(ports: Ports, tenants: &[Tenant]) -> anyhow::Result<Told> {
    let mut client = Client::connect(ports.limited).await?;
    let mut told = Told {
        calls: 0,
        completed: 0,
        lateness: Vec::new(),
    };
    for tenant in tenants {
        let (headers, mut cursor) = (tenant.headers(), String::new());
        loop {
            let page = format!("/v1/conversations?limit=100{cursor}");
            let page = load::request("GET", &page, &headers, "");
            ensure!(client.exchange(&page).await? == 200, "{}", client.text());
            let page: Value = serde_json::from_slice(client.body())?;
            for row in page["data"].as_array().context("data")? {
                told.calls += 1;
                told.completed += usize::from(row["status"] == "completed");
                let id = row["id"].as_str().context("id")?;
                let one = format!("/v1/conversations/{id}");
                let one = load::request("GET", &one, &headers, "");
                ensure!(client.exchange(&one).await? == 200, "{}", client.text());
                let one: Value = serde_json::from_slice(client.body())?;
                lateness(&one, &mut told.lateness)?;
            }
            let Some(next) = page["next_cursor"].as_str() else {
                break;
            };
            cursor = format!("&cursor={next}");
        }
    }
    told.lateness.sort_by(f64::total_cmp);
    Ok(told)
}

fn lateness(conversation: &Value, all: &mut Vec<f64>) -> anyhow::Result<()> {
    let mut customer_ended = None;
    for turn in conversation["transcript"]
        .as_array()
        .context("transcript")?
    {
        let began =
            OffsetDateTime::parse(turn["started_at"].as_str().context("started_at")?, &Rfc3339)?;
        let took = time::Duration::milliseconds(turn["duration_ms"].as_i64().unwrap_or(0));
        match turn["role"].as_str() {
            Some("user") => customer_ended = Some(began + took),
            _ => {
                if let Some(ended) = customer_ended.take() {
                    let due = ended + time::Duration::milliseconds(ENDPOINTING_MS.into());
                    all.push((began - due).as_seconds_f64() * 1e3);
                }
            }
        }
    }
    Ok(())
}
