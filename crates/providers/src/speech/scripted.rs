//! Simulated speech: a recognizer that returns the lines of a script, and a synthesizer that hums each word. It is in
//! process, without latency and deterministic; for demonstrations and tests.

use async_trait::async_trait;
use futures_util::FutureExt as _;
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use offhook_domain::json::{Fault, Json};
use offhook_engine::ports::audio::SAMPLE_RATE;
use offhook_engine::ports::speech::{
    INPUTS_AHEAD, Recognizer, RecognizerAbilities, RecognizerEvent, RecognizerInput,
    RecognizerSettings, SpeechPiece, SpeechToText, SpokenText, Synthesizer, TextToSpeech,
    VoiceSettings, WordTime,
};
use tokio::sync::mpsc;

use super::settings::{self, STT, VOICE};
use super::{Result, hum};
use super::{SpeechInput, SpeechOutput};

/// Frames of speech before the line is reported as interim text: 200 ms.
const GUESS_AFTER: usize = 10;

/// The most lines of a script, and characters of a line.
const LINES: usize = 1_000;
const LINE_CHARS: usize = 2_000;

/// The scripted recognizer. `config.stt.settings.lines` is its script: after each utterance it returns the next line,
/// whatever was said. An empty line stands for noise; so does everything after the last line.
pub(crate) struct ScriptedRecognizer;

impl ScriptedRecognizer {
    fn lines(settings: &RecognizerSettings) -> Result<Vec<String>> {
        settings::read(&settings.settings, STT, |fields| {
            let items = fields.optional_array("lines", 0..=LINES)?.unwrap_or(&[]);
            let line = |item: &Json| {
                item.as_str()
                    .filter(|line| line.chars().count() <= LINE_CHARS)
                    .map(|line| line.trim().to_owned())
            };
            let lines: Option<Vec<String>> = items.iter().map(line).collect();
            lines.ok_or_else(|| fields.fault("lines", Fault::Lines(LINE_CHARS)))
        })
    }
}

impl SpeechInput for ScriptedRecognizer {
    fn check(&self, settings: &RecognizerSettings) -> Result<()> {
        Self::lines(settings).map(|_| ())
    }
}

#[async_trait]
impl SpeechToText for ScriptedRecognizer {
    async fn open(&self, settings: RecognizerSettings) -> Result<Recognizer> {
        let lines = Self::lines(&settings)?;
        let (input, inputs) = mpsc::channel(INPUTS_AHEAD);
        let (told, events) = mpsc::channel(INPUTS_AHEAD);
        tokio::spawn(hear(lines, inputs, told).boxed());
        Ok(Recognizer { input, events })
    }

    fn abilities(&self) -> RecognizerAbilities {
        RecognizerAbilities {
            partials: true,
            turns: false,
        }
    }
}

async fn hear(
    lines: Vec<String>,
    mut inputs: mpsc::Receiver<RecognizerInput>,
    told: mpsc::Sender<RecognizerEvent>,
) {
    let mut lines = lines.into_iter();
    // The current line, and how many of its frames have come.
    let mut saying: Option<(String, usize)> = None;
    while let Some(input) = inputs.recv().await {
        let mut events = Vec::new();
        match input {
            RecognizerInput::Frame(_) => {
                if let Some((line, frames)) = &mut saying {
                    *frames += 1;
                    if *frames == GUESS_AFTER && !line.is_empty() {
                        events.push(RecognizerEvent::Partial(line.clone()));
                    }
                }
            }
            RecognizerInput::SpeechBegan => {
                saying.get_or_insert_with(|| (lines.next().unwrap_or_default(), 0));
            }
            RecognizerInput::Finalize => {
                let line = saying.take().map(|(line, _)| line);
                let line = line.filter(|line| !line.is_empty());
                events.extend(line.map(RecognizerEvent::Final));
                events.push(RecognizerEvent::Finalized);
            }
        }
        for event in events {
            if told.send(event).await.is_err() {
                return;
            }
        }
    }
}

/// The scripted synthesizer: it accepts every language and hums instead of words.
pub(crate) struct ScriptedVoice;

impl SpeechOutput for ScriptedVoice {
    fn check(&self, settings: &VoiceSettings) -> Result<()> {
        settings::speed(settings, 0.5, 2.0)?;
        settings::none(&settings.settings, VOICE)
    }
}

#[async_trait]
impl TextToSpeech for ScriptedVoice {
    async fn open(&self, settings: VoiceSettings) -> Result<Box<dyn Synthesizer>> {
        self.check(&settings)?;
        Ok(Box::new(Hum {
            speed: settings.speed,
        }))
    }
}

struct Hum {
    speed: f64,
}

impl Synthesizer for Hum {
    fn speak(&self, text: SpokenText) -> BoxStream<'static, Result<SpeechPiece>> {
        let (mut pieces, mut samples) = (Vec::new(), 0_u64);
        for (text_end, word) in hum::words(&text.text) {
            let sound = hum::word(word, self.speed);
            samples += sound.len() as u64;
            let spoken_at =
                std::time::Duration::from_micros(samples * 1_000_000 / u64::from(SAMPLE_RATE));
            pieces.push(Ok(SpeechPiece::Audio(sound)));
            pieces.push(Ok(SpeechPiece::Words(vec![WordTime {
                text_end,
                spoken_at,
            }])));
        }
        stream::iter(pieces).boxed()
    }
}

