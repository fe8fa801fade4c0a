//! Spoken calls, from the first packet to the transcript.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use offhook_domain::CallOutcome::{Completed, Failed};
use offhook_domain::FailureReason::{AgentError, CarrierError};
use offhook_domain::TerminationReason as Reason;
use offhook_engine::ports::audio::AudioEvent;
use offhook_engine::voice::{Pronunciation, PronunciationRule};
use offhook_engine::{EndRequest, TurnLatency, Voicemail};
use tokio::time::sleep;

use crate::it::fakes::{Does, FakeModel, FakeModels};
use crate::it::phone::{FakeRecognizer, FakeVoice, PER_CHAR, stage};

const SECOND: Duration = Duration::from_secs(1);
const MILLI: Duration = Duration::from_millis(1);

/// Each character of a text once, and complete.
fn whole(text: &str) -> Vec<(i16, usize)> {
    (1..=text.chars().count())
        .map(|at| (i16::try_from(at).unwrap_or(i16::MAX), PER_CHAR))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_conversation_is_heard_and_spoken() {
    let model = FakeModel::new(&[
        Does::Wait(300 * MILLI),
        Does::Write("I see. "),
        Does::Wait(100 * MILLI),
        Does::Write("Go on."),
        Does::Finish,
    ]);
    let mut stage = stage();
    stage.models = FakeModels::default().with("main", &model);
    let phone = stage.dial();
    phone.answer().await;
    sleep(2 * SECOND).await;
    phone.says("Who is this?").await;
    sleep(5 * SECOND).await;
    assert_eq!(
        phone.sent(),
        [whole("Hello, Eva here."), whole("I see."), whole("Go on.")].concat()
    );
    let recorded = phone.wire.recorded.load(Ordering::Relaxed);
    let end = phone.hangs_up().await;
    assert!(
        recorded > 380,
        "both sides of {recorded} frames were offered"
    );
    assert_eq!(end.outcome(), Completed(Reason::CustomerHangup));
    assert_eq!(
        end.script,
        ["A: Hello, Eva here.", "U: Who is this?", "A: I see. Go on."]
    );
    let [latency] = end.measured[..] else {
        panic!("one reply was measured: {:?}", end.measured)
    };
    assert!(latency.end_of_turn_ms.abs_diff(700) <= 20, "{latency:?}");
    assert_eq!(latency.first_token_ms, latency.end_of_turn_ms + 300);
    assert_eq!(latency.first_byte_ms, latency.first_sentence_ms + 200);
    assert!(latency.first_frame_ms - latency.first_byte_ms <= 20);
    assert!(latency.first_frame_ms < 1_300, "{latency:?}");
    let steps = latency.steps();
    let expected = [("model", 300), ("sentence", 0), ("voice", 200)];
    assert_eq!(steps[1..4], expected);
    let all: u32 = steps.iter().map(|(_, took)| took).sum();
    assert_eq!(all, latency.first_frame_ms);
    assert_eq!(end.hung_up, 1);
}

#[tokio::test(start_paused = true)]
async fn a_sentence_is_made_while_the_one_before_it_is_played() {
    let phone = stage().dial();
    phone.answer().await;
    sleep(2 * SECOND).await;
    phone.says("Hi there.").await;
    sleep(3 * SECOND).await;
    let (_, last) = phone.sounded();
    // "I see." has 0.36 s of audio, "Go on." as much again, without a wait for the synthesizer in between.
    let end = phone.hangs_up().await;
    let [TurnLatency { first_frame_ms, .. }] = end.measured[..] else {
        panic!("one reply")
    };
    let began = 2 * SECOND + 500 * MILLI + first_frame_ms * MILLI;
    assert!(last < began + 780 * MILLI, "{last:?} after {began:?}");
}

#[tokio::test(start_paused = true)]
async fn a_caller_who_means_it_interrupts_and_what_was_heard_is_kept() {
    let model = FakeModel::says("Sure.");
    let mut stage = stage();
    stage.persona.first_message = "Hello, this is Eva, and I call about your order.".to_owned();
    stage.models = FakeModels::default().with("main", &model);
    let phone = stage.dial();
    phone.answer().await;
    sleep(1_200 * MILLI).await;
    phone.says("Excuse me, who are you?").await;
    let heard = phone.sent();
    sleep(4 * SECOND).await;
    let end = phone.hangs_up().await;
    assert_eq!(
        end.script,
        [
            "A: Hello, this is --",
            "U: Excuse me, who are you?",
            "A: Sure."
        ]
    );
    // The agent stopped 120 ms after the caller's first sound: after one second of speech.
    let samples: usize = heard.iter().map(|(_, samples)| samples).sum();
    assert!((7_500..=9_500).contains(&samples), "{samples}");
    let shown = model.asked()[0].messages[1].content.to_string();
    assert_eq!(shown, "Hello, this is", "the model knows what was heard");
}

#[tokio::test(start_paused = true)]
async fn a_cough_makes_the_agent_pause_and_go_on_without_a_word_repeated() {
    let text = "Hello, this is Eva, and I call about your order.";
    let mut stage = stage();
    stage.persona.first_message = text.to_owned();
    let phone = stage.dial();
    phone.answer().await;
    sleep(1_200 * MILLI).await;
    phone.coughs(300).await;
    sleep(6 * SECOND).await;
    assert_eq!(phone.sent(), whole(text));
    let (first, last) = phone.sounded();
    let spoken = 60 * MILLI * u32::try_from(text.len()).unwrap();
    let paused = (last - first).checked_sub(spoken).unwrap();
    assert!(
        (300 * MILLI..=620 * MILLI).contains(&paused),
        "it paused for {paused:?}"
    );
    let end = phone.hangs_up().await;
    assert_eq!(end.script, [format!("A: {text}")]);
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_may_not_be_interrupted_speaks_on_and_answers_then() {
    let text = "Hello, this is Eva, and I call about your order.";
    let mut stage = stage();
    stage.persona.first_message = text.to_owned();
    stage.persona.interruptions = false;
    let phone = stage.dial();
    phone.answer().await;
    sleep(SECOND).await;
    phone.says("Stop, who is this?").await;
    sleep(4 * SECOND).await;
    assert_eq!(phone.sent()[..text.len()], whole(text));
    let end = phone.hangs_up().await;
    assert_eq!(
        end.script,
        [
            "U: Stop, who is this?".to_owned(),
            format!("A: {text}"),
            "A: I see. Go on.".to_owned()
        ]
    );
    assert!(
        end.measured.is_empty(),
        "who speaks beside the agent does not wait for it"
    );
}

const NOTICE: &str = "This call is recorded, so that we can see later how well we have served you.";

#[tokio::test(start_paused = true)]
async fn a_notice_comes_first_and_is_heard_to_its_end() {
    let mut stage = stage();
    stage.persona.notice = NOTICE.to_owned();
    let phone = stage.dial();
    phone.answer().await;
    sleep(SECOND).await;
    phone.says("Stop, who is this?").await;
    sleep(8 * SECOND).await;
    let greeting = "Hello, Eva here.";
    let first = [whole(NOTICE), whole(greeting)].concat();
    assert_eq!(phone.sent()[..first.len()], first);
    let end = phone.hangs_up().await;
    assert_eq!(
        end.script,
        [
            "U: Stop, who is this?".to_owned(),
            format!("A: {NOTICE} {greeting}"),
            "A: I see. Go on.".to_owned()
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn the_greeting_behind_a_notice_may_be_interrupted() {
    let mut stage = stage();
    stage.persona.notice = NOTICE.to_owned();
    stage.persona.first_message = "Hello, this is Eva, and I call about your order.".to_owned();
    let phone = stage.dial();
    phone.answer().await;
    let notice = u32::try_from(NOTICE.len()).unwrap() * 60 * MILLI;
    sleep(notice + 1_500 * MILLI).await;
    phone.says("Excuse me, who are you?").await;
    sleep(4 * SECOND).await;
    let end = phone.hangs_up().await;
    assert!(
        end.script[0].starts_with(&format!("A: {NOTICE} Hello, ")) && end.script[0].ends_with("--"),
        "{:?}",
        end.script
    );
    assert_eq!(end.script[1], "U: Excuse me, who are you?");
}

#[tokio::test(start_paused = true)]
async fn a_machine_is_given_the_message_and_no_notice() {
    let mut stage = stage();
    stage.screens = true;
    stage.persona.notice = NOTICE.to_owned();
    stage.persona.voicemail = Voicemail::LeaveMessage;
    let phone = stage.dial();
    phone.answer().await;
    sleep(SECOND).await;
    phone
        .says("This is the voicemail of Ana, please speak after the tone")
        .await;
    let end = phone.end().await;
    assert_eq!(end.script[1..], ["A: Hello, Eva here."]);
}

#[tokio::test(start_paused = true)]
async fn a_person_is_greeted_once_they_have_said_hello() {
    let mut stage = stage();
    stage.screens = true;
    let phone = stage.dial();
    phone.answer().await;
    sleep(SECOND).await;
    phone.says("Hello?").await;
    assert!(phone.sent().is_empty());
    sleep(3 * SECOND).await;
    let end = phone.hangs_up().await;
    assert_eq!(end.script, ["U: Hello?", "A: Hello, Eva here."]);
}

#[tokio::test(start_paused = true)]
async fn an_unheard_greeting_is_the_reply_to_a_customer_who_spoke_over_it() {
    let model = FakeModel::says("Sure.");
    let mut stage = stage();
    stage.voices = vec![FakeVoice {
        opens_in: 2 * SECOND,
        ..FakeVoice::default()
    }];
    stage.models = FakeModels::default().with("main", &model);
    let phone = stage.dial();
    phone.answer().await;
    phone.says("Hello, who is this?").await;
    sleep(5 * SECOND).await;
    assert!(model.asked().is_empty(), "the greeting is the reply");
    phone.says("What do you want?").await;
    sleep(3 * SECOND).await;
    let end = phone.hangs_up().await;
    assert_eq!(
        end.script,
        [
            "U: Hello, who is this?",
            "A: Hello, Eva here.",
            "U: What do you want?",
            "A: Sure."
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_machine_is_treated_as_the_agent_wants_it() {
    for voicemail in [Voicemail::HangUp, Voicemail::LeaveMessage] {
        let mut stage = stage();
        stage.screens = true;
        stage.persona.voicemail = voicemail;
        let phone = stage.dial();
        phone.answer().await;
        sleep(SECOND).await;
        let greeting = "This is the voicemail of Ana, please speak after the tone";
        if voicemail == Voicemail::HangUp {
            phone.says(greeting).await;
            let end = phone.end().await;
            assert_eq!(end.outcome(), Completed(Reason::Voicemail));
            assert!(end.script.is_empty());
            continue;
        }
        phone.says(greeting).await;
        sleep(1_500 * MILLI).await;
        assert!(phone.sent().is_empty(), "the tone is waited for");
        let end = phone.end().await;
        assert_eq!(end.outcome(), Completed(Reason::Voicemail));
        let greeted = format!("U: {greeting}");
        let expected = [greeted.as_str(), "A: Hello, Eva here."];
        assert_eq!(end.script, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn keys_are_answered_like_words() {
    let model = FakeModel::says("Thank you.");
    let mut stage = stage();
    stage.models = FakeModels::default().with("main", &model);
    let phone = stage.dial();
    phone.answer().await;
    sleep(2 * SECOND).await;
    for key in ['4', '2', '#'] {
        phone.is(AudioEvent::Dtmf(key)).await;
        sleep(200 * MILLI).await;
    }
    sleep(2 * SECOND).await;
    let end = phone.hangs_up().await;
    let expected = ["A: Hello, Eva here.", "U: DTMF 42#", "A: Thank you."];
    assert_eq!(end.script, expected);
}

#[tokio::test(start_paused = true)]
async fn a_call_on_hold_is_neither_spoken_to_nor_left() {
    let phone = stage().dial();
    phone.answer().await;
    sleep(500 * MILLI).await;
    phone.is(AudioEvent::Hold(true)).await;
    sleep(60 * SECOND).await;
    let before = phone.sent().len();
    assert!(before < 16, "the greeting waits");
    phone.is(AudioEvent::Hold(false)).await;
    sleep(10 * SECOND).await;
    assert_eq!(phone.sent(), whole("Hello, Eva here."));
    let end = phone.hangs_up().await;
    assert_eq!(end.script, ["A: Hello, Eva here."]);
}

#[tokio::test(start_paused = true)]
async fn a_silent_caller_on_hold_is_not_asked_whether_they_are_there() {
    let phone = stage().dial();
    phone.answer().await;
    sleep(3 * SECOND).await;
    phone.is(AudioEvent::Hold(true)).await;
    sleep(100 * SECOND).await;
    phone.is(AudioEvent::Hold(false)).await;
    let end = phone.end().await;
    assert_eq!(end.outcome(), Completed(Reason::SilenceTimeout));
    assert!(end.took > 138 * SECOND && end.took < 145 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_line_without_sound_fails() {
    let phone = stage().dial();
    phone.falls_silent();
    phone.answer().await;
    let end = phone.end().await;
    assert_eq!(end.outcome(), Failed(CarrierError));
    assert!(end.took < 9 * SECOND);

    let phone = stage().dial();
    phone.answer().await;
    sleep(3 * SECOND).await;
    phone.falls_silent();
    let end = phone.end().await;
    assert_eq!(end.outcome(), Failed(AgentError));
    assert_eq!(end.hung_up, 1);
}

#[tokio::test(start_paused = true)]
async fn another_voice_steps_in_within_the_sentence() {
    let mute = FakeVoice {
        stalls: true,
        ..FakeVoice::default()
    };
    let breaking = FakeVoice {
        breaks_after: Some(8),
        ..FakeVoice::default()
    };
    let good = FakeVoice::default();
    let mut stage = stage();
    stage.voices = vec![mute, breaking, good.clone()];
    let phone = stage.dial();
    phone.answer().await;
    sleep(6 * SECOND).await;
    let (first, _) = phone.sounded();
    assert!(first >= 3_200 * MILLI && first < 3_300 * MILLI, "{first:?}");
    let end = phone.hangs_up().await;
    assert_eq!(end.script, ["A: Hello, Eva here."]);
    let rest = good.asked.lock()[0].text.clone();
    assert!(
        "Hello, Eva here.".ends_with(&rest) && rest.len() < 16,
        "{rest}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_that_no_voice_can_speak_on_fails() {
    let mute = FakeVoice {
        stalls: true,
        ..FakeVoice::default()
    };
    let mut stage = stage();
    stage.voices = vec![mute.clone(), mute];
    let phone = stage.dial();
    phone.answer().await;
    let end = phone.end().await;
    assert_eq!(end.outcome(), Failed(AgentError));
    assert!(end.took >= 6 * SECOND && end.took < 7 * SECOND);
    assert!(end.script.is_empty());
}

#[tokio::test(start_paused = true)]
async fn another_recognizer_hears_what_was_said_since_the_first_one_failed() {
    let deaf = FakeRecognizer {
        stalls: true,
        ..FakeRecognizer::default()
    };
    let good = FakeRecognizer::default();
    let mut stage = stage();
    stage.recognizers = vec![deaf, good.clone()];
    let phone = stage.dial();
    phone.answer().await;
    sleep(2 * SECOND).await;
    // The second recognizer opens three seconds after the answer, while the caller speaks.
    phone
        .says("I would like to know who is calling me please.")
        .await;
    sleep(3 * SECOND).await;
    assert!(good.frames.load(Ordering::Relaxed) > 100);
    let end = phone.hangs_up().await;
    let expected = "U: I would like to know who is calling me please.";
    assert_eq!(end.script[1], expected);
}

#[tokio::test(start_paused = true)]
async fn an_recognizer_that_breaks_is_replaced_and_a_call_without_one_fails() {
    let ear = FakeRecognizer::default();
    let mut first = stage();
    first.recognizers = vec![ear.clone()];
    let phone = first.dial();
    phone.answer().await;
    sleep(2 * SECOND).await;
    ear.breaks().await;
    sleep(100 * MILLI).await;
    phone.says("Who is this?").await;
    sleep(3 * SECOND).await;
    assert_eq!(ear.opened.load(Ordering::Relaxed), 2);
    let end = phone.hangs_up().await;
    assert_eq!(end.script[1], "U: Who is this?");

    let dead = FakeRecognizer::default();
    dead.fails.store(9, Ordering::Relaxed);
    let mut second = stage();
    second.recognizers = vec![dead];
    let phone = second.dial();
    phone.answer().await;
    assert_eq!(phone.end().await.outcome(), Failed(AgentError));
}

#[tokio::test(start_paused = true)]
async fn terms_are_said_as_the_agent_wants_it_and_written_as_they_are() {
    let voice = FakeVoice::default();
    let mut stage = stage();
    stage.voices = vec![voice.clone()];
    stage.pronunciation = Pronunciation::new(vec![PronunciationRule {
        term: "Eva".to_owned(),
        say: "Ay-va".to_owned(),
        match_case: false,
    }]);
    let phone = stage.dial();
    phone.answer().await;
    sleep(3 * SECOND).await;
    let end = phone.hangs_up().await;
    assert_eq!(end.script, ["A: Hello, Eva here."]);
    assert_eq!(voice.asked.lock()[0].text, "Hello, Ay-va here.");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_the_service_ends_says_goodbye_against_every_noise() {
    let phone = stage().dial();
    phone.answer().await;
    sleep(2 * SECOND).await;
    phone.control.end(EndRequest::OutOfCredits);
    sleep(SECOND).await;
    phone.says("But wait, stop, please.").await;
    let wire = Arc::clone(&phone.wire);
    let end = phone.end().await;
    assert_eq!(end.outcome(), Completed(Reason::AgentHangup));
    let expected = "A: I am sorry, I have to end our call here. Thank you for your time. Goodbye.";
    assert_eq!(end.script.last().unwrap(), expected);
    assert_eq!(wire.hung_up.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn wherever_a_caller_interrupts_the_transcript_is_no_longer_than_what_was_played() {
    let text = "Hello, this is Eva, and I call about your order.";
    for at in (0..3_200).step_by(90) {
        let mut stage = stage();
        stage.persona.first_message = text.to_owned();
        let phone = stage.dial();
        phone.answer().await;
        sleep(at * MILLI).await;
        phone.says("Sorry to interrupt you").await;
        let sent = phone.sent();
        sleep(100 * MILLI).await;
        let end = phone.hangs_up().await;
        let played: usize = sent.iter().map(|(_, samples)| samples).sum();
        let said = end.script.iter().find_map(|line| line.strip_prefix("A: "));
        let heard = said.map_or("", |said| said.trim_end_matches(" --"));
        assert!(text.starts_with(heard), "{heard:?}");
        assert!(
            heard.len() * PER_CHAR <= played,
            "at {at} ms {played} samples were played, and {heard:?} was heard"
        );
        // No played word is missing, except the one that was cut.
        let rest = text[heard.len()..].trim_start();
        let next = rest.split(' ').next().map_or(0, str::len);
        assert!(
            heard.is_empty() || (heard.len() + 1 + next) * PER_CHAR >= played,
            "at {at} ms: {heard:?} of {played}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn the_synthesizer_opens_while_ringing_and_the_greeting_is_synthesized_during_screening() {
    let voice = FakeVoice {
        opens_in: SECOND,
        ..FakeVoice::default()
    };
    let mut stage = stage();
    stage.voices = vec![voice.clone()];
    stage.screens = true;
    let phone = stage.dial();
    phone.is(AudioEvent::Ringing).await;
    sleep(4 * SECOND).await;
    assert_eq!(voice.opened.load(Ordering::Relaxed), 1);
    phone.is(AudioEvent::Answered).await;
    phone.says("Hello?").await;
    sleep(3 * SECOND).await;
    let (first, _) = phone.sounded();
    // The pause of half a second began 40 ms before it was heard: audio waits in the jitter buffer.
    let judged = 4 * SECOND + (250 + 500 - 40) * MILLI;
    assert!(first >= judged && first < judged + 45 * MILLI, "{first:?}");
    let end = phone.hangs_up().await;
    assert_eq!(end.script, ["U: Hello?", "A: Hello, Eva here."]);
    assert_eq!(voice.asked.lock().len(), 1, "nothing is made twice");
    assert_eq!(voice.opened.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_lets_the_line_go_hangs_up() {
    let phone = stage().dial();
    phone.answer().await;
    sleep(SECOND).await;
    phone.control.end(EndRequest::ClaimLost);
    let wire = Arc::clone(&phone.wire);
    let end = phone.end().await;
    assert_eq!(end.end, offhook_engine::SessionEnd::ClaimLost);
    assert!(end.script.is_empty());
    assert_eq!(wire.hung_up.load(Ordering::Relaxed), 1);
}
