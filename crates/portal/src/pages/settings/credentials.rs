//! The account's own provider credentials: set, replaced, removed, never shown again.

use std::borrow::Cow;

use actix_web::http::StatusCode;
use offhook_services::store::Credential;
use offhook_services::{CredentialFault, Credentials, InputError, KeyAnswer};

use crate::prelude::*;
use crate::spanish::written;

/// The field of the address of a service compatible with OpenAI.
const BASE_URL: &str = "base_url";

/// Credentials, with the member as actor in the audit log.
fn credentials(visitor: &Visitor) -> Credentials {
    visitor.services().credentials().by(&visitor.person)
}

fn title(visitor: &Visitor) -> &'static str {
    visitor.t("Provider credentials", "Credenciales de proveedores")
}

/// A provider's name, and what its credential is for.
pub(in crate::pages) const fn provider_told(
    provider: CredentialProvider,
    lang: Lang,
) -> (&'static str, &'static str) {
    let models = lang.t(
        "Language models of your agents. The provider bills you: they cost no credits here.",
        "Modelos de lenguaje de tus agentes. El proveedor te cobra: aquí no gastan créditos.",
    );
    let speech = lang.t(
        "Speech of your agents. The provider bills you: it costs no credits here.",
        "Transcripción y voz de tus agentes. El proveedor te cobra: aquí no gastan créditos.",
    );
    match provider {
        CredentialProvider::Legacy => (
            lang.t(
                "ElevenLabs agents",
                "Agentes de ElevenLabs",
            ),
            lang.t(
                "Lists your ElevenLabs agents, renames them and places their calls.",
                "Lista tus agentes de ElevenLabs, los renombra y hace sus llamadas.",
            ),
        ),
        CredentialProvider::LegacyWebhook => (
            lang.t(
                "ElevenLabs webhook secret",
                "Secreto de webhook de ElevenLabs",
            ),
            lang.t(
                "Verifies the webhooks that ElevenLabs sends when a call ends.",
                "Verifica los webhooks que envía ElevenLabs cuando termina una llamada.",
            ),
        ),
        CredentialProvider::Simulator => (
            lang.t("Simulated phone network", "Red telefónica simulada"),
            lang.t(
                "Imports your numbers from the simulator.",
                "Importa tus números del simulador.",
            ),
        ),
        CredentialProvider::Twilio => (
            "Twilio",
            lang.t(
                "Imports your Twilio numbers, and places and answers calls with them: AccountSid:AuthToken.",
                "Importa tus números de Twilio, y hace y atiende llamadas con ellos: AccountSid:AuthToken.",
            ),
        ),
        CredentialProvider::VoicesA => (
            lang.t("ElevenLabs voices", "Voces de ElevenLabs"),
            lang.t(
                "Adds your private voices to the voice library.",
                "Agrega tus voces privadas a la biblioteca de voces.",
            ),
        ),
        CredentialProvider::VoicesB => (
            lang.t("Cartesia voices", "Voces de Cartesia"),
            lang.t(
                "Adds your private voices to the voice library.",
                "Agrega tus voces privadas a la biblioteca de voces.",
            ),
        ),
        CredentialProvider::Llm => (
            lang.t("Your own model server", "Tu propio servidor de modelos"),
            lang.t(
                "Sent to the endpoint of agents with a custom model server. The secret is a JSON object: origin, the only \
                 server it is sent to, such as https://models.example.com, and api_key.",
                "Se envía al endpoint de los agentes con un servidor de modelos propio. El secreto es un objeto JSON: \
                 origin, el único servidor al que se envía, como https://models.example.com, y api_key.",
            ),
        ),
        CredentialProvider::OpenAi => (
            lang.t("OpenAI or compatible", "OpenAI o compatible"),
            models,
        ),
        CredentialProvider::Anthropic => ("Anthropic", models),
        CredentialProvider::Google => ("Google Gemini", models),
        CredentialProvider::Deepgram => ("Deepgram", speech),
        CredentialProvider::Cartesia => (lang.t("Cartesia speech", "Voz de Cartesia"), speech),
        CredentialProvider::ElevenLabs => {
            (lang.t("ElevenLabs speech", "Voz de ElevenLabs"), speech)
        }
        CredentialProvider::WhatsApp => (
            "WhatsApp",
            lang.t(
                "Answers customers who write to your numbers. The secret is a JSON object: access_token, app_secret, \
                 verify_token, and phone_numbers, which maps each phone number ID to your number.",
                "Responde a los clientes que escriben a tus números. El secreto es un objeto JSON: access_token, app_secret, \
                 verify_token y phone_numbers, que asigna tu número a cada phone number ID.",
            ),
        ),
    }
}

