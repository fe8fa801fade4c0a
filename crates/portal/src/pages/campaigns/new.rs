//! A new campaign: who calls, how fast, when, and how often.

use std::cell::RefCell;

use offhook_domain::body::Body as _;
use offhook_services::bodies::CampaignRequest;

use super::callers;
use crate::pages::agents::control::{Fault, Sheet, says, span};
use crate::pages::agents::document::{at, line, number, plain, set};
use crate::pages::agents::saving::all_of;
use crate::pages::batches::number_named;
use crate::pages::dialing::rules::window_of;
use crate::parts::agent_choice::AgentChoice;
use crate::parts::words::days;
use crate::prelude::*;
use crate::visit::first;

/// The most numbers that a choice offers.
const NUMBERS: u32 = 300;

/// The hours, by their path in the body.
const WINDOW: &str = "settings.window";

/// Numbers and words of the settings, by their paths in the body.
const SETTINGS: [&str; 11] = [
    "settings.calls_per_minute",
    "settings.live_percent",
    "settings.retries.most_attempts",
    "settings.retries.busy",
    "settings.retries.no_answer",
    "settings.retries.voicemail",
    "settings.retries.rejected",
    "settings.retries.silent",
    "settings.retries.failed",
    "settings.breaker.failure_percent",
    "settings.breaker.calls",
];

/// Minutes after which a form offers to call again.
const MINUTES: [i64; 7] = [5, 15, 30, 60, 120, 240, 1_440];

pub(super) const fn title(t: Lang) -> &'static str {
    t.t("Create campaign", "Crear campaña")
}

/// `GET /portal/campaigns/new`
pub(super) async fn form(visit: Visit<Developer>) -> Answer {
    let body = page(&visit, &usual(), &[]).await?;
    Ok(visit.page(Section::Campaigns, title(visit.lang()), &body))
}

/// `POST /portal/campaigns/new`
pub(super) async fn create(post: Post<Developer>) -> Answer {
    let faults = faults(&post.fields).into_iter();
    let messages = faults.map(|fault| post.message_of(fault, &[]));
    let mut messages: Vec<String> = messages.collect::<Result<_>>()?;
    if messages.is_empty() {
        let campaigns = post.services().campaigns();
        match campaigns.create(post.caller(), &body(&post.fields)).await {
            Ok(campaign) => {
                let path = format!("/campaigns/{}", campaign.id);
                let message = post.t(
                    "Campaign created. Add its recipients.",
                    "Campaña creada. Agrega sus destinatarios.",
                );
                return post
                    .done("campaign.create", campaign.id, &path, message)
                    .await;
            }
            Err(error) => messages.push(post.message_of(error, &[])?),
        }
    }
    let body = page(&post, &post.fields, &messages).await?;
    Ok(post.refused(Section::Campaigns, title(post.lang()), &body))
}

/// The fields of a form that nobody has filled in.
fn usual() -> Fields {
    let stored = CampaignSettings::default().to_stored();
    let settings = Json::parse(stored.as_bytes()).unwrap_or(Json::Null);
    let body = Json::object([("settings", settings)]);
    let mut fields = Fields::default();
    for path in SETTINGS {
        fields.push(path, &at(&body, path).map(plain).unwrap_or_default());
    }
    for (name, value) in [("start", "09:00"), ("end", "18:00")] {
        fields.push(&format!("{WINDOW}.{name}"), value);
    }
    for day in ["1", "2", "3", "4", "5"] {
        fields.push(&format!("{WINDOW}.days"), day);
    }
    fields
}

fn body(fields: &Fields) -> Json {
    let mut body = Json::Object(Vec::new());
    for name in ["name", "agent_id", "phone_number_id"] {
        set(&mut body, name, line(fields.text(name)));
    }
    for path in SETTINGS {
        set(&mut body, path, number(fields.text(path)));
    }
    set(&mut body, WINDOW, window_of(fields, WINDOW));
    body
}

/// Everything that is wrong with a form: a refused field is taken as usual, and the rest is read again.
fn faults(fields: &Fields) -> Vec<FieldError> {
    let (mut fields, mut usual, mut faults) = (fields.clone(), usual(), Vec::new());
    usual.push("name", "-");
    usual.push("agent_id", "-");
    usual.push("phone_number_id", "");
    while let Err(fault) = CampaignRequest::of(&body(&fields), &()) {
        let is_it = |name: &str| fault.path.split('[').next() == Some(name);
        let known = usual.iter().find(|(name, _)| is_it(name));
        let known = known.map(|(name, value)| (name.to_owned(), value.to_owned()));
        faults.push(fault);
        // A field that is refused as usual would be refused forever.
        match known {
            Some((name, value)) if fields.raw(&name) != value => fields.set(&name, &value),
            _ => break,
        }
    }
    faults
}

