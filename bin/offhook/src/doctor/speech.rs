//! The services and programs that `speech` names.

use offhook_providers::{SpeechProgram, SpeechProvider};

use super::finding::{Finding, Hop};
use super::upstream::{Question, Shape};
use crate::prelude::*;

const HOP: Hop = Hop("speech");

/// Asks each service for what it lists, which is neither heard nor said and costs nothing, and looks at each program.
pub(super) async fn look(settings: &Settings) -> Vec<Finding> {
    let asked = settings.speech.iter().map(async |(name, provider)| {
        let section = format!("speech.{name}");
        let (shape, list, at) = match provider {
            SpeechProvider::Exec { listen, speak } => {
                return programs(&section, listen.as_ref(), speak.as_ref());
            }
            SpeechProvider::Deepgram(at) => (Shape::Deepgram, "models", at),
            SpeechProvider::ElevenLabs(at, _) => (Shape::ElevenLabs, "voices", at),
            SpeechProvider::Cartesia(at, _) => (Shape::Cartesia, "voices", at),
            SpeechProvider::OpenAi(at) => (Shape::OpenAi, "models", at),
        };
        let question = Question {
            hop: HOP,
            section: &section,
            base_url: &at.base_url,
            shape,
            list,
            api_key: at.api_key.as_deref(),
            // What stands in for one of these services may speak and list nothing.
            may_lack_path: true,
        };
        question.ask().await
    });
    futures_util::future::join_all(asked).await
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
