//! What the use cases refuse in the words of the interface, in those of the portal: here is a button where a program sends a
//! request. Everything else is said in English as it is.

use offhook_domain::AgentStatus;
use offhook_domain::json::{Fault, FieldError, Rule};
use offhook_http::{ApiError, Code};
use offhook_services::Refusal;

use crate::lang::Lang;
use crate::pages::agents::status_name;

/// The sentence, where the portal has one of its own.
pub(super) fn sentence(error: &ApiError) -> Option<String> {
    match (error.fault(), error.refusal()) {
        (Some(field), _) => broken(field),
        (None, Some(refusal)) => refused(refusal),
        (None, None) if error.code() == Code::IdempotencyConflict => {
            let said = "This form was sent already, with other data. Open its page anew and fill it in again.";
            Some(said.to_owned())
        }
        (None, None) => None,
    }
}

/// Where a text that should be JSON breaks.
fn broken(field: &FieldError) -> Option<String> {
    let Fault::Rule(rule) = &field.fault else {
        return None;
    };
    let Rule::Json { place, .. } = &**rule else {
        return None;
    };
    let (path, (line, column)) = (&field.path, (*place)?);
    Some(format!(
        "`{path}`: not JSON: it breaks at line {line}, column {column}"
    ))
}

fn refused(refusal: &Refusal) -> Option<String> {
    let said = match refusal {
        Refusal::AgentArchived | Refusal::WidgetOfArchived => {
            "The agent is archived: restore it first, and it is paused."
        }
        Refusal::AgentUnconfigured => "The agent has no configuration yet: save one first.",
        Refusal::AgentStatus { now, next } => {
            let remedy = match (now, next) {
                (AgentStatus::Archived, AgentStatus::Active) => ": restore it first",
                (_, AgentStatus::Active) => ": publish it",
                _ => "",
            };
            let (now, next) = (status_name(*now, Lang::En), status_name(*next, Lang::En));
            return Some(format!(
                "An agent that is \"{now}\" cannot become \"{next}\"{remedy}."
            ));
        }
        Refusal::AgentTakesNoCalls(status)
        | Refusal::AgentAnswersNot(status)
        | Refusal::BatchOfIdleAgent(status) => {
            let status = status_name(*status, Lang::En);
            return Some(format!(
                "The agent is \"{status}\", and only an active one serves."
            ));
        }
        Refusal::StaleVersion { head, .. } => {
            return Some(format!(
                "The agent is at version {head} by now: load the page again and make the change on that."
            ));
        }
        Refusal::NoLegacyNumber => {
            "The account has no number that its legacy agents can call from: assign one to the agent at its provider, and \
             it comes with the next sync; if it is here already, give it to the agent on the page of numbers."
        }
        Refusal::InFlight => {
            "This form was sent already and is still being answered: wait a moment, and look whether it is done."
        }
        Refusal::NumbersByOperator => {
            "Numbers of this service's trunk are given by whoever runs it: ask for one."
        }
        Refusal::NumbersByImport => {
            "Numbers are taken from the account's own carrier, and cannot be chosen: store its credential in Settings, \
             Provider credentials, and import them."
        }
        Refusal::NumberOfArchived => {
            "The agent is archived: restore it first, or choose another one."
        }
        Refusal::NumberUnproven => {
            "This number came with the legacy agents, which does not show that it is yours: import it from your carrier first, or \
             choose a legacy agent."
        }
        Refusal::EndpointDisabled => "The endpoint is disabled: enable it first.",
        Refusal::DocumentFailed => "The document has no text: its error says why.",
        Refusal::DocumentUnread => "The document is still being read: come back when it is ready.",
        _ => return None,
    };
    Some(said.to_owned())
}
