//! Requests to and responses from WhatsApp's Cloud API, and its faults.

use std::sync::Arc;
use std::time::Duration;

use offhook_domain::ports::whatsapp::{Doubt, OutgoingText, Refusal, SendError, WhatsAppApi};
use offhook_providers::{WhatsAppSettings, whatsapp};
use offhook_testkit::fakes::whatsapp::{ACCESS_TOKEN, FakeWhatsApp, PHONE_NUMBER_ID};
use offhook_testkit::upstream::{Answer, Fault, UPSTREAM_WORDS, Upstream};
use serde_json::json;

fn api(base_url: String) -> Arc<dyn WhatsAppApi> {
    let settings = WhatsAppSettings {
        base_url,
        ..WhatsAppSettings::default()
    };
    whatsapp(&settings).unwrap()
}

fn words() -> OutgoingText {
    OutgoingText {
        phone_number_id: PHONE_NUMBER_ID.to_owned(),
        to: "+5215512345678".parse().unwrap(),
        text: "Mañana a las 9.".to_owned(),
        reference: "019d0000-0000-7000-8000-000000000001".to_owned(),
    }
}

#[tokio::test]
async fn a_text_goes_out_as_the_cloud_api_has_it_and_its_id_comes_back() {
    let fake = FakeWhatsApp::start().await;
    let sent = api(fake.upstream().base_url())
        .send(ACCESS_TOKEN, &words())
        .await;
    assert_eq!(sent.as_deref(), Ok("wamid.HBgLOUT0001"));
    let asked = fake.upstream().asked().remove(0);
    assert_eq!(asked.method.as_str(), "POST");
    assert_eq!(asked.path.as_str(), "/v24.0/106540352242922/messages");
    assert_eq!(asked.header("authorization"), Some("Bearer EAAB-access"));
    assert_eq!(asked.header("content-type"), Some("application/json"));
    assert_eq!(
        asked.json(),
        json!({
            "messaging_product": "whatsapp", "recipient_type": "individual", "to": "+5215512345678", "type": "text",
            "text": {"preview_url": false, "body": "Mañana a las 9."},
            "biz_opaque_callback_data": "019d0000-0000-7000-8000-000000000001",
        })
    );
}

#[tokio::test]
async fn every_fault_says_whether_the_message_can_have_left() {
    let fake = FakeWhatsApp::start().await;
    let busy = |seconds: Option<u64>| SendError::Busy(seconds.map(Duration::from_secs));
    let refused = SendError::Refused;
    let unknown = SendError::Unknown;
    let cases = [
        (Fault::Close, unknown(Doubt::NoAnswer)),
        (Fault::LoseAnswer, unknown(Doubt::NoAnswer)),
        (Fault::CutBody, unknown(Doubt::NoAnswer)),
        (Fault::Malformed, unknown(Doubt::Form)),
        (Fault::Unknown, unknown(Doubt::Form)),
        (Fault::Status(500), unknown(Doubt::Status(500))),
        (Fault::Status(503), unknown(Doubt::Status(503))),
        (Fault::Status(302), unknown(Doubt::Status(302))),
        (Fault::Status(408), unknown(Doubt::Status(408))),
        (Fault::Status(401), refused(Refusal::Token)),
        (Fault::Status(403), refused(Refusal::Token)),
        (Fault::Status(404), refused(Refusal::Status(404))),
        (Fault::Status(409), refused(Refusal::Status(409))),
        (Fault::Status(422), refused(Refusal::Status(422))),
        (Fault::Status(429), busy(None)),
        (Fault::RetryAfter(429, 7), busy(Some(7))),
        (Fault::RetryAfter(429, 86_400), busy(Some(600))),
    ];
    for (fault, expected) in cases {
        // A new connection, as after a fault that closes it.
        let api = api(fake.upstream().base_url());
        fake.upstream().fail("POST", "/", fault, 1);
        let error = api.send(ACCESS_TOKEN, &words()).await.unwrap_err();
        assert_eq!(error, expected, "{fault:?}");
        assert!(!error.to_string().contains(UPSTREAM_WORDS), "{error}");
    }
    // The handler only ran where the response was lost or malformed: no message was sent twice.
    assert_eq!(fake.taken().len(), 4);
    assert_eq!(fake.upstream().asked().len(), cases.len());
}