async fn page(visitor: &Visitor, fields: &Fields, messages: &[String]) -> Result<Markup> {
    let t = visitor.lang();
    let agents = callers(visitor, Some(AgentStatus::Active)).await?;
    if agents.is_empty() {
        return Ok(list::empty(
            t.t("No active agent", "Ningún agente activo"),
            t.t(
                "A campaign calls with an active agent that was created here. Create and publish one first.",
                "Una campaña llama con un agente activo creado aquí. Primero crea uno y publícalo.",
            ),
            Some(("/agents/new", t.t("Create agent", "Crear agente"))),
        ));
    }
    let mut fields = fields.clone();
    if let (None, Some(agent)) = (fields.get("agent_id"), agents.shown("")) {
        fields.set("agent_id", &agent.to_string());
    }
    let numbers = visitor.services().numbers();
    let numbers = numbers.list(visitor.account(), None, first(NUMBERS));
    let numbers = numbers.await?.items;
    let sheet = Sheet {
        lang: t,
        fields: &fields,
        faults: Fault::all_of(messages, &fields),
        add: "",
        groups: RefCell::default(),
        refused: RefCell::default(),
    };
    let numbers = numbers.iter().filter(|number| number.is_proven);
    let usual = (
        String::new(),
        t.t("Agent's number", "Número del agente").to_owned(),
    );
    let numbers: Vec<_> = [usual]
        .into_iter()
        .chain(numbers.map(number_named))
        .collect();
    let agent = says(
        t.t("Agent", "Agente"),
        t.t(
            "Each call uses the version that is published then.",
            "Cada llamada usa la versión que esté publicada en ese momento.",
        ),
    );
    let agent = match agents.options() {
        Some(options) => sheet.choice("agent_id", agent, &borrowed(&options)),
        None => sheet.line("agent_id", says(agent.label, AgentChoice::typed(t))),
    };
    // Drawn before the links to its controls.
    let controls = html! {
        (sheet.line("name", says(t.t("Name", "Nombre"), "")))
        (agent)
        (sheet.choice("phone_number_id", says(t.t("Number to call from", "Número desde el que se llama"), ""), &borrowed(&numbers)))
        (pace(&sheet))
        (hours(&sheet))
        (retries(&sheet))
        (breaker(&sheet))
        p { button.primary type="submit" { (title(t)) } }
    };
    let links = sheet.links(messages);
    Ok(html! {
        p { (t.t(
            "You add the recipients next, see what they would cost, and then start the campaign.",
            "Después agregas los destinatarios, ves cuánto costarían y comienzas la campaña.",
        )) }
        (all_of(t, &links))
        (form::kept(visitor, "/campaigns/new", &controls))
    })
}

fn borrowed(options: &[(String, String)]) -> Vec<(&str, &str)> {
    let options = options.iter();
    options.map(|(value, text)| (&**value, &**text)).collect()
}

fn pace(sheet: &Sheet<'_>) -> Markup {
    let t = sheet.lang;
    let per_minute = span([1.0, 600.0], 1.0, 60.0, t.t("per minute", "por minuto"));
    html! {
        fieldset {
            legend { (t.t("Pace", "Ritmo")) }
            (sheet.slider("settings.calls_per_minute", per_minute, says(t.t("Calls per minute", "Llamadas por minuto"), t.t(
                "Calls begun in a minute, at most: 1 to 6,000.", "Llamadas que comienzan en un minuto, como máximo: de 1 a 6,000."))))
            (sheet.slider("settings.live_percent", span([1.0, 100.0], 1.0, 50.0, "%"), says(t.t("Share of live calls", "Parte de las llamadas en vivo"), t.t(
                "Of the live calls of your plan, 1 to 100%. A tenth always stays free for single calls.",
                "De las llamadas en vivo de tu plan, de 1 a 100%. Una décima parte siempre queda libre para llamadas sueltas."))))
        }
    }
}

