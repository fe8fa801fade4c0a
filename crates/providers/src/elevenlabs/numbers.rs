//! The numbers that an account calls from at the provider, by which of its two operations a call of each is placed, and
//! whose they are.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use offhook_domain::{E164, NumberProvider};
use offhook_engine::Deadline;
use offhook_engine::legacy::{LegacyError, LegacyNumber};
use parking_lot::Mutex;
use serde::Deserialize;
use tokio::time::{Instant, timeout};

use super::client::{Client, Failed};
use crate::lenient::{Id, Lenient, Places, Text, readable};

/// How long a list is good for; a number that it lacks is looked for anew.
const GOOD_FOR: Duration = Duration::from_secs(300);

/// Lists that are remembered.
const REMEMBERED: usize = 4_096;

/// A number as the provider lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Number {
    /// Its id there.
    pub(crate) id: String,
    /// The number itself.
    pub(crate) number: E164,
    /// What it is called.
    pub(crate) label: String,
    /// By whose lines it calls.
    pub(crate) line: Line,
    /// The agent there that has it.
    pub(crate) agent: Option<String>,
}

/// By whose lines a number calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line {
    /// Twilio's.
    Twilio,
    /// A SIP trunk's.
    SipTrunk,
}

impl Number {
    pub(super) fn told(&self) -> LegacyNumber {
        LegacyNumber {
            number: self.number.clone(),
            label: self.label.clone(),
            provider: match self.line {
                Line::Twilio => NumberProvider::Twilio,
                Line::SipTrunk => NumberProvider::Sip,
            },
        }
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Listed {
    phone_number_id: Id,
    /// Kinds of lines that the documentation does not know yet may have none.
    phone_number: Text,
    label: Text,
    provider: Text,
    assigned_agent: Lenient<Assigned>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Assigned {
    agent_id: Id,
}

/// Every number of the account. Those of other lines than the two that calls can be placed by are left out, and what
/// cannot be read.
///
/// # Errors
/// [`Failed`], for the list as a whole.
pub(crate) async fn list(client: &Client, key: &str) -> Result<Vec<Number>, Failed> {
    let path = ["v1", "convai", "phone-numbers"];
    let listed: Places<Listed> = client.get(key, &path, &[]).await?;
    Ok(readable(listed).filter_map(number).collect())
}

fn number(listed: Listed) -> Option<Number> {
    let line = match listed.provider.0.as_deref() {
        Some("twilio") => Line::Twilio,
        Some("sip_trunk" | "sip-trunk") => Line::SipTrunk,
        _ => return None,
    };
    Some(Number {
        id: listed.phone_number_id.0?,
        number: listed.phone_number.0?.parse().ok()?,
        label: listed.label.0.unwrap_or_default(),
        line,
        agent: listed.assigned_agent.0.agent_id.0,
    })
}

/// The lists that were asked for a moment ago, by the accounts' keys.
#[derive(Clone, Default)]
pub(crate) struct Numbers(Arc<Mutex<HashMap<String, Remembered>>>);

struct Remembered {
    since: Instant,
    numbers: Arc<Vec<Number>>,
}

impl Numbers {
    /// The account's numbers as they are now.
    pub(super) async fn of(&self, client: &Client, key: &str) -> Result<Arc<Vec<Number>>, Failed> {
        let numbers = Arc::new(list(client, key).await?);
        let since = Instant::now();
        let mut remembered = self.0.lock();
        if remembered.len() >= REMEMBERED {
            remembered.retain(|_, one| one.since.elapsed() < GOOD_FOR);
        }
        if remembered.len() < REMEMBERED {
            let numbers = numbers.clone();
            remembered.insert(key.to_owned(), Remembered { since, numbers });
        }
        Ok(numbers)
    }

    /// One of the account's numbers to call from, perhaps as it was a moment ago. Nothing is asked for after `place_by`,
    /// and no number is told then.
    pub(super) async fn find_by(
        &self,
        client: &Client,
        key: &str,
        number: &E164,
        place_by: Deadline,
    ) -> Result<Option<Number>, LegacyError> {
        // A timeout lets what it waits for begin, and its timer is a millisecond coarse: near by, that is a whole answer.
        if place_by.is_over() {
            return Err(LegacyError::NotConnected);
        }
        let found = match timeout(place_by.left(), self.find(client, key, number)).await {
            Ok(Ok(found)) => found,
            // Nothing has been asked of it that has an effect.
            Ok(Err(failed)) => {
                return Err(match failed.of_reading() {
                    LegacyError::Unknown => LegacyError::NotConnected,
                    error => error,
                });
            }
            Err(_) => return Err(LegacyError::NotConnected),
        };
        if place_by.is_over() {
            return Err(LegacyError::NotConnected);
        }
        Ok(found)
    }

    /// One of the account's numbers, perhaps as it was a moment ago.
    async fn find(
        &self,
        client: &Client,
        key: &str,
        number: &E164,
    ) -> Result<Option<Number>, Failed> {
        let in_list = |numbers: &[Number]| {
            let mut numbers = numbers.iter();
            numbers.find(|known| known.number == *number).cloned()
        };
        let known = self.fresh(key).and_then(|numbers| in_list(&numbers));
        if known.is_some() {
            return Ok(known);
        }
        Ok(in_list(&self.of(client, key).await?))
    }

    /// Forgets the account's list: something in it is not so any more.
    pub(super) fn forget(&self, key: &str) {
        self.0.lock().remove(key);
    }

    fn fresh(&self, key: &str) -> Option<Arc<Vec<Number>>> {
        let remembered = self.0.lock();
        let one = remembered.get(key)?;
        (one.since.elapsed() < GOOD_FOR).then(|| one.numbers.clone())
    }
}
