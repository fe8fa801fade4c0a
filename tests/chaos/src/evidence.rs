//! The evidence after a run: from the phone network, the clients, the receivers and the database.

use std::time::Duration;

/// A dial that the phone network logged before it answered.
#[derive(Debug, Clone)]
pub(crate) struct Dial {
    pub(crate) handle: String,
    pub(crate) to: String,
    /// The node that dialed.
    pub(crate) node: String,
    /// In Unix microseconds.
    pub(crate) at: i64,
    /// The line of the log.
    pub(crate) line: String,
}

/// A text of one side of a call.
#[derive(Debug, Clone)]
pub(crate) struct Words {
    pub(crate) handle: String,
    /// `user` or `agent`.
    pub(crate) role: String,
    pub(crate) text: String,
}

/// What a client meant by a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meant {
    /// The call that the key is for.
    Place,
    /// The same call again, long after it was placed.
    Again,
    /// Another call under the same key.
    Other,
    /// A call that must be refused.
    Refusal,
    /// A batch, or the same batch again.
    Batch,
}

/// A request with an Idempotency-Key, and its result.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) account: String,
    pub(crate) key: String,
    pub(crate) meant: Meant,
    pub(crate) node: String,
    /// Since the beginning of the run.
    pub(crate) at: Duration,
    /// `None`: no complete response came.
    pub(crate) status: Option<u16>,
    pub(crate) code: String,
    pub(crate) body: String,
    pub(crate) replayed: bool,
}

impl std::fmt::Display for Asked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (key, meant, node, at) = (&self.key, self.meant, &self.node, self.at);
        write!(f, "`{key}` ({meant:?}) at {node} after {at:.3?}: ")?;
        match self.status {
            Some(status) => write!(f, "{status} {}", self.body),
            None => f.write_str("no answer"),
        }
    }
}

/// A client's read of a call that the client knew.
#[derive(Debug, Clone)]
pub(crate) struct Look {
    pub(crate) handle: String,
    pub(crate) node: String,
    pub(crate) status: u16,
}

impl std::fmt::Display for Look {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (handle, node, status) = (&self.handle, &self.node, self.status);
        write!(f, "{node} answered {status} to a read of {handle}")
    }
}

/// A delivery that reached a receiver.
#[derive(Debug, Clone)]
pub(crate) struct Receipt {
    pub(crate) endpoint: String,
    pub(crate) event: String,
    /// `X-Service-Delivery`.
    pub(crate) attempt: String,
    /// In hexadecimal.
    pub(crate) body: String,
    pub(crate) is_signed: bool,
    /// The receiver's response; 0: it hung or reset the connection.
    pub(crate) answered: u16,
}

/// A conversation in the database. Ids are 32 hexadecimal digits.
#[derive(Debug, Clone)]
pub(crate) struct Conversation {
    pub(crate) id: String,
    pub(crate) account: String,
    pub(crate) state: String,
    pub(crate) to: String,
    pub(crate) failure: String,
    /// Why it ended, if it was completed.
    pub(crate) termination: String,
    pub(crate) credits: i64,
    /// When a worker claimed the call, and when its end was reported, in Unix microseconds; 0: never.
    pub(crate) times: (i64, i64),
    /// `key` of its metadata: the call's Idempotency-Key.
    pub(crate) key: String,
}

impl Conversation {
    /// The handle that clients use.
    pub(crate) fn handle(&self) -> String {
        handle(&self.id)
    }

    /// Whether the conversation is final.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.state.as_str(), "completed" | "failed")
    }
}

/// The handle of the call with this id.
pub(crate) fn handle(id: &str) -> String {
    let part = |range| id.get(range).unwrap_or_default();
    format!(
        "call_{}-{}-{}-{}-{}",
        part(0..8),
        part(8..12),
        part(12..16),
        part(16..20),
        part(20..32)
    )
}

/// A process that ended, or was stopped for longer than its leases.
#[derive(Debug, Clone)]
pub(crate) struct Death {
    pub(crate) node: String,
    /// In Unix microseconds.
    pub(crate) at: i64,
}

/// An event in the database.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) id: String,
    pub(crate) account: String,
    pub(crate) conversation: String,
    pub(crate) kind: String,
    /// In hexadecimal.
    pub(crate) body: String,
}

