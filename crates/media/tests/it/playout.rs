use offhook_media::playout::{Cleared, Played, Playout, Segment, Speaker};
use offhook_media::{FRAME_SAMPLES, Frame, SILENCE};
use proptest::prelude::*;
use tokio::time::Instant;

/// Pulls a frame: the part from the queue, and the rest.
fn pull(playout: &mut Playout, now: Instant) -> (Vec<i16>, Vec<i16>) {
    let mut frame = [i16::MIN; FRAME_SAMPLES];
    let sounded = playout.pull(&mut frame, now);
    let (sound, rest) = frame.split_at(sounded);
    (sound.to_vec(), rest.to_vec())
}

fn told(playout: &mut Playout) -> Vec<Played> {
    playout.events().collect()
}

#[test]
fn segments_follow_each_other_without_a_gap() {
    let now = Instant::now();
    let (one, two) = (Segment(1), Segment(2));
    let mut playout = Playout::default();
    assert!(playout.is_drained());
    assert!(playout.enqueue(one, &[1; 100]));
    assert!(playout.enqueue(two, &[2; 100]));
    assert!(playout.enqueue(one, &[1; 50]));
    playout.finish(one, now);
    assert_eq!(playout.waiting(), 250);
    assert_eq!(playout.position(), Some((one, 0)));
    let (sound, rest) = pull(&mut playout, now);
    assert_eq!(sound, [vec![1; 150], vec![2; 10]].concat());
    assert_eq!(rest, vec![]);
    assert_eq!(
        told(&mut playout),
        [
            Played::Began(one, now),
            Played::Ended(one, now),
            Played::Began(two, now)
        ]
    );
    assert_eq!(playout.waiting(), 90);
    assert_eq!(playout.position(), Some((two, 10)));
    let (sound, _) = pull(&mut playout, now);
    assert_eq!(sound, [2; 90]);
    assert_eq!(told(&mut playout), [], "more may come");
    playout.finish(two, now);
    assert_eq!(told(&mut playout), [Played::Ended(two, now)]);
    assert!(playout.is_drained());
}

#[test]
fn a_segment_whose_sound_is_late_is_waited_for() {
    let now = Instant::now();
    let mut playout = Playout::default();
    playout.enqueue(Segment(1), &[]);
    playout.enqueue(Segment(2), &[2; 10]);
    assert_eq!(pull(&mut playout, now).0, []);
    assert_eq!(playout.underruns(), 0, "it has not begun");
    playout.enqueue(Segment(1), &[1; 10]);
    assert_eq!(pull(&mut playout, now).0, [1; 10]);
    assert_eq!(pull(&mut playout, now).0, []);
    assert_eq!(playout.underruns(), 2);
    playout.finish(Segment(1), now);
    assert_eq!(pull(&mut playout, now).0, [2; 10]);
}

#[test]
fn a_pause_keeps_the_sample_at_which_it_goes_on() {
    let now = Instant::now();
    let mut playout = Playout::default();
    let speech: Vec<i16> = (1..=400).collect();
    playout.enqueue(Segment(1), &speech);
    assert_eq!(pull(&mut playout, now).0, speech[..160]);
    playout.pause();
    assert!(playout.is_paused());
    let (sound, silence) = pull(&mut playout, now);
    assert_eq!(sound, []);
    assert!(
        silence.is_sorted_by(|a, b| a >= b) && silence[0] < 160,
        "it fades: {silence:?}"
    );
    assert_eq!(silence[39..], [0; 121]);
    assert_eq!(pull(&mut playout, now), (vec![], vec![0; 160]));
    assert_eq!(playout.underruns(), 0);
    playout.resume();
    assert_eq!(pull(&mut playout, now).0, speech[160..320]);
}

#[test]
fn what_is_cleared_is_told_to_the_sample() {
    let now = Instant::now();
    let mut playout = Playout::default();
    playout.enqueue(Segment(1), &[1; 60]);
    playout.finish(Segment(1), now);
    playout.enqueue(Segment(2), &[2; 300]);
    playout.finish(Segment(3), now);
    pull(&mut playout, now);
    playout.pause();
    let cleared = |segment, played, enqueued, finished| Cleared {
        segment: Segment(segment),
        played,
        enqueued,
        finished,
    };
    let expected = [cleared(2, 100, 300, false), cleared(3, 0, 0, true)];
    assert_eq!(playout.clear(), expected);
    assert!(playout.is_drained() && playout.is_paused());
    assert_eq!(playout.clear(), []);
}

