//! What the state of things forbids, in Spanish: a refusal without a sentence here does not compile.

use std::borrow::Cow;

use offhook_domain::AgentStatus;
use offhook_services::Refusal;
use offhook_services::store::BatchStep;

use super::field;
use crate::lang::Lang;
use crate::pages::{agents, batches};

pub(super) fn sentence(refusal: &Refusal) -> Cow<'static, str> {
    match refusal {
        Refusal::AgentArchived | Refusal::WidgetOfArchived => {
            "El agente está archivado: primero restáuralo, y queda en pausa.".into()
        }
        Refusal::AgentContended => {
            "Otras personas están cambiando el agente: inténtalo de nuevo.".into()
        }
        Refusal::AgentUnconfigured => {
            "El agente aún no tiene configuración: primero guarda una.".into()
        }
        Refusal::NoLegacyCredential => {
            "La cuenta no tiene credencial en el proveedor del agente: guárdala en Configuración, Credenciales \
             de proveedores.".into()
        }
        Refusal::LegacyChange => {
            "Un agente heredado solo se puede renombrar; su configuración está con su proveedor.".into()
        }
        Refusal::LegacyPublish => "Un agente heredado se publica con su proveedor.".into(),
        Refusal::LegacyArchive => {
            "Un agente heredado se retira con su proveedor; aquí solo se puede renombrar.".into()
        }
        Refusal::LegacyVersions => {
            "Un agente heredado no tiene versiones aquí; su configuración está con su proveedor.".into()
        }
        Refusal::LegacyWidget => {
            "Un agente heredado no tiene widget: su configuración está con su proveedor.".into()
        }
        Refusal::LegacyAnalysis => {
            "Las conversaciones de un agente heredado se guardan y resumen con su proveedor: solo se \
             analizan las de un agente del motor.".into()
        }
        Refusal::WidgetOfUnpublished | Refusal::NeverPublished => {
            "El agente nunca se ha publicado: primero publícalo.".into()
        }
        Refusal::AgentServesNoMore => "El agente ya no atiende.".into(),
        Refusal::ToolOfIntegration => {
            "La herramienta es una función de una integración: solo se pueden cambiar su nombre y su \
             descripción.".into()
        }
        Refusal::ToolContended => {
            "Otras personas están cambiando la herramienta: inténtalo de nuevo.".into()
        }
        Refusal::NoNumber => {
            "La cuenta no tiene un número desde el cual puedan llamar los agentes de este servicio: primero importa uno; los de \
             los agentes heredados son de su proveedor."
                .into()
        }
        Refusal::NoLegacyNumber => {
            "La cuenta no tiene un número desde el cual puedan llamar sus agentes heredados: asigna uno al agente en su \
             proveedor, y llegará con la próxima sincronización; si ya está aquí, dáselo al agente en la página de números."
                .into()
        }
        Refusal::OutsideHours(_) | Refusal::TalkOutsideHours(_) => {
            "Está fuera del horario de llamadas del agente.".into()
        }
        Refusal::HoursNeverOpen => {
            "El horario de llamadas del agente no abre nunca: elige al menos un día.".into()
        }
        Refusal::InFlight => {
            "Este formulario ya se envió y todavía se está respondiendo: espera un momento y mira si ya \
             se hizo.".into()
        }
        Refusal::CallEnded => "La llamada ya terminó.".into(),
        Refusal::CallElsewhere => {
            "La llamada está en curso con el proveedor heredado, que no tiene forma de terminarla: \
             termina cuando cuelga uno de los dos lados.".into()
        }
        Refusal::BeingAnswered => {
            "Todavía se está respondiendo otro mensaje de esta conversación: espera la respuesta y envíalo de nuevo.".into()
        }
        Refusal::SessionEnded => "La conversación terminó: comienza otra.".into(),
        Refusal::LinesBusy => {
            "La cuenta ya tiene tantas llamadas a la vez como permite su plan: inténtalo cuando termine una.".into()
        }
        Refusal::Speechless => {
            "No se puede hablar con el agente: aquí no tiene oído o no tiene voz.".into()
        }
        Refusal::BatchOfEngineAgent => {
            "Solo los agentes heredados hacen llamadas en lote; las de un agente del motor se hacen una \
             por una.".into()
        }
        Refusal::NobodyLeft => "A todas las personas del lote se les llamó bien.".into(),
        Refusal::NumbersByOperator => {
            "Los números de la troncal de este servicio los da quien lo opera: pídele uno.".into()
        }
        Refusal::NumbersByImport => {
            "Los números se toman del operador telefónico de la cuenta y no se pueden elegir: guarda su \
             credencial en Configuración, Credenciales de proveedores, e impórtalos.".into()
        }
        Refusal::NumberNotListed => {
            "La red simulada no ofrece este número a la cuenta; elige otro, de +15005550000 a \
             +15005559999.".into()
        }
        Refusal::CredentialRefused => {
            "Twilio no acepta la credencial de la cuenta: guárdala de nuevo como `AccountSid:AuthToken` (el secreto de \
             una clave no sirve: Twilio firma con el token lo que cuenta).".into()
        }
        Refusal::NumberAlreadyOurs => "La cuenta ya tiene este número.".into(),
        Refusal::NumberOfAnother => "Otra cuenta tiene este número.".into(),
        Refusal::NumberOfArchived => {
            "El agente está archivado: primero restáuralo, o elige otro.".into()
        }
        Refusal::NumberUnproven => {
            "Este número llegó con los agentes heredados, lo que no demuestra que sea tuyo: impórtalo primero de tu \
             operador telefónico, o elige un agente heredado.".into()
        }
        Refusal::PayloadGone => {
            "La entrega tiene más de 14 días y su contenido ya no se guarda: mira la llamada.".into()
        }
        Refusal::EndpointDisabled => "El punto de conexión está deshabilitado: primero habilítalo.".into(),
        Refusal::DocumentUnread => {
            "El documento todavía se está leyendo: vuelve cuando esté listo.".into()
        }
        Refusal::DocumentFailed => "El documento no tiene texto: su error dice por qué.".into(),
        Refusal::FolderNameTaken => "Otra carpeta tiene este nombre.".into(),
        Refusal::AgentStatus { now, next } => format!(
            "Un agente en estado «{}» no puede pasar a «{}»{}.",
            agents::status_name(*now, Lang::Es),
            agents::status_name(*next, Lang::Es),
            match (now, next) {
                (AgentStatus::Archived, AgentStatus::Active) => ": primero restáuralo",
                (_, AgentStatus::Active) => ": publícalo",
                _ => "",
            }
        ).into(),
        Refusal::StaleVersion { head, .. } => format!(
            "El agente ya va en la versión {head}: recarga la página y haz el cambio sobre ella."
        )
        .into(),
        Refusal::Unpublishable(fault) => field(fault).into(),
        Refusal::TooManyTools(most) => at_most(*most, "herramientas", "una"),
        Refusal::ToolNameTaken(name) => {
            format!("La cuenta ya tiene una herramienta `{name}`: elige otro nombre.").into()
        },
        Refusal::AgentTakesNoCalls(status)
        | Refusal::AgentAnswersNot(status)
        | Refusal::BatchOfIdleAgent(status) => format!(
            "El agente está en estado «{}», y solo uno activo atiende.",
            agents::status_name(*status, Lang::Es)
        ).into(),
        Refusal::BatchStep { now, step } => format!(
            "Un lote en estado «{}» no se puede {}.",
            batches::status_name(*now, Lang::Es),
            match step {
                BatchStep::Pause => "pausar",
                BatchStep::Resume => "reanudar: solo uno en pausa",
                BatchStep::Cancel => "cancelar",
            }
        ).into(),
        Refusal::BatchUnderWay(status) => format!(
            "El lote está en estado «{}»: solo uno que terminó se puede intentar de nuevo.",
            batches::status_name(*status, Lang::Es)
        ).into(),
        Refusal::NoCarrierCredential { account, provider } => format!(
            "La cuenta no tiene credencial de operador telefónico: guárdala en Configuración, Credenciales \
             de proveedores, o pide a quien opera el servicio que lo haga con `offhook account \
             credential set --account {account} --provider {provider}`."
        )
        .into(),
        Refusal::NoSuchAccount(account) => format!("No existe la cuenta {account}.").into(),
        Refusal::TooManyEndpoints(most) => at_most(*most, "puntos de conexión", "uno"),
        Refusal::TooManyFolders(most) => at_most(*most, "carpetas", "una"),
    }
}

fn at_most(most: i64, things: &str, one: &str) -> Cow<'static, str> {
    format!("Una cuenta tiene {most} {things} como máximo: primero borra {one}.").into()
}
