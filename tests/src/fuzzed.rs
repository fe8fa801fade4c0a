//! Runs the fuzz targets (tests/fuzz/src) on the inputs that fuzzing has kept.

#[path = "../fuzz/src/cursor.rs"]
mod cursor;
#[path = "../fuzz/src/e164.rs"]
mod e164;
#[path = "../fuzz/src/events.rs"]
mod events;
#[path = "../fuzz/src/forwarded.rs"]
mod forwarded;
#[path = "../fuzz/src/json.rs"]
mod json;
#[path = "../fuzz/src/metadata.rs"]
mod metadata;
#[path = "../fuzz/src/recipients.rs"]
mod recipients;
#[path = "../fuzz/src/rtp.rs"]
mod rtp;
#[path = "../fuzz/src/sdp.rs"]
mod sdp;
#[path = "../fuzz/src/signature.rs"]
mod signature;
#[path = "../fuzz/src/target.rs"]
mod target;
#[path = "../fuzz/src/timestamp.rs"]
mod timestamp;

/// Runs a target on an input.
type Target = fn(&[u8]);

/// The targets, by the names of their folders in tests/fuzz/corpus.
pub const TARGETS: [(&str, Target); 12] = [
    ("cursor", cursor::run),
    ("e164", e164::run),
    ("events", events::run),
    ("forwarded", forwarded::run),
    ("json", json::run),
    ("metadata", metadata::run),
    ("recipients", recipients::run),
    ("rtp", rtp::run),
    ("sdp", sdp::run),
    ("signature", signature::run),
    ("target", target::run),
    ("timestamp", timestamp::run),
];
