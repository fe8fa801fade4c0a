//! Voices: all at once, as processes keep them in memory.

use crate::store::{Answer, read};
use std::collections::HashMap;

use crate::database::RunQueryDsl;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Bool, Text};
use offhook_domain::{Voice, VoiceList, VoiceProvider, VoiceSource};

use crate::database::Conn;
use crate::dialect::dialect;
use crate::records::VoiceRow;
use crate::schema::{service_settings as settings, voices};
use crate::sql::{V, Word};
use crate::{Result, Store, VoiceChanges};

/// The setting that is another one after each change of the voices.
const GENERATION: &str = "voices_generation";

impl Store {
    /// What names the voices as they are; it is another one after each change. `None`: there has been none.
    pub fn voices_generation(&self) -> Answer<'_, Option<String>> {
        read!(self, |conn| {
            Ok(settings::table
                .find(GENERATION)
                .select(settings::value)
                .found(conn)
                .await?)
        })
    }
}

/// Rows that are compared, written or deleted at once: so many are in memory beside those that are to be.
const AT_ONCE: usize = 256;

/// Up to `most` voices behind this one, by provider and id.
pub(crate) async fn behind(
    conn: &mut Conn,
    last: Option<(VoiceProvider, String)>,
    most: i64,
) -> Result<Vec<Voice>> {
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
}

/// Makes the provider's voices these; what stays as it is, is not written.
pub(crate) async fn replace(
    conn: &mut Conn,
    provider: VoiceProvider,
    all: VoiceList,
) -> Result<VoiceChanges> {
    let mut changes = VoiceChanges::default();
    let mut rows = all.iter().map(VoiceRow::from);
    loop {
        let some: Vec<VoiceRow> = rows.by_ref().take(AT_ONCE).collect();
        if some.is_empty() {
            break;
        }
        let ids = some.iter().map(|row| row.voice_id.as_str());
        let known: Vec<VoiceRow> = voices::table
            .filter(voices::provider.eq(V(provider)))
            .filter(voices::voice_id.eq_any(ids))
            .select(VoiceRow::as_select())
            .load(conn)
            .await?;
        let known: HashMap<&str, &VoiceRow> = known
            .iter()
            .map(|row| (row.voice_id.as_str(), row))
            .collect();
        let is_news = |row: &&VoiceRow| known.get(row.voice_id.as_str()) != Some(row);
        let news: Vec<&VoiceRow> = some.iter().filter(is_news).collect();
        if !news.is_empty() {
            dialect!(conn, write_voices(&news))?;
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

/// Moves a voice of the provider's shared library to its workspace; whether it was in the library.
pub(crate) async fn to_workspace(
    conn: &mut Conn,
    provider: VoiceProvider,
    voice_id: &str,
) -> Result<bool> {
    diesel::update(voices::table.find((V(provider), voice_id)))
        .filter(voices::source.eq(V(VoiceSource::Shared)))
        .set(voices::source.eq(V(VoiceSource::Workspace)))
        .changes(conn)
        .await
}

/// Tells every process that the voices are others now.
pub(crate) async fn renew_generation(conn: &mut Conn, value: &str) -> Result<()> {
    diesel::insert_into(settings::table)
        .values((settings::name.eq(GENERATION), settings::value.eq(value)))
        .on_conflict(settings::name)
        .do_update()
        .set(settings::value.eq(value))
        .run(conn)
        .await
}
