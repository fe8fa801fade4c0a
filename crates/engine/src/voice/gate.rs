//! What is loud enough to be the caller: neither the line's hum, nor the agent's own voice come back from the handset.

use std::collections::VecDeque;

use crate::ports::audio::{FRAME_SAMPLES, Frame, Tick};

/// A frame below this is nobody's speech: −50 dB of full scale.
const FLOOR: f32 = 104.0;

/// How much quieter than the agent's voice its echo is at least: 18 dB, as a ratio. Who speaks over the agent is heard
/// above that.
const ECHO: f32 = 0.126;

/// Frames after which an echo has come back: 0.4 s.
const ECHO_FRAMES: usize = 20;

/// From which likelihood on a detector's frame is speech.
const LIKELY: f32 = 0.5;

/// Judges frames, one by one.
#[derive(Debug, Default)]
pub(super) struct Gate {
    /// How loud the agent was lately, the newest last.
    said: VecDeque<f32>,
}

impl Gate {
    /// Whether the caller speaks in this tick, which a detector finds that likely.
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

/// The root mean square of a frame.
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
