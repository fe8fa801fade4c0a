//! One run of a program. Its whole process group ends when the result is no longer needed.

use futures_util::FutureExt as _;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use offhook_engine::ports::speech::{SpeechError, SpeechPiece};
use tempfile::TempPath;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdout, Command};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use super::{Program, TEXT_FILE, WAV_FILE};
use crate::speech::Result;
use crate::speech::sound::MAX_SAMPLES;
use crate::speech::wav::WavReader;

/// The environment variables that a program inherits; the others may hold the service's secrets.
const ENVIRONMENT: [&str; 6] = [
    "PATH",
    "HOME",
    "LANG",
    "LC_ALL",
    "TMPDIR",
    "LD_LIBRARY_PATH",
];

/// The most output of a recognizer, in bytes: more than one utterance has.
const MAX_WORDS_BYTES: usize = 64 * 1024;

/// The largest output file of a synthesizer: the longest sound at the highest rate.
const MAX_FILE_BYTES: u64 = MAX_SAMPLES as u64 * 2 * 6 + 1_024;

/// The size of a read.
const PIECE_BYTES: usize = 8 * 1024;

/// The time limit for the first sound.
const FIRST_SOUND: Duration = Duration::from_secs(3);

/// One run of a recognizer.
pub(crate) struct Run<'a> {
    pub(crate) turns: &'a Semaphore,
    pub(crate) command: Vec<String>,
    pub(crate) input: Vec<u8>,
    pub(crate) limit: Duration,
}

impl Run<'_> {
    /// The program's output. Dropping the future kills it. Fails if the program does not start, fails, prints too much
    /// or takes too long.
    pub(crate) async fn whole(self) -> Result<Vec<u8>> {
        let end_by = Instant::now() + self.limit;
        let work = async {
            let _turn = self
                .turns
                .acquire()
                .await
                .map_err(|_| SpeechError::Unreachable)?;
            let (mut running, stdout) = Running::start(&self.command, self.input)?;
            let mut said = Vec::new();
            let most = MAX_WORDS_BYTES as u64 + 1;
            let read = stdout.take(most).read_to_end(&mut said).await;
            read.map_err(|_| SpeechError::Unreachable)?;
            if said.len() > MAX_WORDS_BYTES {
                return Err(SpeechError::Protocol("it says too much"));
            }
            running.end().await?;
            Ok(said)
        };
        timeout_at(end_by, work)
            .await
            .map_err(|_| SpeechError::Timeout)?
    }
}

/// A process group that is killed on drop.
struct Running {
    child: Child,
    has_ended: bool,
}

impl Running {
    fn start(command: &[String], input: Vec<u8>) -> Result<(Self, ChildStdout)> {
        let (program, arguments) = command.split_first().ok_or(SpeechError::NotConfigured)?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env_clear()
            .envs(ENVIRONMENT.iter().filter_map(|name| {
                let value = std::env::var_os(name)?;
                Some((name, value))
            }))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command.spawn().map_err(|_| SpeechError::Unreachable)?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let running = Self {
            child,
            has_ended: false,
        };
        let (Some(mut stdin), Some(stdout)) = (stdin, stdout) else {
            return Err(SpeechError::Unreachable);
        };
        // A program may end before it has read everything; one that never reads is killed at its time limit.
        tokio::spawn(async move { stdin.write_all(&input).await }.boxed());
        Ok((running, stdout))
    }

