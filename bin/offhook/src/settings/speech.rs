//! `speech`: where the recognizers and voices are that agents may name, and the programs of this machine among them.

use offhook_providers::{ProviderSettings, SpeechProgram, SpeechProvider, SpeechTransport};

use super::given::{Given, Raw, Section, listed};
use super::values::{NO_BASE_URL, base_url};
use super::{Result, SettingsError};
use crate::prelude::*;

/// The provider that is built in.
const BUILT_IN: &str = "scripted";

/// The rate of the files that a program gets to hear: what most models were trained on.
const SAMPLE_RATE: u32 = 16_000;

/// How long a program may take for one utterance.
const LIMIT_SECONDS: u32 = 10;

/// How many runs of a program may go on at once.
const AT_ONCE: u32 = 2;

/// The settings of a provider, for an unknown one to be told what was meant.
const NAMES: [&str; 12] = [
    "kind",
    "base_url",
    "api_key",
    "transport",
    "voices",
    "listen.command",
    "listen.sample_rate",
    "listen.limit_seconds",
    "listen.at_once",
    "speak.command",
    "speak.limit_seconds",
    "speak.at_once",
];

/// The shape of a provider's interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Deepgram,
    ElevenLabs,
    Cartesia,
    OpenAi,
    Exec,
}

const KINDS: [(&str, Kind); 5] = [
    ("deepgram", Kind::Deepgram),
    ("elevenlabs", Kind::ElevenLabs),
    ("cartesia", Kind::Cartesia),
    ("openai", Kind::OpenAi),
    ("exec", Kind::Exec),
];

const TRANSPORTS: [(&str, SpeechTransport); 2] = [
    ("websocket", SpeechTransport::WebSocket),
    ("http", SpeechTransport::Http),
];

/// What is said of one program.
struct Program {
    command: Option<Vec<String>>,
    sample_rate: Option<u32>,
    limit: Option<u32>,
    at_once: Option<u32>,
}

/// The providers, and the voices that are listed of them.
pub(super) type Speech = (
    BTreeMap<String, SpeechProvider>,
    BTreeMap<String, Vec<String>>,
);

pub(super) fn speech(given: &mut Given) -> Result<Speech> {
    let (mut providers, mut listed) = (BTreeMap::new(), BTreeMap::new());
    for name in given.names_in("speech") {
        if name == BUILT_IN {
            let fault =
                "section `speech.scripted`: this provider is built in and takes no settings";
            return Err(SettingsError(fault.to_owned()));
        }
        let (provider, voices) = provider(&mut given.section(format!("speech.{name}")))?;
        listed.insert(name.clone(), voices);
        providers.insert(name, provider);
    }
    for name in NAMES {
        given.read(&format!("speech.<provider>.{name}"), Raw::text)?;
    }
    Ok((providers, listed))
}

fn provider(section: &mut Section<'_>) -> Result<(SpeechProvider, Vec<String>)> {
    let kind = section.read("kind", |raw| raw.one_of(&KINDS))?;
    let kind = kind.ok_or_else(|| {
        let why = format!(
            "give the shape of the service's interface, {}",
            listed(&KINDS)
        );
        section.missing("kind", &why)
    })?;
    let base_url = section.read("base_url", base_url)?;
    let api_key = section.text("api_key")?;
    let transport = section.read("transport", |raw| raw.one_of(&TRANSPORTS))?;
    let voices = section.read("voices", Raw::list)?;
    let listen = program(section, "listen")?;
    let speak = program(section, "speak")?;
    let is_program = kind == Kind::Exec;
    let lists_itself = !matches!(kind, Kind::OpenAi | Kind::Exec);
    let has_transport = matches!(kind, Kind::ElevenLabs | Kind::Cartesia);
    for (setting, is_unread) in [
        ("base_url", base_url.is_some() && is_program),
        ("api_key", api_key.is_some() && is_program),
        ("transport", transport.is_some() && !has_transport),
        ("voices", voices.is_some() && lists_itself),
        ("listen", listen.is_given() && !is_program),
        ("speak", speak.is_given() && !is_program),
    ] {
        if is_unread {
            let named = KINDS.iter().find(|(_, one)| *one == kind);
            return Err(SettingsError(format!(
                "setting `{}` is without effect: kind `{}` does not read it; remove it",
                section.key(setting),
                named.map_or("", |(name, _)| name)
            )));
        }
    }
    let voices = voices.unwrap_or_default();
    if is_program {
        let listen = listen.settings(section, "listen")?;
        let speak = speak.settings(section, "speak")?;
        if listen.is_none() && speak.is_none() {
            return Err(SettingsError(format!(
                "section `{}`: a local program needs `listen.command`, `speak.command` or both",
                section.name()
            )));
        }
        return Ok((SpeechProvider::Exec { listen, speak }, voices));
    }
    let endpoint = ProviderSettings {
        base_url: base_url.ok_or_else(|| section.missing("base_url", NO_BASE_URL))?,
        api_key,
    };
    let transport = transport.unwrap_or_default();
    let provider = match kind {
        Kind::Deepgram => SpeechProvider::Deepgram(endpoint),
        Kind::ElevenLabs => SpeechProvider::ElevenLabs(endpoint, transport),
        Kind::Cartesia => SpeechProvider::Cartesia(endpoint, transport),
        Kind::OpenAi | Kind::Exec => SpeechProvider::OpenAi(endpoint),
    };
    Ok((provider, voices))
}

fn program(section: &mut Section<'_>, way: &str) -> Result<Program> {
    let key = |setting: &str| format!("{way}.{setting}");
    // The sound that a program makes says its own rate.
    let sample_rate = match way {
        "listen" => section.read(&key("sample_rate"), |raw| raw.integer(8_000, 48_000))?,
        _ => None,
    };
    Ok(Program {
        command: section.read(&key("command"), command)?,
        sample_rate,
        limit: section.read(&key("limit_seconds"), |raw| raw.integer(1, 60))?,
        at_once: section.read(&key("at_once"), |raw| raw.integer(1, 256))?,
    })
}

impl Program {
    const fn is_given(&self) -> bool {
        self.command.is_some()
            || self.sample_rate.is_some()
            || self.limit.is_some()
            || self.at_once.is_some()
    }

    fn settings(self, section: &Section<'_>, way: &str) -> Result<Option<SpeechProgram>> {
        let is_given = self.is_given();
        let Some(command) = self.command else {
            let why = "name the program and its arguments";
            let missing = || section.missing(&format!("{way}.command"), why);
            return if is_given { Err(missing()) } else { Ok(None) };
        };
        Ok(Some(SpeechProgram {
            command,
            sample_rate: self.sample_rate.unwrap_or(SAMPLE_RATE),
            limit: Duration::from_secs(self.limit.unwrap_or(LIMIT_SECONDS).into()),
            at_once: usize::try_from(self.at_once.unwrap_or(AT_ONCE)).unwrap_or(1),
        }))
    }
}

fn command(raw: Raw) -> Result<Vec<String>, String> {
    let command = raw.list()?;
    if command.is_empty() {
        return Err(
            "must be a program and its arguments, such as [\"/usr/bin/espeak-ng\", \"--stdout\"]"
                .to_owned(),
        );
    }
    Ok(command)
}
