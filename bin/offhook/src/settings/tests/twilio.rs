//! Settings of calls over Twilio.

use offhook_twilio::TwilioSettings;

use super::{file, refuses};

const ACCOUNT: &str = "AC0123456789abcdef0123456789abcdef";

const GOOD: &str = "calls.carrier = \"twilio\"\nhttp.public_url = \"https://voice.example.com\"\n\
    [twilio]\naccount_sid = \"AC0123456789abcdef0123456789abcdef\"\n";

fn twilio(text: &str) -> TwilioSettings {
    file(text).unwrap().twilio.unwrap()
}

#[test]
fn an_account_and_its_token_are_enough() {
    let settings = twilio(&format!("{GOOD}auth_token = \"hunter2\"\n"));
    assert_eq!(settings.base_url, "https://api.twilio.com");
    assert_eq!(settings.account_sid, ACCOUNT);
    assert_eq!(settings.auth_token.as_deref(), Some("hunter2"));
    assert_eq!((settings.api_key, settings.signing_key), (None, None));
    assert_eq!(settings.our_url, "https://voice.example.com");
}

#[test]
fn a_process_among_several_has_an_address_of_its_own() {
    let text = format!(
        "database_url = \"postgres://db/offhook\"\n{GOOD}auth_token = \"hunter2\"\nnode_url = \"https://n1.example.com/\"\n\
         base_url = \"http://127.0.0.1:9000\"\n"
    );
    let settings = twilio(&text);
    assert_eq!(settings.our_url, "https://n1.example.com");
    assert_eq!(settings.base_url, "http://127.0.0.1:9000");
    assert!(!format!("{settings:?}").contains("hunter2"));
}

#[test]
fn a_key_and_a_shared_key_do_without_the_token() {
    let key = "SK0123456789abcdef0123456789abcdef";
    let settings = twilio(&format!(
        "{GOOD}api_key = \"{key}\"\napi_key_secret = \"hunter2\"\nsigning_key = \"hunter3\"\n"
    ));
    assert_eq!(settings.auth_token, None);
    assert_eq!(
        settings.api_key,
        Some((key.to_owned(), "hunter2".to_owned()))
    );
    assert_eq!(settings.signing_key.as_deref(), Some("hunter3"));
}

#[test]
fn what_twilio_needs_and_is_not_there_is_told_with_the_remedy() {
    let cases = r#"
        [twilio]
        account_sid = "AC0123456789abcdef0123456789abcdef"
        => section `twilio` is without effect, as `calls.carrier` is not `twilio`…

        calls.carrier = "twilio"
        http.public_url = "https://voice.example.com"
        twilio.auth_token = "hunter2"
        => setting `twilio.account_sid` is missing: …

        calls.carrier = "twilio"
        http.public_url = "https://voice.example.com"
        twilio = { account_sid = "AC1", auth_token = "hunter2" }
        => setting `twilio.account_sid` must be AC and 32 hexadecimal digits…

        GOOD
        => setting `twilio.auth_token` is missing: …

        GOOD
        api_key = "SK0123456789abcdef0123456789abcdef"
        api_key_secret = "x"
        => setting `twilio.auth_token` is missing: …

        GOOD
        auth_token = "hunter2"
        api_key = "SK0123456789abcdef0123456789abcdef"
        => setting `twilio.api_key_secret` is missing: …

        GOOD
        auth_token = "hunter2"
        api_key_secret = "x"
        => setting `twilio.api_key` is missing: …

        GOOD
        auth_token = "hunter2"
        api_key = "AC1"
        api_key_secret = "x"
        => setting `twilio.api_key` must be SK and 32 hexadecimal digits…

        calls.carrier = "twilio"
        twilio = { account_sid = "AC0123456789abcdef0123456789abcdef", auth_token = "hunter2" }
        => setting `http.public_url` is missing: …

        calls.carrier = "twilio"
        http.public_url = "http://voice.example.com"
        twilio = { account_sid = "AC0123456789abcdef0123456789abcdef", auth_token = "hunter2" }
        => setting `http.public_url` must begin with https://…

        GOOD
        auth_token = "hunter2"
        node_url = "http://127.0.0.1:8080"
        => setting `twilio.node_url` must begin with https://…

        OFFHOOK_DATABASE_URL=postgres://db/offhook
        GOOD
        auth_token = "hunter2"
        => setting `twilio.node_url` is missing: with PostgreSQL…
    "#;
    refuses(&cases.replace("GOOD\n", GOOD));
}

#[test]
fn what_may_be_dialed_is_listed() {
    let settings = file(&format!("{GOOD}auth_token = \"hunter2\"\n")).unwrap();
    let refused = settings.check_serving().unwrap_err().to_string();
    let beginning = "setting `calls.allowed_prefixes` is missing: with `calls.carrier` at `twilio`";
    assert!(refused.starts_with(beginning), "{refused}");
}
