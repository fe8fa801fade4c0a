//! The messages of `v2/listen`: the service detects turns, and each message has the text of the whole turn.

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
pub(super) struct Flux {
    /// The turn's interim text.
    guess: String,
}

#[derive(Deserialize)]
struct ServerMessage {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    event: String,
    #[serde(default)]
    transcript: Lenient<String>,
}

impl RecognizerProtocol for Flux {
    fn finalize(&mut self) -> Message {
        text(&json!({"type": "ForceEndTurn"}))
    }

    fn farewell(&mut self) -> Option<Message> {
        Some(text(&json!({"type": "CloseStream"})))
    }

    fn read(&mut self, text: &str, events: &mut Vec<RecognizerEvent>) -> Result<()> {
        let message: ServerMessage = message(text)?;
        match message.kind.as_str() {
            "TurnInfo" => {
                let words = without_nul(message.transcript.0);
                self.turn(&message.event, words.trim(), events);
            }
            "Error" => return Err(SpeechError::Protocol("it reported an error")),
            // `Connected`, and unknown types.
            _ => {}
        }
        Ok(())
    }

    fn unanswered(&mut self, events: &mut Vec<RecognizerEvent>) {
        // No turn is in progress.
        if self.guess.is_empty() {
            return;
        }
        events.push(RecognizerEvent::Final(std::mem::take(&mut self.guess)));
    }
}

impl Flux {
    fn turn(&mut self, event: &str, words: &str, events: &mut Vec<RecognizerEvent>) {
        if event == "StartOfTurn" {
            events.push(RecognizerEvent::TurnBegan);
        }
        if event == "EndOfTurn" {
            self.guess.clear();
            if !words.is_empty() {
                events.push(RecognizerEvent::Final(words.to_owned()));
            }
            events.extend([RecognizerEvent::TurnEnded, RecognizerEvent::Finalized]);
            return;
        }
        if words != self.guess {
            words.clone_into(&mut self.guess);
            events.push(RecognizerEvent::Partial(words.to_owned()));
        }
        match event {
            "EagerEndOfTurn" => events.push(RecognizerEvent::TurnEndsSoon),
            "TurnResumed" => events.push(RecognizerEvent::TurnResumed),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_services_turns_are_told_with_their_words() {
        let (mut flux, mut events) = (Flux::default(), Vec::new());
        for (event, words) in [
            ("Update", ""),
            ("StartOfTurn", "I"),
            ("Update", "I need"),
            ("Update", "I need"),
            ("EagerEndOfTurn", "I need a room."),
            ("TurnResumed", "I need a room"),
            ("EndOfTurn", "I need a room for two."),
        ] {
            let text = json!({
                "type": "TurnInfo", "event": event, "turn_index": 0, "transcript": words, "words": [],
                "sequence_id": 1, "audio_window_start": 0.0, "audio_window_end": 1.0,
                "end_of_turn_confidence": 0.5, "languages": ["en"]
            });
            assert_eq!(flux.read(&text.to_string(), &mut events), Ok(()));
        }
        use RecognizerEvent::{
            Final, Finalized, Partial, TurnBegan, TurnEnded, TurnEndsSoon, TurnResumed,
        };
        assert_eq!(
            events,
            [
                TurnBegan,
                Partial("I".to_owned()),
                Partial("I need".to_owned()),
                Partial("I need a room.".to_owned()),
                TurnEndsSoon,
                Partial("I need a room".to_owned()),
                TurnResumed,
                Final("I need a room for two.".to_owned()),
                TurnEnded,
                Finalized,
            ]
        );
    }

    #[test]
    fn words_lose_their_nul() {
        let (mut flux, mut events) = (Flux::default(), Vec::new());
        for (event, words) in [
            ("Update", "\0"),
            ("Update", "I need"),
            ("Update", "I\0 need\0"),
            ("EndOfTurn", "\0 I need a\0 room.\0"),
        ] {
            let text = json!({"type": "TurnInfo", "event": event, "transcript": words});
            assert_eq!(flux.read(&text.to_string(), &mut events), Ok(()));
        }
        use RecognizerEvent::{Final, Finalized, Partial, TurnEnded};
        let partial = Partial("I need".to_owned());
        let all = Final("I need a room.".to_owned());
        assert_eq!(events, [partial, all, TurnEnded, Finalized]);
    }

    #[test]
    fn a_failure_ends_the_recognizer_and_a_greeting_does_not() {
        let (mut flux, mut events) = (Flux::default(), Vec::new());
        let connected = r#"{"type":"Connected","request_id":"r","sequence_id":0}"#;
        assert_eq!(flux.read(connected, &mut events), Ok(()));
        assert_eq!(events, []);
        assert_eq!(
            flux.read(
                r#"{"type":"Error","code":"X","description":"secret"}"#,
                &mut events
            ),
            Err(SpeechError::Protocol("it reported an error"))
        );
    }
}
