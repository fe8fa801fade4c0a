//! The rules of an account: shown to everybody, changed by admins.

use super::SECTION;
use crate::pages::agents::document::number;
use crate::parts::list::fact;
use crate::parts::version;
use crate::parts::words::{count, days, yes};
use crate::prelude::*;

/// The fields of whole numbers.
const NUMBERS: [&str; 4] = [
    "attempts_per_day",
    "attempts_per_week",
    "minimum_pause_minutes",
    "daily_credits",
];

/// `POST /portal/dialing`
pub(super) async fn set(post: Post<Admin>) -> Answer {
    let (t, gate) = (post.lang(), post.services().gate());
    let rules = gate.rules(&post.caller().account)?;
    let body = read(&post.fields);
    let work = gate.set_rules(post.account(), &body);
    let saved = version::save(&post, &fields_of(&rules), &labels(t), work).await?;
    let Err(refused) = saved else {
        let message = t.t("Saved.", "Guardado.");
        return post
            .done("dialing_rules.set", post.account(), "/dialing", message)
            .await;
    };
    let again = (&refused.fields, Some(refused.message.as_str()));
    let body = super::page(&post, &rules, again).await?;
    Ok(post.refused(SECTION, SECTION.name(t), &body))
}

/// The fields of a form with these rules.
pub(super) fn fields_of(rules: &DialingRules) -> Fields {
    let mut fields = Fields::default();
    if let Some(window) = &rules.window {
        for day in &window.days {
            fields.push("window.days", &day.to_string());
        }
        fields.push("window.start", &window.start.to_string());
        fields.push("window.end", &window.end.to_string());
        fields.push("window.holidays", &window.holidays.join("\n"));
    }
    let numbers = [
        rules.attempts_per_day,
        rules.attempts_per_week,
        rules.minimum_pause_minutes,
        rules.daily_credits,
    ];
    for (name, number) in NUMBERS.into_iter().zip(numbers) {
        if let Some(number) = number {
            fields.push(name, &number.to_string());
        }
    }
    if rules.consent_required {
        fields.push("consent_required", "on");
    }
    fields.push("allowed_prefixes", &rules.allowed_prefixes.join("\n"));
    fields
}

/// The body of the use case: an empty field is no rule.
fn read(fields: &Fields) -> Json {
    let mut members = vec![
        ("window", window_of(fields, "window")),
        (
            "consent_required",
            Json::from(fields.is_set("consent_required")),
        ),
        ("allowed_prefixes", lines(fields, "allowed_prefixes")),
    ];
    for name in NUMBERS {
        members.push((name, fields.get(name).map_or(Json::Null, number)));
    }
    Json::object(members)
}

fn lines(fields: &Fields, name: &str) -> Json {
    let lines = fields.raw(name).lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty());
    Json::Array(lines.map(Json::from).collect())
}

/// The window of the fields below this path: none if they are empty.
pub(in crate::pages) fn window_of(fields: &Fields, path: &str) -> Json {
    let of = |name: &str| format!("{path}.{name}");
    let begin = of("");
    let is_set = fields
        .iter()
        .any(|(name, value)| name.starts_with(&begin) && !value.trim().is_empty());
    if !is_set {
        return Json::Null;
    }
    let days = of("days");
    let days = fields.all(&days).filter(|day| !day.is_empty());
    Json::object([
        ("days", Json::Array(days.map(number).collect())),
        ("start", Json::from(fields.text(&of("start")))),
        ("end", Json::from(fields.text(&of("end")))),
        ("holidays", lines(fields, &of("holidays"))),
    ])
}

/// The labels of the fields.
const fn labels(t: Lang) -> [(&'static str, &'static str); 9] {
    [
        ("window.days", t.t("Days", "Días")),
        ("window.start", t.t("From", "Desde")),
        ("window.end", t.t("To", "Hasta")),
        ("window.holidays", t.t("Holidays", "Días festivos")),
        (
            "attempts_per_day",
            t.t(
                "Calls to one number in 24 hours",
                "Llamadas a un número en 24 horas",
            ),
        ),
        (
            "attempts_per_week",
            t.t(
                "Calls to one number in 7 days",
                "Llamadas a un número en 7 días",
            ),
        ),
        (
            "minimum_pause_minutes",
            t.t(
                "Minutes between two calls to one number",
                "Minutos entre dos llamadas a un número",
            ),
        ),
        ("daily_credits", t.t("Credits per day", "Créditos por día")),
        (
            "allowed_prefixes",
            t.t("Allowed prefixes", "Prefijos permitidos"),
        ),
    ]
}

fn label(name: &str, t: Lang) -> &'static str {
    let known = labels(t).into_iter().find(|(known, _)| *known == name);
    known.map_or("", |(_, label)| label)
}

