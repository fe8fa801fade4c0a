//! Instants, durations, states and amounts in readable form.

use std::cell::RefCell;
use std::time::Duration;

use offhook_services::Zone;
use tokio::task_local;

use crate::prelude::*;

task_local! {
    /// The time zone of the page that this task draws. Nearly every part of every page shows a time.
    static ZONE: RefCell<Zone>;
}

/// Draws a page whose times are in this task's zone; in UTC where it has none yet.
pub(crate) fn in_a_zone<T>(drawing: impl Future<Output = T>) -> impl Future<Output = T> {
    // The zone is that of the calling task, also if another one draws.
    ZONE.scope(RefCell::new(zone()), drawing)
}

/// From here on, this task's pages show times in this zone.
pub(crate) fn show_in(zone: &Zone) {
    // Outside a page, nothing is shown.
    let _ = ZONE.try_with(|shown| shown.replace(zone.clone()));
}

fn zone() -> Zone {
    ZONE.try_with(|zone| zone.borrow().clone())
        .unwrap_or_default()
}

/// An instant in the account's time zone; the page's script writes it as the reader's language does.
pub(crate) fn when(at: Timestamp) -> Markup {
    let zone = zone();
    html! {
        time datetime=(at) data-zone=(zone.name()) { (zone.shown(at, "%Y-%m-%d %H:%M %Z")) }
    }
}

/// As [`when`], to the second: for what happens many times a minute.
pub(crate) fn when_exactly(at: Timestamp) -> Markup {
    let zone = zone();
    html! {
        time datetime=(at) data-zone=(zone.name()) data-seconds="" { (zone.shown(at, "%Y-%m-%d %H:%M:%S %Z")) }
    }
}

/// The time of day of an instant, where the day is known.
pub(crate) fn clock(at: Timestamp) -> Markup {
    let zone = zone();
    html! {
        time datetime=(at) data-zone=(zone.name()) data-clock="" { (zone.shown(at, "%H:%M")) }
    }
}

/// An instant, or a dash.
pub(crate) fn when_if(at: Option<Timestamp>) -> Markup {
    at.map_or_else(|| html! { span.none { "–" } }, when)
}

/// A duration: `1:05`, `1:02:05`.
pub(crate) fn length(length: Duration) -> String {
    let seconds = length.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

/// The tone of a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// As it should be.
    Good,
    /// In progress, or worth a look.
    Busy,
    /// Failed.
    Bad,
    /// Neither.
    Plain,
}

/// A state in a word. Color is never the only signal.
pub(crate) fn badge(tone: Tone, text: &str) -> Markup {
    let class = match tone {
        Tone::Good => "badge good",
        Tone::Busy => "badge busy",
        Tone::Bad => "badge bad",
        Tone::Plain => "badge",
    };
    html! { span class=(class) { (text) } }
}

/// A whole number with thousands separators.
pub(crate) fn count(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = String::new();
    for (place, digit) in digits.char_indices() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if number < 0 { format!("-{text}") } else { text }
}

/// A value of JSON: a text without its quotes, everything else as it is.
pub(crate) fn shown(value: &Json) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_compact(), str::to_owned)
}

/// Yes or no.
pub(crate) const fn yes(is: bool, lang: Lang) -> &'static str {
    match is {
        true => lang.t("Yes", "Sí"),
        false => lang.t("No", "No"),
    }
}

/// The days of the week, from Monday.
pub(crate) const fn days(t: Lang) -> [&'static str; 7] {
    [
        t.t("Monday", "lunes"),
        t.t("Tuesday", "martes"),
        t.t("Wednesday", "miércoles"),
        t.t("Thursday", "jueves"),
        t.t("Friday", "viernes"),
        t.t("Saturday", "sábado"),
        t.t("Sunday", "domingo"),
    ]
}

/// A status's name.
pub(crate) const fn agent_status(status: AgentStatus, lang: Lang) -> &'static str {
    match status {
        AgentStatus::Draft => lang.t("Draft", "Borrador"),
        AgentStatus::Active => lang.t("Active", "Activo"),
        AgentStatus::Paused => lang.t("Paused", "En pausa"),
        AgentStatus::Archived => lang.t("Archived", "Archivado"),
        AgentStatus::Error => lang.t("Error", "Error"),
    }
}

/// A status's name.
pub(crate) const fn batch_status(status: BatchStatus, t: Lang) -> &'static str {
    match status {
        BatchStatus::Scheduled => t.t("Scheduled", "Programado"),
        BatchStatus::Running => t.t("Calling", "Llamando"),
        BatchStatus::Paused => t.t("Paused", "En pausa"),
        BatchStatus::Completed => t.t("Completed", "Completado"),
        BatchStatus::Cancelled => t.t("Canceled", "Cancelado"),
        BatchStatus::Failed => t.t("Failed", "Falló"),
    }
}

/// A plan's name, capitalized.
pub(crate) fn plan_name(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

pub(crate) const fn role_name(role: MemberRole, lang: Lang) -> &'static str {
    match role {
        MemberRole::Owner => lang.t("Owner", "Propietario"),
        MemberRole::Admin => lang.t("Admin", "Administrador"),
        MemberRole::Developer => lang.t("Developer", "Desarrollador"),
        MemberRole::Viewer => lang.t("Viewer", "Lector"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_and_counts_read_as_people_write_them() {
        assert_eq!(length(Duration::from_secs(65)), "1:05");
        assert_eq!(length(Duration::from_secs(3725)), "1:02:05");
        assert_eq!(count(0), "0");
        assert_eq!(count(-1_234_567), "-1,234,567");
    }
}
