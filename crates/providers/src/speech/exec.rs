//! Local programs for speech-to-text or text-to-speech, with one run per utterance or text. Only the deployment's
//! configuration names programs; an agent only fills in placeholders of their arguments. Spoken words are never
//! arguments, because every user of the machine could read them.

mod child;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use offhook_domain::json::{Fault, FieldError};
use offhook_engine::ports::audio::SAMPLE_RATE;
use offhook_engine::ports::speech::{
    Recognizer, RecognizerAbilities, RecognizerSettings, SpeechError, SpeechPiece, SpeechToText,
    SpokenText, Synthesizer, TextToSpeech, VoiceSettings,
};
use offhook_media::resample::RATES;
use offhook_media::wav;
use tokio::sync::Semaphore;

use super::segment::{self, Transcriber};
use super::settings::{self, STT, VOICE};
use super::sound::resample;
use super::{Result, SpeechInput, SpeechOutput};
use crate::settings::SettingsError;
use child::Run;

/// The words per minute at normal speed, for programs that count so.
const WORDS_PER_MINUTE: f64 = 175.0;

/// The placeholder for the utterance's file; without it the program reads standard input.
const FILE: &str = "{file}";

/// The placeholder for the text's file; without it the program reads standard input.
const TEXT_FILE: &str = "{text_file}";

/// The placeholder for the output file; without it the program writes to standard output.
const WAV_FILE: &str = "{wav_file}";

const MODEL: &str = "{model}";
const LANGUAGE: &str = "{language}";
const VOICE_ID: &str = "{voice}";
const SPEED: &str = "{speed}";
const STRETCH: &str = "{stretch}";
const WPM: &str = "{wpm}";

/// A program in the deployment's configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpeechProgram {
    /// The program and its arguments, with placeholders in braces. A recognizer has `{file}` (a WAV file; otherwise
    /// standard input), `{model}` and `{language}`. A synthesizer has `{text_file}` (otherwise standard input),
    /// `{wav_file}` (otherwise standard output), `{voice}`, `{model}`, `{language}`, and for the speed `{speed}` (1 is
    /// normal), `{stretch}` (its inverse) or `{wpm}` (words per minute).
    pub command: Vec<String>,
    /// The sample rate of a recognizer's input, in Hz.
    pub sample_rate: u32,
    /// The time limit of a run.
    pub limit: Duration,
    /// The number of concurrent runs; further ones wait, within their time limit.
    pub at_once: usize,
}

/// A validated program.
struct Program {
    command: Vec<String>,
    sample_rate: u32,
    limit: Duration,
    turns: Arc<Semaphore>,
}

impl Program {
    fn new(
        provider: &str,
        settings: &SpeechProgram,
        placeholders: &[&str],
    ) -> Result<Arc<Self>, SettingsError> {
        let fault = |what: String| SettingsError::Program(provider.to_owned(), what);
        let Some(program) = settings.command.first() else {
            let what = "command is empty: name a program and its arguments";
            return Err(fault(what.to_owned()));
        };
        if !Path::new(program).is_absolute() {
            let what = format!("command begins with `{program}`: give the program's whole path");
            return Err(fault(what));
        }
        for argument in &settings.command {
            let without = |rest: String, placeholder: &&str| rest.replace(placeholder, "");
            let rest = placeholders.iter().fold(argument.clone(), without);
            if rest.contains('{') || rest.contains('}') {
                let known = placeholders.join("`, `");
                let what = format!(
                    "command has the unknown placeholder `{argument}`: `{known}` are known"
                );
                return Err(fault(what));
            }
        }
        if !RATES.contains(&settings.sample_rate) {
            let what = format!("sample_rate must be one of {RATES:?}");
            return Err(fault(what));
        }
        if settings.limit.is_zero() || settings.at_once == 0 {
            let what = "limit and at_once must be above 0".to_owned();
            return Err(fault(what));
        }
        Ok(Arc::new(Self {
            command: settings.command.clone(),
            sample_rate: settings.sample_rate,
            limit: settings.limit,
            turns: Arc::new(Semaphore::new(settings.at_once)),
        }))
    }

    fn has(&self, placeholder: &str) -> bool {
        let mut arguments = self.command.iter();
        arguments.any(|argument| argument.contains(placeholder))
    }

    /// The program and its arguments, with the placeholders filled in.
    fn filled(&self, words: &[(&'static str, String)]) -> Vec<String> {
        let fill = |argument: &String| {
            let one = |text: String, (placeholder, word): &(&'static str, String)| {
                text.replace(placeholder, word)
            };
            words.iter().fold(argument.clone(), one)
        };
        self.command.iter().map(fill).collect()
    }

    /// Validates a model or language for a placeholder. It comes from an agent, and must not be mistaken for an option
    /// or a path.
    fn word(&self, placeholder: &str, field: &str, word: &str) -> Result<String> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        let begins = word.starts_with(|c: char| c.is_ascii_alphanumeric());
        if !self.has(placeholder) || (begins && word.len() <= 128 && word.chars().all(is_part)) {
            return Ok(word.to_owned());
        }
        Err(settings::unable(FieldError::new(field, Fault::ProgramWord)))
    }
}

/// A program for speech-to-text.
pub(crate) struct ExecRecognizer(Arc<Program>);

impl ExecRecognizer {
    /// Creates a recognizer from a program. The error names the provider.
    pub(crate) fn new(provider: &str, settings: &SpeechProgram) -> Result<Self, SettingsError> {
        Program::new(provider, settings, &[FILE, MODEL, LANGUAGE]).map(Self)
    }

