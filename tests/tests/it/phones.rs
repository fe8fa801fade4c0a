//! Tests the telephone of the spoken tests against another one of its kind, before other tests rely on it.

use offhook_tests::{Listener, Phone, needs_speech, speech};

const TO: &str = "+15005550199";
const FROM: &str = "+5215512345678";

#[tokio::test(flavor = "multi_thread")]
async fn two_phones_hear_each_other() {
    needs_speech!();
    let (ours, theirs) = (Phone::start().await, Phone::start().await);
    let calling = ours.call(theirs.address(), FROM, TO).await;
    let called = theirs.answers().await;
    assert_eq!((called.from().as_str(), called.to().as_str()), (FROM, TO));
    calling.is_answered().await.unwrap();
    calling
        .says(&speech("rms", "We open at nine in the morning.").await)
        .await;
    let heard = called.hears().await;
    let listener = Listener::of(&["we open at nine in the morning", "goodbye and thank you"]);
    let expected = "we open at nine in the morning";
    assert_eq!(listener.understands(&heard.samples).await, expected);
    assert!(heard.began < heard.ended);
    called.hold().await;
    called.resume().await;
    called.press("12#w*").await;
    called
        .says(&speech("kal", "Goodbye, and thank you.").await)
        .await;
    let heard = calling.hears().await;
    let expected = "goodbye and thank you";
    assert_eq!(listener.understands(&heard.samples).await, expected);
    assert_eq!(calling.keys(), "12#*");
    calling.hang_up().await;
    called.ends().await;
    assert!(called.has_ended() && !called.is_cancelled());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_phone_refuses_and_is_given_up_on() {
    let (ours, theirs) = (Phone::start().await, Phone::start().await);
    let calling = ours.call(theirs.address(), FROM, TO).await;
    let called = theirs.is_called().await;
    called.refuse("486 Busy Here").await;
    assert_eq!(calling.is_answered().await, Err(486));
    called.is_confirmed().await;

    let calling = ours.call(theirs.address(), FROM, TO).await;
    let called = theirs.is_called().await;
    called.ring().await;
    calling.cancel().await;
    called.gives_up().await;
    assert_eq!(calling.is_answered().await, Err(487));
    called.is_confirmed().await;
}
