//! `offhook test`: holds the conversations of a folder's scenarios with an agent.

use std::collections::HashSet;
use std::fmt::Write as _;

use serde_json::Map;

use super::{Api, Remote};
use crate::output::Exit;
use crate::prelude::*;

/// Bytes of a file of scenarios.
const FILE_BYTES: u64 = 1 << 20;

const XML: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";

/// The folder in an agent's folder that holds its scenarios.
const FOLDER: &str = "scenarios";

#[derive(Debug, Args)]
pub(crate) struct TestArgs {
    /// The folder with the scenarios: files that end with .yaml, .yml or .json, here or in its folder `scenarios`.
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// The agent [default: the `agent_id` of the files, or that of the folder in ../offhook.lock].
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// The version, or `draft`: the latest.
    #[arg(long = "version", value_name = "N|draft", default_value = "draft")]
    tested: String,
    /// How many conversations of each scenario [default: what each says].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..=20))]
    runs: Option<i64>,
    /// Hold the conversations by sound, with the agent's ear and voice.
    #[arg(long)]
    sound: bool,
    /// How many conversations at once.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(i64).range(1..=200))]
    parallel: i64,
    /// Print the run as one JSON object.
    #[arg(long, conflicts_with = "junit")]
    json: bool,
    /// Print the run as JUnit XML, which CI services read.
    #[arg(long)]
    junit: bool,
    #[command(flatten)]
    remote: Remote,
}

impl TestArgs {
    /// Code 0: all scenarios passed; 1: one failed; 2: they could not be held.
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        let is_junit = self.junit;
        match self.passes().await {
            Ok(true) => Ok(()),
            Ok(false) => Err(Exit(1).into()),
            Err(error) if error.is::<Exit>() => Err(error),
            Err(error) => {
                let words = output::printable(&format!("{error:#}"));
                if is_junit {
                    let words = escaped(&words);
                    println!(
                        "{XML}<testsuites>\n<testsuite name=\"offhook\" tests=\"1\" failures=\"0\" errors=\"1\">\n\
                         <testcase classname=\"offhook\" name=\"run\"><error message=\"{words}\"/></testcase>\n\
                         </testsuite>\n</testsuites>"
                    );
                }
                eprintln!("error: {words}");
                Err(Exit(2).into())
            }
        }
    }

    async fn passes(self) -> anyhow::Result<bool> {
        let (scenarios, named) = scenarios_in(&self.folder)?;
        let agent = self.agent.or(named).or_else(|| locked_agent(&self.folder)).context(
            "no agent: give --agent, or write `agent_id` in the files; `offhook agents list` shows ids",
        )?;
        let mut options =
            json!({"scenarios": scenarios, "parallel": self.parallel, "sound": self.sound});
        match self.tested.as_str() {
            "draft" => {}
            number => {
                let version: i64 = number.parse().with_context(|| {
                    format!("--version: `{number}` is no number and not `draft`")
                })?;
                options["version"] = version.into();
            }
        }
        if let Some(runs) = self.runs {
            options["runs"] = runs.into();
        }
        for file in unapplied(&self.folder).unwrap_or_default() {
            eprintln!(
                "warning: {file} was edited and not applied: the agent is tested as the service has it, and a required suite counts scenarios as they were applied"
            );
        }
        let api = self.remote.api()?;
        let is_silent = self.json || self.junit;
        let run = held(&api, &agent, options, is_silent).await?;
        match (self.json, self.junit) {
            (true, _) => output::print(true, &run, "")?,
            (_, true) => output::print(false, &run, &junit(&run))?,
            _ => {
                let count = |name: &str| run[name].as_i64().unwrap_or(0);
                let words = format!(
                    "{} of {} passed with version {}",
                    count("passed"),
                    count("total"),
                    count("version")
                );
                output::print(false, &run, &words)?;
            }
        }
        let status = run["status"].as_str().unwrap_or_default();
        if !["passed", "failed"].contains(&status) {
            let words = format!("the run ended as {status}: {}", errors(&run));
            eprintln!("error: {}", output::printable(&words));
            return Err(Exit(2).into());
        }
        Ok(status == "passed")
    }
}

/// Runs the scenarios, and returns the run once it has ended.
pub(crate) async fn held(
    api: &Api,
    agent: &str,
    options: Value,
    is_silent: bool,
) -> anyhow::Result<Value> {
    let runs = format!("/v1/agents/{agent}/test-runs");
    let run = api.post(&runs, options, "starting the run").await?;
    let run = format!("{runs}/{}", run["id"].as_str().unwrap_or_default());
    let events = format!("{run}/events");
    let followed = api.follow(&events, |event| {
        let is_run = event.get("version").is_some();
        if !is_run && !is_silent {
            output::print(false, event, &told(event))?;
        }
        Ok(!is_run || event["status"] == "running")
    });
    tokio::select! {
        ended = followed => ended?,
        _ = tokio::signal::ctrl_c() => {
            api.post(&format!("{run}/cancel"), json!({}), "cancelling the run").await?;
        }
    }
    api.get(&run).await
}

/// What came of a scenario, in words.
fn told(result: &Value) -> String {
    let mut words = format!(
        "{:<7} {}",
        result["status"].as_str().unwrap_or_default(),
        result["name"].as_str().unwrap_or_default()
    );
    for fault in faults(result) {
        let _ = write!(words, "\n        {fault}");
    }
    words
}

