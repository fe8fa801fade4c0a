//! An ear that understands the same words each time, and a voice whose words are known by their sound. Neither takes any
//! time.

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use offhook_engine::ports::speech::{
    INPUTS_AHEAD, Recogniser, RecogniserAbilities, RecogniserEvent, RecogniserInput,
    RecogniserSettings, SpeechError, SpeechPiece, SpeechToText, SpokenText, Synthesiser,
    TextToSpeech, VoiceSettings,
};
use tokio::sync::mpsc;

use super::noted::Way;
use crate::phone::{WORD_FRAMES, frame_of_word};

/// What is understood.
const WORDS: &str = "Where is my order now?";

/// Frames behind the beginning of speech from which on it is understood; less is a noise. The phone's cough has 16 of
/// them until it is found to be over, its phrase some 70.
const UNDERSTOOD_AFTER: usize = 20;

pub(super) struct CountingEar {
    /// Whom to tell of the ends of turns, if it finds them.
    pub(super) way: Option<Arc<Way>>,
}

#[async_trait]
impl SpeechToText for CountingEar {
    async fn open(&self, _: RecogniserSettings) -> Result<Recogniser, SpeechError> {
        let (input, inputs) = mpsc::channel(INPUTS_AHEAD);
        let (told, events) = mpsc::channel(INPUTS_AHEAD);
        tokio::spawn(hear(self.way.clone(), inputs, told));
        Ok(Recogniser { input, events })
    }

    fn abilities(&self) -> RecogniserAbilities {
        RecogniserAbilities {
            partials: true,
            turns: self.way.is_some(),
        }
    }
}

async fn hear(
    way: Option<Arc<Way>>,
    mut inputs: mpsc::Receiver<RecogniserInput>,
    told: mpsc::Sender<RecogniserEvent>,
) {
    let mut frames = None;
    while let Some(input) = inputs.recv().await {
        let mut events = Vec::new();
        match (input, &mut frames) {
            (RecogniserInput::SpeechBegan, _) => {
                frames.get_or_insert(0);
            }
            (RecogniserInput::Frame(_), Some(frames)) => {
                *frames += 1;
                if *frames == UNDERSTOOD_AFTER {
                    events.push(RecogniserEvent::Partial(WORDS.to_owned()));
                }
            }
            (RecogniserInput::Frame(_), None) => {}
            (RecogniserInput::Finalize, _) => {
                let understood = frames.take().is_some_and(|it| it >= UNDERSTOOD_AFTER);
                if understood {
                    events.push(RecogniserEvent::Final(WORDS.to_owned()));
                }
                events.push(RecogniserEvent::Finalized);
                if let Some(way) = way.as_ref().filter(|_| understood) {
                    way.turn_ends();
                    events.push(RecogniserEvent::TurnEnded);
                }
            }
        }
        for event in events {
            if told.send(event).await.is_err() {
                return;
            }
        }
    }
}

/// The script of an agent whose turns have so many words each.
pub(super) fn prompt(replies: &[usize]) -> String {
    let mut prompt = String::new();
    for words in replies {
        let words: Vec<String> = (0..*words).map(|word| format!("n{word}")).collect();
        prompt.push_str(&format!("say: {}.\n", words.join(" ")));
    }
    prompt
}

pub(super) struct CountingVoice;

#[async_trait]
impl TextToSpeech for CountingVoice {
    async fn open(&self, _: VoiceSettings) -> Result<Box<dyn Synthesiser>, SpeechError> {
        Ok(Box::new(Self))
    }
}

impl Synthesiser for CountingVoice {
    fn speak(&self, text: SpokenText) -> BoxStream<'static, Result<SpeechPiece, SpeechError>> {
        let words = text.text.split_whitespace();
        let sound = words.map(|word| {
            let number = word.trim_matches(|c: char| !c.is_ascii_digit());
            let frame = frame_of_word(number.parse().unwrap_or_default());
            Ok(SpeechPiece::Audio(frame.repeat(WORD_FRAMES)))
        });
        stream::iter(sound.collect::<Vec<_>>()).boxed()
    }
}
