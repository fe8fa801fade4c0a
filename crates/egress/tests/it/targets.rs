//! The syntax of targets.

use offhook_domain::json::UrlFault as Fault;
use offhook_egress::{MAX_URL_CHARACTERS, Policy, TargetUrl};
use proptest::prelude::*;

const PUBLIC: Policy = Policy {
    allow_private: false,
};
const PRIVATE: Policy = Policy {
    allow_private: true,
};

fn fault(text: &str) -> Option<Fault> {
    TargetUrl::parse(text, PUBLIC).err()
}

#[test]
fn public_https_urls_are_accepted_in_normal_form() {
    for (text, normal) in [
        ("https://example.com", "https://example.com/"),
        (
            "https://EXAMPLE.com/Hook?a=1",
            "https://example.com/Hook?a=1",
        ),
        ("https://example.com:443/", "https://example.com/"),
        ("https://example.com:8443/", "https://example.com:8443/"),
        ("https://example.com:1024/", "https://example.com:1024/"),
        (
            "https://my_receiver.example.com/",
            "https://my_receiver.example.com/",
        ),
        ("https://bücher.example/", "https://xn--bcher-kva.example/"),
        (
            "https://xn--bcher-kva.example/",
            "https://xn--bcher-kva.example/",
        ),
        ("https://1.example.com/", "https://1.example.com/"),
        ("https://127.0.0.1.nip.io/", "https://127.0.0.1.nip.io/"),
        ("https://example.com/a@b", "https://example.com/a@b"),
    ] {
        let target = TargetUrl::parse(text, PUBLIC).unwrap();
        assert_eq!(target.as_str(), normal, "{text}");
        assert_eq!(target.to_string(), normal, "{text}");
    }
}

#[test]
fn an_ip_address_is_refused_in_every_spelling() {
    for host in [
        "127.0.0.1",
        "127.0.0.1.",
        "127.1",
        "0x7f.1",
        "0x7f000001",
        "0177.0.0.1",
        "017700000001",
        "2130706433",
        "0",
        "8.8.8.8",
        "169.254.169.254",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[0:0:0:0:0:ffff:7f00:1]",
        "[64:ff9b::7f00:1]",
        "[2606:4700::1111]",
        "１２７.０.０.１",
        "127。0。0。1",
        "①②⑦.0.0.1",
        "%31%32%37.0.0.1",
        "example.1",
        "example.0x7f",
        "256.256.256.256",
        "1.2.3.4.5",
    ] {
        assert_eq!(
            fault(&format!("https://{host}/")),
            Some(Fault::AddressLiteral),
            "{host}"
        );
    }
}

#[test]
fn each_broken_rule_has_its_own_fault() {
    let long = format!("https://example.com/{}", "a".repeat(MAX_URL_CHARACTERS));
    let grows = format!("https://example.com/{}", "é".repeat(MAX_URL_CHARACTERS / 4));
    let label = format!("https://{}.example/", "a".repeat(64));
    let name = format!("https://{}example/", "abcdefg.".repeat(32));
    for (text, expected) in [
        (long.as_str(), Fault::TooLong),
        (grows.as_str(), Fault::TooLong),
        ("", Fault::Malformed),
        ("example.com/hook", Fault::Malformed),
        ("/hook", Fault::Malformed),
        ("https://", Fault::Malformed),
        ("https://[::1", Fault::AddressLiteral),
        ("https://example.com:99999/", Fault::Malformed),
        ("https://exam ple.com/", Fault::BadCharacter),
        (" https://example.com/", Fault::BadCharacter),
        ("https://example.com/\n", Fault::BadCharacter),
        ("https://exa\tmple.com/", Fault::BadCharacter),
        ("https://example.com/\0", Fault::BadCharacter),
        ("https://example.com\\@127.0.0.1/", Fault::BadCharacter),
        ("http://example.com/", Fault::Scheme),
        ("http://127.0.0.1/", Fault::Scheme),
        ("ftp://example.com/", Fault::Scheme),
        ("file:///etc/passwd", Fault::Scheme),
        ("gopher://example.com/", Fault::Scheme),
        ("unix:/run/docker.sock", Fault::Scheme),
        ("https://user@example.com/", Fault::Credentials),
        ("https://user:secret@example.com/", Fault::Credentials),
        ("https://:secret@example.com/", Fault::Credentials),
        ("https://example.com@127.0.0.1/", Fault::Credentials),
        ("https://example.com/#", Fault::Fragment),
        ("https://example.com/#part", Fault::Fragment),
        ("https://localhost/", Fault::LocalName),
        ("https://LOCALHOST/", Fault::LocalName),
        ("https://ⓛocalhost/", Fault::LocalName),
        ("https://a.localhost/", Fault::LocalName),
        ("https://intranet/", Fault::LocalName),
        ("https://printer.local/", Fault::LocalName),
        ("https://metadata.google.internal/", Fault::LocalName),
        ("https://localhost./", Fault::HostName),
        ("https://example.com./", Fault::HostName),
        ("https://example..com/", Fault::HostName),
        ("https://.example.com/", Fault::HostName),
        ("https://exa$mple.com/", Fault::HostName),
        (label.as_str(), Fault::HostName),
        (name.as_str(), Fault::HostName),
        ("https://example.com:0/", Fault::Port),
        ("https://example.com:22/", Fault::Port),
        ("https://example.com:80/", Fault::Port),
        ("https://example.com:1023/", Fault::Port),
    ] {
        assert_eq!(fault(text), Some(expected), "{text:?}");
    }
}

