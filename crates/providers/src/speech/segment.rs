//! Shared code of recognizers that transcribe one utterance at a time.

use futures_util::FutureExt as _;
use std::collections::VecDeque;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use offhook_engine::ports::audio::{FRAME_SAMPLES, Frame, SAMPLE_RATE};
use offhook_engine::ports::speech::{
    INPUTS_AHEAD, Recognizer, RecognizerEvent, RecognizerInput, SpeechError,
};
use tokio::sync::mpsc;

use crate::lenient::without_nul;
use crate::speech::Result;

/// Events that may wait for the engine.
const EVENTS_AHEAD: usize = 64;

/// Frames before the start mark that belong to the utterance: half a second.
const FRAMES_BEFORE: usize = 25;

/// The longest part of an utterance, in samples: half a minute. Longer ones are split.
const LONGEST: usize = 30 * SAMPLE_RATE as usize;

/// Utterances that may wait for transcription; with more, the service is too slow for a conversation.
const WAITING: usize = 4;

/// Transcribes one utterance.
#[async_trait]
pub(crate) trait Transcriber: Send + Sync + 'static {
    /// The text of these samples. Dropping the future cancels the transcription.
    async fn transcribe(&self, samples: Vec<i16>) -> Result<String>;
}

/// Starts a recognizer that handles one utterance after the other.
pub(crate) fn listen(transcriber: Arc<dyn Transcriber>) -> Recognizer {
    let (input, inputs) = mpsc::channel(INPUTS_AHEAD);
    let (sender, events) = mpsc::channel(EVENTS_AHEAD);
    let task = SpeechInput {
        transcriber,
        events: sender,
        before: VecDeque::with_capacity(FRAMES_BEFORE),
        speech: None,
        waiting: VecDeque::new(),
        running: None,
    };
    tokio::spawn(task.run(inputs).boxed());
    Recognizer { input, events }
}

struct SpeechInput {
    transcriber: Arc<dyn Transcriber>,
    events: mpsc::Sender<RecognizerEvent>,
    /// The most recent frames, which belong to no utterance yet.
    before: VecDeque<Frame>,
    /// The current utterance.
    speech: Option<Vec<i16>>,
    waiting: VecDeque<Utterance>,
    running: Option<Running>,
}

struct Utterance {
    samples: Vec<i16>,
    /// Whether the engine waits for its result.
    is_awaited: bool,
}

struct Running {
    words: BoxFuture<'static, Result<String>>,
    is_awaited: bool,
}

/// The engine has closed its side.
struct Gone;

impl SpeechInput {
    async fn run(mut self, mut inputs: mpsc::Receiver<RecognizerInput>) {
        loop {
            self.begin_next();
            let done = tokio::select! {
                () = self.events.closed() => return,
                input = inputs.recv() => match input {
                    // Pending transcriptions are canceled.
                    None => return,
                    Some(input) => self.handle(input).await,
                },
                (words, is_awaited) = understood(&mut self.running) => {
                    self.running = None;
                    self.report(words, is_awaited).await
                }
            };
            if done.is_err() {
                return;
            }
        }
    }

    async fn handle(&mut self, input: RecognizerInput) -> Result<(), Gone> {
        match input {
            RecognizerInput::Frame(frame) => match &mut self.speech {
                Some(speech) => {
                    speech.extend_from_slice(&*frame);
                    if speech.len() >= LONGEST {
                        let samples = std::mem::take(speech);
                        return self.enqueue(samples, false).await;
                    }
                }
                None => {
                    if self.before.len() == FRAMES_BEFORE {
                        self.before.pop_front();
                    }
                    self.before.push_back(*frame);
                }
            },
            RecognizerInput::SpeechBegan => {
                if self.speech.is_none() {
                    let mut speech = Vec::with_capacity(LONGEST / 8);
                    for frame in self.before.drain(..) {
                        speech.extend_from_slice(&frame);
                    }
                    self.speech = Some(speech);
                }
            }
            RecognizerInput::Finalize => {
                let samples = self.speech.take().unwrap_or_default();
                return self.enqueue(samples, true).await;
            }
        }
        Ok(())
    }

    async fn enqueue(&mut self, samples: Vec<i16>, is_awaited: bool) -> Result<(), Gone> {
        if self.waiting.len() == WAITING {
            return self
                .send(RecognizerEvent::Failed(SpeechError::Timeout), true)
                .await;
        }
        self.waiting.push_back(Utterance {
            samples,
            is_awaited,
        });
        Ok(())
    }

    fn begin_next(&mut self) {
        if self.running.is_some() {
            return;
        }
        if let Some(Utterance {
            samples,
            is_awaited,
        }) = self.waiting.pop_front()
        {
            let transcriber = Arc::clone(&self.transcriber);
            let words: BoxFuture<_> = Box::pin(async move {
                // Less than a frame is no utterance.
                if samples.len() < FRAME_SAMPLES {
                    return Ok(String::new());
                }
                transcriber.transcribe(samples).await
            });
            self.running = Some(Running { words, is_awaited });
        }
    }

    async fn report(&mut self, words: Result<String>, is_awaited: bool) -> Result<(), Gone> {
        match words {
            Ok(words) => {
                let words = without_nul(words);
                let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
                if !words.is_empty() {
                    self.send(RecognizerEvent::Final(words), false).await?;
                }
                if is_awaited {
                    self.send(RecognizerEvent::Finalized, false).await?;
                }
                Ok(())
            }
            Err(error) => self.send(RecognizerEvent::Failed(error), true).await,
        }
    }

