//! The incoming audio of a page until the engine takes it.

use std::time::Duration;

use offhook_media::resample::Resampler;
use offhook_media::{Frame, SAMPLE_RATE, SILENCE, inbox};
use tokio::time::Instant;

use crate::flow::Flow;
use crate::{MOST_FRAME_BYTES, SAMPLE_BYTES, WIRE_RATE};

/// Why a page's audio is rejected. The page is then disconnected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// A frame of more than [`MOST_FRAME_BYTES`].
    TooLarge,
    /// An empty frame, or an incomplete sample.
    NoSound,
    /// Audio arrives at more than twice real time.
    TooFast,
}

/// The incoming audio of one page.
pub(crate) struct Inbox {
    resampler: Resampler,
    frames: inbox::Inbox,
    flow: Flow,
    heard_at: Instant,
}

impl Inbox {
    pub(crate) fn new(resampler: Resampler, now: Instant) -> Self {
        Self {
            resampler,
            frames: inbox::Inbox::default(),
            flow: Flow::new(now),
            heard_at: now,
        }
    }

    /// The line was answered: earlier silence does not count.
    pub(crate) const fn begins(&mut self, now: Instant) {
        self.heard_at = now;
    }

    /// Adds a frame as received.
    pub(crate) fn put(&mut self, pcm: &[u8], now: Instant) -> Result<(), Refused> {
        if pcm.len() > MOST_FRAME_BYTES {
            return Err(Refused::TooLarge);
        }
        if pcm.is_empty() || !pcm.len().is_multiple_of(SAMPLE_BYTES) {
            return Err(Refused::NoSound);
        }
        let samples: Vec<i16> = pcm
            .chunks_exact(SAMPLE_BYTES)
            .map(|pair| i16::from_le_bytes([pair[0], pair[1]]))
            .collect();
        let takes = Duration::from_secs(samples.len() as u64) / WIRE_RATE;
        if !self.flow.admits(takes, now) {
            return Err(Refused::TooFast);
        }
        self.heard_at = now;
        self.frames.put(|rest| self.resampler.push(&samples, rest));
        Ok(())
    }

    /// The next 20 ms, silent if nothing came. A stalled network is not a lost line; [`silent_for`](Self::silent_for)
    /// detects a page that sends nothing.
    pub(crate) fn pull(&mut self) -> Frame {
        self.frames.pull().unwrap_or(SILENCE)
    }

    /// The time since the last audio.
    pub(crate) fn silent_for(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.heard_at)
    }
}

/// From the wire's rate to the engine's. Both rates are supported, so it always succeeds.
pub(crate) fn to_engine() -> Option<Resampler> {
    Resampler::new(WIRE_RATE, SAMPLE_RATE).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inbox() -> Inbox {
        Inbox::new(to_engine().unwrap(), Instant::now())
    }

    /// Samples of a 440 Hz tone, as a page sends them.
    fn tone(samples: std::ops::Range<usize>) -> Vec<u8> {
        samples
            .map(|at| (at as f64 * 440.0 * std::f64::consts::TAU / f64::from(WIRE_RATE)).sin())
            .flat_map(|value| ((value * 8_000.0) as i16).to_le_bytes())
            .collect()
    }

    fn loudness(frame: &Frame) -> f64 {
        let sum: f64 = frame.iter().map(|&s| f64::from(s) * f64::from(s)).sum();
        (sum / frame.len() as f64).sqrt()
    }

    #[test]
    fn what_a_page_says_is_heard_in_frames_of_the_engines_rate() {
        let mut inbox = inbox();
        let begin = Instant::now();
        let mut heard = Vec::new();
        for at in 0..50_u32 {
            let from = at as usize * 320;
            let sound = tone(from..from + 320);
            inbox
                .put(&sound, begin + Duration::from_millis(20) * at)
                .unwrap();
            heard.push(inbox.pull());
        }
        // It waits 40 ms, and the filter rings out within a frame.
        let loud = heard
            .iter()
            .map(loudness)
            .filter(|&it| it > 5_000.0)
            .count();
        assert!(loud >= 45, "{loud}");
    }

    #[test]
    fn frames_of_any_length_make_the_same_sound() {
        let all = tone(0..3_200);
        let hear = |sizes: &[usize]| {
            let mut inbox = inbox();
            let mut rest = &all[..];
            let mut sizes = sizes.iter().cycle();
            while !rest.is_empty() {
                let size = (*sizes.next().unwrap()).min(rest.len());
                inbox.put(&rest[..size], Instant::now()).unwrap();
                rest = &rest[size..];
            }
            (0..8).map(|_| inbox.pull()).collect::<Vec<_>>()
        };
        assert_eq!(hear(&[640]), hear(&[2, 100, 1_000]));
    }

    #[test]
    fn what_is_no_sound_is_refused() {
        let mut inbox = inbox();
        let now = Instant::now();
        assert_eq!(inbox.put(&[], now), Err(Refused::NoSound));
        assert_eq!(inbox.put(&[0; 3], now), Err(Refused::NoSound));
        assert_eq!(inbox.put(&[0; 4_098], now), Err(Refused::TooLarge));
        assert_eq!(inbox.put(&[0; 4_096], now), Ok(()));
        let flood = (0..100).find_map(|_| inbox.put(&[0; 4_096], now).err());
        assert_eq!(flood, Some(Refused::TooFast));
    }

    #[test]
    fn a_burst_after_a_stall_keeps_little_waiting() {
        let mut inbox = inbox();
        for at in 0..400 {
            inbox
                .put(&tone(at * 320..(at + 1) * 320), Instant::now())
                .unwrap();
        }
        let waiting = (0..400).filter(|_| loudness(&inbox.pull()) > 100.0).count();
        assert!((1..=15).contains(&waiting), "{waiting}");
    }
}
