//! What is to be said, of which a little is at Twilio already. Each sample is queued, sent, played: what was sent and not
//! played yet can be taken back, so that a pause or a cut counts what the customer heard.
//!
//! Twilio plays without a gap what comes early enough, so a frame is taken to be played as long after the first one as the
//! sound between them lasts. A message that takes as long to Twilio as the ones before takes nothing of that away: sound
//! begins so much later there, and is cleared so much later.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use offhook_engine::ports::audio::{
    Cleared, FRAME_SAMPLES, Frame, Played, SAMPLE_RATE, SILENCE, SegmentId,
};
use tokio::time::Instant;

/// Frames that are at Twilio at most before they are played: 200 ms, so that a late tick makes no gap.
pub(crate) const MOST_AHEAD: usize = 10;

#[derive(Debug, Default)]
pub(crate) struct Queue {
    segments: VecDeque<Entry>,
    newest: Option<SegmentId>,
    paused: bool,
    background: Option<Background>,
    /// Frames that were sent and are not played yet, the next one first.
    sent: VecDeque<Sent>,
    events: Vec<Played>,
}

#[derive(Debug)]
struct Entry {
    segment: SegmentId,
    samples: Vec<i16>,
    sent: usize,
    played: usize,
    finished: bool,
    /// Its end was told to whoever sends.
    end_sent: bool,
}

#[derive(Debug)]
struct Sent {
    frame: Frame,
    /// How many samples of which segment it holds.
    parts: Vec<(SegmentId, usize)>,
}

#[derive(Debug)]
struct Background {
    samples: Arc<[i16]>,
    at: usize,
}

impl Queue {
    /// [`Playout::enqueue`](offhook_engine::ports::audio::Playout::enqueue).
    pub(crate) fn enqueue(&mut self, segment: SegmentId, samples: &[i16]) {
        if let Some(entry) = self.entry(segment)
            && !entry.finished
        {
            entry.samples.extend_from_slice(samples);
        }
    }

    /// [`Playout::finish`](offhook_engine::ports::audio::Playout::finish).
    pub(crate) fn finish(&mut self, segment: SegmentId, now: Instant) {
        if let Some(entry) = self.entry(segment) {
            entry.finished = true;
            self.settle(now);
        }
    }

    /// Falls silent. What is at Twilio and was not played is to be sent again; `true` if there is any of it, so that Twilio
    /// is to be told.
    pub(crate) fn pause(&mut self, behind: Duration) -> bool {
        self.paused = true;
        self.take_back(behind)
    }

    /// Goes on with the first sample that was not played.
    pub(crate) fn resume(&mut self) {
        self.paused = false;
    }

    /// What sounds beneath all that is said.
    pub(crate) fn set_background(&mut self, samples: Arc<[i16]>) {
        let is_empty = samples.is_empty();
        self.background = (!is_empty).then_some(Background { samples, at: 0 });
    }

    /// Empties the queue; a pause stays. Whether Twilio is to be told, and how far each segment was played.
    pub(crate) fn clear(&mut self, behind: Duration) -> (bool, Vec<Cleared>) {
        let is_told = self.take_back(behind);
        let cleared = self.segments.drain(..).map(|entry| Cleared {
            segment: entry.segment,
            played: entry.played as u64,
            enqueued: entry.samples.len() as u64,
            finished: entry.finished,
        });
        (is_told, cleared.collect())
    }

    /// The next frame to send ahead of its time. `None`: enough is at Twilio, or there is nothing to say.
    pub(crate) fn send(&mut self) -> Option<Frame> {
        if self.sent.len() >= MOST_AHEAD {
            return None;
        }
        let is_due = self.sent.is_empty();
        let (mut frame, mut parts) = (SILENCE, Vec::new());
        let mut filled = 0;
        if !self.paused {
            if !is_due && !self.fills_a_frame() {
                return None;
            }
            for entry in &mut self.segments {
                let rest = &entry.samples[entry.sent..];
                let length = rest.len().min(FRAME_SAMPLES - filled);
                frame[filled..filled + length].copy_from_slice(&rest[..length]);
                entry.sent += length;
                filled += length;
                if length > 0 {
                    parts.push((entry.segment, length));
                }
                let is_sent = entry.sent == entry.samples.len();
                if !(is_sent && entry.finished) {
                    break;
                }
            }
        }
        if filled == 0 && (!is_due || self.background.is_none()) {
            return None;
        }
        if let Some(background) = &mut self.background {
            for sample in &mut frame {
                *sample = sample.saturating_add(background.samples[background.at]);
                background.at = (background.at + 1) % background.samples.len();
            }
        }
        self.sent.push_back(Sent { frame, parts });
        Some(frame)
    }

    /// The last segment of which all has been sent since the last look, if there is one.
    pub(crate) fn sent_whole(&mut self) -> Option<SegmentId> {
        let mut last = None;
        for entry in &mut self.segments {
            if !(entry.finished && entry.sent == entry.samples.len()) {
                break;
            }
            if !std::mem::replace(&mut entry.end_sent, true) {
                last = Some(entry.segment);
            }
        }
        last
    }

