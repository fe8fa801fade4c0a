use offhook_ratelimit::gcra::{decide, peek};
use offhook_ratelimit::{MAX_PER_MINUTE, Quota};
use proptest::prelude::*;

use crate::it::model::Bucket;

const NOW: i64 = 1_777_573_931_123_456;

fn quotas() -> impl Strategy<Value = Quota> {
    prop_oneof![
        prop::sample::select(vec![1, 2, 7, 10, 40, 60, 120, 999_999, MAX_PER_MINUTE]),
        1u32..=200,
        1..=MAX_PER_MINUTE,
    ]
    .prop_map(Quota::per_minute)
}

/// A wait in thousandths of the quota's interval, so that waits fall around its boundaries.
fn wait_us(quota: Quota, thousandths: i64, nudge: i64) -> i64 {
    (quota.interval_us() * thousandths / 1000 + nudge).max(0)
}

proptest! {
    #[test]
    fn decides_like_a_naive_token_bucket(
        quota in quotas(),
        start in 0..NOW,
        waits in prop::collection::vec((prop_oneof![3 => Just(0i64), 2 => 0..3000i64, 1 => 0..200_000i64], -1..=1i64), 1..300),
    ) {
        let mut model = Bucket::full(quota, start);
        let (mut now, mut tat) = (start, None);
        for (thousandths, nudge) in waits {
            now += wait_us(quota, thousandths, nudge);
            let expected = model.take(now);
            let looked = peek(tat, quota, now);
            let decision = decide(tat, quota, now);
            prop_assert_eq!(looked.allowed, expected.allowed);
            prop_assert_eq!(decision.allowed, expected.allowed);
            prop_assert_eq!(decision.remaining, expected.remaining);
            prop_assert_eq!(decision.next_us, expected.next_us);
            prop_assert_eq!(decision.limit, quota.limit());
            if !decision.allowed {
                prop_assert_eq!(Some(decision.tat_us), tat);
                prop_assert_eq!(decision.remaining, 0);
            }
            tat = Some(decision.tat_us);
        }
    }

    #[test]
    fn a_refused_client_is_admitted_when_told_and_not_a_microsecond_earlier(
        quota in quotas(), into_last_token in 0.0..1.0, now in 0..NOW,
    ) {
        // A bucket that holds less than a token.
        let part = (into_last_token * quota.interval_us() as f64) as i64;
        let refused = peek(Some(now + quota.refill_us() - part), quota, now);
        prop_assert!(!refused.allowed);
        let tat = Some(refused.tat_us);
        prop_assert!(refused.next_us > now);
        prop_assert!(!decide(tat, quota, refused.next_us - 1).allowed);
        prop_assert!(decide(tat, quota, refused.next_us).allowed);
        prop_assert!(decide(tat, quota, refused.reset_unix_seconds() * 1_000_000).allowed);
        let retry_after = i64::try_from(refused.retry_after_seconds(now)).unwrap_or(i64::MAX);
        prop_assert!((1..=61).contains(&retry_after));
        prop_assert!(decide(tat, quota, now + retry_after * 1_000_000).allowed);
    }

    #[test]
    fn no_state_and_no_time_overflow(tat in any::<Option<i64>>(), quota in quotas(), now in any::<i64>()) {
        let decision = decide(tat, quota, now);
        prop_assert!(decision.remaining < quota.limit());
        prop_assert!(decision.tat_us >= now);
        let _ = (decision.reset_unix_seconds(), decision.retry_after_seconds(now));
    }

    #[test]
    fn a_state_from_a_clock_far_ahead_costs_at_most_one_refill(quota in quotas(), ahead in 0..=i64::MAX - NOW) {
        let decision = decide(Some(NOW + ahead), quota, NOW);
        prop_assert!(decision.tat_us <= NOW + quota.refill_us());
        prop_assert!(decide(Some(NOW + ahead), quota, NOW).next_us <= NOW + quota.interval_us());
    }
}

#[test]
fn the_interval_is_rounded_up_to_a_microsecond() {
    for limit in (1..=MAX_PER_MINUTE).step_by(37).chain([MAX_PER_MINUTE]) {
        let quota = Quota::per_minute(limit);
        assert!(
            quota.refill_us() >= 60_000_000 && quota.refill_us() < 60_000_000 + i64::from(limit)
        );
    }
    assert_eq!(Quota::per_minute(7).interval_us(), 8_571_429);
}

#[test]
fn limits_outside_one_to_a_million_are_none() {
    assert_eq!(Quota::checked_per_minute(0), None);
    assert_eq!(Quota::checked_per_minute(MAX_PER_MINUTE + 1), None);
    assert_eq!(Quota::checked_per_minute(120), Some(Quota::per_minute(120)));
}

#[test]
fn a_full_bucket_is_spent_at_once_and_then_gives_a_token_per_interval() {
    let quota = Quota::per_minute(10);
    let mut tat = None;
    for remaining in (0..10).rev() {
        let decision = decide(tat, quota, NOW);
        assert!(decision.allowed);
        assert_eq!(decision.remaining, remaining);
        assert_eq!(decision.next_us, NOW + 6_000_000);
        tat = Some(decision.tat_us);
    }
    let refused = decide(tat, quota, NOW);
    assert!(!refused.allowed);
    assert_eq!((refused.remaining, refused.next_us), (0, NOW + 6_000_000));
    assert_eq!(refused.retry_after_seconds(NOW), 6);
    assert!(!decide(tat, quota, NOW + 5_999_999).allowed);
    assert!(decide(tat, quota, NOW + 6_000_000).allowed);
}

#[test]
fn a_full_bucket_has_its_next_token_now() {
    let quota = Quota::per_minute(40);
    let full = peek(None, quota, NOW);
    assert!(full.allowed);
    assert_eq!(full.remaining, 40);
    assert_eq!(full.next_us, NOW);
    assert_eq!(peek(Some(NOW), quota, NOW), full);
}

#[test]
fn a_changed_plan_keeps_the_backlog() {
    let (starter, scale) = (Quota::per_minute(10), Quota::per_minute(120));
    let mut tat = None;
    for _ in 0..10 {
        tat = Some(decide(tat, starter, NOW).tat_us);
    }
    // Empty under one plan is empty under the other, and refills at the new rate.
    let refused = decide(tat, scale, NOW);
    assert!(!refused.allowed);
    assert_eq!(refused.next_us, NOW + 500_000);
    // Half spent is half spent.
    let half = peek(Some(NOW + 30_000_000), scale, NOW);
    assert_eq!(half.remaining, 60);
    assert_eq!(peek(Some(NOW + 30_000_000), starter, NOW).remaining, 5);
}
