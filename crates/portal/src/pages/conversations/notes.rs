//! Members' notes on a conversation.

use crate::prelude::*;

/// The notes, and the form of a new one.
pub(super) async fn of(visitor: &Visitor, id: ConversationId) -> Result<Markup> {
    let lang = visitor.lang();
    let notes = visitor.services().conversations().notes(id).await?;
    let member = &visitor.person.member;
    let may_write = visitor.may(MemberRole::Developer);
    Ok(html! {
        section #notes {
            h2 { (lang.t("Notes", "Notas")) }
            @if notes.is_empty() && !may_write { p.hint { (lang.t("No notes.", "Sin notas.")) } }
            @for note in &notes {
                article.note {
                    p.who {
                        strong { (note.author) } " " span.soft { (words::when(note.created_at)) }
                        @if may_write && (note.member_id == member.id || visitor.may(MemberRole::Admin)) {
                            " "
                            (form::form(visitor, &format!("/conversations/{id}/notes/{}/delete", note.id), &html! {
                                button type="submit" aria-label=(lang.t("Delete note", "Eliminar la nota")) { "×" }
                            }))
                        }
                    }
                    p.said dir="auto" { (note.text) }
                }
            }
            @if may_write {
                (form::form(visitor, &format!("/conversations/{id}/notes"), &html! {
                    (Input::text("text", lang.t("New note", "Nota nueva")).rows(3).required())
                    button type="submit" { (lang.t("Add note", "Agregar nota")) }
                }))
            }
        }
    })
}

/// `POST /portal/conversations/{id}/notes`
pub(super) async fn add(post: Post<Developer>) -> Answer {
    let id: ConversationId = post.id("id")?;
    let path = format!("/conversations/{id}");
    let body = Json::object([("text", Json::from(post.fields.text("text")))]);
    let conversations = post.services().conversations();
    match conversations.add_note(&post.person, id, &body).await {
        Ok(()) => {
            let message = post.t("Note added.", "Nota agregada.");
            post.done("note.add", id, &path, message).await
        }
        Err(error) => {
            let labels = [("text", post.t("New note", "Nota nueva"))];
            let message = post.message_of(error, &labels)?;
            Ok(post.go(&path, &message))
        }
    }
}

/// `POST /portal/conversations/{id}/notes/{note}/delete`
pub(super) async fn delete(post: Post<Developer>) -> Answer {
    let id: ConversationId = post.id("id")?;
    let note: NoteId = post.id("note")?;
    let conversations = post.services().conversations();
    conversations.delete_note(&post.person, id, note).await?;
    let message = post.t("Note deleted.", "Nota eliminada.");
    post.done("note.delete", id, &format!("/conversations/{id}"), message)
        .await
}
