//! Named points between every two steps of placing, dialing, closing and delivering.
//!
//! With the feature `failpoints` the process aborts, as in a power cut, when it reaches the point that
//! `OFFHOOK_FAILPOINT` names (`name`, or `name:3` for the third time). Without the feature the points compile to
//! nothing. A release build with the feature does not compile.

#[cfg(all(feature = "failpoints", not(debug_assertions)))]
compile_error!("failpoints must not be in a release build");

macro_rules! points {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
        $($(#[$doc])* pub const $name: &str = $text;)*

        /// Every point. The crash tests hit each of them on both databases.
        pub const ALL: &[&str] = &[$($text,)*];
    };
}

points! {
    /// The request is read and checked; its transaction has not begun.
    PLACE_BEFORE_TRANSACTION = "place.before_transaction";
    /// Everything is written; COMMIT has not been sent.
    PLACE_BEFORE_COMMIT = "place.before_commit";
    /// The call is committed; the client has no response.
    PLACE_AFTER_COMMIT = "place.after_commit";
    /// The dialer is about to claim.
    DIAL_BEFORE_CLAIM = "dial.before_claim";
    /// The claim is committed; the carrier has not been called.
    DIAL_AFTER_CLAIM = "dial.after_claim";
    /// The carrier has accepted the call; nothing of that is written.
    DIAL_AFTER_CARRIER = "dial.after_carrier";
    /// The answer is committed.
    DIAL_AFTER_ANSWER = "dial.after_answer";
    /// A turn is committed.
    DIAL_AFTER_TURN = "dial.after_turn";
    /// The media has ended; nothing of that is written.
    CLOSE_BEFORE_CLOSING = "close.before_closing";
    /// `closing` is committed; there is no summary yet.
    CLOSE_AFTER_CLOSING = "close.after_closing";
    /// The summary exists; the closing transaction has not begun.
    CLOSE_AFTER_SUMMARY = "close.after_summary";
    /// The closing transaction is written; COMMIT has not been sent.
    CLOSE_BEFORE_COMMIT = "close.before_commit";
    /// The call is settled.
    CLOSE_AFTER_COMMIT = "close.after_commit";
    /// The dispatcher is about to claim.
    DELIVER_BEFORE_CLAIM = "deliver.before_claim";
    /// The claim is committed; nothing has been sent.
    DELIVER_AFTER_CLAIM = "deliver.after_claim";
    /// The receiver has responded; nothing of that is written.
    DELIVER_AFTER_SEND = "deliver.after_send";
    /// The attempt's result is committed.
    DELIVER_AFTER_FINISH = "deliver.after_finish";
}

/// A batch round has placed its calls; COMMIT has not been sent.
pub const BATCH_BEFORE_COMMIT: &str = "batch.before_commit";
/// The calls of a batch round are committed; the dialer has not been notified.
pub const BATCH_AFTER_COMMIT: &str = "batch.after_commit";

/// The points that only batches reach. They have a crash test of their own.
pub const OF_BATCHES: &[&str] = &[BATCH_BEFORE_COMMIT, BATCH_AFTER_COMMIT];

/// An inbound call is written and claimed; its caller has heard nothing yet.
pub const ANSWER_AFTER_COMMIT: &str = "answer.after_commit";

/// The answer to a chat message is written and charged; COMMIT has not been sent.
pub const CHAT_BEFORE_COMMIT: &str = "chat.before_commit";

/// The results of a chat's tools are written; COMMIT has not been sent.
pub const CHAT_TURNS_BEFORE_COMMIT: &str = "chat.turns.before_commit";

/// A WhatsApp message may be sent from now on; its request has not been made.
pub const WHATSAPP_BEFORE_SEND: &str = "whatsapp.before_send";
/// WhatsApp has responded; nothing of that is written.
pub const WHATSAPP_AFTER_SEND: &str = "whatsapp.after_send";
/// The answer to a WhatsApp message is written; the messages that will carry it are not.
pub const WHATSAPP_AFTER_ANSWER: &str = "whatsapp.after_answer";

/// An uploaded document is in the object store; it has no row.
pub const UPLOAD_AFTER_OBJECT: &str = "upload.after_object";

/// A call's recording is in the object store; its conversation does not mention it.
pub const RECORDING_AFTER_OBJECT: &str = "recording.after_object";

/// Some secrets are sealed with the next master key; others are not.
pub const REKEY_AFTER_BATCH: &str = "rekey.after_batch";
/// Every secret is sealed with the next master key; the database still names the previous one.
pub const REKEY_BEFORE_END: &str = "rekey.before_end";

/// `time`: without the feature nothing is shortened.
#[cfg(not(feature = "failpoints"))]
#[must_use]
pub const fn scaled(time: std::time::Duration) -> std::time::Duration {
    time
}

/// `time`, divided by `OFFHOOK_TEST_HASTE` if that is set. It shortens the leases and waits that tests wait for.
#[cfg(feature = "failpoints")]
#[must_use]
pub fn scaled(time: std::time::Duration) -> std::time::Duration {
    static HASTE: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    let haste = HASTE.get_or_init(|| {
        let setting = std::env::var("OFFHOOK_TEST_HASTE").unwrap_or_default();
        setting.parse().unwrap_or(1).max(1)
    });
    time / *haste
}

/// The names of a process's jobs, as [`begin_worker`] gets them.
pub const WORKERS: &[&str] = &[
    "agents",
    "analyses",
    "batches",
    "campaigns",
    "clock",
    "dialer",
    "dispatcher",
    "documents",
    "embeddings",
    "hangups",
    "inbound",
    "integrations",
    "leases",
    "legacy",
    "logs",
    "maintenance",
    "orphans",
    "recordings",
    "retention",
    "signals",
    "silent_chats",
    "uploads",
    "voices",
    "whatsapp",
];

/// Marks the start of a worker. Does nothing without the feature.
#[cfg(not(feature = "failpoints"))]
#[inline(always)]
pub fn begin_worker(_name: &str) {}

/// Marks the start of a worker.
///
/// # Panics
/// If `OFFHOOK_TEST_DEAD_WORKER` names it.
#[cfg(feature = "failpoints")]
pub fn begin_worker(name: &str) {
    let dies = std::env::var("OFFHOOK_TEST_DEAD_WORKER").is_ok_and(|dead| dead == name);
    assert!(!dies, "the worker {name} dies");
}

/// Passes the point `name`. Does nothing without the feature.
#[cfg(not(feature = "failpoints"))]
#[inline(always)]
pub fn hit(_name: &str) {}

/// Passes the point `name`: aborts the process if `OFFHOOK_FAILPOINT` names it.
#[cfg(feature = "failpoints")]
pub fn hit(name: &str) {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU32, Ordering};

    static CHOSEN: OnceLock<Option<(String, u32)>> = OnceLock::new();
    static PASSED: AtomicU32 = AtomicU32::new(0);
    let chosen = CHOSEN.get_or_init(|| {
        let setting = std::env::var("OFFHOOK_FAILPOINT").ok()?;
        let (name, times) = setting.split_once(':').unwrap_or((&setting, "1"));
        Some((name.to_owned(), times.parse().unwrap_or(1)))
    });
    if let Some((chosen, times)) = chosen
        && chosen == name
        && PASSED.fetch_add(1, Ordering::SeqCst) + 1 == *times
    {
        std::process::abort();
    }
}
