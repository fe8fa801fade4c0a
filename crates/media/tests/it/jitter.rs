use offhook_media::FRAME_SAMPLES;
use offhook_media::jitter::{Counts, JitterBuffer, Pulled, Sound};
use offhook_media::rtp::{Sequence, Timestamp};
use proptest::prelude::*;

/// Both counters wrap within the first packets.
const FIRST: Sequence = Sequence(0xFFF8);
const START: Timestamp = Timestamp(u32::MAX - 1_000);

/// The packet at a place, counted from 1: each of its samples is its place.
fn sound(place: u16) -> Sound {
    Sound {
        ssrc: 1,
        sequence: FIRST + place,
        timestamp: START + u32::from(place) * FRAME_SAMPLES as u32,
        samples: vec![place as i16; FRAME_SAMPLES],
    }
}

/// The next frame: a packet's place, 0 for a gap, and -1 for nothing.
fn take(buffer: &mut JitterBuffer) -> i16 {
    match buffer.pull() {
        Pulled::Sound(frame) => frame[80],
        Pulled::Lost => 0,
        Pulled::Empty => -1,
    }
}

/// Puts the packets of each tick, and takes a frame after it.
fn play(buffer: &mut JitterBuffer, ticks: &[&[u16]]) -> Vec<i16> {
    ticks
        .iter()
        .map(|places| {
            places.iter().for_each(|&place| buffer.put(sound(place)));
            take(buffer)
        })
        .collect()
}

#[test]
fn sound_waits_for_forty_milliseconds_and_goes_out_in_order() {
    let mut buffer = JitterBuffer::default();
    let heard = play(&mut buffer, &[&[1], &[2], &[3], &[4], &[5], &[], &[], &[]]);
    assert_eq!(heard, [-1, -1, 1, 2, 3, 4, 5, -1]);
    let expected = Counts {
        received: 5,
        underruns: 1,
        ..Counts::default()
    };
    assert_eq!(buffer.counts(), expected);
}

