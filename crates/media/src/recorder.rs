//! Writes a call's recording during the call: the call passes its ticks on and never waits for the disk.
//!
//! Every frame is written at its tick's time. Missing ticks, and pieces dropped because of a slow disk, become silence,
//! so that both sides stay in sync.

use std::fs::File;
use std::io::{self, BufWriter};

use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tokio::task::JoinHandle;

use crate::pump::Tick;
use crate::wav::Recording;
use crate::{Frame, SILENCE};

/// Frames per write: 1 s. A crash loses no more than these and the waiting ones.
const FRAMES_PER_WRITE: usize = 50;

/// Pieces that may wait for a slow disk. When all are full, the call keeps as many frames again; further ones are
/// dropped.
const MOST_WAITING: usize = 30;

/// The longest gap of ticks that becomes silence, so that the recording stays as long as the call: 10 min. A longer one
/// is an error, not a gap.
const MOST_MISSING: u64 = 30_000;

/// Creates the file, on a thread that may block.
type Open = Box<dyn FnOnce() -> io::Result<File> + Send>;

/// Consecutive frames of both sides.
#[derive(Debug, Default)]
struct Piece {
    /// The position of the first frame, from the recording's beginning.
    first: u64,
    frames: Vec<(Frame, Frame)>,
}

/// The call's handle of the recording. Dropping it ends the recording.
#[derive(Debug)]
pub struct Recorder {
    pieces: mpsc::Sender<Piece>,
    piece: Piece,
    /// The number of the previous tick, and the position of its frame.
    last: Option<(u64, u64)>,
}

/// A finished recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recorded {
    /// The duration. Without any tick it is 0, and there is no file.
    pub duration_ms: u64,
}

/// Resolves when the recording is complete in its file, after its [`Recorder`] was dropped.
#[derive(Debug)]
pub struct Written(JoinHandle<io::Result<Recorded>>);

impl Recorder {
    /// Starts a recording. `open` creates the file, empty, readable and writable. It runs on a blocking thread when the
    /// first audio is written, and never for a call without audio. Must be called within a tokio runtime.
    pub fn begin(open: impl FnOnce() -> io::Result<File> + Send + 'static) -> (Self, Written) {
        let (pieces, waiting) = mpsc::channel(MOST_WAITING);
        let task = tokio::spawn(write(Box::new(open), waiting));
        (Self::into(pieces), Written(task))
    }

    fn into(pieces: mpsc::Sender<Piece>) -> Self {
        Self {
            pieces,
            piece: Piece::default(),
            last: None,
        }
    }

