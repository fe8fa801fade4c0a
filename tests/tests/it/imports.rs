//! `offhook import`: another platform's export as a folder, with a report of each of its fields.

use std::fs;
use std::path::Path;
use std::process::Output;

use offhook_tests::{Database, Options, Server};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::agents_as_files::files;
use crate::customers::Customer;

const VENDORS: [&str; 4] = ["vapi", "retell", "elevenlabs", "bland"];
const ASSETS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/imports");

fn import(vendor: &str, file: &Path, into: &Path, flags: &[&str]) -> Output {
    let mut command = offhook_tests::command();
    let command = command
        .args(["import", vendor])
        .arg(file)
        .arg("-o")
        .arg(into)
        .args(flags);
    command.output().expect("a command")
}

fn error(output: Output) -> String {
    assert_eq!(output.status.code(), Some(1));
    String::from_utf8(output.stderr).expect("text")
}

#[test]
fn an_export_of_each_platform_becomes_the_folder_that_is_expected() {
    for vendor in VENDORS {
        let dir = TempDir::new().expect("a folder");
        let export = Path::new(ASSETS).join(format!("{vendor}.json"));
        let output = import(vendor, &export, dir.path(), &[]);
        assert!(output.status.success(), "{output:?}");
        let report = fs::read(dir.path().join("import-report.md")).expect("a report");
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&report)
        );
        let folders = [ASSETS, dir.path().to_str().expect("a path")];
        let all = files(dir.path()).into_iter().map(|(path, text)| {
            let text = folders
                .iter()
                .fold(text, |text, folder| text.replace(folder, "…"));
            format!("=== {path}\n{text}")
        });
        let all: String = all.collect();
        let expected = Path::new(ASSETS).join(format!("{vendor}.txt"));
        if std::env::var_os("UPDATE_DOCS").is_some() {
            fs::write(&expected, &all).expect("a file");
        }
        assert_eq!(
            all,
            fs::read_to_string(expected).expect("what is expected"),
            "{vendor}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_imported_can_be_applied() {
    let server = Server::start(Options::on(Database::Sqlite)).await;
    for vendor in VENDORS {
        let customer = Customer::of(&server).await;
        let dir = TempDir::new().expect("a folder");
        let export = Path::new(ASSETS).join(format!("{vendor}.json"));
        assert!(import(vendor, &export, dir.path(), &[]).status.success());
        let run = async |line: &str| {
            let mut command = customer.command(line);
            for name in [
                "TOOL_BOOK_APPOINTMENT_X_API_KEY",
                "TOOL_GET_BALANCE_AUTHORIZATION",
                "TOOL_ROOM_SERVICE_AUTHORIZATION",
                "TOOL_FIND_SLOT_AUTHORIZATION",
            ] {
                command.env(name, "k-1");
            }
            command.arg(dir.path()).output().await.expect("a command")
        };
        let applied = run("agents apply").await;
        assert!(applied.status.success(), "{applied:?}");
        let planned = run("agents pull").await;
        assert!(planned.status.success(), "{planned:?}");
        assert_eq!(
            customer.account.read("/v1/agents").await["data"]
                .as_array()
                .map(Vec::len),
            Some(1)
        );
    }
}

/// The paths of what has nothing below it.
fn leaves(value: &Value, path: &str, found: &mut Vec<String>) {
    let below = |name: &str| {
        if path.is_empty() {
            name.to_owned()
        } else {
            format!("{path}.{name}")
        }
    };
    match value {
        Value::Object(members) if !members.is_empty() => members
            .iter()
            .for_each(|(name, one)| leaves(one, &below(name), found)),
        Value::Array(items) if !items.is_empty() => items
            .iter()
            .enumerate()
            .for_each(|(at, one)| leaves(one, &below(&at.to_string()), found)),
        _ => found.push(path.to_owned()),
    }
}

const KEY: &str = "sk-live-Abcd1234Efgh5678Ijkl";

