//! The master key of a database, and its rotation.
//!
//! A key with earlier keys opens what any of them has sealed, and seals with the first. So a rotation is: give both,
//! the new one first; reseal every secret; remove the old one. Opening a secret shows which key has sealed it, so an
//! interrupted rotation continues where it stopped.

use super::{nodes, people::audit};
use crate::prelude::*;
use uuid::Uuid;

/// The fingerprint of the key that secrets are sealed with.
const CURRENT: &str = "master_key_fingerprint";

/// The fingerprint of the next key, while secrets may already be sealed with it.
const NEXT: &str = "master_key_next";

/// Rows whose secrets are resealed per transaction, so that other writes wait only a moment.
const BATCH: i64 = 100;

/// The result of a rotation of the master key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rekeyed {
    /// Secrets that were resealed.
    pub secrets: usize,
    /// Whether the database had another key before.
    pub is_new: bool,
}

/// A secret and its owner, which may have several.
#[derive(QueryableByName)]
struct Secret {
    // Of any kind: ids of all kinds are stored alike.
    #[diesel(sql_type = sql::Uuid)]
    owner: EventId,
    #[diesel(sql_type = Binary)]
    sealed: Vec<u8>,
}

/// Reseals the secrets of the next owners after `after`. Returns the last owner and how many secrets changed, or `None`
/// at the end.
async fn seal_anew(
    conn: &mut Conn,
    key: &MasterKey,
    column: SealedColumn,
    after: EventId,
) -> Result<Option<(EventId, usize)>> {
    let (table, owner, secret) = (column.table, column.owner, column.secret);
    let page: Vec<Secret> = diesel::sql_query(format!(
        "SELECT {owner} AS owner, {secret} AS sealed FROM {table} WHERE {secret} IS NOT NULL AND {owner} IN \
           (SELECT DISTINCT {owner} FROM {table} WHERE {owner} > $1 AND {secret} IS NOT NULL ORDER BY {owner} LIMIT $2) \
         ORDER BY {owner}"
    ))
    .bind::<sql::Uuid, _>(V(after))
    .bind::<BigInt, _>(BATCH)
    .load(conn)
    .await?;
    let last = some_or!(page.last().map(|secret| secret.owner), None);
    let mut changed = 0;
    for old in page {
        let anew = key.reseal(&old.sealed, &old.owner.uuid()).map_err(|_| {
            StoreError::corrupt(format!(
                "a secret in {} opens with none of the given master keys",
                column.name()
            ))
        })?;
        if let Some(new) = anew {
            // Unless the secret has changed meanwhile.
            changed += diesel::sql_query(format!(
                "UPDATE {table} SET {secret} = $1 WHERE {owner} = $2 AND {secret} = $3"
            ))
            .bind::<Binary, _>(new)
            .bind::<sql::Uuid, _>(V(old.owner))
            .bind::<Binary, _>(old.sealed)
            .execute(conn)
            .await?;
        }
    }
    Ok(Some((last, changed)))
}

/// Sets a setting, even if it exists.
pub(super) async fn set_setting(conn: &mut Conn, name: &str, value: &str) -> Result<()> {
    diesel::insert_into(settings::table)
        .values((settings::name.eq(name), settings::value.eq(value)))
        .on_conflict(settings::name)
        .do_update()
        .set(settings::value.eq(value))
        .run(conn)
        .await
}

#[boxed]
impl Store {
    /// Checks that the given keys open this database's secrets. If the first is not the database's own, records that it
    /// may be in use.
    pub(crate) async fn check_master_key(&self) -> Result<()> {
        let key = self.master_key.clone();
        let refused = transact!(self, |conn| {
            let mine = key.fingerprint();
            let current = nodes::settle_setting(conn, CURRENT, mine).await?;
            let next = nodes::setting(conn, NEXT).await?;
            if let Some(next) = next.filter(|next| !key.knows(next)) {
                return Ok(Rollback(Some(format!(
                    "an exchange of this database's master key for another one (fingerprint {next}) has begun, and some \
                     secrets are sealed with that: give that key first and the old one behind it, and run `offhook rekey`"
                ))));
            }
            if !key.knows(&current) {
                return Ok(Rollback(Some(format!(
                    "this database's secrets are sealed with another master key (fingerprint {current}, the given one has \
                     {mine}): give the key that the service was first started with"
                ))));
            }
            if current != mine {
                set_setting(conn, NEXT, mine).await?;
            }
            Ok(Commit(None))
        }).await?;
        match refused {
            None => Ok(()),
            Some(sentence) => Err(StoreError::Internal(sentence)),
        }
    }

    /// Reseals every secret with the first of the given keys, in short transactions. Then the database has that key.
    /// Secrets sealed with it already stay as they are, so this can be interrupted and repeated.
    /// [`StoreError::Corrupt`] if none of the keys opens a secret.
    pub async fn rekey(&self, at: Timestamp) -> Result<Rekeyed> {
        let mut secrets = 0;
        // The next pass finds what a process with the old order of keys has sealed meanwhile.
        loop {
            let mut sealed = 0;
            for column in SealedColumn::ALL {
                let mut after = EventId::from_uuid(Uuid::nil());
                loop {
                    let key = self.master_key.clone();
                    let step = transact!(self, |conn| {
                        let step = seal_anew(conn, &key, column, after).await?;
                        Ok(Verdict::keep_if(step.is_some(), step))
                    });
                    let Some((last, changed)) = step.await? else {
                        break;
                    };
                    failpoints::hit(failpoints::REKEY_AFTER_BATCH);
                    (after, sealed) = (last, sealed + changed);
                }
            }
            secrets += sealed;
            if sealed == 0 {
                break;
            }
        }
        failpoints::hit(failpoints::REKEY_BEFORE_END);
        let mine = self.master_key.fingerprint().to_owned();
        let is_new = keep!(self, |conn| {
            let current = nodes::setting(conn, CURRENT).await?;
            let is_new = current.as_deref() != Some(&mine);
            delete(conn, settings::table.find(NEXT)).await?;
            if is_new {
                set_setting(conn, CURRENT, &mine).await?;
                audit(conn, None, (Actor::Operator, "rekey", mine), at).await?;
            }
            Ok(is_new)
        })
        .await?;
        Ok(Rekeyed { secrets, is_new })
    }

    /// How many processes have a valid lease on this database.
    pub fn living_nodes(&self, now: Timestamp) -> Answer<'_, i64> {
        let offset = self.offset();
        read!(self, |conn| {
            let now = dialect!(conn, key_clock(now, offset))?;
            nodes::living(conn, now).await
        })
    }
}
