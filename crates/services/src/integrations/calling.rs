//! Runs functions of connected applications in a conversation.

use futures_util::FutureExt as _;
use std::time::Duration;

use offhook_domain::ports::{FunctionCall, FunctionError};
use offhook_domain::{
    AccountId, ConversationId, CredentialId, IntegrationFault, IntegrationStatus,
};
use serde_json::{Map, Value};
use tokio::time::{Instant, timeout, timeout_at};

use super::Integrations;
use super::connecting::TIMEOUT_MS;
use super::renewing::{Renewed, renew_now};
use crate::{Result, Toolkit};

/// Characters of a response that the model gets.
const TOLD_CHARS: usize = 8_000;

/// The part of a call's time that remains when waiting for a renewal ends. Nothing was done by then, and the model can
/// be told so.
const AFTER_RENEWAL: Duration = Duration::from_millis(500);

/// What a function tells the model: an error if it was not done.
type Answer = std::result::Result<String, String>;

/// The functions of an account's connected applications, for the agent of a conversation.
#[derive(Clone)]
pub(crate) struct Functions {
    integrations: Integrations,
    account: AccountId,
    conversation: ConversationId,
}

impl Functions {
    pub(crate) const fn new(
        integrations: Integrations,
        account: AccountId,
        conversation: ConversationId,
    ) -> Self {
        Self {
            integrations,
            account,
            conversation,
        }
    }

    /// Runs the application's function `<toolkit>.<function>`, and returns what the model is to read: an error if it was not done.
    /// Retries nothing that may have had an effect.
    pub(crate) async fn call(&self, function: &str, arguments: &Map<String, Value>) -> Answer {
        let limit = Duration::from_millis(TIMEOUT_MS.unsigned_abs());
        let renew_by = Instant::now() + limit.saturating_sub(AFTER_RENEWAL);
        let answer = match timeout(limit, self.ask(function, arguments, renew_by)).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => {
                tracing::warn!(account = %self.account, %error, "an integration could not be looked up");
                Err("The integration cannot be used at the moment.".to_owned())
            }
            Err(_) => Err("The application did not answer in time: what was asked for may have been done, or not. Do not \
                           try again; say that somebody will look after it."
                .to_owned()),
        };
        let cut = |mut text: String| {
            if let Some((end, _)) = text.char_indices().nth(TOLD_CHARS) {
                text.truncate(end);
            }
            text
        };
        answer.map(cut).map_err(cut)
    }

    async fn ask(
        &self,
        function: &str,
        arguments: &Map<String, Value>,
        renew_by: Instant,
    ) -> Result<Answer> {
        let shared = &self.integrations.0;
        let parts = function.split_once('.');
        let Some((application, function)) = parts.and_then(|(toolkit, function)| {
            let application = self.integrations.application(toolkit)?;
            Some((application, function))
        }) else {
            return Ok(Err(
                "The integration is not set up here any more.".to_owned()
            ));
        };
        let toolkit = application.toolkit();
        let found = shared.tokens(self.account, toolkit).await?;
        let Some((mut connection, tokens)) = found else {
            return Ok(Err(
                "The application is not connected: say that this cannot be done now.".to_owned(),
            ));
        };
        let arguments = Value::Object(arguments.clone()).to_string();
        let now = shared.clock.now();
        let call = FunctionCall {
            function,
            access_token: "",
            arguments: &arguments,
            conversation: self.conversation,
            now,
        };
        let is_lapsed = connection
            .lapses_at
            .is_some_and(|lapses_at| lapses_at <= now);
        let mut answer = match is_lapsed {
            true => Err(FunctionError::Unauthorized),
            false => application.call(call.with(&tokens.access_token)).await,
        };
        if answer == Err(FunctionError::Unauthorized) {
            // Expired, or rejected before it expired: nothing was done.
            let renewed = renew_now(shared, &application, &connection, true);
            let renewed = timeout_at(renew_by, renewed).await;
            match renewed.unwrap_or(Ok(Renewed::NotNow))? {
                Renewed::Granted(id, tokens) => {
                    answer = application.call(call.with(&tokens.access_token)).await;
                    connection.id = id;
                    if answer == Err(FunctionError::Unauthorized) {
                        self.judge(id, Some(refused(toolkit)));
                    }
                }
                Renewed::Rests if !is_lapsed => {}
                Renewed::Rests | Renewed::NotNow => {
                    return Ok(Err(
                        "The application could not be reached for new access, and nothing was done: say that this cannot \
                         be done now."
                            .to_owned(),
                    ));
                }
                Renewed::Never => {
                    return Ok(Err(
                        "The application does not let the service in any more, and nothing was done: say that this cannot \
                         be done now."
                            .to_owned(),
                    ));
                }
            }
        }
        if answer.is_ok() && connection.status == IntegrationStatus::Error {
            self.judge(connection.id, None);
        }
        Ok(answer.map_err(|error| match error {
            FunctionError::Said(message) => message,
            FunctionError::Unauthorized => {
                "The application does not let the service in, and nothing was done: say that this cannot be done now."
                    .to_owned()
            }
        }))
    }

    /// Records what a call showed about these tokens: why they are refused, or that they work. The model does not wait
    /// for it.
    fn judge(&self, id: CredentialId, refused: Option<String>) {
        let (shared, account) = (self.integrations.0.clone(), self.account);
        tokio::spawn(async move {
            if let Err(error) = shared.store.judge_tokens(id, refused).await {
                tracing::warn!(%account, %error, "how an integration stands was not written down");
            }
        }.boxed());
    }
}

/// The error of a connection whose application refuses tokens that it has just granted.
fn refused(toolkit: &str) -> String {
    IntegrationFault::NoneAccepted(Toolkit::name_of(toolkit).to_owned()).to_string()
}
