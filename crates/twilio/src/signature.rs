//! Verifies callbacks: signed with the account's auth token (HMAC-SHA1), or with a shared key (HMAC-SHA256) if the
//! header `X-Twilio-Webhooks-Signature-Settings` says so. The signature covers the URL as Twilio knows it and the
//! form's fields, sorted by name, each name followed by its value.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::Url;
use ring::hmac;

/// The keys that verify signatures.
pub struct Signatures {
    token: Option<hmac::Key>,
    shared: Option<hmac::Key>,
}

impl std::fmt::Debug for Signatures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Signatures(…)")
    }
}

impl Signatures {
    /// The account's auth token, and the shared key; without either, all callbacks are rejected.
    pub fn new(auth_token: Option<&str>, signing_key: Option<&str>) -> Self {
        let key = |algorithm, secret: Option<&str>| {
            secret.map(|secret| hmac::Key::new(algorithm, secret.as_bytes()))
        };
        Self {
            token: key(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, auth_token),
            shared: key(hmac::HMAC_SHA256, signing_key),
        }
    }

    /// Whether a form sent to `url` has a valid signature. `settings` is the value of
    /// `X-Twilio-Webhooks-Signature-Settings`: it selects one of our keys, and no other key is tried.
    pub fn verify(
        &self,
        url: &Url,
        form: &[(String, String)],
        signature: &str,
        settings: Option<&str>,
    ) -> bool {
        let key = match settings.map(algorithm) {
            None => &self.token,
            Some(Some("HMAC_SHA256")) => &self.shared,
            Some(_) => return false,
        };
        let (Some(key), Ok(signature)) = (key, STANDARD.decode(signature)) else {
            return false;
        };
        // Try with and without the port: Twilio may add or omit it, whatever the configured URL has.
        let mut verified = false;
        for url in [with_port(url), without_port(url)] {
            let signed = signed_text(&url, form);
            verified |= hmac::verify(key, signed.as_bytes(), &signature).is_ok();
        }
        verified
    }
}

/// The algorithm in the header: `key=…,algorithm=HMAC_SHA256`.
fn algorithm(settings: &str) -> Option<&str> {
    settings
        .split([',', ';'])
        .filter_map(|part| part.trim().split_once('='))
        .find(|(name, _)| name.trim().eq_ignore_ascii_case("algorithm"))
        .map(|(_, value)| value.trim().trim_matches('"'))
}

fn signed_text(url: &str, form: &[(String, String)]) -> String {
    let mut members: Vec<&(String, String)> = form.iter().collect();
    members.sort();
    members.dedup();
    let mut signed = url.to_owned();
    for (name, value) in members {
        signed.push_str(name);
        signed.push_str(value);
    }
    signed
}

fn with_port(url: &Url) -> String {
    let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
        return url.as_str().to_owned();
    };
    let rest = &url[url::Position::BeforePath..];
    format!("{}://{host}:{port}{rest}", url.scheme())
}

fn without_port(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let rest = &url[url::Position::BeforePath..];
    format!("{}://{host}{rest}", url.scheme())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "12345";

    fn form() -> Vec<(String, String)> {
        [
            ("CallSid", "CA1234567890ABCDE"),
            ("Caller", "+14158675309"),
            ("Digits", "1234"),
            ("From", "+14158675309"),
            ("To", "+18005551212"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
    }

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    fn by_key(algorithm: hmac::Algorithm, secret: &str, url: &str) -> String {
        let key = hmac::Key::new(algorithm, secret.as_bytes());
        STANDARD.encode(hmac::sign(&key, signed_text(url, &form()).as_bytes()))
    }

    /// Signs like Twilio with the account's auth token.
    fn by_token(url: &str) -> String {
        by_key(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, TOKEN, url)
    }

    /// The example in Twilio's documentation, "Webhooks security".
    #[test]
    fn the_documented_example_is_twilios() {
        let signatures = Signatures::new(Some(TOKEN), None);
        let address = "https://mycompany.com/myapp.php?foo=1&bar=2";
        let signed = "RSOYDt4T1cUTdK1PDd93/VVr8B8=";
        assert_eq!(by_token(address), signed);
        assert!(signatures.verify(&url(address), &form(), signed, None));
    }

    #[test]
    fn the_port_may_be_written_or_not() {
        let signatures = Signatures::new(Some(TOKEN), None);
        for (told, signed) in [
            ("https://a.example:8443/x", "https://a.example/x"),
            ("https://a.example:8443/x", "https://a.example:8443/x"),
            ("https://a.example/x", "https://a.example:443/x"),
        ] {
            let sound = signatures.verify(&url(told), &form(), &by_token(signed), None);
            assert!(sound, "{told} {signed}");
        }
    }

    #[test]
    fn a_shared_key_signs_by_sha_256_and_stands_for_nothing_else() {
        let both = Signatures::new(Some(TOKEN), Some("shared"));
        let token_alone = Signatures::new(Some(TOKEN), None);
        let neither = Signatures::new(None, None);
        let address = "https://a.example/x";
        let by_token = by_token(address);
        let [by_shared, as_if, by_nothing] =
            ["shared", TOKEN, ""].map(|key| by_key(hmac::HMAC_SHA256, key, address));
        let settings = Some("key=webhooks_shared_key_1, algorithm=HMAC_SHA256");
        for (signatures, signature, settings, is_sound) in [
            (&both, &by_shared, settings, true),
            (&both, &by_token, None, true),
            (&both, &by_shared, None, false),
            (&both, &by_token, settings, false),
            (&both, &by_token, Some("algorithm=HMAC_SHA1"), false),
            (&both, &by_token, Some(""), false),
            (&token_alone, &by_shared, settings, false),
            (&token_alone, &as_if, settings, false),
            (&neither, &by_nothing, settings, false),
        ] {
            let sound = signatures.verify(&url(address), &form(), signature, settings);
            assert_eq!(sound, is_sound, "{signature} {settings:?}");
        }
    }

    #[test]
    fn what_was_changed_is_forged() {
        let signatures = Signatures::new(Some(TOKEN), None);
        let address = "https://a.example/x";
        let good = by_token(address);
        let mut changed = form();
        changed[2].1.push('5');
        let nothing = "AAAAAAAAAAAAAAAAAAAAAAAAAAA=";
        for (address, form, signature) in [
            (address, changed, good.as_str()),
            ("https://a.example/y", form(), &good),
            (address, form(), ""),
            (address, form(), "no base64 %"),
            (address, form(), &good[..20]),
            (address, form(), nothing),
        ] {
            let sound = signatures.verify(&url(address), &form, signature, None);
            assert!(!sound, "{address} {signature}");
        }
    }
}
