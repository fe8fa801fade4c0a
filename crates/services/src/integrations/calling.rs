//! Functions of connected applications, at work for a conversation.

use std::sync::Arc;
use std::time::Duration;

use offhook_domain::{AccountId, ConversationId, IntegrationStatus};
use offhook_engine::ports::{FunctionCall, FunctionError};
use offhook_storage::{HeldTokens, StoreError};
use serde_json::{Map, Value};
use tokio::time::timeout;

use super::connecting::TIMEOUT_MS;
use super::renewing::renew_now;
use super::tokens::Tokens;
use crate::Shared;

/// Characters of an answer that a model is told.
const TOLD_CHARS: usize = 8_000;

/// What an account's connected applications do for the agent of a conversation.
#[derive(Clone)]
pub(crate) struct Functions {
    shared: Arc<Shared>,
    account: AccountId,
    conversation: ConversationId,
}

impl Functions {
    pub(crate) const fn new(
        shared: Arc<Shared>,
        account: AccountId,
        conversation: ConversationId,
    ) -> Self {
        Self {
            shared,
            account,
            conversation,
        }
    }

    /// Has an application do what `<toolkit>.<function>` is for; what the model is told, whatever came of it. Nothing that
    /// may have had an effect is tried again.
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
        let (status, now) = (
            connection.map(|connection| connection.status),
            shared.clock.now(),
        );
        // The access token, as long as it lasts: in an error it may be what the application does not take.
        let is_good = |held: &HeldTokens| held.lapses_at.is_none_or(|lapses_at| now < lapses_at);
        let held = held.filter(|held| match status {
            Some(IntegrationStatus::Active) => true,
            Some(IntegrationStatus::Error) => is_good(held),
            _ => false,
        });
        let held = held.ok_or_else(|| {
            Trouble::said("The application is not connected: say that this cannot be done now.")
        })?;
        let arguments = Value::Object(arguments.clone()).to_string();
        let call = FunctionCall {
            function,
            access_token: "",
            arguments: &arguments,
            conversation: self.conversation,
            now,
        };
        let mut answer = Err(FunctionError::Unauthorized);
        if is_good(&held) {
            let tokens = Tokens::read(&held.secret)?;
            answer = application.call(call.with(&tokens.access_token)).await;
        }
        if status == Some(IntegrationStatus::Error) {
            // Its tokens were new when it began, and are renewed by the clock.
            if answer.is_ok() {
                self.judge(held, None).await;
            }
        } else if answer == Err(FunctionError::Unauthorized) {
            // Lapsed, or taken no more before its time: nothing was done.
            let tokens = renew_now(shared, &held).await?.ok_or_else(|| {
                Trouble::said(
                    "The application does not let the service in any more, and nothing was done: say that this cannot be \
                     done now.",
                )
            })?;
            answer = application.call(call.with(&tokens.access_token)).await;
            if answer == Err(FunctionError::Unauthorized) {
                let secret = tokens.to_text();
                let name = shared.toolkits.find(toolkit);
                let name = name.map_or(toolkit, |toolkit| toolkit.name.as_str());
                let said = format!(
                    "{name} takes no authorization of this service, not even a new one (HTTP status 401): look there \
                     what it may do, and connect it again"
                );
                self.judge(HeldTokens { secret, ..held }, Some(said)).await;
            }
        }
        answer.map_err(|error| match error {
            FunctionError::Said(said) => Trouble::Said(said),
            FunctionError::Unauthorized => Trouble::said(
                "The application does not let the service in, and nothing was done: say that this cannot be done now.",
            ),
        })
    }

    /// Says of the connection what a call with these tokens has shown: why they are not taken, or that they are.
    async fn judge(&self, held: HeldTokens, error: Option<String>) {
        let store = &self.shared.store;
        let judged = store.judge_tokens(held, error, self.shared.clock.now());
        // What the application answered is so, whether it could be written down or not.
        if let Err(error) = judged.await {
            tracing::warn!(account = %self.account, %error, "how an integration stands was not written down");
        }
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
