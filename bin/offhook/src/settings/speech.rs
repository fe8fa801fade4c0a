//! `speech`: where the recognisers and voices are that agents may name, and the programs of this machine among them.

use std::collections::BTreeMap;
use std::time::Duration;

use offhook_providers::{ProviderSettings, SpeechProgram, SpeechProvider, SpeechTransport};

use super::given::{Given, Raw};
use super::read::base_url;
use super::{Result, SettingsError};

/// The provider that is built in.
const BUILT_IN: &str = "scripted";

/// The rate of the files that a program gets to hear: what most models were trained on.
const SAMPLE_RATE: u32 = 16_000;

/// How long a program may take for one utterance.
const LIMIT_SECONDS: u32 = 10;

/// How many runs of a program may go on at once.
const AT_ONCE: u32 = 2;

/// The settings of a provider, for an unknown one to be told what was meant.
const NAMES: [&str; 11] = [
    "kind",
    "base_url",
    "api_key",
    "transport",
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

impl Kind {
    const ALL: [(&str, Self); 5] = [
        ("deepgram", Self::Deepgram),
        ("elevenlabs", Self::ElevenLabs),
        ("cartesia", Self::Cartesia),
        ("openai", Self::OpenAi),
        ("exec", Self::Exec),
    ];

    fn name(self) -> &'static str {
        let named = Self::ALL.iter().find(|(_, kind)| *kind == self);
        named.map_or("", |(name, _)| *name)
    }

    const fn has_transport(self) -> bool {
        matches!(self, Self::ElevenLabs | Self::Cartesia)
    }
}

/// What is said of one provider.
struct Said {
    name: String,
    kind: Kind,
    base_url: Option<String>,
    api_key: Option<String>,
    transport: Option<SpeechTransport>,
    listen: Program,
    speak: Program,
}

/// What is said of one program.
struct Program {
    command: Option<Vec<String>>,
    sample_rate: Option<u32>,
    limit: Option<u32>,
    at_once: Option<u32>,
}

pub(super) fn speech(given: &mut Given) -> Result<BTreeMap<String, SpeechProvider>> {
    let mut providers = BTreeMap::new();
    for name in given.names_in("speech") {
        if name == BUILT_IN {
            let fault =
                "section `speech.scripted`: this provider is built in and takes no settings";
            return Err(SettingsError(fault.to_owned()));
        }
        let said = said(given, name)?;
        providers.insert(said.name.clone(), said.provider()?);
    }
    for name in NAMES {
        given.read(&format!("speech.<provider>.{name}"), Raw::text)?;
    }
    Ok(providers)
}

fn said(given: &mut Given, name: String) -> Result<Said> {
    let key = |setting: &str| format!("speech.{name}.{setting}");
    let kind = given.read(&key("kind"), kind)?;
    let kind = kind.ok_or_else(|| {
        SettingsError(format!(
            "setting `{}` is missing: give the shape of the service's interface, {}",
            key("kind"),
            kinds()
        ))
    })?;
    Ok(Said {
        kind,
        base_url: given.read(&key("base_url"), base_url)?,
        api_key: given.read(&key("api_key"), Raw::text)?,
        transport: given.read(&key("transport"), transport)?,
        listen: program(given, &key("listen"))?,
        speak: program(given, &key("speak"))?,
        name,
    })
}

fn program(given: &mut Given, section: &str) -> Result<Program> {
    let key = |setting: &str| format!("{section}.{setting}");
    // The sound that a program makes says its own rate.
    let sample_rate = match section.ends_with(".listen") {
        true => given.read(&key("sample_rate"), |raw| raw.integer(8_000, 48_000))?,
        false => None,
    };
    Ok(Program {
        command: given.read(&key("command"), command)?,
        sample_rate,
        limit: given.read(&key("limit_seconds"), |raw| raw.integer(1, 60))?,
        at_once: given.read(&key("at_once"), |raw| raw.integer(1, 256))?,
    })
}

