//! Rewrites messages on their way: translates challenges between the carriers' and the stack's syntax, and adds
//! `Retry-After`.
//!
//! The stack does not support a list of protections (`qop="auth,auth-int"`) and spells SHA-256 without its hyphen (RFC
//! 8760); either would make it give up the call.

use rsipstack::sip::{HasHeaders, Header, Response, SipMessage, StatusCode};
use rsipstack::transaction::endpoint::MessageInspector;
use rsipstack::transport::SipAddr;

/// Translates challenges and answers.
pub(crate) struct Challenges;

impl MessageInspector for Challenges {
    fn before_send(&self, mut message: SipMessage, _: Option<&SipAddr>) -> SipMessage {
        for header in message.headers_mut().iter_mut() {
            match header {
                Header::Authorization(header) => header.replace(written(header.value())),
                Header::ProxyAuthorization(header) => header.replace(written(header.value())),
                _ => {}
            }
        }
        if let SipMessage::Response(response) = &mut message {
            add_retry_after(response);
        }
        message
    }

    fn after_received(&self, mut message: SipMessage, _: Option<&SipAddr>) -> SipMessage {
        for header in message.headers_mut().iter_mut() {
            match header {
                Header::WwwAuthenticate(header) => header.replace(read(header.value())),
                Header::ProxyAuthenticate(header) => header.replace(read(header.value())),
                _ => {}
            }
        }
        message
    }
}

/// Adds `Retry-After` to a 503 (RFC 3261 §21.5.4): without it, carriers mark the whole trunk as broken.
fn add_retry_after(response: &mut Response) {
    let says = |header: &Header| matches!(header, Header::RetryAfter(_));
    if response.status_code == StatusCode::ServiceUnavailable && !response.headers.iter().any(says)
    {
        response.headers.push(Header::RetryAfter("5".into()));
    }
}

/// A carrier's challenge in the stack's syntax.
fn read(challenge: &str) -> String {
    each_parameter(challenge, |name, value| {
        let bare = value.trim_matches('"');
        if name.eq_ignore_ascii_case("qop")
            && bare
                .split(',')
                .any(|way| way.trim().eq_ignore_ascii_case("auth"))
        {
            return Some("\"auth\"".to_owned());
        }
        if name.eq_ignore_ascii_case("algorithm") && bare.eq_ignore_ascii_case("SHA-256") {
            return Some("SHA256".to_owned());
        }
        None
    })
}

/// Our answer to a challenge in the carriers' syntax.
fn written(answer: &str) -> String {
    each_parameter(answer, |name, value| {
        (name.eq_ignore_ascii_case("algorithm") && value == "SHA256").then(|| "SHA-256".to_owned())
    })
}

/// Rewrites the parameters after the scheme with the values that `change` returns.
fn each_parameter(header: &str, change: impl Fn(&str, &str) -> Option<String>) -> String {
    let Some((scheme, parameters)) = header.trim().split_once(' ') else {
        return header.to_owned();
    };
    let mut quoted = false;
    let parameters: Vec<String> = parameters
        .split(|c| {
            quoted ^= c == '"';
            c == ',' && !quoted
        })
        .map(|parameter| {
            let parameter = parameter.trim();
            let changed = parameter.split_once('=').and_then(|(name, value)| {
                let value = change(name.trim(), value.trim())?;
                Some(format!("{}={value}", name.trim()))
            });
            changed.unwrap_or_else(|| parameter.to_owned())
        })
        .collect();
    format!("{scheme} {}", parameters.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_is_read_as_the_stack_understands_it() {
        for (challenge, understood) in [
            (
                "Digest realm=\"a, b\",nonce=\"n=,\", qop=\"auth,auth-int\",algorithm=SHA-256",
                "Digest realm=\"a, b\", nonce=\"n=,\", qop=\"auth\", algorithm=SHA256",
            ),
            (
                "Digest qop=\"auth-int, AUTH\", Algorithm=\"sha-256\"",
                "Digest qop=\"auth\", Algorithm=SHA256",
            ),
            (
                "Digest realm=\"r\", nonce=\"n\", algorithm=MD5, qop=\"auth-int\"",
                "Digest realm=\"r\", nonce=\"n\", algorithm=MD5, qop=\"auth-int\"",
            ),
            ("Digest", "Digest"),
            ("", ""),
        ] {
            assert_eq!(read(challenge), understood);
        }
    }

    #[test]
    fn an_answer_is_written_as_carriers_understand_it() {
        assert_eq!(
            written("Digest username=\"algorithm=SHA256, x\", algorithm=SHA256, qop=auth"),
            "Digest username=\"algorithm=SHA256, x\", algorithm=SHA-256, qop=auth"
        );
    }
}