    /// Lets 20 ms pass: what is played in them, if anything is.
    pub(crate) fn play(&mut self, now: Instant) -> Option<Frame> {
        let sent = self.sent.pop_front()?;
        for (segment, samples) in sent.parts {
            let entry = self.segments.iter_mut().find(|it| it.segment == segment);
            if let Some(entry) = entry {
                if entry.played == 0 {
                    self.events.push(Played::Began(segment, now));
                }
                entry.played += samples;
            }
        }
        self.settle(now);
        Some(sent.frame)
    }

    /// What became of segments since the last look, in order.
    pub(crate) fn events(&mut self) -> Vec<Played> {
        std::mem::take(&mut self.events)
    }

    /// Frames that are at Twilio and were not played yet.
    pub(crate) fn ahead(&self) -> usize {
        self.sent.len()
    }

    /// Whether there is sound for a whole frame, or all that is left of a segment that is finished: a part of a frame that
    /// goes out too soon would be a gap in the middle of a word.
    fn fills_a_frame(&self) -> bool {
        let mut samples = 0;
        for entry in &self.segments {
            samples += entry.samples.len() - entry.sent;
            if samples >= FRAME_SAMPLES {
                return true;
            }
            if !entry.finished {
                return false;
            }
        }
        samples > 0
    }

    /// Forgets what was sent and not played, and what Twilio has not played yet though it should have.
    fn take_back(&mut self, behind: Duration) -> bool {
        let was_ahead = !self.sent.is_empty();
        if let Some(background) = &mut self.background {
            let length = background.samples.len();
            let back = (self.sent.len() * FRAME_SAMPLES) % length;
            background.at = (background.at + length - back) % length;
        }
        self.sent.clear();
        let behind = behind.as_micros() * u128::from(SAMPLE_RATE) / 1_000_000;
        let behind = usize::try_from(behind).unwrap_or(usize::MAX);
        let mut is_behind = false;
        if let Some(first) = self.segments.front_mut() {
            is_behind = behind > 0 && first.played > 0;
            first.played = first.played.saturating_sub(behind);
        }
        for entry in &mut self.segments {
            entry.sent = entry.played;
            entry.end_sent = false;
        }
        was_ahead || is_behind
    }

    fn entry(&mut self, segment: SegmentId) -> Option<&mut Entry> {
        if self.newest.is_none_or(|newest| segment > newest) {
            self.newest = Some(segment);
            self.segments.push_back(Entry {
                segment,
                samples: Vec::new(),
                sent: 0,
                played: 0,
                finished: false,
                end_sent: false,
            });
            return self.segments.back_mut();
        }
        self.segments.iter_mut().find(|it| it.segment == segment)
    }

    /// Takes out what is over.
    fn settle(&mut self, now: Instant) {
        let is_over = |entry: &Entry| entry.finished && entry.played == entry.samples.len();
        while let Some(entry) = self.segments.front().filter(|entry| is_over(entry)) {
            self.events.push(Played::Ended(entry.segment, now));
            self.segments.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: SegmentId = SegmentId(1);
    const TWO: SegmentId = SegmentId(2);

    fn sound(frames: usize) -> Vec<i16> {
        (0..frames * FRAME_SAMPLES)
            .map(|at| (at / FRAME_SAMPLES) as i16 + 1)
            .collect()
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
        let mut queue = Queue::default();
        queue.enqueue(ONE, &sound(30));
        queue.finish(ONE, Instant::now());
        assert_eq!(tick(&mut queue), (MOST_AHEAD, Some(1)));
        for frame in 2..=20 {
            assert_eq!(tick(&mut queue), (1, Some(frame)));
        }
        assert_eq!(queue.ahead(), MOST_AHEAD - 1);
        for frame in 21..=30 {
            tick(&mut queue);
            let _ = frame;
        }
        let events = queue.events();
        assert!(matches!(
            events[..],
            [Played::Began(ONE, _), Played::Ended(ONE, _)]
        ));
        assert_eq!(tick(&mut queue), (0, None));
    }

    #[tokio::test]
    async fn a_cut_counts_what_was_played_and_not_what_was_sent() {
        let mut queue = Queue::default();
        queue.enqueue(ONE, &sound(30));
        queue.enqueue(TWO, &sound(5));
        for _ in 0..7 {
            tick(&mut queue);
        }
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
        let mut queue = Queue::default();
        queue.enqueue(ONE, &sound(30));
        for _ in 0..7 {
            tick(&mut queue);
        }
        assert!(queue.pause(Duration::ZERO));
        assert_eq!(tick(&mut queue), (0, None));
        queue.resume();
        assert_eq!(tick(&mut queue), (MOST_AHEAD, Some(8)));
    }

    #[tokio::test]
    async fn what_twilio_has_not_played_yet_was_not_heard() {
        let mut queue = Queue::default();
        queue.enqueue(ONE, &sound(30));
        for _ in 0..7 {
            tick(&mut queue);
        }
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
}
