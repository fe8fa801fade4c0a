//! Post-call webhooks: `ElevenLabs-Signature: t=<unix>,v0=<hex>` over `<t>.<raw body>`, keyed by the webhook's secret.

use std::time::Duration;

use offhook_domain::json::read_foreign;
use offhook_domain::{CallHandle, FailureReason, Timestamp};
use offhook_engine::legacy::{LegacyReport, NotGenuine};
use ring::hmac;
use serde::Deserialize;

use super::conversations::Initiation;
use crate::lenient::{Id, Lenient, Text};

/// The largest clock difference of a message, either way: the same as in the provider's own libraries.
const TOLERANCE: Duration = Duration::from_secs(30 * 60);

/// Signatures per header that are checked.
const SIGNATURES: usize = 8;

#[derive(Deserialize)]
struct Event {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    data: Lenient<Data>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Data {
    conversation_id: Id,
    user_id: Text,
    conversation_initiation_client_data: Lenient<Initiation>,
    failure_reason: Text,
}

/// Verifies a message, then parses it.
pub(super) fn read(
    secret: &str,
    signature: &str,
    body: &[u8],
    now: Timestamp,
) -> Result<Option<LegacyReport>, NotGenuine> {
    verify(secret, signature, body, now)?;
    // The message is genuine, so an unreadable one is of a type that is not used here.
    let event: Option<Event> = read_foreign(body).ok();
    Ok(event.and_then(report))
}

fn verify(secret: &str, signature: &str, body: &[u8], now: Timestamp) -> Result<(), NotGenuine> {
    let (mut sent_at, mut signatures) = (None, Vec::new());
    for element in signature.split(',') {
        match element.trim().split_once('=') {
            Some(("t", value)) if sent_at.is_none() => sent_at = Some(value),
            Some(("v0", value)) if signatures.len() < SIGNATURES => {
                signatures.extend(hex::decode(value).ok());
            }
            _ => {}
        }
    }
    let sent_at = sent_at.filter(|value| value.bytes().all(|byte| byte.is_ascii_digit()));
    let text = sent_at.ok_or(NotGenuine)?;
    let seconds: i64 = text.parse().map_err(|_| NotGenuine)?;
    if now.unix_seconds().abs_diff(seconds) > TOLERANCE.as_secs() {
        return Err(NotGenuine);
    }
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let signed = [text.as_bytes(), b".", body].concat();
    // The comparison takes constant time.
    let is_one = |tag: &Vec<u8>| hmac::verify(&key, &signed, tag).is_ok();
    signatures
        .iter()
        .any(is_one)
        .then_some(())
        .ok_or(NotGenuine)
}

fn report(event: Event) -> Option<LegacyReport> {
    let Lenient(data) = event.data;
    let failure = match event.kind.as_str() {
        "post_call_transcription" => None,
        "call_initiation_failure" => Some(match data.failure_reason.0.as_deref() {
            Some("busy") => FailureReason::Busy,
            Some("no-answer" | "no_answer") => FailureReason::NoAnswer,
            _ => FailureReason::CarrierError,
        }),
        _ => return None,
    };
    let user = data.user_id.0.as_deref().into_iter();
    let mut handles = user.chain(data.conversation_initiation_client_data.0.handles());
    let call: Option<CallHandle> = handles.find_map(|handle| handle.parse().ok());
    Some(LegacyReport {
        conversation: data.conversation_id.0?,
        call,
        failure,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "wsec_0123";
    const HANDLE: &str = "call_01928f7e-5a3b-7c4d-8e9f-0a1b2c3d4e5f";
    const AT: i64 = 1_777_000_000;

    fn signed(secret: &str, at: i64, body: &str) -> String {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
        let tag = hmac::sign(&key, format!("{at}.{body}").as_bytes());
        format!("t={at},v0={}", hex::encode(tag))
    }

    fn read_at(now: i64, signature: &str, body: &str) -> Result<Option<LegacyReport>, NotGenuine> {
        let now = Timestamp::from_micros(now * 1_000_000);
        read(SECRET, signature, body.as_bytes(), now)
    }

    #[test]
    fn a_signature_of_another_secret_body_or_time_is_none() {
        let body = r#"{"type":"post_call_transcription","data":{"conversation_id":"conv_1"}}"#;
        let genuine = signed(SECRET, AT, body);
        assert!(read_at(AT, &genuine, body).is_ok());
        for (now, is_genuine) in [
            (AT + 1_800, true),
            (AT - 1_800, true),
            (AT + 1_801, false),
            (AT - 1_801, false),
        ] {
            assert_eq!(read_at(now, &genuine, body).is_ok(), is_genuine, "{now}");
        }
        let moved = genuine.replace(&AT.to_string(), &(AT + 1).to_string());
        let tag = genuine.split_once("v0=").unwrap().1;
        for forged in [
            String::new(),
            moved,
            signed("wsec_0124", AT, body),
            format!("t={AT}"),
            format!("v0={tag}"),
            format!("t={AT},v1={tag}"),
            format!("t=+{AT},v0={tag}"),
            format!("t={AT},v0={}", &tag[..62]),
        ] {
            assert_eq!(read_at(AT, &forged, body), Err(NotGenuine), "{forged}");
        }
        assert_eq!(read_at(AT, &genuine, &format!("{body} ")), Err(NotGenuine));
        // While a secret is rotated there may be two signatures.
        let both = format!("t={AT},v0={},v0={tag}", "00".repeat(32));
        assert!(read_at(AT, &both, body).is_ok());
    }

    #[test]
    fn the_end_of_a_call_is_read_and_why_one_was_never_begun() {
        let told = |body: &str| read_at(AT, &signed(SECRET, AT, body), body).unwrap();
        let call = HANDLE.parse().ok();
        let ended = format!(
            r#"{{"type":"post_call_transcription","event_timestamp":1,"data":{{"conversation_id":"conv_1",
               "transcript":[{{"role":"agent"}}],"conversation_initiation_client_data":
               {{"dynamic_variables":{{"offhook_call_id":"{HANDLE}","system__n":3}}}}}}}}"#
        );
        let conversation = "conv_1".to_owned();
        let expected = LegacyReport {
            conversation: conversation.clone(),
            call,
            failure: None,
        };
        assert_eq!(told(&ended), Some(expected));
        for (reason, failure) in [
            ("busy", FailureReason::Busy),
            ("no-answer", FailureReason::NoAnswer),
            ("unknown", FailureReason::CarrierError),
            ("of next year", FailureReason::CarrierError),
        ] {
            let body = format!(
                r#"{{"type":"call_initiation_failure","data":{{"agent_id":"agent_1","conversation_id":"conv_1",
                   "failure_reason":"{reason}","metadata":{{"type":"twilio","body":{{}}}}}}}}"#
            );
            let expected = LegacyReport {
                conversation: conversation.clone(),
                call: None,
                failure: Some(failure),
            };
            assert_eq!(told(&body), Some(expected), "{reason}");
        }
        for odd in [
            format!(
                r#""user_id":7,"conversation_initiation_client_data":{{"user_id":"{HANDLE}","dynamic_variables":[1]}}"#
            ),
            format!(
                r#""user_id":"{HANDLE}","conversation_initiation_client_data":"x","failure_reason":{{}}"#
            ),
        ] {
            let body = format!(
                r#"{{"type":"call_initiation_failure","data":{{"conversation_id":"conv_1",{odd}}}}}"#
            );
            let expected = LegacyReport {
                conversation: conversation.clone(),
                call,
                failure: Some(FailureReason::CarrierError),
            };
            assert_eq!(told(&body), Some(expected), "{odd}");
        }
        for of_no_interest in [
            r#"{"type":"post_call_audio","data":{"conversation_id":"conv_1","full_audio":"AAAA"}}"#,
            r#"{"type":"post_call_transcription","data":{}}"#,
            r#"{"type":"post_call_transcription"}"#,
            r#"{"type":"post_call_transcription","data":"conv_1"}"#,
            r#"{"type":"post_call_transcription","data":{"conversation_id":7}}"#,
            r#"{"type":"post_call_transcription","data":{"conversation_id":"conv\u0000_1"}}"#,
            r#"{"type":7,"data":{"conversation_id":"conv_1"}}"#,
            "[]",
            "no JSON",
        ] {
            assert_eq!(told(of_no_interest), None, "{of_no_interest}");
        }
    }
}