#[tokio::test]
async fn an_answer_whose_id_cannot_be_kept_is_not_the_documented_one() {
    for id in ["", "\0", "wamid.A\0B"] {
        let answer = json!({"messages": [{"id": id}]});
        let upstream = Upstream::start(move |_| Answer::json(200, &answer)).await;
        let sent = api(upstream.base_url()).send(ACCESS_TOKEN, &words()).await;
        assert_eq!(sent, Err(SendError::Unknown(Doubt::Form)), "{id:?}");
    }
}

#[tokio::test]
async fn an_answer_that_is_late_is_still_an_answer() {
    let fake = FakeWhatsApp::start().await;
    fake.upstream()
        .fail("POST", "/", Fault::Slow(Duration::from_millis(300)), 1);
    let api = api(fake.upstream().base_url());
    assert!(api.send(ACCESS_TOKEN, &words()).await.is_ok());
}

/// On an open connection, with a paused clock: the limit is 20 s.
#[tokio::test]
async fn an_answer_that_does_not_come_leaves_it_open_whether_the_message_was_sent() {
    let fake = FakeWhatsApp::start().await;
    let api = api(fake.upstream().base_url());
    assert!(api.send(ACCESS_TOKEN, &words()).await.is_ok());
    // A separate task returns the connection to the pool.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    let late = Fault::Slow(Duration::from_secs(3_600));
    fake.upstream().fail("POST", "/", late, 1);
    tokio::time::pause();
    let sent = api.send(ACCESS_TOKEN, &words()).await;
    assert_eq!(sent, Err(SendError::Unknown(Doubt::NoAnswer)));
    assert!(fake.upstream().asked().len() <= 2);
}

#[tokio::test]
async fn where_no_connection_opens_nothing_was_sent() {
    let fake = FakeWhatsApp::start().await;
    let plain = fake.upstream().base_url();
    let over_tls = api(plain.replace("http://", "https://"));
    let tls = over_tls.send(ACCESS_TOKEN, &words()).await;
    assert_eq!(tls, Err(SendError::NotConnected), "no TLS there");
    fake.upstream().stop();
    let gone = loop {
        // Its port closes in a moment.
        match api(plain.clone()).send(ACCESS_TOKEN, &words()).await {
            Err(SendError::Unknown(_)) => tokio::task::yield_now().await,
            other => break other,
        }
    };
    assert_eq!(gone, Err(SendError::NotConnected));
    assert_eq!(fake.taken(), []);
}

#[tokio::test]
async fn what_whatsapp_says_by_code_is_told_in_a_sentence_of_ours() {
    let told = |status: u16, code: i64| async move {
        let upstream = Upstream::start(move |_| {
            let error = json!({"message": UPSTREAM_WORDS, "type": "OAuthException", "code": code});
            Answer::json(status, &json!({ "error": error }))
        })
        .await;
        api(upstream.base_url())
            .send(ACCESS_TOKEN, &words())
            .await
            .unwrap_err()
    };
    assert_eq!(told(401, 190).await, SendError::Refused(Refusal::Token));
    let expected = SendError::Refused(Refusal::Window);
    assert_eq!(told(400, 131_047).await, expected);
    let expected = SendError::Refused(Refusal::Undeliverable);
    assert_eq!(told(400, 131_026).await, expected);
    let expected = SendError::Refused(Refusal::Business(131_042));
    assert_eq!(told(400, 131_042).await, expected);
    let expected = SendError::Refused(Refusal::Number(133_010));
    assert_eq!(told(400, 133_010).await, expected);
    assert_eq!(told(400, 100).await, SendError::Refused(Refusal::Code(100)));
    assert_eq!(told(400, 131_056).await, SendError::Busy(None));
    assert_eq!(told(400, 80_007).await, SendError::Busy(None));
    for code in [190, 131_047, 131_026, 131_042, 133_010, 100] {
        let said = told(400, code).await.to_string();
        assert!(
            said.starts_with("WhatsApp ") && !said.contains(UPSTREAM_WORDS),
            "{said}"
        );
    }
}

#[tokio::test]
async fn a_number_or_token_that_no_request_can_carry_is_refused_without_one() {
    let fake = FakeWhatsApp::start().await;
    let api = api(fake.upstream().base_url());
    let mut elsewhere = words();
    elsewhere.phone_number_id = "../../me".to_owned();
    let expected = Err(SendError::Refused(Refusal::Status(404)));
    assert_eq!(api.send(ACCESS_TOKEN, &elsewhere).await, expected);
    let expected = Err(SendError::Refused(Refusal::Token));
    assert_eq!(api.send("two\nlines", &words()).await, expected);
    assert_eq!(fake.upstream().asked(), []);
}
