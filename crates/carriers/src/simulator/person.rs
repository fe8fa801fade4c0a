//! The other side of a simulated call: one small task that rings, answers, listens and speaks.

use std::time::Duration;

use offhook_domain::FailureReason;
use offhook_engine::ports::{LegEvent, Spoken};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use crate::simulator::numbers::Behaviour;
use crate::simulator::pace::Pace;

const RINGS: Duration = Duration::from_secs(2);
const RINGS_OUT: Duration = Duration::from_secs(30);
const BUSY_TONE: Duration = Duration::from_millis(500);

/// The pause after which a person takes the agent's turn as over, and its minimum, so that a fast person does not
/// mistake the gap between two sentences for the end.
const REACTION: (Duration, Duration) = (Duration::from_millis(600), Duration::from_millis(30));

/// How long a person waits for a first word before speaking, and its minimum.
const FIRST_WORD: (Duration, Duration) = (Duration::from_secs(4), Duration::from_secs(2));

/// How long a person who said goodbye waits for the agent's goodbye, and its minimum.
const LAST_WORD: (Duration, Duration) = (Duration::from_secs(3), Duration::from_secs(1));

/// How long an answering machine records, and its minimum.
const RECORDS: (Duration, Duration) = (Duration::from_secs(120), Duration::from_secs(2));

/// How long a line without any speech stays open. It is real time, because nothing else ends a call whose owner died.
const PATIENCE: Duration = Duration::from_secs(3_600);

const HELLO: &str = "Hello?";
const MACHINE: &str = "You have reached my voicemail. Please leave a message after the tone.";
const INTERRUPTION: &str = "Sorry, one moment. Could you say that again, please?";

/// The person's replies in order, to a question and to anything else.
const LINES: [(&str, &str); 4] = [
    (
        "Yes, this is a good moment.",
        "Hello, good to hear from you. What is this about?",
    ),
    ("Yes, that works for me.", "I see. That sounds fine."),
    (
        "No, that is all. Thank you for your help.",
        "Great, thank you for your help.",
    ),
    ("Goodbye!", "Goodbye!"),
];

/// A command of the agent's side to the line.
pub(crate) enum Command {
    /// Says a text. Ids increase by one.
    Say {
        id: u64,
        text: String,
        done: Box<dyn FnOnce(Spoken) + Send>,
    },
    /// Cuts every text up to this id.
    Stop { id: u64 },
    /// Sends tones, which the person only hears.
    Digits,
    /// Transfers the person: this call is over.
    Transfer,
    /// Ends the call.
    HangUp,
}

/// The call is over.
struct Gone;

enum Happening {
    AgentBegan,
    AgentEnded,
    /// The agent went silent because the person spoke.
    AgentYielded,
    TimeUp,
}

pub(crate) struct Person {
    commands: mpsc::UnboundedReceiver<Command>,
    events: mpsc::Sender<LegEvent>,
    pace: Pace,
    speech: Option<Speech>,
    stopped_up_to: Option<u64>,
    /// The agent's last words, until the person answers them.
    heard: String,
}

struct Speech {
    id: u64,
    text: String,
    began: Instant,
    ends: Instant,
    done: Box<dyn FnOnce(Spoken) + Send>,
}

impl Person {
    pub(crate) fn new(
        commands: mpsc::UnboundedReceiver<Command>,
        events: mpsc::Sender<LegEvent>,
        pace: Pace,
    ) -> Self {
        Self {
            commands,
            events,
            pace,
            speech: None,
            stopped_up_to: None,
            heard: String::new(),
        }
    }

    /// Runs the call to its end.
    pub(crate) async fn live(mut self, behaviour: Behaviour) {
        let last = self.act(behaviour).await;
        self.cut();
        if let Ok(event) = last {
            self.report(event).await;
        }
    }

