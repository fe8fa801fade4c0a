//! What accounts have set for themselves.

use crate::prelude::*;

impl Store {
    /// Sets the time zone in which an account's times are shown.
    pub fn set_time_zone(&self, account: AccountId, zone: String) -> Answer<'_, ()> {
        keep!(self, |conn| {
            diesel::insert_into(account_settings::table)
                .values(row! { account_settings: account_id = account, time_zone = zone.clone() })
                .on_conflict(account_settings::account_id)
                .do_update()
                .set(row! { account_settings: time_zone = zone })
                .run(conn)
                .await
        })
    }
}
