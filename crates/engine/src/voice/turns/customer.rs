//! The customer's side: an utterance from its first sound to the end of the turn.

use std::time::Duration;

use super::floor::DECIDES_WITHIN;
use super::{Effect, Phase, Report, Turns};
use crate::voice::activity::{BEGINS_AFTER, ENDS_AFTER};
use crate::voice::words;

/// The pause that ends a turn that seems incomplete.
const LONG_PAUSE: Duration = Duration::from_secs(3);

/// The pause that ends a machine's greeting; the agent then leaves its message.
const MACHINE_PAUSE: Duration = Duration::from_secs(2);

/// How long a recognizer may take to return an utterance's text; after it the turn ends without it.
const WORDS_LIMIT: Duration = Duration::from_secs(2);

/// The same for a recognizer that processes an utterance only after its end.
const SLOW_WORDS_LIMIT: Duration = Duration::from_secs(10);

/// The pause after the last key of a number.
const KEY_PAUSE: Duration = Duration::from_millis(1_500);

/// Keys per turn at most.
const MAX_KEYS: usize = 64;

/// The longest turn; beyond it the end of the speech was missed, or the sound is not speech.
const LONGEST: Duration = Duration::from_secs(60);

/// The recognizer's finalize requests and their answers.
#[derive(Debug, Default)]
pub(super) struct RecognizerState {
    asked: u64,
    answered: u64,
    /// Results before the answer to this request belong to a finished turn and are ignored.
    known_until: u64,
}

impl RecognizerState {
    pub(super) fn finalized(&mut self) {
        self.answered = self.asked.min(self.answered + 1);
    }

    /// A fallback recognizer takes over; it will answer this many requests.
    pub(super) fn replaced(&mut self, finalizes: u64) {
        self.answered = self.asked.saturating_sub(finalizes);
        self.known_until = self.known_until.min(self.answered);
    }

    pub(super) const fn is_settled(&self) -> bool {
        self.answered == self.asked
    }

    /// All outstanding results belong to a finished turn.
    pub(super) const fn passes_over_what_it_owes(&mut self) {
        self.known_until = self.asked;
    }

    const fn tells_what_is_known(&self) -> bool {
        self.answered < self.known_until
    }
}

#[derive(Debug)]
pub(super) struct Utterance {
    pub(super) began_at: Duration,
    /// When its last word so far was spoken.
    pub(super) spoke_until: Duration,
    /// When its current burst of speech began; each pause starts a new burst.
    burst_at: Duration,
    /// Whether voice activity detection heard it, not only the recognizer.
    heard: bool,
    finals: String,
    partial: String,
    pub(super) keys: String,
    key_at: Duration,
    /// When its results were requested, since the last sound.
    pub(super) asked_at: Option<Duration>,
    /// The recognizer detected the end of the turn.
    ended: bool,
    /// Whether the session knows that the customer speaks.
    pub(super) told: bool,
    /// Until when a speaking agent pauses to find out what this utterance becomes.
    pub(super) decided_at: Duration,
}

impl Utterance {
    fn new(began_at: Duration, now: Duration, heard: bool) -> Self {
        Self {
            began_at,
            spoke_until: now,
            burst_at: began_at,
            heard,
            finals: String::new(),
            partial: String::new(),
            keys: String::new(),
            key_at: now,
            asked_at: None,
            ended: false,
            told: false,
            decided_at: Duration::ZERO,
        }
    }

