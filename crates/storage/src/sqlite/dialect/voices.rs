//! Writing voices, for SQLite, where a statement costs microseconds.

use crate::prelude::*;

/// Writes voices, and replaces those with the same provider and id.
pub(crate) async fn write_voices(conn: &mut Conn, rows: &[&Voice]) -> Result<()> {
    for row in rows {
        let said = (
            voices::name.eq(&row.name),
            voices::gender.eq(row.gender.map(V)),
            voices::age.eq(&row.age),
            voices::accent.eq(&row.accent),
            voices::language.eq(&row.language),
            voices::languages.eq(V(json(&row.languages))),
            voices::locales.eq(V(json(&row.locales))),
            voices::description.eq(&row.description),
            voices::use_case.eq(&row.use_case),
            voices::preview_url.eq(&row.preview_url),
            voices::model_compat.eq(V(json(&row.model_compat))),
            voices::source.eq(V(row.source)),
            voices::owner_id.eq(&row.owner_id),
        );
        diesel::insert_into(voices::table)
            .values((row! { voices of row: provider, voice_id }, said.clone()))
            .on_conflict((voices::provider, voices::voice_id))
            .do_update()
            .set(said)
            .execute(conn)
            .await?;
    }
    Ok(())
}
