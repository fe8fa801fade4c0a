//! `offhook demo --voice`: what a spoken call needs on one machine. Its speech is made and understood by programs of
//! the system's packages, and its phone network is a trunk that ends in this process.

use offhook_media::ports::PortRange;
use offhook_providers::{SpeechProgram, SpeechProvider};
use offhook_sip::{Transport, TrunkSettings};
use tempfile::TempDir;

use super::callee::Callee;
use crate::prelude::*;
use crate::settings::{RtpSettings, SipListener, SipSettings};

/// The account's number, of the range that is kept for fiction.
pub(super) const NUMBER: &str = "+14155550100";

/// The name of the trunk, and of the programs as agents know them.
const TRUNK: &str = "demo";
const PROVIDER: &str = "local";

/// The voices of flite that speak: the agent's, and the customer's, the one that pocketsphinx understands best.
const AGENT: &str = "slt";
const CUSTOMER: &str = "awb";

/// What flite has, for other agents to choose from.
const VOICES: [&str; 4] = [AGENT, CUSTOMER, "rms", "kal16"];

/// What the customer says, one after the other, each in one breath; all that is understood.
const LINES: [&str; 4] = [
    "Hello?",
    "It is a good moment.",
    "We come at six in the evening.",
    "No that was everything.",
];

/// The model's sentences by the customer's turns: the first is passed over, as "Hello?" gets the first message.
const SYSTEM_PROMPT: &str = "\
You are Eva, the friendly receptionist of Harbour Hotel. You confirm tomorrow's booking of {{name}}.
Be brief, and say goodbye when the customer has no more questions.
say: Is this a good moment?
say: Lovely. Shall we expect you at about six tomorrow?
say: Wonderful, I have noted six o'clock. Is there anything else that I can do for you?
say: You are welcome. Goodbye, and have a pleasant journey!";

/// A program, its package, and a file that tells whether it can be used.
const PROGRAMS: [(&str, &str); 3] = [
    ("flite", "flite"),
    ("pocketsphinx_continuous", "pocketsphinx"),
    (
        "/usr/share/pocketsphinx/model/en-us/en-us",
        "pocketsphinx-en-us",
    ),
];

/// The limit of a run of a program.
const RUN_LIMIT: Duration = Duration::from_secs(10);

/// How many programs may run at once.
const AT_ONCE: usize = 4;

/// A spoken demo's own part of the world.
pub(super) struct Staging {
    callee: Callee,
    /// The grammar; gone with the value.
    _folder: TempDir,
}

impl Staging {
    /// Plugs in a telephone, and sets up the trunk to it and the programs.
    ///
    /// # Errors
    /// A program is missing, and the sentence names its package; or there is no port.
    pub(super) async fn prepare(settings: &mut Settings) -> anyhow::Result<Self> {
        let [flite, recognizer, _] = find()?;
        let folder = tempfile::tempdir()?;
        let grammar = folder.path().join("demo.gram");
        std::fs::write(&grammar, grammar_of(&LINES)).context("writing the grammar")?;
        let speech = BTreeMap::from([(
            PROVIDER.to_owned(),
            SpeechProvider::Exec {
                listen: Some(program(
                    &recognizer,
                    &["-infile", "{file}", "-jsgf"],
                    &grammar,
                )?),
                speak: Some(program(
                    &flite,
                    &["-voice", "{voice}", "-f", "{text_file}", "-o"],
                    Path::new("{wav_file}"),
                )?),
            },
        )]);
        let lines = LINES.map(str::to_owned).to_vec();
        let callee = Callee::plug_in(&speech, PROVIDER, CUSTOMER, lines).await?;
        let trunk = TrunkSettings {
            name: TRUNK.to_owned(),
            server: callee.address().to_string(),
            ..TrunkSettings::default()
        };
        let loopback = std::net::Ipv4Addr::LOCALHOST.into();
        settings.sip = Some(SipSettings {
            listeners: vec![SipListener {
                transport: Transport::Udp,
                address: (loopback, 0).into(),
                external: None,
            }],
            tls: None,
            rtp: RtpSettings {
                address: loopback,
                external: None,
                ports: PortRange::new(40_000, 40_999)?,
                from_anywhere: false,
            },
            trunks: vec![trunk],
            trunk: TRUNK.to_owned(),
        });
        settings.speech = speech;
        let voices = VOICES.map(str::to_owned).to_vec();
        settings.speech_voices = BTreeMap::from([(PROVIDER.to_owned(), voices)]);
        settings.calls.allowed_prefixes = vec!["+1".to_owned()];
        println!(
            "  telephone sip:{}, of this process; it speaks by flite and is understood by pocketsphinx",
            callee.address()
        );
        Ok(Self {
            callee,
            _folder: folder,
        })
    }

