//! The delivery of WhatsApp messages.

use offhook_services::WhatsAppText;
use offhook_services::store::Conversation;

use crate::prelude::*;
use crate::spanish::written;

/// The status of each message sent to the customer; nothing for other channels.
pub(super) async fn messages(visitor: &Visitor, conversation: &Conversation) -> Result<Markup> {
    if conversation.channel != Some(Channel::Whatsapp) {
        return Ok(html! {});
    }
    let lang = visitor.lang();
    let whatsapp = visitor.services().whatsapp();
    let sent = whatsapp.sent(visitor.account(), conversation.id).await?;
    let caption = lang.t("Messages sent", "Mensajes enviados");
    Ok(html! {
        @if !sent.is_empty() {
            section.panel {
                h2 { (caption) }
                (Table::of(caption, &sent)
                    .column(lang.t("Written", "Escrito"), |sent| words::when(sent.queued_at))
                    .column(lang.t("Message", "Mensaje"), |sent| html! {
                        @let (tone, word) = label(sent.status, lang);
                        (words::badge(tone, word))
                        @if let Some(failure) = &sent.failure { " " span.soft { (written::<WhatsAppText>(failure, lang)) } }
                        @if sent.updated_at != sent.queued_at {
                            p.hint { (lang.t("since", "desde")) " " (words::when(sent.updated_at)) }
                        }
                    }))
            }
        }
    })
}

const fn label(status: SentStatus, lang: Lang) -> (Tone, &'static str) {
    match status {
        SentStatus::Queued => (Tone::Busy, lang.t("Waiting", "En espera")),
        SentStatus::Sending => (Tone::Busy, lang.t("Sending", "Enviándose")),
        SentStatus::Unknown => (Tone::Bad, lang.t("Unknown", "Se desconoce")),
        SentStatus::Accepted => (Tone::Busy, lang.t("Accepted", "Aceptado")),
        SentStatus::Sent => (Tone::Good, lang.t("Sent", "Enviado")),
        SentStatus::Delivered => (Tone::Good, lang.t("Delivered", "Entregado")),
        SentStatus::Read => (Tone::Good, lang.t("Read", "Leído")),
        SentStatus::Failed => (Tone::Bad, lang.t("Failed", "Falló")),
    }
}
