//! `POST /callbacks/legacy/{account_id}`: a signed post-call webhook, beside a bare handler that believes everything.

use std::cell::Cell;

use offhook_domain::{Clock as _, CredentialProvider};
use offhook_services::SystemClock;
use offhook_testkit::fakes::elevenlabs::signature;
use serde_json::json;

use super::Bench;
use crate::child::{Child, Role};
use crate::database::{Database, Kind};
use crate::load::{self, Until};
use crate::pairs::compare;
use crate::report::{Report, Target, number};
use crate::seed;
use crate::service::{Options, Ports};

const CONNECTIONS: usize = 16;

/// Turns of the transcript that comes along.
const TURNS: usize = 24;

const SECRET: &str = "wsec_of_the_benchmark";

pub(super) async fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    for kind in bench.databases() {
        on(kind, bench, report).await?;
    }
    Ok(())
}

async fn on(kind: Kind, bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let database = Database::new(kind, &bench.postgres, "callbacks").await?;
    let services = seed::open(&database).await?;
    let tenant = seed::tenants(&services, 1).await?.remove(0);
    let credentials = services.credentials();
    let provider = CredentialProvider::LegacyWebhook;
    credentials.set(tenant.account, provider, SECRET).await?;
    drop(services);
    let mut child = Child::start(&Role::Service(Options {
        place: database.place.clone(),
        dialer: false,
        dispatcher: false,
    }))?;
    let ports: Ports = child.said().await?;
    let account = tenant.account;
    let (path, bare) = (
        format!("/callbacks/legacy/{account}"),
        format!("/callbacks/{account}"),
    );
    let turn = Cell::new(0);
    let until = Until::Elapsed(bench.turn());
    let send = async |address, path: &str| {
        turn.set(turn.get() + 1);
        let now = SystemClock.now().unix_seconds();
        let send = |connection: usize, sent: usize, out: &mut Vec<u8>| {
            // Every message tells of another call.
            let body = body(&format!("conv_{}_{connection}_{sent}", turn.get()));
            let signature = signature(SECRET, now, &body);
            let headers =
                format!("Content-Type: application/json\r\nElevenLabs-Signature: {signature}\r\n");
            out.extend(load::request("POST", path, &headers, &body));
        };
        let loaded = load::run(address, CONNECTIONS, until, 200, send).await?;
        Ok(loaded.rate)
    };
    let pair = compare(
        bench.rounds,
        async || send(ports.limited, &path).await,
        async || send(ports.bare, &bare).await,
    )
    .await?;
    let name = format!("legacy callback / bare handler, {}", kind.name());
    let detail = format!(
        "{} and {} requests/s; {TURNS} turns, {CONNECTIONS} connections",
        number(pair.a),
        number(pair.b)
    );
    report.add(&name, Target::AtLeast(0.5), pair.ratio, "", &detail);
    child.stop().await?;
    database.remove().await
}

/// What the provider sends when a call has ended.
fn body(id: &str) -> String {
    let turns: Vec<_> = (0..TURNS)
        .map(|n| {
            let role = if n % 2 == 0 { "agent" } else { "user" };
            json!({"role": role, "message": "Shall we expect you at six o'clock tomorrow?", "time_in_call_secs": n * 4})
        })
        .collect();
    json!({
        "type": "post_call_transcription",
        "event_timestamp": 1_777_000_000,
        "data": {
            "agent_id": "agent_0001",
            "conversation_id": id,
            "status": "done",
            "transcript": turns,
            "metadata": {"start_time_unix_secs": 1_777_000_000, "call_duration_secs": 96, "cost": 864},
            "analysis": {"call_successful": "success", "transcript_summary": "They spoke."},
        },
    })
    .to_string()
}
