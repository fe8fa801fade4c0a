//! Events in any order.

use std::collections::HashSet;
use std::time::Duration;

use offhook_domain::FailureReason;
use proptest::collection::vec;
use proptest::prelude::*;

use super::RULES;
use crate::voice::turns::{Effect, End, Event, Report, Rules, Turns};

fn event() -> impl Strategy<Value = Event> {
    let id = 0_u64..6;
    let text = prop_oneof![
        Just(""),
        Just("mhm"),
        Just("yes"),
        Just("stop"),
        Just("well, um"),
        Just("please leave a message"),
    ];
    prop_oneof![
        1 => Just(Event::Ringing),
        2 => Just(Event::Answered),
        30 => (any::<bool>(), prop::bool::weighted(0.1))
            .prop_map(|(speech, lost)| Event::Frame { speech, lost }),
        1 => prop::char::ranges(vec!['0'..='9', 'A'..='F', '#'..='*'].into()).prop_map(Event::Dtmf),
        1 => any::<bool>().prop_map(Event::Hold),
        3 => text.clone().prop_map(|text| Event::Partial(text.to_owned())),
        3 => text.prop_map(|text| Event::Final(text.to_owned())),
        3 => Just(Event::Finalized),
        1 => Just(Event::TurnEnded),
        1 => (0_u64..3).prop_map(|finalizes| Event::RecognizerReplaced { finalizes }),
        // The test numbers the next sentence.
        4 => Just(Event::Say(0)),
        3 => id.clone().prop_map(Event::Began),
        3 => id.clone().prop_map(Event::Played),
        2 => Just(Event::Stop),
        1 => any::<bool>().prop_map(Event::Interruptible),
    ]
}

fn end() -> impl Strategy<Value = Event> {
    prop_oneof![
        Just(Event::Over(End::Hangup)),
        Just(Event::Over(End::Failed(FailureReason::CarrierError))),
        Just(Event::Over(End::Silent)),
        Just(Event::RecognizerFailed),
    ]
}

/// A step: the event, whether it applies to the current sentence, the delay since the last one, and the number of
/// repetitions.
fn steps() -> impl Strategy<Value = Vec<(Event, bool, u64, usize)>> {
    vec((event(), any::<bool>(), 0_u64..700, 1_usize..12), 1..60)
}

/// The invariants of a sequence of effects.
#[derive(Default)]
struct Watch {
    saying: HashSet<u64>,
    paused: bool,
    customer_has_floor: bool,
    answered: bool,
    screened: usize,
    ends: usize,
}

impl Watch {
    fn see(&mut self, effect: &Effect) {
        match effect {
            Effect::Speak(id) => assert!(self.saying.contains(id), "nobody said {id}"),
            Effect::Finish(id) | Effect::Cut(id) => {
                assert!(self.saying.remove(id), "{id} ended twice, or never began");
            }
            Effect::Pause => assert!(!std::mem::replace(&mut self.paused, true)),
            Effect::Resume => assert!(std::mem::replace(&mut self.paused, false)),
            Effect::Report(report) => self.check(report),
            Effect::SpeechBegan | Effect::Finalize | Effect::Forget => {}
        }
    }

    fn check(&mut self, report: &Report) {
        assert_eq!(self.ends, 0, "nothing comes after the end: {report:?}");
        if !matches!(
            report,
            Report::Ringing | Report::Answered | Report::Hangup | Report::Failed(_)
        ) {
            assert!(self.answered, "{report:?} before the answer");
        }
        match report {
            Report::Answered => assert!(!std::mem::replace(&mut self.answered, true)),
            Report::Screened { .. } => self.screened += 1,
            Report::CustomerStarted => {
                assert!(!std::mem::replace(&mut self.customer_has_floor, true));
            }
            Report::TurnOver { interrupts, .. } => {
                assert_eq!(
                    std::mem::replace(&mut self.customer_has_floor, false),
                    *interrupts
                );
            }
            Report::Hangup | Report::Failed(_) => self.ends += 1,
            Report::Ringing | Report::Held(_) => {}
        }
        assert!(self.screened <= 1);
    }
}

proptest! {
    #[test]
    fn no_order_of_events_leaves_a_sentence_a_pause_or_a_turn_without_its_end(
        steps in steps(),
        last in end(),
        screens in any::<bool>(),
        partials in any::<bool>(),
        turns in any::<bool>(),
        heard_late in 0_u64..=80,
    ) {
        let heard_late = Duration::from_millis(heard_late);
        let rules = Rules { screens, partials, turns, heard_late, ..RULES };
        let mut state = Turns::new(rules);
        let mut watch = Watch::default();
        let mut now = Duration::ZERO;
        let mut said = 0;
        let steps = steps.into_iter().chain([(last, false, 0, 1)]);
        for (event, present, wait, times) in steps {
            for _ in 0..times {
                now += Duration::from_millis(if times > 1 { 20 } else { wait });
                let event = match event.clone() {
                    Event::Say(_) => {
                        said += 1;
                        watch.saying.insert(said);
                        Event::Say(said)
                    }
                    Event::Began(_) if present => Event::Began(said),
                    Event::Played(_) if present => Event::Played(said),
                    event => event,
                };
                let over = state.is_over();
                let effects = state.step(event, now);
                prop_assert!(!over || effects.iter().all(|it| matches!(it, Effect::Cut(_))));
                effects.iter().for_each(|effect| watch.see(effect));
                prop_assert!(watch.saying.len() <= 1, "one sentence at a time");
                prop_assert!(state.wakes_at().is_none_or(|at| at > now), "what is due is done");
            }
        }
        prop_assert!(state.is_over());
        prop_assert!(watch.saying.is_empty(), "a sentence without an end");
        prop_assert!(!watch.paused && !watch.customer_has_floor);
        prop_assert_eq!(state.wakes_at(), None);
    }

    #[test]
    fn the_agents_floor_is_taken_only_where_it_may_be(
        steps in steps(),
        screens in any::<bool>(),
    ) {
        let mut state = Turns::new(Rules { screens, ..RULES });
        let mut now = Duration::ZERO;
        state.step(Event::Answered, now);
        state.step(Event::Interruptible(false), now);
        state.step(Event::Say(1), now);
        for (event, _, wait, _) in steps {
            now += Duration::from_millis(wait);
            let quiet = matches!(
                event,
                Event::Interruptible(_) | Event::Stop | Event::Say(_) | Event::Played(_) | Event::Hold(_)
            );
            if !quiet {
                let effects = state.step(event, now);
                let ended = state.is_over();
                let cut = effects.iter().any(|it| matches!(it, Effect::Cut(_) | Effect::Pause));
                prop_assert!(!cut || ended);
            }
        }
    }
}
