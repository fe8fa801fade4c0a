//! The recording: a player, its waveform, and where it is downloaded.

use std::fmt::Write as _;

use actix_web::http::header::{CACHE_CONTROL, HeaderValue};
use offhook_services::Waveform;
use offhook_services::store::Conversation;

use crate::prelude::*;

/// Half the height of a waveform.
const HALF: u32 = 50;

const SPEEDS: [&str; 4] = ["1", "1.25", "1.5", "2"];

pub(super) fn recording(conversation: &Conversation, lang: Lang) -> Markup {
    let path = format!("{PATH}/conversations/{}", conversation.id);
    if conversation.has_audio {
        let id = conversation.id;
        return html! {
            audio controls preload="metadata" src={ (path) "/audio" } {}
            div hx-get={ (path) "/waveform" } hx-trigger="load" hx-swap="outerHTML" {}
            // Needs the script.
            div.speeds hidden role="group" aria-label=(lang.t("Speed", "Velocidad")) {
                @for speed in SPEEDS {
                    button type="button" data-speed=(speed) aria-pressed=(if speed == "1" { "true" } else { "false" }) { (speed) "×" }
                }
            }
            p.hint { (lang.t(
                "Select a turn's time to play from there.",
                "Elige el tiempo de un turno para reproducir desde ahí.",
            )) }
            p { a href={ (path) "/audio" } download={ (id) ".wav" } { (lang.t("Download (WAV)", "Descargar (WAV)")) } }
        };
    }
    let is_over = conversation.state.is_terminal();
    let text = match (conversation.voice, is_over) {
        (false, _) => lang.t("A chat has no recording.", "Un chat no tiene grabación."),
        (true, false) => lang.t(
            "If the agent records calls, the recording appears here after this call ends.",
            "Si el agente graba llamadas, la grabación aparece aquí cuando termine esta.",
        ),
        (true, true) if conversation.answered_at.is_none() => lang.t(
            "No recording: the call was not answered.",
            "Sin grabación: la llamada no se contestó.",
        ),
        (true, true) => lang.t(
            "No recording: the agent does not record calls.",
            "Sin grabación: el agente no graba llamadas.",
        ),
    };
    html! { p.hint { (text) } }
}

/// `GET /portal/conversations/{id}/audio`
pub(super) async fn audio(visit: Visit<Viewer>) -> Answer {
    let id: ConversationId = visit.id("id")?;
    let conversations = visit.services().conversations();
    let found = conversations.recording(visit.caller(), id).await?;
    let recording = found.ok_or_else(Trouble::not_found)?;
    let headers = visit.request().headers();
    Ok(offhook_http::send_recording(id, recording, headers).await?)
}

/// `GET /portal/conversations/{id}/waveform`: drawn from the whole recording, which never changes, so that browsers keep it.
pub(super) async fn waveform(visit: Visit<Viewer>) -> Answer {
    let id: ConversationId = visit.id("id")?;
    let conversations = visit.services().conversations();
    let found = conversations.waveform(&visit.person, id).await?;
    let waveform = found.ok_or_else(Trouble::not_found)?;
    let mut answer = visit.part(&draw(&waveform, visit.lang()));
    let kept = HeaderValue::from_static("private, max-age=86400");
    answer.headers_mut().insert(CACHE_CONTROL, kept);
    Ok(answer)
}

fn draw(waveform: &Waveform, lang: Lang) -> Markup {
    let parts = waveform.sides.first().map_or(0, Vec::len);
    let label = lang.t(
        "Loudness over time: the customer above, the agent below",
        "Volumen en el tiempo: arriba el cliente, abajo el agente",
    );
    html! {
        figure.waveform data-waveform="" {
            svg viewBox={ "0 0 " (parts) " " (2 * HALF) } preserveAspectRatio="none" role="img" aria-label=(label) {
                @for (side, peaks) in waveform.sides.iter().enumerate() {
                    path class=(if side == 0 { "caller" } else { "agent" }) d=(path(peaks, side == 0)) {}
                }
                line.playhead x1="0" x2="0" y1="0" y2=(2 * HALF) {}
            }
            figcaption.hint {
                span.key.caller { (lang.t("Customer", "Cliente")) } " "
                @if waveform.sides.len() > 1 { span.key.agent { (lang.t("Agent", "Agente")) } " " }
                (words::length(std::time::Duration::from_secs(waveform.seconds)))
            }
        }
    }
}

/// A bar from the middle for each part, upward or downward.
fn path(peaks: &[u8], is_up: bool) -> String {
    let mut path = String::new();
    for (at, peak) in peaks.iter().enumerate().filter(|(_, peak)| **peak > 0) {
        let height = (u32::from(*peak) * HALF).div_ceil(100);
        let sign = if is_up { "-" } else { "" };
        // Writing to a string does not fail.
        let _ = write!(path, "M{at} {HALF}v{sign}{height}h1V{HALF}z");
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_customer_is_drawn_above_the_agent() {
        let waveform = Waveform {
            seconds: 65,
            sides: vec![vec![0, 100], vec![50, 0]],
        };
        let html = draw(&waveform, Lang::En).into_string();
        assert!(
            html.contains(r#"class="caller" d="M1 50v-50h1V50z""#),
            "{html}"
        );
        assert!(
            html.contains(r#"class="agent" d="M0 50v25h1V50z""#),
            "{html}"
        );
        assert!(html.contains("1:05"), "{html}");
    }
}
