//! How the messages of a conversation on WhatsApp fare.

use maud::{Markup, html};
use offhook_domain::{Channel, SentStatus};
use offhook_services::store::{Conversation, WhatsAppSent};

use super::detail::named;
use crate::lang::Lang;
use crate::parts::words::{self, Tone};
use crate::spanish::written;
use crate::trouble::Result;
use crate::visit::Visitor;

/// What became of each message that the customer was sent; nothing for other channels.
pub(super) async fn messages(visitor: &Visitor, conversation: &Conversation) -> Result<Markup> {
    if conversation.channel != Some(Channel::Whatsapp) {
        return Ok(html! {});
    }
    let lang = visitor.lang();
    let whatsapp = visitor.services().whatsapp();
    let sent = whatsapp.sent(visitor.account(), conversation.id).await?;
    if sent.is_empty() {
        return Ok(html! {});
    }
    let rows: Vec<Markup> = sent.iter().map(|sent| row(sent, lang)).collect();
    let heads = [lang.t("Written", "Escrito"), lang.t("Message", "Mensaje")];
    Ok(named(
        lang.t("Messages sent", "Mensajes enviados"),
        &heads,
        &rows,
    ))
}

fn row(sent: &WhatsAppSent, lang: Lang) -> Markup {
    let (tone, word) = told(sent.status, lang);
    html! {
        tr {
            td { (words::when(sent.queued_at)) }
            td {
                (words::badge(tone, word))
                @if let Some(failure) = &sent.failure { " " span.soft { (written(failure, lang)) } }
                @if sent.updated_at != sent.queued_at {
                    p.hint { (lang.t("since", "desde")) " " (words::when(sent.updated_at)) }
                }
            }
        }
    }
}

const fn told(status: SentStatus, lang: Lang) -> (Tone, &'static str) {
    match status {
        SentStatus::Queued => (Tone::Busy, lang.t("Waiting", "En espera")),
        SentStatus::Sending => (Tone::Busy, lang.t("Being sent", "Enviándose")),
        SentStatus::Unknown => (Tone::Bad, lang.t("Not known", "Se desconoce")),
        SentStatus::Accepted => (Tone::Busy, lang.t("Taken over", "Aceptado")),
        SentStatus::Sent => (Tone::Good, lang.t("Sent", "Enviado")),
        SentStatus::Delivered => (Tone::Good, lang.t("Delivered", "Entregado")),
        SentStatus::Read => (Tone::Good, lang.t("Read", "Leído")),
        SentStatus::Failed => (Tone::Bad, lang.t("Failed", "Falló")),
    }
}
