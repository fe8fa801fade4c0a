//! How a campaign calls, and when it repeats calls.

use serde::{Serialize, Serializer};

use crate::body::{Form, Integer, Nested, Optional, Or, Shape};
use crate::json::{Fault, Fields, Json, Result};
use crate::{DialWindow, Outcome, body};

/// The most minutes until a call is repeated: a week.
const MAX_MINUTES: i64 = 10_080;

/// When a call is repeated after an outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// Never.
    Never,
    /// When the window opens the next time; without a window, a day later.
    NextWindow,
    /// After so many minutes.
    Minutes(i64),
}

impl Retry {
    /// The words beside a number of minutes.
    pub const WORDS: [&str; 2] = ["never", "next_window"];

    /// The most minutes.
    pub const MINUTES_AT_MOST: i64 = MAX_MINUTES;
}

impl Serialize for Retry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Never => serializer.serialize_str(Self::WORDS[0]),
            Self::NextWindow => serializer.serialize_str(Self::WORDS[1]),
            Self::Minutes(minutes) => serializer.serialize_i64(*minutes),
        }
    }
}

/// Minutes, or a word.
#[derive(Debug)]
struct RetryForm;

impl Form for RetryForm {
    type Value = Retry;

    fn shape(&self) -> Shape {
        Shape::Other
    }

    fn read(&self, fields: &mut Fields<'_>, name: &str) -> Result<Retry> {
        let fault = Fault::RetryRule(MAX_MINUTES);
        let fault = fields.fault(name, fault);
        match fields.required(name)? {
            Json::String(word) if word == Retry::WORDS[0] => Ok(Retry::Never),
            Json::String(word) if word == Retry::WORDS[1] => Ok(Retry::NextWindow),
            json => {
                let minutes = json.as_i64();
                let minutes = minutes.filter(|minutes| (1..=MAX_MINUTES).contains(minutes));
                minutes.map(Retry::Minutes).ok_or(fault)
            }
        }
    }
}

body! {
    /// When calls are repeated, by what came of them.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize)]
    pub RetryRules {
        most_attempts: i64, Or(Integer(1..=10), 3), "Calls to one recipient, at most (default 3).";
        busy: Retry, Or(RetryForm, Retry::Minutes(15)), "After a busy line: minutes, `next_window` or `never` (default 15).";
        no_answer: Retry, Or(RetryForm, Retry::NextWindow), "After no answer (default `next_window`).";
        voicemail: Retry, Or(RetryForm, Retry::Never), "After an answering machine (default `never`: an agent whose `turns.voicemail` is `leave_message` leaves its message once).";
        rejected: Retry, Or(RetryForm, Retry::Never), "After a declined call (default `never`).";
        silent: Retry, Or(RetryForm, Retry::Never), "After an answer without a word (default `never`).";
        failed: Retry, Or(RetryForm, Retry::Never), "After a failure of the carrier, the agent or a process (default `never`).";
    }
}

impl RetryRules {
    /// When a call that came to this is repeated.
    #[must_use]
    pub const fn after(&self, outcome: Outcome) -> Retry {
        match outcome {
            Outcome::Busy => self.busy,
            Outcome::NoAnswer => self.no_answer,
            Outcome::Voicemail => self.voicemail,
            Outcome::Rejected => self.rejected,
            Outcome::Silent => self.silent,
            Outcome::Failed => self.failed,
            Outcome::AnsweredHuman
            | Outcome::InvalidNumber
            | Outcome::Cancelled
            | Outcome::Expired
            | Outcome::Blocked => Retry::Never,
        }
    }
}

body! {
    /// When a campaign pauses because its calls fail.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize)]
    pub CircuitBreaker {
        failure_percent: i64, Or(Integer(0..=100), 50), "Percent of failed, declined and misdirected calls that pauses the campaign; 0: none does (default 50).";
        calls: i64, Or(Integer(5..=1_000), 20), "Calls that are judged together (default 20).";
    }
}

impl CircuitBreaker {
    /// Whether so many failures pause a campaign, however the rest of the judged calls end.
    #[must_use]
    pub const fn trips(&self, failures: i32) -> bool {
        self.failure_percent > 0 && failures as i64 * 100 >= self.failure_percent * self.calls
    }
}

body! {
    /// How a campaign calls.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize)]
    pub CampaignSettings {
        live_percent: i64, Or(Integer(1..=100), 50), "Percent of the plan's live calls up to which the account's calls may go by this campaign (default 50). A tenth stays free for single calls.";
        calls_per_minute: i64, Or(Integer(1..=6_000), 60), "Calls begun in a minute, at most (default 60).";
        window: Option<DialWindow>, Optional(Nested::of()), "When recipients are called, in their own time zones, besides the account's dialing rules.";
        retries: RetryRules, Or(Nested::of(), default()), "When calls are repeated.";
        breaker: CircuitBreaker, Or(Nested::of(), default()), "When the campaign pauses because its calls fail.";
    }
}

/// What an empty object means.
fn default<T: body::Body<Context = ()>>() -> T {
    // Every member has a default.
    T::of(&Json::Object(Vec::new()), &()).unwrap_or_else(|_| unreachable!("a required member"))
}

impl Default for CampaignSettings {
    fn default() -> Self {
        default()
    }
}

impl CampaignSettings {
    /// Reads what [`CampaignSettings::to_stored`] wrote.
    ///
    /// # Errors
    /// The first member that cannot be read.
    pub fn from_stored(text: &str) -> Result<Self> {
        crate::dialing::stored(text)
    }

    /// The text that is stored.
    #[must_use]
    pub fn to_stored(&self) -> String {
        // Serializing plain structs of strings and numbers does not fail.
        serde_json::to_string(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<CampaignSettings> {
        CampaignSettings::from_stored(text)
    }

    #[test]
    fn settings_survive_their_stored_text_and_have_defaults() {
        let text = r#"{"live_percent":20,"window":{"days":[1],"start":"09:00","end":"18:00"},
            "retries":{"busy":"never","no_answer":30,"most_attempts":2},"breaker":{"failure_percent":0}}"#;
        let settings = read(text).unwrap();
        assert_eq!(
            settings.retries.after(Outcome::NoAnswer),
            Retry::Minutes(30)
        );
        assert_eq!(settings.retries.after(Outcome::Busy), Retry::Never);
        assert!(!settings.breaker.trips(20));
        assert_eq!(
            CampaignSettings::from_stored(&settings.to_stored()),
            Ok(settings)
        );
        let usual = read("{}").unwrap();
        assert_eq!(usual, CampaignSettings::default());
        assert_eq!(usual.retries.after(Outcome::Busy), Retry::Minutes(15));
        assert_eq!(usual.retries.after(Outcome::NoAnswer), Retry::NextWindow);
        assert!(usual.breaker.trips(10) && !usual.breaker.trips(9));
    }

    #[test]
    fn a_retry_is_a_number_of_minutes_or_a_word() {
        for bad in ["0", "10081", "1.5", "\"soon\"", "true"] {
            let text = format!(r#"{{"retries":{{"busy":{bad}}}}}"#);
            let fault = read(&text).unwrap_err().to_string();
            assert_eq!(
                fault,
                "`retries.busy`: must be `never`, `next_window` or minutes from 1 to 10080"
            );
        }
    }
}