#[test]
fn packets_that_overtake_each_other_are_put_in_order() {
    let mut buffer = JitterBuffer::default();
    let heard = play(
        &mut buffer,
        &[
            &[1],
            &[3],
            &[2, 5],
            &[4],
            &[7, 6],
            &[9],
            &[8],
            &[],
            &[],
            &[],
        ],
    );
    assert_eq!(heard, [-1, -1, 1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!((buffer.counts().reordered, buffer.counts().lost()), (4, 0));
}

#[test]
fn a_packet_that_comes_twice_is_heard_once() {
    let mut buffer = JitterBuffer::default();
    let heard = play(&mut buffer, &[&[1, 1], &[2], &[2, 3, 1], &[4], &[5, 3]]);
    assert_eq!(heard, [-1, -1, 1, 2, 3]);
    assert_eq!(buffer.counts().received, 5);
    assert_eq!(buffer.counts().duplicates, 4);
}

#[test]
fn a_lost_packet_leaves_a_gap_in_its_place() {
    let mut buffer = JitterBuffer::default();
    let heard = play(&mut buffer, &[&[1], &[2], &[], &[4], &[5], &[6], &[7]]);
    assert_eq!(heard, [-1, -1, 1, 2, 0, 4, 5]);
    assert_eq!((buffer.counts().lost(), buffer.counts().gaps), (1, 1));
}

#[test]
fn a_packet_that_comes_too_late_is_dropped_and_the_next_ones_get_more_time() {
    let mut buffer = JitterBuffer::default();
    // The second comes a tick late; the delay grows, so it is still heard.
    let heard = play(
        &mut buffer,
        &[&[1], &[3], &[], &[4], &[2, 5], &[6], &[7], &[8], &[9]],
    );
    assert_eq!(heard, [-1, -1, 1, 0, 2, 3, 4, 5, 6]);
    assert_eq!(buffer.delay(), 480);
    // A packet that is far too late is dropped and changes nothing.
    buffer.put(Sound {
        sequence: FIRST + 9,
        ..sound(8)
    });
    play(
        &mut buffer,
        &[&[10], &[11], &[12], &[20], &[], &[], &[], &[]],
    );
    let late = buffer.counts().late;
    buffer.put(sound(13));
    assert_eq!((buffer.counts().late, buffer.delay()), (late + 1, 640));
}

#[test]
fn packets_of_thirty_milliseconds_become_frames_of_twenty() {
    let mut buffer = JitterBuffer::default();
    let long = |place: u16| Sound {
        timestamp: START + u32::from(place) * 240,
        samples: (0..240)
            .map(|sample| (place * 240 + sample) as i16)
            .collect(),
        ..sound(place)
    };
    let mut heard = Vec::new();
    for tick in 0..12u16 {
        // Two packets in three ticks.
        if tick % 3 != 2 {
            buffer.put(long(tick - tick / 3));
        }
        if let Pulled::Sound(frame) = buffer.pull() {
            heard.extend(frame);
        }
    }
    let expected: Vec<i16> = (0..heard.len()).map(|sample| sample as i16).collect();
    assert!(heard.len() >= 1_400, "{}", heard.len());
    assert_eq!(heard, expected);
}

#[test]
fn a_change_of_ssrc_is_followed_at_the_second_packet() {
    let mut buffer = JitterBuffer::default();
    play(&mut buffer, &[&[1], &[2], &[3], &[4]]);
    let other = |place: u16| Sound {
        ssrc: 2,
        sequence: Sequence(place),
        timestamp: Timestamp(u32::from(place) * 160),
        ..sound(place)
    };
    let heard: Vec<i16> = (100..106)
        .map(|place| {
            buffer.put(other(place));
            take(&mut buffer)
        })
        .collect();
    assert_eq!(heard, [3, -1, -1, 100, 101, 102]);
    assert_eq!(buffer.counts().restarts, 1);
}

#[test]
fn one_packet_of_another_stream_changes_nothing() {
    let mut buffer = JitterBuffer::default();
    let mut heard = Vec::new();
    for place in 1..40 {
        buffer.put(sound(place));
        buffer.put(Sound {
            ssrc: 2,
            sequence: Sequence(place * 31),
            ..sound(9_999)
        });
        buffer.put(Sound {
            sequence: FIRST + 20_000,
            ..sound(9_998)
        });
        heard.push(take(&mut buffer));
    }
    assert_eq!(heard[2..], (1..38).collect::<Vec<i16>>());
    assert_eq!(buffer.counts().restarts, 0);
}

#[test]
fn a_jump_of_the_counters_is_followed_at_the_second_packet() {
    for (numbers, samples) in [
        (10_000, 0),
        (0, 1_000_000),
        (0, 0x8000_0000),
        (40_000, 77_777),
    ] {
        let mut buffer = JitterBuffer::default();
        play(&mut buffer, &[&[1], &[2], &[3], &[4]]);
        let jumped = |place: u16| Sound {
            sequence: FIRST + place + numbers,
            timestamp: sound(place).timestamp + samples,
            ..sound(place)
        };
        let heard: Vec<i16> = (5..12)
            .map(|place| {
                buffer.put(jumped(place));
                take(&mut buffer)
            })
            .collect();
        assert!(
            heard.ends_with(&[6, 7, 8]) || heard.ends_with(&[7, 8, 9]),
            "{numbers} {samples}: {heard:?}"
        );
        assert_eq!(buffer.counts().lost(), 0);
    }
}

#[test]
fn after_silence_sound_goes_on_whether_the_other_clock_ran_or_stood() {
    for ran in [0u32, 100 * 160, 37 * 160, 250 * 160, 90_000 * 160] {
        let mut buffer = JitterBuffer::default();
        play(&mut buffer, &[&[1], &[2], &[3]]);
        for _ in 0..100 {
            take(&mut buffer);
        }
        let later = |place: u16| Sound {
            timestamp: sound(place).timestamp + ran,
            ..sound(place)
        };
        let heard: Vec<i16> = (4..24)
            .map(|place| {
                buffer.put(later(place));
                take(&mut buffer)
            })
            .collect();
        let first = heard.iter().position(|&place| place > 0).unwrap_or(99);
        assert!(first <= 5, "{ran}: {heard:?}");
        assert!(
            heard[first..].windows(2).all(|pair| pair[1] == pair[0] + 1),
            "{ran}: {heard:?}"
        );
    }
}

#[test]
fn a_faster_clock_on_the_other_side_costs_a_frame_now_and_then() {
    let mut buffer = JitterBuffer::default();
    let mut next = 1;
    let mut sounds = 0;
    for tick in 0..3_000 {
        for _ in 0..1 + u16::from(tick % 50 == 49) {
            buffer.put(sound(next));
            next += 1;
        }
        sounds += u32::from(matches!(buffer.pull(), Pulled::Sound(_)));
    }
    let counts = buffer.counts();
    assert!(sounds >= 2_998, "{sounds}");
    assert!((50..=60).contains(&counts.dropped), "{counts:?}");
    assert_eq!((counts.gaps, counts.late, counts.underruns), (0, 0, 0));
}

#[test]
fn a_slower_clock_on_the_other_side_costs_a_pause_now_and_then() {
    let mut buffer = JitterBuffer::default();
    let mut next = 1;
    let mut heard = Vec::new();
    for tick in 0..3_000 {
        if tick % 50 != 49 {
            buffer.put(sound(next));
            next += 1;
        }
        heard.push(take(&mut buffer));
    }
    let sounds: Vec<i16> = heard.into_iter().filter(|&place| place > 0).collect();
    assert!(
        sounds.is_sorted() && sounds.len() >= 2_930,
        "{}",
        sounds.len()
    );
}

#[test]
fn after_a_stall_the_newest_is_heard_soon() {
    let mut buffer = JitterBuffer::default();
    play(&mut buffer, &[&[1], &[2], &[3]]);
    for _ in 0..50 {
        take(&mut buffer);
    }
    (4..54).for_each(|place| buffer.put(sound(place)));
    let heard: Vec<i16> = (54..64)
        .map(|place| {
            buffer.put(sound(place));
            take(&mut buffer)
        })
        .collect();
    assert!(heard[9] >= 63 - 12, "{heard:?}");
}

#[test]
fn packets_that_are_no_sound_are_not_missed() {
    let mut buffer = JitterBuffer::default();
    play(&mut buffer, &[&[1], &[2]]);
    buffer.pass(1, FIRST + 3);
    buffer.pass(1, FIRST + 5);
    buffer.pass(2, FIRST + 900);
    buffer.pass(1, FIRST + 4);
    play(&mut buffer, &[&[6], &[7]]);
    assert_eq!(buffer.counts().lost(), 0);
}

#[test]
fn sound_of_an_impossible_length_is_refused() {
    let mut buffer = JitterBuffer::default();
    for length in [0, 39, 961, 5_000] {
        buffer.put(Sound {
            samples: vec![1; length],
            ..sound(1)
        });
    }
    assert_eq!((buffer.counts().refused, buffer.pull()), (4, Pulled::Empty));
}

/// Plays packets that arrive this many milliseconds after they were sent; `None` is lost.
fn arriving(delays: &[Option<u32>]) -> (Vec<i16>, JitterBuffer) {
    let mut arrivals: Vec<(u32, u16)> = (1..)
        .zip(delays)
        .filter_map(|(place, delay)| Some((u32::from(place) * 20 + (*delay)?, place)))
        .collect();
    arrivals.sort_unstable();
    let mut arrivals = arrivals.into_iter().peekable();
    let mut buffer = JitterBuffer::default();
    let mut heard = Vec::new();
    for tick in 0..delays.len() as u32 + 40 {
        while let Some((_, place)) = arrivals.next_if(|&(at, _)| at <= tick * 20 + 7) {
            buffer.put(sound(place));
        }
        heard.push(take(&mut buffer));
    }
    (heard, buffer)
}

fn heard_once_in_order(heard: &[i16]) -> Vec<i16> {
    let sounds: Vec<i16> = heard.iter().copied().filter(|&place| place > 0).collect();
    assert!(
        sounds.windows(2).all(|pair| pair[0] < pair[1]),
        "{sounds:?}"
    );
    sounds
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// On a line without delay, every packet that is not lost is heard.
    #[test]
    fn with_a_fifth_lost_the_rest_is_heard(lost in prop::collection::vec(prop::bool::weighted(0.2), 50..400)) {
        let delays: Vec<Option<u32>> = lost.iter().map(|&lost| (!lost).then_some(0)).collect();
        let (heard, buffer) = arriving(&delays);
        let sounds = heard_once_in_order(&heard);
        let expected: Vec<i16> = (1..).zip(&lost).filter_map(|(place, &lost)| (!lost).then_some(place)).collect();
        prop_assert_eq!(sounds, expected.clone());
        let known = expected.last().zip(expected.first()).map_or(0, |(last, first)| last - first + 1);
        prop_assert_eq!(buffer.counts().lost(), (known as u64).saturating_sub(expected.len() as u64));
        prop_assert_eq!((buffer.counts().late, buffer.counts().duplicates), (0, 0));
    }

    /// The window covers a jitter of 80 ms once the buffer has measured it; only packets during the measurement may
    /// be late.
    #[test]
    fn with_a_jitter_of_eighty_milliseconds_nearly_all_is_heard(
        delays in prop::collection::vec(0u32..=80, 500), lost in prop::collection::vec(prop::bool::weighted(0.05), 500),
    ) {
        let delays: Vec<Option<u32>> = delays.into_iter().zip(&lost).map(|(delay, &lost)| (!lost).then_some(delay)).collect();
        let arrived = delays.iter().flatten().count();
        let (heard, buffer) = arriving(&delays);
        let sounds = heard_once_in_order(&heard);
        prop_assert!(sounds.len() * 100 >= arrived * 90, "{} of {arrived}: {:?}", sounds.len(), buffer.counts());
        prop_assert!(buffer.delay() <= 640);
    }

    /// After any input the buffer still works and stays small, and a plain stream is heard again soon.
    #[test]
    fn after_any_packets_a_plain_stream_is_heard(
        packets in prop::collection::vec((0u32..3, any::<u16>(), any::<u32>(), 0usize..1_000, 0u8..3), 0..300),
        close in prop::collection::vec((0u16..40, 0u32..6_000, 30usize..500, 0u8..3), 0..300),
    ) {
        let mut buffer = JitterBuffer::default();
        for (ssrc, sequence, timestamp, length, takes) in packets {
            buffer.put(Sound { ssrc, sequence: Sequence(sequence), timestamp: Timestamp(timestamp), samples: vec![-9; length] });
            for _ in 0..takes {
                buffer.pull();
            }
        }
        for (sequence, timestamp, length, takes) in close {
            buffer.put(Sound { ssrc: 1, sequence: FIRST + sequence, timestamp: START + timestamp, samples: vec![-9; length] });
            for _ in 0..takes {
                buffer.pull();
            }
        }
        prop_assert!((320..=640).contains(&buffer.delay()));
        let mut heard = Vec::new();
        for place in 1..400u16 {
            buffer.put(Sound { ssrc: 77, ..sound(place) });
            heard.push(take(&mut buffer));
        }
        prop_assert!(heard[300..].iter().all(|&place| place > 0), "{:?}", heard);
    }
}
