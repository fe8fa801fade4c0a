//! Call times. The provider reports them by its own clock, in whole seconds, or not at all.

use offhook_domain::Timestamp;
use offhook_engine::legacy::LegacyProgress;

/// Moves a call's times between its acceptance and now. Keeps its duration as far as that time allows. If the answer
/// time is known, the call starts then.
pub(super) fn fit(
    progress: &mut LegacyProgress,
    (accepted, answered): (Timestamp, Option<Timestamp>),
    now: Timestamp,
) {
    let Some(answered_at) = progress.answered_at else {
        if let Some(end) = &mut progress.end {
            end.ended_at = end.ended_at.min(now).max(accepted);
        }
        return;
    };
    let over = progress.end.as_ref().map(|end| end.ended_at);
    let last = progress.turns.last().map(|turn| turn.started_at);
    let lasted = over.or(last).unwrap_or(answered_at).since(answered_at);
    let lasted = lasted.min(now.since(accepted));
    let began = answered.unwrap_or(answered_at).min(now.minus(lasted));
    let began = began.max(accepted);
    let latest = over.map_or(now, |_| began.plus(lasted));
    progress.answered_at = Some(began);
    if let Some(end) = &mut progress.end {
        end.ended_at = latest;
    }
    for turn in &mut progress.turns {
        turn.started_at = began.plus(turn.started_at.since(answered_at)).min(latest);
        let left = latest.since(turn.started_at).as_millis();
        let left = u32::try_from(left).unwrap_or(u32::MAX);
        turn.duration_ms = turn.duration_ms.min(left);
    }
}

#[cfg(test)]
mod tests {
    use offhook_domain::{CallOutcome, TerminationReason};
    use offhook_engine::legacy::LegacyEnd;
    use offhook_engine::{Turn, TurnRole};

    use super::*;

    const ACCEPTED: i64 = 1_000;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_micros(second * 1_000_000)
    }

    /// The seconds of the answer, the turns and the end. The provider puts the answer at second `told`, and the turns
    /// and the end that many seconds later. The current second is 1,100.
    fn fitted(
        (answered_at, turns_at, lasted): (i64, &[i64], Option<i64>),
        answered: Option<i64>,
    ) -> (Option<i64>, Vec<i64>, Option<i64>) {
        let turn = |second: &i64| Turn {
            role: TurnRole::Agent,
            text: "Hello.".to_owned(),
            started_at: at(answered_at + second),
            duration_ms: 90_000,
            interrupted: false,
            source: None,
        };
        let mut progress = LegacyProgress {
            answered_at: Some(at(answered_at)),
            turns: turns_at.iter().map(turn).collect(),
            end: lasted.map(|lasted| LegacyEnd {
                outcome: CallOutcome::Completed(TerminationReason::AgentHangup),
                ended_at: at(answered_at + lasted),
                summary: String::new(),
                recorded: false,
                is_final: true,
            }),
            ..LegacyProgress::default()
        };
        fit(&mut progress, (at(ACCEPTED), answered.map(at)), at(1_100));
        for turn in &progress.turns {
            let over = turn
                .started_at
                .plus(std::time::Duration::from_millis(turn.duration_ms.into()));
            assert!(over <= at(1_100), "{answered_at}");
        }
        let turns = progress.turns.iter();
        (
            progress.answered_at.map(Timestamp::unix_seconds),
            turns.map(|turn| turn.started_at.unix_seconds()).collect(),
            progress.end.map(|end| end.ended_at.unix_seconds()),
        )
    }

    #[test]
    fn a_call_takes_place_after_it_was_accepted_and_not_in_the_future() {
        for (answered_at, began) in [
            // A possible time.
            (1_020, 1_020),
            // A slow clock, and no time at all.
            (-2_600, ACCEPTED),
            (0, ACCEPTED),
            // A fast clock, and an unreadable time.
            (4_620, 1_060),
            (200_000_000_000, 1_060),
        ] {
            let over = fitted((answered_at, &[0, 7], Some(40)), None);
            assert_eq!(
                over,
                (Some(began), vec![began, began + 7], Some(began + 40)),
                "{answered_at}"
            );
            // A duration longer than the time allows.
            let over = fitted((answered_at, &[0, 300], Some(8_000)), None);
            assert_eq!(
                over,
                (Some(ACCEPTED), vec![ACCEPTED, 1_100], Some(1_100)),
                "{answered_at}"
            );
        }
    }

    #[test]
    fn what_follows_is_counted_from_the_answer_that_is_known() {
        for answered_at in [1_020, 0, 200_000_000_000] {
            let live = fitted((answered_at, &[2, 9], None), Some(1_028));
            assert_eq!(
                live,
                (Some(1_028), vec![1_030, 1_037], None),
                "{answered_at}"
            );
            let over = fitted((answered_at, &[2, 9], Some(40)), Some(1_028));
            assert_eq!(
                over,
                (Some(1_028), vec![1_030, 1_037], Some(1_068)),
                "{answered_at}"
            );
        }
    }

    #[test]
    fn what_nobody_answered_ends_after_it_was_accepted_and_not_in_the_future() {
        for (answered_at, ended) in [(1_020, 1_020), (0, ACCEPTED), (200_000_000_000, 1_100)] {
            let mut progress = LegacyProgress {
                end: Some(LegacyEnd {
                    outcome: CallOutcome::Failed(offhook_domain::FailureReason::Busy),
                    ended_at: at(answered_at),
                    summary: String::new(),
                    recorded: false,
                    is_final: true,
                }),
                ..LegacyProgress::default()
            };
            fit(&mut progress, (at(ACCEPTED), None), at(1_100));
            let over = progress.end.map(|end| end.ended_at.unix_seconds());
            assert_eq!(over, Some(ended));
        }
    }
}