#[test]
fn sound_of_a_segment_that_was_cleared_or_is_over_is_dropped() {
    let now = Instant::now();
    let mut playout = Playout::default();
    playout.enqueue(Segment(5), &[1; 60]);
    assert_eq!(playout.clear().len(), 1);
    assert!(!playout.enqueue(Segment(5), &[1; 60]), "cleared");
    assert!(
        !playout.enqueue(Segment(4), &[1; 60]),
        "older than what was cleared"
    );
    playout.enqueue(Segment(6), &[1; 60]);
    playout.finish(Segment(6), now);
    assert!(!playout.enqueue(Segment(6), &[1; 60]), "finished");
    pull(&mut playout, now);
    assert!(!playout.enqueue(Segment(6), &[1; 60]), "over");
    assert!(playout.is_drained());
    playout.finish(Segment(4), now);
    let events = [
        Played::Began(Segment(6), now),
        Played::Ended(Segment(6), now),
    ];
    assert_eq!(told(&mut playout), events);
}

#[test]
fn an_empty_segment_ends_when_its_turn_comes() {
    let now = Instant::now();
    let mut playout = Playout::default();
    playout.finish(Segment(1), now);
    assert_eq!(told(&mut playout), [Played::Ended(Segment(1), now)]);
    playout.enqueue(Segment(2), &[1; 160]);
    playout.finish(Segment(3), now);
    assert_eq!(told(&mut playout), []);
    pull(&mut playout, now);
    playout.finish(Segment(2), now);
    let events = [
        Played::Began(Segment(2), now),
        Played::Ended(Segment(2), now),
        Played::Ended(Segment(3), now),
    ];
    assert_eq!(told(&mut playout), events);
}

#[tokio::test]
async fn a_speaker_tells_at_once_what_became_of_its_segments() {
    let (speaker, mut events) = Speaker::new();
    let mut frame: Frame = SILENCE;
    let now = Instant::now();
    speaker.enqueue(Segment(1), &[9; 160]);
    assert_eq!(speaker.pull(&mut frame, now), 160);
    assert_eq!(events.recv().await, Some(Played::Began(Segment(1), now)));
    let twin = speaker.clone();
    twin.finish(Segment(1));
    assert!(matches!(
        events.recv().await,
        Some(Played::Ended(Segment(1), _))
    ));
    assert!(speaker.is_drained());
}

#[derive(Debug, Clone)]
enum Step {
    Enqueue(u64, usize),
    Finish(u64),
    Pause,
    Resume,
    Pull(usize),
    Clear,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0u64..6, 0usize..500).prop_map(|(ahead, length)| Step::Enqueue(ahead, length)),
        2 => (0u64..6).prop_map(Step::Finish),
        1 => Just(Step::Pause),
        2 => Just(Step::Resume),
        6 => (1usize..4).prop_map(Step::Pull),
        1 => Just(Step::Clear),
    ]
}

