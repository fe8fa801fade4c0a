//! The present month: what it has cost, by whom, and what it will.

use std::collections::HashMap;

use offhook_services::MonthSoFar;
use offhook_services::store::{AgentFilter, Thresholds, UsageShare};

use crate::pages::settings::saved;
use crate::parts::agent_choice::AgentChoice;
use crate::parts::words::count;
use crate::prelude::*;

/// Rows of each table; the rest is summed up.
const ROWS: usize = 10;

/// The largest threshold.
const MOST: Credits = 1_000_000_000;

/// The warnings of a month that has reached a threshold, and of a balance that is below one.
pub(crate) fn alarm(month: &MonthSoFar, t: Lang) -> Markup {
    let (spent, balance) = (count(month.spent), count(month.balance));
    html! {
        @if let Some(alert) = month.spent_alarm().map(count) {
            p.warning role="status" { (text!(
                t,
                "This month has cost {spent} credits, and your alert is set to {alert}.",
                "Este mes ha costado {spent} créditos, y tu alerta está en {alert}."
            )) }
        }
        @if let Some(alert) = month.balance_alarm().map(count) {
            p.warning role="status" { (text!(
                t,
                "Your balance is {balance} credits, below your alert of {alert}.",
                "Tu saldo es de {balance} créditos, menos que tu alerta de {alert}."
            )) }
        }
    }
}

/// What the month's credits went to.
pub(super) async fn shares(visitor: &Visitor) -> Result<Markup> {
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
    Ok(html! {
        (table(t.t("By agent, this month", "Por agente, este mes"), t.t("Agent", "Agente"), &by_agent, t))
        (table(t.t("By API key, this month", "Por clave de API, este mes"), t.t("Key", "Clave"), &by_key, t))
    })
}

/// The form of the month's alerts.
pub(super) fn alerts(visitor: &Visitor, month: &MonthSoFar) -> Markup {
    alert_form(visitor, &fields_of(month.thresholds), None)
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
        section.chart {
            h2 { (title) }
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
}

/// Minutes with one decimal: a call of half a minute is not 0.
pub(super) fn minutes(seconds: i64) -> String {
    let tenths = (seconds + 3) / 6;
    match tenths % 10 {
        0 => count(tenths / 10),
        tenth => format!("{}.{tenth}", count(tenths / 10)),
    }
}

/// The fields of the thresholds, in the order of the form; the last is that of the balance.
const FIELDS: [&str; 4] = [
    "alert_credits",
    "alert_credits_2",
    "alert_credits_3",
    "alert_balance",
];

fn fields_of(thresholds: Thresholds) -> Fields {
    let Thresholds {
        spent,
        spent_2,
        spent_3,
        balance,
    } = thresholds;
    let stored = FIELDS.into_iter().zip([spent, spent_2, spent_3, balance]);
    let mut fields = Fields::default();
    for (name, credits) in stored {
        fields.push(
            name,
            &credits.map_or_else(String::new, |credits| credits.to_string()),
        );
    }
    fields
}

/// The thresholds as typed; `None` if one is no number of credits.
fn thresholds_of(fields: &Fields) -> Option<Thresholds> {
    let read = |name: &str| -> Option<Option<Credits>> {
        let Some(typed) = fields.get(name) else {
            return Some(None);
        };
        let credits = typed.parse().ok()?;
        (1..=MOST).contains(&credits).then_some(Some(credits))
    };
    let [spent, spent_2, spent_3, balance] = FIELDS.map(read);
    Some(Thresholds {
        spent: spent?,
        spent_2: spent_2?,
        spent_3: spent_3?,
        balance: balance?,
    })
}

fn alert_form(visitor: &Visitor, fields: &Fields, refusal: Option<&str>) -> Markup {
    let t = visitor.lang();
    let labels = [
        t.t(
            "Warn at this many credits per month",
            "Avisar a partir de estos créditos al mes",
        ),
        t.t("Warn again at", "Avisar de nuevo a partir de"),
        t.t("And once more at", "Y una vez más a partir de"),
        t.t(
            "Warn when the balance is below",
            "Avisar si el saldo es menor que",
        ),
    ];
    html! {
        section {
            h2 { (t.t("Alerts", "Alertas")) }
            p.hint {
                (t.t(
                    "Every member sees a warning on the overview and here. Nothing is stopped, and no email is sent. For a notification, add a webhook endpoint that receives billing.threshold: it gets one event per alert and month.",
                    "Todos los miembros ven un aviso en el resumen y aquí. Nada se detiene y no se envían correos. Para recibir una notificación, agrega un punto de conexión de webhook que reciba billing.threshold: le llega un evento por alerta y mes.",
                ))
                " "
                a href={ (crate::PATH) "/webhooks" } { (t.t("Go to webhooks", "Ir a los webhooks")) }
            }
            (form::refusal(refusal))
            (form::form(visitor, "/billing/alert", &html! {
                div.pairs {
                    @for (name, label) in FIELDS.into_iter().zip(labels) {
                        (Input::text(name, label).kind("number").value(fields.text(name)))
                    }
                }
                p.hint { (t.t("In credits. Leave empty for none.", "En créditos. Déjalo vacío para no tenerlo.")) }
                button.primary type="submit" { (t.t("Save", "Guardar")) }
            }))
        }
    }
}

/// `POST /portal/billing/alert`
pub(super) async fn set_alert(post: Post<Admin>) -> Answer {
    let t = post.lang();
    let Some(thresholds) = thresholds_of(&post.fields) else {
        let message = t.t(
            "Write whole numbers of credits from 1 to 1,000,000,000, or leave them empty.",
            "Escribe números enteros de créditos de 1 a 1,000,000,000, o déjalos vacíos.",
        );
        let body = alert_form(&post, &post.fields, Some(message));
        return Ok(post.refused(Section::Billing, Section::Billing.name(t), &body));
    };
    let accounts = post.services().accounts();
    let before = accounts.settings(post.account()).await?;
    accounts.set_thresholds(post.account(), thresholds).await?;
    let fields = fields_of(thresholds);
    let set: Vec<&str> = FIELDS.iter().filter_map(|name| fields.get(name)).collect();
    let target = match set.is_empty() {
        true => "none".to_owned(),
        false => set.join(", "),
    };
    saved(&post, &before, ("account.alert", target), "/billing").await
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