    /// The text so far, with keys at the end.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for part in [self.finals.as_str(), self.partial.as_str()] {
            join(&mut text, part);
        }
        if !self.keys.is_empty() {
            join(&mut text, "DTMF");
            join(&mut text, &self.keys);
        }
        text
    }

    pub(super) fn spoken(&self) -> String {
        let mut text = self.finals.clone();
        join(&mut text, &self.partial);
        text
    }

    pub(super) fn duration(&self) -> Duration {
        self.spoke_until.saturating_sub(self.began_at)
    }

    pub(super) fn forget_words(&mut self) {
        self.finals.clear();
        self.partial.clear();
        self.ended = false;
    }

    pub(super) fn burst(&self) -> Duration {
        if self.heard {
            self.spoke_until.saturating_sub(self.burst_at)
        } else {
            Duration::ZERO
        }
    }

    /// Whether the recognizer has audio of it whose results were not requested.
    pub(super) fn is_unasked(&self) -> bool {
        self.heard && self.asked_at.is_none()
    }

    /// Whether the recognizer can have results for it.
    fn is_spoken(&self) -> bool {
        self.heard || !self.spoken().is_empty()
    }
}

fn join(text: &mut String, part: &str) {
    let part = part.trim();
    if !text.is_empty() && !part.is_empty() {
        text.push(' ');
    }
    text.push_str(part);
}

impl Turns {
    /// Voice activity began.
    pub(super) fn speech_begins(&mut self, now: Duration) {
        let began_at = self.activity.began_at();
        let began_at = began_at.saturating_sub(self.rules.heard_late);
        let utterance = self
            .customer
            .get_or_insert_with(|| Utterance::new(began_at, now, true));
        utterance.heard = true;
        utterance.burst_at = began_at;
        utterance.asked_at = None;
        utterance.ended = false;
        if self.floor.yields() {
            utterance.decided_at = now + DECIDES_WITHIN;
        }
        self.effects.push(Effect::SpeechBegan);
    }

    pub(super) fn partial(&mut self, text: String, now: Duration) {
        if let Some(utterance) = self.understood(&text, now) {
            utterance.partial = text;
            if !utterance.heard {
                utterance.spoke_until = now;
                utterance.asked_at = None;
            }
        }
    }

    pub(super) fn words(&mut self, text: &str, now: Duration) {
        if let Some(utterance) = self.understood(text, now) {
            utterance.partial.clear();
            join(&mut utterance.finals, text);
        }
    }

    /// The utterance that words belong to; a new one if the recognizer heard what voice activity detection did not.
    fn understood(&mut self, text: &str, now: Duration) -> Option<&mut Utterance> {
        if !self.is_answered() || self.recognizer.tells_what_is_known() {
            return None;
        }
        let listens = self.listens();
        if self.customer.is_none() && listens && words::words(text).next().is_some() {
            self.customer = Some(Utterance::new(now, now, false));
            self.effects.push(Effect::SpeechBegan);
        }
        self.customer.as_mut()
    }

    /// The recognizer detected the end of the turn. It has no effect without words.
    pub(super) fn recognizer_ends_turn(&mut self) {
        if !self.recognizer.tells_what_is_known()
            && let Some(utterance) = &mut self.customer
        {
            utterance.ended = !utterance.spoken().is_empty();
        }
    }

    /// A key press is always deliberate, so it takes the floor.
    pub(super) fn key(&mut self, key: char, now: Duration) {
        if !self.listens() || !matches!(key, '0'..='9' | '*' | '#' | 'A'..='D') {
            return;
        }
        if matches!(self.phase, Phase::Screening(_)) {
            self.person_answered(now);
        }
        let utterance = self
            .customer
            .get_or_insert_with(|| Utterance::new(now, now, false));
        if utterance.keys.len() < MAX_KEYS {
            utterance.keys.push(key);
        }
        utterance.key_at = now;
        if !utterance.is_spoken() {
            utterance.spoke_until = now;
        }
    }

    /// When to request the recognizer's results.
    pub(super) fn finalizes_at(&self) -> Option<Duration> {
        let utterance = self.customer.as_ref()?;
        let asks =
            !self.activity.speaking() && utterance.asked_at.is_none() && utterance.is_spoken();
        asks.then(|| utterance.spoke_until + ENDS_AFTER)
    }

