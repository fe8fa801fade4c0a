//! The errors that operations share, tested on every operation that documents them.

use std::time::Duration;

use futures_util::future::join_all;
use offhook_domain::{Plan, Scope, Scopes};
use offhook_http::LimitSettings;
use offhook_testkit::TestDatabase;

use crate::it::app::{Setup, TestApp, text};
use crate::it::client::{Answer, Request, must};
use crate::it::operations::{NOBODY, Operation, all, named};
use crate::it::raw;

/// Keys that are refused for their permissions or plan.
struct Refused {
    read_only: String,
    /// A key of an account without the API.
    free: String,
    /// A key of an account without the Engine module.
    starter: String,
    /// A tool: without one, the service cannot apply a merge patch and find its faults.
    tool: String,
    /// A scenario, for the same reason.
    scenario: String,
}

impl Refused {
    async fn of(app: &TestApp) -> Self {
        Self {
            read_only: app.key(app.account, Scopes::all(), true, None).await,
            free: app.stranger(Plan::Free).await,
            starter: app.stranger(Plan::Starter).await,
            tool: {
                let tool = named("createTool").body();
                let made = app.post("/v1/agents/tools", tool).await;
                text(&made.assert(201)["id"])
            },
            scenario: {
                let mut scenario = named("createScenario").body();
                scenario["agent_id"] = app.agent().await.into();
                let made = app.post("/v1/scenarios", scenario).await;
                text(&made.assert(201)["id"])
            },
        }
    }