    /// Returns the event that ends the call.
    async fn act(&mut self, behaviour: Behaviour) -> Result<LegEvent, Gone> {
        let fails = |reason| Ok(LegEvent::Failed(reason));
        match behaviour {
            Behaviour::Busy => {
                self.wait(self.pace.of(BUSY_TONE)).await?;
                return fails(FailureReason::Busy);
            }
            Behaviour::Invalid => {
                self.wait(self.pace.of(BUSY_TONE)).await?;
                return fails(FailureReason::InvalidNumber);
            }
            Behaviour::NoAnswer => {
                self.ring(RINGS_OUT).await?;
                return fails(FailureReason::NoAnswer);
            }
            Behaviour::Rejects => {
                self.ring(RINGS).await?;
                return fails(FailureReason::Rejected);
            }
            Behaviour::NeverReports | Behaviour::Unreachable => {
                // Only the agent's side ends this call.
                loop {
                    self.wait(PATIENCE).await?;
                }
            }
            Behaviour::Talks
            | Behaviour::Voicemail
            | Behaviour::HangsUpMidSentence
            | Behaviour::Interrupts
            | Behaviour::StaysSilent => {}
        }
        self.ring(RINGS).await?;
        let machine = behaviour == Behaviour::Voicemail;
        self.report(LegEvent::Answered { machine }).await;
        match behaviour {
            Behaviour::Voicemail => self.record().await?,
            Behaviour::StaysSilent => {
                while self.listen(PATIENCE).await? {
                    self.heard.clear();
                }
            }
            _ => self.converse(behaviour).await?,
        }
        Ok(LegEvent::Hangup)
    }

    async fn ring(&mut self, how_long: Duration) -> Result<(), Gone> {
        self.report(LegEvent::Ringing).await;
        self.wait(self.pace.of(how_long)).await
    }

    async fn record(&mut self) -> Result<(), Gone> {
        self.say(MACHINE).await?;
        self.wait(self.no_less(RECORDS)).await
    }

    async fn converse(&mut self, behaviour: Behaviour) -> Result<(), Gone> {
        if !self.listen(self.no_less(FIRST_WORD)).await? {
            self.say(HELLO).await?;
            if !self.listen(PATIENCE).await? {
                return Ok(());
            }
        }
        for (turn, (to_question, otherwise)) in LINES.into_iter().enumerate() {
            let asked = self.heard.trim_end().ends_with('?');
            self.say(if asked { to_question } else { otherwise })
                .await?;
            if turn == 0 {
                match behaviour {
                    Behaviour::HangsUpMidSentence => return self.reach_mid_sentence().await,
                    Behaviour::Interrupts => {
                        self.reach_mid_sentence().await?;
                        self.say(INTERRUPTION).await?;
                    }
                    _ => {}
                }
            }
            let is_last = turn + 1 == LINES.len();
            let patience = if is_last {
                self.no_less(LAST_WORD)
            } else {
                PATIENCE
            };
            if !self.listen(patience).await? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Waits for the agent's next sentence, and for half of it.
    async fn reach_mid_sentence(&mut self) -> Result<(), Gone> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(speech) = &self.speech {
                let half = speech.began + (speech.ends - speech.began) / 2;
                if let Happening::TimeUp = self.next(half).await? {
                    return Ok(());
                }
            } else if let Happening::TimeUp = self.next(deadline).await? {
                return Ok(());
            }
        }
    }

    /// Waits until the agent has spoken and is silent. `false` if it does not begin in time.
    async fn listen(&mut self, patience: Duration) -> Result<bool, Gone> {
        let mut quiet_at = Instant::now() + patience;
        let mut began = self.speech.is_some() || !self.heard.is_empty();
        if began && self.speech.is_none() {
            quiet_at = Instant::now() + self.no_less(REACTION);
        }
        loop {
            let speaks = self.speech.is_some();
            let until = if speaks {
                quiet_at + PATIENCE
            } else {
                quiet_at
            };
            match self.next(until).await? {
                Happening::AgentBegan => began = true,
                Happening::AgentEnded => quiet_at = Instant::now() + self.no_less(REACTION),
                Happening::AgentYielded => {
                    // These were its last words before the person spoke: the answer is still to come.
                    began = false;
                    quiet_at = Instant::now() + patience;
                }
                Happening::TimeUp => return Ok(began),
            }
        }
    }

    /// Speaks. The agent may speak meanwhile, but words that it ends meanwhile are no answer.
    async fn say(&mut self, text: &str) -> Result<(), Gone> {
        let takes = self.pace.speech(text);
        self.report(LegEvent::CustomerStarted).await;
        self.wait(takes).await?;
        if self.speech.is_none() {
            self.heard.clear();
        }
        self.report(LegEvent::Heard {
            text: text.to_owned(),
            duration_ms: millis(takes),
        })
        .await;
        Ok(())
    }

