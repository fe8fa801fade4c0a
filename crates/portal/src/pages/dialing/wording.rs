//! Rules and sources in words.

use offhook_services::DialRefusal;

use crate::prelude::*;

/// A rule's name, and why it refuses a call.
pub(crate) fn refusal(rule: DialRule, t: Lang) -> Markup {
    html! { (name(rule, t)) ": " (t.text(&DialRefusal::from(rule))) }
}

const fn name(rule: DialRule, t: Lang) -> &'static str {
    match rule {
        DialRule::SuppressionList => t.t("Suppression list", "Lista de exclusión"),
        DialRule::AllowedPrefixes => t.t("Allowed prefixes", "Prefijos permitidos"),
        DialRule::Consent => t.t("Consent", "Consentimiento"),
        DialRule::TimeZone => t.t("Time zone", "Zona horaria"),
        DialRule::Window => t.t("Window", "Horario"),
        DialRule::CallingHours => t.t("Calling hours", "Horario de llamadas"),
        DialRule::AttemptsPerDay => t.t("Calls per day", "Llamadas por día"),
        DialRule::AttemptsPerWeek => t.t("Calls per week", "Llamadas por semana"),
        DialRule::MinimumPause => t.t("Minimum pause", "Pausa mínima"),
        DialRule::DailyCredits => t.t("Daily credits", "Créditos diarios"),
    }
}

/// How a number came on the list.
pub(super) const fn source(source: SuppressionSource, t: Lang) -> &'static str {
    match source {
        SuppressionSource::Api => "API",
        SuppressionSource::Portal => "Portal",
        SuppressionSource::Import => t.t("CSV file", "Archivo CSV"),
        SuppressionSource::Customer => t.t("Customer", "Cliente"),
    }
}
