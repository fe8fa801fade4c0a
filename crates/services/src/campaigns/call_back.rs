//! Customers of a campaign who ask to be called again at another time.

use async_trait::async_trait;
use offhook_engine::ports::{ToolDefinition, Tools};

use crate::built_in::{self, BuiltIn};
use crate::prelude::*;
use crate::retry::retried;
use crate::zones::Zone;

/// How far ahead a call may be promised.
const AHEAD: Duration = Duration::from_secs(30 * 24 * 3_600);

/// How the model writes a time, and reads it back.
const LOCAL: &str = "%Y-%m-%dT%H:%M";

/// The tool with which the agent of a campaign's call notes when to call again.
struct CallBack {
    runner: Arc<Runner>,
    call: ConversationId,
    recipient: CampaignRecipientId,
    /// Of the model's times.
    zone: Zone,
}

/// Adds the tool to those of a call.
pub(crate) fn with_call_back(
    tools: Arc<dyn Tools>,
    config: &AgentConfig,
    runner: &Arc<Runner>,
    (call, recipient): (ConversationId, CampaignRecipientId),
    zone: Zone,
) -> Arc<dyn Tools> {
    let call_back = CallBack {
        runner: runner.clone(),
        call,
        recipient,
        zone,
    };
    built_in::with(tools, config, call_back)
}

impl CallBack {
    async fn note(&self, arguments: &str) -> Result<Result<String, String>, StoreError> {
        let now = self.runner.clock.now();
        let asked = self.asked(arguments);
        let Some(at) = asked.filter(|at| *at > now && *at <= now.plus(AHEAD)) else {
            let now = self.zone.shown(now, LOCAL);
            return Ok(Err(format!(
                "Not noted: `at` must be a time such as {now} in the next 30 days, and it is {now} now. Ask the customer \
                 when to call."
            )));
        };
        let (store, call, recipient) = (&self.runner.store, self.call, self.recipient);
        let noted = retried(|| store.ask_callback(recipient, call, at)).await?;
        let at = self.zone.shown(at, LOCAL);
        Ok(match noted {
            true => Ok(format!(
                "Noted: the customer will be called at {at}. Confirm it in one sentence."
            )),
            false => Err("Not noted: this call is over.".to_owned()),
        })
    }

    /// A time with an offset, or by the clocks of the zone.
    fn asked(&self, arguments: &str) -> Option<Timestamp> {
        let arguments = Json::parse(arguments.as_bytes()).ok()?;
        let at = arguments.get("at")?.as_str()?.trim();
        match at.parse::<jiff::Timestamp>() {
            Ok(at) => Some(Timestamp::from_micros(at.as_microsecond())),
            Err(_) => self.zone.instant(at),
        }
    }
}

/// The tool's name.
pub(crate) const CALL_BACK: &str = "call_back";

#[async_trait]
impl BuiltIn for CallBack {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: CALL_BACK.into(),
            description: "Notes when the customer wants to be called again. Use it when the customer asks to be called at \
                another time, and promise nothing before it has answered."
                .into(),
            parameters: format!(
                r#"{{"type":"object","properties":{{"at":{{"type":"string","description":"Date and time in {}, such as 2026-01-31T15:30."}}}},"required":["at"]}}"#,
                self.zone.name()
            )
            .into(),
            acts: true,
        }
    }

    async fn run(&self, arguments: &str) -> Result<String, String> {
        self.note(arguments).await.unwrap_or_else(|error| {
            tracing::error!(%error, call = %self.call, "a call back cannot be written");
            Err("It could not be noted. Say so, and that somebody will call.".to_owned())
        })
    }
}
