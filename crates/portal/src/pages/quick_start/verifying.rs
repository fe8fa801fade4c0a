//! How receivers verify webhooks: the programs shown are those that the tests run.

use maud::{Markup, html};

use super::{SECTION, code};
use crate::trouble::Answer;
use crate::visit::{Viewer, Visit, Visitor};

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
            "Anybody can send to a public address. The signature tells you that an event is from Offhook, unchanged and fresh.",
            "Cualquiera puede enviar a una dirección pública. La firma te dice que un evento viene de Offhook, sin cambios y reciente.",
        )) }
        (steps(&visit))
        h2 { (t.t("Programs", "Programas")) }
        p { (t.t(
            "Give them the header X-Service-Signature, the body’s bytes before any parsing, and the endpoint’s secret. Answer 400 where they say no.",
            "Dales el encabezado X-Service-Signature, los bytes del cuerpo antes de interpretarlos y el secreto del punto de conexión. Responde 400 cuando digan que no.",
        )) }
        @for (language, name, text) in PROGRAMS {
            h3 { (language) }
            (code(&visit, name, language, text.trim_end()))
        }
        (receiving(&visit))
    };
    let title = t.t("Receive webhooks", "Recibir webhooks");
    Ok(visit.page(SECTION, title, &body))
}

fn steps(visitor: &Visitor) -> Markup {
    let t = visitor.lang();
    html! {
        h2 { (t.t("The signature", "La firma")) }
        (code(visitor, "header", "X-Service-Signature", "t=1777573931,v1=f37c699d…"))
        ol {
            li { (t.t("t is the time of this attempt in Unix seconds. Refuse one that is more than 300 seconds from your clock.", "t es la hora de este intento en segundos Unix. Rechaza una que difiera más de 300 segundos de tu reloj.")) }
            li { (t.t("Compute HMAC-SHA256 over t, a full stop and the raw body. The key is the whole secret as text, whsec_ included.", "Calcula HMAC-SHA256 sobre t, un punto y el cuerpo sin procesar. La clave es el secreto completo como texto, con whsec_.")) }
            li { (t.t("Compare the hexadecimal digest with each v1 in constant time. One that fits is enough: while a secret is rotated there is one for each.", "Compara el resumen hexadecimal con cada v1 en tiempo constante. Basta con que uno coincida: durante una rotación hay uno por cada secreto.")) }
        }
        p {
            a href="/docs#signature" {
                (t.t("A signature to check your own program with", "Una firma para comprobar tu propio programa"))
            }
        }
    }
}

fn receiving(visitor: &Visitor) -> Markup {
    let t = visitor.lang();
    html! {
        h2 { (t.t("Then", "Después")) }
        ul {
            li { (t.t("The same event can come more than once. Discard what you have seen by X-Service-Event-Id.", "El mismo evento puede llegar más de una vez. Descarta lo ya visto por X-Service-Event-Id.")) }
            li { (t.t("Answer 200 within 10 seconds; do slow work afterwards.", "Responde 200 en 10 segundos; deja lo lento para después.")) }
            li {
                (t.t("What fails is tried again after 5 minutes, 30 minutes and 2 hours; each attempt stands in the ", "Lo que falla se reintenta a los 5 minutos, 30 minutos y 2 horas; cada intento está en el "))
                a href={ (crate::PATH) "/webhooks/deliveries" } { (t.t("delivery history", "historial de entregas")) }
                "."
            }
        }
    }
}