/// A delivery in the database.
#[derive(Debug, Clone)]
pub(crate) struct Delivery {
    pub(crate) id: String,
    pub(crate) event: String,
    pub(crate) endpoint: String,
    pub(crate) state: String,
}

/// A line of an account's ledger.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) account: String,
    pub(crate) seq: i64,
    pub(crate) kind: String,
    pub(crate) amount: i64,
    pub(crate) balance: i64,
    pub(crate) conversation: String,
}

#[derive(Debug, Clone)]
pub(crate) struct Wallet {
    pub(crate) account: String,
    pub(crate) balance: i64,
    pub(crate) reserved: i64,
}

/// A stored response of an Idempotency-Key.
#[derive(Debug, Clone)]
pub(crate) struct StoredKey {
    pub(crate) account: String,
    pub(crate) key: String,
    /// In hexadecimal.
    pub(crate) body: String,
}

#[derive(Debug, Clone)]
pub(crate) struct Recipient {
    pub(crate) id: String,
    pub(crate) to: String,
    pub(crate) status: String,
    /// How many calls were placed for it.
    pub(crate) calls: i64,
}

/// A campaign, each of whose recipients may be called once.
#[derive(Debug, Clone)]
pub(crate) struct Campaign {
    pub(crate) id: String,
    pub(crate) status: String,
    pub(crate) total: i64,
    /// To be called, and being called.
    pub(crate) open: i64,
    /// Reached, not reached, and blocked.
    pub(crate) done: i64,
}

/// A recipient of a campaign.
#[derive(Debug, Clone)]
pub(crate) struct Person {
    pub(crate) campaign: String,
    pub(crate) to: String,
    pub(crate) status: String,
    pub(crate) attempts: i64,
}

/// A number that an account calls no more.
#[derive(Debug, Clone)]
pub(crate) struct OptedOut {
    pub(crate) account: String,
    pub(crate) number: String,
    /// When it was answered, in Unix microseconds: it was committed before.
    pub(crate) at: i64,
}

impl std::fmt::Display for Recipient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (id, to, status, calls) = (&self.id, &self.to, &self.status, self.calls);
        write!(f, "recipient {id} ({to}) is `{status}` with {calls} calls")
    }
}

/// All evidence of a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Evidence {
    pub(crate) dials: Vec<Dial>,
    /// What the phone network heard, in order.
    pub(crate) heard: Vec<Words>,
    /// The transcripts, in order.
    pub(crate) transcripts: Vec<Words>,
    pub(crate) asked: Vec<Asked>,
    /// Clients that retried until the end without a final response.
    pub(crate) untold: Vec<String>,
    pub(crate) looks: Vec<Look>,
    pub(crate) receipts: Vec<Receipt>,
    pub(crate) conversations: Vec<Conversation>,
    /// Each conversation and how many of its moments end it.
    pub(crate) endings: Vec<(String, i64)>,
    pub(crate) events: Vec<Event>,
    pub(crate) deliveries: Vec<Delivery>,
    /// Each endpoint and its account.
    pub(crate) endpoints: Vec<(String, String)>,
    pub(crate) entries: Vec<Entry>,
    pub(crate) wallets: Vec<Wallet>,
    /// Conversations that hold a reservation.
    pub(crate) reservations: Vec<String>,
    pub(crate) keys: Vec<StoredKey>,
    pub(crate) recipients: Vec<Recipient>,
    pub(crate) campaigns: Vec<Campaign>,
    pub(crate) people: Vec<Person>,
    pub(crate) opted_out: Vec<OptedOut>,
    /// The problems that `offhook doctor` reports.
    pub(crate) doctor: Vec<String>,
    /// Calls that are still live in the phone network.
    pub(crate) live: Vec<String>,
    /// Work that was not done in time.
    pub(crate) left: Vec<String>,
    /// Unexpected ends of nodes, panics, forbidden responses.
    pub(crate) oddities: Vec<String>,
    /// Kills, stops, restarts of servers and cuts.
    pub(crate) disturbances: u64,
    /// The deliveries in flight at each disturbance, as the receivers saw it, summed.
    pub(crate) in_flight: u64,
    pub(crate) deaths: Vec<Death>,
    /// By how many microseconds a node's clock was off at most.
    pub(crate) clocks_off: i64,
}
