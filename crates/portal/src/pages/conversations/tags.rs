//! Members' tags on a conversation.

use crate::prelude::*;

/// The id of the list of suggestions.
const KNOWN: &str = "known-tags";

/// The tags, each of which leads to the conversations that have it, and the form that adds one.
pub(super) async fn of(visitor: &Visitor, id: ConversationId) -> Result<Markup> {
    let lang = visitor.lang();
    let conversations = visitor.services().conversations();
    let tags = conversations.tags(vec![id]).await?;
    let tags = tags.get(&id).map(Vec::as_slice).unwrap_or_default();
    let may_write = visitor.may(MemberRole::Developer);
    let known = match may_write {
        true => suggestions(visitor).await?,
        false => html! {},
    };
    Ok(html! {
        @if may_write || !tags.is_empty() {
            div.tags #tags role="group" aria-label=(lang.t("Tags", "Etiquetas")) {
                @for tag in tags {
                    span.tag {
                        (link(tag))
                        @if may_write {
                            (form::form(visitor, &format!("/conversations/{id}/tags/delete"), &html! {
                                input type="hidden" name="tag" value=(tag);
                                button type="submit" aria-label={ (lang.t("Remove tag", "Quitar la etiqueta")) " " (tag) } { "×" }
                            }))
                        }
                    }
                }
                @if may_write {
                    (form::form(visitor, &format!("/conversations/{id}/tags"), &html! {
                        (Input::text("tag", lang.t("New tag", "Etiqueta nueva")).list(KNOWN).required())
                        button type="submit" { (lang.t("Add tag", "Agregar etiqueta")) }
                    }))
                    (known)
                }
            }
        }
    })
}

/// The account's tags, as suggestions for [`field`] and for a new tag.
async fn suggestions(visitor: &Visitor) -> Result<Markup> {
    let conversations = visitor.services().conversations();
    let known = conversations.known_tags(&visitor.person).await?;
    Ok(html! { datalist #(KNOWN) { @for tag in &known { option value=(tag) {} } } })
}

/// The field that filters the list by a tag.
pub(super) async fn field(visitor: &Visitor) -> Result<Markup> {
    let known = suggestions(visitor).await?;
    let label = visitor.lang().t("Tag", "Etiqueta");
    let value = visitor.query().text("tag");
    Ok(html! { (Input::text("tag", label).list(KNOWN).value(value)) (known) })
}

/// A tag, which leads to the conversations that have it.
pub(super) fn link(tag: &str) -> Markup {
    let query = Fields::of([("tag", tag)]).encode();
    html! { a href={ (PATH) "/conversations?" (query) } { bdi { (tag) } } }
}

/// `POST /portal/conversations/{id}/tags`
pub(super) async fn add(post: Post<Developer>) -> Answer {
    let id: ConversationId = post.id("id")?;
    let path = format!("/conversations/{id}");
    let conversations = post.services().conversations();
    let added = conversations.add_tags(&post.person, id, post.fields.text("tag"));
    match added.await {
        Ok(()) => {
            let message = post.t("Tag added.", "Etiqueta agregada.");
            post.done("tag.add", id, &path, message).await
        }
        Err(error) => {
            let labels = [("tag", post.t("New tag", "Etiqueta nueva"))];
            let message = post.message_of(error, &labels)?;
            Ok(post.go(&path, &message))
        }
    }
}

/// `POST /portal/conversations/{id}/tags/delete`
pub(super) async fn remove(post: Post<Developer>) -> Answer {
    let id: ConversationId = post.id("id")?;
    let conversations = post.services().conversations();
    let tag = post.fields.text("tag");
    conversations.remove_tag(&post.person, id, tag).await?;
    let message = post.t("Tag removed.", "Etiqueta quitada.");
    post.done("tag.remove", id, &format!("/conversations/{id}"), message)
        .await
}
