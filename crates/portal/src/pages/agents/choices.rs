//! What the editor's selects offer: models, voices, tools, documents and folders.

use offhook_domain::DocumentId;
use offhook_services::store::DocumentFilter;
use offhook_services::{Agents, ListedVoice, Model, ModelKind, PageRequest, VoiceFilter};

use super::document::{DOCUMENTS, FOLDERS, TOOLS, plain};
use crate::fields::Fields;
use crate::trouble::Result;
use crate::visit::{Visitor, first};

/// The fields of a search, and of the search whose results are shown.
pub(super) const VOICES_Q: &str = "voices-q";
pub(super) const VOICES_SHOWN: &str = "voices-shown";
pub(super) const DOCUMENTS_Q: &str = "documents-q";
pub(super) const DOCUMENTS_SHOWN: &str = "documents-shown";

const VOICES_SHOWN_AT_MOST: u32 = 30;

const AT_ONCE: u32 = 100;

const NAMED_AT_MOST: usize = 100;

const Q_CHARS: usize = 100;

type Named = Vec<(String, String)>;

pub(super) struct Choices {
    /// `provider|voice_id`, label, preview.
    pub(super) voices: Vec<(String, String, Option<String>)>,
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
        Ok(Self {
            voices: voices(visitor, fields).await?,
            tools: tools(visitor, fields).await?,
            folders,
            documents,
            ambient: Agents::ambient_sounds(),
            has_knowledge,
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

/// Models of a kind, for a `datalist`.
pub(super) fn models(visitor: &Visitor, kind: ModelKind) -> Named {
    let plan = visitor.caller().account.plan;
    let models = visitor.services().catalog().models().iter();
    let named = |model: &&Model| model.kind == kind && model.model != "*";
    let shown = |model: &Model| {
        let price = credits(model.price(plan).millicredits_per_minute());
        let text = format!("{} · {} · {price}/min", model.name, vendor(&model.provider));
        (model.model.clone(), text)
    };
    models.filter(named).map(shown).collect()
}

/// Thousandths of a credit, as credits.
fn credits(milli: i64) -> String {
    let text = format!("{}.{:03}", milli / 1_000, milli % 1_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A provider's label: the vendor's name where the API uses a letter.
pub(super) fn vendor(provider: &str) -> &str {
    match provider {
        "provider_a" => "ElevenLabs (provider_a)",
        "provider_b" => "Cartesia (provider_b)",
        "provider_c" => "Deepgram (provider_c)",
        other => other,
    }
}

/// Providers of a kind, after the choice of none.
pub(super) fn providers<'a>(
    visitor: &'a Visitor,
    kind: ModelKind,
    none: &'a str,
) -> Vec<(&'a str, &'a str)> {
    let known = visitor.services().catalog().providers(kind).into_iter();
    let known = known.map(|name| (name, vendor(name)));
    std::iter::once(("", none)).chain(known).collect()
}

async fn voices(
    visitor: &Visitor,
    fields: &Fields,
) -> Result<Vec<(String, String, Option<String>)>> {
    let Some(q) = fields.get(VOICES_Q) else {
        return Ok(Vec::new());
    };
    let filter = VoiceFilter {
        q: Some(q.chars().take(Q_CHARS).collect()),
        ..VoiceFilter::default()
    };
    let voices = visitor.services().voices();
    let found = voices.list(visitor.account(), &filter, None, VOICES_SHOWN_AT_MOST);
    Ok(found.await?.items.iter().map(shown_voice).collect())
}

fn shown_voice(listed: &ListedVoice) -> (String, String, Option<String>) {
    let voice = &listed.voice;
    let mut label = format!("{} · {}", voice.name, vendor(voice.provider.as_str()));
    let languages = voice.locales.iter().chain(&voice.languages);
    let languages: Vec<&str> = languages.take(4).map(String::as_str).collect();
    let gender = voice.gender.map(|gender| gender.as_str().to_owned());
    for more in [gender, voice.accent.clone(), Some(languages.join(", "))] {
        if let Some(more) = more.filter(|more| !more.is_empty()) {
            label.push_str(" · ");
            label.push_str(&more);
        }
    }
    let heard = voice.preview_url.clone();
    let heard = heard.filter(|url| url.starts_with("https://"));
    let sent = format!("{}|{}", voice.provider, voice.voice_id);
    (sent, label, heard)
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
