//! What is said on the line, as G.711 µ-law: a phrase of a synthetic voice, and words that are known by their level.

use offhook_media::FRAME_SAMPLES;
use offhook_media::codec::Codec;

/// "Hello, do you have a table for two?", spoken by flite's slt: the recording that the detector's own tests use.
const RECORDED: &[u8] = include_bytes!("../../../crates/media/tests/it/speech.ulaw");

/// The frames of "do you have a table for two", which has no pause of more than 100 ms and ends in the middle of its
/// last vowel: the detector takes its first and its last frame for speech.
const PHRASE: std::ops::Range<usize> = 44..115;

/// 240 ms of its "hello": long enough for a beginning, too short for a turn.
const COUGH: std::ops::Range<usize> = 13..25;

/// Frames that a word of the counting voice takes: 200 ms.
pub(crate) const WORD_FRAMES: usize = 10;

/// The code of the first word. What follows it is 2 to 4 % of full scale: loud enough to be heard, and so quiet that its
/// echo is not what keeps a caller from interrupting.
const FIRST_WORD: u8 = 0xB0;

/// Words that can be told apart.
const WORDS: usize = 0x30;

/// 20 ms of the line.
pub(crate) type Codes = [u8; FRAME_SAMPLES];

/// Nothing.
pub(crate) const SILENCE: Codes = [0xFF; FRAME_SAMPLES];

/// The loudest sample that nobody hears: −50 dB.
const INAUDIBLE: i16 = 104;

/// What the caller says.
pub(crate) struct Speech;

impl Speech {
    /// 1.4 s of words.
    pub(crate) fn phrase() -> Vec<Codes> {
        frames(PHRASE)
    }

    /// A sound that is no word.
    pub(crate) fn cough() -> Vec<Codes> {
        frames(COUGH)
    }
}

fn frames(range: std::ops::Range<usize>) -> Vec<Codes> {
    let (frames, _) = RECORDED.as_chunks::<FRAME_SAMPLES>();
    frames.get(range).unwrap_or_default().to_vec()
}

/// The sound of the counting voice's word number `word`, from 0: one level, so that every frame of it tells which word
/// it is of.
pub(crate) fn frame_of_word(word: usize) -> [i16; FRAME_SAMPLES] {
    [Codec::Pcmu.decode(FIRST_WORD + (word % WORDS) as u8); FRAME_SAMPLES]
}

/// What a packet holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sound {
    Silence,
    /// A frame of the counting voice's word of this number, and nothing else.
    Word(usize),
    /// Anything else that can be heard.
    Other,
}

impl Sound {
    pub(super) fn of(codes: &[u8]) -> Self {
        let inaudible = |code: &u8| Codec::Pcmu.decode(*code).saturating_abs() < INAUDIBLE;
        if codes.iter().all(inaudible) {
            return Self::Silence;
        }
        let first = codes.first().copied().unwrap_or_default();
        match first.checked_sub(FIRST_WORD).map(usize::from) {
            Some(word) if word < WORDS && codes.iter().all(|code| *code == first) => {
                Self::Word(word)
            }
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use offhook_engine::voice::speech_detector;

    use super::*;

    #[test]
    fn the_detector_takes_the_phrase_for_speech_from_end_to_end() {
        let mut detector = speech_detector();
        for _ in 0..50 {
            detector.likelihood(&[0; FRAME_SAMPLES]);
        }
        let mut likely = |codes: &Codes| {
            let mut frame = [0; FRAME_SAMPLES];
            for (sample, code) in frame.iter_mut().zip(codes) {
                *sample = Codec::Pcmu.decode(*code);
            }
            detector.likelihood(&frame) >= 0.5
        };
        let said: Vec<bool> = Speech::phrase().iter().map(&mut likely).collect();
        assert!(said.iter().take(3).any(|speech| *speech), "{said:?}");
        assert_eq!(said.last(), Some(&true), "{said:?}");
        let longest = said.split(|speech| *speech).map(<[bool]>::len).max();
        assert!(longest < Some(8), "{said:?}");
        for _ in 0..50 {
            likely(&SILENCE);
        }
        let cough = Speech::cough();
        let coughed = cough.iter().map(&mut likely);
        assert!(coughed.filter(|speech| *speech).count() >= 7);
    }

    #[test]
    fn a_word_is_known_by_each_of_its_frames() {
        for word in 0..WORDS {
            let mut codes = Vec::new();
            Codec::Pcmu.encode_into(&frame_of_word(word), &mut codes);
            assert_eq!(Sound::of(&codes), Sound::Word(word));
            codes[159] = 0xFF;
            assert_eq!(Sound::of(&codes), Sound::Other);
        }
        assert_eq!(Sound::of(&SILENCE), Sound::Silence);
    }
}
