//! What the editor's selects offer: models, voices, tools, documents and folders.

use offhook_services::store::DocumentFilter;
use offhook_services::{
    Agents, ListedVoice, Model, ModelKind, OfferedProvider, PageRequest, VoiceFilter,
};

use super::document::{DOCUMENTS, FOLDERS, TOOLS, language, plain};
use crate::prelude::*;
use crate::visit::first;

/// The fields of a search, and of the search whose results are shown.
pub(super) const VOICES_Q: &str = "voices-q";
pub(super) const VOICES_SHOWN: &str = "voices-shown";
pub(super) const DOCUMENTS_Q: &str = "documents-q";
pub(super) const DOCUMENTS_SHOWN: &str = "documents-shown";

/// Voices of a provider: those that a search found, and those that are shown without one.
const VOICES_SHOWN_AT_MOST: u32 = 30;
const VOICES_SUGGESTED: u32 = 6;

const AT_ONCE: u32 = 100;

const NAMED_AT_MOST: usize = 100;

const Q_CHARS: usize = 100;

type Named = Vec<(String, String)>;

pub(super) struct Choices {
    /// The agents of the account, with the providers that its own keys open.
    pub(super) agents: Agents,
    pub(super) voices: Vec<VoiceGroup>,
    pub(super) tools: Named,
    pub(super) folders: Named,
    pub(super) documents: Named,
    pub(super) ambient: Vec<&'static str>,
    pub(super) has_knowledge: bool,
}

impl Choices {
    pub(super) async fn read(visitor: &Visitor, fields: &Fields) -> Result<Self> {
        let has_knowledge = visitor.caller().terms.engine_module;
        let (folders, documents) = match has_knowledge {
            true => (
                folders(visitor, fields).await?,
                documents(visitor, fields).await?,
            ),
            false => (listed(fields, FOLDERS), listed(fields, DOCUMENTS)),
        };
        let agents = visitor.services().agents().of(visitor.account()).await?;
        Ok(Self {
            voices: voices(visitor, &agents, fields).await?,
            tools: tools(visitor, fields).await?,
            folders,
            documents,
            ambient: Agents::ambient_sounds(),
            has_knowledge,
            agents,
        })
    }
}

/// Whether the results shown are of another search: Enter then searches and does not save.
pub(super) fn wants_search(fields: &Fields) -> bool {
    let pairs = [(VOICES_Q, VOICES_SHOWN), (DOCUMENTS_Q, DOCUMENTS_SHOWN)];
    pairs
        .iter()
        .any(|(q, shown)| fields.text(q) != fields.text(shown))
}

/// Models of a kind whose provider is set up, for a `datalist`.
pub(super) fn models(visitor: &Visitor, agents: &Agents, kind: ModelKind) -> Named {
    let offered = agents.offered_providers(kind).into_iter();
    let offered = offered.filter(|offered| offered.is_set_up);
    offered
        .flat_map(|offered| {
            let of = vendor(visitor.lang(), offered.name);
            let models = models_of(visitor, agents, kind, offered.name).into_iter();
            models.map(move |(model, label)| (model, format!("{label} · {of}")))
        })
        .collect()
}

/// A provider's models, each with its price.
pub(super) fn models_of(
    visitor: &Visitor,
    agents: &Agents,
    kind: ModelKind,
    provider: &str,
) -> Named {
    let plan = visitor.caller().account.plan;
    let models = agents.catalog().models().iter();
    let named =
        |model: &&Model| model.kind == kind && model.provider == provider && model.model != "*";
    let shown = |model: &Model| {
        let price = credits(model.price(plan).millicredits_per_minute());
        (model.model.clone(), format!("{} · {price}/min", model.name))
    };
    models.filter(named).map(shown).collect()
}

