//! Local programs: small shell scripts, and real programs if they are installed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::StreamExt as _;
use offhook_engine::ports::speech::{
    Recognizer, RecognizerEvent, RecognizerInput, Speech as _, SpeechError, SpeechPiece,
    VoiceSettings,
};
use offhook_providers::{SpeechProgram, SpeechProvider, SpeechRegistry};
use tempfile::TempDir;
use tokio::time::timeout;

use super::{frame, gather, give, listening, refused, registry, rest, sounding, words};

/// Longer than any script here takes.
const PATIENCE: Duration = Duration::from_secs(20);

struct Script {
    folder: TempDir,
    path: PathBuf,
}

impl Script {
    fn new(lines: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        std::fs::write(&path, format!("{lines}\n")).unwrap();
        Self { folder, path }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn program(&self, arguments: &[&str]) -> SpeechProgram {
        // Runs it through the shell: a file that was just written may still be open in a child of another test.
        let mut command = vec!["/bin/sh".to_owned(), self.path.to_str().unwrap().to_owned()];
        command.extend(arguments.iter().map(|argument| (*argument).to_owned()));
        SpeechProgram {
            command,
            sample_rate: 16_000,
            limit: PATIENCE,
            at_once: 2,
        }
    }
}

fn listens(program: SpeechProgram) -> SpeechRegistry {
    registry(SpeechProvider::Exec {
        listen: Some(program),
        speak: None,
    })
}

fn speaks(program: SpeechProgram) -> SpeechRegistry {
    registry(SpeechProvider::Exec {
        listen: None,
        speak: Some(program),
    })
}

async fn utter(recognizer: &Recognizer) {
    give(recognizer, [RecognizerInput::SpeechBegan]).await;
    give(recognizer, (0..10).map(|_| frame(1_000))).await;
    give(recognizer, [RecognizerInput::Finalize]).await;
}

async fn heard(registry: &SpeechRegistry) -> Vec<RecognizerEvent> {
    let ear = registry
        .recognizer("mine", &listening("base.en", "{}"))
        .unwrap();
    let mut recognizer = ear.open(listening("base.en", "{}")).await.unwrap();
    utter(&recognizer).await;
    let mut events = Vec::new();
    while let Some(event) = timeout(PATIENCE, recognizer.events.recv()).await.unwrap() {
        let is_last = event == RecognizerEvent::Finalized;
        events.push(event);
        if is_last {
            break;
        }
    }
    events
}

/// Waits until a file exists and is not empty.
async fn appears(path: &Path) -> String {
    let wait = async {
        loop {
            match std::fs::read_to_string(path) {
                Ok(text) if text.ends_with('\n') => return text,
                _ => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    };
    timeout(PATIENCE, wait).await.unwrap()
}

/// Waits until the process with this id has ended.
async fn dies(pid: &str) {
    let stat = PathBuf::from(format!("/proc/{}/stat", pid.trim()));
    let wait = async {
        loop {
            // A zombie process has also ended.
            match std::fs::read_to_string(&stat) {
                Ok(text) if !text.contains(") Z ") => {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                _ => return,
            }
        }
    };
    timeout(PATIENCE, wait).await.unwrap();
}

#[tokio::test]
async fn an_utterance_comes_on_standard_input_or_in_a_file() {
    use RecognizerEvent::{Final, Finalized};
    let script = Script::new(r#"echo " $1 $2"; head -c 4; echo; wc -c"#);
    let told = heard(&listens(script.program(&["{model}", "{language}"]))).await;
    // Twice as many samples of two bytes, and the header; `head` has consumed the beginning.
    match &told[..] {
        [Final(words), Finalized] => assert!(words.starts_with("base.en es RIFF "), "{words}"),
        other => panic!("{other:?}"),
    }

    let script = Script::new(r#"wc -c < "$2"; echo "$2" > "$0.seen""#);
    let told = heard(&listens(script.program(&["-f", "{file}"]))).await;
    assert_eq!(told, [Final((44 + 10 * 640).to_string()), Finalized]);
    let path = appears(&script.file("program.seen")).await;
    assert!(path.trim().ends_with(".wav"));
    assert!(!Path::new(path.trim()).exists(), "the file is gone");
}

#[tokio::test]
async fn words_lose_their_nul() {
    use RecognizerEvent::{Final, Finalized};
    let script = Script::new(r"printf '\000Good\000 day.'");
    let told = heard(&listens(script.program(&[]))).await;
    assert_eq!(told, [Final("Good day.".to_owned()), Finalized]);
}

#[tokio::test]
async fn a_program_sees_nothing_of_the_services_environment() {
    let script =
        Script::new("env | cut -d= -f1 | sort | grep -v -e PWD -e SHLVL -e '^_$' | tr '\\n' ' '");
    let told = heard(&listens(script.program(&[]))).await;
    let RecognizerEvent::Final(names) = &told[0] else {
        panic!("{told:?}");
    };
    let known = [
        "PATH",
        "HOME",
        "LANG",
        "LC_ALL",
        "TMPDIR",
        "LD_LIBRARY_PATH",
    ];
    let unknown: Vec<&str> = names
        .split(' ')
        .filter(|name| !known.contains(name))
        .collect();
    assert_eq!(unknown, Vec::<&str>::new());
}

#[tokio::test]
async fn a_program_that_fails_says_too_much_or_is_not_there_ends_the_recognizer() {
    for (lines, fault) in [
        ("echo words; exit 3", "the program failed"),
        ("kill -9 $$", "the program failed"),
        ("head -c 70000 /dev/zero", "it says too much"),
        ("printf '\\377'", "its words are not UTF-8"),
    ] {
        let script = Script::new(lines);
        let told = heard(&listens(script.program(&[]))).await;
        let failed = RecognizerEvent::Failed(SpeechError::Protocol(fault));
        assert_eq!(told, [failed], "{lines}");
    }
    let mut program = Script::new("").program(&[]);
    program.command[0].push_str(".gone");
    let failed = RecognizerEvent::Failed(SpeechError::Unreachable);
    assert_eq!(heard(&listens(program)).await, [failed]);
}

#[tokio::test]
async fn a_program_that_takes_too_long_is_killed_with_its_children() {
    let script = Script::new("sleep 1000 &\necho $! > \"$0.child\"\nwait");
    let program = SpeechProgram {
        limit: Duration::from_secs(2),
        ..script.program(&[])
    };
    let ear = listens(program)
        .recognizer("mine", &listening("m", "{}"))
        .unwrap();
    let mut recognizer = ear.open(listening("m", "{}")).await.unwrap();
    utter(&recognizer).await;
    let told = timeout(PATIENCE, rest(&mut recognizer)).await.unwrap();
    assert_eq!(told, [RecognizerEvent::Failed(SpeechError::Timeout)]);
    dies(&appears(&script.file("program.child")).await).await;
}

#[tokio::test]
async fn a_call_that_ends_kills_what_listens_and_what_speaks() {
    let script = Script::new("sleep 1000 &\necho $! > \"$0.child\"\nwait");
    let ear = listens(script.program(&[]))
        .recognizer("mine", &listening("m", "{}"))
        .unwrap();
    let recognizer = ear.open(listening("m", "{}")).await.unwrap();
    utter(&recognizer).await;
    let child = appears(&script.file("program.child")).await;
    drop(recognizer);
    dies(&child).await;

    let script = Script::new(&format!(
        "{}\nsleep 1000 &\necho $! > \"$0.child\"\nwait",
        wav_lines(8_000, 160)
    ));
    let voice = speaks(script.program(&[]))
        .synthesizer("mine", &sounding("m", "{}"))
        .unwrap();
    let mouth = voice.open(sounding("m", "{}")).await.unwrap();
    let mut spoken = mouth.speak(words("A long story."));
    assert!(matches!(
        spoken.next().await,
        Some(Ok(SpeechPiece::Audio(_)))
    ));
    let child = appears(&script.file("program.child")).await;
    drop(spoken);
    dies(&child).await;
}

#[tokio::test]
async fn as_many_programs_run_at_once_as_the_deployment_allows() {
    let script =
        Script::new("echo in >> \"$0.log\"; sleep 0.05; echo out >> \"$0.log\"; echo words");
    let program = SpeechProgram {
        at_once: 1,
        ..script.program(&[])
    };
    let registry = listens(program);
    tokio::join!(heard(&registry), heard(&registry), heard(&registry));
    let log = appears(&script.file("program.log")).await;
    assert_eq!(log, "in\nout\n".repeat(3));
}

/// Shell lines that print a silent WAV file of unknown length.
fn wav_lines(rate: u32, samples: usize) -> String {
    let bytes = rate
        .to_le_bytes()
        .map(|byte| format!("\\{byte:03o}"))
        .concat();
    format!(
        "printf 'RIFF\\377\\377\\377\\377WAVEfmt \\020\\0\\0\\0\\001\\0\\001\\0{bytes}\\0\\0\\0\\0\\002\\0\\020\\0data\\377\\377\\377\\377'\n\
         head -c {} /dev/zero",
        samples * 2
    )
}

#[tokio::test]
async fn a_text_goes_in_and_sound_comes_out() {
    let arguments = [
        "{voice}",
        "{model}",
        "{language}",
        "{speed}",
        "{stretch}",
        "{wpm}",
    ];
    let script = Script::new(&format!(
        "cat > \"$0.text\"; echo >> \"$0.text\"; echo \"$@\" > \"$0.args\"\n{}",
        wav_lines(16_000, 3_200)
    ));
    let voice = speaks(script.program(&arguments))
        .synthesizer("mine", &sounding("m", "{}"))
        .unwrap();
    let settings = VoiceSettings {
        voice_id: "es-mx+f2".to_owned(),
        speed: 1.25,
        ..sounding("big", "{}")
    };
    let mouth = voice.open(settings).await.unwrap();
    let (samples, times, error) = gather(mouth.speak(words("¿Qué $(tal)? -x"))).await;
    assert_eq!((samples.len(), times, error), (1_600, vec![], None));
    let expected = "¿Qué $(tal)? -x\n";
    assert_eq!(appears(&script.file("program.text")).await, expected);
    let expected = "es-mx+f2 big es 1.25 0.80 219\n";
    assert_eq!(appears(&script.file("program.args")).await, expected);
}

#[tokio::test]
async fn a_program_may_read_and_write_files() {
    let script = Script::new(&format!(
        "cat \"$1\" > \"$0.text\"; echo >> \"$0.text\"; echo chatter; ({}) > \"$2\"",
        wav_lines(8_000, 320).replace('\n', "; ")
    ));
    let program = script.program(&["{text_file}", "{wav_file}"]);
    let voice = speaks(program)
        .synthesizer("mine", &sounding("m", "{}"))
        .unwrap();
    let mouth = voice.open(sounding("m", "{}")).await.unwrap();
    let (samples, _, error) = gather(mouth.speak(words("Hola."))).await;
    assert_eq!((samples.len(), error), (320, None));
    assert_eq!(appears(&script.file("program.text")).await, "Hola.\n");
}

#[tokio::test]
async fn a_voice_that_fails_or_makes_no_sound_is_told() {
    for (lines, fault) in [
        ("exit 1".to_owned(), "the program failed"),
        ("true".to_owned(), "its sound is no WAV file"),
        ("echo Usage: speak".to_owned(), "its sound is no WAV file"),
        (
            format!("{}; exit 1", wav_lines(8_000, 80)),
            "the program failed",
        ),
    ] {
        let script = Script::new(&lines);
        let voice = speaks(script.program(&[]))
            .synthesizer("mine", &sounding("m", "{}"))
            .unwrap();
        let mouth = voice.open(sounding("m", "{}")).await.unwrap();
        let (_, _, error) = gather(mouth.speak(words("Hola."))).await;
        assert_eq!(error, Some(SpeechError::Protocol(fault)), "{lines}");
    }
    let script = Script::new("sleep 1000");
    let program = SpeechProgram {
        limit: Duration::from_millis(200),
        ..script.program(&[])
    };
    let voice = speaks(program)
        .synthesizer("mine", &sounding("m", "{}"))
        .unwrap();
    let mouth = voice.open(sounding("m", "{}")).await.unwrap();
    let (_, _, error) = gather(mouth.speak(words("Hola."))).await;
    assert_eq!(error, Some(SpeechError::Timeout));
}

#[tokio::test]
async fn an_agent_chooses_words_and_never_options_or_paths() {
    let script = Script::new("");
    let ear = listens(script.program(&["-m", "{model}", "-l", "{language}"]));
    for model in ["--help", "../../etc/passwd", "a b", ""] {
        let refused = refused(ear.recognizer("mine", &listening(model, "{}")));
        assert!(matches!(refused, SpeechError::Unable(_)), "{model}");
    }
    assert!(
        ear.recognizer("mine", &listening("ggml-base.en", "{}"))
            .is_ok()
    );
    let unspeakable = ear.synthesizer("mine", &sounding("m", "{}"));
    assert_eq!(refused(unspeakable), SpeechError::NotConfigured);

    let voice = speaks(script.program(&["-v", "{voice}"]));
    for (voice_id, speed) in [("-f", 1.0), ("a/b", 1.0), ("kal", 1.5)] {
        let settings = VoiceSettings {
            voice_id: voice_id.to_owned(),
            speed,
            ..sounding("m", "{}")
        };
        let refused = refused(voice.synthesizer("mine", &settings));
        assert!(matches!(refused, SpeechError::Unable(_)), "{voice_id}");
    }
}

#[tokio::test]
async fn a_command_that_cannot_be_run_stops_the_start() {
    let script = Script::new("");
    let fault = |listen: SpeechProgram| {
        let provider = SpeechProvider::Exec {
            listen: Some(listen),
            speak: None,
        };
        let registry = SpeechRegistry::new([("mine".to_owned(), provider)]);
        registry.err().map(|error| error.to_string())
    };
    assert_eq!(
        fault(script.program(&["{voice}"])).as_deref(),
        Some(
            "provider `mine`: command has the unknown placeholder `{voice}`: `{file}`, `{model}`, `{language}` are known"
        )
    );
    let relative = SpeechProgram {
        command: vec!["whisper".to_owned()],
        ..script.program(&[])
    };
    assert_eq!(
        fault(relative).as_deref(),
        Some("provider `mine`: command begins with `whisper`: give the program's whole path")
    );
    let never = SpeechProgram {
        at_once: 0,
        ..script.program(&[])
    };
    let expected = Some("provider `mine`: limit and at_once must be above 0");
    assert_eq!(fault(never).as_deref(), expected);
}

/// The path of a program, if it is installed.
fn installed(name: &str) -> Option<String> {
    let paths = std::env::var_os("PATH")?;
    let mut paths = std::env::split_paths(&paths).map(|folder| folder.join(name));
    let path = paths.find(|path| path.is_file())?;
    path.to_str().map(str::to_owned)
}

/// Speaks a sentence with a real program, if it is installed; returns the seconds of audible sound.
async fn real(name: &str, arguments: &[&str], voice_id: &str) -> Option<f64> {
    let Some(path) = installed(name) else {
        assert!(
            std::env::var_os("CI").is_none(),
            "{name} is missing: scripts/test installs it"
        );
        eprintln!("{name} is not installed: not tested");
        return None;
    };
    let mut command = vec![path];
    command.extend(arguments.iter().map(|argument| (*argument).to_owned()));
    let program = SpeechProgram {
        command,
        sample_rate: 16_000,
        limit: PATIENCE,
        at_once: 1,
    };
    let voice = speaks(program)
        .synthesizer("mine", &sounding("m", "{}"))
        .unwrap();
    let settings = VoiceSettings {
        voice_id: voice_id.to_owned(),
        ..sounding("m", "{}")
    };
    let mouth = voice.open(settings).await.unwrap();
    let text = "Good morning. How can I help you today?";
    let (mut samples, _, mut error) = gather(mouth.speak(words(text))).await;
    // A program that starts from a cold disk may miss the time limit; the next attempt is fast.
    for _ in 0..2 {
        if error == Some(SpeechError::Timeout) {
            (samples, _, error) = gather(mouth.speak(words(text))).await;
        }
    }
    assert_eq!(error, None);
    let loud = samples
        .iter()
        .filter(|sample| sample.unsigned_abs() > 300)
        .count();
    Some(loud as f64 / 8_000.0)
}

#[tokio::test]
async fn espeak_speaks() {
    let arguments = ["-v", "{voice}", "-s", "{wpm}", "--stdout", "--stdin"];
    if let Some(seconds) = real("espeak-ng", &arguments, "en-us").await {
        assert!((0.5..6.0).contains(&seconds), "{seconds} s");
    }
}

#[tokio::test]
async fn flite_speaks() {
    let arguments = [
        "-voice",
        "{voice}",
        "--setf",
        "duration_stretch={stretch}",
        "-f",
        "{text_file}",
        "-o",
        "{wav_file}",
    ];
    if let Some(seconds) = real("flite", &arguments, "slt").await {
        assert!((0.5..6.0).contains(&seconds), "{seconds} s");
    }
}
