//! Slack: messages that mention nobody, and its refusals, which are HTTP 200.

use std::time::Duration;

use offhook_domain::ports::GrantError;
use offhook_providers::ApplicationSettings;
use offhook_testkit::fakes::oauth::CLIENT_SECRET;
use offhook_testkit::fakes::slack::FakeSlack;
use offhook_testkit::upstream::UPSTREAM_WORDS;
use serde_json::json;

use super::{Application, Arc, BACK, application_of, call, consent, granted, settings};

fn slack_at(fake: &FakeSlack, secret: &str) -> Arc<dyn Application> {
    let settings = ApplicationSettings {
        client_secret: secret.to_owned(),
        ..settings(&fake.upstream.base_url())
    };
    application_of("slack", &settings)
}

#[tokio::test]
async fn a_message_is_posted_and_mentions_nobody() {
    let fake = FakeSlack::start().await;
    let slack = slack_at(&fake, CLIENT_SECRET);
    let grant = granted(&*slack, &fake.authority).await;
    assert_eq!((grant.expires_in, &grant.refresh_token), (None, &None));
    let asked = json!({"channel": "#leads", "text": "<!channel> <@U1> Zoe & Max @here"});
    let posted = call(&*slack, &grant, "post_message", &asked).await;
    let expected =
        json!({"posted": true, "channel": "C123ABC456", "message_id": "1503435956.000001"});
    assert_eq!(posted, Ok(expected));
    let expected = json!({
        "channel": "#leads",
        "text": "&lt;!channel&gt; &lt;@U1&gt; Zoe &amp; Max @here",
        "mrkdwn": false,
        "parse": "none",
        "link_names": false,
        "unfurl_links": false,
        "unfurl_media": false,
    });
    assert_eq!(fake.messages(), [expected]);
}

#[tokio::test]
async fn a_refusal_says_whether_something_was_posted() {
    let fake = FakeSlack::start().await;
    let slack = slack_at(&fake, CLIENT_SECRET);
    let grant = granted(&*slack, &fake.authority).await;
    let post = async |channel: &str| {
        let asked = json!({"channel": channel, "text": "Hello"});
        call(&*slack, &grant, "post_message", &asked)
            .await
            .unwrap_err()
    };
    for channel in ["nowhere", "old"] {
        let said = post(channel).await;
        assert!(said.starts_with("There is no such channel"), "{said}");
    }
    for (reason, expected) in [
        (
            "internal_error",
            "it may have been posted, or not. Do not try again",
        ),
        (
            "rate_limited",
            "asked too often at the moment. Nothing was posted.",
        ),
        (
            "restricted_action",
            "refused the message: nothing was posted.",
        ),
        ("token_expired", "unauthorized"),
    ] {
        fake.refuse(Some(reason));
        let said = post("leads").await;
        assert!(
            said.contains(expected) && !said.contains(UPSTREAM_WORDS),
            "{reason}: {said}"
        );
    }
    fake.authority.withdraw();
    assert_eq!(post("leads").await, "unauthorized");
}

#[tokio::test]
async fn tokens_are_refused_renewed_and_revoked_as_slack_does() {
    let fake = FakeSlack::start().await;
    let slack = slack_at(&fake, CLIENT_SECRET);
    let consents = slack.consents();
    let url = consents.authorize(BACK, "s").unwrap().url;
    assert!(
        url.contains("scope=chat%3Awrite%2Cchat%3Awrite.public"),
        "{url}"
    );
    let (code, verifier) = consent(&*slack, &fake.authority);
    let stranger = slack_at(&fake, "another");
    let exchanged = stranger.consents().exchange(&code, &verifier, BACK).await;
    assert_eq!(exchanged, Err(GrantError::Client));
    fake.authority.rotate();
    fake.authority.expire_in(Some(43_200));
    let exchange = async || consents.exchange(&code, &verifier, BACK).await;
    let first = exchange().await.unwrap();
    assert_eq!(first.expires_in, Some(Duration::from_secs(43_200)));
    assert_eq!(exchange().await, Err(GrantError::Refused), "used up");
    let refresh = first.refresh_token.unwrap();
    let second = consents.refresh(&refresh).await.unwrap();
    assert_eq!(consents.refresh(&refresh).await, Err(GrantError::Refused));

    consents.revoke(&second.access_token).await.unwrap();
    let (access, _) = fake.authority.good();
    assert!(!access.contains(&second.access_token));
}
