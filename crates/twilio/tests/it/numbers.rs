//! The numbers of an account's own credential.

use offhook_domain::FailureReason;
use offhook_engine::ports::DialError;
use offhook_engine::ports::audio::AudioCarrier as _;
use offhook_testkit::fakes::twilio::{ACCOUNT, FakeTwilio, KEY, OWN_ACCOUNT, OWN_TOKEN, TOKEN};
use offhook_testkit::upstream::{Answer, Upstream};
use offhook_twilio::{Login, TwilioClient, TwilioError};
use serde_json::json;

use crate::it::desk::{Desk, carrier};

#[tokio::test(flavor = "multi_thread")]
async fn all_pages_of_an_accounts_numbers_are_read_with_its_own_credential() {
    let desk = Desk::open().await;
    desk.twilio.own_numbers(&[
        ("+15005550111", true),
        ("+15005550112", true),
        ("+15005550113", false),
        ("not a number", true),
        ("+15005550115", true),
    ]);
    let credential = format!("{OWN_ACCOUNT}:{OWN_TOKEN}");
    let numbers = desk.carrier.numbers(&credential).await.unwrap();
    let numbers: Vec<_> = numbers.iter().map(|number| number.as_str()).collect();
    assert_eq!(numbers, ["+15005550111", "+15005550112", "+15005550115"]);
    let asked = desk.twilio.upstream().asked();
    assert_eq!(asked.len(), 3);
    let path = format!("/2010-04-01/Accounts/{OWN_ACCOUNT}/IncomingPhoneNumbers.json");
    assert!(asked.iter().all(|asked| asked.path == path));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_goes_on_only_in_itself_and_ends() {
    let list = format!("/2010-04-01/Accounts/{OWN_ACCOUNT}/IncomingPhoneNumbers.json");
    let own = format!("{OWN_ACCOUNT}:{OWN_TOKEN}");
    for (next, asked) in [
        (format!("{list}?Page=1"), 200),
        (format!("{list}/../Calls.json?Page=1"), 1),
        (format!("https://elsewhere.example{list}?Page=1"), 1),
        (list.replace(OWN_ACCOUNT, ACCOUNT) + "?Page=1", 1),
    ] {
        let page = json!({
            "incoming_phone_numbers": [
                {"phone_number": "+15005550111", "capabilities": {"voice": true, "fax": false, "news": 1}, "news": [1]},
                {"phone_number": "+15005550112"},
            ],
            "next_page_uri": next,
        });
        let twilio = Upstream::start(move |_| Answer::json(200, &page)).await;
        let numbers = carrier(twilio.base_url()).numbers(&own).await;
        assert_eq!(numbers, Err(DialError::Unknown), "{next}");
        assert_eq!(twilio.asked().len(), asked, "{next}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_that_opens_nothing_is_refused() {
    let desk = Desk::open().await;
    let rejected = Err(DialError::Refused(FailureReason::Rejected));
    let (key, secret) = KEY;
    let by_key = format!("{ACCOUNT}:{key}:{secret}");
    for wrong in [
        "",
        "nonsense",
        "../..:x",
        &format!("{OWN_ACCOUNT}:wrong"),
        &by_key,
    ] {
        assert_eq!(desk.carrier.numbers(wrong).await, rejected, "{wrong}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whether_an_account_may_make_calls_is_asked_where_its_login_opens() {
    let twilio = FakeTwilio::start().await;
    let client = |token: Option<&str>, key: Option<(&str, &str)>| {
        let login = Login::new(ACCOUNT, token, key).unwrap();
        TwilioClient::new(&twilio.upstream().base_url(), login).unwrap()
    };
    for (token, key, place) in [
        (Some(TOKEN), None, ".json"),
        (None, Some(KEY), "/Calls.json"),
    ] {
        assert_eq!(client(token, key).is_active().await, Ok(true), "{place}");
        let asked = twilio.upstream().asked().pop().unwrap();
        let path = format!("/2010-04-01/Accounts/{ACCOUNT}{place}");
        assert_eq!((asked.method.as_str(), asked.path), ("GET", path));
    }
    let refused = Err(TwilioError::Refused {
        status: 401,
        code: Some(20_003),
    });
    for (token, key) in [(Some("wrong"), None), (None, Some((KEY.0, "wrong")))] {
        assert_eq!(client(token, key).is_active().await, refused);
    }
}
