//! Filters by loudness what may be the caller: excludes the line's hum, and the echo of the agent's voice.

use std::collections::VecDeque;

use crate::ports::audio::{FRAME_SAMPLES, Frame, Tick};

/// A quieter frame is not speech: −50 dB of full scale.
const FLOOR: f32 = 104.0;

/// The echo is at least 18 dB quieter than the agent's voice, here as a ratio. A caller who talks over the agent is
/// louder.
const ECHO: f32 = 0.126;

/// The longest echo delay in frames: 0.4 s.
const ECHO_FRAMES: usize = 20;

/// From this likelihood on, a frame counts as speech.
const LIKELY: f32 = 0.5;

#[derive(Debug, Default)]
pub(super) struct Gate {
    /// The loudness of the agent's recent frames, newest last.
    said: VecDeque<f32>,
}

impl Gate {
    /// Whether the caller speaks in this tick, given the detector's likelihood.
    pub(super) fn is_speech(&mut self, tick: &Tick, likelihood: f32) -> bool {
        if self.said.len() == ECHO_FRAMES {
            self.said.pop_front();
        }
        self.said
            .push_back(tick.said.as_ref().map_or(0.0, loudness));
        if tick.lost || likelihood < LIKELY {
            return false;
        }
        let echo = self.said.iter().copied().fold(0.0, f32::max) * ECHO;
        loudness(&tick.heard) >= FLOOR.max(echo)
    }
}

fn loudness(frame: &Frame) -> f32 {
    let sum: f32 = frame.iter().map(|&s| f32::from(s) * f32::from(s)).sum();
    (sum / FRAME_SAMPLES as f32).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tick(heard: i16, said: Option<i16>) -> Tick {
        Tick {
            number: 0,
            heard: [heard; FRAME_SAMPLES],
            lost: false,
            said: said.map(|s| [s; FRAME_SAMPLES]),
        }
    }

    #[test]
    fn hum_and_lost_frames_are_nobodys_speech() {
        let mut gate = Gate::default();
        assert!(!gate.is_speech(&tick(90, None), 0.9));
        assert!(gate.is_speech(&tick(900, None), 0.5));
        assert!(!gate.is_speech(&tick(900, None), 0.4));
        let lost = Tick {
            lost: true,
            ..tick(900, None)
        };
        assert!(!gate.is_speech(&lost, 0.9));
    }

    #[test]
    fn the_sound_of_a_place_hides_nobody() {
        use offhook_media::ambient::Ambient;

        for place in Ambient::ALL {
            let sound = place.sound();
            let mut gate = Gate::default();
            for frame in sound.chunks_exact(FRAME_SAMPLES) {
                let mut tick = tick(FLOOR as i16, None);
                tick.said = Some(std::array::from_fn(|at| frame[at]));
                assert!(gate.is_speech(&tick, 0.9), "{place:?}");
            }
        }
    }

    #[test]
    fn an_echo_is_nobodys_speech_and_a_caller_over_it_is_heard() {
        let mut gate = Gate::default();
        assert!(!gate.is_speech(&tick(900, Some(8_000)), 0.9));
        assert!(gate.is_speech(&tick(1_100, Some(8_000)), 0.9));
        for _ in 0..ECHO_FRAMES - 1 {
            assert!(!gate.is_speech(&tick(900, None), 0.9), "it comes back late");
        }
        assert!(gate.is_speech(&tick(900, None), 0.9));
    }
}