/// Thousandths of a credit, as credits.
fn credits(milli: i64) -> String {
    let text = format!("{}.{:03}", milli / 1_000, milli % 1_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A provider by its vendor's name.
pub(super) fn vendor(lang: Lang, provider: &str) -> &str {
    match provider {
        "provider_a" | "elevenlabs" => "ElevenLabs",
        "provider_b" => "Cartesia",
        "provider_c" | "deepgram" => "Deepgram",
        "openai" => "OpenAI",
        "anthropic" => "Anthropic",
        "google" => "Google",
        "local" => lang.t(
            "Local (this service's own)",
            "Local (propio de este servicio)",
        ),
        "scripted" => lang.t("Scripted (for tests)", "Simulado (para pruebas)"),
        "custom" => lang.t("Custom (your own server)", "Propio (tu servidor)"),
        other => other,
    }
}

/// A provider of a select.
pub(super) struct ProviderOption {
    pub(super) name: String,
    pub(super) label: String,
    pub(super) may_be_chosen: bool,
}

/// Providers of a kind: those that are set up, then the others with the reason.
pub(super) fn providers(lang: Lang, agents: &Agents, kind: ModelKind) -> Vec<ProviderOption> {
    let offered = agents.offered_providers(kind);
    let option = |offered: OfferedProvider<'_>| ProviderOption {
        name: offered.name.to_owned(),
        label: match offered.is_set_up {
            true => vendor(lang, offered.name).to_owned(),
            false => format!(
                "{} – {}",
                vendor(lang, offered.name),
                not_set_up(lang, kind, offered.name)
            ),
        },
        may_be_chosen: offered.may_be_chosen,
    };
    offered.into_iter().map(option).collect()
}

fn not_set_up(lang: Lang, kind: ModelKind, provider: &str) -> &'static str {
    match kind.may_be_own(provider) {
        true => lang.t(
            "add your key in Settings",
            "agrega tu clave en Configuración",
        ),
        false => lang.t(
            "not set up on this service",
            "no configurado en este servicio",
        ),
    }
}

/// A provider's voices.
pub(super) struct VoiceGroup {
    pub(super) provider: ProviderOption,
    /// Whether the provider can speak here.
    pub(super) is_set_up: bool,
    pub(super) voices: Vec<OfferedVoice>,
}

/// A voice of the picker.
pub(super) struct OfferedVoice {
    /// `provider|voice_id`.
    pub(super) value: String,
    pub(super) label: String,
    /// The provider's sample.
    pub(super) sample: Option<String>,
}

/// The voices that match the search; without one, some that speak the agent's language.
async fn voices(visitor: &Visitor, agents: &Agents, fields: &Fields) -> Result<Vec<VoiceGroup>> {
    let q = fields.get(VOICES_Q);
    let q: Option<String> = q.map(|q| q.chars().take(Q_CHARS).collect());
    let set_up: Vec<bool> = agents
        .offered_providers(ModelKind::Tts)
        .iter()
        .map(|offered| offered.is_set_up)
        .collect();
    let mut groups = Vec::new();
    for (provider, is_set_up) in providers(visitor.lang(), agents, ModelKind::Tts)
        .into_iter()
        .zip(set_up)
    {
        if q.is_none() && !is_set_up {
            continue;
        }
        let vendor = vendor(visitor.lang(), &provider.name).to_lowercase();
        // The beginning of a vendor's name finds all of its voices.
        let is_of_a_voice = |q: &&String| q.len() < 3 || !vendor.starts_with(&q.to_lowercase());
        let q = q.as_ref().filter(is_of_a_voice);
        let voices = match provider.name.parse::<VoiceProvider>() {
            Ok(listed) => {
                let most = match (is_set_up, q.is_some() || fields.is_set(VOICES_Q)) {
                    (true, true) => VOICES_SHOWN_AT_MOST,
                    _ => VOICES_SUGGESTED,
                };
                listed_voices(visitor, fields, listed, (q, most)).await?
            }
            Err(_) => own_voices(visitor, agents, &provider.name, q),
        };
        if !voices.is_empty() {
            groups.push(VoiceGroup {
                provider,
                is_set_up,
                voices,
            });
        }
    }
    Ok(groups)
}

async fn listed_voices(
    visitor: &Visitor,
    fields: &Fields,
    provider: VoiceProvider,
    (q, most): (Option<&String>, u32),
) -> Result<Vec<OfferedVoice>> {
    let language = language(fields, "language");
    let primary = language.split('-').next().unwrap_or(language);
    let suggested = (!fields.is_set(VOICES_Q) && !primary.is_empty()).then(|| primary.to_owned());
    let filter = VoiceFilter {
        provider: Some(provider),
        language: suggested,
        q: q.cloned(),
        ..VoiceFilter::default()
    };
    let voices = visitor.services().voices();
    let found = voices.list(visitor.account(), &filter, None, most);
    Ok(found.await?.items.iter().map(shown_voice).collect())
}