fn hours(sheet: &Sheet<'_>) -> Markup {
    let t = sheet.lang;
    let of = |name: &str| format!("{WINDOW}.{name}");
    let days = days(t).into_iter().zip(1_u8..);
    let days: Vec<_> = days
        .map(|(name, day)| (day.to_string(), name.to_owned()))
        .collect();
    html! {
        fieldset {
            legend { (t.t("Hours", "Horario")) }
            (sheet.ticks(&of("days"), t.t("Days", "Días"), &days))
            div.pairs {
                (sheet.time(&of("start"), says(t.t("From", "Desde"), "")))
                (sheet.time(&of("end"), says(t.t("To", "Hasta"), "")))
            }
            p.hint { (t.t(
                "In each recipient's own time zone; if the end is earlier than the start, the hours cross midnight. Clear all of them to follow only your account's calling rules, which always apply too.",
                "En la zona horaria de cada destinatario; si el fin es antes del inicio, el horario cruza la medianoche. Vacía todo para seguir solo las reglas de llamada de tu cuenta, que siempre se aplican también.")) }
        }
    }
}

/// The outcomes after which a call may be repeated, by their paths in the body.
pub(super) const fn repeated(t: Lang) -> [(&'static str, &'static str); 6] {
    [
        ("settings.retries.busy", t.t("Busy line", "Línea ocupada")),
        (
            "settings.retries.no_answer",
            t.t("No answer", "Nadie contestó"),
        ),
        (
            "settings.retries.voicemail",
            t.t("Voicemail", "Buzón de voz"),
        ),
        (
            "settings.retries.rejected",
            t.t("Declined call", "Llamada rechazada"),
        ),
        (
            "settings.retries.silent",
            t.t("Answered without a word", "Contestó sin hablar"),
        ),
        ("settings.retries.failed", t.t("Error", "Error")),
    ]
}

fn retries(sheet: &Sheet<'_>) -> Markup {
    let t = sheet.lang;
    let later = MINUTES.map(|minutes| (minutes.to_string(), after(minutes, t)));
    let words = [("never", never(t)), ("next_window", next_window(t))];
    let words = words.map(|(word, text)| (word.to_owned(), text.to_owned()));
    let options: Vec<_> = words.into_iter().chain(later).collect();
    html! {
        fieldset {
            legend { (t.t("Retries", "Reintentos")) }
            (sheet.slider("settings.retries.most_attempts", span([1.0, 10.0], 1.0, 3.0, ""), says(t.t("Calls to one recipient", "Llamadas a un destinatario"), t.t(
                "At most, with the first one: 1 to 10.", "Como máximo, contando la primera: de 1 a 10."))))
            div.pairs {
                @for (path, label) in repeated(t) { (sheet.choice(path, says(label, ""), &borrowed(&options))) }
            }
            p.hint { (t.t(
                "The hours open next as set above; without hours, that is a day later.",
                "El horario se abre según lo de arriba; sin horario, eso es un día después.",
            )) }
        }
    }
}

const fn never(t: Lang) -> &'static str {
    t.t("Not called again", "No se llama de nuevo")
}

pub(super) const fn next_window(t: Lang) -> &'static str {
    t.t("When the hours open next", "Cuando se abra el horario")
}

/// So many minutes later, in the largest unit that they fill.
pub(super) fn after(minutes: i64, t: Lang) -> String {
    match minutes {
        1_440 => t.t("After a day", "Después de un día").to_owned(),
        60 => t.t("After 1 hour", "Después de 1 hora").to_owned(),
        _ if minutes % 60 == 0 => {
            let hours = minutes / 60;
            text!(t, "After {hours} hours", "Después de {hours} horas")
        }
        _ => text!(t, "After {minutes} minutes", "Después de {minutes} minutos"),
    }
}

fn breaker(sheet: &Sheet<'_>) -> Markup {
    let t = sheet.lang;
    html! {
        fieldset {
            legend { (t.t("Pause when calls fail", "Pausar si las llamadas fallan")) }
            (sheet.slider("settings.breaker.failure_percent", span([0.0, 100.0], 5.0, 50.0, "%"), says(t.t("Failed calls", "Llamadas fallidas"), t.t(
                "Failed, declined and misdirected calls that pause the campaign: 0 to 100%. 0 never pauses it.",
                "Llamadas fallidas, rechazadas o a números inválidos que pausan la campaña: de 0 a 100%. Con 0 nunca se pausa."))))
            (sheet.slider("settings.breaker.calls", span([5.0, 1_000.0], 5.0, 20.0, t.t("calls", "llamadas")), says(t.t("Of the latest", "De las últimas"), t.t(
                "Calls that are judged together: 5 to 1,000.", "Llamadas que se evalúan juntas: de 5 a 1,000."))))
        }
    }
}
