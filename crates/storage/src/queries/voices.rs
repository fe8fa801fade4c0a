//! Voices as their providers list them, read as a whole, because processes keep them in memory.

use super::{nodes, sealed};
use crate::prelude::*;
use crate::sql::Word;

/// The setting that changes with each change of the voices.
const GENERATION: &str = "voices_generation";

/// Rows that are compared, written or deleted at once. This limits how many old rows are in memory besides the new
/// list.
const AT_ONCE: usize = 256;

/// Makes the provider's voices equal to `all`. Unchanged voices are not written.
async fn replace(conn: &mut Conn, provider: VoiceProvider, all: VoiceList) -> Result<VoiceChanges> {
    let mut changes = VoiceChanges::default();
    let mut all_voices = all.iter();
    loop {
        let some: Vec<Voice> = all_voices.by_ref().take(AT_ONCE).collect();
        if some.is_empty() {
            break;
        }
        let ids = some.iter().map(|voice| voice.voice_id.as_str());
        let known: Vec<VoiceRow> = voices::table
            .filter(voices::provider.eq(V(provider)))
            .filter(voices::voice_id.eq_any(ids))
            .select(VoiceRow::as_select())
            .load(conn)
            .await?;
        let known: HashMap<String, Voice> = known
            .into_iter()
            .map(Voice::from)
            .map(|voice| (voice.voice_id.clone(), voice))
            .collect();
        let is_news = |voice: &&Voice| known.get(&voice.voice_id) != Some(*voice);
        let news: Vec<&Voice> = some.iter().filter(is_news).collect();
        if !news.is_empty() {
            write(conn, &news).await?;
            changes.written += news.len();
        }
    }
    let mut gone: Vec<String> = voices::table
        .filter(voices::provider.eq(V(provider)))
        .select(voices::voice_id)
        .load(conn)
        .await?;
    gone.retain(|id| !all.contains(id));
    for some in gone.chunks(AT_ONCE) {
        let of = voices::table
            .filter(voices::provider.eq(V(provider)))
            .filter(voices::voice_id.eq_any(some));
        changes.deleted += diesel::delete(of).execute(conn).await?;
    }
    Ok(changes)
}

/// Writes voices, and replaces those with the same provider and id. Each may occur once.
async fn write(conn: &mut Conn, all: &[&Voice]) -> Result<()> {
    bulk! {
        conn, "voices" "ON CONFLICT (provider, voice_id) DO UPDATE SET \
           name = EXCLUDED.name, gender = EXCLUDED.gender, age = EXCLUDED.age, accent = EXCLUDED.accent, \
           language = EXCLUDED.language, languages = EXCLUDED.languages, locales = EXCLUDED.locales, \
           description = EXCLUDED.description, use_case = EXCLUDED.use_case, preview_url = EXCLUDED.preview_url, \
           model_compat = EXCLUDED.model_compat, source = EXCLUDED.source, owner_id = EXCLUDED.owner_id",
        voices of voice in all; provider, voice_id, name, gender, age, accent, language,
        languages = json(&voice.languages), locales = json(&voice.locales), description, use_case,
        preview_url, model_compat = json(&voice.model_compat), source, owner_id
    }
}

/// Changes the generation, so that every process notices that the voices have changed.
pub(crate) async fn renew_generation(conn: &mut Conn, value: &str) -> Result<()> {
    sealed::set_setting(conn, GENERATION, value).await
}

impl Store {
    /// The generation of the voices, which changes with each change of them. `None` if there was none yet.
    pub fn voices_generation(&self) -> Answer<'_, Option<String>> {
        read!(self, |conn| nodes::setting(conn, GENERATION).await)
    }

    /// Up to `most` voices after this one, by provider and id. A change between two reads shows as another generation
    /// ([`Store::voices_generation`]).
    pub fn voices_behind(
        &self,
        last: Option<(VoiceProvider, String)>,
        most: usize,
    ) -> Answer<'_, Vec<Voice>> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        read!(self, |conn| {
            let mut page = voices::table
                .order((voices::provider, voices::voice_id))
                .limit(most)
                .select(VoiceRow::as_select())
                .into_boxed();
            if let Some((provider, voice_id)) = last {
                page = page.filter(
                    sql::<Bool>("(provider, voice_id) > (")
                        .bind::<Word, _>(V(provider))
                        .sql(", ")
                        .bind::<Text, _>(voice_id)
                        .sql(")"),
                );
            }
            let page: Vec<VoiceRow> = page.load(conn).await?;
            Ok(page.into_iter().map(Voice::from).collect())
        })
    }

    /// Replaces a provider's voices.
    pub fn replace_voices(
        &self,
        provider: VoiceProvider,
        voices: VoiceList,
        at: Timestamp,
    ) -> Answer<'_, VoiceChanges> {
        transact!(self, |conn| {
            let changes = replace(conn, provider, voices).await?;
            ensure!(changes != VoiceChanges::default(), Rollback(changes));
            renew_generation(conn, &mint::<EventId>(at).to_string()).await?;
            Ok(Commit(changes))
        })
    }

    /// Records that a voice of a provider's shared library has been added to its workspace. A voice that is not in the
    /// library, or no longer listed, stays as it is.
    pub fn voice_added(
        &self,
        provider: VoiceProvider,
        voice_id: &str,
        at: Timestamp,
    ) -> Answer<'_, ()> {
        let voice_id = voice_id.to_owned();
        transact!(self, |conn| {
            let is_moved = diesel::update(voices::table.find((V(provider), voice_id)))
                .filter(voices::source.eq(V(VoiceSource::Shared)))
                .set(voices::source.eq(V(VoiceSource::Workspace)))
                .changes(conn)
                .await?;
            if is_moved {
                renew_generation(conn, &mint::<EventId>(at).to_string()).await?;
            }
            Ok(Verdict::keep_if(is_moved, ()))
        })
    }
}