impl Said {
    fn provider(self) -> Result<SpeechProvider> {
        self.check_effects()?;
        if self.kind == Kind::Exec {
            let (listen, speak) = (
                self.listen.program(&self.name, "listen")?,
                self.speak.program(&self.name, "speak")?,
            );
            if listen.is_none() && speak.is_none() {
                return Err(SettingsError(format!(
                    "section `speech.{}`: a local program needs `listen.command`, `speak.command` or both",
                    self.name
                )));
            }
            return Ok(SpeechProvider::Exec { listen, speak });
        }
        let base_url = self.base_url.ok_or_else(|| {
            SettingsError(format!(
                "setting `speech.{}.base_url` is missing: give the URL that the service's paths follow",
                self.name
            ))
        })?;
        let endpoint = ProviderSettings {
            base_url,
            api_key: self.api_key,
        };
        let transport = self.transport.unwrap_or_default();
        Ok(match self.kind {
            Kind::Deepgram => SpeechProvider::Deepgram(endpoint),
            Kind::ElevenLabs => SpeechProvider::ElevenLabs(endpoint, transport),
            Kind::Cartesia => SpeechProvider::Cartesia(endpoint, transport),
            Kind::OpenAi | Kind::Exec => SpeechProvider::OpenAi(endpoint),
        })
    }

    /// Refuses what this kind of provider does not read.
    fn check_effects(&self) -> Result<()> {
        let is_program = self.kind == Kind::Exec;
        let unread = [
            ("base_url", self.base_url.is_some() && is_program),
            ("api_key", self.api_key.is_some() && is_program),
            (
                "transport",
                self.transport.is_some() && !self.kind.has_transport(),
            ),
            ("listen", self.listen.is_given() && !is_program),
            ("speak", self.speak.is_given() && !is_program),
        ];
        let Some((setting, _)) = unread.into_iter().find(|(_, is_unread)| *is_unread) else {
            return Ok(());
        };
        Err(SettingsError(format!(
            "setting `speech.{}.{setting}` is without effect: kind `{}` does not read it; remove it",
            self.name,
            self.kind.name()
        )))
    }
}

impl Program {
    const fn is_given(&self) -> bool {
        self.command.is_some()
            || self.sample_rate.is_some()
            || self.limit.is_some()
            || self.at_once.is_some()
    }

    fn program(self, provider: &str, way: &str) -> Result<Option<SpeechProgram>> {
        let is_given = self.is_given();
        let Some(command) = self.command else {
            if is_given {
                return Err(SettingsError(format!(
                    "setting `speech.{provider}.{way}.command` is missing: name the program and its arguments"
                )));
            }
            return Ok(None);
        };
        Ok(Some(SpeechProgram {
            command,
            sample_rate: self.sample_rate.unwrap_or(SAMPLE_RATE),
            limit: Duration::from_secs(self.limit.unwrap_or(LIMIT_SECONDS).into()),
            at_once: usize::try_from(self.at_once.unwrap_or(AT_ONCE)).unwrap_or(1),
        }))
    }
}

fn kinds() -> String {
    let names = Kind::ALL.map(|(name, _)| name);
    let (last, others) = names.split_last().unwrap_or((&"", &[]));
    format!("{} or {last}", others.join(", "))
}

fn kind(raw: Raw) -> Result<Kind, String> {
    let text = raw.text()?;
    let named = Kind::ALL.iter().find(|(name, _)| *name == text);
    named
        .map(|(_, kind)| *kind)
        .ok_or_else(|| format!("must be {}", kinds()))
}

fn transport(raw: Raw) -> Result<SpeechTransport, String> {
    match raw.text()?.as_str() {
        "websocket" => Ok(SpeechTransport::WebSocket),
        "http" => Ok(SpeechTransport::Http),
        _ => Err("must be websocket or http".to_owned()),
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