    fn words(&self, settings: &RecognizerSettings) -> Result<Vec<(&'static str, String)>> {
        settings::none(&settings.settings, STT)?;
        let language = settings::primary(&settings.language);
        Ok(vec![
            (
                MODEL,
                self.0.word(MODEL, "config.stt.model", &settings.model)?,
            ),
            (
                LANGUAGE,
                self.0.word(LANGUAGE, "config.stt.language", &language)?,
            ),
        ])
    }
}

impl SpeechInput for ExecRecognizer {
    fn check(&self, settings: &RecognizerSettings) -> Result<()> {
        self.words(settings).map(|_| ())
    }
}

#[async_trait]
impl SpeechToText for ExecRecognizer {
    async fn open(&self, settings: RecognizerSettings) -> Result<Recognizer> {
        Ok(segment::listen(Arc::new(Listening {
            program: Arc::clone(&self.0),
            words: self.words(&settings)?,
        })))
    }

    fn abilities(&self) -> RecognizerAbilities {
        RecognizerAbilities::default()
    }
}

struct Listening {
    program: Arc<Program>,
    words: Vec<(&'static str, String)>,
}

#[async_trait]
impl Transcriber for Listening {
    async fn transcribe(&self, samples: Vec<i16>) -> Result<String> {
        let program = &self.program;
        let rate = program.sample_rate;
        // Resampling and encoding run on a blocking thread.
        let file = tokio::task::spawn_blocking(move || {
            Ok::<_, SpeechError>(wav::mono(&resample(&samples, SAMPLE_RATE, rate)?, rate))
        });
        let file = file.await.map_err(|_| SpeechError::Unreachable)??;
        let mut words = self.words.clone();
        let (input, kept) = if program.has(FILE) {
            let (kept, path) = child::file_with(file, ".wav").await?;
            words.push((FILE, path));
            (Vec::new(), Some(kept))
        } else {
            (file, None)
        };
        let run = Run {
            turns: &program.turns,
            command: program.filled(&words),
            input,
            limit: program.limit,
        };
        let said = run.whole().await?;
        drop(kept);
        String::from_utf8(said).map_err(|_| SpeechError::Protocol("its words are not UTF-8"))
    }
}

/// A program for text-to-speech.
pub(crate) struct ExecVoice(Arc<Program>);

impl ExecVoice {
    /// Creates a synthesizer from a program. The error names the provider.
    pub(crate) fn new(provider: &str, settings: &SpeechProgram) -> Result<Self, SettingsError> {
        let known = [
            TEXT_FILE, WAV_FILE, VOICE_ID, MODEL, LANGUAGE, SPEED, STRETCH, WPM,
        ];
        Program::new(provider, settings, &known).map(Self)
    }

    fn words(&self, settings: &VoiceSettings) -> Result<Vec<(&'static str, String)>> {
        settings::none(&settings.settings, VOICE)?;
        let program = &self.0;
        let has_speed = [SPEED, STRETCH, WPM].iter().any(|word| program.has(word));
        let (low, high) = if has_speed { (0.5, 2.0) } else { (1.0, 1.0) };
        let speed = settings::speed(settings, low, high)?;
        let voice = if program.has(VOICE_ID) {
            settings::voice_id(settings)?
        } else {
            ""
        };
        let language = settings::primary(&settings.language);
        Ok(vec![
            (VOICE_ID, voice.to_owned()),
            (
                MODEL,
                program.word(MODEL, "config.voice.model", &settings.model)?,
            ),
            (
                LANGUAGE,
                program.word(LANGUAGE, "config.voice.language", &language)?,
            ),
            (SPEED, format!("{speed:.2}")),
            (STRETCH, format!("{:.2}", 1.0 / speed)),
            (WPM, format!("{:.0}", WORDS_PER_MINUTE * speed)),
        ])
    }
}

impl SpeechOutput for ExecVoice {
    fn check(&self, settings: &VoiceSettings) -> Result<()> {
        self.words(settings).map(|_| ())
    }
}

#[async_trait]
impl TextToSpeech for ExecVoice {
    async fn open(&self, settings: VoiceSettings) -> Result<Box<dyn Synthesizer>> {
        Ok(Box::new(Talking {
            program: Arc::clone(&self.0),
            words: self.words(&settings)?,
        }))
    }
}

struct Talking {
    program: Arc<Program>,
    words: Vec<(&'static str, String)>,
}

impl Synthesizer for Talking {
    fn speak(&self, text: SpokenText) -> BoxStream<'static, Result<SpeechPiece>> {
        let speaking = child::SynthesizerProtocol::new(
            Arc::clone(&self.program),
            self.words.clone(),
            text.text.into_bytes(),
        );
        stream::unfold(speaking, child::SynthesizerProtocol::next).boxed()
    }
}
