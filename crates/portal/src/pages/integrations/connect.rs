//! Connecting an application: redirect to it, and its answer.

use maud::html;
use offhook_domain::tool::TOOLS_AT_MOST;
use offhook_services::{ConnectError, ConsentAnswer};
use url::Url;

use crate::PATH;
use crate::lang::Lang;
use crate::page::{Page, to_its_end};
use crate::trouble::{Answer, Trouble};
use crate::visit::layout::Section;
use crate::visit::{Admin, Post, Visit, Visitor};

/// Where applications send members back to, after `/portal`.
const CALLBACK: &str = "/integrations/callback";

const LIST: &str = "/integrations";

/// The paths. The callback is not a page: it redirects to one, so that its code stays in no address.
pub(super) fn routes() -> Vec<Page> {
    vec![
        Page::at(CALLBACK).part(callback),
        Page::at("/integrations/{toolkit}/connect").post(connect),
        Page::at("/integrations/{toolkit}/disconnect").post(disconnect),
    ]
}

/// `POST /portal/integrations/{toolkit}/connect`: a page with an ordinary link. Browsers block a form of this portal that
/// ends at another host, also by a redirect (Content-Security-Policy, `form-action`), and a link shows where it leads.
async fn connect(post: Post<Admin>) -> Answer {
    let t = post.lang();
    let redirect_uri = format!("{}{PATH}{CALLBACK}", post.base_url());
    let integrations = post.services().integrations();
    let toolkit = post.param("toolkit").to_owned();
    let begun = match integrations
        .begin(&post.person, &toolkit, &redirect_uri)
        .await
    {
        Ok(begun) => begun,
        Err(error) => return refused(&post, error),
    };
    let name = &begun.toolkit.name;
    let host = Url::parse(&begun.url).ok();
    let host = host.as_ref().and_then(Url::host_str).unwrap_or(name);
    let (title, lead, go) = match t {
        Lang::En => (
            format!("Connect {name}"),
            format!(
                "You go to {name} ({host}). Choose the account there and allow access; then you return here. The link is valid for ten minutes."
            ),
            format!("Continue to {host}"),
        ),
        Lang::Es => (
            format!("Conectar {name}"),
            format!(
                "Irás a {name} ({host}). Elige ahí la cuenta y permite el acceso; después regresas aquí. El enlace vale diez minutos."
            ),
            format!("Continuar a {host}"),
        ),
    };
    let body = html! {
        p.lead { (lead) }
        p { (t.t("Agents get these tools:", "Los agentes tendrán estas herramientas:")) }
        ul { @for function in &begun.functions { li lang="en" { (function) } } }
        p {
            a.button.primary href=(begun.url) rel="noreferrer" { (go) }
            " "
            a.button href={ (PATH) (LIST) } { (t.t("Back", "Regresar")) }
        }
    };
    Ok(post.page(Section::Integrations, &title, &body))
}

/// `GET /portal/integrations/callback?state&code|error`: the application sends the member back here.
async fn callback(visit: Visit<Admin>) -> Answer {
    to_its_end(&visit.portal.clone(), connected(visit)).await
}

async fn connected(visit: Visit<Admin>) -> Answer {
    let query = visit.query();
    let state = query.text("state").to_owned();
    let (code, error) = (
        query.text("code").to_owned(),
        query.text("error").to_owned(),
    );
    let answer = match (error.as_str(), code.as_str()) {
        ("", "") => return refused(&visit, ConnectError::Stale),
        ("", code) => ConsentAnswer::Code(code),
        (error, _) => ConsentAnswer::Error(error),
    };
    let integrations = visit.services().integrations();
    let toolkit = match integrations.finish(&visit.person, &state, answer).await {
        Ok(toolkit) => toolkit,
        Err(error) => return refused(&visit, error),
    };
    let name = &toolkit.name;
    let message = match visit.lang() {
        Lang::En => format!(
            "{name} connected. Its tools are now available: select them in an agent, and publish."
        ),
        Lang::Es => format!(
            "{name} está conectada. Sus herramientas ya están disponibles: márcalas en un agente y publica."
        ),
    };
    visit
        .done("integration.connect", toolkit.toolkit, LIST, &message)
        .await
}

/// `POST /portal/integrations/{toolkit}/disconnect`
async fn disconnect(post: Post<Admin>) -> Answer {
    let toolkit = post.param("toolkit").to_owned();
    let integrations = post.services().integrations();
    let revoked = match integrations.disconnect(post.account(), &toolkit).await {
        Ok(revoked) => revoked,
        Err(error) => return refused(&post, error),
    };
    let t = post.lang();
    let message = match revoked {
        true => t.t(
            "Disconnected. Access was revoked.",
            "Desconectada. Se revocó el acceso.",
        ),
        false => t.t(
            "Disconnected. Nothing is stored here. The application did not confirm that access was revoked: revoke it in your account there too.",
            "Desconectada. Aquí no se guarda nada. La aplicación no confirmó que se revocó el acceso: revócalo también en tu cuenta de ella.",
        ),
    };
    post.done("integration.disconnect", &toolkit, LIST, message)
        .await
}

/// Redirects to the list, with a notice.
fn refused(visitor: &Visitor, error: ConnectError) -> Answer {
    let t = visitor.lang();
    let message = match error {
        ConnectError::NotOffered => return Err(Trouble::not_found()),
        ConnectError::Store(error) => return Err(error.into()),
        ConnectError::Stale => t.t(
            "Not connected: this response came too late, was already used, or belongs to another session or account. Start again.",
            "No se conectó: esta respuesta llegó tarde, ya se usó o es de otra sesión o cuenta. Empieza de nuevo.",
        )
        .to_owned(),
        ConnectError::NotConnected => {
            t.t("Not connected.", "No está conectada.").to_owned()
        }
        ConnectError::TooManyTools(name) => match t {
            Lang::En => format!("Not connected: with the tools of {name} the account would have more than {TOOLS_AT_MOST}. Delete tools that no agent needs, then connect it."),
            Lang::Es => format!("No se conectó: con las herramientas de {name} la cuenta tendría más de {TOOLS_AT_MOST}. Elimina herramientas que ningún agente necesita y conéctala después."),
        },
        ConnectError::Denied(name) => match t {
            Lang::En => format!("Access to {name} was not allowed. Nothing changed."),
            Lang::Es => format!("No se permitió el acceso a {name}. Nada cambió."),
        },
        ConnectError::NotGranted(name, _) => match t {
            Lang::En => format!("{name} did not grant access. Nothing was connected. Try again; if it keeps failing, the service operator can see why."),
            Lang::Es => format!("{name} no dio acceso. No se conectó nada. Inténtalo de nuevo; si sigue igual, el operador del servicio puede ver por qué."),
        },
    };
    Ok(visitor.go(LIST, &message))
}
