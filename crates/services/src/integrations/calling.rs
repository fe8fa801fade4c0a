//! Functions of connected applications, at work for a conversation.

use std::sync::Arc;
use std::time::Duration;

use offhook_domain::{AccountId, IntegrationStatus};
use offhook_engine::ports::{Application, FunctionError};
use offhook_storage::{HeldTokens, StoreError};
use serde_json::{Map, Value};
use tokio::time::timeout;

use super::connecting::TIMEOUT_MS;
use super::renewing::renew_now;
use super::tokens::Tokens;
use crate::Shared;

/// Characters of an answer that a model is told.
const TOLD_CHARS: usize = 8_000;

/// What an account's connected applications do for the agents of its conversations.
#[derive(Clone)]
pub(crate) struct Functions {
    shared: Arc<Shared>,
    account: AccountId,
}

impl Functions {
    pub(crate) const fn new(shared: Arc<Shared>, account: AccountId) -> Self {
        Self { shared, account }
    }

    /// Has an application do what `<toolkit>.<function>` is for; what the model is told, whatever came of it. Nothing is
    /// tried twice: it may have had an effect.
    pub(crate) async fn call(&self, function: &str, arguments: &Map<String, Value>) -> String {
        let limit = Duration::from_millis(TIMEOUT_MS.unsigned_abs());
        let told = match timeout(limit, self.ask(function, arguments)).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(Trouble::Said(said))) => said,
            Ok(Err(Trouble::Store(error))) => {
                tracing::warn!(account = %self.account, %error, "an integration could not be looked up");
                "The integration cannot be used at the moment.".to_owned()
            }
            Err(_) => "The application did not answer in time: what was asked for may have been done, or not. Do not try \
                       again; say that somebody will look after it."
                .to_owned(),
        };
        match told.char_indices().nth(TOLD_CHARS) {
            Some((end, _)) => told[..end].to_owned(),
            None => told,
        }
    }

    async fn ask(&self, function: &str, arguments: &Map<String, Value>) -> Result<String, Trouble> {
        let shared = &self.shared;
        let not_set_up = || Trouble::said("The integration is not set up here any more.");
        let (toolkit, function) = function.split_once('.').ok_or_else(not_set_up)?;
        let application = shared.application(toolkit).ok_or_else(not_set_up)?;
        let found = shared.store.integration(self.account, toolkit.to_owned());
        let (connection, held) = found.await?;
        let is_active =
            connection.is_some_and(|connection| connection.status == IntegrationStatus::Active);
        let held = held.filter(|_| is_active).ok_or_else(|| {
            Trouble::said("The application is not connected: say that this cannot be done now.")
        })?;
        let token = self.token(&held).await?;
        self.answer(&*application, function, &token, (&held, arguments))
            .await
    }

    async fn answer(
        &self,
        application: &dyn Application,
        function: &str,
        token: &str,
        (held, arguments): (&HeldTokens, &Map<String, Value>),
    ) -> Result<String, Trouble> {
        let now = self.shared.clock.now();
        let arguments = Value::Object(arguments.clone()).to_string();
        match application.call(function, token, &arguments, now).await {
            Ok(answer) => Ok(answer),
            Err(FunctionError::Said(said)) => Err(Trouble::Said(said)),
            Err(FunctionError::Unauthorized) => {
                self.shared.store.hasten_tokens(held.id, now).await?;
                Err(Trouble::said(
                    "The application does not take the connection at the moment, and nothing was done: it is being \
                     renewed. Try once more in a while, or say that it cannot be done now.",
                ))
            }
        }
    }

    /// An access token that is good. One that has lapsed, because nobody could renew it, is renewed now.
    async fn token(&self, held: &HeldTokens) -> Result<String, Trouble> {
        let now = self.shared.clock.now();
        if held.lapses_at.is_none_or(|lapses_at| now < lapses_at) {
            return Ok(Tokens::read(&held.secret)?.access_token);
        }
        // Who waits for it may give up; the turn reaches its end.
        let (shared, held) = (self.shared.clone(), held.clone());
        let turn = tokio::spawn(async move { renew_now(&shared, &held).await });
        let renewed = turn.await;
        let renewed = renewed.map_err(|error| StoreError::Internal(error.to_string()))?;
        renewed?.map(|tokens| tokens.access_token).ok_or_else(|| {
            Trouble::said(
                "The connection to the application has lapsed, and nothing was done: say that this cannot be done now.",
            )
        })
    }
}

/// Why a function did not answer.
enum Trouble {
    /// For the model.
    Said(String),
    /// The store failed.
    Store(StoreError),
}

impl Trouble {
    fn said(text: &str) -> Self {
        Self::Said(text.to_owned())
    }
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}