    /// How many times the customer speaks.
    pub(super) const fn lines(&self) -> usize {
        LINES.len()
    }

    /// Answers every call; it never ends by itself.
    pub(super) async fn talk(&mut self) -> anyhow::Result<std::convert::Infallible> {
        self.callee.talk().await
    }
}

/// The agent's configuration.
pub(super) fn config(first_message: &str) -> Value {
    json!({
        "system_prompt": SYSTEM_PROMPT,
        "first_message": first_message,
        "llm": { "provider": "scripted", "model": "scripted" },
        "stt": { "provider": PROVIDER },
        "voice": { "provider": PROVIDER, "voice_id": AGENT },
        "conversation": { "recording": { "enabled": true } },
        "dynamic_variables": { "name": { "default": "there" } },
    })
}

fn program(path: &Path, arguments: &[&str], last: &Path) -> anyhow::Result<SpeechProgram> {
    let text = |path: &Path| {
        path.to_str()
            .map(str::to_owned)
            .context("a path is not UTF-8")
    };
    let mut command = vec![text(path)?];
    command.extend(arguments.iter().map(|&argument| argument.to_owned()));
    command.push(text(last)?);
    Ok(SpeechProgram {
        command,
        sample_rate: 16_000,
        limit: RUN_LIMIT,
        at_once: AT_ONCE,
    })
}

/// Where the programs are.
///
/// # Errors
/// One is missing; the sentence names its package.
pub(super) fn find() -> anyhow::Result<[PathBuf; 3]> {
    let found = PROGRAMS.map(|(program, _)| in_path(program));
    let missing: Vec<&str> = found
        .iter()
        .zip(PROGRAMS)
        .filter(|(found, _)| found.is_none())
        .map(|(_, (_, package))| package)
        .collect();
    if let [Some(flite), Some(recognizer), Some(model)] = found {
        return Ok([flite, recognizer, model]);
    }
    bail!(
        "the spoken demo makes and understands speech by programs of the system, and some are missing: install {} \
         (Debian and Ubuntu: apt-get install {})",
        missing.join(" and "),
        missing.join(" ")
    );
}

/// A program of the search path, or a path itself.
fn in_path(program: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    // Joined to a folder, an absolute path is itself.
    std::env::split_paths(&folders)
        .map(|folder| folder.join(program))
        .find(|path| path.exists())
}

/// A grammar of sentences, without their marks (JSGF).
fn grammar_of(sentences: &[&str]) -> String {
    let sentences = sentences
        .iter()
        .map(|sentence| sentence.trim_end_matches(['.', '?']).to_lowercase());
    format!(
        "#JSGF V1.0;\ngrammar demo;\npublic <said> = <sentence>+;\n<sentence> = {};\n",
        sentences.collect::<Vec<_>>().join(" | ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grammar_has_sentences_without_their_marks() {
        assert_eq!(
            grammar_of(&["Hello?", "That is all."]),
            "#JSGF V1.0;\ngrammar demo;\npublic <said> = <sentence>+;\n<sentence> = hello | that is all;\n"
        );
    }

    #[test]
    fn programs_are_found_in_the_search_path_and_by_their_whole_path() {
        assert!(in_path("sh").is_some_and(|path| path.is_absolute()));
        assert_eq!(in_path("/bin/sh"), Some(PathBuf::from("/bin/sh")));
        assert_eq!(in_path("no-such-program-anywhere"), None);
    }
}
