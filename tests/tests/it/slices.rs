//! Batches at a provider of legacy agents that takes many calls in one request: a service that dies at any point of it
//! calls nobody twice, loses nobody, and counts what the provider counts.

use std::collections::HashMap;
use std::os::unix::process::ExitStatusExt as _;
use std::time::Duration;

use offhook_failpoints as failpoints;
use offhook_testkit::fakes::elevenlabs::{ElevenLabs, KEY};
use offhook_testkit::fakes::elevenlabs_batches::{BATCH_CALLING, ElevenLabsBatches};
use offhook_testkit::upstream::Fault;
use offhook_tests::{Account, Database, Options, Server, both, eventually, must, text};
use serde_json::{Value, json};

/// Until leases of a dead process have run out, and the provider is believed that it knows nothing.
const SETTLED_WITHIN: Duration = Duration::from_secs(300);

const SIGABRT: i32 = 6;

const RECIPIENTS: usize = 12;

/// While the provider has a request, and has not answered.
const IN_FLIGHT: &str = "in flight";

struct Scene {
    point: &'static str,
    provider: ElevenLabs,
    batches: ElevenLabsBatches,
    server: Server,
    account: Account,
    agent: Value,
}

impl Scene {
    async fn set(point: &'static str, database: Database) -> Self {
        let provider = ElevenLabs::start().await;
        let batches = ElevenLabsBatches::on(&provider);
        batches.finish();
        let options = Options::on(database).set("legacy.base_url", provider.base_url());
        let mut server = Server::start(options).await;
        let account = server.account("pro").await;
        let set = [
            "account",
            "credential",
            "set",
            "--provider",
            "legacy",
            "--secret",
            KEY,
        ];
        let set = [&set[..], &["--account", &account.id]].concat();
        server.cli(&set).await;
        let agent = eventually("the legacy agent", SETTLED_WITHIN, || async {
            let list = account.read("/v1/agents?runtime=legacy").await;
            list["data"].get(0).map(|agent| agent["id"].clone())
        })
        .await;
        if failpoints::OF_SLICES.contains(&point) {
            assert!(server.stop().await.success());
            server.start_again(&[("OFFHOOK_FAILPOINT", point)]).await;
        }
        Self {
            point,
            provider,
            batches,
            server,
            account,
            agent,
        }
    }

    /// Runs a batch in a process that dies at the point; its id.
    async fn die(&mut self) -> String {
        if self.point == IN_FLIGHT {
            let submit = format!("{BATCH_CALLING}submit");
            let fault = Fault::Slow(Duration::from_secs(15));
            self.provider.upstream().fail("POST", &submit, fault, 1);
        }
        let recipients: Vec<Value> = (0..RECIPIENTS)
            .map(|n| json!({"to": format!("+521551234{n:04}"), "metadata": {"n": n}}))
            .collect();
        let body = json!({"name": "Spring", "agent_id": self.agent, "recipients": recipients});
        let body = body.to_string();
        // The process may be gone before it has answered.
        let (account, point) = (self.account.clone(), self.point);
        let posting = tokio::spawn(async move {
            eventually("an answer", SETTLED_WITHIN, || async {
                let post = account.post("/v1/batch-calls", &body);
                let answer = post.idempotency_key(point).try_send().await.ok()?;
                (answer.status == 202).then(|| answer.json())
            })
            .await
        });
        if self.point == IN_FLIGHT {
            eventually("a submitted slice", SETTLED_WITHIN, || async {
                (!self.batches.submitted().is_empty()).then_some(())
            })
            .await;
            self.server.kill().await;
        } else {
            let status = self.server.ended_within(SETTLED_WITHIN).await;
            assert_eq!(status.signal(), Some(SIGABRT), "{point}: {status}");
        }
        self.server.start_again(&[]).await;
        text(&must("a client", posting.await)["id"]).to_owned()
    }

    async fn play(mut self) {
        let (point, id) = (self.point, self.die().await);
        let target = format!("/v1/batch-calls/{id}");
        let batch = eventually("the end of the batch", SETTLED_WITHIN, || async {
            let answer = self.account.get(&target).try_send().await.ok()?;
            let batch = (answer.status == 200).then(|| answer.json())?;
            (batch["status"] == "completed").then_some(batch)
        })
        .await;
        let rows = self
            .account
            .read(&format!("{target}/recipients?limit=100"))
            .await;
        let rows = rows["data"].as_array().cloned().unwrap_or_default();
        assert_eq!(rows.len(), RECIPIENTS, "{point}");
        // What the provider has dialed, together or one by one.
        let mut dialed: HashMap<String, usize> = HashMap::new();
        for call in self.provider.calls() {
            let number = &call.conversation["metadata"]["phone_call"]["external_number"];
            *dialed.entry(text(number).to_owned()).or_default() += 1;
        }
        let mut completed = 0;
        for row in &rows {
            let times = dialed.get(text(&row["to"])).copied().unwrap_or(0);
            match (text(&row["status"]), row["failure_reason"].as_str()) {
                ("completed", None) => {
                    assert_eq!(times, 1, "{point}: {row}");
                    completed += 1;
                }
                // The provider was never asked.
                ("failed", Some("interrupted")) => assert_eq!(times, 0, "{point}: {row}"),
                _ => panic!("{point}: {row}"),
            }
        }
        assert_eq!(
            dialed.len(),
            completed,
            "{point}: counted as the provider counts"
        );
        let counts = json!({
            "total": RECIPIENTS, "pending": 0, "dialing": 0, "completed": completed,
            "failed": RECIPIENTS - completed, "cancelled": 0,
        });
        assert_eq!(batch["counts"], counts, "{point}");
        let submitted = self.batches.submitted();
        if point == failpoints::SLICE_AFTER_OPEN {
            assert_eq!((completed, submitted.len()), (0, 0), "{point}");
        } else {
            // What it had taken is found again.
            assert_eq!(completed, RECIPIENTS, "{point}");
            assert!(!submitted.is_empty(), "{point}");
        }
        for batch in &submitted {
            let name = text(&batch["call_name"]);
            assert!(name.starts_with(&format!("{id}/")), "{point}: {name}");
        }
        let faults = self.server.cli(&["doctor", "--books"]).await;
        assert_eq!(faults, json!({"faults": []}), "{point}: the books add up");
    }
}

both! {
    async fn when_the_service_is_killed_at_any_point_of_a_slice_nobody_is_lost_and_nobody_called_twice(
        database: Database,
    ) {
        let mut playing = Vec::new();
        let points = failpoints::OF_SLICES.iter().copied().chain([IN_FLIGHT]);
        for (number, point) in points.enumerate() {
            let database = match (&database, number) {
                (_, 0) => database.clone(),
                (Database::Sqlite, _) => Database::Sqlite,
                (Database::Postgres(_), _) => Database::postgres().await,
            };
            let play = async move { Scene::set(point, database).await.play().await };
            playing.push((point, tokio::spawn(play)));
        }
        let mut failed = Vec::new();
        for (point, play) in playing {
            if play.await.is_err() {
                failed.push(point);
            }
        }
        assert!(failed.is_empty(), "{failed:?} failed: see above");
    }
}
