//! The receivers' code in the portal: runs each program with its own interpreter against our signatures.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use offhook_signing::{SigningSecret, sign};
use offhook_tests::{has_program, must, within};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

/// A compiled language needs some time on a busy machine.
const LIMIT: Duration = Duration::from_secs(180);

const NOW: i64 = 1_777_573_931;
const SECRET: &str = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";
const NEWER: &str = "whsec_ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8";
const BODY: &[u8] =
    "{\"type\":\"call.completed\",\"data\":{\"transcript_summary\":\"Se confirmó la cita.\"}}"
        .as_bytes();

/// A header, a body, a secret and the current time, and whether the header is valid.
struct Case {
    name: &'static str,
    header: String,
    body: Vec<u8>,
    secret: &'static str,
    now: i64,
    is_good: bool,
}

fn secret(text: &str) -> SigningSecret {
    text.parse().expect("a secret")
}

fn cases() -> Vec<Case> {
    let signed = |secrets: &[&str], body: &[u8]| {
        let secrets: Vec<SigningSecret> = secrets.iter().map(|text| secret(text)).collect();
        sign(&secrets, NOW, body)
    };
    let sent = signed(&[SECRET], BODY);
    let tag = sent.split_once(',').expect("a tag").1.to_owned();
    let case = |name, header: &str, body: &[u8], secret, now, is_good| Case {
        name,
        header: header.to_owned(),
        body: body.to_vec(),
        secret,
        now,
        is_good,
    };
    let good = |name, header: &str, body: &[u8]| case(name, header, body, SECRET, NOW, true);
    let bad = |name, header: &str| case(name, header, BODY, SECRET, NOW, false);
    let both = signed(&[SECRET, NEWER], BODY);
    let binary: Vec<u8> = (0..=255).collect();
    vec![
        good("as sent", &sent, BODY),
        good("an empty body", &signed(&[SECRET], b""), b""),
        good("any bytes", &signed(&[SECRET], &binary), &binary),
        case(
            "another body",
            &sent,
            b"{\"type\":\"call.failed\"}",
            SECRET,
            NOW,
            false,
        ),
        case(
            "a byte more",
            &sent,
            &[BODY, b"\n"].concat(),
            SECRET,
            NOW,
            false,
        ),
        case("five minutes old", &sent, BODY, SECRET, NOW + 300, true),
        case("older", &sent, BODY, SECRET, NOW + 301, false),
        case("from a time to come", &sent, BODY, SECRET, NOW - 301, false),
        case("another secret", &sent, BODY, NEWER, NOW, false),
        good("a rotation, the old secret", &both, BODY),
        case("a rotation, the new secret", &both, BODY, NEWER, NOW, true),
        good(
            "a scheme to come beside it",
            &format!("{sent},v2=abc"),
            BODY,
        ),
        bad("another time", &format!("t={},{tag}", NOW + 1)),
        bad("two times", &format!("t={NOW},{sent}")),
        bad("no time", &tag),
        bad("a time that is no number", &format!("t=now,{tag}")),
        bad("a time with a sign", &format!("t=+{NOW},{tag}")),
        bad("no signature", &format!("t={NOW}")),
        bad("an empty signature", &format!("t={NOW},v1=")),
        bad("half a signature", &sent[..sent.len() - 32]),
        bad("no hexadecimal", &format!("t={NOW},v1=zz")),
        bad("another scheme alone", &sent.replace("v1=", "v0=")),
        bad("no header", ""),
        bad("no elements", "nonsense"),
    ]
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Runs the snippet with this file extension on every case.
async fn verifies(ending: &str, command: &[&str]) {
    let folder = TempDir::new().expect("a folder");
    let snippet = root().join(format!("crates/portal/snippets/verify.{ending}"));
    let runner = root().join(format!("tests/verifiers/run.{ending}"));
    for file in [snippet, runner] {
        let name = file.file_name().expect("a name");
        std::fs::copy(&file, folder.path().join(name)).expect("copied");
    }
    let cases = cases();
    let asked: Vec<Value> = cases
        .iter()
        .map(|case| {
            let body: String = case.body.iter().map(|byte| format!("{byte:02x}")).collect();
            json!({ "header": case.header, "body": body, "secret": case.secret, "now": case.now })
        })
        .collect();
    let said = answer(command, folder.path(), &Value::Array(asked).to_string()).await;
    let said: Vec<bool> = serde_json::from_str(&said).expect("an array of booleans");
    let names = cases.iter().map(|case| case.name);
    let wrong: Vec<&str> = names
        .zip(cases.iter().map(|case| case.is_good).zip(&said))
        .filter(|(_, (expected, said))| expected != *said)
        .map(|(name, _)| name)
        .collect();
    assert_eq!(said.len(), cases.len());
    assert_eq!(wrong, Vec::<&str>::new(), "misjudged by verify.{ending}");
}

/// The output of a program for this input.
async fn answer(command: &[&str], folder: &Path, input: &str) -> String {
    let (program, arguments) = command.split_first().expect("a program");
    let child = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn();
    let mut child = must("the program starts", child);
    let mut stdin = child.stdin.take().expect("standard input");
    must("it reads", stdin.write_all(input.as_bytes()).await);
    drop(stdin);
    let output = within("it answers", LIMIT, child.wait_with_output()).await;
    let output = must("it ends", output);
    assert!(
        output.status.success(),
        "{program}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("text")
}

#[tokio::test]
async fn the_receiver_in_python_tells_our_signatures_from_others() {
    if has_program("python3", "python3") {
        verifies("py", &["python3", "run.py"]).await;
    }
}

#[tokio::test]
async fn the_receiver_in_javascript_tells_our_signatures_from_others() {
    if has_program("node", "nodejs") {
        verifies("mjs", &["node", "run.mjs"]).await;
    }
}

#[tokio::test]
async fn the_receiver_in_php_tells_our_signatures_from_others() {
    if has_program("php", "php-cli") {
        verifies("php", &["php", "run.php"]).await;
    }
}

#[tokio::test]
async fn the_receiver_in_ruby_tells_our_signatures_from_others() {
    if has_program("ruby", "ruby") {
        verifies("rb", &["ruby", "run.rb"]).await;
    }
}

#[tokio::test]
async fn the_receiver_in_go_tells_our_signatures_from_others() {
    if has_program("go", "golang-go") {
        verifies("go", &["go", "run", "run.go", "verify.go"]).await;
    }
}
