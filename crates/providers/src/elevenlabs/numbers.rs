//! The account's caller numbers at the provider, the operation that places calls from each, and the agent that each is
//! assigned to.

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

/// How long a list is cached. A number that is missing from it is looked up again.
const GOOD_FOR: Duration = Duration::from_secs(300);

/// Cached lists at most.
const REMEMBERED: usize = 4_096;

/// A number as the provider lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Number {
    /// The provider's id.
    pub(crate) id: String,
    pub(crate) number: E164,
    pub(crate) label: String,
    pub(crate) line: Line,
    /// The provider's id of the assigned agent.
    pub(crate) agent: Option<String>,
}

/// The kind of line of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line {
    Twilio,
    SipTrunk,
}

impl Number {
    pub(super) fn to_legacy(&self) -> LegacyNumber {
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
    /// Kinds of lines that are not documented yet may lack a number.
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

/// Every number of the account. Skips unreadable entries, and lines other than the two that calls can be placed with.
/// An error concerns the list as a whole.
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

/// Cached lists by account key.
#[derive(Clone, Default)]
pub(crate) struct Numbers(Arc<Mutex<HashMap<String, Remembered>>>);

struct Remembered {
    since: Instant,
    numbers: Arc<Vec<Number>>,
}

impl Numbers {
    /// The account's current numbers.
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

    /// Finds one of the account's caller numbers, perhaps from the cache. After `place_by` it sends no request and
    /// returns no number.
    pub(super) async fn find_by(
        &self,
        client: &Client,
        key: &str,
        number: &E164,
        place_by: Deadline,
    ) -> Result<Option<Number>, LegacyError> {
        // A `timeout` starts its future even when no time is left, and its timer is only accurate to a millisecond; a
        // fast answer could arrive in that time.
        if place_by.is_over() {
            return Err(LegacyError::NotConnected);
        }
        let found = match timeout(place_by.left(), self.find(client, key, number)).await {
            Ok(Ok(found)) => found,
            // So far only requests without an effect were sent.
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

    /// Finds one of the account's numbers, perhaps from the cache.
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

    /// Drops the account's cached list because an entry is outdated.
    pub(super) fn forget(&self, key: &str) {
        self.0.lock().remove(key);
    }

    fn fresh(&self, key: &str) -> Option<Arc<Vec<Number>>> {
        let remembered = self.0.lock();
        let one = remembered.get(key)?;
        (one.since.elapsed() < GOOD_FOR).then(|| one.numbers.clone())
    }
}
