//! The services and programs that `speech` names.

use std::path::Path;

use offhook_providers::{ProviderSettings, SpeechProgram, SpeechProvider};

use super::models::bearer;
use super::upstream::Question;
use super::{Finding, Hop};
use crate::settings::Settings;

const HOP: Hop = Hop("speech");

/// Asks each service for what it lists, which is neither heard nor said and costs nothing, and looks at each program.
pub(super) async fn look(settings: &Settings) -> Vec<Finding> {
    let asked = settings.speech.iter().map(async |(name, provider)| {
        let section = format!("speech.{name}");
        match provider {
            SpeechProvider::Exec { listen, speak } => {
                programs(&section, listen.as_ref(), speak.as_ref())
            }
            SpeechProvider::Deepgram(at) => {
                let key = at.api_key.as_ref();
                let key = key.map(|key| ("authorization", format!("Token {key}")));
                ask(&section, at, ("v1/models", "models"), key).await
            }
            SpeechProvider::ElevenLabs(at, _) => {
                let key = at.api_key.as_ref().map(|key| ("xi-api-key", key.clone()));
                ask(&section, at, ("v2/voices?page_size=1", "voices"), key).await
            }
            SpeechProvider::Cartesia(at, _) => {
                let key = bearer(at.api_key.as_deref());
                ask(&section, at, ("voices?limit=1", "voices"), key).await
            }
            SpeechProvider::OpenAi(at) => {
                let key = bearer(at.api_key.as_deref());
                ask(&section, at, ("models", "models"), key).await
            }
        }
    });
    futures_util::future::join_all(asked).await
}

async fn ask(
    section: &str,
    at: &ProviderSettings,
    (path, list): (&'static str, &'static str),
    key: Option<(&'static str, String)>,
) -> Finding {
    let question = Question {
        hop: HOP,
        section,
        base_url: &at.base_url,
        path,
        list,
        key,
        // What stands in for one of these services may speak and list nothing.
        may_lack_path: true,
    };
    question.ask().await
}

fn programs(
    section: &str,
    listen: Option<&SpeechProgram>,
    speak: Option<&SpeechProgram>,
) -> Finding {
    let both = [("listen", listen), ("speak", speak)];
    let named = both
        .into_iter()
        .filter_map(|(does, program)| Some((does, program?.command.first()?)));
    let missing = named.filter(|(_, file)| !is_program(Path::new(file)));
    let missing: Vec<String> = missing
        .map(|(does, file)| format!("`{section}.{does}.command`: {file}"))
        .collect();
    if missing.is_empty() {
        return HOP.good(format!(
            "`{section}`: its programs are there and may be run"
        ));
    }
    HOP.failed(format!(
        "no program that this user may run is at {}: install it, or correct the setting",
        missing.join(" and ")
    ))
}

#[cfg(unix)]
fn is_program(file: &Path) -> bool {
    rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok() && file.is_file()
}

#[cfg(not(unix))]
fn is_program(file: &Path) -> bool {
    file.is_file()
}
