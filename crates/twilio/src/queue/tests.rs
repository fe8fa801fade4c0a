//! What is sent when, and what of it was heard.

use super::*;

const ONE: SegmentId = SegmentId(1);
const TWO: SegmentId = SegmentId(2);

fn sound(frames: usize) -> Vec<i16> {
    (0..frames * FRAME_SAMPLES)
        .map(|at| (at / FRAME_SAMPLES) as i16 + 1)
        .collect()
}

/// A queue with one segment of this many frames.
fn queue_of(frames: usize) -> Queue {
    let mut queue = Queue::default();
    queue.enqueue(ONE, &sound(frames));
    queue
}

/// Plays this many frames, and returns the first sample of each.
fn play(queue: &mut Queue, frames: usize) -> Vec<i16> {
    (0..frames).filter_map(|_| tick(queue).1).collect()
}

fn tick(queue: &mut Queue) -> (usize, Option<i16>) {
    let mut sent = 0;
    while queue.send().is_some() {
        sent += 1;
    }
    (sent, queue.play(Instant::now()).map(|frame| frame[0]))
}

#[tokio::test]
async fn little_is_sent_ahead_and_it_is_played_at_its_pace() {
    let mut queue = queue_of(30);
    queue.finish(ONE, Instant::now());
    assert_eq!(tick(&mut queue), (MOST_AHEAD, Some(1)));
    for frame in 2..=20 {
        assert_eq!(tick(&mut queue), (1, Some(frame)));
    }
    assert_eq!(queue.ahead(), MOST_AHEAD - 1);
    play(&mut queue, 10);
    let events = queue.events();
    assert!(matches!(
        events[..],
        [Played::Began(ONE, _), Played::Ended(ONE, _)]
    ));
    assert_eq!(tick(&mut queue), (0, None));
}

#[tokio::test]
async fn a_cut_counts_what_was_played_and_not_what_was_sent() {
    let mut queue = queue_of(30);
    queue.enqueue(TWO, &sound(5));
    play(&mut queue, 7);
    let (is_told, cleared) = queue.clear(Duration::ZERO);
    assert!(is_told);
    let of = |segment, played: u64, enqueued: u64| Cleared {
        segment,
        played: played * FRAME_SAMPLES as u64,
        enqueued: enqueued * FRAME_SAMPLES as u64,
        finished: false,
    };
    assert_eq!(cleared, [of(ONE, 7, 30), of(TWO, 0, 5)]);
    assert_eq!(tick(&mut queue), (0, None));
    assert_eq!(queue.clear(Duration::ZERO), (false, Vec::new()));
}

#[tokio::test]
async fn a_pause_takes_back_what_is_on_the_way_and_goes_on_with_it() {
    let mut queue = queue_of(30);
    play(&mut queue, 7);
    assert!(queue.pause(Duration::ZERO));
    assert_eq!(tick(&mut queue), (0, None));
    queue.resume();
    assert_eq!(tick(&mut queue), (MOST_AHEAD, Some(8)));
}

#[tokio::test]
async fn what_twilio_has_not_played_yet_was_not_heard() {
    let mut queue = queue_of(30);
    play(&mut queue, 7);
    let (_, cleared) = queue.clear(Duration::from_millis(60));
    assert_eq!(cleared[0].played, 4 * FRAME_SAMPLES as u64);
}

#[tokio::test]
async fn half_a_frame_waits_for_the_rest_of_its_word_until_it_is_due() {
    let mut queue = Queue::default();
    queue.enqueue(ONE, &sound(1)[..100]);
    assert!(queue.send().is_some(), "it is due");
    queue.enqueue(ONE, &sound(1)[..100]);
    assert!(queue.send().is_none(), "it is not due, and more may come");
    queue.finish(ONE, Instant::now());
    assert_eq!(queue.sent_whole(), None);
    assert!(queue.send().is_some());
    assert_eq!(queue.sent_whole(), Some(ONE));
    assert_eq!(queue.sent_whole(), None);
}