    async fn send(&mut self, event: RecognizerEvent, is_last: bool) -> Result<(), Gone> {
        self.events.send(event).await.map_err(|_| Gone)?;
        if is_last { Err(Gone) } else { Ok(()) }
    }
}

/// The result of the running transcription; never resolves without one.
async fn understood(running: &mut Option<Running>) -> (Result<String>, bool) {
    match running {
        Some(running) => ((&mut running.words).await, running.is_awaited),
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use tokio::sync::Notify;

    use super::*;

    /// Returns the length of the audio as text, on a signal.
    #[derive(Default)]
    struct Scale {
        heard: Mutex<Vec<Vec<i16>>>,
        go_on: Notify,
    }

    #[async_trait]
    impl Transcriber for Scale {
        async fn transcribe(&self, samples: Vec<i16>) -> Result<String> {
            let frames = samples.len() / FRAME_SAMPLES;
            self.heard.lock().unwrap().push(samples);
            self.go_on.notified().await;
            if frames == 26 {
                return Err(SpeechError::Refused(429));
            }
            Ok(format!(" {frames}\n frames "))
        }
    }

    fn frames(count: usize, sample: i16) -> Vec<RecognizerInput> {
        let frame = || RecognizerInput::Frame(Box::new([sample; FRAME_SAMPLES]));
        std::iter::repeat_with(frame).take(count).collect()
    }

    async fn give(recognizer: &Recognizer, inputs: Vec<RecognizerInput>) {
        for input in inputs {
            recognizer.input.send(input).await.unwrap();
        }
    }

    fn recognizer() -> (Arc<Scale>, Recognizer) {
        let scale = Arc::new(Scale::default());
        (scale.clone(), listen(scale))
    }

    /// Sends an utterance of `count` frames.
    async fn utter(recognizer: &Recognizer, count: usize) {
        give(recognizer, vec![RecognizerInput::SpeechBegan]).await;
        give(recognizer, frames(count, 1)).await;
        give(recognizer, vec![RecognizerInput::Finalize]).await;
    }

    async fn next_events(recognizer: &mut Recognizer, count: usize) -> Vec<RecognizerEvent> {
        let mut events = Vec::new();
        for _ in 0..count {
            events.extend(recognizer.events.recv().await);
        }
        events
    }

    fn words(text: &str) -> RecognizerEvent {
        RecognizerEvent::Final(text.to_owned())
    }

    #[tokio::test]
    async fn an_utterance_has_half_a_second_before_it() {
        let (scale, mut recognizer) = recognizer();
        give(&recognizer, frames(40, 1)).await;
        give(&recognizer, vec![RecognizerInput::SpeechBegan]).await;
        give(&recognizer, frames(10, 2)).await;
        give(&recognizer, vec![RecognizerInput::Finalize]).await;
        scale.go_on.notify_one();
        let events = next_events(&mut recognizer, 2).await;
        assert_eq!(events, [words("35 frames"), RecognizerEvent::Finalized]);
        let heard = scale.heard.lock().unwrap().remove(0);
        assert_eq!(heard[..25 * FRAME_SAMPLES], [1; 25 * FRAME_SAMPLES]);
        assert_eq!(heard[25 * FRAME_SAMPLES..], [2; 10 * FRAME_SAMPLES]);
    }

    #[tokio::test]
    async fn silence_yields_no_transcription() {
        let (scale, mut recognizer) = recognizer();
        give(&recognizer, frames(40, 1)).await;
        give(&recognizer, vec![RecognizerInput::Finalize]).await;
        assert_eq!(
            next_events(&mut recognizer, 1).await,
            [RecognizerEvent::Finalized]
        );
        assert_eq!(scale.heard.lock().unwrap().len(), 0);
    }

    #[tokio::test]
    async fn utterances_are_understood_in_their_order_and_long_ones_in_parts() {
        let (scale, mut recognizer) = recognizer();
        for count in [1_510, 5] {
            utter(&recognizer, count).await;
        }
        let mut events = Vec::new();
        for count in [1, 2, 2] {
            scale.go_on.notify_one();
            events.extend(next_events(&mut recognizer, count).await);
        }
        assert_eq!(
            events,
            [
                words("1500 frames"),
                words("10 frames"),
                RecognizerEvent::Finalized,
                words("5 frames"),
                RecognizerEvent::Finalized
            ]
        );
    }

    #[tokio::test]
    async fn a_failure_ends_the_recognizer() {
        let (scale, mut recognizer) = recognizer();
        utter(&recognizer, 26).await;
        scale.go_on.notify_one();
        let failed = RecognizerEvent::Failed(SpeechError::Refused(429));
        assert_eq!(next_events(&mut recognizer, 2).await, [failed]);
        assert!(recognizer.input.is_closed());
    }

    #[tokio::test]
    async fn a_service_that_falls_behind_is_given_up() {
        let (_scale, mut recognizer) = recognizer();
        for _ in 0..=WAITING + 1 {
            utter(&recognizer, 3).await;
        }
        let failed = RecognizerEvent::Failed(SpeechError::Timeout);
        assert_eq!(next_events(&mut recognizer, 2).await, [failed]);
    }
}
