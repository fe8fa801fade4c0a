//! What processes on one PostgreSQL tell each other at once: a word to look now, never the fact itself.
//! Facts are rows, everybody also polls, and a word that is lost costs a moment.
//!
//! What is told: a hang-up that the call's owner is to obey, that a legacy call's provider knows more, that a call is
//! followed by an event stream elsewhere, that something happened in such a call, that a webhook endpoint has changed. What is not: queued calls, deliveries,
//! batches and documents, as the process that commits these wakes itself, and the others look for what it has no hands
//! for several times a second; and keys and plans, which every request reads.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use offhook_domain::{ConversationId, NodeId};
use offhook_engine::EndRequest;
use offhook_storage::StoreError;
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::workers::every;
use crate::{Result, Shared};

/// Signals that wait to be told; what comes on top is lost.
const OUTBOX: usize = 4_096;

/// Signals in one message, which PostgreSQL limits to 7,999 bytes.
const AT_ONCE: usize = 150;

/// How long what comes after a message waits for the next one.
const BETWEEN_MESSAGES: Duration = Duration::from_millis(10);

/// How often a process speaks to itself. A word that has not come back by the next time says that it hears nothing.
const PROBE_EVERY: Duration = Duration::from_secs(5);

/// How soon it listens anew after it has heard nothing.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// How long a call counts as followed elsewhere after that was said, and how often a follower says it.
const FOLLOWED_FOR: Duration = Duration::from_secs(60);
pub(crate) const FOLLOW_AGAIN_AFTER: Duration = Duration::from_secs(20);

/// One thing that a process tells the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Signal {
    /// The owner of the call is to end it.
    HangUp(ConversationId),
    /// An event stream in another process follows the call.
    Follow(ConversationId),
    /// The provider of a legacy call has said of its own accord that it knows more.
    Look(ConversationId),
    /// Something happened in a call that is followed elsewhere.
    Touched(ConversationId),
    /// A webhook endpoint was changed.
    Endpoints,
    /// Nothing but a sign that words arrive.
    Probe,
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HangUp(id) => write!(f, "h{}", id.uuid()),
            Self::Follow(id) => write!(f, "f{}", id.uuid()),
            Self::Look(id) => write!(f, "l{}", id.uuid()),
            Self::Touched(id) => write!(f, "t{}", id.uuid()),
            Self::Endpoints => f.write_str("e"),
            Self::Probe => f.write_str("?"),
        }
    }
}

impl FromStr for Signal {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (kind, id) = text.split_at_checked(1).ok_or(())?;
        let call = || id.parse::<ConversationId>().map_err(drop);
        match kind {
            "h" => call().map(Self::HangUp),
            "f" => call().map(Self::Follow),
            "l" => call().map(Self::Look),
            "t" => call().map(Self::Touched),
            "e" if id.is_empty() => Ok(Self::Endpoints),
            "?" if id.is_empty() => Ok(Self::Probe),
            _ => Err(()),
        }
    }
}

/// A message: who speaks, then what. What a newer version says and this one does not know is passed over.
fn message(node: NodeId, signals: &[Signal]) -> String {
    let mut text = node.uuid().to_string();
    for signal in signals {
        text.push(' ');
        text.push_str(&signal.to_string());
    }
    text
}

fn read(message: &str) -> Option<(NodeId, impl Iterator<Item = Signal>)> {
    let mut words = message.split(' ');
    let node = words.next()?.parse().ok()?;
    Some((node, words.filter_map(|word| word.parse().ok())))
}

/// What this process says and hears.
pub(crate) struct Signals {
    outbox: mpsc::Sender<Signal>,
    waiting: Mutex<Option<mpsc::Receiver<Signal>>>,
    /// Whether what is said arrives here.
    hears: AtomicBool,
    /// Calls that streams of other processes follow, and until when that holds.
    followed: Mutex<HashMap<ConversationId, Instant>>,
}

impl Default for Signals {
    fn default() -> Self {
        let (outbox, waiting) = mpsc::channel(OUTBOX);
        Self {
            outbox,
            waiting: Mutex::new(Some(waiting)),
            hears: AtomicBool::new(false),
            followed: Mutex::default(),
        }
    }
}

impl Signals {
    /// Whether words of other processes arrive here, so that looks may be rare.
    pub(crate) fn hears(&self) -> bool {
        self.hears.load(Ordering::Relaxed)
    }

    /// Leaves a signal to be told in a moment.
    pub(crate) fn say(&self, signal: Signal) {
        // A full outbox loses it: it is a word to look, and everybody looks.
        let _ = self.outbox.try_send(signal);
    }

    fn follow(&self, id: ConversationId) {
        let mut followed = self.followed.lock();
        let now = Instant::now();
        followed.retain(|_, until| *until > now);
        followed.insert(id, now + FOLLOWED_FOR);
    }

