//! The portal's own English for errors whose message speaks to a program. Other messages are shown as they are.

use offhook_domain::json::{Fault, FieldError};
use offhook_http::{ApiError, Code};
use offhook_services::{Refusal, Remedy};

use crate::lang::Lang;
use crate::parts::words::agent_status;

pub(super) fn sentence(error: &ApiError) -> Option<String> {
    match (error.fault(), error.refusal()) {
        (Some(field), _) => broken(field),
        (None, Some(refusal)) => refused(refusal),
        (None, None) => {
            let text = match error.code() {
                Code::NotFound => "It does not exist, or it belongs to another account.",
                Code::IdempotencyConflict => {
                    "This form was already submitted, with other data. Open its page again and fill it in."
                }
                _ => return None,
            };
            Some(text.to_owned())
        }
    }
}

fn broken(field: &FieldError) -> Option<String> {
    let Fault::Json(error) = &field.fault else {
        return None;
    };
    let (path, (line, column)) = (&field.path, error.place?);
    Some(format!(
        "`{path}`: not valid JSON at line {line}, column {column}"
    ))
}

fn refused(refusal: &Refusal) -> Option<String> {
    let text = match refusal {
        Refusal::AgentArchived | Refusal::WidgetOfArchived => {
            "The agent is archived. Restore it first (it is then paused)."
        }
        Refusal::AgentUnconfigured => "The agent has no configuration yet. Save one first.",
        Refusal::AgentStatus { now, next, remedy } => {
            let remedy = match remedy {
                Remedy::None => "",
                Remedy::Restore => ": restore it first",
                Remedy::Publish => ": publish it",
            };
            let (now, next) = (agent_status(*now, Lang::En), agent_status(*next, Lang::En));
            return Some(format!(
                "An agent with status \"{now}\" cannot become \"{next}\"{remedy}."
            ));
        }
        Refusal::AgentTakesNoCalls(status)
        | Refusal::AgentAnswersNot(status)
        | Refusal::BatchOfIdleAgent(status) => {
            let status = agent_status(*status, Lang::En);
            return Some(format!(
                "The agent's status is \"{status}\". Only an active agent takes calls."
            ));
        }
        Refusal::StaleVersion { head, .. } => {
            return Some(format!(
                "The agent is now at version {head}. Reload the page and make your change there."
            ));
        }
        Refusal::NoLegacyNumber => {
            "The account has no number that its ElevenLabs agents can call from. Assign one to the agent at ElevenLabs: it \
             arrives with the next sync. If the number is already here, assign it to the agent under Phone numbers."
        }
        Refusal::InFlight => {
            "This form was already submitted and is still being processed. Wait a moment, then check whether it is done."
        }
        Refusal::NumbersByOperator => "The service operator assigns its numbers. Ask for one.",
        Refusal::NumbersByImport => {
            "Numbers come from the account's own carrier and cannot be chosen here. Save its credential in Settings, \
             Provider credentials, and import them."
        }
        Refusal::NumberOfArchived => "The agent is archived. Restore it or choose another one.",
        Refusal::NumberUnproven => {
            "This number came with the ElevenLabs agents, which does not prove that it is yours. Import it from your carrier \
             first, or choose an ElevenLabs agent."
        }
        Refusal::NoNumber => "No number that Offhook agents can call from. Import one first.",
        Refusal::BatchOfEngineAgent => "Only ElevenLabs agents can place batch calls.",
        Refusal::EndpointDisabled => "The endpoint is disabled. Enable it first.",
        Refusal::DocumentFailed => "The document has no text. Its error says why.",
        Refusal::DocumentUnread => "The document is still processing. Come back when it is ready.",
        _ => return None,
    };
    Some(text.to_owned())
}