    /// Waits for a successful exit.
    async fn end(&mut self) -> Result<()> {
        let ended = self.child.wait().await;
        self.has_ended = true;
        match ended {
            Ok(status) if status.success() => Ok(()),
            _ => Err(SpeechError::Protocol("the program failed")),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        #[cfg(unix)]
        if !self.has_ended
            && let Some(pid) = self.child.id()
            && let Some(group) = i32::try_from(pid)
                .ok()
                .and_then(rustix::process::Pid::from_raw)
        {
            // The process was not reaped yet, so its id is still valid.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}

/// A text that a program speaks.
pub(crate) struct SynthesizerProtocol {
    program: Arc<Program>,
    state: State,
}

enum State {
    Waiting {
        words: Vec<(&'static str, String)>,
        text: Vec<u8>,
    },
    Reading(Box<Reading>),
    Over,
}

/// A program that writes audio to standard output.
struct Reading {
    running: Running,
    stdout: ChildStdout,
    wav: WavReader,
    begin_by: Instant,
    end_by: Instant,
    _turn: OwnedSemaphorePermit,
    _text: Option<TempPath>,
}

type Piece = Result<SpeechPiece>;

impl SynthesizerProtocol {
    pub(crate) fn new(
        program: Arc<Program>,
        words: Vec<(&'static str, String)>,
        text: Vec<u8>,
    ) -> Self {
        let state = State::Waiting { words, text };
        Self { program, state }
    }

    /// The next piece of audio. Dropping the stream kills the program.
    pub(crate) async fn next(mut self) -> Option<(Piece, Self)> {
        let state = std::mem::replace(&mut self.state, State::Over);
        let told = match state {
            State::Over => return None,
            State::Waiting { words, text } => self.begin(words, text).await,
            State::Reading(reading) => self.read(reading).await,
        };
        told.transpose().map(|piece| (piece, self))
    }

    async fn begin(
        &mut self,
        mut words: Vec<(&'static str, String)>,
        text: Vec<u8>,
    ) -> Result<Option<SpeechPiece>> {
        let now = Instant::now();
        let (begin_by, end_by) = (now + FIRST_SOUND, now + self.program.limit);
        let started = async {
            let turns = Arc::clone(&self.program.turns);
            let turn = turns.acquire_owned().await;
            let turn = turn.map_err(|_| SpeechError::Unreachable)?;
            let (input, kept) = if self.program.has(TEXT_FILE) {
                let (kept, path) = file_with(text, ".txt").await?;
                words.push((TEXT_FILE, path));
                (Vec::new(), Some(kept))
            } else {
                (text, None)
            };
            if self.program.has(WAV_FILE) {
                return self.to_file(words, input).await.map(Err);
            }
            let command = self.program.filled(&words);
            let (running, stdout) = Running::start(&command, input)?;
            Ok(Ok(Box::new(Reading {
                running,
                stdout,
                wav: WavReader::default(),
                begin_by,
                end_by,
                _turn: turn,
                _text: kept,
            })))
        };
        let started = timeout_at(begin_by.min(end_by), started).await;
        match started.map_err(|_| SpeechError::Timeout)?? {
            Ok(reading) => self.read(reading).await,
            Err(samples) if samples.is_empty() => Ok(None),
            Err(samples) => Ok(Some(SpeechPiece::Audio(samples))),
        }
    }

    /// Runs a program that writes a file, and reads the file when it is complete.
    async fn to_file(
        &self,
        mut words: Vec<(&'static str, String)>,
        input: Vec<u8>,
    ) -> Result<Vec<i16>> {
        let (kept, path) = file_with(Vec::new(), ".wav").await?;
        words.push((WAV_FILE, path));
        let (mut running, mut stdout) = Running::start(&self.program.filled(&words), input)?;
        // Other output is discarded.
        let mut chatter = tokio::io::sink();
        let _ = tokio::io::copy(&mut stdout, &mut chatter).await;
        running.end().await?;
        let file = tokio::fs::File::open(&kept).await.map_err(|_| NO_FILE)?;
        let mut bytes = Vec::new();
        let read = file.take(MAX_FILE_BYTES).read_to_end(&mut bytes).await;
        read.map_err(|_| NO_FILE)?;
        let mut wav = WavReader::default();
        let mut samples = wav.read(&bytes)?;
        samples.extend(wav.finish());
        Ok(samples)
    }

    async fn read(&mut self, mut reading: Box<Reading>) -> Result<Option<SpeechPiece>> {
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            let due = if reading.wav.has_begun() {
                reading.end_by
            } else {
                reading.begin_by.min(reading.end_by)
            };
            let read = timeout_at(due, reading.stdout.read(&mut piece)).await;
            let count = read
                .map_err(|_| SpeechError::Timeout)?
                .map_err(|_| SpeechError::Unreachable)?;
            if count == 0 {
                let ended = timeout_at(reading.end_by, reading.running.end()).await;
                ended.map_err(|_| SpeechError::Timeout)??;
                if !reading.wav.has_begun() {
                    return Err(SpeechError::Protocol("its sound is no WAV file"));
                }
                let rest = reading.wav.finish();
                return Ok((!rest.is_empty()).then_some(SpeechPiece::Audio(rest)));
            }
            let samples = reading.wav.read(piece.get(..count).unwrap_or_default())?;
            if !samples.is_empty() {
                self.state = State::Reading(reading);
                return Ok(Some(SpeechPiece::Audio(samples)));
            }
        }
    }
}

const NO_FILE: SpeechError = SpeechError::Protocol("the program wrote no file");

/// A temporary file with this content, which is deleted on drop, and its path. Fails with [`SpeechError::Unreachable`]
/// if it cannot be written.
pub(crate) async fn file_with(
    content: Vec<u8>,
    suffix: &'static str,
) -> Result<(TempPath, String)> {
    let written = tokio::task::spawn_blocking(move || {
        use std::io::Write as _;
        let mut file = tempfile::Builder::new()
            .prefix("offhook-speech-")
            .suffix(suffix)
            .tempfile()?;
        file.write_all(&content)?;
        Ok::<_, std::io::Error>(file.into_temp_path())
    });
    let path = written.await.map_err(|_| SpeechError::Unreachable)?;
    let path = path.map_err(|_| SpeechError::Unreachable)?;
    let text = path.to_str().ok_or(SpeechError::Unreachable)?.to_owned();
    Ok((path, text))
}