    fn is_followed(&self, id: ConversationId) -> bool {
        let followed = self.followed.lock();
        followed
            .get(&id)
            .is_some_and(|until| *until > Instant::now())
    }
}

impl Shared {
    /// Something happened in a conversation: whoever follows it looks, here and elsewhere.
    pub(crate) fn touch(&self, id: ConversationId) {
        self.feed.touch(id);
        if self.signals.is_followed(id) {
            self.signals.say(Signal::Touched(id));
        }
    }
}

/// Tells what is to be told and does what is heard, until `stop`.
pub(crate) async fn exchange(shared: Arc<Shared>, stop: CancellationToken) {
    if shared.store.is_embedded() {
        return;
    }
    tokio::join!(speak(&shared, &stop), listen(&shared, &stop));
    shared.signals.hears.store(false, Ordering::Relaxed);
}

async fn speak(shared: &Shared, stop: &CancellationToken) {
    let Some(mut waiting) = shared.signals.waiting.lock().take() else {
        return;
    };
    let mut signals = Vec::with_capacity(AT_ONCE);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = waiting.recv_many(&mut signals, AT_ONCE) => {}
        }
        let mut known = HashSet::new();
        signals.retain(|signal| known.insert(*signal));
        if let Err(error) = shared.store.tell(message(shared.node, &signals)).await {
            tracing::debug!(%error, "other processes could not be told: they find out by themselves");
        }
        signals.clear();
        tokio::time::sleep(BETWEEN_MESSAGES).await;
    }
}

async fn listen(shared: &Shared, stop: &CancellationToken) {
    let mut was_deaf = false;
    loop {
        let heard = tokio::select! {
            () = stop.cancelled() => return,
            heard = hear(shared) => heard,
        };
        let heard_before = shared.signals.hears.swap(false, Ordering::Relaxed);
        if let Err(error) = heard
            && (heard_before || !std::mem::replace(&mut was_deaf, true))
        {
            // Said once: everybody looks more often meanwhile.
            tracing::warn!(%error, "what other processes tell does not arrive");
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(AGAIN_AFTER) => {}
        }
    }
}

/// Hears until nothing comes any more.
async fn hear(shared: &Shared) -> Result<()> {
    let Some(mut listener) = shared.store.listen().await? else {
        return Ok(());
    };
    let mut probe = every(PROBE_EVERY);
    let mut is_asked = false;
    loop {
        tokio::select! {
            message = listener.next() => {
                if do_as_told(shared, &message?) {
                    is_asked = false;
                    shared.signals.hears.store(true, Ordering::Relaxed);
                }
            }
            _ = probe.tick() => {
                // A pooler between here and the database takes LISTEN, and passes nothing on.
                if std::mem::replace(&mut is_asked, true) {
                    return Err(StoreError::Unavailable("no word of its own came back".into()));
                }
                shared.signals.say(Signal::Probe);
            }
        }
    }
}

/// `true` for a word of this process itself.
fn do_as_told(shared: &Shared, message: &str) -> bool {
    let Some((node, signals)) = read(message) else {
        return false;
    };
    if node == shared.node {
        return true;
    }
    for signal in signals {
        match signal {
            Signal::HangUp(id) => {
                shared.registry.end(id, EndRequest::ApiHangup);
            }
            Signal::Follow(id) => {
                shared.signals.follow(id);
                // What happened between the follower's look and now was not told.
                if shared.registry.holds(id) {
                    shared.signals.say(Signal::Touched(id));
                }
            }
            Signal::Look(id) => {
                shared.legacy_looks.wake(id);
            }
            Signal::Touched(id) => shared.feed.touch(id),
            Signal::Endpoints => {
                shared.wakes.endpoint_changes.fetch_add(1, Ordering::SeqCst);
            }
            Signal::Probe => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use offhook_domain::Timestamp;

    use super::*;

    const AT: Timestamp = Timestamp::from_micros(0);

    #[test]
    fn a_message_is_read_as_it_was_written_and_unknown_words_are_passed_over() {
        let node = NodeId::mint(AT, [1; 10]);
        let call = ConversationId::mint(AT, [2; 10]);
        let signals = [
            Signal::HangUp(call),
            Signal::Follow(call),
            Signal::Look(call),
            Signal::Touched(call),
            Signal::Endpoints,
            Signal::Probe,
        ];
        let text = format!("{} z9 hnonsense é", message(node, &signals));
        let (speaker, heard) = read(&text).unwrap();
        assert_eq!(speaker, node);
        assert_eq!(heard.collect::<Vec<_>>(), signals);
        assert!(read("nonsense").is_none());
        assert!(read("").is_none());
    }

    #[test]
    fn the_longest_message_is_one_that_the_database_takes() {
        let node = NodeId::mint(AT, [1; 10]);
        let call = ConversationId::mint(AT, [2; 10]);
        assert!(message(node, &[Signal::HangUp(call); AT_ONCE]).len() < 8_000);
    }
}
