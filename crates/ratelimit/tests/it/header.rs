use offhook_ratelimit::header::{reset_unix_seconds, retry_after_seconds};

#[test]
fn reset_is_rounded_up_to_the_second() {
    for (next_us, seconds) in [
        (0, 0),
        (1, 1),
        (999_999, 1),
        (1_000_000, 1),
        (1_000_001, 2),
        (1_777_573_931_000_000, 1_777_573_931),
        (1_777_573_931_000_001, 1_777_573_932),
        (-1, 0),
        (-1_000_000, -1),
        (i64::MAX, 9_223_372_036_855),
        (i64::MIN, -9_223_372_036_854),
    ] {
        assert_eq!(reset_unix_seconds(next_us), seconds, "for {next_us}");
    }
}

#[test]
fn retry_after_is_rounded_up_and_at_least_one() {
    for (wait_us, seconds) in [
        (-5_000_000, 1),
        (0, 1),
        (1, 1),
        (999_999, 1),
        (1_000_000, 1),
        (1_000_001, 2),
        (60_000_000, 60),
    ] {
        for now in [0, 999_999, 1_777_573_931_123_456] {
            assert_eq!(
                retry_after_seconds(now + wait_us, now),
                seconds,
                "for a wait of {wait_us}"
            );
        }
    }
    assert_eq!(retry_after_seconds(i64::MIN, i64::MAX), 1);
    assert_eq!(retry_after_seconds(i64::MAX, i64::MIN), 9_223_372_036_855);
}