/// What did not pass, each once.
fn faults(result: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    let all = |value: &Value| value.as_array().cloned().unwrap_or_default();
    for conversation in all(&result["conversations"]) {
        if let Some(error) = conversation["error"].as_str() {
            faults.push(error.to_owned());
        }
        let is_passed = conversation["status"] == "passed";
        for tool in all(&conversation["played"]["tools"]) {
            if tool["failed"] == true && !is_passed {
                let word = |name: &str| tool[name].as_str().unwrap_or_default().to_owned();
                faults.push(format!("tool {} failed: {}", word("name"), word("answer")));
            }
        }
        for check in all(&conversation["checks"]) {
            if check["result"] != "pass" {
                let word = |name: &str| check[name].as_str().unwrap_or_default().to_owned();
                faults.push(format!(
                    "{} {}: {}",
                    word("kind"),
                    word("result"),
                    word("detail")
                ));
            }
        }
    }
    faults.dedup();
    faults
}

fn errors(run: &Value) -> String {
    let results = run["results"].as_array().cloned().unwrap_or_default();
    let of_one = |result: &Value| {
        let name = result["name"].as_str().unwrap_or_default();
        (result["status"] == "error").then(|| format!("{name}: {}", faults(result).join("; ")))
    };
    results
        .iter()
        .filter_map(of_one)
        .collect::<Vec<_>>()
        .join("; ")
}

/// The run in the form of JUnit, one case a scenario.
fn junit(run: &Value) -> String {
    let results = run["results"].as_array().cloned().unwrap_or_default();
    let count = |status: &str| results.iter().filter(|one| one["status"] == status).count();
    let mut xml = format!(
        "{XML}<testsuites>\n<testsuite name=\"offhook\" tests=\"{}\" \
         failures=\"{}\" errors=\"{}\">\n",
        results.len(),
        count("failed"),
        count("error")
    );
    for result in &results {
        let name = escaped(result["name"].as_str().unwrap_or_default());
        let tag = match result["status"].as_str() {
            Some("passed") => {
                let _ = writeln!(xml, "<testcase classname=\"offhook\" name=\"{name}\"/>");
                continue;
            }
            Some("failed") => "failure",
            _ => "error",
        };
        let faults = faults(result);
        let first = escaped(faults.first().map_or("", String::as_str));
        let all = escaped(&faults.join("\n"));
        let _ = writeln!(
            xml,
            "<testcase classname=\"offhook\" name=\"{name}\"><{tag} message=\"{first}\">{all}</{tag}></testcase>"
        );
    }
    xml.push_str("</testsuite>\n</testsuites>");
    xml
}

/// Text for XML 1.0, which has no control characters.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for one in text.chars() {
        match one {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push_str("&#10;"),
            one if one.is_control() || matches!(one, '\u{FFFE}' | '\u{FFFF}') => {
                escaped.push('\u{FFFD}')
            }
            one => escaped.push(one),
        }
    }
    escaped
}

/// The scenarios of a folder by the names of their files, and the agent that these name.
fn scenarios_in(folder: &Path) -> anyhow::Result<(Vec<Value>, Option<String>)> {
    let mut files = files_in(folder)?;
    let inner = folder.join(FOLDER);
    if inner.is_dir() {
        files.extend(files_in(&inner)?);
    }
    ensure!(
        !files.is_empty(),
        "{}: no scenarios here: files that end with .yaml, .yml or .json",
        folder.display()
    );
    files.sort();
    let (mut scenarios, mut agent, mut names) = (Vec::new(), None, HashSet::new());
    for file in files {
        let mut scenario = read(&file).with_context(|| file.display().to_string())?;
        if let Some(named) = scenario.remove("agent_id") {
            let named = named.as_str().map(str::to_owned);
            ensure!(
                agent.is_none() || agent == named,
                "{}: `agent_id` is another than in the files before: test one agent at a time",
                file.display()
            );
            agent = named;
        }
        let scenario = Value::Object(scenario);
        let json = Json::parse(scenario.to_string().as_bytes())?;
        let read = offhook_services::Scenario::of_json(&json);
        let read = read.with_context(|| file.display().to_string())?;
        ensure!(
            names.insert(read.name.clone()),
            "{}: another scenario here is named `{}`, too: choose another name",
            file.display(),
            read.name
        );
        scenarios.push(scenario);
    }
    Ok((scenarios, agent))
}

/// The edited files of the agent whose folder this is, if it is one.
fn unapplied(folder: &Path) -> anyhow::Result<Vec<String>> {
    let folder = folder.canonicalize()?;
    let agent = folder.file_name().and_then(|name| name.to_str());
    match folder.parent().zip(agent) {
        Some((root, agent)) if root.join("offhook.lock").is_file() => {
            super::files::unapplied(root, agent)
        }
        _ => Ok(Vec::new()),
    }
}

/// The agent of a folder that `offhook agents` has written or applied.
fn locked_agent(folder: &Path) -> Option<String> {
    let folder = folder.canonicalize().ok()?;
    let lock = read(&folder.parent()?.join("offhook.lock")).ok()?;
    let name = format!("{}/agent.md", folder.file_name()?.to_str()?);
    lock.get(&name)?["id"].as_str().map(str::to_owned)
}

fn files_in(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let ending = path.extension().and_then(|ending| ending.to_str());
        if matches!(ending, Some("yaml" | "yml" | "json")) && path.is_file() {
            files.push(path);
        }
    }
    Ok(files)
}

fn read(file: &Path) -> anyhow::Result<Map<String, Value>> {
    let bytes = std::fs::metadata(file)?.len();
    ensure!(bytes <= FILE_BYTES, "larger than {FILE_BYTES} bytes");
    let text = std::fs::read_to_string(file)?;
    let value: Value = match file.extension().is_some_and(|ending| ending == "json") {
        true => serde_json::from_str(&text)?,
        false => serde_saphyr::from_str(&text)?,
    };
    match value {
        Value::Object(scenario) => Ok(scenario),
        _ => bail!("a scenario is a mapping with `name`, `turns` or `persona`, and `checks`"),
    }
}
