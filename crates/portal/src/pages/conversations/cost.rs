//! What a conversation costs, part by part, and what is not charged.

use std::time::Duration;

use offhook_services::store::Conversation;
use offhook_services::{Cost, ModelKind, SoFar};

use crate::prelude::*;

/// A line of the calculation, in thousandths of a credit.
struct Line {
    name: &'static str,
    more: Markup,
    thousandths: i64,
}

pub(super) async fn of(
    visitor: &Visitor,
    conversation: &Conversation,
    so_far: &SoFar,
) -> Result<Markup> {
    let lang = visitor.lang();
    let caption = lang.t("Cost", "Costo");
    if !conversation.state.is_terminal() {
        return Ok(html! {
            h2 { (caption) }
            p.hint { (lang.t("Split into its parts when the conversation ends.", "Se desglosa cuando termine la conversación.")) }
        });
    }
    let conversations = visitor.services().conversations();
    let cost = conversations.cost(conversation, so_far).await?;
    let lines = lines(conversation, &cost, lang);
    Ok(html! {
        h2 { (caption) }
        @if cost.seconds > 0 && conversation.price() > Price::default() {
            (Table::of(caption, &lines)
                .column(lang.t("Part", "Parte"), |line| line.name)
                .column(lang.t("Price", "Precio"), |line| &line.more)
                .number(lang.t("Credits", "Créditos"), |line| exact(line.thousandths)))
            p.hint { (charged_for(conversation, &cost, lang)) }
        } @else {
            p.hint { (nothing_charged(conversation, &cost, lang)) }
        }
        details.uncharged {
            summary { (lang.t("Not charged", "No se cobra")) }
            dl.facts { @for (name, why) in uncharged(conversation, &cost, lang) { (list::fact(name, why)) } }
        }
    })
}

/// The parts, what rounding or cheaper models change, and the charge.
fn lines(conversation: &Conversation, cost: &Cost, lang: Lang) -> Vec<Line> {
    let of = |price: Price| price.millicredits_per_minute().saturating_mul(cost.seconds) / 60;
    let per_minute = |price: Price| text!(lang, "{price} per minute", "{price} por minuto");
    let charged = cost
        .parts
        .iter()
        .filter(|part| part.price != Price::default());
    let parts = charged.map(|part| Line {
        name: kind(part.kind, lang),
        more: html! { code { (part.provider) " / " (part.model) } " · " (per_minute(part.price)) },
        thousandths: of(part.price),
    });
    let mut lines: Vec<Line> = parts.collect();
    let whole = conversation.price();
    if cost.parts.is_empty() && whole != Price::default() {
        let name = match conversation.runtime {
            Runtime::Legacy => lang.t("ElevenLabs agent", "Agente de ElevenLabs"),
            Runtime::Engine => lang.t("Models and speech", "Modelos y voz"),
        };
        lines.push(Line {
            name,
            more: html! { (per_minute(whole)) },
            thousandths: of(whole),
        });
    }
    let charge = cost.credits.saturating_mul(1_000);
    let rest = charge - lines.iter().map(|line| line.thousandths).sum::<i64>();
    let (name, more) = match cost.credits < whole.of_seconds(cost.seconds) {
        true => (
            lang.t("Cheaper models", "Modelos más baratos"),
            lang.t(
                "in use for part of the time",
                "en uso durante una parte del tiempo",
            ),
        ),
        false => (
            lang.t("Rounding", "Redondeo"),
            lang.t("up to whole credits", "a créditos enteros"),
        ),
    };
    if rest != 0 {
        lines.push(Line {
            name,
            more: html! { (more) },
            thousandths: rest,
        });
    }
    lines.push(Line {
        name: lang.t("Charged", "Cobrado"),
        more: html! {},
        thousandths: charge,
    });
    lines
}

/// Thousandths of a credit as credits.
fn exact(thousandths: i64) -> String {
    let price = Price::from_millicredits_per_minute(thousandths.abs());
    match thousandths {
        0 => "0".to_owned(),
        ..0 => format!("-{price}"),
        _ if thousandths % 1_000 == 0 => words::count(thousandths / 1_000),
        _ => price.to_string(),
    }
}

