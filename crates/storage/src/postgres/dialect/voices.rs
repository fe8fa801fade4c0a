//! Writing voices, for PostgreSQL: many in one statement, because each statement costs a round trip.

use super::column;
use crate::prelude::*;

/// Writes voices, and replaces those with the same provider and id. Each may occur once.
pub(crate) async fn write_voices(conn: &mut Conn, rows: &[&Voice]) -> Result<()> {
    diesel::sql_query(
        "INSERT INTO voices (provider, voice_id, name, gender, age, accent, language, languages, locales, \
           description, use_case, preview_url, model_compat, source, owner_id) \
         SELECT r.provider, r.voice_id, r.name, r.gender, r.age, r.accent, r.language, r.languages::json, \
           r.locales::json, r.description, r.use_case, r.preview_url, r.model_compat::json, r.source, r.owner_id \
         FROM UNNEST($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) \
           AS r(provider, voice_id, name, gender, age, accent, language, languages, locales, description, use_case, \
           preview_url, model_compat, source, owner_id) \
         ON CONFLICT (provider, voice_id) DO UPDATE SET \
           name = EXCLUDED.name, gender = EXCLUDED.gender, age = EXCLUDED.age, accent = EXCLUDED.accent, \
           language = EXCLUDED.language, languages = EXCLUDED.languages, locales = EXCLUDED.locales, \
           description = EXCLUDED.description, use_case = EXCLUDED.use_case, preview_url = EXCLUDED.preview_url, \
           model_compat = EXCLUDED.model_compat, source = EXCLUDED.source, owner_id = EXCLUDED.owner_id",
    )
    .bind::<Array<sql::Word>, _>(column(rows, |row| row.provider))
    .bind::<Array<Text>, _>(column(rows, |row| row.voice_id.as_str()))
    .bind::<Array<Text>, _>(column(rows, |row| row.name.as_str()))
    .bind::<Array<Nullable<sql::Word>>, _>(column(rows, |row| row.gender))
    .bind::<Array<Nullable<Text>>, _>(column(rows, |row| row.age.as_deref()))
    .bind::<Array<Nullable<Text>>, _>(column(rows, |row| row.accent.as_deref()))
    .bind::<Array<Nullable<Text>>, _>(column(rows, |row| row.language.as_deref()))
    .bind::<Array<Text>, _>(column(rows, |row| json(&row.languages)))
    .bind::<Array<Text>, _>(column(rows, |row| json(&row.locales)))
    .bind::<Array<Nullable<Text>>, _>(column(rows, |row| row.description.as_deref()))
    .bind::<Array<Nullable<Text>>, _>(column(rows, |row| row.use_case.as_deref()))
    .bind::<Array<Nullable<Text>>, _>(column(rows, |row| row.preview_url.as_deref()))
    .bind::<Array<Text>, _>(column(rows, |row| json(&row.model_compat)))
    .bind::<Array<sql::Word>, _>(column(rows, |row| row.source))
    .bind::<Array<Nullable<Text>>, _>(column(rows, |row| row.owner_id.as_deref()))
    .run(conn)
.await
}
