//! Refusals in Spanish: one without a sentence here does not compile.

use std::borrow::Cow;

use offhook_domain::AgentStatus;
use offhook_services::Refusal;
use offhook_services::store::BatchStep;

use super::field;
use crate::lang::Lang;
use crate::parts::words;

pub(super) fn sentence(refusal: &Refusal) -> Cow<'static, str> {
    match refusal {
        Refusal::AgentArchived | Refusal::WidgetOfArchived => {
            "El agente está archivado. Primero restáuralo (queda en pausa).".into()
        }
        Refusal::AgentContended => {
            "Otras personas están cambiando el agente. Inténtalo de nuevo.".into()
        }
        Refusal::AgentUnconfigured => {
            "El agente aún no tiene configuración. Primero guarda una.".into()
        }
        Refusal::NoLegacyCredential => {
            "La cuenta no tiene credencial de ElevenLabs. Guárdala en Configuración, Credenciales \
             de proveedores.".into()
        }
        Refusal::LegacyChange => {
            "Un agente de ElevenLabs solo se puede renombrar; su configuración está en ElevenLabs.".into()
        }
        Refusal::LegacyPublish => "Un agente de ElevenLabs se publica en ElevenLabs.".into(),
        Refusal::LegacyArchive => {
            "Un agente de ElevenLabs se retira en ElevenLabs; aquí solo se puede renombrar.".into()
        }
        Refusal::LegacyVersions => {
            "Un agente de ElevenLabs no tiene versiones aquí; su configuración está en ElevenLabs.".into()
        }
        Refusal::LegacyWidget => {
            "Un agente de ElevenLabs no tiene widget; su configuración está en ElevenLabs.".into()
        }
        Refusal::LegacyAnalysis => {
            "Las conversaciones de un agente de ElevenLabs se guardan y resumen en ElevenLabs. Solo se \
             analizan las de un agente de Offhook.".into()
        }
        Refusal::WidgetOfUnpublished | Refusal::NeverPublished => {
            "El agente nunca se ha publicado. Primero publícalo.".into()
        }
        Refusal::AgentServesNoMore => "El agente ya no recibe llamadas.".into(),
        Refusal::ToolOfIntegration => {
            "La herramienta viene de una integración. Solo se pueden cambiar su nombre y su \
             descripción.".into()
        }
        Refusal::ToolContended => {
            "Otras personas están cambiando la herramienta. Inténtalo de nuevo.".into()
        }
        Refusal::NoNumber => {
            "La cuenta no tiene un número desde el cual puedan llamar los agentes de Offhook. Primero importa uno; los de \
             los agentes de ElevenLabs son de ElevenLabs."
                .into()
        }
        Refusal::NoLegacyNumber => {
            "La cuenta no tiene un número desde el cual puedan llamar sus agentes de ElevenLabs. Asigna uno al agente en \
             ElevenLabs: llegará con la próxima sincronización. Si el número ya está aquí, asígnalo al agente en Números."
                .into()
        }
        Refusal::OutsideHours(_) | Refusal::TalkOutsideHours(_) => {
            "Está fuera del horario de llamadas del agente.".into()
        }
        Refusal::HoursNeverOpen => {
            "El horario de llamadas del agente no abre nunca. Elige al menos un día.".into()
        }
        Refusal::InFlight => {
            "Este formulario ya se envió y todavía se está procesando. Espera un momento y revisa si ya \
             se hizo.".into()
        }
        Refusal::CallEnded => "La llamada ya terminó.".into(),
        Refusal::CallElsewhere => {
            "La llamada está en curso en ElevenLabs, que no tiene forma de terminarla. \
             Termina cuando cuelga uno de los dos lados.".into()
        }
        Refusal::BeingAnswered => {
            "Todavía se está respondiendo otro mensaje de esta conversación. Espera la respuesta y envíalo de nuevo.".into()
        }
        Refusal::SessionEnded => "La conversación terminó. Inicia otra.".into(),
        Refusal::LinesBusy => {
            "La cuenta ya tiene todas las llamadas simultáneas que permite su plan. Inténtalo cuando termine una.".into()
        }
        Refusal::SpeechUnavailable => {
            "No se puede hablar con el agente: falta configurar su transcripción o su voz.".into()
        }
        Refusal::BatchOfEngineAgent => {
            "Solo los agentes de ElevenLabs hacen llamadas por lote; un agente de Offhook llama de uno \
             en uno.".into()
        }
        Refusal::NobodyLeft => "Ninguna llamada del lote falló: no hay nada que reintentar.".into(),
        Refusal::NumbersByOperator => {
            "El operador del servicio asigna los números de la troncal. Pídele uno.".into()
        }
        Refusal::NumbersByImport => {
            "Los números vienen del operador telefónico de la cuenta y no se pueden elegir aquí. Guarda su \
             credencial en Configuración, Credenciales de proveedores, e impórtalos.".into()
        }
        Refusal::NumberNotListed => {
            "La red simulada no ofrece este número a la cuenta. Elige otro, de +15005550000 a \
             +15005559999.".into()
        }
        Refusal::CredentialRefused => {
            "Twilio no acepta la credencial de la cuenta. Guárdala de nuevo como AccountSid:AuthToken (el secreto de \
             una clave no sirve: Twilio firma sus webhooks con el token).".into()
        }
        Refusal::NumberAlreadyOurs => "La cuenta ya tiene este número.".into(),
        Refusal::NumberOfAnother => "Otra cuenta tiene este número.".into(),
        Refusal::NumberOfArchived => {
            "El agente está archivado. Restáuralo o elige otro.".into()
        }
        Refusal::NumberUnproven => {
            "Este número llegó con los agentes de ElevenLabs, lo que no demuestra que sea tuyo. Impórtalo primero de tu \
             operador telefónico, o elige un agente de ElevenLabs.".into()
        }
        Refusal::PayloadGone => {
            "La entrega tiene más de 14 días y su contenido ya no se guarda. Consulta la llamada.".into()
        }
        Refusal::EndpointDisabled => "El punto de conexión está deshabilitado. Primero habilítalo.".into(),
        Refusal::DocumentUnread => {
            "El documento todavía se está procesando. Vuelve cuando esté listo.".into()
        }
        Refusal::DocumentFailed => "El documento no tiene texto. Su error dice por qué.".into(),
        Refusal::FolderNameTaken => "Otra carpeta tiene este nombre.".into(),
        Refusal::AgentStatus { now, next } => format!(
            "Un agente en estado «{}» no puede pasar a «{}»{}.",
            words::agent_status(*now, Lang::Es),
            words::agent_status(*next, Lang::Es),
            match (now, next) {
                (AgentStatus::Archived, AgentStatus::Active) => ": primero restáuralo",
                (_, AgentStatus::Active) => ": publícalo",
                _ => "",
            }
        ).into(),
        Refusal::StaleVersion { head, .. } => format!(
            "El agente ya va en la versión {head}. Recarga la página y haz el cambio ahí."
        )
        .into(),
        Refusal::Unpublishable(fault) => field(fault).into(),
        Refusal::TooManyTools(most) => at_most(*most, "herramientas", "una"),
        Refusal::ToolNameTaken(name) => {
            format!("La cuenta ya tiene una herramienta {name}. Elige otro nombre.").into()
        },
        Refusal::AgentTakesNoCalls(status)
        | Refusal::AgentAnswersNot(status)
        | Refusal::BatchOfIdleAgent(status) => format!(
            "El estado del agente es «{}». Solo un agente activo recibe llamadas.",
            words::agent_status(*status, Lang::Es)
        ).into(),
        Refusal::BatchStep { now, step } => format!(
            "Un lote en estado «{}» no se puede {}.",
            words::batch_status(*now, Lang::Es),
            match step {
                BatchStep::Pause => "pausar",
                BatchStep::Resume => "reanudar: solo uno en pausa",
                BatchStep::Cancel => "cancelar",
            }
        ).into(),
        Refusal::BatchUnderWay(status) => format!(
            "El lote está en estado «{}». Solo uno que terminó se puede reintentar.",
            words::batch_status(*status, Lang::Es)
        ).into(),
        Refusal::NoCarrierCredential { account, provider } => format!(
            "La cuenta no tiene credencial de operador telefónico. Guárdala en Configuración, Credenciales \
             de proveedores, o pide al operador del servicio que lo haga con offhook account \
             credential set --account {account} --provider {provider}."
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