/// The form; open if it was refused.
pub(super) fn form_of(visitor: &Visitor, fields: &Fields, message: Option<&str>) -> Markup {
    let t = visitor.lang();
    let input = |name: &'static str, hint: &'static str| {
        Input::text(name, label(name, t))
            .value(fields.text(name))
            .hint(hint)
    };
    let lines = |name: &'static str, hint: &'static str| {
        Input::text(name, label(name, t))
            .rows(3)
            .value(fields.raw(name))
            .hint(hint)
    };
    let number = |name, hint| input(name, hint).kind("number");
    let is_chosen = |day: &str| fields.all("window.days").any(|chosen| chosen == day);
    html! {
        (form::refusal(message))
        (form::kept(visitor, "/dialing", &html! {
            (version::hidden(fields))
            details.group open[message.is_some()] {
                summary { (t.t("Change rules", "Cambiar las reglas")) }
                fieldset.plain {
                    legend.unseen { (t.t("Rules", "Reglas")) }
                    p { (t.t("What you leave empty is no rule.", "Lo que dejas vacío no es una regla.")) }
                    fieldset.plain id="window.days" {
                        legend { (label("window.days", t)) }
                        @for (day, name) in days(t).into_iter().enumerate() {
                            @let value = (day + 1).to_string();
                            (form::check("window.days", &value, name, is_chosen(&value)))
                        }
                        p.hint { (t.t(
                            "Days on which numbers are called, in the number's own time zone; with days, the hours below are needed too.",
                            "Días en que se llama, en la zona horaria del propio número; con días también hacen falta las horas de abajo.",
                        )) }
                    }
                    (input("window.start", t.t(
                        "The first minute of the window.", "El primer minuto del horario.",
                    )).kind("time"))
                    (input("window.end", t.t(
                        "The minute it ends; if earlier than the start, the window crosses midnight.",
                        "El minuto en que termina; si es antes del inicio, el horario cruza la medianoche.",
                    )).kind("time"))
                    (lines("window.holidays", t.t(
                        "Dates on which nobody is called, one a line, such as 2026-12-25.",
                        "Fechas en que no se llama a nadie, una por línea, como 2026-12-25.",
                    )))
                    (number("attempts_per_day", t.t(
                        "Over all agents, 1 to 1,000.", "Entre todos los agentes, de 1 a 1,000.",
                    )))
                    (number("attempts_per_week", t.t(
                        "Over all agents, 1 to 1,000.", "Entre todos los agentes, de 1 a 1,000.",
                    )))
                    (number("minimum_pause_minutes", t.t(
                        "1 to 10,080, which is a week.", "De 1 a 10,080, que es una semana.",
                    )))
                    div.field {
                        (form::check("consent_required", "on", t.t("Require consent", "Exigir consentimiento"), fields.is_set("consent_required")))
                        p.hint { (t.t(
                            "Refuses calls whose request does not say what the customer agreed to.",
                            "No permite llamadas cuya solicitud no diga a qué dio su consentimiento el cliente.",
                        )) }
                    }
                    (lines("allowed_prefixes", t.t(
                        "Only numbers that begin with one of these are called, one a line, such as +52.",
                        "Solo se llama a números que comienzan con uno de estos, uno por línea, como +52.",
                    )))
                    (number("daily_credits", t.t(
                        "What calls may spend and reserve in a UTC day.",
                        "Lo que las llamadas pueden gastar y reservar en un día (UTC).",
                    )))
                    button.primary type="submit" { (t.t("Save rules", "Guardar las reglas")) }
                }
            }
        }))
    }
}

/// The rules that are set.
pub(super) fn summary(rules: &DialingRules, t: Lang) -> Markup {
    if rules.is_empty() {
        return html! { p.soft { (t.t(
            "No rules: every number that is not on the suppression list is called.",
            "Sin reglas: se llama a todo número que no esté en la lista de exclusión.",
        )) } };
    }
    let numbers = [
        ("attempts_per_day", rules.attempts_per_day),
        ("attempts_per_week", rules.attempts_per_week),
        ("minimum_pause_minutes", rules.minimum_pause_minutes),
        ("daily_credits", rules.daily_credits),
    ];
    html! {
        dl.facts {
            @if let Some(of) = &rules.window {
                (fact(t.t("Window", "Horario"), window(of, t)))
                @if !of.holidays.is_empty() { (fact(label("window.holidays", t), of.holidays.join(", "))) }
            }
            @for (name, number) in numbers {
                @if let Some(number) = number { (fact(label(name, t), count(number))) }
            }
            @if rules.consent_required {
                (fact(t.t("Consent required", "Consentimiento obligatorio"), yes(true, t)))
            }
            @if !rules.allowed_prefixes.is_empty() {
                (fact(label("allowed_prefixes", t), rules.allowed_prefixes.join(", ")))
            }
        }
    }
}

pub(in crate::pages) fn window(of: &DialWindow, t: Lang) -> String {
    let names = days(t).into_iter().zip(1_u8..);
    let names = names.filter_map(|(name, day)| of.days.contains(&day).then_some(name));
    let names: Vec<&str> = names.collect();
    let (names, start, end) = (names.join(", "), of.start, of.end);
    text!(
        t,
        "{names}, {start} to {end} in the number's time zone",
        "{names}, de {start} a {end} en la zona horaria del número"
    )
}
