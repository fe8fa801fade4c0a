//! Printing a configuration, in the table's order.

use uuid::Uuid;

use super::{
    AgentConfig, Audio, CallingHours, Conversation, KnowledgeBase, Llm, ModelRef, Pronunciation,
    Recording, Stt, Turns, Voice,
};
use crate::json::Json;

pub(super) fn config(config: &AgentConfig) -> Json {
    let variables = config.dynamic_variables.iter();
    Json::object([
        ("system_prompt", config.system_prompt.as_str().into()),
        ("first_message", config.first_message.as_str().into()),
        ("language", config.language.as_str().into()),
        ("llm", llm(&config.llm)),
        ("stt", stt(&config.stt)),
        ("voice", voice(&config.voice)),
        ("knowledge_base", knowledge_base(&config.knowledge_base)),
        (
            "dynamic_variables",
            Json::object(variables.map(|variable| {
                let default = Json::object([("default", variable.default.clone())]);
                (variable.name.as_str(), default)
            })),
        ),
        ("conversation", conversation(&config.conversation)),
        ("tool_ids", uuids(&config.tool_ids)),
    ])
}

fn llm(llm: &Llm) -> Json {
    Json::object([
        ("provider", llm.provider.as_deref().into()),
        ("model", llm.model.as_deref().into()),
        ("temperature", llm.temperature.into()),
        ("routing", llm.routing.as_str().into()),
        ("fallback", llm.fallback.iter().map(model_ref).collect()),
        ("endpoint", llm.endpoint.as_deref().into()),
    ])
}

fn model_ref(model: &ModelRef) -> Json {
    Json::object([
        ("provider", model.provider.as_str().into()),
        ("model", model.model.as_str().into()),
    ])
}

fn stt(stt: &Stt) -> Json {
    Json::object([
        ("provider", stt.provider.as_deref().into()),
        ("model", stt.model.as_deref().into()),
        ("language", stt.language.as_deref().into()),
        ("settings", stt.settings.clone()),
        ("sample_rate", stt.sample_rate.into()),
    ])
}

fn voice(voice: &Voice) -> Json {
    let fallback = voice.fallback_voices.iter();
    Json::object([
        ("provider", voice.provider.as_deref().into()),
        ("model", voice.model.as_deref().into()),
        ("voice_id", voice.voice_id.as_deref().into()),
        ("language", voice.language.as_deref().into()),
        (
            "fallback_voices",
            Json::object(fallback.map(|(provider, id)| (provider.as_str(), id.as_str().into()))),
        ),
        ("settings", voice.settings.clone()),
        ("sample_rate", voice.sample_rate.into()),
    ])
}

fn knowledge_base(knowledge: &KnowledgeBase) -> Json {
    Json::object([
        ("doc_ids", uuids(&knowledge.doc_ids)),
        ("folder_ids", uuids(&knowledge.folder_ids)),
        ("mode", knowledge.mode.as_str().into()),
        ("top_k", knowledge.top_k.into()),
    ])
}

fn conversation(conversation: &Conversation) -> Json {
    let pronunciation = conversation.pronunciation.iter().map(pronunciation);
    Json::object([
        ("max_duration_s", conversation.max_duration_s.into()),
        ("recording", recording(&conversation.recording)),
        ("turns", turns(&conversation.turns)),
        ("audio", audio(&conversation.audio)),
        ("pronunciation", pronunciation.collect()),
        (
            "calling_hours",
            conversation
                .calling_hours
                .as_ref()
                .map(calling_hours)
                .into(),
        ),
    ])
}

fn recording(recording: &Recording) -> Json {
    Json::object([
        ("enabled", recording.enabled.into()),
        ("consent_text", recording.consent_text.as_deref().into()),
    ])
}

fn turns(turns: &Turns) -> Json {
    Json::object([
        ("endpointing_ms", turns.endpointing_ms.into()),
        ("interruptions", turns.interruptions.into()),
        ("silence_timeout_s", turns.silence_timeout_s.into()),
        ("voicemail", turns.voicemail.as_str().into()),
    ])
}

fn audio(audio: &Audio) -> Json {
    Json::object([
        ("ambient", audio.ambient.as_deref().into()),
        ("speed", audio.speed.into()),
    ])
}

fn pronunciation(pronunciation: &Pronunciation) -> Json {
    Json::object([
        ("term", pronunciation.term.as_str().into()),
        ("say", pronunciation.say.as_str().into()),
        ("match_case", pronunciation.match_case.into()),
    ])
}

fn calling_hours(hours: &CallingHours) -> Json {
    let days = hours.days.iter().map(|day| Json::from(i64::from(*day)));
    Json::object([
        ("timezone", hours.timezone.as_str().into()),
        ("days", days.collect()),
        ("start", hours.start.to_string().as_str().into()),
        ("end", hours.end.to_string().as_str().into()),
    ])
}

fn uuids(ids: &[Uuid]) -> Json {
    ids.iter()
        .map(|id| Json::from(id.to_string().as_str()))
        .collect()
}