/// Voices of the service's own server or program, by their ids.
fn own_voices(
    visitor: &Visitor,
    agents: &Agents,
    provider: &str,
    q: Option<&String>,
) -> Vec<OfferedVoice> {
    let only = visitor.t("Its only voice", "Su única voz");
    let ids = agents.own_voices(provider).into_iter();
    let voices = ids.map(|id| OfferedVoice {
        label: if id.is_empty() {
            only.to_owned()
        } else {
            id.clone()
        },
        value: format!("{provider}|{id}"),
        sample: None,
    });
    let is_found = |voice: &OfferedVoice| {
        q.is_none_or(|q| voice.label.to_lowercase().contains(&q.to_lowercase()))
    };
    voices.filter(is_found).collect()
}

fn shown_voice(listed: &ListedVoice) -> OfferedVoice {
    let voice = &listed.voice;
    let mut label = voice.name.clone();
    let languages = voice.locales.iter().chain(&voice.languages);
    let languages: Vec<&str> = languages.take(4).map(String::as_str).collect();
    let gender = voice.gender.map(|gender| gender.as_str().to_owned());
    for more in [gender, voice.accent.clone(), Some(languages.join(", "))] {
        if let Some(more) = more.filter(|more| !more.is_empty()) {
            label.push_str(" · ");
            label.push_str(&more);
        }
    }
    let sample = voice.preview_url.clone();
    OfferedVoice {
        value: format!("{}|{}", voice.provider, voice.voice_id),
        label,
        sample: sample.filter(|url| url.starts_with("https://")),
    }
}

async fn tools(visitor: &Visitor, fields: &Fields) -> Result<Named> {
    let tools = visitor.services().tools();
    let page = tools.list(visitor.account(), first(AT_ONCE)).await?;
    let known = page.items.iter().map(|view| {
        let kind = view.definition.get("kind").map(plain).unwrap_or_default();
        let label = format!("{} ({kind})", view.row.name);
        (view.row.id.to_string(), label)
    });
    Ok(chosen_first(fields, TOOLS, known.collect()))
}

async fn folders(visitor: &Visitor, fields: &Fields) -> Result<Named> {
    let knowledge = visitor.services().knowledge();
    let mut known = Named::new();
    let mut after = None;
    // An account has at most 1,000 folders.
    for _ in 0..10 {
        let page = PageRequest {
            after,
            limit: AT_ONCE,
        };
        let page = knowledge.folders(visitor.account(), page).await?;
        after = page.items.last().map(|last| (last.created_at, last.id));
        let rows = page.items.iter();
        known.extend(rows.map(|row| (row.id.to_string(), row.name.clone())));
        if !page.has_more {
            break;
        }
    }
    Ok(chosen_first(fields, FOLDERS, known))
}

/// The newest documents or those found, and all that are chosen.
async fn documents(visitor: &Visitor, fields: &Fields) -> Result<Named> {
    let knowledge = visitor.services().knowledge();
    let filter = DocumentFilter {
        q: fields
            .get(DOCUMENTS_Q)
            .map(|q| q.chars().take(Q_CHARS).collect()),
        ..DocumentFilter::default()
    };
    let page = knowledge.documents(visitor.account(), filter, first(AT_ONCE));
    let rows = page.await?.items.into_iter();
    let mut known: Named = rows.map(|row| (row.id.to_string(), row.name)).collect();
    let is_known = |id: &str| known.iter().any(|(other, _)| other == id);
    let others: Vec<&str> = fields.all(DOCUMENTS).filter(|id| !is_known(id)).collect();
    for id in others.into_iter().take(NAMED_AT_MOST) {
        let Ok(wanted) = id.parse::<DocumentId>() else {
            continue;
        };
        if let Ok(row) = knowledge.document(visitor.account(), wanted).await {
            known.push((id.to_owned(), row.name));
        }
    }
    Ok(chosen_first(fields, DOCUMENTS, known))
}

/// The form's choices in their order, then the others. A choice that no longer exists is shown by its id.
fn chosen_first(fields: &Fields, name: &str, known: Named) -> Named {
    let mut all = listed(fields, name);
    for (id, shown) in &mut all {
        if let Some((_, label)) = known.iter().find(|(known, _)| known == id) {
            shown.clone_from(label);
        }
    }
    let count = all.len();
    for (id, label) in known {
        if !all[..count].iter().any(|(chosen, _)| *chosen == id) {
            all.push((id, label));
        }
    }
    all
}

/// The ids that the form has chosen, each as its own label.
fn listed(fields: &Fields, name: &str) -> Named {
    let mut all = Named::new();
    for id in fields.all(name).map(str::trim) {
        if !id.is_empty() && !all.iter().any(|(other, _)| other == id) {
            all.push((id.to_owned(), id.to_owned()));
        }
    }
    all
}
