//! Functions of connected applications, at work for a conversation.

use std::sync::Arc;
use std::time::Duration;

use offhook_domain::{AccountId, ConversationId, IntegrationStatus, Timestamp};
use offhook_engine::ports::{FunctionCall, FunctionError};
use offhook_storage::{HeldTokens, StoreError};
use serde_json::{Map, Value};
use tokio::time::{Instant, timeout, timeout_at};

use super::connecting::TIMEOUT_MS;
use super::renewing::{Renewed, renew_now};
use super::tokens::Tokens;
use crate::{Shared, Toolkits};

/// Characters of an answer that a model is told.
const TOLD_CHARS: usize = 8_000;

/// What is left of a call's time when waiting for a renewal ends: nothing was done by then, and that can be said.
const AFTER_RENEWAL: Duration = Duration::from_millis(500);

/// How long tokens that were refused though they were new are tried without renewing them once more.
const REFUSED_FOR: Duration = Duration::from_secs(900);

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
        let renew_by = Instant::now() + limit.saturating_sub(AFTER_RENEWAL);
        let told = match timeout(limit, self.ask(function, arguments, renew_by)).await {
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

    async fn ask(
        &self,
        function: &str,
        arguments: &Map<String, Value>,
        renew_by: Instant,
    ) -> Result<String, Trouble> {
        let shared = &self.shared;
        let not_set_up = || Trouble::said("The integration is not set up here any more.");
        let (toolkit, function) = function.split_once('.').ok_or_else(not_set_up)?;
        let application = shared.application(toolkit).ok_or_else(not_set_up)?;
        let found = shared.store.integration(self.account, toolkit.to_owned());
        let (connection, held) = found.await?;
        let status = connection.map(|connection| connection.status);
        let held = held.filter(|held| match status {
            Some(IntegrationStatus::Active) => true,
            // Until one call gets in, each is tried, and a renewal that failed may succeed now. Any other error is the
            // operator's word.
            Some(IntegrationStatus::Error) => held.refused_at.is_some() || held.tries > 0,
            _ => false,
        });
        let mut has_error = status == Some(IntegrationStatus::Error);
        let mut held = held.ok_or_else(|| {
            Trouble::said("The application is not connected: say that this cannot be done now.")
        })?;
        let arguments = Value::Object(arguments.clone()).to_string();
        let now = shared.clock.now();
        let call = FunctionCall {
            function,
            access_token: "",
            arguments: &arguments,
            conversation: self.conversation,
            now,
        };
        let mut answer = Err(FunctionError::Unauthorized);
        if held.lapses_at.is_none_or(|lapses_at| now < lapses_at) {
            let tokens = Tokens::read(&held.secret)?;
            answer = application.call(call.with(&tokens.access_token)).await;
        }
        let may_renew = |refused_at: Timestamp| refused_at.plus(REFUSED_FOR) <= now;
        if answer == Err(FunctionError::Unauthorized) && held.refused_at.is_none_or(may_renew) {
            // Lapsed, or taken no more before its time: nothing was done.
            let renewed = timeout_at(renew_by, renew_now(shared, &held)).await;
            let tokens = match renewed.unwrap_or(Ok(Renewed::NotNow))? {
                Renewed::Granted(tokens) => tokens,
                Renewed::NotNow => {
                    return Err(Trouble::said(
                        "The application could not be reached for new access, and nothing was done: say that this cannot \
                         be done now.",
                    ));
                }
                Renewed::Never => {
                    return Err(Trouble::said(
                        "The application does not let the service in any more, and nothing was done: say that this cannot \
                         be done now.",
                    ));
                }
            };
            answer = application.call(call.with(&tokens.access_token)).await;
            held.secret = tokens.to_text();
            // One that a renewal can end, it has ended.
            has_error = false;
            if answer == Err(FunctionError::Unauthorized) {
                self.judge(held.clone(), Some(refused(toolkit, &shared.toolkits)));
            }
        }
        if answer.is_ok() && (has_error || held.refused_at.is_some()) {
            self.judge(held, None);
        }
        answer.map_err(|error| match error {
            FunctionError::Said(said) => Trouble::Said(said),
            FunctionError::Unauthorized => Trouble::said(
                "The application does not let the service in, and nothing was done: say that this cannot be done now.",
            ),
        })
    }

    /// Writes down what a call with these tokens has shown: why they are refused, or that they are not any more. The model
    /// does not wait for it.
    fn judge(&self, held: HeldTokens, refused: Option<String>) {
        let shared = self.shared.clone();
        tokio::spawn(async move {
            let (account, at) = (held.account_id, shared.clock.now());
            if let Err(error) = shared.store.judge_tokens(held, refused, at).await {
                tracing::warn!(%account, %error, "how an integration stands was not written down");
            }
        });
    }
}

/// What is wrong with a connection whose application refuses what it has just granted.
fn refused(toolkit: &str, toolkits: &Toolkits) -> String {
    let name = toolkits.find(toolkit);
    let name = name.map_or(toolkit, |toolkit| toolkit.name.as_str());
    format!(
        "{name} takes no authorization of this service, not even a new one (HTTP status 401): look there what it may do, \
         and connect it again"
    )
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
