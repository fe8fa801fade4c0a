//! The transcript, turn by turn; clicking a turn plays it.

use offhook_services::WhatsAppText;
use std::time::Duration;

use offhook_services::store::Moment;
use serde_json::Value;

use crate::parts::json;
use crate::prelude::*;
use crate::spanish;

/// Separates a tool's arguments from its result in a transcript.
const ANSWERS: &str = ") → ";

/// The name in place of a tool's where the service reports on a WhatsApp message.
const WHATSAPP: &str = "whatsapp";

/// How turns are drawn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turns {
    pub(crate) lang: Lang,
    /// When the call was answered; `None` for text.
    pub(crate) answered_at: Option<Timestamp>,
    /// Whether there is a recording: it begins with the first sound after the answer.
    pub(crate) has_audio: bool,
}

impl Turns {
    /// The turns as items of a list.
    pub(crate) fn items(self, turns: &[Moment]) -> Markup {
        html! { @for turn in turns { (self.item(turn)) } }
    }

    fn item(self, turn: &Moment) -> Markup {
        let role = turn.role.as_deref().unwrap_or("");
        let text = turn.content.as_deref().unwrap_or("");
        html! {
            li.(class(role)) {
                p.who {
                    strong { (who(role, self.lang)) } " "
                    (self.place(turn))
                    @if turn.interrupted == Some(true) {
                        " " span.soft { (self.lang.t("(interrupted)", "(interrumpido)")) }
                    }
                }
                (waited(turn, self.lang))
                (made_by(turn, self.lang))
                @if role == "tool" { (tool(text, self.lang)) } @else { p.said dir="auto" { (text) } }
            }
        }
    }

    /// Where the turn is: in the recording, with a play button; in the call; in a chat, the time.
    fn place(self, turn: &Moment) -> Markup {
        let Some(begins) = self.answered_at else {
            return words::clock(turn.at);
        };
        let into = turn.at.since(begins);
        let place = words::length(into);
        if !self.has_audio {
            return html! { span.soft { (place) } };
        }
        let text = text!(self.lang, "Play from {place}", "Reproducir desde {place}");
        html! { button type="button" data-seek=(seconds(into)) aria-label=(text) title=(text) { "▶ " (place) } }
    }
}

fn seconds(into: Duration) -> String {
    format!("{:.1}", into.as_secs_f64())
}

fn class(role: &str) -> &'static str {
    match role {
        "agent" => "agent",
        "tool" => "tool",
        _ => "user",
    }
}

pub(crate) fn who(role: &str, lang: Lang) -> &'static str {
    match role {
        "agent" => lang.t("Agent", "Agente"),
        "tool" => lang.t("Tool", "Herramienta"),
        _ => lang.t("Customer", "Cliente"),
    }
}

/// The end of each step of a spoken reply, counted from the end of the customer's speech.
fn steps(turn: &Moment) -> Value {
    let latency = turn.latency.as_deref();
    let steps = latency.and_then(|text| serde_json::from_str(text).ok());
    steps.unwrap_or_default()
}

/// How many milliseconds the customer waited for a spoken reply, if it was measured.
pub(super) fn waited_ms(turn: &Moment) -> Option<u64> {
    steps(turn).get("first_frame_ms").and_then(Value::as_u64)
}

/// How long the customer waited for a spoken reply, split into its steps; nothing if it was not measured.
fn waited(turn: &Moment, lang: Lang) -> Markup {
    let steps = steps(turn);
    let until = |name| steps.get(name).and_then(Value::as_u64);
    let Some(whole) = waited_ms(turn) else {
        return html! {};
    };
    let parts = [
        (
            "end_of_turn_ms",
            lang.t(
                "Speech-to-text and end of turn",
                "Voz a texto y fin de turno",
            ),
        ),
        ("first_token_ms", lang.t("Model", "Modelo")),
        (
            "first_sentence_ms",
            lang.t("First sentence", "Primera frase"),
        ),
        ("first_byte_ms", lang.t("Text-to-speech", "Texto a voz")),
        ("first_frame_ms", lang.t("Playout", "Reproducción")),
    ];
    let mut begins = 0;
    let parts = parts.into_iter().filter_map(|(step, name)| {
        let ends = until(step)?.max(begins);
        let place = (name, begins, ends - begins);
        begins = ends;
        Some(place)
    });
    let parts: Vec<_> = parts.collect();
    html! {
        details.latency {
            summary { (lang.t("latency", "latencia")) " " (whole) " ms" }
            svg viewBox={ "0 0 " (whole.max(1)) " 10" } preserveAspectRatio="none" aria-hidden="true" {
                @for (at, (_, begins, took)) in parts.iter().enumerate() {
                    rect class={ "part-" (at) } x=(begins) y="0" width=(took) height="10" {}
                }
            }
            dl {
                @for (at, (name, _, took)) in parts.iter().enumerate() {
                    div { dt { span.key.{ "part-" (at) } {} " " (name) } dd { (took) " ms" } }
                }
            }
        }
    }
}