    /// Adds a tick: the heard audio on the left, the sent audio on the right. Missing ticks before it become silence. A
    /// tick that is not newer than the last one is ignored.
    pub fn record(&mut self, tick: &Tick) {
        let place = match self.last {
            None => 0,
            Some((number, _)) if tick.number <= number => return,
            Some((number, place)) => {
                let step = tick.number - number;
                place + if step <= MOST_MISSING { step } else { 1 }
            }
        };
        self.last = Some((tick.number, place));
        // A short gap is silence within the piece; a long one starts a new piece, even if there is no room for this
        // one.
        if place - self.piece.end() > FRAMES_PER_WRITE as u64 {
            self.hand_over();
            self.piece.frames.clear();
        }
        if self.piece.frames.is_empty() {
            self.piece.first = place;
        }
        while self.piece.end() < place {
            self.piece.frames.push((SILENCE, SILENCE));
        }
        let said = tick.said.unwrap_or(SILENCE);
        self.piece.frames.push((tick.heard, said));
        if self.piece.frames.len() >= FRAMES_PER_WRITE {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        if self.piece.frames.is_empty() {
            return;
        }
        let end = self.piece.end();
        let next = Piece {
            first: end,
            frames: Vec::new(),
        };
        match self.pieces.try_reserve() {
            Ok(permit) => permit.send(std::mem::replace(&mut self.piece, next)),
            // The disk is 30 s behind. Retry the piece with the next one, until as much waits here too.
            Err(TrySendError::Full(())) if !self.is_full() => {}
            // The piece becomes silence, or the recording has ended before the call.
            Err(_) => self.piece = next,
        }
    }

    fn is_full(&self) -> bool {
        self.piece.frames.len() >= FRAMES_PER_WRITE * MOST_WAITING
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.hand_over();
    }
}

impl Piece {
    /// The position after its last frame.
    const fn end(&self) -> u64 {
        self.first + self.frames.len() as u64
    }
}

impl Written {
    /// Waits for the end of the recording. Returns the disk's error as soon as it ends the recording; what was written
    /// before can still be [repaired](crate::wav::repair).
    pub async fn wait(self) -> io::Result<Recorded> {
        self.0.await.map_err(io::Error::other)?
    }
}

/// A recording before and after its first frame.
enum Place {
    Unopened(Open),
    Open(Recording<BufWriter<File>>),
}

impl Place {
    fn open(self) -> io::Result<Recording<BufWriter<File>>> {
        match self {
            Self::Unopened(open) => Recording::new(BufWriter::with_capacity(64 * 1_024, open()?)),
            Self::Open(recording) => Ok(recording),
        }
    }
}

/// Writes pieces, each on a blocking thread.
async fn write(open: Open, mut pieces: mpsc::Receiver<Piece>) -> io::Result<Recorded> {
    let mut place = Place::Unopened(open);
    while let Some(piece) = pieces.recv().await {
        let writing = tokio::task::spawn_blocking(move || {
            let mut recording = place.open()?;
            for _ in recording.frames()..piece.first {
                recording.add(&SILENCE, &SILENCE)?;
            }
            for (caller, agent) in piece.frames {
                recording.add(&caller, &agent)?;
            }
            recording.save()?;
            Ok::<_, io::Error>(recording)
        });
        place = Place::Open(writing.await.map_err(io::Error::other)??);
    }
    let Place::Open(recording) = place else {
        return Ok(Recorded { duration_ms: 0 });
    };
    let duration_ms = recording.duration_ms();
    let finishing =
        tokio::task::spawn_blocking(move || recording.finish()?.into_inner()?.sync_all());
    finishing.await.map_err(io::Error::other)??;
    Ok(Recorded { duration_ms })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::FRAME_SAMPLES;

    fn tick(number: u64) -> Tick {
        Tick {
            number,
            heard: [number as i16; FRAME_SAMPLES],
            lost: false,
            said: None,
        }
    }

    /// Ticks until the next one, and pieces that the disk takes before it.
    fn steps() -> impl Strategy<Value = Vec<(u64, usize)>> {
        let step = prop_oneof![60 => Just(1_u64), 3 => 2_u64..200, 1 => 200_u64..2_000];
        let taken = prop_oneof![300 => Just(0_usize), 1 => 1_usize..40];
        proptest::collection::vec((step, taken), 1..6_000)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_frame_lands_at_its_ticks_time_or_nowhere(first in 0_u64..1_000, steps in steps()) {
            let (pieces, mut disk) = mpsc::channel(MOST_WAITING);
            let mut recorder = Recorder::into(pieces);
            let (mut numbers, mut written) = (Vec::new(), Vec::new());
            let (mut number, mut was_full) = (first, false);
            for (step, taken) in &steps {
                recorder.record(&tick(number));
                was_full |= disk.len() == MOST_WAITING;
                numbers.push(number);
                number += step;
                written.extend((0..*taken).map_while(|_| disk.try_recv().ok()));
            }
            drop(recorder);
            written.extend(std::iter::from_fn(|| disk.try_recv().ok()));
            let mut sounding = Vec::new();
            let mut end = 0;
            for piece in written {
                prop_assert!(piece.first >= end, "pieces do not overlap");
                end = piece.end();
                for (at, (heard, _)) in piece.frames.iter().enumerate() {
                    let number = first + piece.first + at as u64;
                    // Tick 0 sounds like silence.
                    if heard[0] != 0 {
                        prop_assert_eq!(heard[0], number as i16);
                        sounding.push(number);
                    }
                }
            }
            // The recording has only what came, and all of it unless the disk was too slow.
            prop_assert!(sounding.iter().all(|number| numbers.binary_search(number).is_ok()));
            if !was_full {
                numbers.retain(|number| *number as i16 != 0);
                prop_assert_eq!(sounding, numbers);
            }
        }
    }

    #[test]
    fn a_tick_that_comes_again_and_a_number_that_makes_no_sense_lengthen_nothing() {
        let (pieces, mut disk) = mpsc::channel(MOST_WAITING);
        let mut recorder = Recorder::into(pieces);
        for number in [5, 6, 6, 4, 7, 1_000_000, 1_000_001] {
            recorder.record(&tick(number));
        }
        drop(recorder);
        let piece = disk.try_recv().unwrap();
        let heard: Vec<i16> = piece.frames.iter().map(|(heard, _)| heard[0]).collect();
        assert_eq!((piece.first, heard), (0, vec![5, 6, 7, 16_960, 16_961]));
        assert!(disk.try_recv().is_err());
    }

    #[test]
    fn frames_dropped_for_a_slow_disk_become_silence() {
        let (pieces, mut disk) = mpsc::channel(MOST_WAITING);
        let mut recorder = Recorder::into(pieces);
        let held = (2 * MOST_WAITING * FRAMES_PER_WRITE) as u64;
        (0..held + 10).for_each(|number| recorder.record(&tick(number)));
        for _ in 0..MOST_WAITING {
            disk.try_recv().unwrap();
        }
        (held + 10..held + 60).for_each(|number| recorder.record(&tick(number)));
        let piece = disk.try_recv().unwrap();
        assert_eq!(piece.frames[0].0[0], piece.first as i16);
        assert!(piece.first > (MOST_WAITING * FRAMES_PER_WRITE) as u64);
    }
}
