//! What is there once the call is over.

use super::text;
use crate::client::{self, Api};
use crate::prelude::*;

/// How long the data may take to be extracted once the call is over.
const ANALYSIS_LIMIT: Duration = Duration::from_secs(20);

/// How long the recording may take to be put away once the call is over.
const RECORDING_LIMIT: Duration = Duration::from_secs(20);

/// How the call went.
pub(super) fn summarize(call: &Value) -> anyhow::Result<()> {
    let status = text(call, "status")?;
    ensure!(
        status == "completed",
        "the call ended as {status}: {}",
        call["failure_reason"]
    );
    println!(
        "  result    {status} after {} s, {}",
        call["duration_seconds"],
        call["termination_reason"].as_str().unwrap_or("-")
    );
    println!("  summary   {}", call["summary"].as_str().unwrap_or("-"));
    if let Some(p50) = call["latency"]["p50_ms"].as_i64() {
        println!(
            "  latency   p50 {p50} ms, p95 {} ms",
            call["latency"]["p95_ms"]
        );
    }
    Ok(())
}

/// What was extracted from the conversation.
pub(super) async fn analysis(api: &Api, conversation_id: &str) -> anyhow::Result<Value> {
    let made = shown(api, conversation_id, |conversation| {
        let analysis = &conversation["analysis"];
        (analysis["status"] != "pending").then(|| analysis.clone())
    });
    let made = timeout(ANALYSIS_LIMIT, made)
        .await
        .context("nothing was extracted from the call in time")??;
    ensure!(
        made["status"] == "completed",
        "nothing was extracted from the call: {}",
        made["error"]
    );
    Ok(made["data"].clone())
}

/// Writes the recording where it outlives the demo, and says where.
pub(super) async fn keep_recording(api: &Api, conversation_id: &str) -> anyhow::Result<PathBuf> {
    let put_away = shown(api, conversation_id, |conversation| {
        conversation["recording_url"].as_str().map(str::to_owned)
    });
    let url = timeout(RECORDING_LIMIT, put_away)
        .await
        .context("the call has no recording")??;
    let sound = api.bytes(&url).await.context("fetching the recording")?;
    let file = std::env::temp_dir().join(format!("offhook-demo-{conversation_id}.wav"));
    std::fs::write(&file, sound)
        .with_context(|| format!("writing the recording to {}", file.display()))?;
    Ok(file)
}

/// Tests the agent with three scenarios that pass and one that fails on purpose.
pub(super) async fn test(api: &Api, agent_id: &str) -> anyhow::Result<()> {
    let scenario = |name: &str, line: &str, check: Value| json!({"name": name, "turns": [line], "variables": {"name": "Ana"}, "checks": [check]});
    let topic = json!({"type": "object", "required": ["topic"]});
    let scenarios = [
        scenario(
            "Greets by name",
            "Yes, go ahead.",
            json!({"kind": "said", "text": "Hello Ana", "turn": 0}),
        ),
        scenario(
            "Promises no refund",
            "I want my money back.",
            json!({"kind": "never_said", "text": "refund"}),
        ),
        scenario(
            "Tells what it was about",
            "I come at six.",
            json!({"kind": "analysis", "schema": topic}),
        ),
        scenario(
            "Books a taxi (fails on purpose)",
            "A taxi, please.",
            json!({"kind": "tool_called", "tool": "book_taxi"}),
        ),
    ];
    println!("\nThe agent is tested, in writing, with four scenarios:");
    let run = client::held(api, agent_id, json!({"scenarios": scenarios}), false);
    let run = timeout(ANALYSIS_LIMIT, run)
        .await
        .context("the scenarios did not end in time")??;
    ensure!(
        run["passed"] == 3 && run["failed"] == 1,
        "three scenarios should pass and one fail: {run}"
    );
    Ok(())
}

/// What `found` finds in the conversation, as soon as it does.
async fn shown<T>(
    api: &Api,
    conversation_id: &str,
    found: impl Fn(&Value) -> Option<T>,
) -> anyhow::Result<T> {
    let path = format!("/v1/conversations/{conversation_id}");
    loop {
        if let Some(found) = found(&api.get(&path).await?) {
            return Ok(found);
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}
