//! The messages of a media stream, and its connection.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use offhook_engine::ports::audio::Frame;
use offhook_engine::ports::callbacks::MediaConnection;
use offhook_media::codec::Codec;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use crate::carrier::Lines;
use crate::line::{Line, Signal, Text};
use crate::settings::is_sid;

/// How long a connection may take to name its call.
const START_WITHIN: Duration = Duration::from_secs(5);

/// Connections that have not proved that they carry a call's audio, per call and in total. Anyone with the call's
/// handle can open one.
const MOST_UNNAMED_OF_CALL: usize = 4;
const MOST_UNNAMED: usize = 256;

/// Invalid messages of a known call at most; with more, the connection is closed.
const MOST_FAULTS: u32 = 50;

#[derive(Deserialize)]
struct Message {
    event: String,
    #[serde(rename = "streamSid")]
    stream_sid: Option<String>,
    start: Option<Start>,
    media: Option<Media>,
    dtmf: Option<Dtmf>,
    mark: Option<Mark>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Start {
    stream_sid: Option<String>,
    account_sid: String,
    call_sid: String,
    media_format: MediaFormat,
    #[serde(default)]
    custom_parameters: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MediaFormat {
    encoding: String,
    sample_rate: Value,
    channels: Value,
}

impl MediaFormat {
    /// Numbers may be sent as text.
    fn is_telephony(&self) -> bool {
        let is = |value: &Value, number: u64| {
            value.as_u64() == Some(number) || value.as_str() == Some(&number.to_string())
        };
        self.encoding == "audio/x-mulaw" && is(&self.sample_rate, 8_000) && is(&self.channels, 1)
    }
}

#[derive(Deserialize)]
struct Media {
    track: Option<String>,
    payload: String,
}

#[derive(Deserialize)]
struct Dtmf {
    digit: String,
}

#[derive(Deserialize)]
struct Mark {
    name: String,
}

/// The stream parameter with the secret token of a call, which only its process knows.
const TOKEN: &str = "token";

/// The TwiML for an answered call: open a connection for its audio.
pub(crate) fn connect_twiml(url: &str, token: &str) -> String {
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?><Response><Connect><Stream url="{}"><Parameter name="{TOKEN}" value="{}"/></Stream></Connect></Response>"#,
        escaped(url),
        escaped(token)
    )
}

/// The TwiML for a transferred call.
pub(crate) fn dial_twiml(from: &str, to: &str) -> String {
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?><Response><Dial callerId="{}">{}</Dial></Response>"#,
        escaped(from),
        escaped(to)
    )
}

