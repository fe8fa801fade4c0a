//! Notifications between the processes on one PostgreSQL: each asks to poll now, and never carries the fact itself.
//! Facts are rows, every process also polls, and a lost notification costs only a moment.
//!
//! Sent: a hangup for the call's owner, news of a legacy call at its provider, an event stream elsewhere that follows a
//! call, an event in such a call, a changed webhook endpoint. Not sent: queued calls, deliveries, batches and
//! documents, because the committing process wakes itself, and the others poll several times a second for what it
//! cannot handle; and keys and plans, which every request reads.

use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};

use offhook_engine::EndRequest;
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::Result;
use crate::prelude::*;
use crate::workers::every;

/// Queued signals; any more are lost.
const OUTBOX: usize = 4_096;

/// Signals in one message, which PostgreSQL limits to 7,999 bytes.
const AT_ONCE: usize = 150;

/// How long signals after a message wait for the next one.
const BETWEEN_MESSAGES: Duration = Duration::from_millis(10);

/// How often a process sends a signal to itself. If it has not returned by the next time, the process receives nothing.
const PROBE_EVERY: Duration = Duration::from_secs(5);

/// How soon it listens again after that.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// How long a call counts as followed elsewhere after an announcement, and how often a follower repeats it.
const FOLLOWED_FOR: Duration = Duration::from_secs(60);
pub(crate) const FOLLOW_AGAIN_AFTER: Duration = Duration::from_secs(20);

/// A notification to the other processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Signal {
    /// The owner of the call must end it.
    HangUp(ConversationId),
    /// An event stream in another process follows the call.
    Follow(ConversationId),
    /// The provider has reported news of a legacy call.
    Look(ConversationId),
    /// Something happened in a call that is followed elsewhere.
    Touched(ConversationId),
    /// A webhook endpoint was changed.
    Endpoints,
    /// Only tests whether notifications arrive.
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

/// A message: the sender, then its signals. Unknown signals of newer versions are skipped.
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

/// The signals that this process sends and receives.
pub(crate) struct Signals {
    outbox: mpsc::Sender<Signal>,
    waiting: Mutex<Option<mpsc::Receiver<Signal>>>,
    /// Whether notifications arrive here.
    hears: AtomicBool,
    /// Calls that streams of other processes follow, and until when that counts.
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
    /// Whether notifications of other processes arrive here, so that polling may be rare.
    pub(crate) fn hears(&self) -> bool {
        self.hears.load(Ordering::Relaxed)
    }

    /// Queues a signal to be sent in a moment.
    pub(crate) fn say(&self, signal: Signal) {
        // A full queue drops it: it only asks for a poll, and every process polls.
        let _ = self.outbox.try_send(signal);
    }

    fn follow(&self, id: ConversationId) {
        let mut followed = self.followed.lock();
        let now = Instant::now();
        followed.retain(|_, until| *until > now);
        followed.insert(id, now + FOLLOWED_FOR);
    }

    pub(crate) fn is_followed(&self, id: ConversationId) -> bool {
        let followed = self.followed.lock();
        followed
            .get(&id)
            .is_some_and(|until| *until > Instant::now())
    }
}

/// Sends queued signals and handles received ones, until `stop`.
pub(crate) async fn exchange((ctx, live): (Arc<Context>, Arc<Live>), stop: CancellationToken) {
    if ctx.store.is_embedded() {
        return stop.cancelled().await;
    }
    tokio::join!(speak(&ctx, &live, &stop), listen(&ctx, &live, &stop));
    live.signals.hears.store(false, Ordering::Relaxed);
}

async fn speak(ctx: &Context, live: &Live, stop: &CancellationToken) {
    let Some(mut waiting) = live.signals.waiting.lock().take() else {
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
        if let Err(error) = ctx.store.tell(message(ctx.node, &signals)).await {
            tracing::debug!(%error, "other processes could not be told: they find out by themselves");
        }
        signals.clear();
        tokio::time::sleep(BETWEEN_MESSAGES).await;
    }
}

async fn listen(ctx: &Context, live: &Live, stop: &CancellationToken) {
    let mut was_deaf = false;
    loop {
        let heard = tokio::select! {
            () = stop.cancelled() => return,
            heard = hear(ctx, live) => heard,
        };
        let heard_before = live.signals.hears.swap(false, Ordering::Relaxed);
        if let Err(error) = heard
            && (heard_before || !std::mem::replace(&mut was_deaf, true))
        {
            // Logged once: every process polls more often meanwhile.
            tracing::warn!(%error, "what other processes tell does not arrive");
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(AGAIN_AFTER) => {}
        }
    }
}

/// Listens until nothing arrives any more.
async fn hear(ctx: &Context, live: &Live) -> Result<()> {
    let mut listener = some_or!(ctx.store.listen().await?, ());
    let mut probe = every(PROBE_EVERY);
    let mut is_asked = false;
    loop {
        tokio::select! {
            message = listener.next() => {
                if do_as_told(ctx, live, &message?) {
                    is_asked = false;
                    live.signals.hears.store(true, Ordering::Relaxed);
                }
            }
            _ = probe.tick() => {
                // A pooler in front of the database may accept LISTEN and pass nothing on.
                if std::mem::replace(&mut is_asked, true) {
                    return Err(StoreError::Unavailable("no word of its own came back".into()));
                }
                live.signals.say(Signal::Probe);
            }
        }
    }
}

/// Handles a message; `true` for one of this process itself.
fn do_as_told(ctx: &Context, live: &Live, message: &str) -> bool {
    let Some((node, signals)) = read(message) else {
        return false;
    };
    if node == ctx.node {
        return true;
    }
    for signal in signals {
        match signal {
            Signal::HangUp(id) => {
                live.registry.end(id, EndRequest::ApiHangup);
            }
            Signal::Follow(id) => {
                live.signals.follow(id);
                // What happened between the follower's read and now was not announced.
                if live.registry.holds(id) {
                    live.signals.say(Signal::Touched(id));
                }
            }
            Signal::Look(id) => {
                live.legacy_looks.wake(id);
            }
            Signal::Touched(id) => live.feed.touch(id),
            Signal::Endpoints => {
                ctx.wakes.endpoint_changes.fetch_add(1, Ordering::SeqCst);
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
