//! The messages of `v1/listen`.

use offhook_engine::ports::speech::{RecognizerEvent, SpeechError};
use serde::Deserialize;
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use crate::lenient::{Lenient, without_nul};
use crate::speech::Result;
use crate::speech::listen::RecognizerProtocol;
use crate::speech::socket::{message, text};

/// The state between messages.
#[derive(Default)]
pub(super) struct Nova {
    /// The interim text, and its start in the call in seconds.
    guess: Option<(f64, String)>,
    /// Words up to here were reported as final without the service's confirmation, because it did not answer in time.
    reported_until: Option<f64>,
}

#[derive(Deserialize)]
struct Kind {
    #[serde(rename = "type", default)]
    kind: String,
}

#[derive(Deserialize)]
struct Results {
    #[serde(default)]
    is_final: bool,
    #[serde(default)]
    from_finalize: bool,
    #[serde(default)]
    start: f64,
    channel: Channel,
}

#[derive(Deserialize)]
struct Channel {
    #[serde(default)]
    alternatives: Vec<Alternative>,
}

#[derive(Deserialize)]
struct Alternative {
    #[serde(default)]
    transcript: Lenient<String>,
}

impl RecognizerProtocol for Nova {
    fn finalize(&mut self) -> Message {
        text(&json!({"type": "Finalize"}))
    }

    fn keep_alive(&mut self) -> Message {
        text(&json!({"type": "KeepAlive"}))
    }

    fn farewell(&mut self) -> Option<Message> {
        Some(text(&json!({"type": "CloseStream"})))
    }

    fn read(&mut self, text: &str, events: &mut Vec<RecognizerEvent>) -> Result<()> {
        let kind: Kind = message(text)?;
        match kind.kind.as_str() {
            "Results" => self.results(message(text)?, events),
            "Error" => return Err(SpeechError::Protocol("it reported an error")),
            // `Metadata`, `SpeechStarted`, `UtteranceEnd`, and unknown types.
            _ => {}
        }
        Ok(())
    }

    fn unanswered(&mut self, events: &mut Vec<RecognizerEvent>) {
        if let Some((start, words)) = self.guess.take() {
            self.reported_until = Some(start);
            events.push(RecognizerEvent::Final(words));
        }
    }
}

impl Nova {
    fn results(&mut self, results: Results, events: &mut Vec<RecognizerEvent>) {
        let best = results.channel.alternatives.into_iter().next();
        let words = best.map(|best| without_nul(best.transcript.0));
        let words = words.unwrap_or_default();
        let words = words.trim();
        let is_late = self
            .reported_until
            .is_some_and(|until| results.start <= until);
        if !words.is_empty() && !is_late {
            events.push(if results.is_final {
                RecognizerEvent::Final(words.to_owned())
            } else {
                RecognizerEvent::Partial(words.to_owned())
            });
        }
        if results.is_final {
            self.guess = None;
        } else if !is_late {
            self.guess =
                Some((results.start, words.to_owned())).filter(|(_, words)| !words.is_empty());
        }
        if results.from_finalize {
            events.push(RecognizerEvent::Finalized);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(start: f64, words: &str, is_final: bool, from_finalize: bool) -> String {
        json!({
            "type": "Results", "channel_index": [0, 1], "duration": 1.0, "start": start, "is_final": is_final,
            "speech_final": is_final, "from_finalize": from_finalize, "news": {"of": ["tomorrow"]},
            "channel": {"alternatives": [{"transcript": words, "confidence": 0.9, "words": []}]}
        })
        .to_string()
    }

    fn events(nova: &mut Nova, text: &str) -> Vec<RecognizerEvent> {
        let mut events = Vec::new();
        assert_eq!(nova.read(text, &mut events), Ok(()));
        events
    }

    #[test]
    fn a_guess_stands_for_an_answer_that_never_comes_and_is_not_told_twice() {
        let mut nova = Nova::default();
        events(&mut nova, &results(3.0, "Hello", false, false));
        let mut late = Vec::new();
        nova.unanswered(&mut late);
        assert_eq!(late, [RecognizerEvent::Final("Hello".to_owned())]);
        assert_eq!(
            events(&mut nova, &results(3.0, "Hello.", true, true)),
            [RecognizerEvent::Finalized]
        );
        let mut nothing = Vec::new();
        nova.unanswered(&mut nothing);
        assert_eq!(nothing, []);
        assert_eq!(
            events(&mut nova, &results(4.0, "There.", true, false)),
            [RecognizerEvent::Final("There.".to_owned())]
        );
        let silence = results(5.0, "", true, true);
        assert_eq!(events(&mut nova, &silence), [RecognizerEvent::Finalized]);
    }

    #[test]
    fn words_lose_their_nul() {
        let mut nova = Nova::default();
        assert_eq!(events(&mut nova, &results(0.0, "\0", false, false)), []);
        assert_eq!(
            events(&mut nova, &results(0.0, "\0 I\0 need", false, false)),
            [RecognizerEvent::Partial("I need".to_owned())]
        );
        assert_eq!(
            events(&mut nova, &results(0.0, "A\0 room.\0", true, false)),
            [RecognizerEvent::Final("A room.".to_owned())]
        );
    }

    #[test]
    fn other_messages_mean_nothing_and_broken_ones_end_the_recognizer() {
        let mut nova = Nova::default();
        for text in [
            r#"{"type":"Metadata","request_id":"r","channels":1}"#,
            r#"{"type":"SpeechStarted","channel":[0,1],"timestamp":1.2}"#,
            r#"{"type":"UtteranceEnd","channel":[0,1],"last_word_end":2.1}"#,
            r#"{"type":"Surprise"}"#,
            r#"{"hello":"world"}"#,
        ] {
            assert_eq!(events(&mut nova, text), []);
        }
        let mut events = Vec::new();
        for text in ["", "{", "7", r#"{"type":"Results","channel":7}"#] {
            assert_eq!(
                nova.read(text, &mut events),
                Err(SpeechError::Protocol("a message is not of its form")),
                "{text}"
            );
        }
        assert_eq!(
            nova.read(r#"{"type":"Error","description":"secret"}"#, &mut events),
            Err(SpeechError::Protocol("it reported an error"))
        );
    }
}
