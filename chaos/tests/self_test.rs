//! The harness must be able to fail.

#[test]
fn every_forged_log_is_found_out() {
    let ran = std::process::Command::new(env!("CARGO_BIN_EXE_offhook-chaos"))
        .arg("self-test")
        .output()
        .unwrap();
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
}
