/// The row with this id, if it is the account's.
macro_rules! own {
    ($table:ident, $account:expr, $id:expr) => {
        $table::table
            .filter($table::id.eq($crate::sql::V($id)))
            .filter($table::account_id.eq($crate::sql::V($account)))
    };
}

pub(crate) use own;
