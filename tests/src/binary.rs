//! The binary under test.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use crate::wait::{must, within};

/// The variable that names a binary with the feature `failpoints`.
const VARIABLE: &str = "OFFHOOK_BIN";

/// The binary that [`VARIABLE`] names, or else a fresh build with failpoints.
fn path() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| match std::env::var_os(VARIABLE) {
        Some(path) => path.into(),
        None => build(),
    })
}

fn build() -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args([
            "build",
            "--quiet",
            "-p",
            "offhook",
            "--features",
            "failpoints",
        ])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .status();
    assert!(
        must("cargo build", built).success(),
        "the binary does not build"
    );
    // This test is at `<target>/debug/deps/…`, the binary at `<target>/debug/offhook`.
    let test = must("the path of this test", std::env::current_exe());
    match test.parent().and_then(Path::parent) {
        Some(debug) => debug.join("offhook"),
        None => panic!("no target directory above {}", test.display()),
    }
}

/// The output of a command that needs no server, with `variables` in its environment. It is killed after `limit`.
pub async fn offhook(arguments: &[&str], variables: &[(&str, &str)], limit: Duration) -> Output {
    let mut command = tokio::process::Command::from(command());
    let ended = command
        .args(arguments)
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    must(
        "a command",
        within("the end of a command", limit, ended).await,
    )
}

/// A command of the binary that sees nothing of this process's settings.
#[must_use]
pub fn command() -> Command {
    let mut command = Command::new(path());
    for (name, _) in std::env::vars_os() {
        let name_text = name.to_string_lossy();
        if name_text.starts_with("OFFHOOK_")
            || name_text.starts_with("AWS_")
            || name_text == "RUST_LOG"
        {
            command.env_remove(&name);
        }
    }
    command
}
