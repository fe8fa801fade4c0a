//! An account's credential for answering on WhatsApp.

use std::collections::BTreeMap;

use ring::hmac;

use crate::error::SecretFault;
use crate::prelude::*;

/// Characters of each secret at most.
const SECRET_CHARS: usize = 1_024;

/// Numbers that one app may have here.
const NUMBERS: usize = 50;

/// Digits of WhatsApp's id of a number.
const ID_DIGITS: usize = 32;

/// A WhatsApp Business app and its numbers: a JSON object of `access_token`, `app_secret`, `verify_token` and
/// `phone_numbers`. The last maps WhatsApp's id of each number to the account's number. The number that WhatsApp
/// displays is meant for people, and may differ from the one that calls go to.
pub(crate) struct WhatsAppCredential {
    pub(crate) access_token: String,
    app_secret: String,
    verify_token: String,
    numbers: BTreeMap<String, E164>,
}

impl WhatsAppCredential {
    /// Parses a secret. The error names the wrong field and contains nothing of the secret.
    pub(crate) fn read(secret: &str) -> Result<Self, SecretFault> {
        let json = Json::parse(secret.as_bytes()).map_err(|error| match error {
            JsonError::NotJson => SecretFault::WhatsApp,
            JsonError::Field(fault) => SecretFault::Field(fault),
        })?;
        Self::of(&json).map_err(SecretFault::Field)
    }

    fn of(json: &Json) -> Result<Self, FieldError> {
        let mut fields = Fields::of(json, "")?;
        let mut text = |name: &str| {
            let text = fields.required_string(name, 1..=SECRET_CHARS)?;
            match text.bytes().all(|byte| byte.is_ascii_graphic()) {
                true => Ok(text.to_owned()),
                false => Err(fields.fault(name, Fault::Graphic)),
            }
        };
        let (access_token, app_secret) = (text("access_token")?, text("app_secret")?);
        let verify_token = text("verify_token")?;
        let path = fields.path_of("phone_numbers");
        let Json::Object(members) = fields.required("phone_numbers")? else {
            return Err(fields.fault("phone_numbers", Fault::NumberIds));
        };
        if members.is_empty() || members.len() > NUMBERS {
            return Err(fields.fault("phone_numbers", Fault::NumberCount(NUMBERS)));
        }
        let mut numbers = BTreeMap::new();
        for (id, number) in members {
            let is_id =
                (1..=ID_DIGITS).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_digit());
            if !is_id {
                return Err(fields.fault("phone_numbers", Fault::NumberId));
            }
            let number: Result<E164, _> = number.as_str().unwrap_or_default().parse();
            let number = number.map_err(|fault| FieldError::new(format!("{path}.{id}"), fault))?;
            numbers.insert(id.clone(), number);
        }
        fields.finish()?;
        Ok(Self {
            access_token,
            app_secret,
            verify_token,
            numbers,
        })
    }

    /// The account's number with this WhatsApp id.
    pub(crate) fn number(&self, id: &str) -> Option<&E164> {
        self.numbers.get(id)
    }

    /// Whether `token` is the verify token, in constant time.
    pub(crate) fn is_verify_token(&self, token: &str) -> bool {
        let of = |text: &str| hmac::Key::new(hmac::HMAC_SHA256, text.as_bytes());
        let tag = hmac::sign(&of(token), b"verify");
        hmac::verify(&of(&self.verify_token), b"verify", tag.as_ref()).is_ok()
    }

    /// Whether the app signed this body: `sha256=` and its HMAC-SHA256 in hexadecimal, keyed with the app secret.
    pub(crate) fn has_signed(&self, signature: &str, body: &[u8]) -> bool {
        is_signed(&self.app_secret, signature, body)
    }
}

/// Verifies a signature in vain if there is no app, so that an unknown account takes as long as a known one.
pub(crate) fn is_signed_by_nobody(signature: &str, body: &[u8]) -> bool {
    let _ = is_signed("nobody", signature, body);
    false
}

fn is_signed(secret: &str, signature: &str, body: &[u8]) -> bool {
    let digest = signature.strip_prefix("sha256=");
    let digest = digest.and_then(|digest| hex::decode(digest).ok());
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    hmac::verify(&key, body, &digest.unwrap_or_default()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::WhatsAppCredential as C;

    const GOOD: &str = r#"{"access_token": "EAAB", "app_secret": "s3cret", "verify_token": "v3rify",
        "phone_numbers": {"106540352242922": "+15550783881"}}"#;

    fn fault(secret: &str) -> String {
        C::read(secret).map_or_else(|fault| fault.to_string(), |_| String::new())
    }

    #[test]
    fn a_credential_knows_its_numbers_its_token_and_what_its_app_signed() {
        let credential = C::read(GOOD).unwrap_or_else(|fault| panic!("{fault}"));
        let number = credential.number("106540352242922");
        assert_eq!(
            number.map(ToString::to_string).as_deref(),
            Some("+15550783881")
        );
        assert!(credential.number("1").is_none());
        assert!(credential.is_verify_token("v3rify"));
        assert!(!credential.is_verify_token("v3rif") && !credential.is_verify_token(""));
        for forged in ["", "sha256=", "sha256=zz", "sha1=00"] {
            assert!(!credential.has_signed(forged, b"{}"), "{forged}");
        }
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, b"s3cret");
        let signed = hex::encode(ring::hmac::sign(&key, b"{}"));
        assert!(credential.has_signed(&format!("sha256={signed}"), b"{}"));
        assert!(!credential.has_signed(&format!("sha256={signed}"), b"{} "));
    }

    #[test]
    fn a_faulty_secret_is_told_by_its_field_and_never_by_its_content() {
        let cases = [
            ("EAAB", "the secret must be a JSON object with"),
            (
                &GOOD.replace("\"app_secret\"", "\"secret\""),
                "`app_secret`: ",
            ),
            (&GOOD.replace("EAAB", ""), "`access_token`: "),
            (
                &GOOD.replace("v3rify", "v3 rify"),
                "`verify_token`: must be printable",
            ),
            (
                &GOOD.replace("106540352242922", "+1"),
                "`phone_numbers`: each name must be a phone number id",
            ),
            (
                &GOOD.replace("+15550783881", "15550783881"),
                "`phone_numbers.106540352242922`: must begin with `+`",
            ),
            (
                &GOOD.replace("{\"1", "[{\"1").replace("}}", "}]}"),
                "`phone_numbers`: must be an object",
            ),
            (
                &GOOD.replace("\"access_token\"", "\"b\": 1, \"access_token\""),
                "`b`: unknown field",
            ),
        ];
        for (secret, begins) in cases {
            let fault = fault(secret);
            assert!(fault.starts_with(begins), "{fault}");
            assert!(
                !fault.contains("s3cret") && !fault.contains("EAAB"),
                "{fault}"
            );
        }
    }
}