pub(super) async fn shelf(visit: Visit<Viewer>) -> Answer {
    let kept = list_of(&visit).await?;
    let body = draw(&visit, &kept, None, None);
    Ok(super::tab(
        &visit,
        "/settings/credentials",
        StatusCode::OK,
        &body,
    ))
}

pub(in crate::pages) async fn list_of(visitor: &Visitor) -> Result<Vec<Credential>> {
    let listed = visitor.services().credentials().list(visitor.account());
    listed.await.map_err(trouble)
}

/// A missing account or credential; a secret's fault is shown at its form.
fn trouble(error: InputError) -> Trouble {
    match error {
        InputError::Invalid(_) | InputError::Secret(_) => Trouble::not_found(),
        InputError::Store(error) => error.into(),
    }
}

fn draw(
    visitor: &Visitor,
    kept: &[Credential],
    typed: Option<&Fields>,
    message: Option<&str>,
) -> Markup {
    let t = visitor.lang();
    html! {
        p { (t.t(
            "Keys of your own provider accounts, used in place of this service's. They are encrypted when stored and never shown again.",
            "Claves de tus propias cuentas con proveedores, que se usan en lugar de las de este servicio. Se guardan cifradas y no se vuelven a mostrar.",
        )) }
        @if kept.is_empty() {
            (list::empty(
                t.t("No credentials yet", "Aún no hay credenciales"),
                t.t(
                    "Without one, the service uses the operator's setup.",
                    "Sin ninguna, el servicio usa la configuración del operador.",
                ),
                None,
            ))
        } @else {
            (table(visitor, kept))
        }
        @if visitor.may(MemberRole::Admin) {
            (storing(visitor, typed, message))
        } @else {
            p.soft { (t.t("Only admins can set them.", "Solo los administradores pueden configurarlas.")) }
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
            .column(t.t("Purpose", "Uso"), |kept| provider_told(kept.provider, t).1)
            .column(t.t("Key", "Clave"), |kept| html! {
                @match &kept.last_characters { Some(end) => { code { "…" (end) } } None => { "—" } }
            })
            .column(t.t("First set", "Configurada"), |kept| words::when(kept.created_at))
            .column(t.t("Last replaced", "Último reemplazo"), |kept| words::when(kept.updated_at))
            .column(t.t("Last sync", "Última sincronización"), |kept| answer_told(kept, t))
            .column_if(visitor.may(MemberRole::Admin), t.t("Action", "Acción"), |kept| removal(visitor, kept.provider)))
    }
}

/// The last sync with a provider. Providers that are not synced show a dash.
fn answer_told(credential: &Credential, lang: Lang) -> Markup {
    let is_asked =
        credential.provider == CredentialProvider::Legacy || credential.provider.voices().is_some();
    html! {
        @match (credential.asked_at, &credential.last_error) {
            (Some(at), Some(error)) if credential.provider.own_key().is_some() => {
                (badge(Tone::Bad, lang.t("Refused", "Rechazada"))) " " (words::when(at))
                p.hint { (written::<CredentialFault>(error, lang)) ". " (lang.t("Replace the key.", "Reemplaza la clave.")) }
            }
            (Some(at), Some(error)) => {
                (badge(Tone::Bad, lang.t("Failed", "Falló"))) " " (words::when(at))
                p.hint {
                    (written::<CredentialFault>(error, lang)) ". "
                    (lang.t("Retried automatically. Items from the last successful sync are kept.",
                        "Se reintenta automáticamente. Se conserva lo de la última sincronización correcta."))
                }
            }
            (Some(at), None) => { (badge(Tone::Good, lang.t("Synced", "Sincronizado"))) " " (words::when(at)) }
            (None, _) if is_asked => { (lang.t("Not synced yet", "Aún sin sincronizar")) }
            (None, _) => { "—" }
        }
    }
}

fn removal(visitor: &Visitor, provider: CredentialProvider) -> Markup {
    let t = visitor.lang();
    let name = provider_told(provider, t).0;
    let question = text!(
        t,
        "Remove the credential “{name}”? Features that need it stop working immediately.",
        "¿Quitar la credencial «{name}»? Lo que la necesita deja de funcionar de inmediato."
    );
    let path = format!("/settings/credentials/{provider}/remove");
    form::danger(visitor, &path, t.t("Remove", "Quitar"), &question)
}

