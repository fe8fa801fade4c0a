//! Voices.

use offhook_domain::{Scope, VoiceGender, VoiceProvider, VoiceSource};
use serde_json::{Value, json};

use super::super::operations::{Access, Answer, Operation, operations, query};
use super::super::schemas::{array, boolean, nullable, object, string, text, words};

pub(super) fn operations() -> Vec<Operation> {
    let language = json!({"type": "string", "pattern": "^[a-zA-Z]{2,3}$"});
    operations! {
        GET "/v1/voices", listVoices, Access::Scope(Scope::AgentsRead)
            => Answer::List("Voice"), "Voices that an engine agent can use: recommended ones first, then by provider, then by name"
            .filters(vec![
                query("provider", "Only of this provider.", words(VoiceProvider::ALL)),
                query("language", "Only those that speak this language.", language),
                query("gender", "Only those that sound so.", words(VoiceGender::ALL)),
                query("q", "Only with this text in the name, whatever its case.", text(100)),
                query("recommended", "`true`: only voices hand-picked for Mexican Spanish; `false`: none of them.", words(&["true", "false"])),
            ]);
    }
}

pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    let voice = [
        ("provider", words(VoiceProvider::ALL)),
        ("voice_id", string()),
        ("name", string()),
        ("gender", nullable(words(VoiceGender::ALL))),
        ("age", nullable(string())),
        ("accent", nullable(string())),
        ("language", nullable(string())),
        ("languages", array(string())),
        ("locales", array(string())),
        ("description", nullable(string())),
        ("use_case", nullable(string())),
        ("preview_url", nullable(string())),
        ("model_compat", array(string())),
        ("source", words(VoiceSource::ALL)),
        ("recommended", boolean()),
    ];
    vec![("Voice", object(&voice))]
}
