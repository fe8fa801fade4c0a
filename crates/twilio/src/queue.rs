//! The playout queue, of which Twilio already has a small part. Each sample is queued, sent, and played. Samples that
//! were sent and not played yet can be taken back, so that a pause or a cut reflects what the customer heard.
//!
//! Twilio plays early audio without gaps. So a frame counts as played after the first one by the duration of the audio
//! between them. A constant transmission delay does not matter: audio begins later by it, and is cleared later by it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use offhook_engine::ports::audio::{
    Cleared, FRAME_SAMPLES, Frame, Played, SAMPLE_RATE, SILENCE, SegmentId,
};
use tokio::sync::oneshot;
use tokio::time::Instant;

/// Frames sent ahead of their time at most: 200 ms, so that a late tick causes no gap.
pub(crate) const MOST_AHEAD: usize = 10;

#[derive(Debug, Default)]
pub(crate) struct Queue {
    segments: VecDeque<Entry>,
    newest: Option<SegmentId>,
    paused: bool,
    background: Option<Background>,
    /// The tones of keys, which take precedence over speech.
    keys: VecDeque<Key>,
    /// Frames that were sent and not played yet, next one first.
    sent: VecDeque<Sent>,
    /// A segment that was over before the sender learned of its end: it was finished only after all its audio had been
    /// played.
    unreported_end: Option<SegmentId>,
    events: Vec<Played>,
}

#[derive(Debug)]
struct Entry {
    segment: SegmentId,
    samples: Vec<i16>,
    sent: usize,
    played: usize,
    finished: bool,
    /// The sender has learned of its end.
    end_sent: bool,
}

#[derive(Debug)]
struct Sent {
    frame: Frame,
    content: Content,
}

/// The content of a frame.
#[derive(Debug)]
enum Content {
    /// The number of samples of each segment.
    Speech(Vec<(SegmentId, usize)>),
    /// Tones; the last frame has the channel that reports the end.
    Key(Option<oneshot::Sender<()>>),
}

/// 20 ms of tones.
#[derive(Debug)]
struct Key {
    frame: Frame,
    told: Option<oneshot::Sender<()>>,
}

#[derive(Debug)]
struct Background {
    samples: Arc<[i16]>,
    at: usize,
}

impl Queue {
    /// See [`Playout::enqueue`](offhook_engine::ports::audio::Playout::enqueue).
    pub(crate) fn enqueue(&mut self, segment: SegmentId, samples: &[i16]) {
        if let Some(entry) = self.entry(segment)
            && !entry.finished
        {
            entry.samples.extend_from_slice(samples);
        }
    }

    /// See [`Playout::finish`](offhook_engine::ports::audio::Playout::finish).
    pub(crate) fn finish(&mut self, segment: SegmentId, now: Instant) {
        if let Some(entry) = self.entry(segment) {
            entry.finished = true;
            self.settle(now);
        }
    }

    /// Pauses. Sent audio that was not played will be sent again; `true` if there is any, so that Twilio's buffer must
    /// be cleared.
    pub(crate) fn pause(&mut self, behind: Duration) -> bool {
        self.paused = true;
        self.rewind(behind)
    }

    /// Continues with the first sample that was not played.
    pub(crate) fn resume(&mut self) {
        self.paused = false;
    }

    /// Sends tones in place of speech, which continues afterwards. `told` resolves after they were played.
    pub(crate) fn send_keys(&mut self, frames: Vec<Frame>, told: oneshot::Sender<()>) {
        let keys = frames.into_iter().map(|frame| Key { frame, told: None });
        self.keys.extend(keys);
        if let Some(last) = self.keys.back_mut() {
            last.told = Some(told);
        }
    }

    /// Sets the background sound.
    pub(crate) fn set_background(&mut self, samples: Arc<[i16]>) {
        let is_empty = samples.is_empty();
        self.background = (!is_empty).then_some(Background { samples, at: 0 });
    }

    /// Empties the queue; a pause stays in effect. Returns whether Twilio's buffer must be cleared, and how much of
    /// each segment was played.
    pub(crate) fn clear(&mut self, behind: Duration) -> (bool, Vec<Cleared>) {
        let is_told = self.rewind(behind);
        let cleared = self.segments.drain(..).map(|entry| Cleared {
            segment: entry.segment,
            played: entry.played as u64,
            enqueued: entry.samples.len() as u64,
            finished: entry.finished,
        });
        (is_told, cleared.collect())
    }

    /// The next frame to send ahead of its time. `None`: Twilio has enough, or there is nothing to send.
    pub(crate) fn send(&mut self) -> Option<Frame> {
        if self.sent.len() >= MOST_AHEAD {
            return None;
        }
        if let Some(Key { frame, told }) = self.keys.pop_front() {
            let content = Content::Key(told);
            self.sent.push_back(Sent { frame, content });
            return Some(frame);
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
        let content = Content::Speech(parts);
        self.sent.push_back(Sent { frame, content });
        Some(frame)
    }

    /// The last segment that was sent completely since the previous call. The end of a segment may become known only
    /// after its audio was sent, or even played.
    pub(crate) fn sent_whole(&mut self) -> Option<SegmentId> {
        let mut last = self.unreported_end.take();
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

    /// Advances 20 ms; returns the frame that is played, if any.
    pub(crate) fn play(&mut self, now: Instant) -> Option<Frame> {
        let sent = self.sent.pop_front()?;
        let parts = match sent.content {
            Content::Speech(parts) => parts,
            Content::Key(told) => {
                // The waiter may be gone; the keys were sent anyway.
                let _ = told.map(|told| told.send(()));
                Vec::new()
            }
        };
        for (segment, samples) in parts {
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

    /// The reports since the previous call, in order.
    pub(crate) fn events(&mut self) -> Vec<Played> {
        std::mem::take(&mut self.events)
    }

    /// Frames that Twilio has not played yet.
    pub(crate) fn ahead(&self) -> usize {
        self.sent.len()
    }

    /// Whether there is audio for a whole frame, or the rest of a finished segment. A partial frame sent too early
    /// would be a gap in the middle of a word.
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

    /// Takes back audio that was sent and not played, and audio that Twilio should have played but has not. Tones, and
    /// audio between them, are never taken back, because a key cut in two is heard as two.
    fn rewind(&mut self, behind: Duration) -> bool {
        if self
            .sent
            .iter()
            .any(|sent| matches!(sent.content, Content::Key(_)))
        {
            return false;
        }
        let was_ahead = !self.sent.is_empty();
        if let Some(background) = &mut self.background {
            let length = background.samples.len();
            let back = (self.sent.len() * FRAME_SAMPLES) % length;
            background.at = (background.at + length - back) % length;
        }
        self.sent.clear();
        self.unreported_end = None;
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

    /// Removes segments that are over.
    fn settle(&mut self, now: Instant) {
        let is_over = |entry: &Entry| entry.finished && entry.played == entry.samples.len();
        while let Some(entry) = self.segments.front().filter(|entry| is_over(entry)) {
            self.events.push(Played::Ended(entry.segment, now));
            if entry.played > 0 && !entry.end_sent {
                self.unreported_end = Some(entry.segment);
            }
            self.segments.pop_front();
        }
    }
}

#[cfg(test)]
mod tests;
