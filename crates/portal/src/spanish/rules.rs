//! Rules of fields, in Spanish: one without a sentence here does not compile.

use std::borrow::Cow;

use offhook_domain::json::{Rule, UrlRule};
use offhook_domain::{E164Error, TimestampError};

/// The text after the field's name.
pub(super) fn said(rule: &Rule) -> Cow<'static, str> {
    match rule {
        Rule::Blank => "no puede estar en blanco".into(),
        Rule::Null => "no puede ser null".into(),
        Rule::Uuid => "debe ser un UUID".into(),
        Rule::Twice => "aparece más de una vez".into(),
        Rule::Choice(choices) => format!("debe ser {}", among(choices)).into(),
        Rule::Bytes(most) => format!("tiene más de {most} bytes").into(),
        Rule::ToPublish => "es obligatorio para publicar".into(),
        Rule::Language => "debe ser una etiqueta de idioma BCP 47, como es-MX".into(),
        Rule::TimeZone => "debe ser una zona horaria de la IANA, como America/Mexico_City".into(),
        Rule::TimeOfDay => "debe ser una hora del día como `HH:MM`, de 00:00 a 23:59".into(),
        Rule::Date(TimestampError::Form) => {
            "debe ser una fecha o fecha y hora ISO 8601, como 2026-04-30 o 2026-04-30T18:32:11Z"
                .into()
        }
        Rule::Date(TimestampError::HourTwentyFour) => {
            "no puede tener la hora 24: un día termina a las 00:00 del siguiente".into()
        }
        Rule::Phone(E164Error::NoPlus) => {
            "debe comenzar con `+` y el código del país, como +5215512345678".into()
        }
        Rule::Phone(E164Error::PlusLost) => {
            "el `+` llegó como un espacio: en una dirección escríbelo como %2B".into()
        }
        Rule::Phone(E164Error::Malformed) => {
            "debe ser un número telefónico E.164: `+`, un dígito de 1 a 9 y de 6 a 14 dígitos más"
                .into()
        }
        Rule::Prefixes(prefixes) => {
            format!("este servicio solo llama a números que comienzan con {prefixes}").into()
        }
        Rule::NoAgent => "ningún agente de esta cuenta tiene este id".into(),
        Rule::NoNumber => "ningún número de esta cuenta tiene este id".into(),
        Rule::NoFolder => "la cuenta no tiene esa carpeta".into(),
        Rule::NoDocument => "la cuenta no tiene ese documento".into(),
        Rule::NoTool => "la cuenta no tiene esa herramienta".into(),
        Rule::NoVersion => "el agente no tiene esa versión".into(),
        Rule::NoModel { provider, .. } => format!("`{provider}` no tiene ese modelo").into(),
        Rule::NoProvider(provider) => format!(
            "`{provider}` no está configurado en este servicio (models.{provider}.base_url)"
        )
        .into(),
        Rule::Json { place, .. } => match place {
            Some((line, column)) => {
                format!("no es JSON válido en la línea {line}, columna {column}").into()
            }
            None => "no es JSON que se pueda leer: repite un miembro o anida demasiado".into(),
        },
        Rule::FileKind(_) => "debe ser un archivo txt, md, html, pdf, docx o csv".into(),
        Rule::Url { rule, .. } => url(*rule).into(),
    }
}

/// The choices that the rule lists. Words between backticks are the API's and stay as they are.
fn among(choices: &str) -> String {
    let pieces = choices.split('`').enumerate();
    let said = pieces.map(|(at, piece)| match (at % 2, piece) {
        (0, " or ") => " o ",
        (0, "one of ") => "uno de ",
        _ => piece,
    });
    said.collect::<Vec<_>>().join("`")
}

pub(super) const fn url(rule: UrlRule) -> &'static str {
    match rule {
        UrlRule::Length => "es demasiado larga: acorta la dirección",
        UrlRule::Characters => {
            "no puede tener espacios, barras invertidas ni caracteres de control: codifícalos con %"
        }
        UrlRule::Whole => "debe ser una dirección completa, como https://example.com/events",
        UrlRule::Https => "debe comenzar con https://",
        UrlRule::Credentials => {
            "no puede tener usuario ni contraseña: quita lo que está antes de la @"
        }
        UrlRule::Fragment => "no puede tener un fragmento: quita el # y lo que sigue",
        UrlRule::Address => {
            "debe nombrar un servidor y no una dirección IP: usa un dominio que lleve a una dirección pública"
        }
        UrlRule::Local => {
            "debe nombrar un servidor público, como example.com: este nombre solo se conoce dentro de una red"
        }
        UrlRule::Host => {
            "debe tener un servidor válido: letras, dígitos y guiones, con puntos entre las partes y ninguno al final"
        }
        UrlRule::Port => "debe usar el puerto 443 o uno de 1024 a 65535",
    }
}
