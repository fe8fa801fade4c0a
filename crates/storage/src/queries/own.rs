/// The row with this id, if it is the account's.
macro_rules! own {
    ($table:ident, $account:expr, $id:expr) => {
        $table::table
            .filter($table::id.eq($crate::sql::V($id)))
            .filter($table::account_id.eq($crate::sql::V($account)))
    };
}

/// Whether a row has no owner, or one whose lease ended before `now`.
macro_rules! is_unclaimed {
    ($table:ident, $now:expr) => {
        $table::claim_id
            .is_null()
            .or($table::lease_expires_at.lt($crate::sql::V($now)))
    };
}

/// Claims up to `most` rows whose `look_at` has come. Each belongs to the caller for `lease`.
macro_rules! claim_due {
    ($store:expr, $table:ident as $id:ty, $most:expr, $lease:expr, $now:expr) => {
        transact!($store, |conn| {
            let due: Vec<$id> = $table::table
                .filter($table::look_at.le(V($now)))
                .order($table::look_at)
                .limit($most)
                .select($table::id)
                .load(conn)
                .await?;
            let mut claimed: Vec<(AccountId, $id)> = Vec::with_capacity(due.len());
            for id in due {
                // Another node may have claimed it first; then it is no longer due.
                let one: Option<(AccountId, $id)> = diesel::update($table::table.find(V(id)))
                    .filter($table::look_at.le(V($now)))
                    .set($table::look_at.eq(V($now.plus($lease))))
                    .returning(($table::account_id, $table::id))
                    .returned(conn)
                    .await?;
                claimed.extend(one);
            }
            Ok(Verdict::keep_if(!claimed.is_empty(), claimed))
        })
    };
}
pub(crate) use {claim_due, is_unclaimed, own};