/// A value with names that platforms use, anything in them, and a key here and there.
fn anything() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f32>()
            .prop_filter("finite", |number| number.is_finite())
            .prop_map(|number| json!(f64::from(number))),
        "[ -z|~]{0,30}".prop_map(Value::from),
        Just(json!(KEY)),
        Just(json!(format!(
            "Say {KEY} to https://u:{KEY}@example.com/?token={KEY}."
        ))),
        Just(json!("https://example.com/x")),
        Just(json!("+15005550111")),
        proptest::sample::select(vec![
            "function",
            "custom",
            "webhook",
            "system",
            "end_call",
            "transferCall",
            "string",
            "system"
        ])
        .prop_map(Value::from),
    ];
    let names = [
        "name",
        "model",
        "messages",
        "tools",
        "type",
        "function",
        "parameters",
        "server",
        "url",
        "headers",
        "apiKey",
        "Authorization",
        "voice",
        "voiceId",
        "provider",
        "prompt",
        "general_prompt",
        "general_tools",
        "retellLlmData",
        "states",
        "conversation_config",
        "agent",
        "dynamic_variables",
        "dynamic_variable_placeholders",
        "api_schema",
        "request_headers",
        "params",
        "transfer_list",
        "analysis_schema",
        "language",
        "request_data",
        "destinations",
        "tool_name",
        "x",
    ];
    scalar.prop_recursive(5, 60, 6, move |inner| {
        let name = prop_oneof![
            proptest::sample::select(names.to_vec()).prop_map(str::to_owned),
            Just(KEY.to_owned())
        ];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::hash_map(name, inner, 0..6)
                .prop_map(|members| members.into_iter().collect()),
        ]
    })
}

#[test]
fn each_field_of_an_export_is_in_the_report_once_and_no_credential_anywhere() {
    let mut runner = TestRunner::new(Config {
        cases: 60,
        failure_persistence: None,
        ..Config::default()
    });
    let exports = (proptest::sample::select(VENDORS.to_vec()), anything());
    let checked = runner.run(&exports, |(vendor, below)| {
        let dir = TempDir::new().expect("a folder");
        let file = dir.path().join("export.json");
        let known = match vendor {
            "vapi" => json!({ "firstMessage": "Hi.", "model": below }),
            "retell" => json!({ "agent_name": "Ann", "retellLlmData": below }),
            "elevenlabs" => {
                json!({ "name": "Ann", "conversation_config": { "agent": { "prompt": below } } })
            }
            _ => json!({ "prompt": "Hi.", "tools": [below], "analysis_schema": below }),
        };
        fs::write(&file, known.to_string()).expect("a file");
        let into = dir.path().join("out");
        let output = import(vendor, &file, &into, &["--json"]);
        prop_assert!(output.status.success(), "{output:?}");
        let report: Vec<Value> = serde_json::from_slice(&output.stdout).expect("JSON");
        let fields: Vec<&str> = report
            .iter()
            .filter_map(|one| one["field"].as_str())
            .collect();
        let mut all = Vec::new();
        leaves(&known, "", &mut all);
        for leaf in &all {
            let leaf = leaf.replace(KEY, "[credential removed]");
            let is_over = |field: &&&str| {
                leaf == **field
                    || leaf
                        .strip_prefix(**field)
                        .is_some_and(|rest| rest.starts_with('.'))
            };
            prop_assert_eq!(
                fields.iter().filter(is_over).count(),
                all.iter()
                    .filter(|other| other.replace(KEY, "[credential removed]") == leaf)
                    .count(),
                "{}: {:?}",
                leaf,
                fields
            );
        }
        for (path, text) in files(&into) {
            prop_assert!(!text.contains(KEY) && !path.contains(KEY), "{path}: {text}");
        }
        prop_assert!(!String::from_utf8_lossy(&output.stdout).contains(KEY));
        Ok(())
    });
    checked.unwrap();
}

#[test]
fn what_is_no_export_is_refused_in_a_line_and_writes_nothing() {
    let deep = format!("{{\"name\":{}1{}}}", "[".repeat(5_000), "]".repeat(5_000));
    let wide = format!("{{\"name\":\"x\",\"a\":[{}1]}}", "1,".repeat(30_000));
    for (export, said) in [
        ("", "is not JSON"),
        ("3", "has no agent"),
        ("[]", "has no agent"),
        ("{\"a\":1}", "no field of an agent is known"),
        (&deep, "is not JSON"),
        (&wide, "more than 20000 fields"),
        (&"x".repeat(9 << 20), "is larger than 8 MiB"),
    ] {
        let dir = TempDir::new().expect("a folder");
        let file = dir.path().join("export.json");
        fs::write(&file, export).expect("a file");
        let error = error(import("vapi", &file, &dir.path().join("out"), &[]));
        assert!(
            error.contains(said) && error.lines().count() == 1,
            "{said}: {error}"
        );
        assert!(!dir.path().join("out").exists());
    }
}
