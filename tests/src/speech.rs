//! Speech for tests: a synthesizer (flite) and a recognizer (pocketsphinx with a grammar). Both only know English,
//! and the recognizer only knows the sentences of its grammar. It proves that words came through, not that a person
//! would be understood.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use offhook_media::resample::Resampler;
use tempfile::TempDir;
use tokio::process::Command;

use crate::wait::{must, within};

/// Samples per second of all audio on a call.
const SAMPLE_RATE: usize = 8_000;

/// The sample rate of the recognizer's model.
const EAR_RATE: u32 = 16_000;

/// How long a program may take on a busy machine.
const LIMIT: Duration = Duration::from_secs(30);

/// The programs that spoken tests need, and their packages.
const PROGRAMS: [(&str, &str); 2] = [
    ("flite", "flite"),
    (
        "pocketsphinx_continuous",
        "pocketsphinx and pocketsphinx-en-us",
    ),
];

/// Whether the programs for speech are installed.
///
/// # Panics
/// In CI, if one is missing.
#[must_use]
pub fn can_speak() -> bool {
    PROGRAMS
        .iter()
        .all(|(program, package)| has_program(program, package))
}

/// Whether a program is installed; if not, prints that its tests are skipped.
///
/// # Panics
/// In CI, where no test is skipped.
#[must_use]
pub fn has_program(program: &str, package: &str) -> bool {
    let found = std::env::var_os("PATH").is_some_and(|path| {
        std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
    });
    if !found {
        assert!(
            std::env::var("CI").as_deref() != Ok("true"),
            "{program} is missing: install {package}"
        );
        eprintln!("NOT TESTED: {program} is missing; install {package} (scripts/test does)");
    }
    found
}

/// Skips the test with a message if the speech programs are missing; fails in CI.
#[macro_export]
macro_rules! needs_speech {
    () => {
        if !$crate::can_speak() {
            return;
        }
    };
}

/// A text spoken by one of flite's voices: samples at 8 kHz.
pub async fn speech(voice: &str, text: &str) -> Vec<i16> {
    let folder = must("a folder", tempfile::tempdir());
    let path = folder.path().join("speech.wav");
    let mut flite = Command::new("flite");
    flite.args(["-voice", voice, "-t", text, "-o"]).arg(&path);
    run(flite).await;
    let file = must("speech", std::fs::read(path));
    let (rate, samples) = read_wav(&file);
    convert(&samples, rate, 8_000)
}

#[must_use]
pub fn silence(time: Duration) -> Vec<i16> {
    let samples = time.as_millis() * SAMPLE_RATE as u128 / 1_000;
    vec![0; usize::try_from(samples).unwrap_or_default()]
}

/// Recognizes a few sentences, each any number of times.
pub struct Listener {
    folder: TempDir,
}

impl Listener {
    /// Sentences of lower-case words from the model's dictionary, without punctuation.
    #[must_use]
    pub fn of(sentences: &[&str]) -> Self {
        let folder = must("a folder", tempfile::tempdir());
        let listener = Self { folder };
        write_grammar(&listener.folder.path().join("test.gram"), sentences);
        listener
    }

    /// The words in samples at 8 kHz.
    pub async fn understands(&self, samples: &[i16]) -> String {
        let path = self.folder.path().join("heard.wav");
        let samples = convert(samples, 8_000, EAR_RATE);
        must(
            "a recording",
            std::fs::write(&path, wav(&samples, EAR_RATE)),
        );
        let mut program = Command::new("pocketsphinx_continuous");
        program.arg("-infile").arg(&path);
        program
            .arg("-jsgf")
            .arg(self.folder.path().join("test.gram"));
        let heard = run(program).await;
        heard.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

/// Writes a grammar of sentences, one or several in a row (JSGF).
pub fn write_grammar(path: &Path, sentences: &[&str]) {
    let mut grammar = "#JSGF V1.0;\ngrammar test;\n".to_owned();
    let _ = writeln!(grammar, "public <said> = <sentence>+;");
    let _ = writeln!(grammar, "<sentence> = {};", sentences.join(" | "));
    must("a grammar", std::fs::write(path, grammar));
}

async fn run(mut command: Command) -> String {
    let program = command.as_std().get_program().to_owned();
    let command = command
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .output();
    let what = program.to_string_lossy();
    let output = must(&what, within(&what, LIMIT, command).await);
    assert!(output.status.success(), "{what}: {}", output.status);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Samples at another rate.
fn convert(samples: &[i16], from: u32, to: u32) -> Vec<i16> {
    let mut resampler = must("a rate", Resampler::new(from, to));
    let mut converted = Vec::new();
    resampler.push(samples, &mut converted);
    resampler.finish(&mut converted);
    converted
}

/// The rate and the samples of a WAV file with one channel of 16 bits.
///
/// # Panics
/// If the format differs.
#[must_use]
pub fn read_wav(file: &[u8]) -> (u32, Vec<i16>) {
    let (rate, mut channels) = read_channels(file);
    assert_eq!(channels.len(), 1, "one channel");
    (rate, channels.remove(0))
}

/// The rate and the channels of a WAV file of 16 bits.
///
/// # Panics
/// If the format differs.
#[must_use]
pub fn read_channels(file: &[u8]) -> (u32, Vec<Vec<i16>>) {
    let number = |at: usize, bytes: usize| -> u32 {
        let all = file.get(at..at + bytes).unwrap_or_default();
        all.iter()
            .rev()
            .fold(0, |sum, byte| sum << 8 | u32::from(*byte))
    };
    assert!(
        file.starts_with(b"RIFF") && file.get(8..12) == Some(b"WAVE"),
        "no WAV file"
    );
    let (mut at, mut format) = (12, (0, 0));
    while file.get(at..at + 4).is_some_and(|name| name != b"data") {
        if file.get(at..at + 4) == Some(b"fmt ") {
            assert_eq!(
                (number(at + 8, 2), number(at + 22, 2)),
                (1, 16),
                "16 bits, linear"
            );
            format = (number(at + 12, 4), number(at + 10, 2) as usize);
        }
        at += 8 + number(at + 4, 4) as usize;
    }
    let (rate, count) = format;
    let end = file.len().min(at + 8 + number(at + 4, 4) as usize);
    let mut channels = vec![Vec::new(); count];
    let samples = file.get(at + 8..end).unwrap_or_default().chunks_exact(2);
    for (index, bytes) in samples.enumerate() {
        if let (Some(channel), [low, high]) = (channels.get_mut(index % count), bytes) {
            channel.push(i16::from_le_bytes([*low, *high]));
        }
    }
    (rate, channels)
}

/// A WAV file with one channel of 16 bits.
#[must_use]
pub fn wav(samples: &[i16], rate: u32) -> Vec<u8> {
    let bytes = u32::try_from(samples.len() * 2).unwrap_or(u32::MAX);
    let mut file = Vec::with_capacity(44 + samples.len() * 2);
    file.extend_from_slice(b"RIFF");
    file.extend_from_slice(&bytes.saturating_add(36).to_le_bytes());
    file.extend_from_slice(b"WAVEfmt \x10\0\0\0\x01\0\x01\0");
    file.extend_from_slice(&rate.to_le_bytes());
    file.extend_from_slice(&(rate * 2).to_le_bytes());
    file.extend_from_slice(b"\x02\0\x10\0data");
    file.extend_from_slice(&bytes.to_le_bytes());
    for sample in samples {
        file.extend_from_slice(&sample.to_le_bytes());
    }
    file
}