/// The TwiML for a rejected call: `reason` is `busy` or `rejected`, with different tones.
pub(crate) fn reject_twiml(reason: &str) -> String {
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?><Response><Reject reason="{reason}"/></Response>"#
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// 20 ms of audio for a stream.
pub(crate) fn media(stream_sid: &str, frame: &Frame) -> String {
    let mut codes = Vec::with_capacity(frame.len());
    Codec::Pcmu.encode_into(frame, &mut codes);
    let media = json!({"payload": STANDARD.encode(codes)});
    json!({"event": "media", "streamSid": stream_sid, "media": media}).to_string()
}

/// A mark for a stream.
pub(crate) fn mark(stream_sid: &str, name: &str) -> String {
    json!({"event": "mark", "streamSid": stream_sid, "mark": {"name": name}}).to_string()
}

/// Clears the audio that was sent to a stream and not played.
pub(crate) fn clear(stream_sid: &str) -> String {
    json!({"event": "clear", "streamSid": stream_sid}).to_string()
}

/// The reservation of a connection that has not proved that it carries a call's audio.
struct Place {
    lines: Arc<Lines>,
    /// The call that it was opened for.
    line: Arc<Line>,
}

impl Place {
    fn reserve(lines: &Arc<Lines>, line: Arc<Line>) -> Option<Self> {
        let of_call = line.unnamed.fetch_add(1, Ordering::Relaxed);
        let of_all = lines.unnamed.fetch_add(1, Ordering::Relaxed);
        let lines = Arc::clone(lines);
        // Dropping it decrements the counters again.
        let place = Self { lines, line };
        (of_call < MOST_UNNAMED_OF_CALL && of_all < MOST_UNNAMED).then_some(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.line.unnamed.fetch_sub(1, Ordering::Relaxed);
        self.lines.unnamed.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A connection opened by Twilio, or by anyone with a call's handle.
pub(crate) struct Connection {
    lines: Arc<Lines>,
    /// The call whose audio it carries, once proved.
    line: Option<Arc<Line>>,
    opened_at: Instant,
    has_stopped: bool,
    faults: u32,
    /// Its reservation until then.
    place: Option<Place>,
}

impl Connection {
    /// A connection for a call's audio; `None` if there is no room for it.
    pub(crate) fn open(lines: Arc<Lines>, line: Arc<Line>) -> Option<Self> {
        let place = Place::reserve(&lines, line)?;
        Some(Self {
            lines,
            line: None,
            opened_at: Instant::now(),
            has_stopped: false,
            faults: 0,
            place: Some(place),
        })
    }

    /// Before the call is known, no fault is tolerated; afterwards, a few are.
    fn fault(&mut self) -> bool {
        self.faults += 1;
        self.line.is_some() && self.faults <= MOST_FAULTS
    }

    fn start(&mut self, start: Start, stream_sid: Option<String>) -> bool {
        // From here on the call may use this id.
        if self.line.is_some() || !is_sid(&start.call_sid, "CA") {
            return self.fault();
        }
        let Some(place) = self.place.take() else {
            return false;
        };
        if start.account_sid != place.line.party.account() {
            return false;
        }
        let line = Arc::clone(&place.line);
        let token = start.custom_parameters.get(TOKEN).and_then(Value::as_str);
        let is_its = token.is_some_and(|token| self.lines.use_token(token, &line));
        if !is_its {
            return false;
        }
        let sid = start.call_sid;
        let Some(stream_sid) = start.stream_sid.or(stream_sid) else {
            line.signal(Signal::Unusable { sid });
            return false;
        };
        if !start.media_format.is_telephony() {
            line.signal(Signal::Unusable { sid });
            return false;
        }
        line.connected(stream_sid);
        line.signal(Signal::Started { sid });
        self.line = Some(line);
        true
    }

    fn media(&mut self, media: &Media) -> bool {
        let is_theirs = media
            .track
            .as_deref()
            .is_none_or(|track| track == "inbound");
        let (Some(line), true) = (&self.line, is_theirs) else {
            return self.fault();
        };
        let is_sound = STANDARD
            .decode(&media.payload)
            .is_ok_and(|codes| line.inbox.lock().put(&codes));
        is_sound || self.fault()
    }
}

#[async_trait]
impl MediaConnection for Connection {
    fn receive(&mut self, text: &str) -> bool {
        let Ok(message) = serde_json::from_str::<Message>(text) else {
            return self.fault();
        };
        match (message.event.as_str(), &self.line) {
            ("start", _) => match message.start {
                Some(start) => self.start(start, message.stream_sid),
                None => self.fault(),
            },
            ("media", _) => match &message.media {
                Some(media) => self.media(media),
                None => self.fault(),
            },
            ("dtmf", Some(line)) => {
                let key = message.dtmf.as_ref().and_then(|dtmf| {
                    let mut keys = dtmf.digit.chars();
                    keys.next().filter(|_| keys.next().is_none())
                });
                match key {
                    Some(key @ ('0'..='9' | '*' | '#' | 'A'..='D')) => {
                        line.signal(Signal::Key(key));
                        true
                    }
                    _ => self.fault(),
                }
            }
            ("mark", Some(line)) => match &message.mark {
                Some(mark) => {
                    line.echoes.lock().echo(&mark.name, Instant::now());
                    true
                }
                None => self.fault(),
            },
            ("stop", Some(line)) => {
                self.has_stopped = true;
                line.signal(Signal::Stopped);
                true
            }
            // Messages before the call is known, and unknown message types.
            ("connected", _) => true,
            (_, known) => known.is_some() || self.fault(),
        }
    }

    async fn next(&mut self) -> Option<String> {
        match &self.line {
            Some(line) => line.outbox.next().await.map(|text| match text {
                Text::Speech(text) | Text::Clear(text) => text,
            }),
            None => {
                if self.place.is_some() {
                    sleep_until(self.opened_at + START_WITHIN).await;
                }
                None
            }
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(line) = &self.line
            && !self.has_stopped
        {
            line.signal(Signal::Gone);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_sent_to_its_stream_by_its_token_alone() {
        assert_eq!(
            connect_twiml("wss://a.example/callbacks/twilio/call_1/media", "t<&\">"),
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?><Response><Connect>\
             <Stream url=\"wss://a.example/callbacks/twilio/call_1/media\">\
             <Parameter name=\"token\" value=\"t&lt;&amp;&quot;&gt;\"/></Stream></Connect></Response>"
        );
    }

    #[test]
    fn sound_is_sent_as_mu_law() {
        let text = media("MZ1", &[0; 160]);
        let message: Value = serde_json::from_str(&text).unwrap();
        let payload = STANDARD.encode([0xff; 160]);
        assert_eq!(
            message,
            json!({"event": "media", "streamSid": "MZ1", "media": {"payload": payload}})
        );
    }

    #[test]
    fn numbers_may_be_texts() {
        for (encoding, rate, channels, good) in [
            ("audio/x-mulaw", json!(8000), json!(1), true),
            ("audio/x-mulaw", json!("8000"), json!("1"), true),
            ("audio/x-mulaw", json!(16000), json!(1), false),
            ("audio/l16", json!(8000), json!(1), false),
            ("audio/x-mulaw", json!(8000), json!(2), false),
        ] {
            let format = json!({"encoding": encoding, "sampleRate": rate, "channels": channels});
            let read: MediaFormat = serde_json::from_value(format.clone()).unwrap();
            assert_eq!(read.is_telephony(), good, "{format}");
        }
    }
}
