//! Whether a number would be called now.

use offhook_services::DialCheck;

use super::wording;
use crate::pages::conversations::plain;
use crate::parts::agent_choice::AgentChoice;
use crate::parts::list::fact;
use crate::prelude::*;

/// The form, and the answer to the one that was sent.
pub(super) async fn part(
    visitor: &Visitor,
    rules: &DialingRules,
    agents: &AgentChoice,
) -> Result<Markup> {
    let (t, query) = (visitor.lang(), visitor.query());
    let answer = answer(visitor).await?;
    Ok(html! {
        form.filters method="get" action={ (PATH) "/dialing#check" } {
            (Input::text("to", t.t("Number to check", "Número por revisar")).kind("tel").value(query.text("to")).required())
            (agents.field(visitor, "agent", t.t("Agent that would call", "Agente que llamaría"), query.text("agent"), Some(t.t("No agent in particular", "Ningún agente en particular"))))
            @if rules.consent_required {
                (form::check("consent", "on", t.t("With the customer's consent", "Con el consentimiento del cliente"), query.is_set("consent")))
            }
            button type="submit" { (t.t("Check", "Revisar")) }
        }
        (answer)
    })
}

/// What is known about the number that is asked for; nothing if none is.
async fn answer(visitor: &Visitor) -> Result<Markup> {
    let (t, query) = (visitor.lang(), visitor.query());
    let Some(to) = query.get("to") else {
        return Ok(html! {});
    };
    let mut members = vec![("to", Json::String(plain(to)))];
    if let Some(agent) = query.get("agent") {
        members.push(("agent_id", Json::from(agent)));
    }
    if query.is_set("consent") {
        let consent = [
            ("basis", Json::from("portal_check")),
            ("at", Json::String(visitor.now().to_string())),
        ];
        members.push(("consent", Json::object(consent)));
    }
    let gate = visitor.services().gate();
    Ok(
        match gate.check(visitor.caller(), &Json::object(members)).await {
            Ok(checks) => html! { @for check in &checks { (verdict(check, t)) } },
            Err(error) => {
                let labels = [
                    ("to", t.t("Number to check", "Número por revisar")),
                    (
                        "agent_id",
                        t.t("Agent that would call", "Agente que llamaría"),
                    ),
                ];
                form::refusal(Some(&visitor.message_of(error, &labels)?))
            }
        },
    )
}

fn verdict(check: &DialCheck, t: Lang) -> Markup {
    let zones = match check.time_zones.as_slice() {
        [] => t.t("Unknown", "Se desconoce").to_owned(),
        zones => zones.join(", "),
    };
    let verdict = match check.rule {
        None => badge(
            Tone::Good,
            t.t("Would be called now", "Se le llamaría ahora"),
        ),
        Some(_) => badge(Tone::Bad, t.t("Not called now", "Ahora no se le llama")),
    };
    html! {
        div role="status" { dl.facts {
            (fact(check.to.as_str(), verdict))
            @if let Some(rule) = check.rule {
                (fact(t.t("Refused by", "La detiene"), wording::refusal(rule, t)))
                (fact(t.t("Allowed from", "Permitida desde"), html! { @match check.allowed_at {
                    Some(at) => (when(at)),
                    None => (t.t("Time alone does not allow it.", "El tiempo por sí solo no la permite.")),
                } }))
            }
            (fact(t.t("Its time zones", "Sus zonas horarias"), zones))
        } }
    }
}