/// The form that stores a credential. A refused secret is not sent back: it is typed again.
fn storing(visitor: &Visitor, typed: Option<&Fields>, message: Option<&str>) -> Markup {
    let t = visitor.lang();
    let providers = CredentialProvider::ALL.iter();
    let providers = providers.map(|provider| (provider.as_str(), provider_told(*provider, t).0));
    html! {
        section.form-card aria-labelledby="store" {
            h2 #store { (t.t("Set or replace a credential", "Configurar o reemplazar una credencial")) }
            (form::refusal(message))
            (form::form(visitor, "/settings/credentials", &html! {
                (form::Select::new("provider", t.t("Provider", "Proveedor"))
                    .options(providers)
                    .chosen(typed.map_or("", |fields| fields.text("provider"))))
                (form::Input::text("secret", t.t("Key or token", "Clave o token"))
                    .kind("password")
                    .autocomplete("new-password")
                    .hint(t.t("As your provider shows it. Up to 4096 characters.", "Como te lo muestra el proveedor. Hasta 4096 caracteres."))
                    .required())
                (form::Input::text(BASE_URL, t.t("Base URL", "URL base"))
                    .value(typed.map_or("", |fields| fields.text(BASE_URL)))
                    .hint(t.t(
                        "Only for a service compatible with OpenAI, such as https://models.example.com/v1. Empty for OpenAI itself.",
                        "Solo para un servicio compatible con OpenAI, como https://models.example.com/v1. Vacía para OpenAI mismo.")))
                button.primary type="submit" { (t.t("Save", "Guardar")) }
            }))
        }
    }
}

/// The secret of the form: OpenAI's may come with the address of another service.
fn secret(fields: &Fields, provider: CredentialProvider) -> Cow<'_, str> {
    let (secret, base_url) = (fields.text("secret").trim(), fields.text(BASE_URL).trim());
    if provider != CredentialProvider::OpenAi || base_url.is_empty() {
        return Cow::Borrowed(secret);
    }
    let members = [("api_key", secret), (BASE_URL, base_url)];
    let object = Json::object(members.map(|(name, text)| (name, Json::from(text))));
    Cow::Owned(object.to_compact())
}

pub(super) async fn set(post: Post<Admin>) -> Answer {
    let t = post.lang();
    let Ok(provider) = post.fields.text("provider").parse::<CredentialProvider>() else {
        let message = t.t(
            "Choose a provider from the list.",
            "Elige un proveedor de la lista.",
        );
        return refuse(&post, message).await;
    };
    let (secret, name) = (secret(&post.fields, provider), provider_told(provider, t).0);
    let asked = match provider.own_key() {
        Some(_) => post.services().agents().ask_vendor(provider, &secret).await,
        None => KeyAnswer::Accepted,
    };
    if let KeyAnswer::Refused(status) = asked {
        let message = text!(
            t,
            "{name} does not accept this key (status {status}). Check it and enter it again.",
            "{name} no acepta esta clave (estado {status}). Revísala y escríbela de nuevo."
        );
        return refuse(&post, &message).await;
    }
    let credentials = credentials(&post);
    match credentials.set(post.account(), provider, &secret).await {
        Ok(_) => {
            judge(&post, provider).await?;
            let message = match asked {
                KeyAnswer::Unconfirmed => text!(
                    t,
                    "Credential saved, but {name} did not confirm the key. Test an agent that uses it.",
                    "Credencial guardada, pero {name} no confirmó la clave. Prueba un agente que la use."
                ),
                _ => t.t("Credential saved.", "Credencial guardada.").to_owned(),
            };
            Ok(post.go("/settings/credentials", &message))
        }
        Err(InputError::Secret(why)) => {
            let why = t.text(&why);
            let message = text!(
                t,
                "Not a valid {name} credential: {why}.",
                "No es una credencial de {name} válida: {why}."
            );
            refuse(&post, &message).await
        }
        Err(InputError::Invalid(_)) => {
            let message = t.t(
                "The key or token must have 1 to 4096 characters: letters, digits and symbols, without accents or line breaks.",
                "La clave o el token debe tener de 1 a 4096 caracteres: letras, dígitos y símbolos, sin acentos ni saltos de línea.",
            );
            refuse(&post, message).await
        }
        Err(InputError::Store(error)) => Err(error.into()),
    }
}

/// The account's agents may have lost their only provider, or got it back.
async fn judge(post: &Post<Admin>, provider: CredentialProvider) -> Result<()> {
    if provider.own_key().is_some() {
        let agents = post.services().agents();
        agents.judge_of(post.account()).await?;
    }
    Ok(())
}

async fn refuse(post: &Post<Admin>, message: &str) -> Answer {
    let kept = list_of(post).await?;
    let body = draw(post, &kept, Some(&post.fields), Some(message));
    Ok(super::tab(
        post,
        "/settings/credentials",
        StatusCode::UNPROCESSABLE_ENTITY,
        &body,
    ))
}

pub(super) async fn remove(post: Post<Admin>) -> Answer {
    let provider = post.id::<CredentialProvider>("provider")?;
    let credentials = credentials(&post);
    let removed = credentials.remove(post.account(), provider);
    removed.await.map_err(trouble)?;
    judge(&post, provider).await?;
    let message = post.t("Credential removed.", "Credencial eliminada.");
    Ok(post.go("/settings/credentials", message))
}
