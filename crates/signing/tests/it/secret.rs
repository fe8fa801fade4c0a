use offhook_signing::{InvalidSecret, SHOWN_PREFIX_CHARS, SigningSecret};
use proptest::prelude::*;
use ring::rand::SystemRandom;

const SECRET: &str = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";

#[test]
fn a_generated_secret_is_whsec_and_32_bytes_of_base64url_and_reads_back() {
    let random = SystemRandom::new();
    let secret = SigningSecret::generate(&random).unwrap();
    assert_eq!(secret.expose().len(), 49);
    assert!(secret.expose().starts_with("whsec_"));
    let read: SigningSecret = secret.expose().parse().unwrap();
    assert_eq!(read.expose(), secret.expose());
    assert_ne!(
        SigningSecret::generate(&random).unwrap().expose(),
        secret.expose()
    );
}

#[test]
fn the_shown_prefix_is_the_first_twelve_characters() {
    let secret: SigningSecret = SECRET.parse().unwrap();
    assert_eq!(secret.prefix(), "whsec_AAECAw");
    assert_eq!(secret.prefix().len(), SHOWN_PREFIX_CHARS);
}

#[test]
fn debug_output_and_errors_do_not_tell_the_secret() {
    let secret: SigningSecret = SECRET.parse().unwrap();
    assert_eq!(format!("{secret:?}"), "SigningSecret(redacted)");
    let error = format!("{SECRET}x").parse::<SigningSecret>().unwrap_err();
    assert!(!format!("{error:?} {error}").contains("AAEC"));
}

#[test]
fn what_is_no_secret_is_refused() {
    let body = &SECRET["whsec_".len()..];
    for text in [
        "",
        "whsec_",
        body,
        &format!("WHSEC_{body}"),
        &format!("whsec-{body}"),
        &format!(" {SECRET}"),
        &format!("{SECRET}\n"),
        &format!("{SECRET}="),
        &SECRET[..48],
        &format!("{SECRET}A"),
        &SECRET.replace("AAEC", "AA+C"),
        &SECRET.replace("AAEC", "AA/C"),
        &SECRET.replace("AAEC", "AA C"),
        &SECRET.replace("AAEC", "AAéC"),
        // The last character's unused bits must be zero: one secret, one text.
        &SECRET.replace("Hh8", "Hh9"),
    ] {
        assert_eq!(
            text.parse::<SigningSecret>().err(),
            Some(InvalidSecret),
            "{text}"
        );
    }
}

proptest! {
    #[test]
    fn no_text_makes_parsing_panic(text in "(whsec_)?.{0,60}") {
        if let Ok(secret) = text.parse::<SigningSecret>() {
            prop_assert_eq!(secret.expose(), text);
        }
    }
}