    async fn wait(&mut self, how_long: Duration) -> Result<(), Gone> {
        let until = Instant::now() + how_long;
        while !matches!(self.next(until).await?, Happening::TimeUp) {}
        Ok(())
    }

    /// The next event on the line.
    async fn next(&mut self, until: Instant) -> Result<Happening, Gone> {
        loop {
            let speech_ends = self.speech.as_ref().map(|speech| speech.ends);
            let (wakes_at, is_speech) = match speech_ends {
                Some(ends) if ends <= until => (ends, true),
                _ => (until, false),
            };
            let command = tokio::select! {
                biased;
                command = self.commands.recv() => command,
                () = sleep_until(wakes_at) => {
                    if is_speech {
                        self.complete();
                        return Ok(Happening::AgentEnded);
                    }
                    return Ok(Happening::TimeUp);
                }
            };
            match command {
                Some(Command::Say { id, text, done }) => return Ok(self.begin(id, text, done)),
                Some(Command::Stop { id }) => {
                    self.stopped_up_to = self.stopped_up_to.max(Some(id));
                    if self.speech.as_ref().is_some_and(|speech| speech.id <= id) {
                        self.cut();
                        self.heard.clear();
                        return Ok(Happening::AgentYielded);
                    }
                }
                Some(Command::Digits) => {}
                Some(Command::Transfer | Command::HangUp) | None => return Err(Gone),
            }
        }
    }

    fn begin(&mut self, id: u64, text: String, done: Box<dyn FnOnce(Spoken) + Send>) -> Happening {
        self.cut();
        if self.stopped_up_to.is_some_and(|stopped| id <= stopped) {
            // The stop command overtook its text.
            done(Spoken::default());
            return Happening::AgentYielded;
        }
        let began = Instant::now();
        let ends = began + self.pace.speech(&text);
        self.speech = Some(Speech {
            id,
            text,
            began,
            ends,
            done,
        });
        Happening::AgentBegan
    }

    fn complete(&mut self) {
        if let Some(speech) = self.speech.take() {
            self.heard.clone_from(&speech.text);
            (speech.done)(Spoken {
                heard_text: speech.text,
                complete: true,
                duration_ms: millis(speech.ends - speech.began),
                sound: None,
            });
        }
    }

    fn cut(&mut self) {
        if let Some(speech) = self.speech.take() {
            let spoken_for = speech.began.elapsed();
            let heard_text = heard_part(&speech.text, spoken_for, speech.ends - speech.began);
            self.heard.clone_from(&heard_text);
            (speech.done)(Spoken {
                heard_text,
                complete: false,
                duration_ms: millis(spoken_for),
                sound: None,
            });
        }
    }

    /// A closed channel is ignored: the call goes on.
    async fn report(&mut self, event: LegEvent) {
        let _ = self.events.send(event).await;
    }

    fn no_less(&self, (real, floor): (Duration, Duration)) -> Duration {
        self.pace.of(real).max(floor.min(real))
    }
}

/// The whole words that were spoken after `spoken_for` of `takes`.
fn heard_part(text: &str, spoken_for: Duration, takes: Duration) -> String {
    let chars = text.chars().count();
    let part = spoken_for.as_secs_f64() / takes.as_secs_f64().max(f64::MIN_POSITIVE);
    let mut heard = 0;
    let mut words = "";
    for (count, (at, c)) in text.char_indices().enumerate() {
        if (count as f64) > part * chars as f64 {
            break;
        }
        heard = at;
        if c.is_whitespace() {
            words = &text[..at];
        }
    }
    if heard == 0 {
        String::new()
    } else {
        words.trim_end().to_owned()
    }
}

fn millis(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_words_were_heard() {
        let heard = |percent: u64| {
            let (part, takes) = (Duration::from_millis(percent), Duration::from_millis(100));
            heard_part("Hello my friend", part, takes)
        };
        assert_eq!(heard(0), "");
        assert_eq!(heard(20), "");
        assert_eq!(heard(40), "Hello");
        assert_eq!(heard(54), "Hello my");
        assert_eq!(heard(99), "Hello my");
        assert_eq!(heard_part("", Duration::ZERO, Duration::ZERO), "");
    }
}
