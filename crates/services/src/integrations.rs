//! Integrations: the catalog, how an account stands to each of its toolkits, and the connecting and use
//! of those that this service speaks to itself.

mod calling;
mod connecting;
mod renewing;
mod tokens;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use offhook_domain::{AccountId, IntegrationStatus, Timestamp};
use offhook_engine::ports::Application;
use offhook_storage::Connection;

use crate::error::InputError;
use crate::{Page, Result, Shared, Toolkit};

pub(crate) use calling::Functions;
pub use connecting::{Begun, ConnectError, ConsentAnswer};
pub use renewing::Renewals;

/// The longest description of an error, in characters.
const LONGEST_ERROR: usize = 500;

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
        let rows = self.0.toolkits.after(after).iter().take(one_more);
        let rows = rows.map(|toolkit| {
            let mut integration = integration(toolkit, of_toolkit.remove(&toolkit.toolkit));
            // What works goes on working while it is connected anew.
            if integration.status != IntegrationStatus::Active
                && connecting.contains(&toolkit.toolkit)
            {
                integration.status = IntegrationStatus::Connecting;
                integration.last_error = None;
            }
            integration.is_connectable = self.0.application(&toolkit.toolkit).is_some();
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

    /// The worker that renews tokens before they lapse.
    pub fn renewals(&self) -> Renewals {
        Renewals(self.0.clone())
    }

    /// Writes how an account stands to a toolkit: the operator's way.
    ///
    /// # Errors
    /// [`InputError::Invalid`] for an unknown account or toolkit, the status `available`, which is said of what
    /// was never connected, an error without the status `error` or `expired`, or the status `error` without one.
    pub async fn set(
        &self,
        account: AccountId,
        toolkit: &str,
        status: IntegrationStatus,
        error: Option<&str>,
    ) -> Result<Integration, InputError> {
        use IntegrationStatus::{Available, Error, Expired};
        let refused = |text: String| Err(InputError::Invalid(text));
        let Some(found) = self.0.toolkits.find(toolkit) else {
            return refused(format!(
                "--toolkit {toolkit}: the catalog has no such toolkit (GET /v1/integrations lists it)"
            ));
        };
        let error = error.map(str::trim).filter(|error| !error.is_empty());
        match (status, error) {
            (Available, _) => {
                return refused(
                    "--status available is said of what was never connected: say disconnected"
                        .to_owned(),
                );
            }
            (Error, None) => {
                return refused("--status error needs --error, what is wrong".to_owned());
            }
            (Error | Expired, _) | (_, None) => {}
            (_, Some(_)) => {
                return refused(format!(
                    "--error belongs to the statuses error and expired, not to {status}"
                ));
            }
        }
        if error.is_some_and(|error| error.chars().count() > LONGEST_ERROR) {
            return refused(format!(
                "--error must have at most {LONGEST_ERROR} characters"
            ));
        }
        if self.0.store.account(account).await?.is_none() {
            return refused(format!("--account {account}: no such account"));
        }
        let (key, error) = (found.toolkit.clone(), error.map(str::to_owned));
        let at = self.0.clock.now();
        let connection = self.0.store.set_connection(account, key, status, error, at);
        Ok(integration(found, Some(connection.await?)))
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

fn integration(toolkit: &Toolkit, connection: Option<Connection>) -> Integration {
    let toolkit = toolkit.clone();
    match connection {
        Some(connection) => Integration {
            toolkit,
            status: connection.status,
            connected_at: connection.connected_at,
            last_error: connection.last_error,
            is_connectable: false,
        },
        None => Integration {
            toolkit,
            status: IntegrationStatus::Available,
            connected_at: None,
            last_error: None,
            is_connectable: false,
        },
    }
}
