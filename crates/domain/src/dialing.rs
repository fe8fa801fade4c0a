//! Whom an account may call: its rules, what a customer agreed to, and the numbers that it does not call.

use serde::Serialize;

use crate::agent::vocabulary;
use crate::body::{Flag, Instant, Integer, Nested, Optional, Or, Own, Required, Text};
use crate::config::{TimeOfDay, days, time_of_day};
use crate::json::{Fault, FieldError, Fields, Json, Result, item_path};
use crate::{Timestamp, body};

/// The most prefixes that an account can allow.
const MAX_PREFIXES: usize = 200;

/// The most holidays of a window.
const MAX_HOLIDAYS: usize = 200;

vocabulary! {
    /// The rule that refuses a dial.
    DialRule {
        /// The number is on the account's suppression list.
        SuppressionList => "suppression_list",
        /// The account does not allow the number's prefix.
        AllowedPrefixes => "allowed_prefixes",
        /// Nobody recorded what the customer agreed to.
        Consent => "consent",
        /// The number's time zone is unknown, so its window is, too.
        TimeZone => "time_zone",
        /// It is outside the window in one of the number's time zones.
        Window => "window",
        /// It is outside the agent's calling hours.
        CallingHours => "calling_hours",
        /// The number was called as often as is allowed in 24 hours.
        AttemptsPerDay => "attempts_per_day",
        /// The number was called as often as is allowed in seven days.
        AttemptsPerWeek => "attempts_per_week",
        /// The number was called a moment ago.
        MinimumPause => "minimum_pause",
        /// The account's credits of this UTC day are spent or reserved.
        DailyCredits => "daily_credits",
    }
}

vocabulary! {
    /// How a number came on the suppression list.
    SuppressionSource {
        /// `POST /v1/suppressions`.
        Api => "api",
        /// A member, in the portal.
        Portal => "portal",
        /// A file.
        Import => "import",
        /// The customer said so in a conversation.
        Customer => "customer",
    }
}

body! {
    /// What a customer agreed to before a call.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize)]
    pub Consent {
        basis: String, Required(Text(1..=100)), "The legal ground, such as `express_written` or `existing_customer`.";
        at: Timestamp, Required(Instant), "When it was given.";
        evidence: Option<String>, Optional(Text(0..=1_000)), "Where it is found: a form, a recording, a contract.";
    }
}

body! {
    /// When a number may be called, in its own time zone. If it has several, all must be open.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize)]
    pub DialWindow {
        days: Vec<u8>, Required(Own(days)), "Days of the week, 1 = Monday to 7.";
        start: TimeOfDay, Required(Own(time_of_day)), "The first minute, `HH:MM`.";
        end: TimeOfDay, Required(Own(time_of_day)), "The minute it ends; before `start`, it crosses midnight; `start` itself is the whole day.";
        holidays: Vec<String>, Or(Own(holidays), Vec::new()), "Dates (`YYYY-MM-DD`) on which nobody is called.";
    }
}

body! {
    /// When a call may be dialed, besides its account's rules.
    #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
    pub CallWindow {
        window: Option<DialWindow>, Optional(Nested::of()), "When it may be dialed.";
        time_zone: Option<String>, Optional(Text(1..=64)), "The customer's time zone, in which every window counts, in place of the number's.";
    }
}

impl CallWindow {
    /// Reads what [`CallWindow::to_stored`] wrote.
    ///
    /// # Errors
    /// The first member that cannot be read.
    pub fn from_stored(text: &str) -> Result<Self> {
        stored(text)
    }

    /// The text that is stored, if anything is limited.
    #[must_use]
    pub fn to_stored(&self) -> Option<String> {
        let is_limited = *self != Self::default();
        is_limited.then(|| serde_json::to_string(self).unwrap_or_default())
    }
}

body! {
    /// An account's rules of whom it calls. What is not set refuses nothing.
    #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
    pub DialingRules {
        window: Option<DialWindow>, Optional(Nested::of()), "When numbers may be called, in their own time zones. A number whose zone is unknown is then not called.";
        attempts_per_day: Option<i64>, Optional(Integer(1..=1_000)), "Calls to one number in 24 hours, over all agents.";
        attempts_per_week: Option<i64>, Optional(Integer(1..=1_000)), "Calls to one number in seven days, over all agents.";
        minimum_pause_minutes: Option<i64>, Optional(Integer(1..=10_080)), "Minutes between two calls to one number.";
        consent_required: bool, Or(Flag, false), "Whether a call without `consent` is refused.";
        allowed_prefixes: Vec<String>, Or(Own(prefixes), Vec::new()), "Prefixes such as `+52` that may be called, within those of the installation; none: all of them.";
        daily_credits: Option<i64>, Optional(Integer(0..=1_000_000_000_000)), "Credits that calls may spend and reserve in a UTC day.";
    }
}

