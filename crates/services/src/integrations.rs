//! Integrations: the catalog, how an account stands to each of its toolkits, and their connecting and use.

mod calling;
mod connecting;
mod renewing;
mod tokens;

use offhook_boxed::boxed;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use offhook_domain::{AccountId, IntegrationStatus, Timestamp};
use offhook_engine::ports::Application;
use offhook_storage::Connection;

use crate::toolkits::TOOLKITS;
use crate::{Page, Result, Shared, Toolkit};

pub(crate) use calling::Functions;
pub use connecting::{Begun, ConnectError, ConsentAnswer};
pub use renewing::Renewals;

/// A toolkit, and how an account stands to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Integration {
    /// What is offered.
    pub toolkit: Toolkit,
    /// `available` if it was never connected.
    pub status: IntegrationStatus,
    /// When it was last connected.
    pub connected_at: Option<Timestamp>,
    /// What is wrong, where something is.
    pub last_error: Option<String>,
    /// Whether a member can connect it in the portal: this service is set up for it.
    pub is_connectable: bool,
}

/// Integrations.
#[derive(Clone)]
pub struct Integrations(pub(crate) Arc<Shared>);

#[boxed]
impl Integrations {
    /// A page of the whole catalog in the order of its keys, behind the key `after`.
    ///
    /// # Errors
    /// [`StoreError`] if the store fails.
    pub async fn list(
        &self,
        account: AccountId,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Page<Integration>> {
        let connections = self.0.store.connections(account).await?;
        let connecting = self.connecting(account).await?;
        let mut of_toolkit: HashMap<String, Connection> = connections
            .into_iter()
            .map(|connection| (connection.toolkit.clone(), connection))
            .collect();
        let one_more = usize::try_from(limit)
            .unwrap_or(usize::MAX)
            .saturating_add(1);
        let rows = TOOLKITS
            .into_iter()
            .filter(|toolkit| after.is_none_or(|after| after < toolkit.toolkit))
            .take(one_more);
        let rows = rows.map(|toolkit| {
            let connection = of_toolkit.remove(toolkit.toolkit);
            let mut integration = Integration {
                toolkit,
                status: IntegrationStatus::Available,
                connected_at: None,
                last_error: None,
                is_connectable: self.0.application(toolkit.toolkit).is_some(),
            };
            if let Some(connection) = connection {
                integration.status = connection.status;
                integration.connected_at = connection.connected_at;
                integration.last_error = connection.last_error;
            }
            // What works goes on working while it is connected anew.
            if integration.status != IntegrationStatus::Active
                && connecting.contains(toolkit.toolkit)
            {
                integration.status = IntegrationStatus::Connecting;
                integration.last_error = None;
            }
            integration
        });
        Ok(Page::of(rows.collect(), limit))
    }

    /// The toolkits to which a member is being asked for their consent.
    async fn connecting(&self, account: AccountId) -> Result<HashSet<String>> {
        if self.0.applications.get().is_none_or(Vec::is_empty) {
            return Ok(HashSet::new());
        }
        let now = self.0.clock.now();
        let asked_for = self.0.store.consents_asked_for(account, now).await?;
        Ok(asked_for.into_iter().collect())
    }

    /// The worker that renews what nobody uses.
    pub fn renewals(&self) -> Renewals {
        Renewals(self.0.clone())
    }
}

impl Shared {
    /// The application behind a toolkit, if this service is set up for it.
    pub(crate) fn application(&self, toolkit: &str) -> Option<Arc<dyn Application>> {
        let applications = self.applications.get()?;
        let found = applications
            .iter()
            .find(|application| application.toolkit() == toolkit);
        found.cloned()
    }
}
