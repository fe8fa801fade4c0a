//! The files in deploy/ name settings that there are, with values that they may have.

use std::ffi::OsString;

use super::{Flags, Settings};
use crate::prelude::*;

/// What the files take from elsewhere: a secret, a file of its own, the machine.
const FROM_ELSEWHERE: [(&str, &str); 8] = [
    ("${POSTGRES_PASSWORD:?see .env.example}", "secret"),
    ("${REDIS_PASSWORD:?see .env.example}", "secret"),
    ("${MINIO_USER:?see .env.example}", "offhook"),
    ("${MINIO_PASSWORD:?see .env.example}", "secret"),
    ("${PUBLIC_URL:?see .env.example}", "http://127.0.0.1:8080"),
    ("$(POD_IP)", "10.244.1.7"),
    ("=…", "=secret"),
    (":…", ":secret"),
];

type Variables = BTreeMap<String, String>;

fn file(path: &str) -> String {
    let deploy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy");
    let mut text = std::fs::read_to_string(deploy.join(path)).unwrap();
    for (given, stands_for) in FROM_ELSEWHERE {
        text = text.replace(given, stands_for);
    }
    text
}

fn is_variable(name: &str) -> bool {
    let is_ours = name.starts_with("OFFHOOK_") || name.starts_with("AWS_");
    is_ours
        && name
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

/// `NAME<sign>value` on lines of their own, perhaps behind a word.
fn assignments(text: &str, sign: char) -> Variables {
    let lines = text.lines().filter_map(|line| {
        let line = line.trim().trim_end_matches(['\\', ' ']);
        let line = ["ENV ", "Environment=", "#"]
            .iter()
            .find_map(|word| line.strip_prefix(word))
            .unwrap_or(line);
        let (name, value) = line.split_once(sign)?;
        let value = value.trim().trim_matches('"');
        (is_variable(name) && !value.is_empty()).then(|| (name.to_owned(), value.to_owned()))
    });
    lines.collect()
}

/// `- name: NAME` and the line with its value; what comes from a secret has the example's value.
fn of_pod(text: &str, secrets: &str) -> Variables {
    let mut variables = Variables::new();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    for (at, line) in lines.iter().enumerate() {
        let Some(name) = line
            .strip_prefix("- name: ")
            .filter(|name| is_variable(name))
        else {
            continue;
        };
        let value = match lines[at + 1].strip_prefix("value: ") {
            Some(value) => value.trim_matches('"').to_owned(),
            None => {
                let (_, key) = lines[at + 2].split_once("key: ").unwrap();
                let key = key.trim_end_matches('}');
                let line = secrets
                    .lines()
                    .find_map(|line| line.trim().strip_prefix(key)?.strip_prefix(": "));
                line.unwrap_or_else(|| panic!("the secret has no {key}"))
                    .to_owned()
            }
        };
        variables.insert(name.to_owned(), value);
    }
    variables
}

/// The settings that a process has with these variables.
fn read(what: &str, variables: &Variables) -> Settings {
    assert!(variables.len() >= 3, "{what}: {variables:?}");
    let variables = variables
        .iter()
        .map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let settings = Settings::from_parts(Flags::default(), variables);
    let settings = settings.unwrap_or_else(|error| panic!("{what}: {error}"));
    settings
        .check_serving()
        .unwrap_or_else(|error| panic!("{what}: {error}"));
    settings
}

#[test]
fn the_image_serves_by_itself() {
    let settings = read("Dockerfile", &assignments(&file("Dockerfile"), '='));
    assert!(!settings.is_shared());
    assert_eq!(settings.data_dir, Path::new("/var/lib/offhook"));
}

#[test]
fn the_unit_serves_with_and_without_the_file_of_secrets() {
    let mut variables = assignments(&file("systemd/offhook.service"), '=');
    let alone = read("unit", &variables);
    assert!(!alone.is_shared() && alone.metrics_listen.is_some());
    variables.extend(assignments(&file("systemd/offhook.env.example"), '='));
    assert!(read("unit", &variables).is_shared());
}

#[test]
fn the_nodes_of_the_compose_file_share_everything() {
    let text = file("compose/compose.yaml");
    let shared = assignments(&text, ':');
    let image = assignments(&file("Dockerfile"), '=');
    let settings = read("compose", &image.into_iter().chain(shared).collect());
    assert!(settings.is_shared() && settings.metrics_listen.is_some());
    assert_eq!(settings.http.trusted_proxies.len(), 1);
}

#[test]
fn pods_share_everything() {
    let secrets = file("kubernetes/secret.example.yaml");
    let variables = of_pod(&file("kubernetes/offhook.yaml"), &secrets);
    let image = assignments(&file("Dockerfile"), '=');
    let settings = read("pod", &image.into_iter().chain(variables).collect());
    assert!(settings.is_shared() && settings.metrics_listen.is_some());
    assert!(settings.master_key_file.is_some());
}