    pub(super) fn finalize(&mut self, now: Duration) {
        self.recognizer.asked += 1;
        self.effects.push(Effect::Finalize);
        if let Some(utterance) = &mut self.customer {
            utterance.asked_at = Some(now);
        }
    }

    /// When the turn ends if nothing more comes.
    pub(super) fn turn_ends_at(&self) -> Option<Duration> {
        let utterance = self.customer.as_ref()?;
        if matches!(self.phase, Phase::Screening(_)) {
            return None;
        }
        let longest = utterance.began_at + LONGEST;
        let words_limit = if self.rules.partials {
            WORDS_LIMIT
        } else {
            SLOW_WORDS_LIMIT
        };
        if utterance.ended && utterance.keys.is_empty() {
            // The recognizer's end of turn takes precedence over any pause.
            return Some(utterance.spoke_until);
        }
        if self.activity.speaking() {
            return Some(longest);
        }
        let keyed_at = match utterance.keys.chars().next_back() {
            None => Duration::ZERO,
            Some('#') => utterance.key_at,
            Some(_) => utterance.key_at + KEY_PAUSE,
        };
        let spoken_at = if !utterance.is_spoken() {
            Duration::ZERO
        } else {
            let mut quiet_at = utterance.spoke_until + self.pause_after(utterance);
            if let Some(until) = self.activity.may_begin_until() {
                // The first syllable of continued speech counts, even while it is too short to tell it from noise.
                quiet_at = quiet_at.max(until.min(quiet_at + BEGINS_AFTER));
            }
            match utterance.asked_at {
                Some(_) if self.recognizer.is_settled() => quiet_at,
                Some(asked_at) => quiet_at.max(asked_at + words_limit),
                // The recognizer's results are requested first.
                None => quiet_at.max(utterance.spoke_until + ENDS_AFTER + words_limit),
            }
        };
        Some(keyed_at.max(spoken_at).min(longest))
    }

    /// The length of the pause that ends the turn.
    fn pause_after(&self, utterance: &Utterance) -> Duration {
        let endpointing = self.rules.endpointing;
        let spoken = utterance.spoken();
        if spoken.is_empty() && utterance.asked_at.is_some() && self.recognizer.is_settled() {
            // A noise without words.
            ENDS_AFTER
        } else if self.phase == Phase::Machine {
            MACHINE_PAUSE.max(endpointing)
        } else if self.floor.yields() && !utterance.told {
            // A murmur while the agent speaks ends soon, so that it is not joined with the next one.
            endpointing
        } else if self.rules.turns || words::goes_on(&spoken) {
            LONG_PAUSE.max(endpointing)
        } else {
            endpointing
        }
    }

    /// Ends the utterance and reports it.
    pub(super) fn close_turn(&mut self) {
        let over_agent = self.floor.yields();
        let Some(utterance) = self.take_utterance() else {
            return;
        };
        if utterance.ended {
            // Voice activity detection lags behind: what comes next is another utterance.
            self.activity.reset();
        }
        let text = utterance.text();
        let murmur = words::telling(&text) == 0;
        if !utterance.told && (text.is_empty() || (over_agent && murmur)) {
            return;
        }
        if !utterance.told && !over_agent {
            self.report(Report::CustomerStarted);
        }
        self.report(Report::TurnOver {
            duration: utterance.duration(),
            spoke_until: utterance.spoke_until,
            interrupts: utterance.told || !over_agent,
            text,
        });
    }

    /// Removes the utterance. The recognizer's outstanding results for it are ignored, if part of its text is known.
    pub(super) fn take_utterance(&mut self) -> Option<Utterance> {
        let utterance = self.customer.take()?;
        if !utterance.partial.trim().is_empty() {
            if self.recognizer.is_settled() || utterance.asked_at.is_none() {
                self.recognizer.asked += 1;
                self.effects.push(Effect::Finalize);
            }
            self.recognizer.passes_over_what_it_owes();
        }
        self.effects.push(Effect::Forget);
        Some(utterance)
    }
}
