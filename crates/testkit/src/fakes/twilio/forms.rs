//! The forms that Twilio posts, with Twilio's signatures.

use std::net::SocketAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use ring::hmac;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{OWN_ACCOUNT, OWN_TOKEN, PlacedCall, SIGNING_KEY, TOKEN};

/// A form with its signature, for one of our routes.
#[derive(Debug, Clone)]
pub struct SignedForm {
    pub path: String,
    /// The headers that Twilio sends with it.
    pub headers: Vec<(&'static str, String)>,
    pub body: String,
}

/// How a form is signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// With the token of the call's account, by HMAC-SHA1. A form without a call uses the deployment's token.
    Token,
    /// With the token of [`OWN_ACCOUNT`].
    OwnToken,
    /// With the shared key, by HMAC-SHA256.
    SharedKey,
}

/// Twilio's status callback for a call, with these additional members.
pub fn status_form(
    call: &PlacedCall,
    status: &str,
    more: &[(&str, &str)],
    scheme: Scheme,
) -> SignedForm {
    let url = call.asked("StatusCallback").unwrap_or_default();
    let mut members = vec![("CallStatus", status)];
    members.extend(more);
    signed_form(call, url, &members, scheme)
}

/// Twilio's callback once answering machine detection is done.
pub fn verdict_form(call: &PlacedCall, verdict: &str) -> SignedForm {
    let url = call.asked("AsyncAmdStatusCallback").unwrap_or_default();
    signed_form(call, url, &[("AnsweredBy", verdict)], Scheme::Token)
}

fn signed_form(call: &PlacedCall, url: &str, more: &[(&str, &str)], scheme: Scheme) -> SignedForm {
    let mut members = vec![
        ("CallSid", call.sid.as_str()),
        ("AccountSid", call.account),
        ("From", call.asked("From").unwrap_or_default()),
        ("To", call.asked("To").unwrap_or_default()),
        ("Direction", "outbound-api"),
        ("ApiVersion", "2010-04-01"),
    ];
    members.extend(more);
    let scheme = match (scheme, call.account) {
        (Scheme::Token, OWN_ACCOUNT) => Scheme::OwnToken,
        (scheme, _) => scheme,
    };
    sign(url, &members, scheme)
}

/// Twilio's request to `url` when a caller dials a number of [`OWN_ACCOUNT`].
pub fn incoming_form(url: &str, sid: &str, from: &str, to: &str) -> SignedForm {
    let members = [
        ("CallSid", sid),
        ("AccountSid", OWN_ACCOUNT),
        ("From", from),
        ("To", to),
        ("CallStatus", "ringing"),
        ("Direction", "inbound"),
        ("ApiVersion", "2010-04-01"),
    ];
    sign(url, &members, Scheme::OwnToken)
}

/// A signed form with these members for one of our URLs.
pub fn sign(url: &str, members: &[(&str, &str)], scheme: Scheme) -> SignedForm {
    let mut sorted = members.to_vec();
    sorted.sort_unstable();
    let mut text = url.to_owned();
    for (name, value) in sorted {
        text.push_str(name);
        text.push_str(value);
    }
    let (algorithm, key) = match scheme {
        Scheme::Token => (hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, TOKEN),
        Scheme::OwnToken => (hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, OWN_TOKEN),
        Scheme::SharedKey => (hmac::HMAC_SHA256, SIGNING_KEY),
    };
    let signed = hmac::sign(&hmac::Key::new(algorithm, key.as_bytes()), text.as_bytes());
    let mut headers = vec![("x-twilio-signature", STANDARD.encode(signed))];
    if scheme == Scheme::SharedKey {
        let settings = "key=webhooks_shared_key_1,algorithm=HMAC_SHA256".to_owned();
        headers.push(("x-twilio-webhooks-signature-settings", settings));
    }
    let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    let pairs: Vec<String> = members
        .iter()
        .map(|(name, value)| format!("{}={}", encoded(name), encoded(value)))
        .collect();
    let path = url.splitn(4, '/').nth(3).unwrap_or_default();
    SignedForm {
        path: format!("/{path}"),
        headers,
        body: pairs.join("&"),
    }
}

impl SignedForm {
    /// Posts the form to a local server and returns the response's status code.
    ///
    /// # Panics
    /// If the server does not respond.
    pub async fn post(&self, to: SocketAddr) -> u16 {
        self.exchange(to).await.0
    }

    /// As [`SignedForm::post`], with the body of the response.
    ///
    /// # Panics
    /// If the server does not respond.
    pub async fn exchange(&self, to: SocketAddr) -> (u16, String) {
        let mut request = format!(
            "POST {} HTTP/1.1\r\nhost: {to}\r\nconnection: close\r\ncontent-type: application/x-www-form-urlencoded\r\n\
             content-length: {}\r\n",
            self.path,
            self.body.len()
        );
        for (name, value) in &self.headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str("\r\n");
        request.push_str(&self.body);
        let exchange = async {
            let mut socket = TcpStream::connect(to).await?;
            socket.write_all(request.as_bytes()).await?;
            let mut answer = Vec::new();
            socket.read_to_end(&mut answer).await?;
            Ok::<_, std::io::Error>(answer)
        };
        let answer = exchange.await;
        let answer = answer.unwrap_or_else(|error| panic!("{}: {error}", self.path));
        let answer = String::from_utf8_lossy(&answer);
        let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status = status.unwrap_or_else(|| panic!("no answer to {}", self.path));
        let body = answer.split_once("\r\n\r\n").map(|(_, body)| body);
        (status, body.unwrap_or_default().to_owned())
    }

    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<String> {
        let found = self.headers.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value.clone())
    }
}