impl DialingRules {
    /// Whether it matters when a number was called before.
    #[must_use]
    pub const fn counts_attempts(&self) -> bool {
        self.attempts_per_day.is_some()
            || self.attempts_per_week.is_some()
            || self.minimum_pause_minutes.is_some()
    }

    /// Whether nothing is refused.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Reads what [`DialingRules::to_stored`] wrote.
    ///
    /// # Errors
    /// The first member that cannot be read.
    pub fn from_stored(text: &str) -> Result<Self> {
        stored(text)
    }

    /// The text that is stored.
    #[must_use]
    pub fn to_stored(&self) -> String {
        // Serializing plain structs of strings and numbers does not fail.
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl Consent {
    /// Reads what [`Consent::to_stored`] wrote.
    ///
    /// # Errors
    /// The first member that cannot be read.
    pub fn from_stored(text: &str) -> Result<Self> {
        stored(text)
    }

    /// The text that is stored.
    #[must_use]
    pub fn to_stored(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

pub(crate) fn stored<T: body::Body<Context = ()>>(text: &str) -> Result<T> {
    let json = Json::parse(text.as_bytes()).unwrap_or(Json::Null);
    T::of(&json, &())
}

/// Reads texts, each of which `is_one`.
fn texts(
    (fields, name): (&mut Fields<'_>, &str),
    most: usize,
    is_one: fn(&str) -> bool,
    fault: &Fault,
) -> Result<Vec<String>> {
    let items = fields.optional_array(name, 0..=most)?.unwrap_or_default();
    let path = fields.path_of(name);
    let read = |(at, item): (usize, &Json)| {
        let text = item.as_str().filter(|text| is_one(text));
        let fault = || FieldError::new(item_path(&path, at), fault.clone());
        text.map(str::to_owned).ok_or_else(fault)
    };
    items.iter().enumerate().map(read).collect()
}

fn prefixes(fields: &mut Fields<'_>, name: &str) -> Result<Vec<String>> {
    let is_prefix = |text: &str| {
        let digits = text.strip_prefix('+').unwrap_or_default();
        (1..=14).contains(&digits.len())
            && digits.bytes().all(|byte| byte.is_ascii_digit())
            && !digits.starts_with('0')
    };
    texts((fields, name), MAX_PREFIXES, is_prefix, &Fault::Prefix)
}

fn holidays(fields: &mut Fields<'_>, name: &str) -> Result<Vec<String>> {
    let is_date = |text: &str| {
        text.len() == 10 && Timestamp::parse_from(&format!("{text}T00:00:00Z")).is_ok()
    };
    texts((fields, name), MAX_HOLIDAYS, is_date, &Fault::CalendarDate)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<DialingRules> {
        stored(json)
    }

    #[test]
    fn rules_survive_their_stored_text() {
        let text = r#"{"window":{"days":[1,5],"start":"09:00","end":"20:30","holidays":["2026-12-25"]},
            "attempts_per_day":3,"minimum_pause_minutes":60,"consent_required":true,"allowed_prefixes":["+52"]}"#;
        let rules = read(text).unwrap();
        assert_eq!(DialingRules::from_stored(&rules.to_stored()), Ok(rules));
        assert!(read("{}").unwrap().is_empty());
    }

    #[test]
    fn each_fault_names_its_item() {
        for (json, fault) in [
            (
                r#"{"allowed_prefixes":["+52","52"]}"#,
                "allowed_prefixes[1]",
            ),
            (r#"{"allowed_prefixes":["+0"]}"#, "allowed_prefixes[0]"),
            (
                r#"{"window":{"days":[1],"start":"09:00","end":"20:00","holidays":["2026-02-30"]}}"#,
                "window.holidays[0]",
            ),
            (
                r#"{"window":{"days":[],"start":"09:00","end":"20:00"}}"#,
                "window.days",
            ),
            (r#"{"attempts_per_day":0}"#, "attempts_per_day"),
            (r#"{"atempts":1}"#, "atempts"),
        ] {
            assert_eq!(read(json).unwrap_err().path, fault, "{json}");
        }
    }
}
