//! Voices: all at once, as processes keep them in memory.

use std::collections::HashMap;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use offhook_domain::{VoiceProvider, VoiceSource};

use super::super::Conn;
use crate::schema::{service_settings as settings, voices};
use crate::sql::V;
use crate::{StoreError, VoiceChanges, VoiceRow};

/// The setting that is another one after each change of the voices.
const GENERATION: &str = "voices_generation";

pub(crate) async fn generation(conn: &mut Conn) -> Result<Option<String>, StoreError> {
    Ok(settings::table
        .find(GENERATION)
        .select(settings::value)
        .first(conn)
        .await
        .optional()?)
}

pub(crate) async fn all(conn: &mut Conn) -> Result<Vec<VoiceRow>, StoreError> {
    Ok(voices::table
        .order((voices::provider, voices::voice_id))
        .select(VoiceRow::as_select())
        .load(conn)
        .await?)
}

/// Makes the provider's voices `rows`; what stays as it is, is not written.
pub(crate) async fn replace(
    conn: &mut Conn,
    provider: VoiceProvider,
    rows: &[VoiceRow],
) -> Result<VoiceChanges, StoreError> {
    let known: Vec<VoiceRow> = voices::table
        .filter(voices::provider.eq(V(provider)))
        .select(VoiceRow::as_select())
        .load(conn)
        .await?;
    let mut known: HashMap<String, VoiceRow> = known
        .into_iter()
        .map(|row| (row.voice_id.clone(), row))
        .collect();
    let mut changes = VoiceChanges::default();
    for row in rows {
        if known.remove(&row.voice_id).as_ref() != Some(row) {
            write(conn, row).await?;
            changes.written += 1;
        }
    }
    changes.deleted = known.len();
    for voice_id in known.into_keys() {
        diesel::delete(voices::table.find((V(provider), voice_id)))
            .execute(conn)
            .await?;
    }
    Ok(changes)
}

async fn write(conn: &mut Conn, row: &VoiceRow) -> Result<(), StoreError> {
    let said = (
        voices::name.eq(&row.name),
        voices::gender.eq(row.gender.map(V)),
        voices::age.eq(&row.age),
        voices::accent.eq(&row.accent),
        voices::language.eq(&row.language),
        voices::languages.eq(V(row.languages.clone())),
        voices::locales.eq(V(row.locales.clone())),
        voices::description.eq(&row.description),
        voices::use_case.eq(&row.use_case),
        voices::preview_url.eq(&row.preview_url),
        voices::model_compat.eq(V(row.model_compat.clone())),
        voices::source.eq(V(row.source)),
        voices::owner_id.eq(&row.owner_id),
    );
    let there = diesel::update(voices::table.find((V(row.provider), &row.voice_id)))
        .set(said.clone())
        .execute(conn)
        .await?;
    if there == 0 {
        diesel::insert_into(voices::table)
            .values((
                voices::provider.eq(V(row.provider)),
                voices::voice_id.eq(&row.voice_id),
                said,
            ))
            .execute(conn)
            .await?;
    }
    Ok(())
}

/// Moves a voice of the provider's shared library to its workspace; whether it was in the library.
pub(crate) async fn to_workspace(
    conn: &mut Conn,
    provider: VoiceProvider,
    voice_id: &str,
) -> Result<bool, StoreError> {
    let moved = diesel::update(voices::table.find((V(provider), voice_id)))
        .filter(voices::source.eq(V(VoiceSource::Shared)))
        .set(voices::source.eq(V(VoiceSource::Workspace)))
        .execute(conn)
        .await?;
    Ok(moved > 0)
}

/// Tells every process that the voices are others now.
pub(crate) async fn renew_generation(conn: &mut Conn, value: &str) -> Result<(), StoreError> {
    diesel::insert_into(settings::table)
        .values((settings::name.eq(GENERATION), settings::value.eq(value)))
        .on_conflict(settings::name)
        .do_update()
        .set(settings::value.eq(value))
        .execute(conn)
        .await?;
    Ok(())
}
