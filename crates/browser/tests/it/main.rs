//! The call leg of a web page, with a paused clock.
#![cfg(test)]

use std::time::Duration;

use bytes::Bytes;
use offhook_browser::{PageEnd, Refused, Sent, page};
use offhook_engine::ports::audio::{
    AudioEvent, AudioLeg, Cleared, FRAME_SAMPLES, FRAME_TIME, Played, SILENCE, SegmentId, Tick,
};
use tokio::time::{Instant, advance, timeout};

const FIRST: SegmentId = SegmentId(1);

/// An answered page.
async fn answered() -> (PageEnd, AudioLeg) {
    let (end, line) = page().unwrap();
    let mut leg = line.answer();
    assert_eq!(leg.events.recv().await, Some(AudioEvent::Answered));
    (end, leg)
}

/// 20 ms of a loud, steady tone, in a page's format.
fn sound() -> Vec<u8> {
    (0..320_u32)
        .map(|at| if at % 16 < 8 { 8_000_i16 } else { -8_000 })
        .flat_map(i16::to_le_bytes)
        .collect()
}

async fn tick(leg: &mut AudioLeg) -> Tick {
    leg.ticks.recv().await.unwrap()
}

async fn next(end: &PageEnd) -> Option<Sent> {
    timeout(Duration::from_millis(1), end.next())
        .await
        .ok()
        .flatten()
}

#[tokio::test(start_paused = true)]
async fn sound_goes_both_ways_twenty_milliseconds_at_a_time() {
    let (end, mut leg) = answered().await;
    let began = Instant::now();
    assert_eq!(tick(&mut leg).await.said, None);
    leg.playout.enqueue(FIRST, &[9_000; 50 * FRAME_SAMPLES]);
    leg.playout.finish(FIRST);
    let (mut heard, mut sent) = (0, Vec::new());
    for number in 1..=50 {
        end.push_audio(&sound()).unwrap();
        let tick = tick(&mut leg).await;
        assert_eq!((tick.number, tick.lost), (number, false));
        assert!(tick.said.is_some());
        heard += usize::from(tick.heard != SILENCE);
        while let Some(Sent::Sound(bytes)) = next(&end).await {
            sent.push(bytes);
        }
    }
    assert!(began.elapsed() <= FRAME_TIME * 52);
    assert!(heard >= 46, "{heard}");
    // A second of audio leaves within a second, and never all at once.
    let bytes: usize = sent.iter().map(Bytes::len).sum();
    assert!((31_000..=32_000).contains(&bytes), "{bytes}");
    assert!(sent.iter().all(|it| it.len() <= 640), "{sent:?}");
    assert_eq!(
        leg.played
            .recv()
            .await
            .map(|it| matches!(it, Played::Began(FIRST, _))),
        Some(true)
    );
    assert_eq!(
        leg.played
            .recv()
            .await
            .map(|it| matches!(it, Played::Ended(FIRST, _))),
        Some(true)
    );
}

#[tokio::test(start_paused = true)]
async fn silence_is_not_sent_and_what_is_cut_is_taken_back() {
    let (end, mut leg) = answered().await;
    for _ in 0..10 {
        tick(&mut leg).await;
    }
    assert_eq!(next(&end).await, None, "nothing was said");
    leg.playout.enqueue(FIRST, &[9_000; 100 * FRAME_SAMPLES]);
    for _ in 0..10 {
        tick(&mut leg).await;
    }
    leg.playout.pause();
    tick(&mut leg).await;
    let cleared = leg.playout.clear();
    let samples = cleared.first().map_or(0, |it| it.played);
    assert_eq!(
        cleared,
        [Cleared {
            segment: FIRST,
            played: samples,
            enqueued: 100 * FRAME_SAMPLES as u64,
            finished: false
        }]
    );
    assert!(
        (9..=11).contains(&(samples / FRAME_SAMPLES as u64)),
        "{samples}"
    );
    assert_eq!(
        next(&end).await,
        Some(Sent::Clear),
        "what waited here is gone"
    );
    leg.playout.resume();
    // Nothing of a segment that never began has to be taken back.
    leg.playout.enqueue(SegmentId(2), &[9_000; 160]);
    leg.playout.clear();
    while let Some(sent) = next(&end).await {
        assert!(matches!(sent, Sent::Sound(_)), "{sent:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_page_that_goes_away_has_hung_up() {
    let (end, mut leg) = answered().await;
    tick(&mut leg).await;
    drop(end);
    assert_eq!(leg.events.recv().await, Some(AudioEvent::Hangup));
    assert_eq!(leg.events.recv().await, None);
    while leg.ticks.recv().await.is_some() {}
}

#[tokio::test(start_paused = true)]
async fn a_page_that_sends_nothing_for_ten_seconds_is_gone() {
    let (end, mut leg) = answered().await;
    let began = Instant::now();
    advance(Duration::from_secs(9)).await;
    end.push_audio(&sound()).unwrap();
    let ticks = tokio::spawn(async move { while leg.ticks.recv().await.is_some() {} });
    assert_eq!(leg.events.recv().await, Some(AudioEvent::Hangup));
    let gone = began.elapsed();
    assert!(
        (Duration::from_secs(19)..Duration::from_millis(19_100)).contains(&gone),
        "{gone:?}"
    );
    assert_eq!(end.next().await, None);
    ticks.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_line_that_is_hung_up_or_never_answered_ends_for_the_page_too() {
    let (end, mut leg) = answered().await;
    leg.playout.enqueue(FIRST, &[9_000; FRAME_SAMPLES]);
    for _ in 0..3 {
        tick(&mut leg).await;
    }
    leg.signalling.hang_up().await;
    leg.signalling.hang_up().await;
    assert!(
        matches!(end.next().await, Some(Sent::Sound(_))),
        "what was said before is on its way"
    );
    while end.next().await.is_some() {}

    let (end, line) = page().unwrap();
    drop(line);
    assert_eq!(end.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn a_page_that_hammers_its_keys_is_answered_all_the_same() {
    let (end, line) = page().unwrap();
    for _ in 0..200 {
        end.press('1');
    }
    let mut leg = line.answer();
    let mut keys = 0;
    while let Some(AudioEvent::Dtmf('1')) = leg.events.recv().await {
        keys += 1;
    }
    // The answer ended the loop, after as many keys as are kept.
    assert!((1..200).contains(&keys), "{keys}");
    drop(end);
    assert!(matches!(leg.events.recv().await, Some(AudioEvent::Hangup)));
}

#[tokio::test(start_paused = true)]
async fn keys_are_told_and_nothing_but_keys() {
    let (end, mut leg) = answered().await;
    for key in ['1', 'x', '#', 'A', '*'] {
        end.press(key);
    }
    drop(end);
    let mut pressed = Vec::new();
    while let Some(AudioEvent::Dtmf(key)) = leg.events.recv().await {
        pressed.push(key);
    }
    assert_eq!(pressed, ['1', '#', '*']);
}

#[tokio::test(start_paused = true)]
async fn a_flood_is_refused() {
    let (end, _leg) = answered().await;
    let taken = (0..1_000)
        .take_while(|_| end.push_audio(&sound()).is_ok())
        .count();
    assert_eq!(taken, 500);
    assert_eq!(end.push_audio(&sound()), Err(Refused::TooFast));
}
