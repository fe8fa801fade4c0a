//! The account's own credentials at providers: set, replaced, removed, and never shown again.

use maud::{Markup, html};
use offhook_domain::{CredentialProvider, MemberRole};
use offhook_services::Credentials;
use offhook_services::InputError;
use offhook_services::store::Credential;

use super::SECTION;
use crate::fields::Fields;
use crate::lang::{Lang, tell};
use crate::parts::list::{self, Table};
use crate::parts::words::{Tone, badge};
use crate::parts::{form, words};
use crate::spanish::written;
use crate::trouble::{Answer, Result, Trouble};
use crate::visit::{Admin, Post, Viewer, Visit, Visitor};

/// Credentials in the hands of the member: the audit log says so.
fn credentials(visitor: &Visitor) -> Credentials {
    visitor.services().credentials().by(&visitor.person)
}

fn title(visitor: &Visitor) -> &'static str {
    visitor.t("Provider credentials", "Credenciales de proveedores")
}

/// The provider by name, and what its credential is for.
const fn provider_told(provider: CredentialProvider, lang: Lang) -> (&'static str, &'static str) {
    match provider {
        CredentialProvider::Legacy => (
            lang.t(
                "Provider of the legacy agents",
                "Proveedor de los agentes heredados",
            ),
            lang.t(
                "Lists your legacy agents, renames them and places their calls.",
                "Lista tus agentes heredados, los renombra y hace sus llamadas.",
            ),
        ),
        CredentialProvider::LegacyWebhook => (
            lang.t(
                "Webhook secret of the legacy provider",
                "Secreto de webhook del proveedor heredado",
            ),
            lang.t(
                "Believes what the provider says of its own accord when one of its calls ends.",
                "Da por cierto lo que el proveedor avisa por sí mismo cuando termina una de sus llamadas.",
            ),
        ),
        CredentialProvider::Simulator => (
            lang.t("Simulated phone network", "Red telefónica simulada"),
            lang.t(
                "Imports the numbers of your account at the simulator.",
                "Importa los números de tu cuenta en el simulador.",
            ),
        ),
        CredentialProvider::Twilio => (
            "Twilio",
            lang.t(
                "Imports the numbers of your account there, calls from them and takes calls to them: AccountSid:AuthToken.",
                "Importa los números de tu cuenta, llama desde ellos y atiende sus llamadas: AccountSid:AuthToken.",
            ),
        ),
        CredentialProvider::VoicesA => (
            lang.t("Voice provider A", "Proveedor de voces A"),
            lang.t(
                "Adds your private voices there to the voice library.",
                "Agrega tus voces privadas de ese proveedor a la biblioteca.",
            ),
        ),
        CredentialProvider::VoicesB => (
            lang.t("Voice provider B", "Proveedor de voces B"),
            lang.t(
                "Adds your private voices there to the voice library.",
                "Agrega tus voces privadas de ese proveedor a la biblioteca.",
            ),
        ),
        CredentialProvider::Llm => (
            lang.t("Your own model server", "Tu propio servidor de modelos"),
            lang.t(
                "Sent to the endpoint of agents whose model provider is custom. The secret is a JSON object: origin, the \
                 one server that it is sent to, such as https://models.example.com, and api_key.",
                "Se envía al endpoint de los agentes cuyo proveedor de modelos es custom. El secreto es un objeto JSON: \
                 origin, el único servidor al que se envía, como https://models.example.com, y api_key.",
            ),
        ),
        CredentialProvider::WhatsApp => (
            "WhatsApp",
            lang.t(
                "Answers customers who write to your numbers. The secret is a JSON object: access_token, app_secret, \
                 verify_token, and phone_numbers, which names your number for each phone number id.",
                "Responde a los clientes que escriben a tus números. El secreto es un objeto JSON: access_token, app_secret, \
                 verify_token y phone_numbers, que da tu número para cada phone number id.",
            ),
        ),
    }
}

pub(super) async fn shelf(visit: Visit<Viewer>) -> Answer {
    let kept = list_of(&visit).await?;
    let body = draw(&visit, &kept, None, None);
    Ok(visit.page(SECTION, title(&visit), &body))
}

async fn list_of(visitor: &Visitor) -> Result<Vec<Credential>> {
    let listed = visitor.services().credentials().list(visitor.account());
    listed.await.map_err(trouble)
}

/// What is refused is the account's or the credential's absence; a secret's fault is told at its form.
fn trouble(error: InputError) -> Trouble {
    match error {
        InputError::Invalid(_) => Trouble::not_found(),
        InputError::Store(error) => error.into(),
    }
}

fn draw(
    visitor: &Visitor,
    kept: &[Credential],
    typed: Option<&Fields>,
    said: Option<&str>,
) -> Markup {
    let t = visitor.lang();
    html! {
        p { (t.t(
            "Keys of your own accounts at providers. They are sealed when they are stored; nobody sees them again, here or elsewhere.",
            "Claves de tus propias cuentas con proveedores. Se guardan selladas; nadie vuelve a verlas, ni aquí ni en otro lado.",
        )) }
        @if kept.is_empty() {
            (list::empty(
                t.t("No credential yet", "Aún no hay credenciales"),
                t.t(
                    "Without one the service uses what whoever runs it has set up.",
                    "Sin ninguna, el servicio usa lo que configuró quien lo opera.",
                ),
                None,
            ))
        } @else {
            (table(visitor, kept))
        }
        @if visitor.may(MemberRole::Admin) {
            (storing(visitor, typed, said))
        } @else {
            p.soft { (t.t("An admin of the account sets them.", "Las configura un administrador de la cuenta.")) }
        }
    }
}

