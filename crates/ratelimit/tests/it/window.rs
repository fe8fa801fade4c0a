use offhook_ratelimit::window::decide;
use proptest::prelude::*;

use crate::it::model::Window;

/// 12:00:00 on some day.
const NOON: i64 = 1_777_550_400_000_000;
const MINUTE: i64 = 60_000_000;

proptest! {
    #[test]
    fn counts_like_a_counter_reset_every_minute(
        limit in 0u32..20,
        waits in prop::collection::vec(prop_oneof![4 => 0..5_000_000i64, 1 => 0..200_000_000i64], 1..200),
    ) {
        let mut model = Window::new(limit);
        let (mut now, mut state) = (NOON, None);
        for wait in waits {
            now += wait;
            let decision = decide(state, limit, now);
            prop_assert_eq!(decision.allowed, model.take(now));
            prop_assert!(decision.ends_us > now && decision.ends_us <= now + MINUTE && decision.ends_us % MINUTE == 0);
            prop_assert!((1..=60).contains(&decision.retry_after_seconds(now)));
            if decision.allowed {
                state = Some(decision.state);
            } else {
                prop_assert_eq!(decision.remaining, 0);
                prop_assert!(limit == 0 || Some(decision.state) == state);
            }
        }
    }

    #[test]
    fn no_state_and_no_time_overflow(state in any::<Option<i64>>(), limit in any::<u32>(), now in any::<i64>()) {
        let _ = decide(state, limit, now).retry_after_seconds(now);
    }
}

fn admitted(state: &mut Option<i64>, limit: u32, now: i64) -> bool {
    let decision = decide(*state, limit, now);
    if decision.allowed {
        *state = Some(decision.state);
    }
    decision.allowed
}

#[test]
fn retry_after_is_the_seconds_to_the_next_minute() {
    for (now, seconds) in [
        (NOON, 60),
        (NOON + 1, 60),
        (NOON + 59_000_000, 1),
        (NOON + 58_999_999, 2),
        (NOON - 1, 1),
    ] {
        let refused = decide(None, 0, now);
        assert!(!refused.allowed);
        assert_eq!(refused.retry_after_seconds(now), seconds, "at {now}");
    }
}

#[test]
fn a_count_from_a_later_minute_counts_now() {
    let mut state = None;
    for _ in 0..10 {
        assert!(admitted(&mut state, 10, NOON + 3 * MINUTE));
    }
    assert!(!decide(state, 10, NOON).allowed);
    assert_eq!(decide(state, 11, NOON).remaining, 0);
}