/// The model that answered, its tokens, the claims that were replaced, and the passages before it; nothing if no model
/// wrote the turn.
fn made_by(turn: &Moment, lang: Lang) -> Markup {
    let source = turn.source.as_deref();
    let source = source.and_then(|text| serde_json::from_str::<Value>(text).ok());
    let Some(source) = source else {
        return html! {};
    };
    let text = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let tokens = source["tokens_in"]
        .as_i64()
        .zip(source["tokens_out"].as_i64());
    let replaced = source["replaced_claims"].as_u64();
    let found = source["passages"].as_array();
    let found = found.into_iter().flatten();
    let found = found.map(|passage| (text(passage, "document"), text(passage, "excerpt")));
    let found: Vec<_> = found.collect();
    let found: Vec<_> = found
        .iter()
        .map(|(document, text)| (&**document, &**text))
        .collect();
    html! {
        div.made-by {
            code { (text(&source, "model")) }
            @if let Some((sent, written)) = tokens.map(|(sent, written)| (words::count(sent), words::count(written))) {
                " · " (text!(lang, "tokens: {sent} in, {written} out", "tokens: {sent} de entrada, {written} de salida"))
            }
            @if let Some(count) = replaced {
                " · " strong { (text!(lang, "unproven claims replaced: {count}", "afirmaciones sin comprobar reemplazadas: {count}")) }
            }
            @if !found.is_empty() { (passages(&found, lang)) }
        }
    }
}

/// Passages that a reply is based on, each with its document's name.
pub(crate) fn passages(found: &[(&str, &str)], lang: Lang) -> Markup {
    html! {
        details {
            summary { (lang.t("Passages used", "Pasajes usados")) ": " (found.len()) }
            @for (document, text) in found { p.hint { strong { (document) } } blockquote dir="auto" { (text) } }
        }
    }
}

/// A tool's arguments and result. Text of another form is shown as it is.
pub(crate) fn tool(text: &str, lang: Lang) -> Markup {
    let Some((name, arguments, answer)) = taken_apart(text) else {
        return html! { pre.wrapped tabindex="0" { (text) } };
    };
    html! {
        details {
            summary { code { (name) } }
            p.hint { (lang.t("Arguments", "Argumentos")) }
            pre.wrapped tabindex="0" { (json::colored(&pretty(arguments))) }
            p.hint { (lang.t("Result", "Resultado")) }
            pre.wrapped tabindex="0" { (json::colored(&answered(name, answer, lang))) }
        }
    }
}

/// A tool's result. Reports on WhatsApp messages are the service's own text.
fn answered(name: &str, answer: &str, lang: Lang) -> String {
    match name {
        WHATSAPP => spanish::written::<WhatsAppText>(answer, lang).into_owned(),
        _ => pretty(answer),
    }
}

/// Name, arguments and result. The separator may be in the arguments as well: they end where they are valid JSON.
fn taken_apart(text: &str) -> Option<(&str, &str, &str)> {
    let (name, rest) = text.split_once('(')?;
    let ends = rest.match_indices(ANSWERS).map(|(end, _)| end);
    let is_json = |end: &usize| serde_json::from_str::<Value>(&rest[..*end]).is_ok();
    // Long arguments were cut, and are not valid JSON.
    let end = ends.clone().find(is_json).or_else(|| ends.clone().next())?;
    Some((name, &rest[..end], &rest[end + ANSWERS.len()..]))
}

fn pretty(text: &str) -> String {
    let read = serde_json::from_str::<Value>(text).ok();
    let printed = read.and_then(|value| serde_json::to_string_pretty(&value).ok());
    printed.unwrap_or_else(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(role: &str, text: &str) -> Moment {
        Moment {
            seq: 1,
            at: Timestamp::from_micros(6_500_000),
            state: None,
            role: Some(role.to_owned()),
            content: Some(text.to_owned()),
            duration_ms: Some(900),
            interrupted: Some(true),
            latency: Some(r#"{"first_byte_ms":300,"first_frame_ms":412}"#.to_owned()),
            source: None,
        }
    }

    fn drawn(turn: Moment, answered_at: Option<Timestamp>, has_audio: bool) -> String {
        let turns = Turns {
            lang: Lang::En,
            answered_at,
            has_audio,
        };
        turns.items(&[turn]).into_string()
    }

    #[test]
    fn a_turn_is_heard_from_where_it_stands_in_the_recording() {
        let begins = Some(Timestamp::from_micros(1_000_000));
        let html = drawn(turn("agent", "Hello <b>you</b>"), begins, true);
        assert!(html.contains(r#"data-seek="5.5""#), "{html}");
        assert!(html.contains("Hello &lt;b&gt;you&lt;/b&gt;"), "{html}");
        assert!(
            html.contains("(interrupted)") && html.contains("412 ms"),
            "{html}"
        );
        // Steps that were not measured are left out.
        assert!(html.contains("Text-to-speech</dt><dd>300 ms"), "{html}");
        assert!(html.contains("Playout</dt><dd>112 ms"), "{html}");
        let html = drawn(turn("user", "Hi"), begins, false);
        assert!(
            html.contains("0:05") && !html.contains("data-seek"),
            "{html}"
        );
        let html = drawn(turn("user", "Hi"), None, false);
        assert!(html.contains("<time"), "{html}");
    }

    #[test]
    fn a_turn_shows_how_many_claims_were_replaced() {
        let source = r#"{"provider":"local","model":"small","passages":[],"replaced_claims":2}"#;
        let mut replaced = turn("agent", "I have not been able to confirm that yet.");
        replaced.source = Some(source.to_owned());
        let html = drawn(replaced, None, false);
        assert!(html.contains("unproven claims replaced: 2"), "{html}");
    }

    #[test]
    fn a_tools_turn_shows_its_question_and_its_answer() {
        let text = r#"look({"x":"(1) → "}) → {"found":2}"#;
        assert_eq!(
            taken_apart(text),
            Some(("look", r#"{"x":"(1) → "}"#, r#"{"found":2}"#))
        );
        assert_eq!(
            taken_apart(r#"look({"x":…) → no"#),
            Some(("look", r#"{"x":…"#, "no"))
        );
        assert_eq!(taken_apart("free text"), None);
        let html = drawn(turn("tool", text), None, false);
        assert!(html.contains("&quot;found&quot;</span>: "), "{html}");
    }
}
