//! Integrations: the catalog, an account's connection to each toolkit, and their use.

mod calling;
mod connecting;
mod renewing;
mod tokens;

use offhook_boxed::boxed;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use offhook_domain::ports::Application;
use offhook_domain::{AccountId, IntegrationStatus, Timestamp};
use offhook_storage::Connection;

use crate::toolkits::TOOLKITS;
use crate::{Context, Page, Result, Toolkit};

pub(crate) use calling::Functions;
pub use connecting::{Begun, ConnectError, ConsentAnswer};
pub use renewing::Renewals;

/// A toolkit, and the account's connection to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Integration {
    pub toolkit: Toolkit,
    /// `available` if it was never connected.
    pub status: IntegrationStatus,
    /// When it was last connected.
    pub connected_at: Option<Timestamp>,
    /// The connection's error, if there is one.
    pub last_error: Option<String>,
    /// Whether this service is set up for it, so that a member can connect it in the portal.
    pub is_connectable: bool,
}

#[derive(Clone)]
pub struct Integrations(
    pub(crate) Arc<Context>,
    /// The applications that accounts can connect, if this service is set up for any.
    pub(crate) Arc<OnceLock<Vec<Arc<dyn Application>>>>,
);

#[boxed]
impl Integrations {
    /// Lists the whole catalog in the order of its keys, after the key `after`.
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
                is_connectable: self.application(toolkit.toolkit).is_some(),
            };
            if let Some(connection) = connection {
                integration.status = connection.status;
                integration.connected_at = connection.connected_at;
                integration.last_error = connection.last_error;
            }
            // An active connection stays active while it is being reconnected.
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

    /// The toolkits that are waiting for a member's consent.
    async fn connecting(&self, account: AccountId) -> Result<HashSet<String>> {
        if self.1.get().is_none_or(Vec::is_empty) {
            return Ok(HashSet::new());
        }
        let now = self.0.clock.now();
        let asked_for = self.0.store.consents_asked_for(account, now).await?;
        Ok(asked_for.into_iter().collect())
    }

    /// The worker that renews unused tokens.
    pub fn renewals(&self) -> Renewals {
        Renewals(self.clone())
    }
}

impl Integrations {
    /// The application of a toolkit, if this service is set up for it.
    pub(crate) fn application(&self, toolkit: &str) -> Option<Arc<dyn Application>> {
        let applications = self.1.get()?;
        let found = applications
            .iter()
            .find(|application| application.toolkit() == toolkit);
        found.cloned()
    }
}
