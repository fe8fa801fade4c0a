//! The disk of the data directory: recordings of calls under way are written to it, and what SQLite holds.

use super::finding::{Finding, Hop};
use crate::prelude::*;

const HOP: Hop = Hop("disk");

/// Less room than this is told of: some nine hours of recorded calls.
const LITTLE: u64 = 1 << 30;

/// What a recorded call takes in a minute: 8 kHz, 16 bit, both sides.
const PER_MINUTE: u64 = 8_000 * 4 * 60;

pub(super) fn look(settings: &Settings) -> Finding {
    let directory = settings.data_dir.as_path();
    let shown = directory.display();
    let free = match free(directory) {
        Ok(free) => free,
        Err(error) => {
            let sentence = format!("the room on the disk of {shown} is not known: {error}");
            return HOP.skipped(sentence);
        }
    };
    let sentence = format!(
        "the disk of {shown} has room for {} MiB, or {} minutes of recorded calls",
        free >> 20,
        free / PER_MINUTE
    );
    if free < LITTLE {
        return HOP.warning(format!(
            "{sentence}: make room, or recordings end before their calls"
        ));
    }
    HOP.good(sentence)
}

/// Bytes that this user may still write.
#[cfg(unix)]
fn free(directory: &Path) -> std::io::Result<u64> {
    let found = rustix::fs::statvfs(directory)?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

#[cfg(not(unix))]
fn free(_: &Path) -> std::io::Result<u64> {
    Err(std::io::ErrorKind::Unsupported.into())
}
