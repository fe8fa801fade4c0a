//! What accounts have set for themselves.

use crate::prelude::*;

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
            diesel::insert_into(account_settings::table)
                .values(row! { account_settings: account_id = account, time_zone = zone.clone() })
                .on_conflict(account_settings::account_id)
                .do_update()
                .set(row! { account_settings: time_zone = zone })
                .run(conn)
                .await
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
            diesel::insert_into(account_settings::table)
                .values(row! { account_settings: account_id = account, keeps_error_bodies = keeps })
                .on_conflict(account_settings::account_id)
                .do_update()
                .set(row! { account_settings: keeps_error_bodies = keeps })
                .run(conn)
                .await
        })
    }

    /// Sets when an account's members are warned.
    pub fn set_thresholds(&self, account: AccountId, thresholds: Thresholds) -> Answer<'_, ()> {
        keep!(self, |conn| {
            let set = || {
                let Thresholds {
                    spent,
                    spent_2,
                    spent_3,
                    balance,
                } = thresholds;
                row! {
                    account_settings: alert_credits = spent, alert_credits_2 = spent_2,
                    alert_credits_3 = spent_3, alert_balance = balance
                }
            };
            diesel::insert_into(account_settings::table)
                .values((account_settings::account_id.eq(V(account)), set()))
                .on_conflict(account_settings::account_id)
                .do_update()
                .set(set())
                .run(conn)
                .await
        })
    }

    /// Sets to whom an account's invoices are made out.
    pub fn set_buyer(&self, account: AccountId, buyer: Buyer) -> Answer<'_, ()> {
        keep!(self, |conn| {
            let set = || {
                let Buyer {
                    name,
                    address,
                    tax_id,
                } = buyer.clone();
                row! {
                    account_settings: invoice_name = name, invoice_address = address,
                    invoice_tax_id = tax_id
                }
            };
            diesel::insert_into(account_settings::table)
                .values((account_settings::account_id.eq(V(account)), set()))
                .on_conflict(account_settings::account_id)
                .do_update()
                .set(set())
                .run(conn)
                .await
        })
    }
}