proptest! {
    /// Every sample is heard once and in order, or reported as not played; each segment begins and ends at most once.
    #[test]
    fn what_is_told_is_what_was_heard(steps in prop::collection::vec(step(), 1..60)) {
        let now = Instant::now();
        let mut playout = Playout::default();
        // Samples encode their segment (the hundreds) and their place in it.
        let mut lengths = std::collections::BTreeMap::<u64, usize>::new();
        let mut heard = std::collections::BTreeMap::<u64, usize>::new();
        let mut ended = Vec::new();
        let mut cleared = Vec::new();
        let mut generation = 1;
        let mut paused = false;
        for step in steps {
            match step {
                Step::Enqueue(ahead, length) => {
                    let segment = generation + ahead;
                    let from = lengths.get(&segment).copied().unwrap_or(0);
                    let samples: Vec<i16> = (from..from + length).map(|place| (place % 30_000) as i16 + 1).collect();
                    if playout.enqueue(Segment(segment), &samples) {
                        *lengths.entry(segment).or_default() += length;
                    }
                }
                Step::Finish(ahead) => playout.finish(Segment(generation + ahead), now),
                Step::Pause => { playout.pause(); paused = true; }
                Step::Resume => { playout.resume(); paused = false; }
                Step::Clear => {
                    for one in playout.clear() {
                        prop_assert_eq!(one.enqueued as usize, lengths.get(&one.segment.0).copied().unwrap_or(0));
                        prop_assert_eq!(one.played as usize, heard.get(&one.segment.0).copied().unwrap_or(0));
                        cleared.push(one.segment.0);
                    }
                    generation += 6;
                }
                Step::Pull(frames) => for _ in 0..frames {
                    let before = playout.position();
                    let waiting = playout.waiting();
                    let (sound, _) = pull(&mut playout, now);
                    prop_assert_eq!(waiting - playout.waiting(), sound.len());
                    prop_assert!(!paused || sound.is_empty());
                    let mut sound = sound.as_slice();
                    let events = told(&mut playout);
                    // The segments in this frame: the front one, then those that began.
                    let front = before.filter(|&(_, played)| played > 0).map(|(segment, _)| segment.0);
                    let began = events.iter().filter_map(|event| match event {
                        Played::Began(segment, _) => Some(segment.0),
                        Played::Ended(..) => None,
                    });
                    for segment in front.into_iter().chain(began) {
                        let from = heard.get(&segment).copied().unwrap_or(0);
                        let length = sound.len().min(lengths[&segment] - from);
                        let expected: Vec<i16> = (from..from + length).map(|place| (place % 30_000) as i16 + 1).collect();
                        prop_assert_eq!(&sound[..length], expected.as_slice());
                        sound = &sound[length..];
                        heard.insert(segment, from + length);
                    }
                    prop_assert!(sound.is_empty());
                    for event in events {
                        if let Played::Ended(segment, _) = event {
                            prop_assert_eq!(heard.get(&segment.0), lengths.get(&segment.0).filter(|&&length| length > 0));
                            ended.push(segment.0);
                        }
                    }
                },
            }
            for event in told(&mut playout) {
                let Played::Ended(segment, _) = event else {
                    return Err(TestCaseError::fail("nothing begins but in a frame"));
                };
                ended.push(segment.0);
            }
        }
        let mut once = [ended.clone(), cleared].concat();
        let all = once.len();
        once.sort_unstable();
        once.dedup();
        prop_assert_eq!(once.len(), all, "a segment ended twice, or was cleared and ended");
        prop_assert!(ended.is_sorted(), "out of turn: {:?}", ended);
    }
}

#[test]
fn the_background_goes_on_beneath_speech_pauses_and_silence() {
    let now = Instant::now();
    let mut playout = Playout::default();
    // Longer than a frame, and not a multiple of one.
    let background: Vec<i16> = (0..230).collect();
    playout.set_background(background.as_slice().into());
    let mut at = 0;
    let mut beneath = |frame: &[i16]| -> Vec<i16> {
        let said = frame
            .iter()
            .enumerate()
            .map(|(place, sample)| sample - ((at + place) % 230) as i16);
        let said = said.collect();
        at += frame.len();
        said
    };
    let mut next = |playout: &mut Playout| {
        let (sound, rest) = pull(playout, now);
        let frame = beneath(&[sound.clone(), rest].concat());
        (sound.len(), frame)
    };
    assert_eq!(next(&mut playout), (0, SILENCE.to_vec()));
    playout.enqueue(Segment(1), &[1_000; 480]);
    assert_eq!(next(&mut playout), (160, vec![1_000; 160]));
    playout.pause();
    let (sounded, faded) = next(&mut playout);
    assert_eq!((sounded, faded[39..].iter().max()), (0, Some(&0)));
    assert_eq!(next(&mut playout), (0, SILENCE.to_vec()));
    playout.resume();
    assert_eq!(next(&mut playout), (160, vec![1_000; 160]));
    let cleared = playout.clear();
    assert_eq!((cleared[0].played, cleared[0].enqueued), (320, 480));
    next(&mut playout);
    assert_eq!(next(&mut playout), (0, SILENCE.to_vec()));
    playout.set_background([].into());
    assert_eq!(pull(&mut playout, now).1, SILENCE);
}