#[cfg(test)]
mod tests {
    use offhook_domain::FieldError;
    use offhook_engine::ports::speech::SpeechError;

    use super::*;

    fn ear(settings: &str) -> RecognizerSettings {
        RecognizerSettings {
            model: "scripted".to_owned(),
            language: "en".to_owned(),
            settings: settings.into(),
        }
    }

    fn voice(speed: f64) -> VoiceSettings {
        VoiceSettings {
            voice_id: "scripted".to_owned(),
            model: "scripted".to_owned(),
            language: "en".to_owned(),
            speed,
            settings: "{}".into(),
            key: None,
        }
    }

    async fn hear(
        recognizer: &mut Recognizer,
        inputs: Vec<RecognizerInput>,
    ) -> Vec<RecognizerEvent> {
        for input in inputs {
            recognizer.input.send(input).await.unwrap();
        }
        let mut events = Vec::new();
        while let Some(event) = recognizer.events.recv().await {
            let is_last = event == RecognizerEvent::Finalized;
            events.push(event);
            if is_last {
                break;
            }
        }
        events
    }

    fn utterance(frames: usize) -> Vec<RecognizerInput> {
        let frame = || RecognizerInput::Frame(Box::new([0; 160]));
        let mut inputs = vec![frame(), RecognizerInput::SpeechBegan];
        inputs.extend(std::iter::repeat_with(frame).take(frames));
        inputs.push(RecognizerInput::Finalize);
        inputs
    }

    #[tokio::test]
    async fn each_utterance_is_the_next_line() {
        use RecognizerEvent::{Final, Finalized, Partial};
        let settings = ear(r#"{"lines": ["Good morning.", "", " A room. "]}"#);
        let mut recognizer = ScriptedRecognizer.open(settings).await.unwrap();
        let heard = hear(&mut recognizer, utterance(30)).await;
        let line = "Good morning.".to_owned();
        assert_eq!(heard, [Partial(line.clone()), Final(line), Finalized]);
        assert_eq!(hear(&mut recognizer, utterance(30)).await, [Finalized]);
        let short = hear(&mut recognizer, utterance(3)).await;
        assert_eq!(short, [Final("A room.".to_owned()), Finalized]);
        assert_eq!(hear(&mut recognizer, utterance(30)).await, [Finalized]);
        let nothing = hear(&mut recognizer, vec![RecognizerInput::Finalize]).await;
        assert_eq!(nothing, [Finalized]);
        drop(recognizer.input);
        assert_eq!(recognizer.events.recv().await, None);
    }

    #[test]
    fn a_script_is_a_list_of_texts() {
        let check = |settings| ScriptedRecognizer.check(&ear(settings)).err();
        assert_eq!(check("{}"), None);
        let fault = FieldError::new("config.stt.settings.lines", Fault::Lines(2_000));
        assert_eq!(check(r#"{"lines":[1]}"#), Some(SpeechError::Unable(fault)));
        let fault = FieldError::new("config.stt.settings.line", Fault::Unknown);
        assert_eq!(check(r#"{"line":[]}"#), Some(SpeechError::Unable(fault)));
    }

    #[tokio::test]
    async fn each_word_is_a_sound_and_the_same_one_every_time() {
        let text = SpokenText {
            text: "Hello, dear caller!".to_owned(),
            before: String::new(),
        };
        let mut spoken = Vec::new();
        for speed in [1.0, 1.0, 2.0] {
            let start_synthesizer = ScriptedVoice.open(voice(speed)).await.unwrap();
            let pieces: Vec<_> = start_synthesizer.speak(text.clone()).collect().await;
            let (mut samples, mut ends) = (Vec::new(), Vec::new());
            for piece in pieces {
                match piece.unwrap() {
                    SpeechPiece::Audio(more) => samples.extend(more),
                    SpeechPiece::Words(words) => {
                        let length = samples.len() as u128;
                        assert_eq!(words[0].spoken_at.as_micros(), length * 125);
                        ends.extend(words.iter().map(|word| word.text_end));
                    }
                    _ => {}
                }
            }
            assert_eq!(ends, [6, 11, 19]);
            spoken.push(samples);
        }
        assert_eq!(spoken[0], spoken[1]);
        let (slow, fast) = (spoken[0].len(), spoken[2].len());
        assert!((slow / 2).abs_diff(fast) < 400, "{slow} and {fast} samples");
    }

    #[tokio::test]
    async fn nothing_to_say_is_silence() {
        let start_synthesizer = ScriptedVoice.open(voice(1.0)).await.unwrap();
        let text = SpokenText {
            text: "  ".to_owned(),
            before: String::new(),
        };
        assert_eq!(start_synthesizer.speak(text).count().await, 0);
    }
}
