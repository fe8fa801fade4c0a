//! The path of a request as its account's log keeps it: with the ids in it, and without anything else that a client may
//! have written in their place, such as a phone number.

use actix_web::HttpRequest;
use uuid::Uuid;

/// The longest id that is no UUID: one of the legacy provider's.
const MAX_FOREIGN_ID: usize = 64;

/// The path that was asked, segment by segment as its route has it.
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
        let given = given.next().filter(|given| is_id(given));
        shown.push_str(match segment.strip_prefix('{') {
            Some(_) => given.unwrap_or(segment),
            None => segment,
        });
    }
    shown
}

/// A UUID, a call's handle, the legacy provider's id of an agent, or the number of a version.
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

#[cfg(test)]
mod tests {
    use super::merge;

    #[test]
    fn ids_stay_and_what_else_stands_in_their_place_does_not() {
        let id = "0190163d-8694-739b-aea5-966c26f8ad91";
        for shown in [
            format!("/v1/calls/call_{id}"),
            format!("/v1/calls/{id}"),
            "/v1/calls/agent_01k2x".to_owned(),
            "/v1/calls/12".to_owned(),
        ] {
            assert_eq!(merge("/v1/calls/{id}", &shown), shown);
        }
        for hidden in [
            "+5215512345678",
            "5215512345678",
            "ana",
            "",
            "call_",
            "agent_+52",
        ] {
            let path = format!("/v1/calls/{hidden}");
            assert_eq!(merge("/v1/calls/{id}", &path), "/v1/calls/{id}", "{hidden}");
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
