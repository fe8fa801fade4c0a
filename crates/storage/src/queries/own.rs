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
pub(crate) use {is_unclaimed, own};
