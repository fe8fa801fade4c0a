//! `/v1/scenarios` and `/v1/agents/{id}/test-runs`: an agent is tested before it speaks.

use std::time::Duration;

use offhook_domain::{Plan, Scope};
use offhook_providers::ProviderSettings;
use offhook_testkit::upstream::{Answer, ReceivedRequest, Upstream};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;

use crate::it::app::{CUSTOMER, Setup, TestApp, data, text};
use crate::it::client::{self, eventually};

/// A scripted agent that asks, looks something up and says goodbye.
const PROMPT: &str = "You book tables.\nsay: For which day?\nsay: Let me look.\ncall: look {\"id\": 7}\nthen: I have booked your table.\n\
                      say: Yes, it is.\nsay: Goodbye.\ncall: finish {}";

struct Bench {
    app: TestApp,
    agent: String,
}

impl Bench {
    async fn start() -> Self {
        Self::of(PROMPT, ("scripted", "scripted"), Setup::default()).await
    }

    async fn of(prompt: &str, (provider, model): (&str, &str), setup: Setup) -> Self {
        let app = TestApp::with(setup).await;
        let look = json!({
            "name": "look", "description": "Finds a table.", "kind": "http",
            "parameters": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]},
            "http": {"method": "GET", "url": "https://tables.example", "timeout_ms": 2000},
        });
        let finish = json!({"name": "finish", "description": "Ends it.", "kind": "end_call"});
        let mut tools = Vec::new();
        for tool in [look, finish] {
            let made = app.post("/v1/agents/tools", tool).await.assert(201);
            tools.push(made["id"].clone());
        }
        let config = json!({
            "system_prompt": prompt, "first_message": "Hello, {{name}}.", "tool_ids": tools,
            "llm": {"provider": provider, "model": model},
        });
        let body = json!({"name": "Tables", "language": "en", "config": config});
        let made = app.post("/v1/agents", body).await.assert(201);
        Self {
            agent: text(&made["id"]),
            app,
        }
    }

    fn runs(&self) -> String {
        format!("/v1/agents/{}/test-runs", self.agent)
    }

    /// Runs scenarios, and returns the run once it has ended.
    async fn run(&self, options: Value) -> Value {
        let run = self.app.post(&self.runs(), options).await.assert(201);
        assert_eq!(run["status"], "running", "{run}");
        let target = format!("{}/{}", self.runs(), text(&run["id"]));
        self.app
            .until(&target, |run| run["status"] != "running")
            .await
    }

    async fn publish(&self) -> client::Answer {
        let target = format!("/v1/agents/{}/publish", self.agent);
        self.app.post(&target, "{}").await
    }

    async fn settings(&self, settings: Value) -> Value {
        let target = format!("/v1/agents/{}/settings", self.agent);
        let answer = self.app.request("PUT", &target).json(settings).await;
        answer.assert(200)
    }

    fn stored(&self, scenario: Value) -> Value {
        let mut body = scenario;
        body["agent_id"] = json!(self.agent);
        body
    }
}

fn booking(checks: Value) -> Value {
    json!({
        "name": "Books a table",
        "turns": ["A table, please.", "Tomorrow.", "Is it booked?", "Bye."],
        "variables": {"name": "Ann"},
        "tools": [{"name": "look", "answer": {"table": 4}}],
        "checks": checks,
    })
}

