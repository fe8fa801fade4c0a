//! The path of a request as its account's request log shows it. It keeps ids, and mistakes such as `undefined` in
//! their place. It hides what may be a phone number, an e-mail address or a secret.

use actix_web::HttpRequest;
use uuid::Uuid;

/// The longest id that is not a UUID: one of the legacy provider's.
const MAX_FOREIGN_ID: usize = 64;

/// The longest word that is shown although it is not an id: secrets are longer.
const MAX_WORD: usize = 40;

/// The most digits, ignoring what stands between them, that no phone number has.
const MAX_DIGITS: usize = 6;

/// Replaces a segment that is not shown.
const HIDDEN: &str = "***";

/// The requested path, segment by segment along its route.
pub(crate) fn shown(req: &HttpRequest) -> String {
    let Some(pattern) = req.match_pattern() else {
        return req.path().to_owned();
    };
    if !pattern.contains('{') {
        return pattern;
    }
    merge(&pattern, req.match_info().as_str())
}

fn merge(pattern: &str, path: &str) -> String {
    let mut shown = String::with_capacity(path.len());
    let mut given = path.split('/');
    for (at, segment) in pattern.split('/').enumerate() {
        if at > 0 {
            shown.push('/');
        }
        let given = given.next().unwrap_or_default();
        shown.push_str(match segment.strip_prefix('{') {
            Some(_) if is_id(given) || is_word(given) => given,
            Some(_) => HIDDEN,
            None => segment,
        });
    }
    shown
}

/// A UUID, a call's handle, the legacy provider's id of an agent, or a version number.
fn is_id(text: &str) -> bool {
    let uuid = text.strip_prefix("call_").unwrap_or(text);
    let number = (1..=6).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    let foreign = || {
        text.strip_prefix("agent_").is_some_and(|rest| {
            text.len() <= MAX_FOREIGN_ID && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
        })
    };
    number || (uuid.len() == 36 && Uuid::try_parse(uuid).is_ok()) || foreign()
}

/// A word or a cut-off id: nothing that could be a phone number, an e-mail address or a key.
fn is_word(text: &str) -> bool {
    let mut digits = 0;
    text.len() <= MAX_WORD
        && !text.starts_with("service_live_")
        && !text.starts_with("whsec_")
        && text.bytes().all(|byte| {
            match byte {
                b'0'..=b'9' => digits += 1,
                b'-' | b'_' => {}
                _ => digits = 0,
            }
            digits <= MAX_DIGITS && (byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
        })
}

#[cfg(test)]
mod tests {
    use super::merge;

    #[test]
    fn ids_and_words_stay_and_what_may_be_personal_does_not() {
        let id = "0190163d-8694-739b-aea5-966c26f8ad91";
        for shown in [
            format!("/v1/calls/call_{id}"),
            format!("/v1/calls/{id}"),
            "/v1/calls/agent_01k2x".to_owned(),
            "/v1/calls/12".to_owned(),
            "/v1/calls/undefined".to_owned(),
            "/v1/calls/not-a-uuid".to_owned(),
            "/v1/calls/call_".to_owned(),
            "/v1/calls/019d-abc_123".to_owned(),
            "/v1/calls/".to_owned(),
        ] {
            assert_eq!(merge("/v1/calls/{id}", &shown), shown);
        }
        for hidden in [
            "+5215512345678",
            "%2B5215512345678",
            "5215512345678",
            "55-1234-5678",
            "call_5512345678",
            "ana@example.com",
            "ana%40example.com",
            "agent_+52",
            "service_live_00",
            "whsec_00",
            "a,b",
            "%61",
            &"ab".repeat(21),
        ] {
            let path = format!("/v1/calls/{hidden}");
            assert_eq!(merge("/v1/calls/{id}", &path), "/v1/calls/***", "{hidden}");
        }
        assert_eq!(
            merge(
                "/v1/calls/{id}/hangup",
                &format!("/v1/calls/call_{id}/hangup")
            ),
            format!("/v1/calls/call_{id}/hangup")
        );
    }
}
