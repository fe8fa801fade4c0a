//! `offhook demo --voice`: a spoken call without any setup.

use std::time::Duration;

use offhook_tests::{Listener, needs_speech, offhook, read_channels};

/// The call takes as long as people talk.
const LIMIT: Duration = Duration::from_secs(120);

#[tokio::test(flavor = "multi_thread")]
async fn the_spoken_demo_holds_a_call_and_leaves_its_recording() {
    needs_speech!();
    let folder = tempfile::tempdir().unwrap();
    let temporary = folder.path().to_str().unwrap();
    let output = offhook(
        &["demo", "--voice", "--exit"],
        &[("TMPDIR", temporary)],
        LIMIT,
    )
    .await;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}\n{errors}");
    for line in [
        "  scripted  what both speakers say, and the analysis",
        "  real      database, interface, events, signatures, deliveries, sound",
        "  customer  hello",
        "  agent     Hello Ana, this is Eva from Harbour Hotel.",
        "  customer  it is a good moment",
        "  customer  we come at six in the evening",
        "  customer  no that was everything",
        "customer_hangup",
        "  latency   p50",
        "  analysis  {\"topic\":\"no that was everything\",\"mood\":\"pleased\"}",
    ] {
        assert!(printed.contains(line), "{line:?} is missing in:\n{printed}");
    }
    let recording = printed
        .lines()
        .find_map(|line| line.strip_prefix("  recording "))
        .and_then(|rest| rest.split_once(" ("))
        .map(|(path, _)| path.to_owned());
    let file = std::fs::read(recording.expect(&printed)).unwrap();
    let (rate, sides) = read_channels(&file);
    assert_eq!((rate, sides.len()), (8_000, 2));
    let customer = Listener::of(&[
        "hello",
        "it is a good moment",
        "we come at six in the evening",
        "no that was everything",
    ]);
    let expected = "hello it is a good moment we come at six in the evening no that was everything";
    assert_eq!(customer.understands(&sides[0]).await, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_program_is_named_with_its_package() {
    let output = offhook(
        &["demo", "--voice", "--exit"],
        &[("PATH", "/nowhere")],
        LIMIT,
    )
    .await;
    assert!(!output.status.success());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        errors.contains("install flite and pocketsphinx"),
        "{errors}"
    );
}