#[tokio::test]
async fn segments_follow_each_other_without_a_gap_and_the_end_of_each_is_told_once() {
    let mut queue = Queue::default();
    queue.enqueue(ONE, &[7; 100]);
    queue.finish(ONE, Instant::now());
    queue.enqueue(TWO, &[9; 100]);
    queue.finish(TWO, Instant::now());
    let frame = queue.send().unwrap();
    assert_eq!((frame[99], frame[100]), (7, 9));
    assert_eq!(queue.sent_whole(), Some(ONE));
    let frame = queue.send().unwrap();
    assert_eq!((frame[39], frame[40]), (9, 0));
    assert_eq!(queue.sent_whole(), Some(TWO));
    assert!(queue.send().is_none());
}

fn keys(frames: usize) -> Vec<Frame> {
    vec![[-7; FRAME_SAMPLES]; frames]
}

#[tokio::test]
async fn keys_sound_before_what_is_said_and_whoever_sent_them_is_told_when_they_were_played() {
    let mut queue = Queue::default();
    queue.set_background(vec![5; 320].into());
    queue.enqueue(ONE, &sound(4));
    queue.finish(ONE, Instant::now());
    let (told, mut sent) = oneshot::channel();
    queue.send_keys(keys(3), told);
    for _ in 0..3 {
        assert!(sent.try_recv().is_err());
        assert_eq!(tick(&mut queue).1, Some(-7));
    }
    assert_eq!(sent.try_recv(), Ok(()));
    assert_eq!(
        tick(&mut queue).1,
        Some(6),
        "the first frame, and what sounds beneath it"
    );
}

#[tokio::test]
async fn keys_go_on_through_a_pause_and_a_cut_and_what_was_to_be_said_behind_them_is_cut() {
    let mut queue = queue_of(30);
    play(&mut queue, 2);
    // Frames up to the eleventh are already at Twilio.
    let (told, mut sent) = oneshot::channel();
    queue.send_keys(keys(4), told);
    assert_eq!(tick(&mut queue), (1, Some(3)));
    assert!(!queue.pause(Duration::ZERO), "nothing is taken back");
    let (is_told, cleared) = queue.clear(Duration::ZERO);
    assert!(!is_told);
    assert_eq!(cleared[0].played, 3 * FRAME_SAMPLES as u64);
    let played = play(&mut queue, 12);
    assert_eq!(played, [4, 5, 6, 7, 8, 9, 10, 11, -7, -7, -7, -7]);
    assert_eq!(tick(&mut queue).1, None);
    assert_eq!(sent.try_recv(), Ok(()));
    assert!(matches!(queue.events()[..], [Played::Began(ONE, _)]));
}

#[tokio::test]
async fn a_pause_amid_keys_repeats_nothing_of_what_is_said() {
    let mut queue = queue_of(12);
    tick(&mut queue);
    let (told, _sent) = oneshot::channel();
    queue.send_keys(keys(2), told);
    assert_eq!(tick(&mut queue), (1, Some(2)));
    queue.pause(Duration::ZERO);
    let played = play(&mut queue, 11);
    assert_eq!(played, [3, 4, 5, 6, 7, 8, 9, 10, -7, -7]);
    queue.resume();
    assert_eq!(tick(&mut queue).1, Some(11));
}

#[tokio::test]
async fn an_empty_segment_ends_at_once() {
    let mut queue = Queue::default();
    queue.finish(ONE, Instant::now());
    assert!(matches!(queue.events()[..], [Played::Ended(ONE, _)]));
}

#[tokio::test]
async fn a_background_goes_on_beneath_everything_and_no_faster_than_it_sounds() {
    let mut queue = Queue::default();
    queue.set_background(vec![5; 320].into());
    assert_eq!(tick(&mut queue), (1, Some(5)));
    assert_eq!(tick(&mut queue), (1, Some(5)));
    queue.enqueue(ONE, &sound(2));
    queue.finish(ONE, Instant::now());
    assert_eq!(tick(&mut queue), (2, Some(6)));
}
