//! Who makes out the invoices.

use crate::prelude::*;

/// The operator as the seller, and the tax in its prices.
#[derive(Debug, Clone, PartialEq)]
pub struct Seller {
    pub name: String,
    /// The lines of its address.
    pub address: Vec<String>,
    pub tax_id: Option<String>,
    /// What the tax is called.
    pub tax_name: String,
    /// The tax that every price contains, in percent; `None` without one.
    pub tax_percent: Option<f64>,
    /// Days to pay an invoice.
    pub due_days: u32,
}

impl Seller {
    /// The tax that an amount contains.
    pub(super) fn tax_in(&self, cents: i64) -> Option<i64> {
        let percent = self.tax_percent?;
        let net = cents as f64 / (1.0 + percent / 100.0);
        Some(cents - net.round() as i64)
    }

    pub(super) fn due(&self, issued: Timestamp) -> Timestamp {
        issued.plus(Duration::from_secs(u64::from(self.due_days) * 86_400))
    }
}
