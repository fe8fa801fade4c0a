//! A test call: placed like any other, watched as it happens.

use offhook_http::{Code, admit_call};
use offhook_services::{PlaceCall, PlacedReply, UseCaseError};

use super::{Variables, active_agents, agent_field, metadata, metadata_fields, nobody_to_try};
use crate::pages::conversations::plain;
use crate::parts::agent_choice::AgentChoice;
use crate::prelude::*;

/// The hidden field that makes a form place one call, even if submitted twice.
const ONCE: &str = "once";

/// `GET /portal/try/call`
pub(super) async fn show(visit: Visit<Developer>) -> Answer {
    let agents = active_agents(&visit, None).await?;
    let variables = Variables::of(&visit, &agents, visit.query()).await?;
    let body = draw(&visit, (&agents, &variables), visit.query(), None);
    Ok(visit.page(Section::Conversations, title(&visit), &body))
}

fn title(visitor: &Visitor) -> &'static str {
    visitor.t("Place a test call", "Hacer una llamada de prueba")
}

/// Why no call was placed.
struct Refused {
    message: String,
    /// Whether the form has placed a call before, with other data.
    is_used: bool,
}

impl From<String> for Refused {
    fn from(message: String) -> Self {
        let is_used = false;
        Self { message, is_used }
    }
}

fn draw(
    visitor: &Visitor,
    (agents, variables): (&AgentChoice, &Variables),
    fields: &Fields,
    refused: Option<&Refused>,
) -> Markup {
    let lang = visitor.lang();
    let message = refused.map(|refused| refused.message.as_str());
    if agents.is_empty() {
        return html! { (form::refusal(message)) (nobody_to_try(lang)) };
    }
    // A refused form that is submitted again is the same call: a refusal uses nothing up. A form that has placed its call
    // and was changed cannot be that call.
    let is_same = refused.is_some_and(|refused| !refused.is_used);
    let kept = fields.get(ONCE).filter(|_| is_same).map(str::to_owned);
    let once = kept.unwrap_or_else(|| visitor.request_id().to_string());
    let to_hint = lang.t(
        "With its country code, such as +525512345678. The call comes from the agent's number, or the account's oldest number, and costs credits like any call.",
        "Con su clave de país, como +525512345678. La llamada sale del número del agente o del más antiguo de la cuenta, y cuesta créditos como cualquier otra.",
    );
    let fields = html! {
        input type="hidden" name=(ONCE) value=(once);
        (agent_field(visitor, agents, fields))
        (Input::text("to", lang.t("Call this number", "Llamar a este número")).kind("tel").value(fields.text("to")).hint(to_hint).autocomplete("tel").required())
        (metadata_fields("/try/call", variables, fields, lang))
        button.primary type="submit" { (lang.t("Call now", "Llamar ahora")) }
    };
    html! { (form::refusal(message)) (form::form(visitor, "/try/call", &fields)) }
}

/// `POST /portal/try/call`
pub(super) async fn place(post: Post<Developer>) -> Answer {
    let lang = post.lang();
    let accepted = match admit_call(post.request()).await {
        Ok(()) => accept(&post).await?,
        Err(error) if error.code() == Code::RateLimitExceeded => {
            Err(too_many(lang).to_owned().into())
        }
        Err(error) => return Err(error.into()),
    };
    let refused = match accepted {
        Ok(reply) => {
            let handle = reply.location.rsplit('/').next();
            let handle: Option<CallHandle> = handle.and_then(|handle| handle.parse().ok());
            let id = handle.ok_or_else(Trouble::not_found)?.0;
            let path = format!("/conversations/{id}");
            let message = lang.t("Call placed.", "Llamada iniciada.");
            return post.done_once("call.place", id, &path, message).await;
        }
        Err(refused) => refused,
    };
    let agents = active_agents(&post, None).await?;
    let variables = Variables::of(&post, &agents, &post.fields).await?;
    let body = draw(&post, (&agents, &variables), &post.fields, Some(&refused));
    Ok(post.refused(Section::Conversations, title(&post), &body))
}

/// The accepted call, or why it was not.
async fn accept(post: &Post<Developer>) -> Result<Result<PlacedReply, Refused>> {
    let fields = &post.fields;
    let metadata = match metadata(fields, post.lang()) {
        Ok(metadata) => metadata,
        Err(message) => return Ok(Err(message.into())),
    };
    let body = Json::object([
        ("agent_id", Json::from(fields.text("agent"))),
        ("to", Json::String(plain(fields.text("to")))),
        ("metadata", metadata),
    ]);
    let request = PlaceCall {
        caller: post.caller(),
        idempotency_key: once(fields),
        body,
        request_id: post.request_id(),
    };
    match post.services().calls().place(request).await {
        Ok(reply) => Ok(Ok(reply)),
        Err(UseCaseError::IdempotencyConflict) => Ok(Err(Refused {
            message: used(post.lang()).to_owned(),
            is_used: true,
        })),
        Err(error) => {
            let message = post.message_of(error, &labels(post.lang()))?;
            Ok(Err(message.into()))
        }
    }
}

/// The labels of a call's fields.
const fn labels(lang: Lang) -> [(&'static str, &'static str); 3] {
    [
        ("agent_id", lang.t("Agent", "Agente")),
        ("to", lang.t("Call this number", "Llamar a este número")),
        ("metadata", lang.t("Variables", "Variables")),
    ]
}

const fn too_many(lang: Lang) -> &'static str {
    lang.t(
        "Too many calls from your IP address this minute. No call was placed. Try again in a moment.",
        "Demasiadas llamadas desde tu dirección IP en este minuto. No se hizo ninguna llamada. Inténtalo de nuevo en un momento.",
    )
}

const fn used(lang: Lang) -> &'static str {
    lang.t(
        "This form already placed a call, with other data. Find it in Conversations. Select Call now to place another call with the data below.",
        "Este formulario ya hizo una llamada, con otros datos. Está en Conversaciones. «Llamar ahora» hace otra llamada con los datos de abajo.",
    )
}

/// The form's Idempotency-Key. Keys of API clients do not begin so.
fn once(fields: &Fields) -> Option<String> {
    let once = fields.get(ONCE)?;
    let is_ours = once.len() <= 64 && once.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
    is_ours.then(|| format!("portal:{once}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_of_a_form_is_one_of_ours() {
        let key = |text: &str| once(&Fields::parse(text.as_bytes()));
        assert_eq!(key("once=0190-ab").as_deref(), Some("portal:0190-ab"));
        assert_eq!(key("once=a%0Ab"), None);
        assert_eq!(key(""), None);
    }
}
