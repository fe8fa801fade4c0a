//! What accounts have set for themselves.

use crate::prelude::*;

/// Writes these columns of an account's row, which is made if there is none.
macro_rules! set {
    ($conn:ident, $account:ident: $($columns:tt)+) => {
        diesel::insert_into(account_settings::table)
            .values((account_settings::account_id.eq(V($account)), row! { account_settings: $($columns)+ }))
            .on_conflict(account_settings::account_id)
            .do_update()
            .set(row! { account_settings: $($columns)+ })
            .run($conn)
            .await
    };
}

impl Store {
    pub fn account_settings(&self, account: AccountId) -> Answer<'_, AccountSettings> {
        read!(self, |conn| {
            let found: Option<AccountSettings> = account_settings::table
                .find(V(account))
                .select(AccountSettings::as_select())
                .found(conn)
                .await?;
            Ok(found.unwrap_or_default())
        })
    }

    /// Sets the time zone in which an account's times are shown.
    pub fn set_time_zone(&self, account: AccountId, zone: String) -> Answer<'_, ()> {
        keep!(self, |conn| {
            set! { conn, account: time_zone = zone.clone() }
        })
    }

    /// Sets whether the shape of refused requests is kept; what was kept is deleted otherwise.
    pub fn set_keeps_error_bodies(&self, account: AccountId, keeps: bool) -> Answer<'_, ()> {
        keep!(self, |conn| {
            if !keeps {
                let kept =
                    request_log_bodies::table.filter(request_log_bodies::account_id.eq(V(account)));
                delete(conn, kept).await?;
            }
            set! { conn, account: keeps_error_bodies = keeps }
        })
    }

    /// Sets when an account's members are warned.
    pub fn set_thresholds(&self, account: AccountId, thresholds: Thresholds) -> Answer<'_, ()> {
        keep!(self, |conn| {
            set! {
                conn, account: alert_credits = thresholds.spent, alert_credits_2 = thresholds.spent_2,
                alert_credits_3 = thresholds.spent_3, alert_balance = thresholds.balance
            }
        })
    }

    /// Sets to whom an account's invoices are made out.
    pub fn set_buyer(&self, account: AccountId, buyer: Buyer) -> Answer<'_, ()> {
        keep!(self, |conn| {
            set! {
                conn, account: invoice_name = buyer.name.clone(), invoice_address = buyer.address.clone(),
                invoice_tax_id = buyer.tax_id.clone()
            }
        })
    }
}