    /// The responses that must be this error; `None` if the error depends on the account's data.
    async fn provoke(
        &self,
        app: &TestApp,
        operation: &Operation,
        code: &str,
    ) -> Option<Vec<Answer>> {
        let bare = || operation.request(app, NOBODY);
        let path = match operation.id.as_str() {
            "updateTool" => operation.target(&self.tool),
            "updateScenario" => operation.target(&self.scenario),
            _ => operation.target(NOBODY),
        };
        let keyed = || app.request(&operation.method, &path);
        let requests: Vec<Request> = match code {
            "unauthorized" => vec![bare()],
            "forbidden" => vec![bare().key(&self.read_only)],
            "insufficient_scope" => {
                let others = Scope::ALL
                    .iter()
                    .filter(|scope| Some(scope.as_str()) != operation.scope.as_deref());
                let others = app.key(app.account, others.copied().collect(), false, None);
                vec![bare().key(&others.await)]
            }
            "plan_limit" if operation.path.starts_with("/v1/knowledge/") => {
                vec![bare().key(&self.free), bare().key(&self.starter)]
            }
            "plan_limit" => vec![bare().key(&self.free)],
            "invalid_query" => {
                let and = if path.contains('?') { '&' } else { '?' };
                let target = format!("{path}{and}no_parameter=1");
                let request = app.request(&operation.method, &target);
                vec![match operation.has_body {
                    true => request.json(operation.body()),
                    false => request,
                }]
            }
            "not_found" => {
                let no_id = app.request(&operation.method, &operation.target("no-id"));
                let no_id = match operation.has_body {
                    true => no_id.json(operation.body()),
                    false => no_id,
                };
                vec![bare().key(&app.token), no_id]
            }
            "invalid_json" => {
                let typed = |kind: &str| keyed().header("Content-Type", kind);
                vec![
                    keyed().json("{"),
                    typed("text/plain").body(operation.body().to_string()),
                    keyed().body(operation.body().to_string()),
                ]
            }
            "invalid_body" => vec![
                keyed().json(r#"{"no_field":1}"#),
                keyed().json("[]"),
                keyed().json(r#"{"a":1,"a":1}"#),
            ],
            "payload_too_large" => {
                let announced = keyed().header("Content-Type", "application/json");
                vec![announced.header("Content-Length", (20 * 1024 * 1024 + 1).to_string())]
            }
            "invalid_idempotency_key" => {
                let with = |key: &str| bare().key(&app.token).header("Idempotency-Key", key);
                vec![
                    with(""),
                    with(&"k".repeat(256)),
                    with("a").header("Idempotency-Key", "a"),
                ]
            }
            _ => return None,
        };
        Some(join_all(requests.into_iter().map(Request::send)).await)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_operation_refuses_a_caller_an_id_a_query_and_a_body_as_documented() {
    let app = TestApp::start().await;
    let refused = Refused::of(&app).await;
    for operation in all() {
        // Refills the small plans' requests per minute.
        app.clock.advance(Duration::from_secs(60));
        for (status, code) in &operation.errors {
            let answers = refused.provoke(&app, &operation, code).await;
            for answer in answers.into_iter().flatten() {
                let what = format!("{} {code}: {answer:?}", operation.id);
                assert_eq!(answer.status, *status, "{what}");
                let message = answer.assert_error(*status, code);
                match (code.as_str(), &operation.scope) {
                    ("insufficient_scope", Some(scope)) => {
                        assert!(message.contains(scope), "{}: {message}", operation.id);
                    }
                    ("invalid_query", _) => {
                        assert_eq!(message, "`no_parameter`: unknown parameter");
                    }
                    _ => {}
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_operation_counts_for_the_address_and_for_the_account() {
    let app = TestApp::with(Setup {
        limits: LimitSettings {
            ip_per_minute: 1,
            ..LimitSettings::default()
        },
        ..Setup::default()
    })
    .await;
    app.bare("GET", "/v1/models").await.assert(200);
    for operation in all() {
        let answer = operation.request(&app, NOBODY).key(&app.token).await;
        answer.assert_error(429, "rate_limit_exceeded");
        assert_eq!(answer.header("x-ratelimit-limit"), None, "{}", operation.id);
        assert!(answer.number("retry-after") >= 1);
    }

    let app = TestApp::on_plan(Plan::Starter).await;
    for _ in 0..10 {
        app.read("/v1/me").await;
    }
    for operation in all().iter().filter(|operation| !operation.open) {
        let answer = operation.request(&app, NOBODY).key(&app.token).await;
        answer.assert_error(429, "rate_limit_exceeded");
        assert_eq!(
            answer.number("x-ratelimit-remaining"),
            0,
            "{}",
            operation.id
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_its_redis_every_operation_is_refused_and_tells_when_to_come_back() {
    let app = TestApp::with(Setup {
        // No server listens there.
        redis: Some("redis://127.0.0.1:1".to_owned()),
        ..Setup::default()
    })
    .await;
    for operation in all() {
        let answer = operation.request(&app, NOBODY).key(&app.token).await;
        let message = answer.assert_error(503, "rate_limit_unavailable");
        assert!(message.contains("Nothing was done"), "{message}");
        assert_eq!(answer.number("retry-after"), 5);
        for name in ["limit", "remaining", "reset"] {
            let header = answer.header(&format!("x-ratelimit-{name}"));
            assert_eq!(header, None, "{}", operation.id);
        }
    }
    // Also an unknown path under /v1, but not the routes outside the API.
    let unknown = app.get("/v1/nothing").await;
    unknown.assert_error(503, "rate_limit_unavailable");
    app.bare("GET", "/healthz").await.assert(200);
    app.bare("OPTIONS", "/v1/me").await.assert(405);
    let ready = app.bare("GET", "/readyz").await.assert(503);
    assert_eq!(ready["status"], "unavailable");
    let reason = ready["reason"].as_str().unwrap_or_default();
    assert!(reason.starts_with("Redis is out of reach"), "{reason}");
}

/// Drops every table but these.
fn drop_tables(database: &TestDatabase, kept: &[&str]) {
    let migrations = concat!(env!("CARGO_MANIFEST_DIR"), "/../../migrations/sqlite");
    let mut script = String::new();
    for migration in must(std::fs::read_dir(migrations)) {
        let up = must(migration).path().join("up.sql");
        let up = must(std::fs::read_to_string(up));
        let tables = up.lines().filter_map(|line| {
            let rest = line.strip_prefix("CREATE TABLE ")?;
            rest.split([' ', '(']).next()
        });
        for table in tables.filter(|table| !kept.contains(table)) {
            script.push_str(&format!("DROP TABLE IF EXISTS {table};"));
        }
    }
    raw::run(database, &script);
}

/// The tables that identify a caller.
const OF_THE_CALLER: [&str; 2] = ["accounts", "api_keys"];

/// Operations that read nothing but the caller.
const WITHOUT_ROWS: [&str; 7] = [
    "listEventTypes",
    "listModels",
    "getMe",
    "getPlan",
    "getDialingRules",
    "setDialingRules",
    "checkDials",
];

#[tokio::test(flavor = "multi_thread")]
async fn what_no_operation_expects_is_a_500_that_says_nothing_of_the_database() {
    let database = TestDatabase::sqlite();
    let app = TestApp::on(database.clone()).await;
    drop_tables(&database, &OF_THE_CALLER);
    let mut answered = Vec::new();
    for operation in all() {
        let answer = operation.request(&app, NOBODY).key(&app.token).await;
        if answer.status != 500 {
            answered.push(format!("{} {}", operation.id, answer.status));
        }
    }
    answered.retain(|one| !WITHOUT_ROWS.iter().any(|id| one.starts_with(id)));
    assert_eq!(answered, [""; 0]);
    drop_tables(&database, &[]);
    for operation in all().iter().filter(|operation| !operation.open) {
        let answer = operation.request(&app, NOBODY).key(&app.token).await;
        let message = answer.assert_error(500, "internal_error");
        assert!(!message.contains("table"), "{}: {message}", operation.id);
    }
}

mod on_postgres {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "needs PostgreSQL: just test"]
    async fn without_its_database_every_operation_tells_when_to_come_back() {
        let database = TestDatabase::postgres().await;
        let app = TestApp::on(database.clone()).await;
        database.cut_off().await;
        let operations = all();
        let asked = operations.iter().filter(|operation| !operation.open);
        let asked = asked.map(|operation| operation.request(&app, NOBODY).key(&app.token).send());
        for answer in join_all(asked).await {
            answer.assert_error(503, "service_unavailable");
            assert!(answer.number("retry-after") >= 1);
        }
        app.bare("GET", "/v1/models").await.assert(200);
    }
}