const fn kind(kind: ModelKind, lang: Lang) -> &'static str {
    match kind {
        ModelKind::Llm => lang.t("Language model", "Modelo de lenguaje"),
        ModelKind::Stt => lang.t("Speech-to-text", "Voz a texto"),
        ModelKind::Tts => lang.t("Text-to-speech", "Texto a voz"),
    }
}

/// The time that the prices are multiplied by.
fn charged_for(conversation: &Conversation, cost: &Cost, lang: Lang) -> Markup {
    let seconds = u64::try_from(cost.seconds).unwrap_or(0);
    let time = words::length(Duration::from_secs(seconds));
    let is_one = cost.parts.is_empty() && conversation.runtime == Runtime::Engine;
    html! {
        @if conversation.voice {
            (text!(lang, "For {time}, from the answer to the end.", "Por {time}, desde que se contestó hasta el final."))
        } @else {
            (text!(lang, "For {time}: 15 seconds for each answer, however long the customer took.",
                "Por {time}: 15 segundos por respuesta, sin importar cuánto tardó el cliente."))
        }
        @if is_one {
            " " (lang.t("Prices have changed since it began: the one that was fixed then is shown as a whole.",
                "Los precios cambiaron desde que empezó: el que se fijó entonces se muestra completo."))
        }
    }
}

fn nothing_charged(conversation: &Conversation, cost: &Cost, lang: Lang) -> &'static str {
    match (cost.seconds > 0, conversation.voice) {
        (true, _) => lang.t(
            "Nothing was charged: everything that it used is free.",
            "No se cobró nada: todo lo que usó es gratis.",
        ),
        (false, true) => lang.t(
            "Nothing was charged: it was not answered.",
            "No se cobró nada: no la contestaron.",
        ),
        (false, false) => lang.t(
            "Nothing was charged: the agent answered no message.",
            "No se cobró nada: el agente no respondió ningún mensaje.",
        ),
    }
}

/// What costs no credits, and why.
fn uncharged(
    conversation: &Conversation,
    cost: &Cost,
    lang: Lang,
) -> Vec<(&'static str, &'static str)> {
    let line = match conversation.channel {
        _ if conversation.line.simulated => lang.t(
            "The phone network is simulated; nobody was called.",
            "La red telefónica es simulada; no se llamó a nadie.",
        ),
        _ if conversation.runtime == Runtime::Legacy => lang.t(
            "Part of the price of the ElevenLabs agent.",
            "Es parte del precio del agente de ElevenLabs.",
        ),
        Some(Channel::WidgetVoice) => lang.t(
            "It was spoken through a web page, without a phone line.",
            "Se habló por una página web, sin línea telefónica.",
        ),
        Some(Channel::Whatsapp) => lang.t(
            "Meta bills WhatsApp messages to the owner of the number.",
            "Meta cobra los mensajes de WhatsApp al dueño del número.",
        ),
        _ if conversation.voice => lang.t(
            "Your phone provider bills the line itself.",
            "Tu proveedor telefónico cobra la línea por su cuenta.",
        ),
        _ => lang.t(
            "It was written, without a phone line.",
            "Fue por escrito, sin línea telefónica.",
        ),
    };
    let free = cost
        .parts
        .iter()
        .filter(|part| part.price == Price::default());
    let free = free.map(|part| {
        let why = lang.t(
            "Its price is 0, as that of any model on your own server.",
            "Su precio es 0, como el de cualquier modelo en tu propio servidor.",
        );
        (kind(part.kind, lang), why)
    });
    let included = [
        (lang.t("Telephony", "Telefonía"), line),
        (
            lang.t("Summary and analysis", "Resumen y análisis"),
            lang.t(
                "Included in the price of the language model.",
                "Incluidos en el precio del modelo de lenguaje.",
            ),
        ),
        (
            lang.t("Tools and knowledge", "Herramientas y conocimiento"),
            lang.t(
                "Tools are free; knowledge is part of the plan's Engine module.",
                "Las herramientas son gratis; el conocimiento es parte del módulo Engine del plan.",
            ),
        ),
    ];
    free.chain(included).collect()
}
