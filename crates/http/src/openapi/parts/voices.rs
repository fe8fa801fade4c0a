//! Voices.

use super::*;
use crate::wire::voice::VoiceBody;

pub(super) fn operations() -> Vec<Operation> {
    let language = json!({"type": "string", "pattern": "^[a-zA-Z]{2,3}$"});
    operations! {
        GET "/v1/voices", listVoices, Access::Scope(Scope::AgentsRead)
            => Answer::List("Voice"), "List the voices that an engine agent can use: recommended first, then by provider and name"
            .filters(vec![
                query("provider", "Only of this provider.", words(VoiceProvider::ALL)),
                query("language", "Only voices that speak this language.", language),
                query("gender", "Only voices of this gender.", words(VoiceGender::ALL)),
                query("q", "Only with this text in the name, regardless of case.", text(100)),
                query("recommended", "`true`: only voices hand-picked for Mexican Spanish; `false`: all others.", words(&["true", "false"])),
            ]);
    }
}

pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    vec![("Voice", VoiceBody::shape())]
}
