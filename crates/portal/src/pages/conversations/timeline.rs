//! What happened to a conversation, step by step.

use offhook_services::store::{ContextNote, Conversation, Moment};

use super::wording;
use crate::prelude::*;

/// A step: when it happened, what it was, and what there is to say about it.
struct Step {
    at: Timestamp,
    what: &'static str,
    more: Option<String>,
}

/// The steps so far.
pub(super) async fn of(visitor: &Visitor, conversation: &Conversation) -> Result<Markup> {
    let conversations = visitor.services().conversations();
    let states = conversations.states(conversation.id).await?;
    let context = conversations.context_note(conversation.id).await?;
    let lang = visitor.lang();
    Ok(draw(conversation, &states, context.as_ref(), lang))
}

fn draw(
    conversation: &Conversation,
    states: &[Moment],
    context: Option<&ContextNote>,
    lang: Lang,
) -> Markup {
    let begins = conversation.started_at;
    let mut all = steps(conversation, states, lang);
    all.extend(context.map(|note| asked(note, lang)));
    // What happened in the same moment stays in this order.
    all.sort_by_key(|step| step.at);
    html! {
        ol.timeline {
            @for step in &all {
                li {
                    span.at { (since(begins, step.at)) } " "
                    strong { (step.what) } span.unseen { " " (words::when(step.at)) }
                    @if let Some(more) = &step.more { br; span.soft { (more) } }
                }
            }
        }
    }
}

/// Seconds after the beginning: `+3.2 s`.
fn since(begins: Timestamp, at: Timestamp) -> String {
    format!("+{:.1} s", at.since(begins).as_secs_f64())
}

fn steps(conversation: &Conversation, states: &[Moment], lang: Lang) -> Vec<Step> {
    let signaled = conversation.line.signaled;
    let first = match (conversation.voice, conversation.is_inbound()) {
        (false, _) => lang.t("Opened", "Abierta"),
        (true, true) => lang.t("Came in", "Entró"),
        (true, false) => lang.t("Queued", "En cola"),
    };
    let mut steps = vec![Step {
        at: conversation.started_at,
        what: first,
        more: None,
    }];
    let of_state = |moment: &Moment| {
        let (what, more) = step(conversation, moment.state?, lang)?;
        let at = moment.at;
        Some(Step { at, what, more })
    };
    let is_dialing = |moment: &&Moment| moment.state == Some(CallState::Dialing);
    steps.extend(states.iter().filter(is_dialing).filter_map(of_state));
    steps.extend(signaled.rang_at.map(|at| Step {
        at,
        what: lang.t("Ringing", "Sonando"),
        more: None,
    }));
    let rest = states.iter().filter(|moment| !is_dialing(moment));
    steps.extend(rest.filter_map(of_state));
    steps
}

/// What the agent's context URL answered.
fn asked(note: &ContextNote, lang: Lang) -> Step {
    let what = match note.result {
        ContextResult::Answered => lang.t("Context URL answered", "La URL de contexto respondió"),
        ContextResult::Refused => lang.t(
            "Context URL refused",
            "La URL de contexto rechazó la llamada",
        ),
        ContextResult::Failed => lang.t("Context URL failed", "La URL de contexto falló"),
    };
    let took = note.took_ms;
    let more = match note.detail.as_str() {
        "" => format!("{took} ms"),
        detail => format!("{took} ms · {detail}"),
    };
    Step {
        at: note.at,
        what,
        more: Some(more),
    }
}

fn step(
    conversation: &Conversation,
    state: CallState,
    lang: Lang,
) -> Option<(&'static str, Option<String>)> {
    Some(match state {
        CallState::Queued => return None,
        CallState::Dialing if conversation.is_inbound() => return None,
        CallState::Dialing => {
            let to = conversation.to_number.as_ref();
            (lang.t("Dialing", "Marcando"), to.map(ToString::to_string))
        }
        CallState::Live if conversation.voice => (lang.t("Answered", "Contestada"), None),
        // It is open from its first moment.
        CallState::Live => return None,
        CallState::Closing => (lang.t("Ended", "Terminó"), ended(conversation, lang)),
        CallState::Completed | CallState::Failed => {
            (lang.t("Settled", "Liquidada"), settled(conversation, lang))
        }
    })
}

/// Why it ended, in words, with what the carrier said.
fn ended(conversation: &Conversation, lang: Lang) -> Option<String> {
    let why = match (conversation.failure_reason, conversation.termination_reason) {
        (Some(reason), _) => wording::failed(reason, lang),
        (None, reason) => wording::ended(reason?, lang),
    };
    let status = conversation.line.signaled.carrier_status;
    Some(match status {
        Some(code) => {
            let phrase = phrase(code);
            text!(
                lang,
                "{why} · carrier: SIP {code} {phrase}",
                "{why} · operador: SIP {code} {phrase}"
            )
        }
        None => why.to_owned(),
    })
}

fn settled(conversation: &Conversation, lang: Lang) -> Option<String> {
    // A call that was never dialed has no other step that says why.
    let undialed = [
        FailureReason::Cancelled,
        FailureReason::Expired,
        FailureReason::ComplianceBlocked,
        FailureReason::ContextRefused,
    ];
    let why = conversation
        .failure_reason
        .filter(|why| undialed.contains(why));
    let credits = words::count(conversation.credits?);
    let credits = text!(lang, "credits: {credits}", "créditos: {credits}");
    Some(match why {
        Some(why) => format!("{} · {credits}", wording::failed(why, lang)),
        None => credits,
    })
}

/// The standard words of a SIP status (RFC 3261). A carrier's own may hold numbers of people.
const fn phrase(code: i32) -> &'static str {
    match code {
        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        407 => "Proxy Authentication Required",
        408 => "Request Timeout",
        410 => "Gone",
        415 => "Unsupported Media Type",
        480 => "Temporarily Unavailable",
        481 => "Call/Transaction Does Not Exist",
        484 => "Address Incomplete",
        486 => "Busy Here",
        487 => "Request Terminated",
        488 => "Not Acceptable Here",
        500 => "Server Internal Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Server Time-out",
        600 => "Busy Everywhere",
        603 => "Decline",
        604 => "Does Not Exist Anywhere",
        607 => "Unwanted",
        608 => "Rejected",
        _ => "",
    }
}