#[test]
fn the_longest_url_is_2048_characters() {
    let longest = format!(
        "https://example.com/{}",
        "a".repeat(MAX_URL_CHARACTERS - 20)
    );
    assert_eq!(longest.len(), MAX_URL_CHARACTERS);
    assert_eq!(fault(&longest), None);
    assert_eq!(fault(&format!("{longest}a")), Some(Fault::TooLong));
}

#[test]
fn private_targets_may_be_plain_local_and_literal_and_nothing_more() {
    for text in [
        "http://127.0.0.1:8080/hook",
        "http://localhost/",
        "http://[::1]:9/",
        "https://10.0.0.1:443/",
        "https://intranet:22/",
    ] {
        assert!(TargetUrl::parse(text, PRIVATE).is_ok(), "{text}");
    }
    for (text, expected) in [
        ("ftp://127.0.0.1/", Fault::Scheme),
        ("http://user@127.0.0.1/", Fault::Credentials),
        ("http://127.0.0.1/#a", Fault::Fragment),
        ("http://a b/", Fault::BadCharacter),
    ] {
        assert_eq!(TargetUrl::parse(text, PRIVATE), Err(expected), "{text}");
    }
}

#[test]
fn every_fault_is_a_sentence_that_continues_the_fields_name() {
    for fault in [
        Fault::TooLong,
        Fault::BadCharacter,
        Fault::Malformed,
        Fault::Scheme,
        Fault::Credentials,
        Fault::Fragment,
        Fault::AddressLiteral,
        Fault::LocalName,
        Fault::HostName,
        Fault::Port,
    ] {
        assert!(fault.to_string().starts_with("must "), "{fault}");
    }
}

#[test]
fn debug_output_keeps_path_and_query_to_itself() {
    let target = TargetUrl::parse("https://example.com:8443/T0/token?key=secret", PUBLIC).unwrap();
    let expected = "TargetUrl(https://example.com:8443/…)";
    assert_eq!(format!("{target:?}"), expected);
    assert_eq!(target.origin(), "https://example.com:8443");
}

proptest! {
    #[test]
    fn whatever_is_accepted_is_https_to_a_name_and_parses_to_itself(text in "(https?://)?[a-z0-9.:@/#\\[\\]xX%~ -]{0,40}") {
        if let Ok(target) = TargetUrl::parse(&text, PUBLIC) {
            prop_assert_eq!(target.as_url().scheme(), "https");
            prop_assert!(target.as_url().domain().is_some());
            prop_assert_eq!(TargetUrl::parse(target.as_str(), PUBLIC), Ok(target));
        }
    }

    #[test]
    fn no_spelling_of_an_ipv4_number_is_accepted(bits: u32) {
        for host in [format!("{bits}"), format!("{bits:#x}"), format!("0{bits:o}")] {
            let url = format!("https://{host}/");
            prop_assert_eq!(fault(&url), Some(Fault::AddressLiteral));
        }
    }
}
