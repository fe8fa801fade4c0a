//! How receivers verify webhooks: the programs shown are those that the tests run.

use super::SECTION;
use crate::parts::sample::{code, programs};
use crate::prelude::*;

/// A language, the name of its sample, and the program.
const PROGRAMS: [(&str, &str, &str); 5] = [
    (
        "Python",
        "python",
        include_str!("../../../snippets/verify.py"),
    ),
    (
        "JavaScript (Node)",
        "javascript",
        include_str!("../../../snippets/verify.mjs"),
    ),
    ("PHP", "php", include_str!("../../../snippets/verify.php")),
    ("Ruby", "ruby", include_str!("../../../snippets/verify.rb")),
    ("Go", "go", include_str!("../../../snippets/verify.go")),
];

pub(super) async fn receivers(visit: Visit<Viewer>) -> Answer {
    let t = visit.lang();
    let body = html! {
        p.lead { (t.t(
            "Anyone can send requests to a public URL. The signature proves that an event is from Offhook, unchanged and recent.",
            "Cualquiera puede enviar solicitudes a una URL pública. La firma prueba que un evento viene de Offhook, sin cambios y reciente.",
        )) }
        (steps(&visit))
        h2 { (t.t("Programs", "Programas")) }
        p { (t.t(
            "Give them the X-Service-Signature header, the raw body before any parsing, and the endpoint’s secret. Respond with 400 if the check fails.",
            "Dales el encabezado X-Service-Signature, el cuerpo sin procesar y el secreto del punto de conexión. Responde 400 si la verificación falla.",
        )) }
        (programs(t, &PROGRAMS))
        (receiving(&visit))
    };
    let title = t.t("Receive webhooks", "Recibir webhooks");
    Ok(visit.page(SECTION, title, &body))
}

fn steps(visitor: &Visitor) -> Markup {
    let t = visitor.lang();
    html! {
        h2 { (t.t("The signature", "La firma")) }
        (code(t, "header", "X-Service-Signature", "t=1777573931,v1=f37c699d…"))
        ol {
            li { (t.t("t is the time of this attempt in Unix seconds. Reject it if it is more than 300 seconds from your clock.", "t es la hora de este intento en segundos Unix. Rechaza una que difiera más de 300 segundos de tu reloj.")) }
            li { (t.t("Compute HMAC-SHA256 over t, a period and the raw body. The key is the whole secret as text, including whsec_.", "Calcula HMAC-SHA256 sobre t, un punto y el cuerpo sin procesar. La clave es el secreto completo como texto, con whsec_.")) }
            li { (t.t("Compare the hex digest with each v1 in constant time. One match is enough: while a secret is rotated, there is one v1 for each secret.", "Compara el resumen hexadecimal con cada v1 en tiempo constante. Basta con que uno coincida: durante una rotación hay uno por cada secreto.")) }
        }
        p {
            a href="/docs/webhooks#signature" {
                (t.t("A sample signature to test your program", "Una firma de ejemplo para probar tu programa"))
            }
        }
    }
}

fn receiving(visitor: &Visitor) -> Markup {
    let t = visitor.lang();
    html! {
        h2 { (t.t("Then", "Después")) }
        ul {
            li { (t.t("The same event can arrive more than once. Use X-Service-Event-Id to discard duplicates.", "El mismo evento puede llegar más de una vez. Usa X-Service-Event-Id para descartar duplicados.")) }
            li { (t.t("Respond with 200 within 10 seconds; do slow work afterward.", "Responde 200 en 10 segundos; deja lo lento para después.")) }
            li {
                (t.t("Failed attempts are retried after 5 minutes, 30 minutes and 2 hours. Each attempt is in the ", "Los intentos fallidos se reintentan a los 5 minutos, 30 minutos y 2 horas. Cada intento está en el "))
                a href={ (crate::PATH) "/webhooks/deliveries" } { (t.t("delivery history", "historial de entregas")) }
                "."
            }
        }
    }
}
