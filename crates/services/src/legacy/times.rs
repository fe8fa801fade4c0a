//! When a call of a legacy agent took place. Its provider tells that by its own clock, in whole seconds, or not at all;
//! what is written here lies between the moment at which the call was accepted and the present.

use std::time::Duration;

use offhook_domain::Timestamp;
use offhook_engine::legacy::LegacyProgress;

/// The longest call there is (decision 6.2, `max_duration_s`).
const LONGEST: Duration = Duration::from_secs(7_200);

/// What is known of when a call took place.
pub(crate) struct Times {
    accepted: Timestamp,
    /// When it was answered, as it was told first.
    answered_at: Option<Timestamp>,
    /// When it was first told that it is over.
    over_at: Option<Timestamp>,
}

impl Times {
    pub(crate) const fn new(accepted: Timestamp, answered_at: Option<Timestamp>) -> Self {
        Self {
            accepted,
            answered_at,
            over_at: None,
        }
    }

    /// Moves a call to where it can have taken place: accepted, then answered, then over, and none of it ahead of `now`
    /// if what it lasted has room before that. What it lasted stays, unless no call lasts so long; what is guessed of that
    /// is not believed further than there is room.
    pub(crate) fn fit(&mut self, progress: &mut LegacyProgress, now: Timestamp) {
        // What the provider works out once a call is over takes none of its time.
        self.over_at = progress.end.as_ref().map(|_| self.over_at.unwrap_or(now));
        let now = self.over_at.unwrap_or(now);
        let Some(told) = progress.answered_at else {
            let earliest = self.earliest(Duration::ZERO);
            if let Some(end) = &mut progress.end {
                end.ended_at = end.ended_at.min(now).max(earliest);
            }
            return;
        };
        let lasted = match &progress.end {
            Some(end) => end.ended_at.since(told),
            // What was said in one that goes on has passed.
            None => progress
                .turns
                .last()
                .map_or(Duration::ZERO, |turn| turn.started_at.since(told)),
        };
        let room = now.since(self.accepted);
        let is_guessed = progress.end.as_ref().is_some_and(|end| end.is_guessed);
        let is_absurd = lasted > if is_guessed { room } else { room.max(LONGEST) };
        let lasted = if is_absurd { room } else { lasted };
        let began = told.min(now.minus(lasted)).max(self.earliest(lasted));
        // Turns that are written already stay, and what follows them comes behind them.
        let answered_at = *self.answered_at.get_or_insert(began);
        let latest = match &mut progress.end {
            Some(end) => {
                end.ended_at = began.plus(lasted);
                progress.answered_at = Some(began);
                end.ended_at
            }
            None => {
                progress.answered_at = Some(answered_at);
                now
            }
        };
        for turn in &mut progress.turns {
            let said_at = answered_at.plus(turn.started_at.since(told));
            turn.started_at = said_at.min(latest);
            if is_absurd {
                let left = latest.since(turn.started_at).as_millis();
                let left = u32::try_from(left).unwrap_or(u32::MAX);
                turn.duration_ms = turn.duration_ms.min(left);
            }
        }
    }

    /// The earliest moment at which it can have been answered if it lasted so long: it was not over before it was known to
    /// be answered.
    fn earliest(&self, lasted: Duration) -> Timestamp {
        let known = self
            .answered_at
            .map_or(self.accepted, |at| at.minus(lasted));
        self.accepted.max(known)
    }
}

#[cfg(test)]
mod tests {
    use offhook_domain::{CallOutcome, FailureReason, TerminationReason};
    use offhook_engine::legacy::LegacyEnd;
    use offhook_engine::{Turn, TurnRole};

    use super::*;

