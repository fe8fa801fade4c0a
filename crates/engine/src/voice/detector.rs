//! Voice activity detection by a small neural network.

use offhook_media::vad::Likelihood;

use crate::ports::audio::{Frame, SpeechDetector};

/// A detector for one call.
pub fn speech_detector() -> Box<dyn SpeechDetector> {
    Box::new(Net(Likelihood::default()))
}

struct Net(Likelihood);

impl SpeechDetector for Net {
    fn likelihood(&mut self, frame: &Frame) -> f32 {
        self.0.of(frame)
    }
}
