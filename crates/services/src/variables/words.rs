//! Dates in words, in the languages of the fixed sentences; in others as in ISO 8601, with English weekdays.

use crate::Zone;
use crate::prelude::*;

/// The words of one language.
struct Words {
    tag: &'static str,
    /// From Monday.
    weekdays: [&'static str; 7],
    months: [&'static str; 12],
    /// Day, month and year, as `{d}`, `{m}` and `{y}`.
    date: &'static str,
}

const LANGUAGES: [Words; 6] = [
    Words {
        tag: "en",
        weekdays: [
            "Monday",
            "Tuesday",
            "Wednesday",
            "Thursday",
            "Friday",
            "Saturday",
            "Sunday",
        ],
        months: [
            "January",
            "February",
            "March",
            "April",
            "May",
            "June",
            "July",
            "August",
            "September",
            "October",
            "November",
            "December",
        ],
        date: "{m} {d}, {y}",
    },
    Words {
        tag: "es",
        weekdays: [
            "lunes",
            "martes",
            "miércoles",
            "jueves",
            "viernes",
            "sábado",
            "domingo",
        ],
        months: [
            "enero",
            "febrero",
            "marzo",
            "abril",
            "mayo",
            "junio",
            "julio",
            "agosto",
            "septiembre",
            "octubre",
            "noviembre",
            "diciembre",
        ],
        date: "{d} de {m} de {y}",
    },
    Words {
        tag: "de",
        weekdays: [
            "Montag",
            "Dienstag",
            "Mittwoch",
            "Donnerstag",
            "Freitag",
            "Samstag",
            "Sonntag",
        ],
        months: [
            "Januar",
            "Februar",
            "März",
            "April",
            "Mai",
            "Juni",
            "Juli",
            "August",
            "September",
            "Oktober",
            "November",
            "Dezember",
        ],
        date: "{d}. {m} {y}",
    },
    Words {
        tag: "fr",
        weekdays: [
            "lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche",
        ],
        months: [
            "janvier",
            "février",
            "mars",
            "avril",
            "mai",
            "juin",
            "juillet",
            "août",
            "septembre",
            "octobre",
            "novembre",
            "décembre",
        ],
        date: "{d} {m} {y}",
    },
    Words {
        tag: "it",
        weekdays: [
            "lunedì",
            "martedì",
            "mercoledì",
            "giovedì",
            "venerdì",
            "sabato",
            "domenica",
        ],
        months: [
            "gennaio",
            "febbraio",
            "marzo",
            "aprile",
            "maggio",
            "giugno",
            "luglio",
            "agosto",
            "settembre",
            "ottobre",
            "novembre",
            "dicembre",
        ],
        date: "{d} {m} {y}",
    },
    Words {
        tag: "pt",
        weekdays: [
            "segunda-feira",
            "terça-feira",
            "quarta-feira",
            "quinta-feira",
            "sexta-feira",
            "sábado",
            "domingo",
        ],
        months: [
            "janeiro",
            "fevereiro",
            "março",
            "abril",
            "maio",
            "junho",
            "julho",
            "agosto",
            "setembro",
            "outubro",
            "novembro",
            "dezembro",
        ],
        date: "{d} de {m} de {y}",
    },
];

fn words(language: &str) -> Option<&'static Words> {
    let primary = language.split(['-', '_']).next().unwrap_or_default();
    let mut known = LANGUAGES.iter();
    known.find(|words| words.tag.eq_ignore_ascii_case(primary))
}

/// A number of the date, from 1.
fn part(zone: &Zone, at: Timestamp, format: &str) -> usize {
    zone.shown(at, format).parse().unwrap_or(1)
}

/// The date of an instant in words.
pub(super) fn date(language: &str, zone: &Zone, at: Timestamp) -> String {
    let Some(words) = words(language) else {
        return zone.shown(at, "%Y-%m-%d");
    };
    let month = words.months[(part(zone, at, "%-m") - 1) % 12];
    let numbers = ["%-d", "%Y"].map(|format| zone.shown(at, format));
    let date = words.date.replace("{m}", month);
    date.replace("{d}", &numbers[0]).replace("{y}", &numbers[1])
}

/// The weekday of an instant.
pub(super) fn weekday(language: &str, zone: &Zone, at: Timestamp) -> String {
    let words = words(language).unwrap_or(&LANGUAGES[0]);
    words.weekdays[(part(zone, at, "%u") - 1) % 7].to_owned()
}
