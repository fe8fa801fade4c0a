//! A synthetic voice without words: each vowel is a buzz with its formants, each consonant a short silence. Its
//! loudness and shape resemble speech, so that voice activity detection recognizes it.

use std::f64::consts::TAU;

/// Samples per second.
const RATE: f64 = 8_000.0;

/// The durations of a vowel, of a consonant, and of the pause after a word, in seconds.
const VOWEL_S: f64 = 0.11;
const CONSONANT_S: f64 = 0.035;
const PAUSE_S: f64 = 0.06;

/// The fundamental frequency in Hz.
const PITCH_HZ: f64 = 125.0;

/// The peak amplitude of a vowel.
const PEAK: f64 = 9_000.0;

/// The width of a formant in Hz.
const WIDTH_HZ: f64 = 140.0;

/// The words of a text, and the byte offset of each word's end.
pub(crate) fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split_whitespace().map(|word| {
        let begin = word.as_ptr().addr() - text.as_ptr().addr();
        (begin + word.len(), word)
    })
}

/// The audio of a word at a speed, and the pause after it.
pub(crate) fn word(word: &str, speed: f64) -> Vec<i16> {
    let mut samples = Vec::new();
    for character in word.chars() {
        match formants(character) {
            Some(formants) => vowel(formants, VOWEL_S / speed, &mut samples),
            None if character.is_alphanumeric() => hush(CONSONANT_S / speed, &mut samples),
            None => {}
        }
    }
    hush(PAUSE_S / speed, &mut samples);
    samples
}

/// The first two formants of a vowel, in Hz. A digit has a vowel too.
fn formants(character: char) -> Option<[f64; 2]> {
    match character.to_ascii_lowercase() {
        'a' | 'á' | 'à' | '0'..='3' => Some([730.0, 1_090.0]),
        'e' | 'é' | 'è' | '4' | '5' => Some([530.0, 1_840.0]),
        'i' | 'í' | 'y' | '6' | '7' => Some([270.0, 2_290.0]),
        'o' | 'ó' | 'ö' | '8' => Some([570.0, 840.0]),
        'u' | 'ú' | 'ü' | '9' => Some([300.0, 870.0]),
        _ => None,
    }
}

fn hush(seconds: f64, samples: &mut Vec<i16>) {
    samples.extend(std::iter::repeat_n(0, count(seconds)));
}

fn vowel(formants: [f64; 2], seconds: f64, samples: &mut Vec<i16>) {
    let count = count(seconds);
    // Partials up to the telephone band's limit, each weighted by its distance from the formants.
    let partials: Vec<(f64, f64)> = (1..=27)
        .map(|n| {
            let hz = PITCH_HZ * f64::from(n);
            let near = |formant: f64| (-((hz - formant) / WIDTH_HZ).powi(2)).exp();
            (hz, near(formants[0]) + 0.5 * near(formants[1]) + 0.05)
        })
        .collect();
    let loudest: f64 = partials.iter().map(|(_, loud)| loud).sum();
    let edge = (count / 6).max(1);
    for at in 0..count {
        let time = at as f64 / RATE;
        let sum: f64 = partials
            .iter()
            .map(|(hz, loud)| loud * (TAU * hz * time).sin())
            .sum();
        // Fade in and out, because an abrupt start is a click.
        let swell = (at.min(count - 1 - at) as f64 / edge as f64).min(1.0);
        samples.push((PEAK * swell * sum / loudest * 2.0).clamp(-PEAK, PEAK) as i16);
    }
}

fn count(seconds: f64) -> usize {
    (seconds * RATE).round().max(0.0) as usize
}

#[cfg(test)]
mod tests {
    use offhook_media::vad::Likelihood;

    use super::*;

    #[test]
    fn words_are_found_where_they_end() {
        let found: Vec<_> = words("  ¿Qué  tal? ").collect();
        assert_eq!(found, [(8, "¿Qué"), (14, "tal?")]);
        assert_eq!(words(" ").count(), 0);
    }

    #[test]
    fn a_word_is_loud_in_its_vowels_and_silent_at_its_end() {
        let sound = word("no!", 1.0);
        assert_eq!(sound.len(), 280 + 880 + 480);
        assert!(sound[..280].iter().all(|sample| *sample == 0));
        assert!(sound[280..1_160].iter().any(|sample| sample.abs() > 4_000));
        assert!(sound[1_160..].iter().all(|sample| *sample == 0));
    }

    #[test]
    fn what_listens_for_speech_hears_it_on_the_telephone() {
        let text = "Good morning, my name is Eva and I would like to ask you something.";
        let mut sound: Vec<i16> = vec![0; 8_000];
        for (_, one) in words(text) {
            sound.extend(word(one, 1.0));
        }
        sound.extend(vec![0; 8_000]);
        let mut detector = Likelihood::default();
        let scores: Vec<f32> = crate::speech::sound::telephone(&sound)
            .as_chunks()
            .0
            .iter()
            .map(|frame| detector.of(frame))
            .collect();
        let spoken = &scores[50..scores.len() - 50];
        let heard = spoken.iter().filter(|score| **score >= 0.5).count();
        assert!(
            heard * 10 > spoken.len() * 6,
            "{heard} of {} frames",
            spoken.len()
        );
        let before = scores[..50].iter().filter(|score| **score >= 0.5).count();
        assert_eq!(before, 0);
    }
}
