//! Writes a call's recording while the call goes on: the call hands over its ticks and never waits for the disk.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::pump::Tick;
use crate::wav::Recording;
use crate::{Frame, SILENCE};

/// Frames that are written at once: 1 s. A process that dies loses no more than these and those that wait.
const FRAMES_PER_WRITE: usize = 50;

/// Pieces that may wait for a slow disk. What comes while all wait, and as much again in the call's own hands, is lost.
const MOST_WAITING: usize = 30;

/// Ticks that were dropped on the way, and are silent in the recording so that it stays as long as the call: 10 min. A
/// longer gap is no gap but a mistake.
const MOST_MISSING: u64 = 30_000;

type Piece = Vec<(Frame, Frame)>;

/// The call's end. Dropping it ends the recording.
#[derive(Debug)]
pub struct Recorder {
    pieces: mpsc::Sender<Piece>,
    piece: Piece,
    next: Option<u64>,
}

/// What became of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recorded {
    /// How long it is.
    pub duration_ms: u64,
}

/// The recording's end: it is whole in its file once this resolves, which it does behind the drop of its [`Recorder`].
#[derive(Debug)]
pub struct Written(JoinHandle<io::Result<Recorded>>);

impl Recorder {
    /// Begins a recording in a new file, or in place of one that is there. Call it within a runtime.
    ///
    /// # Errors
    /// The system's, if the file cannot be made.
    pub fn create(path: &Path) -> io::Result<(Self, Written)> {
        // To be read as well: a crash may leave it to be repaired.
        let file = File::options()
            .create(true)
            .read(true)
            .write(true)
            .truncate(true)
            .open(path)?;
        let recording = Recording::new(BufWriter::with_capacity(64 * 1_024, file))?;
        let (pieces, waiting) = mpsc::channel(MOST_WAITING);
        let task = tokio::spawn(write(recording, waiting));
        let recorder = Self {
            pieces,
            piece: Vec::with_capacity(FRAMES_PER_WRITE),
            next: None,
        };
        Ok((recorder, Written(task)))
    }

    /// Adds a tick: what was heard on the left, what was said on the right. Ticks that are missing before it are silent.
    pub fn record(&mut self, tick: &Tick) {
        let missing = self.next.map_or(0, |next| tick.number.saturating_sub(next));
        if missing <= MOST_MISSING {
            for _ in 0..missing {
                self.add((SILENCE, SILENCE));
            }
        }
        self.next = Some(tick.number.saturating_add(1));
        self.add((tick.heard, tick.said.unwrap_or(SILENCE)));
    }

    fn add(&mut self, pair: (Frame, Frame)) {
        self.piece.push(pair);
        if self.piece.len() >= FRAMES_PER_WRITE {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        let piece = std::mem::replace(&mut self.piece, Vec::with_capacity(FRAMES_PER_WRITE));
        if let Err(mpsc::error::TrySendError::Full(piece)) = self.pieces.try_send(piece) {
            // The disk is 30 s behind. The piece is tried again with the next, until as much waits here too.
            if piece.len() < FRAMES_PER_WRITE * MOST_WAITING {
                self.piece = piece;
            }
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if !self.piece.is_empty() {
            self.hand_over();
        }
    }
}

impl Written {
    /// Waits for the end of the recording.
    ///
    /// # Errors
    /// The disk's. What was written before can still be [repaired](crate::wav::repair).
    pub async fn wait(self) -> io::Result<Recorded> {
        self.0.await.map_err(io::Error::other)?
    }
}

/// Writes pieces, each on a thread that may block.
async fn write(
    mut recording: Recording<BufWriter<File>>,
    mut pieces: mpsc::Receiver<Piece>,
) -> io::Result<Recorded> {
    while let Some(piece) = pieces.recv().await {
        let writing = tokio::task::spawn_blocking(move || {
            for (caller, agent) in piece {
                recording.add(&caller, &agent)?;
            }
            recording.save()?;
            Ok::<_, io::Error>(recording)
        });
        recording = writing.await.map_err(io::Error::other)??;
    }
    let duration_ms = recording.duration_ms();
    let finishing =
        tokio::task::spawn_blocking(move || recording.finish()?.into_inner()?.sync_all());
    finishing.await.map_err(io::Error::other)??;
    Ok(Recorded { duration_ms })
}