    const ACCEPTED: i64 = 1_000;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_micros(second * 1_000_000)
    }

    /// A call that was answered at a second, with turns so many seconds into it; over after so many, if it is.
    fn talk(answered: i64, said: &[i64], lasted: Option<i64>) -> LegacyProgress {
        let turn = |second: &i64| Turn {
            role: TurnRole::Agent,
            text: "Hello.".to_owned(),
            started_at: at(answered + second),
            duration_ms: 0,
            interrupted: false,
        };
        let outcome = CallOutcome::Completed(TerminationReason::AgentHangup);
        LegacyProgress {
            answered_at: Some(at(answered)),
            turns: said.iter().map(turn).collect(),
            end: lasted.map(|lasted| end(outcome, answered + lasted)),
            ..LegacyProgress::default()
        }
    }

    fn end(outcome: CallOutcome, ended: i64) -> LegacyEnd {
        LegacyEnd {
            outcome,
            ended_at: at(ended),
            is_guessed: false,
            summary: String::new(),
            recorded: false,
            is_told: true,
        }
    }

    /// The seconds of the answer, of the turns and of the end, as they are fitted at the second `now`.
    fn fitted(
        times: &mut Times,
        mut progress: LegacyProgress,
        now: i64,
    ) -> (Option<i64>, Vec<i64>, Option<i64>) {
        times.fit(&mut progress, at(now));
        let turns = progress.turns.iter();
        (
            progress.answered_at.map(Timestamp::unix_seconds),
            turns.map(|turn| turn.started_at.unix_seconds()).collect(),
            progress.end.map(|end| end.ended_at.unix_seconds()),
        )
    }

    #[test]
    fn a_call_takes_place_after_it_was_accepted_and_not_in_the_future() {
        let now = 1_100;
        for (told, began) in [
            // As it can have been.
            (1_020, 1_020),
            // A clock that is behind, whole seconds, and no time at all.
            (-2_600, ACCEPTED),
            (999, ACCEPTED),
            (0, ACCEPTED),
            // A clock that is ahead, and no time that can be read.
            (4_620, 1_060),
            (200_000_000_000, 1_060),
        ] {
            let mut times = Times::new(at(ACCEPTED), None);
            let over = fitted(&mut times, talk(told, &[0, 7], Some(40)), now);
            let expected = (Some(began), vec![began, began + 7], Some(began + 40));
            assert_eq!(over, expected, "{told}");
        }
    }

    #[test]
    fn what_a_call_lasted_is_what_its_provider_says() {
        let mut times = Times::new(at(ACCEPTED), None);
        let over = fitted(&mut times, talk(1_020, &[], Some(400)), 1_100);
        assert_eq!(over, (Some(ACCEPTED), vec![], Some(1_400)));
    }

    #[test]
    fn what_is_guessed_of_it_has_room() {
        for (guessed, ended) in [(40, 1_060), (3_500, 1_100)] {
            let mut progress = talk(1_020, &[0, guessed], Some(guessed));
            progress.end.as_mut().unwrap().is_guessed = true;
            let over = fitted(&mut Times::new(at(ACCEPTED), None), progress, 1_100);
            assert_eq!(over.2, Some(ended), "{guessed}");
        }
    }

    #[test]
    fn nothing_lasts_longer_than_any_call_does_or_ends_then_in_the_future() {
        for told in [1_020, 0, 200_000_000_000] {
            for lasted in [7_201, 86_400] {
                let mut times = Times::new(at(ACCEPTED), None);
                let mut progress = talk(told, &[0, 30, 300], Some(lasted));
                for turn in &mut progress.turns {
                    turn.duration_ms = 90_000;
                }
                times.fit(&mut progress, at(1_100));
                let ended = progress.end.map(|end| end.ended_at.unix_seconds());
                assert_eq!(ended, Some(1_100), "{told} {lasted}");
                assert_eq!(progress.answered_at, Some(at(ACCEPTED)));
                let turns = progress.turns.iter();
                let turns: Vec<_> = turns
                    .map(|turn| (turn.started_at.unix_seconds(), turn.duration_ms))
                    .collect();
                let expected = [(ACCEPTED, 90_000), (1_030, 70_000), (1_100, 0)];
                assert_eq!(turns, expected, "{told} {lasted}");
                // Told again later, it was over when it was told first.
                let again = fitted(&mut times, talk(told, &[], Some(lasted)), 1_500);
                assert_eq!(again, (Some(ACCEPTED), vec![], Some(1_100)));
            }
            // One that goes on has said nothing yet that is to be said.
            let mut times = Times::new(at(ACCEPTED), None);
            let talks = fitted(&mut times, talk(told, &[2, 7_000], None), 1_100);
            let turns = vec![ACCEPTED + 2, 1_100];
            assert_eq!(talks, (Some(ACCEPTED), turns, None), "{told}");
        }
    }

    #[test]
    fn what_nobody_answered_ends_after_it_was_accepted_and_not_in_the_future() {
        for (told, ended) in [(1_020, 1_020), (0, ACCEPTED), (200_000_000_000, 1_100)] {
            let progress = LegacyProgress {
                end: Some(end(CallOutcome::Failed(FailureReason::Busy), told)),
                ..LegacyProgress::default()
            };
            let mut times = Times::new(at(ACCEPTED), None);
            assert_eq!(fitted(&mut times, progress, 1_100).2, Some(ended));
        }
    }

    #[test]
    fn a_call_that_goes_on_keeps_the_moment_of_its_answer() {
        let untold = 200_000_000_000;
        let mut times = Times::new(at(ACCEPTED), None);
        let first = fitted(&mut times, talk(untold, &[2], None), 1_030);
        assert_eq!(first, (Some(1_028), vec![1_028 + 2], None));
        let second = fitted(&mut times, talk(untold, &[2, 9], None), 1_090);
        assert_eq!(second, (Some(1_028), vec![1_030, 1_037], None));
        // It was over before it was told, and is not over later because it is told again.
        let over = talk(untold, &[2, 9, 99], Some(99));
        for now in [1_120, 1_180] {
            let last = fitted(&mut times, over.clone(), now);
            let turns = vec![1_030, 1_037, 1_120];
            assert_eq!(last, (Some(1_021), turns, Some(1_120)), "{now}");
        }
        // Taken over by another process, from what is written of it.
        let mut times = Times::new(at(ACCEPTED), Some(at(1_028)));
        let second = fitted(&mut times, talk(untold, &[2, 9], None), 1_090);
        assert_eq!(second, (Some(1_028), vec![1_030, 1_037], None));
    }

    #[test]
    fn a_call_is_not_over_before_it_was_known_to_be_answered() {
        let mut times = Times::new(at(ACCEPTED), Some(at(1_025)));
        // A clock that is an hour behind says when it began, at last.
        let over = fitted(&mut times, talk(-2_580, &[1], Some(6)), 1_040);
        assert_eq!(over, (Some(1_019), vec![1_025], Some(1_025)));
    }
}
