//! The master key of a database, and its exchange for another one.
//!
//! A key with earlier ones opens whatever any of them has sealed, and seals by the first. So an exchange is: give both,
//! the new one first; seal every secret anew; take the old one away. What each secret is sealed with is found out by
//! opening it, so an exchange that was cut short goes on wherever it was.

use async_recursion::async_recursion as boxed;
use offhook_domain::{EventId, Timestamp};
use offhook_failpoints as failpoints;
use uuid::Uuid;

use super::{Answer, keep, mint, read, write};
use crate::dialect::dialect;
use crate::queries;
use crate::{Result, SealedColumn, Store, StoreError, Verdict};

/// The fingerprint of the key that secrets are sealed with.
const CURRENT: &str = "master_key_fingerprint";

/// While secrets may be sealed with the next key already: its fingerprint.
const NEXT: &str = "master_key_next";

/// Rows whose secrets are sealed anew in one transaction, so that other writes wait for it only a moment.
const BATCH: i64 = 100;

/// What an exchange of the master key has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rekeyed {
    /// Secrets that were sealed anew.
    pub secrets: usize,
    /// Whether the database had another key before.
    pub is_new: bool,
}

impl Store {
    /// That the given keys open this database's secrets. Where the first of them is not the database's own, the database
    /// remembers that it may be in use.
    pub(super) async fn check_master_key(&self) -> Result<()> {
        let key = self.master_key.clone();
        let refused = write!(self, |conn| {
            let mine = key.fingerprint();
            let current = queries::nodes::settle_setting(conn, CURRENT, mine).await?;
            let next = queries::sealed::setting(conn, NEXT).await?;
            if let Some(next) = next.filter(|next| !key.knows(next)) {
                return Ok(Verdict::Rollback(Some(format!(
                    "an exchange of this database's master key for another one (fingerprint {next}) has begun, and some \
                     secrets are sealed with that: give that key first and the old one behind it, and run `offhook rekey`"
                ))));
            }
            if !key.knows(&current) {
                return Ok(Verdict::Rollback(Some(format!(
                    "this database's secrets are sealed with another master key (fingerprint {current}, the given one has \
                     {mine}): give the key that the service was first started with"
                ))));
            }
            if current != mine {
                queries::sealed::set_setting(conn, NEXT, Some(mine)).await?;
            }
            Ok(Verdict::Commit(None))
        }).await?;
        match refused {
            None => Ok(()),
            Some(sentence) => Err(StoreError::Internal(sentence)),
        }
    }

    /// Seals every secret with the first of the given keys, in short transactions; the database has that key then. What
    /// was sealed with it already stays as it is, so that this can be cut short and begun again.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if a secret opens with none
    /// of the keys.
    #[boxed]
    pub async fn rekey(&self, at: Timestamp) -> Result<Rekeyed> {
        let mut secrets = 0;
        // What a process that still has the other order of keys sealed meanwhile is found by the next pass.
        loop {
            let mut sealed = 0;
            for column in SealedColumn::ALL {
                sealed += self.rekey_column(column).await?;
            }
            secrets += sealed;
            if sealed == 0 {
                break;
            }
        }
        failpoints::hit(failpoints::REKEY_BEFORE_END);
        let mine = self.master_key.fingerprint().to_owned();
        let is_new = keep!(self, |conn| {
            let current = queries::sealed::setting(conn, CURRENT).await?;
            let is_new = current.as_deref() != Some(&mine);
            queries::sealed::set_setting(conn, NEXT, None).await?;
            if is_new {
                queries::sealed::set_setting(conn, CURRENT, Some(&mine)).await?;
                let id: EventId = mint(at);
                let words = ("cli", "rekey", mine.as_str());
                queries::accounts::audit(conn, id.uuid(), None, words, at).await?;
            }
            Ok(is_new)
        })
        .await?;
        Ok(Rekeyed { secrets, is_new })
    }

    async fn rekey_column(&self, column: SealedColumn) -> Result<usize> {
        let (mut after, mut count) = (Uuid::nil(), 0);
        loop {
            let key = self.master_key.clone();
            let step = write!(self, |conn| {
                let page = queries::sealed::page(conn, column, after, BATCH).await?;
                let Some((last, _)) = page.last() else {
                    return Ok(Verdict::Rollback(None));
                };
                let (last, mut changed) = (*last, 0);
                for (row, old) in page {
                    let anew = key.reseal(&old, &row).map_err(|_| {
                        StoreError::corrupt(format!(
                            "a secret in {} opens with none of the given master keys",
                            column.name()
                        ))
                    })?;
                    if let Some(new) = anew {
                        changed += queries::sealed::replace(conn, column, row, (old, new)).await?;
                    }
                }
                Ok(Verdict::Commit(Some((last, changed))))
            })
            .await?;
            let Some((last, changed)) = step else {
                return Ok(count);
            };
            failpoints::hit(failpoints::REKEY_AFTER_BATCH);
            (after, count) = (last, count + changed);
        }
    }

    /// How many processes serve this database, by their leases.
    pub fn living_nodes(&self, now: Timestamp) -> Answer<'_, i64> {
        let offset = self.offset();
        read!(self, |conn| {
            let now = dialect!(conn, key_clock(now, offset))?;
            queries::nodes::living(conn, now).await
        })
    }
}