/// Each kind of check, as it holds for the booking, and as it does not.
fn forgeries() -> Vec<(Value, Value)> {
    vec![
        (
            json!({"kind": "said", "text": "FOR WHICH day"}),
            json!({"kind": "said", "text": "For which day", "turn": 2}),
        ),
        (
            json!({"kind": "said", "pattern": "^Hello, Ann\\.$", "turn": 0}),
            json!({"kind": "said", "pattern": "^Hello, Bob"}),
        ),
        (
            json!({"kind": "said", "language": "en", "turn": 2}),
            json!({"kind": "said", "language": "es"}),
        ),
        (
            json!({"kind": "never_said", "language": "fr"}),
            json!({"kind": "never_said", "language": "en"}),
        ),
        (
            json!({"kind": "never_said", "text": "refund"}),
            json!({"kind": "never_said", "pattern": "(?i)LET me"}),
        ),
        (
            json!({"kind": "tool_called", "tool": "look", "turn": 2, "arguments": {"properties": {"id": {"const": 7}}}}),
            json!({"kind": "tool_called", "tool": "look", "arguments": {"properties": {"id": {"const": 8}}}}),
        ),
        (
            json!({"kind": "tool_never_called", "tool": "finish", "turn": 1}),
            json!({"kind": "tool_never_called", "tool": "look"}),
        ),
        (
            json!({"kind": "tools_in_order", "tools": ["look", "finish"]}),
            json!({"kind": "tools_in_order", "tools": ["finish", "look"]}),
        ),
        (
            json!({"kind": "ended", "by": "agent", "within": 4}),
            json!({"kind": "ended", "within": 3}),
        ),
        (
            json!({"kind": "ended", "by": "agent"}),
            json!({"kind": "ended", "by": "caller"}),
        ),
        (
            json!({"kind": "latency", "ms": 60_000, "first_text_ms": 60_000}),
            json!({"kind": "latency", "ms": 60_000, "turn": 9}),
        ),
        (
            json!({"kind": "analysis", "schema": {"required": ["topic"]}}),
            json!({"kind": "analysis", "schema": {"properties": {"topic": {"const": "Cars"}}}}),
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn each_kind_of_check_passes_where_it_holds_and_fails_where_it_is_forged() {
    let bench = Bench::start().await;
    let schema = json!({"type": "object", "properties": {"topic": {"type": "string"}}});
    let target = format!("/v1/agents/{}/analysis-schema", bench.agent);
    let set = bench.app.request("PUT", &target);
    set.json(json!({"schema": schema})).await.assert(200);
    for (right, forged) in forgeries() {
        let scenarios = [("right", &right), ("forged", &forged)].map(|(name, check)| {
            let mut scenario = booking(json!([check]));
            scenario["name"] = json!(name);
            scenario
        });
        let run = bench.run(json!({"scenarios": scenarios})).await;
        assert_eq!(run["status"], "failed", "{run}");
        assert_eq!([&run["passed"], &run["failed"]], [1, 1], "{run}");
        let results: Vec<_> = data_of(&run).iter().map(|one| &one["status"]).collect();
        assert_eq!(results, ["passed", "failed"], "{run}");
    }
    // Nothing of it is in a list, or costs anything.
    let conversations = bench.app.read("/v1/conversations").await;
    assert_eq!(data(&conversations).len(), 0);
}

fn data_of(run: &Value) -> &[Value] {
    run["results"].as_array().map_or(&[], Vec::as_slice)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_guard_replaced_is_a_check_of_its_own() {
    let bench = Bench::start().await;
    let run = bench
        .run(json!({"scenarios": [booking(json!([{"kind": "honest"}]))]}))
        .await;
    // A tool that answered stands for the claim.
    assert_eq!(run["status"], "passed", "{run}");
    let mut claims = booking(json!([{"kind": "honest"}]));
    claims["tools"] = json!([{"name": "look", "error": "The kitchen is closed."}]);
    let run = bench.run(json!({"scenarios": [claims]})).await;
    assert_eq!(run["status"], "failed", "{run}");
    let played = &data_of(&run)[0]["conversations"][0]["played"];
    assert_eq!(played["claims_replaced"], 1, "{played}");
    assert_eq!(played["tools"][0]["answer"], "The kitchen is closed.");
    assert_eq!(played["tools"][0]["failed"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_the_scenario_does_not_name_does_nothing_and_a_slow_one_is_waited_for() {
    let bench = Bench::start().await;
    let mut scenario = booking(json!([{"kind": "tool_called", "tool": "look"}]));
    scenario["tools"] = json!([{"name": "lok", "answer": "x"}]);
    let run = bench.run(json!({"scenarios": [scenario]})).await;
    let error = &data_of(&run)[0]["conversations"][0]["error"];
    assert_eq!(error, "`tools[0].name`: the agent has no tool `lok`");
    scenario["tools"] = json!([]);
    scenario["checks"] = json!([{"kind": "tool_never_called", "tool": "lok"}]);
    let run = bench.run(json!({"scenarios": [scenario]})).await;
    assert_eq!(run["status"], "error", "{run}");
    let used = &data_of(&run)[0]["conversations"][0]["played"]["tools"][0];
    let told = "Not done: the scenario has no answer of `look`.";
    assert_eq!(
        [&used["answer"], &used["failed"]],
        [&json!(told), &json!(true)]
    );

    let mut slow = booking(json!([{"kind": "latency", "ms": 30_000}]));
    slow["tools"] = json!([{"name": "look", "answer": "late", "delay_ms": 20_000}]);
    slow["budget_s"] = json!(1);
    let run = bench.run(json!({"scenarios": [slow]})).await;
    // What takes too long is no pass, whatever was said until then.
    assert_eq!(run["status"], "failed", "{run}");
    let played = &data_of(&run)[0]["conversations"][0]["played"];
    assert_eq!(
        [&played["ended_by"], &played["lines"]],
        [&json!("limit"), &json!(2)]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_required_suite_has_to_pass_with_exactly_what_is_published() {
    let bench = Bench::start().await;
    let app = &bench.app;
    let mut scenario = bench.stored(booking(json!([{"kind": "ended", "by": "caller"}])));
    scenario["suite"] = json!("release");
    let made = app
        .post("/v1/scenarios", scenario.clone())
        .await
        .assert(201);
    let one = format!("/v1/scenarios/{}", text(&made["id"]));
    assert_eq!(app.read(&one).await, made);
    app.post("/v1/scenarios", scenario)
        .await
        .assert_error(409, "conflict");
    bench.settings(json!({"required_suite": "release"})).await;

    let refused = bench.publish().await.assert_error(409, "conflict");
    assert!(refused.contains("`Books a table` (not run)"), "{refused}");
    assert_eq!(bench.run(json!({})).await["status"], "failed");
    let refused = bench.publish().await.assert_error(409, "conflict");
    assert!(refused.contains("`Books a table` (failed)"), "{refused}");

    // Another scenario was not run, whatever its name.
    let patch = json!({"checks": [{"kind": "ended", "by": "agent"}], "runs": 2});
    app.patch(&one, patch).await.assert(200);
    bench.publish().await.assert_error(409, "conflict");
    // Fewer conversations than the scenario wants do not count.
    assert_eq!(bench.run(json!({"runs": 1})).await["status"], "passed");
    bench.publish().await.assert_error(409, "conflict");
    let suite = json!({"suite": "release"});
    assert_eq!(bench.run(suite.clone()).await["status"], "passed");
    assert_eq!(bench.publish().await.assert(200)["published_version"], 2);

    // A version that has served may always be published again.
    let agent = format!("/v1/agents/{}", bench.agent);
    let prompt = json!({"config": {"system_prompt": format!("{PROMPT}\nsay: More.")}});
    app.patch(&agent, prompt).await.assert(200);
    bench.publish().await.assert_error(409, "conflict");
    let again = format!("{agent}/publish");
    app.post(&again, json!({"version": 2})).await.assert(200);
    // A version of before the requirement was not tested either.
    let older = app.post(&again, json!({"version": 1})).await;
    older.assert_error(409, "conflict");

    // A tool that has changed since is not what was tested.
    assert_eq!(bench.run(suite).await["status"], "passed");
    let tools = app.read("/v1/agents/tools").await;
    let look = data(&tools).iter().find(|tool| tool["name"] == "look");
    let look = look.map(|tool| format!("/v1/agents/tools/{}", text(&tool["id"])));
    app.patch(
        &look.unwrap_or_default(),
        json!({"description": "Finds one."}),
    )
    .await
    .assert(200);
    bench.publish().await.assert_error(409, "conflict");

    // Without its scenarios a suite cannot pass; without the requirement everything may be published.
    app.delete(&one).await.assert(200);
    let empty = bench.publish().await.assert_error(409, "conflict");
    assert!(empty.contains("has no scenarios"), "{empty}");
    bench.settings(json!({"required_suite": null})).await;
    bench.publish().await.assert(200);
    let audit = must_audit(app).await;
    for action in ["required_suite.change", "agent.required_suite"] {
        assert!(
            audit.iter().any(|line| line == action),
            "{action}: {audit:?}"
        );
    }
}

async fn must_audit(app: &TestApp) -> Vec<String> {
    let newest = offhook_services::PageRequest {
        after: None,
        limit: 50,
    };
    let people = app.services.people();
    let log = people.audit(app.account, Default::default(), newest).await;
    let log = client::must(log);
    log.items.into_iter().map(|entry| entry.action).collect()
}

/// A model whose answers follow from what it is asked.
async fn model(answers: fn(&str) -> Option<String>) -> (Upstream, Setup) {
    let upstream = Upstream::start(move |asked: &ReceivedRequest| {
        let Some(words) = answers(&asked.json()["messages"].to_string()) else {
            return Answer::empty(500);
        };
        let chunk = |delta: Value| format!("data: {}\n\n", json!({"choices": [delta]}));
        let text = chunk(json!({"index": 0, "delta": {"content": words}}));
        let end = chunk(json!({"index": 0, "delta": {}, "finish_reason": "stop"}));
        Answer::text(
            200,
            "text/event-stream",
            &format!("{text}{end}data: [DONE]\n\n"),
        )
    });
    let upstream = upstream.await;
    let provider = ProviderSettings {
        base_url: format!("{}/v1", upstream.base_url()),
        api_key: None,
    };
    let setup = Setup {
        models: vec![("local".to_owned(), provider)],
        ..Setup::default()
    };
    (upstream, setup)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_plays_the_caller_and_another_verdict_than_pass_is_none() {
    fn answers(asked: &str) -> Option<String> {
        let is = |words: &str| asked.contains(words);
        let verdict =
            |verdict: &str| json!({"verdict": verdict, "reason": "It says so."}).to_string();
        Some(match () {
            () if is("never promises") => verdict("pass"),
            () if is("always rhymes") => verdict("fail"),
            () if is("knows the weather") => verdict("unsure"),
            () if is("You play a person") && is("For Friday?") => "Yes, thanks. [END]".to_owned(),
            () if is("You play a person") => "A table on Friday.".to_owned(),
            () if is("Yes, thanks.") => "See you then.".to_owned(),
            () => "For Friday?".to_owned(),
        })
    }
    let (_upstream, setup) = model(answers).await;
    let bench = Bench::of("You book tables.", ("local", "small"), setup).await;
    let judged = |name: &str, rubric: &str| {
        json!({
            "name": name, "persona": "Nadia, in a hurry.", "goal": "A table on Friday.", "variables": {"name": "Nadia"},
            "checks": [{"kind": "judge", "rubric": rubric}, {"kind": "ended", "by": "caller", "within": 2}],
        })
    };
    let scenarios = [
        judged("promises", "The agent never promises a refund."),
        judged("rhymes", "The agent always rhymes."),
        judged("weather", "The agent knows the weather."),
    ];
    let run = bench.run(json!({"scenarios": scenarios})).await;
    let statuses: Vec<_> = data_of(&run).iter().map(|one| &one["status"]).collect();
    assert_eq!(statuses, ["passed", "failed", "failed"], "{run}");
    let check = |at: usize| &data_of(&run)[at]["conversations"][0]["checks"][0];
    assert_eq!(check(1)["result"], "fail");
    assert_eq!(check(2)["result"], "unsure");
    assert_eq!(check(2)["detail"], "It says so.");
    let transcript = &data_of(&run)[0]["conversations"][0]["played"]["transcript"];
    let said: Vec<_> = transcript
        .as_array()
        .map_or(&[][..], Vec::as_slice)
        .iter()
        .map(|line| line["text"].as_str().unwrap_or_default())
        .collect();
    let expected = [
        "Hello, Nadia.",
        "A table on Friday.",
        "For Friday?",
        "Yes, thanks.",
        "See you then.",
    ];
    assert_eq!(said, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_without_a_model_is_an_error_and_no_failure() {
    let (_upstream, setup) = model(|_| None).await;
    let bench = Bench::of("You book tables.", ("local", "small"), setup).await;
    let run = bench
        .run(json!({"scenarios": [booking(json!([{"kind": "honest"}]))]}))
        .await;
    assert_eq!(run["status"], "error", "{run}");
    let why = &data_of(&run)[0]["conversations"][0]["error"];
    assert_eq!(why, "No model could be reached.");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_followed_until_it_has_ended_and_listed_with_its_agent() {
    let bench = Bench::start().await;
    let app = &bench.app;
    let scenarios = [booking(json!([{"kind": "honest"}]))];
    let run = app
        .post(
            &bench.runs(),
            json!({"scenarios": scenarios, "runs": 3, "version": 1}),
        )
        .await
        .assert(201);
    let target = format!("{}/{}", bench.runs(), text(&run["id"]));
    let events = app.get(&format!("{target}/events"));
    let mut stream = events.header("Connection", "close").open().await;
    let mut bytes = Vec::new();
    client::must(stream.read_to_end(&mut bytes).await);
    let events = String::from_utf8_lossy(&bytes).into_owned();
    let last = events.rsplit("event: ").next().unwrap_or_default();
    assert!(
        last.starts_with("run") && last.contains("\"status\":\"passed\""),
        "{events}"
    );
    assert_eq!(events.matches("event: result").count(), 1, "{events}");
    // Who asks later is told the end, with all results.
    let late = app.get(&format!("{target}/events")).await;
    let said = String::from_utf8_lossy(&late.body);
    assert_eq!((late.status, said.matches("data: ").count()), (200, 2));
    let detail = app.read(&target).await;
    let conversations = detail["results"][0]["conversations"].as_array();
    assert_eq!(conversations.map(Vec::len), Some(3));
    // Of those that passed, the first shows what was said.
    assert!(detail["results"][0]["conversations"][1]["played"].is_null());
    let listed = app.read(&bench.runs()).await;
    assert_eq!(data(&listed).len(), 1);

    let other = app.stranger(Plan::Scale).await;
    for target in [target.clone(), format!("{target}/events")] {
        app.bare("GET", &target)
            .key(&other)
            .await
            .assert_error(404, "not_found");
    }
    // An agent's run is found with this agent alone.
    let elsewhere = app.agent().await;
    let elsewhere = format!("/v1/agents/{elsewhere}/test-runs/{}", text(&run["id"]));
    app.get(&elsewhere).await.assert_error(404, "not_found");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_cancelled_ends_at_once_and_keeps_its_results() {
    let bench = Bench::start().await;
    let app = &bench.app;
    let quick = booking(json!([{"kind": "honest"}]));
    let mut slow = booking(json!([{"kind": "honest"}]));
    slow["name"] = json!("Slow");
    slow["tools"] = json!([{"name": "look", "answer": "late", "delay_ms": 30_000}]);
    let passed = bench.run(json!({"scenarios": [quick]})).await;
    let options = json!({"scenarios": [quick, slow]});
    let mut cancelled = Vec::new();
    // A third one begins where two may be under way.
    for _ in 0..3 {
        let begun = eventually(async || {
            let answer = app.post(&bench.runs(), options.clone()).await;
            (answer.status != 409).then_some(answer)
        });
        let run = begun.await.assert(201);
        let target = format!("{}/{}", bench.runs(), text(&run["id"]));
        app.until(&target, |run| run["passed"] == 1).await;
        let cancel = format!("{target}/cancel");
        let run = app.post(&cancel, "{}").await.assert(200);
        assert_eq!(run["status"], "cancelled", "{run}");
        assert!(run["ended_at"].is_string(), "{run}");
        assert_eq!(app.post(&cancel, "{}").await.assert(200), run);
        cancelled.push(target);
    }
    let run = app.read(&cancelled[0]).await;
    assert_eq!(
        (&run["status"], data_of(&run).len()),
        (&json!("cancelled"), 1)
    );
    assert_eq!(data_of(&run)[0]["status"], "passed");

    let cancel = format!("{}/{}/cancel", bench.runs(), text(&passed["id"]));
    let late = app.post(&cancel, "{}").await.assert_error(409, "conflict");
    assert_eq!(late, "The run has ended.");
    let other = app.stranger(Plan::Scale).await;
    let theirs = app.bare("POST", &cancel).key(&other).json(json!({})).await;
    theirs.assert_error(404, "not_found");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_becomes_a_scenario_that_passes() {
    let bench = Bench::start().await;
    let app = &bench.app;
    bench.publish().await.assert(200);
    app.dial();
    let handle = text(&app.call(&bench.agent, CUSTOMER).await["id"]);
    let call = app.ended(&handle).await;
    let id = text(&call["conversation_id"]);
    let drafted = app.read(&format!("/v1/conversations/{id}/scenario")).await;
    assert_eq!(drafted["agent_id"], json!(bench.agent));
    assert!(
        drafted["turns"]
            .as_array()
            .is_some_and(|lines| !lines.is_empty()),
        "{drafted}"
    );
    let pause = drafted["turns"][0]["pause_ms"].as_i64();
    assert!(pause.is_some_and(|ms| ms >= 400), "{drafted}");
    let made = app.post("/v1/scenarios", drafted).await.assert(201);
    assert!(text(&made["name"]).contains(&id));
    assert_eq!(bench.run(json!({})).await["total"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn scenarios_that_say_too_little_or_too_much_are_refused() {
    let bench = Bench::start().await;
    let with = |change: Value| {
        let mut body = bench.stored(booking(json!([{"kind": "honest"}])));
        for (name, value) in change.as_object().into_iter().flatten() {
            body[name] = value.clone();
        }
        body
    };
    let cases = [
        (json!({"agent_id": null}), "`agent_id`: must be a UUID"),
        (
            json!({"turns": null}),
            "`turns`: is required, or a `persona` or a `recording` in its place",
        ),
        (json!({"goal": "x"}), "`goal`: goes with a `persona` alone"),
        (json!({"checks": []}), "`checks`: must not be empty"),
        (
            json!({"checks": [{"kind": "said"}]}),
            "`checks[0].text`: is required with the kind `said`",
        ),
        (
            json!({"checks": [{"kind": "said", "text": "a", "pattern": "b"}]}),
            "`checks[0]`: must have exactly one of `text`, `pattern`, `language`",
        ),
        (
            json!({"checks": [{"kind": "honest", "ms": 1}]}),
            "`checks[0].ms`: does not go with the kind `honest`",
        ),
        (
            json!({"checks": [{"kind": "said", "pattern": "("}]}),
            "`checks[0].pattern`: is no valid JSON Schema",
        ),
        (
            json!({"tools": [{"name": "look"}]}),
            "`tools[0]`: must have exactly one of `answer`, `error`, `live`",
        ),
        (
            json!({"runs": 21}),
            "`runs`: must be an integer from 1 to 20",
        ),
    ];
    for (change, words) in cases {
        let answer = bench.app.post("/v1/scenarios", with(change)).await;
        let message = answer.assert_error(400, "invalid_body");
        assert!(message.starts_with(words), "{message}");
    }
    let none = bench.app.post(&bench.runs(), "{}").await;
    let none = none.assert_error(409, "conflict");
    assert!(none.contains("no such scenarios"), "{none}");
    let version = bench.app.post(&bench.runs(), json!({"version": 9})).await;
    version.assert_error(400, "invalid_body");
}

#[tokio::test(flavor = "multi_thread")]
async fn test_conversations_are_counted_by_the_day_and_two_runs_are_held_at_once() {
    let bench = Bench::start().await;
    let app = &bench.app;
    let mut slow = booking(json!([{"kind": "honest"}]));
    slow["tools"] = json!([{"name": "look", "answer": "late", "delay_ms": 9_000}]);
    slow["budget_s"] = json!(10);
    let options = json!({"scenarios": [slow]});
    for _ in 0..2 {
        app.post(&bench.runs(), options.clone()).await.assert(201);
    }
    let busy = app.post(&bench.runs(), options).await;
    let busy = busy.assert_error(409, "conflict");
    assert!(busy.starts_with("2 runs"), "{busy}");
    let runs = app.read(&bench.runs()).await;
    assert_eq!(data(&runs).len(), 2);
    // A run whose process ended is over by its deadline.
    app.clock.advance(Duration::from_secs(3_600));
    let overdue = app.read(&bench.runs()).await;
    assert_eq!(data(&overdue)[0]["status"], "interrupted");

    let day = offhook_domain::Clock::now(&app.clock).utc_day();
    let store = app.services.store();
    let most = [i32::MAX; 3];
    client::must(
        store
            .count_trial(app.account, day, [0, 0, 4_990], most)
            .await,
    );
    let many = json!({"scenarios": [booking(json!([{"kind": "honest"}]))], "runs": 11});
    eventually(async || {
        let answer = app.post(&bench.runs(), many.clone()).await;
        (answer.status != 409).then_some(answer)
    })
    .await
    .assert_error(429, "rate_limit_exceeded");
}

/// An agent whose ear hears these lines, one after the other, whatever is said.
async fn spoken(app: &TestApp, prompt: &str, hears: &[&str]) -> String {
    let config = json!({
        "system_prompt": prompt, "first_message": "Hello.",
        "llm": {"provider": "scripted", "model": "scripted"},
        "stt": {"provider": "scripted", "settings": {"lines": hears}},
        "voice": {"provider": "scripted", "voice_id": "scripted"},
    });
    app.agent_with("en", config).await
}

fn said(conversation: &Value) -> Vec<(&str, &str, bool)> {
    let lines = conversation["played"]["transcript"].as_array();
    let lines = lines.map_or(&[][..], Vec::as_slice).iter();
    lines
        .map(|line| {
            (
                line["role"].as_str().unwrap_or_default(),
                line["text"].as_str().unwrap_or_default(),
                line["interrupted"] == true,
            )
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn by_sound_the_agents_voice_speaks_the_lines_and_one_may_interrupt() {
    let app = TestApp::start().await;
    let long = "One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen.";
    let prompt = format!("You count.\nsay: {long}\nsay: Goodbye.");
    // The voice hums and the ear has a script: what is said only has to be long enough to be heard.
    let agent = spoken(&app, &prompt, &["Count.", "Stop."]).await;
    let bench = Bench { app, agent };
    let scenario = json!({
        "name": "Is interrupted",
        "turns": ["Count.", {"say": "Ouioui ouioui.", "interrupts_after_ms": 700}],
        "noise_db": -60,
        "checks": [{"kind": "ended", "by": "caller"}, {"kind": "said", "text": "Goodbye."}],
        "budget_s": 30,
    });
    let run = bench
        .run(json!({"scenarios": [scenario], "sound": true}))
        .await;
    let conversation = &data_of(&run)[0]["conversations"][0];
    assert_eq!(run["status"], "passed", "{run}");
    let said = said(conversation);
    assert_eq!(said[0], ("agent", "Hello.", false), "{said:?}");
    assert_eq!(said[1], ("user", "Count.", false), "{said:?}");
    let (role, cut, interrupted) = said[2];
    assert!(
        role == "agent" && interrupted && cut.len() < long.len(),
        "{said:?}"
    );
    assert_eq!(said[3], ("user", "Stop.", false), "{said:?}");
    assert_eq!(said[4], ("agent", "Goodbye.", false), "{said:?}");
    assert!(conversation["played"]["answers"][0]["ms"].is_u64());
}

#[tokio::test(flavor = "multi_thread")]
async fn by_sound_a_model_plays_the_caller_and_speaks_with_the_agents_voice() {
    fn answers(asked: &str) -> Option<String> {
        let is = |words: &str| asked.contains(words);
        let words = match () {
            () if is("You play a person") && is("Is Friday fine?") => "Yes, thanks a lot. [END]",
            () if is("You play a person") && is("Hello.") => "A table on Friday, please.",
            // What the ear makes of the persona's lines.
            () if is("Yes it is.") => "Your table is kept.",
            () => "Is Friday fine?",
        };
        Some(words.to_owned())
    }
    let (_upstream, setup) = model(answers).await;
    let app = TestApp::with(setup).await;
    let config = json!({
        "system_prompt": "You book tables.", "first_message": "Hello.",
        "llm": {"provider": "local", "model": "small"},
        "stt": {"provider": "scripted", "settings": {"lines": ["A table.", "Yes it is."]}},
        "voice": {"provider": "scripted", "voice_id": "scripted"},
    });
    let agent = app.agent_with("en", config).await;
    let bench = Bench { app, agent };
    let scenario = json!({
        "name": "Wants a table", "persona": "Nadia, in a hurry.", "goal": "A table on Friday.", "budget_s": 40,
        "checks": [{"kind": "ended", "by": "caller", "within": 2}, {"kind": "said", "text": "is kept", "turn": 2}],
    });
    let options = json!({"scenarios": [scenario], "sound": true});
    let run = bench.run(options).await;
    assert_eq!(run["status"], "passed", "{run}");
    let said = said(&data_of(&run)[0]["conversations"][0])
        .into_iter()
        .map(|(_, text, _)| text);
    let expected = [
        "Hello.",
        "A table.",
        "Is Friday fine?",
        "Yes it is.",
        "Your table is kept.",
    ];
    assert_eq!(said.collect::<Vec<_>>(), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recorded_caller_is_played_again_with_the_same_pauses() {
    let app = TestApp::start().await;
    let agent = spoken(&app, "You listen.\nsay: I see.", &["First.", "Second."]).await;
    app.dial();
    let handle = text(&app.call(&agent, CUSTOMER).await["id"]);
    let id = text(&app.ended(&handle).await["conversation_id"]);
    let bench = Bench { app, agent };
    let scenario = json!({
        "name": "Again", "recording": id, "checks": [{"kind": "said", "text": "I see."}], "budget_s": 30,
    });
    let missing = bench.run(json!({"scenarios": [scenario]})).await;
    assert_eq!(missing["status"], "error", "{missing}");

    // The caller is silent for 2.5 s, says a word, and another after 3 s.
    let mut at = 0_f64;
    let mut frame = |is_loud: bool| {
        std::array::from_fn(|_| {
            at += 1.0 / 8_000.0;
            let word = (at * 200.0 * std::f64::consts::TAU).sin() * (at * 12.0).sin().abs();
            if is_loud { (word * 12_000.0) as i16 } else { 0 }
        })
    };
    let mut wav = client::must(offhook_media::wav::Recording::new(std::io::Cursor::new(
        Vec::new(),
    )));
    for (loud, frames) in [
        (false, 125),
        (true, 30),
        (false, 150),
        (true, 30),
        (false, 50),
    ] {
        for _ in 0..frames {
            client::must(wav.add(&frame(loud), &[0; 160]));
        }
    }
    let bytes = client::must(wav.finish()).into_inner();
    let folder = bench.app.recordings();
    client::must(std::fs::create_dir_all(&folder));
    client::must(std::fs::write(folder.join(format!("{id}.wav")), bytes));
    let run = bench.run(json!({"scenarios": [scenario]})).await;
    assert_eq!(run["status"], "passed", "{run}");
    let conversation = &data_of(&run)[0]["conversations"][0];
    let now: Vec<_> = said(conversation)
        .into_iter()
        .map(|(_, text, _)| text)
        .collect();
    assert_eq!(
        now,
        ["Hello.", "First.", "I see.", "Second.", "I see."],
        "{run}"
    );
    // A key that may not read conversations neither begins such a run nor reads what was said in it.
    let deaf = [Scope::AgentsRead, Scope::AgentsWrite]
        .into_iter()
        .collect();
    let deaf = bench.app.key(bench.app.account, deaf, false, None).await;
    let again = bench.app.bare("POST", &bench.runs()).key(&deaf);
    let again = again.json(json!({"scenarios": [scenario]})).await;
    let refused = again.assert_error(400, "invalid_body");
    assert!(refused.contains("conversations:read"), "{refused}");
    let target = format!("{}/{}", bench.runs(), text(&run["id"]));
    let read = bench.app.bare("GET", &target).key(&deaf).await.assert(200);
    assert!(read["results"][0]["conversations"][0]["played"].is_null());
    let before = conversation["played"]["before"].as_array();
    assert!(
        before.is_some_and(|lines| lines.len() > 1 && lines[0]["text"] == "Hello."),
        "{run}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_tested_says_why() {
    let bench = Bench::start().await;
    let app = &bench.app;
    let names = ["One", "Two"].map(|name| {
        let mut scenario = bench.stored(booking(json!([{"kind": "honest"}])));
        scenario["name"] = json!(name);
        scenario
    });
    let mut ids = Vec::new();
    for scenario in &names {
        let made = app.post("/v1/scenarios", scenario.clone()).await;
        ids.push(text(&made.assert(201)["id"]));
    }
    let taken = app.patch(&format!("/v1/scenarios/{}", ids[1]), json!({"name": "One"}));
    taken.await.assert_error(409, "conflict");

    let credentials = app.services.credentials();
    let legacy = offhook_domain::CredentialProvider::Legacy;
    client::must(credentials.set(app.account, legacy, "sim_acme").await);
    client::must(app.services.legacy().sync(app.account).await);
    let agents = app.read("/v1/agents?runtime=legacy").await;
    let legacy = text(&data(&agents)[0]["id"]);
    let mut scenario = names[0].clone();
    scenario["agent_id"] = json!(legacy);
    let runs = format!("/v1/agents/{legacy}/test-runs");
    for refused in [
        app.post("/v1/scenarios", scenario).await,
        app.get(&runs).await,
        app.post(&runs, "{}").await,
    ] {
        refused.assert_error(422, "unsupported_runtime");
    }
    app.dial();
    let of_legacy = text(&app.call(&legacy, CUSTOMER).await["id"]);
    let unanswered = app.agent().await;
    let unanswered = text(&app.call(&unanswered, "+15005550002").await["id"]);
    for (handle, status, code) in [
        (of_legacy, 422, "unsupported_runtime"),
        (unanswered, 409, "conflict"),
    ] {
        app.ended(&handle).await;
        let id = handle.trim_start_matches("call_");
        let target = format!("/v1/conversations/{id}/scenario");
        app.get(&target).await.assert_error(status, code);
    }
}