fn table(visitor: &Visitor, kept: &[Credential]) -> Markup {
    let t = visitor.lang();
    html! {
        (Table::of(title(visitor), kept)
            .column(t.t("Provider", "Proveedor"), |kept| html! {
                (provider_told(kept.provider, t).0) " " code { (kept.provider) }
            })
            .column(t.t("For", "Para"), |kept| provider_told(kept.provider, t).1)
            .column(t.t("First set", "Configurada"), |kept| words::when(kept.created_at))
            .column(t.t("Last replaced", "Último reemplazo"), |kept| words::when(kept.updated_at))
            .column(t.t("What it lists", "Lo que lista"), |kept| answer_told(kept, t))
            .column_if(visitor.may(MemberRole::Admin), t.t("Action", "Acción"), |kept| removal(visitor, kept.provider)))
    }
}

/// What came of asking the provider what the account has there. Of those that are not asked there is nothing to tell.
fn answer_told(credential: &Credential, lang: Lang) -> Markup {
    let is_asked =
        credential.provider == CredentialProvider::Legacy || credential.provider.voices().is_some();
    html! {
        @match (credential.asked_at, &credential.last_error) {
            (Some(at), Some(error)) => {
                (badge(Tone::Bad, lang.t("Failed", "Falló"))) " " (words::when(at))
                p.hint {
                    (written(error, lang)) ". "
                    (lang.t("It is asked again by itself; what was listed before stays.",
                        "Se vuelve a preguntar automáticamente; lo listado antes se conserva."))
                }
            }
            (Some(at), None) => { (badge(Tone::Good, lang.t("Listed", "Listado"))) " " (words::when(at)) }
            (None, _) if is_asked => { (lang.t("Not asked yet", "Aún sin preguntar")) }
            (None, _) => { "—" }
        }
    }
}

fn removal(visitor: &Visitor, provider: CredentialProvider) -> Markup {
    let t = visitor.lang();
    let name = provider_told(provider, t).0;
    let question = tell!(
        t,
        "Remove the credential for “{name}”? What needs it stops working at once.",
        "¿Quitar la credencial de «{name}»? Lo que la necesita deja de funcionar de inmediato."
    );
    let path = format!("/settings/credentials/{provider}/remove");
    form::danger(visitor, &path, t.t("Remove", "Quitar"), &question)
}

/// The form that stores a credential. A secret that was refused is not sent back: it is typed again.
fn storing(visitor: &Visitor, typed: Option<&Fields>, said: Option<&str>) -> Markup {
    let t = visitor.lang();
    let providers = CredentialProvider::ALL.iter();
    let providers = providers.map(|provider| (provider.as_str(), provider_told(*provider, t).0));
    html! {
        section.form-card aria-labelledby="store" {
            h2 #store { (t.t("Set or replace a credential", "Configurar o reemplazar una credencial")) }
            (form::refusal(said))
            (form::form(visitor, "/settings/credentials", &html! {
                (form::Select::new("provider", t.t("Provider", "Proveedor"))
                    .options(providers)
                    .chosen(typed.map_or("", |fields| fields.text("provider"))))
                (form::Input::text("secret", t.t("Key or token", "Clave o token"))
                    .kind("password")
                    .autocomplete("new-password")
                    .hint(t.t("As the provider gave it to you; at most 4096 characters.", "Como te lo dio el proveedor; 4096 caracteres como máximo."))
                    .required())
                button.primary type="submit" { (t.t("Store", "Guardar")) }
            }))
        }
    }
}

pub(super) async fn set(post: Post<Admin>) -> Answer {
    let t = post.lang();
    let Ok(provider) = post.fields.text("provider").parse::<CredentialProvider>() else {
        let said = t.t(
            "Choose a provider from the list.",
            "Elige un proveedor de la lista.",
        );
        return refuse(&post, said).await;
    };
    let secret = post.fields.text("secret");
    let credentials = credentials(&post);
    match credentials.set(post.account(), provider, secret).await {
        Ok(_) => {
            let said = t.t("The credential is stored.", "La credencial está guardada.");
            Ok(post.go("/settings/credentials", said))
        }
        Err(InputError::Invalid(why))
            if matches!(
                provider,
                CredentialProvider::WhatsApp | CredentialProvider::Llm
            ) =>
        {
            let why = written(&why, t);
            let said = tell!(
                t,
                "This is not a credential for WhatsApp: {why}.",
                "No es una credencial de WhatsApp: {why}."
            );
            refuse(&post, &said).await
        }
        Err(InputError::Invalid(_)) => {
            let said = t.t(
                "The key or token must have 1 to 4096 characters, which are letters, digits and signs without accents or line breaks.",
                "La clave o el token debe tener de 1 a 4096 caracteres: letras, cifras y signos, sin acentos ni saltos de línea.",
            );
            refuse(&post, said).await
        }
        Err(InputError::Store(error)) => Err(error.into()),
    }
}

async fn refuse(post: &Post<Admin>, said: &str) -> Answer {
    let kept = list_of(post).await?;
    let body = draw(post, &kept, Some(&post.fields), Some(said));
    Ok(post.refused(SECTION, title(post), &body))
}

pub(super) async fn remove(post: Post<Admin>) -> Answer {
    let provider = post.id::<CredentialProvider>("provider")?;
    let credentials = credentials(&post);
    let removed = credentials.remove(post.account(), provider);
    removed.await.map_err(trouble)?;
    let said = post.t("The credential is removed.", "La credencial se quitó.");
    Ok(post.go("/settings/credentials", said))
}
