//! A member's saved views: named filters of the list.

use super::filters;
use crate::prelude::*;

/// The member's views as links, and the form that saves this one.
pub(super) async fn bar(visitor: &Visitor) -> Result<Markup> {
    let lang = visitor.lang();
    let conversations = visitor.services().conversations();
    let views = conversations.saved_views(&visitor.person).await?;
    let now = filters::set(visitor.query()).encode();
    let is_saved = views.iter().any(|view| view.query == now);
    Ok(html! {
        @if !views.is_empty() || !now.is_empty() {
            div.views {
                @for view in &views {
                    span.view {
                        a.button href={ (PATH) "/conversations?" (view.query) } aria-current=[(view.query == now).then_some("true")] { (view.name) }
                        (form::form(visitor, &format!("/conversations/views/{}/delete", view.id), &html! {
                            button type="submit" aria-label={ (lang.t("Delete view", "Eliminar la vista")) " " (view.name) } { "×" }
                        }))
                    }
                }
                @if !now.is_empty() && !is_saved {
                    details.save-view {
                        summary { (lang.t("Save this view", "Guardar esta vista")) }
                        (form::form(visitor, "/conversations/views", &html! {
                            input type="hidden" name="query" value=(now);
                            (Input::text("name", lang.t("Name", "Nombre")).required())
                            button.primary type="submit" { (lang.t("Save", "Guardar")) }
                        }))
                    }
                }
            }
        }
    })
}

/// `POST /portal/conversations/views`
pub(super) async fn save(post: Post<Viewer>) -> Answer {
    let lang = post.lang();
    let query = filters::set(&Fields::parse(post.fields.text("query").as_bytes())).encode();
    let path = format!("/conversations?{query}");
    let body = Json::object([
        ("name", Json::from(post.fields.text("name"))),
        ("query", Json::String(query)),
    ]);
    let conversations = post.services().conversations();
    match conversations.save_view(&post.person, &body).await {
        Ok(()) => Ok(post.go(&path, lang.t("View saved.", "Vista guardada."))),
        Err(error) => {
            let labels = [
                ("name", lang.t("Name", "Nombre")),
                ("query", lang.t("Filters", "Filtros")),
            ];
            let message = post.message_of(error, &labels)?;
            Ok(post.go(&path, &message))
        }
    }
}

/// `POST /portal/conversations/views/{id}/delete`
pub(super) async fn delete(post: Post<Viewer>) -> Answer {
    let id: SavedViewId = post.id("id")?;
    let conversations = post.services().conversations();
    conversations.delete_view(&post.person, id).await?;
    Ok(post.go(
        "/conversations",
        post.t("View deleted.", "Vista eliminada."),
    ))
}
