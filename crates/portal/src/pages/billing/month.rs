//! The present month: what it has cost, by whom, and what it will.

use std::collections::HashMap;

use maud::{Markup, html};
use offhook_domain::{Credits, MemberRole};
use offhook_services::MonthSoFar;
use offhook_services::store::{AgentFilter, UsageShare};

use crate::lang::{Lang, text};
use crate::parts::agent_choice::AgentChoice;
use crate::parts::form::{self, Input};
use crate::parts::list::Table;
use crate::parts::words::count;
use crate::trouble::{Answer, Result};
use crate::visit::layout::Section;
use crate::visit::{Admin, Post, Visitor};

/// Rows of each table; the rest is summed up.
const ROWS: usize = 10;

/// The largest threshold.
const MOST: Credits = 1_000_000_000;

/// The warning of a month that has reached the account's threshold.
pub(crate) fn alarm(month: &MonthSoFar, t: Lang) -> Markup {
    let Some(alert) = month.alarm() else {
        return html! {};
    };
    let (spent, alert) = (count(month.spent), count(alert));
    html! {
        p.warning role="status" { (text!(
            t,
            "This month has cost {spent} credits, and your alert is set to {alert}.",
            "Este mes ha costado {spent} créditos, y tu alerta está en {alert}."
        )) }
    }
}

pub(super) async fn draw(visitor: &Visitor, month: &MonthSoFar) -> Result<Markup> {
    let t = visitor.lang();
    let agents = AgentChoice::of(visitor, AgentFilter::default()).await?;
    let keys = visitor.services().keys().list(visitor.account()).await?;
    let shares = visitor
        .services()
        .billing()
        .shares(visitor.account())
        .await?;
    let by_agent = summed(&shares, |share| agents.name(&share.agent_id.to_string()));
    let by_key = summed(&shares, |share| {
        let Some(id) = share.key_id else {
            return t.t("Without a key", "Sin clave").to_owned();
        };
        let key = keys.iter().find(|key| key.id == id);
        key.map_or_else(
            || id.to_string(),
            |key| format!("{} ({}…)", key.name, key.prefix),
        )
    });
    let forecast = month.forecast.map_or_else(|| "–".to_owned(), count);
    Ok(html! {
        div.cards {
            div.card { span.figure { (count(month.spent)) } (t.t("Credits spent", "Créditos gastados")) }
            div.card { span.figure { (forecast) } (t.t("Forecast at this pace", "Pronóstico a este ritmo")) }
        }
        (table(t.t("By agent", "Por agente"), t.t("Agent", "Agente"), &by_agent, t))
        (table(t.t("By API key", "Por clave de API"), t.t("Key", "Clave"), &by_key, t))
        @if visitor.may(MemberRole::Admin) { (alert_form(visitor, month.alert, None)) }
    })
}

/// The totals of each name, the dearest first.
struct Sum {
    name: String,
    conversations: i64,
    seconds: i64,
    credits: Credits,
}

fn summed(shares: &[UsageShare], name: impl Fn(&UsageShare) -> String) -> Vec<Sum> {
    let mut sums: HashMap<String, Sum> = HashMap::new();
    for share in shares {
        let name = name(share);
        let sum = sums.entry(name.clone()).or_insert(Sum {
            name,
            conversations: 0,
            seconds: 0,
            credits: 0,
        });
        sum.conversations += share.conversations;
        sum.seconds += share.seconds;
        sum.credits += share.credits;
    }
    let mut sums: Vec<Sum> = sums.into_values().collect();
    sums.sort_by(|a, b| b.credits.cmp(&a.credits).then_with(|| a.name.cmp(&b.name)));
    sums
}

fn table(title: &str, head: &str, sums: &[Sum], t: Lang) -> Markup {
    if sums.is_empty() {
        return html! {};
    }
    let shown = sums.get(..ROWS).unwrap_or(sums);
    let rest: Credits = sums.iter().skip(ROWS).map(|sum| sum.credits).sum();
    html! {
        h3 { (title) }
        (Table::of(title, shown)
            .column(head, |sum| &sum.name)
            .number(t.t("Conversations", "Conversaciones"), |sum| count(sum.conversations))
            .number(t.t("Minutes", "Minutos"), |sum| minutes(sum.seconds))
            .number(t.t("Credits", "Créditos"), |sum| count(sum.credits)))
        @if rest > 0 {
            @let rest = count(rest);
            p.soft { (text!(t, "All others: {rest} credits.", "Los demás: {rest} créditos.")) }
        }
    }
}

/// Minutes with one decimal: a call of half a minute is not 0.
pub(super) fn minutes(seconds: i64) -> String {
    let tenths = (seconds + 3) / 6;
    match tenths % 10 {
        0 => count(tenths / 10),
        tenth => format!("{}.{tenth}", count(tenths / 10)),
    }
}

fn alert_form(visitor: &Visitor, alert: Option<Credits>, refused: Option<&str>) -> Markup {
    let t = visitor.lang();
    let stored = alert.map(|alert| alert.to_string()).unwrap_or_default();
    let message = t.t(
        "Write a whole number of credits from 1 to 1,000,000,000, or leave it empty.",
        "Escribe un número entero de créditos de 1 a 1,000,000,000, o déjalo vacío.",
    );
    html! {
        h3 { (t.t("Alert", "Alerta")) }
        (form::refusal(refused.map(|_| message)))
        (form::form(visitor, "/billing/alert", &html! {
            (Input::text("alert_credits", t.t("Warn at this many credits per month", "Avisar a partir de estos créditos al mes"))
                .kind("number")
                .value(refused.unwrap_or(&stored))
                .hint(t.t(
                    "Every member sees the warning on the overview and here. Leave empty for none. Nothing is stopped.",
                    "Todos los miembros ven el aviso en el resumen y aquí. Déjalo vacío para no tenerlo. Nada se detiene.",
                )))
            button type="submit" { (t.t("Save", "Guardar")) }
        }))
    }
}

/// `POST /portal/billing/alert`
pub(super) async fn set_alert(post: Post<Admin>) -> Answer {
    let (t, typed) = (post.lang(), post.fields.get("alert_credits"));
    let alert = typed.map(str::parse::<Credits>).transpose();
    let alert = alert
        .ok()
        .filter(|alert| alert.is_none_or(|alert| (1..=MOST).contains(&alert)));
    let Some(alert) = alert else {
        let body = alert_form(&post, None, typed);
        return Ok(post.refused(Section::Billing, Section::Billing.name(t), &body));
    };
    let accounts = post.services().accounts();
    accounts.set_alert_credits(post.account(), alert).await?;
    let target = alert.map_or_else(|| "none".to_owned(), |alert| alert.to_string());
    let message = t.t("Saved.", "Guardado.");
    post.done("account.alert", target, "/billing", message)
        .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_minute_is_not_none() {
        assert_eq!(
            ["0", "0.5", "1", "61.5"],
            [0, 30, 60, 3_690].map(minutes).as_slice()
        );
    }
}
