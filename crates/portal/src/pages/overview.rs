//! The overview: figures of the last day.

use maud::{Markup, html};
use offhook_domain::{Credits, MemberRole};
use offhook_services::LastDay;
use offhook_services::store::{
    AgentFilter, CallLatency, ConversationFilter, UsageDay, UsageHour, Wallet,
};

use super::{billing, conversations};
use crate::PATH;
use crate::lang::{Lang, text};
use crate::page::Page;
use crate::parts::chart::{self, Bar};
use crate::parts::words;
use crate::trouble::{Answer, Result};
use crate::visit::layout::Section;
use crate::visit::{Viewer, Visit, Visitor, first};

/// Conversations that are shown.
const NEWEST: u32 = 5;

/// Hours between two that have a label below them.
const LABELLED_HOURS: usize = 6;

/// Days whose credits are shown.
const DAYS: i32 = 14;

/// Where the bars of the response latency begin, in milliseconds; the last one has no end.
const WAITS: [i32; 7] = [0, 400, 800, 1_200, 1_600, 2_000, 3_000];

/// The paths.
pub(super) fn routes() -> Vec<Page> {
    vec![Page::at("").get(show), Page::at("/").get(show)]
}

/// `GET /portal/`
async fn show(visit: Visit<Viewer>) -> Answer {
    let lang = visit.lang();
    let newest = visit.services().conversations();
    let newest = newest.list(visit.caller(), ConversationFilter::default(), first(NEWEST));
    let newest = newest.await?.items;
    let figures = Figures::read(&visit).await?;
    let steps = match newest.is_empty() {
        true => Some(first_steps(&visit).await?),
        false => None,
    };
    let body = html! {
        @if let Some(steps) = &steps { (steps) }
        (figures.cards(&visit))
        @if steps.is_none() {
            div.charts {
                (calls_by_hour(&figures.day.hours, lang))
                (success_by_hour(&figures.day.hours, lang))
                (calls_by_wait(&figures.day.measured, lang))
                (credits_by_day(&figures.days, lang))
            }
            h2 { (lang.t("Recent conversations", "Conversaciones recientes")) }
            (conversations::table(&newest, lang))
            p { a href={ (PATH) "/conversations" } { (lang.t("All conversations", "Todas las conversaciones")) } }
        }
    };
    Ok(visit.page(Section::Overview, Section::Overview.name(lang), &body))
}

/// The figures of the cards.
struct Figures {
    day: LastDay,
    /// The last days, today last.
    days: Vec<UsageDay>,
    live: i64,
    wallet: Wallet,
}

impl Figures {
    async fn read(visitor: &Visitor) -> Result<Self> {
        let services = visitor.services();
        let (account, today) = (visitor.account(), visitor.now().utc_day());
        let billing = services.billing();
        let days = (today - (DAYS - 1), today);
        let usage = billing.usage(account, days, None, DAYS as u32).await?;
        Ok(Self {
            day: services.overview().last_day(visitor.caller()).await?,
            days: usage.items,
            live: services.calls().live(account).await?,
            wallet: billing.wallet(account).await?,
        })
    }

    fn cards(&self, visitor: &Visitor) -> Markup {
        let lang = visitor.lang();
        let hours = &self.day.hours;
        let calls: i64 = hours.iter().map(|hour| hour.calls).sum();
        let failed: i64 = hours.iter().map(|hour| hour.failed).sum();
        let limit = visitor.caller().terms.live_calls;
        let none = || "–".to_owned();
        let latency = self.day.latency;
        let latency_figure = latency.map_or_else(none, |latency| format!("{} ms", latency.p50_ms));
        let latency_told = latency.map(|CallLatency { p95_ms, .. }| {
            text!(lang, "p50 · p95 {p95_ms} ms", "p50 · p95 {p95_ms} ms")
        });
        let today = self.days.last();
        let (calls_today, credits_today) = today.map_or((0, 0), |day| (day.calls, day.credits));
        let calls_today = words::count(calls_today);
        let today = text!(
            lang,
            "today (UTC): {calls_today}",
            "hoy (UTC): {calls_today}"
        );
        let free: Credits = self.wallet.balance - self.wallet.reserved;
        let spent = words::count(credits_today);
        let spent = text!(
            lang,
            "{spent} spent today (UTC)",
            "{spent} gastados hoy (UTC)"
        );
        html! {
            h2.unseen { (lang.t("Last 24 hours", "Últimas 24 horas")) }
            div.cards {
                (card(lang.t("Calls in 24 hours", "Llamadas en 24 h"), &words::count(calls), &today, None))
                (card(
                    lang.t("Success", "Éxito"),
                    &success(calls, failed).unwrap_or_else(none),
                    lang.t("of calls that ended in the last 24 hours", "de las llamadas que terminaron en las últimas 24 horas"),
                    None,
                ))
                (card(
                    lang.t("Response latency", "Latencia de respuesta"),
                    &latency_figure,
                    latency_told.as_deref().unwrap_or(lang.t("no calls measured", "sin llamadas medidas")),
                    None,
                ))
                (card(
                    lang.t("Live now", "En vivo ahora"),
                    &format!("{} / {limit}", words::count(self.live)),
                    lang.t("calls / plan limit", "llamadas / límite del plan"),
                    Some(("/conversations/live", lang.t("Watch", "Ver"))),
                ))
                (card(
                    lang.t("Credits", "Créditos"),
                    &words::count(free),
                    &spent,
                    Some(("/billing", lang.t("Billing", "Facturación"))),
                ))
            }
        }
    }
}

fn card(name: &str, figure: &str, text: &str, link: Option<(&str, &str)>) -> Markup {
    html! {
        div.card {
            h3 { (name) }
            span.figure { (figure) }
            span.soft { (text) }
            @if let Some((path, label)) = link { p { a href={ (PATH) (path) } { (label) } } }
        }
    }
}

/// The share of calls that did not fail; `None` without calls.
fn success(calls: i64, failed: i64) -> Option<String> {
    (calls > 0).then(|| format!("{:.1}%", (calls - failed) as f64 * 100.0 / calls as f64))
}

/// A bar for each hour: its start in UTC, with a label below some.
fn by_hour(hours: &[UsageHour], bar: impl Fn(&UsageHour, &str, &str) -> Bar) -> Vec<Bar> {
    let hours = hours.iter().enumerate();
    let bars = hours.map(|(place, hour)| {
        let begins = hour.begins_at().to_string();
        let time = begins.get(11..16).unwrap_or_default();
        let is_labelled = place % LABELLED_HOURS == 0;
        bar(hour, time, if is_labelled { time } else { "" })
    });
    bars.collect()
}

fn success_by_hour(hours: &[UsageHour], lang: Lang) -> Markup {
    let bars = by_hour(hours, |hour, time, label| {
        let text = match success(hour.calls, hour.failed) {
            None => text!(lang, "{time} UTC – no calls", "{time} UTC – sin llamadas"),
            Some(part) => format!("{time} UTC – {part}"),
        };
        let value = match hour.calls {
            0 => 0.0,
            calls => (calls - hour.failed) as f64 * 100.0 / calls as f64,
        };
        Bar::of(label, text, value)
    });
    let title = lang.t("Success per hour (UTC), %", "Éxito por hora (UTC), %");
    chart::half(title, [lang.t("Hour", "Hora"), "%"], &bars)
}

/// Measured calls by response latency.
fn calls_by_wait(measured: &[CallLatency], lang: Lang) -> Markup {
    let bars = WAITS.iter().enumerate().map(|(place, begin)| {
        let end = WAITS.get(place + 1);
        let is_in =
            |call: &&CallLatency| call.p50_ms >= *begin && end.is_none_or(|end| call.p50_ms < *end);
        let calls = measured.iter().filter(is_in).count();
        let range = end.map_or_else(|| format!("{begin} +"), |end| format!("{begin}–{end}"));
        let text = text!(
            lang,
            "{range} ms – calls: {calls}",
            "{range} ms – llamadas: {calls}"
        );
        Bar::of(&begin.to_string(), text, calls as f64)
    });
    let bars: Vec<Bar> = bars.collect();
    let title = lang.t(
        "Calls by median response latency (from … ms)",
        "Llamadas por latencia de respuesta mediana (desde … ms)",
    );
    let heads = [lang.t("Latency", "Latencia"), lang.t("Calls", "Llamadas")];
    chart::half(title, heads, &bars)
}

fn credits_by_day(days: &[UsageDay], lang: Lang) -> Markup {
    let title = lang.t("Credits per day, 14 days", "Créditos por día, 14 días");
    let heads = [
        lang.t("Day (UTC)", "Día (UTC)"),
        lang.t("Credits", "Créditos"),
    ];
    chart::half(title, heads, &billing::credits_by_day(days, lang))
}

fn calls_by_hour(hours: &[UsageHour], lang: Lang) -> Markup {
    let bars = by_hour(hours, |hour, time, label| {
        let (calls, failed) = (hour.calls, hour.failed);
        let text = text!(
            lang,
            "{time} UTC – calls: {calls}, failed: {failed}",
            "{time} UTC – llamadas: {calls}, fallidas: {failed}"
        );
        Bar {
            part: failed as f64,
            ..Bar::of(label, text, calls as f64)
        }
    });
    let title = lang.t(
        "Calls per hour (UTC), failed calls highlighted",
        "Llamadas por hora (UTC), fallidas destacadas",
    );
    let heads = [lang.t("Hour", "Hora"), lang.t("Calls", "Llamadas")];
    chart::half(title, heads, &bars)
}

/// The steps before the first conversation, and which are done.
async fn first_steps(visitor: &Visitor) -> Result<Markup> {
    let (lang, services) = (visitor.lang(), visitor.services());
    let agents = services.agents();
    let agents = agents.list(visitor.account(), AgentFilter::default(), first(100));
    let agents = agents.await?.items;
    let keys = services.keys().list(visitor.account()).await?;
    let is_published = agents.iter().any(|agent| agent.published_version > 0);
    let may = visitor.may(MemberRole::Developer);
    let step = |is_done: bool, path: &str, name: &str, text: &str| {
        html! {
            li {
                @if is_done { (words::badge(words::Tone::Good, lang.t("Done", "Listo"))) " " }
                @if may { a href={ (PATH) (path) } { (name) } } @else { strong { (name) } }
                " " span.soft { (text) }
            }
        }
    };
    Ok(html! {
        h2 { (lang.t("Get started", "Primeros pasos")) }
        ol.steps {
            (step(!agents.is_empty(), "/agents", lang.t("Create an agent", "Crea un agente"), lang.t(
                "Write its instructions and greeting, and choose its voice and model.",
                "Escribe sus instrucciones y su saludo, y elige su voz y su modelo.",
            )))
            (step(is_published, "/agents", lang.t("Publish it", "Publícalo"), lang.t(
                "Calls use the published version.",
                "Las llamadas usan la versión publicada.",
            )))
            (step(false, "/try/call", lang.t("Call yourself, or chat with it", "Llámate o chatea con él"), lang.t(
                "Try it before your customers do.",
                "Pruébalo antes que tus clientes.",
            )))
            (step(!keys.is_empty(), "/developers", lang.t("Create an API key", "Crea una clave de API"), lang.t(
                "Your system uses it to place calls and read the results.",
                "Tu sistema la usa para hacer llamadas y leer los resultados.",
            )))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn success_is_of_calls_that_ended() {
        assert_eq!(success(0, 0), None);
        assert_eq!(success(8, 1).as_deref(), Some("87.5%"));
        assert_eq!(success(3, 0).as_deref(), Some("100.0%"));
    }

    #[test]
    fn every_call_that_was_measured_is_in_one_bar() {
        let call = |p50_ms| CallLatency {
            turns: 3,
            p50_ms,
            p95_ms: p50_ms * 2,
        };
        let calls = [0, 399, 400, 2_999, 3_000, 90_000].map(call);
        let html = calls_by_wait(&calls, Lang::En).into_string();
        for text in [
            "0–400 ms – calls: 2",
            "400–800 ms – calls: 1",
            "800–1200 ms – calls: 0",
            "2000–3000 ms – calls: 1",
            "3000 + ms – calls: 2",
        ] {
            assert!(html.contains(text), "{text} in {html}");
        }
    }

    #[test]
    fn the_day_is_a_bar_for_each_hour_with_what_failed_in_it() {
        let hours = [
            UsageHour {
                hour: 494_000,
                calls: 4,
                failed: 1,
                ..UsageHour::default()
            },
            UsageHour {
                hour: 494_001,
                calls: 0,
                failed: 0,
                ..UsageHour::default()
            },
        ];
        let html = success_by_hour(&hours, Lang::En).into_string();
        assert!(html.contains("08:00 UTC – 75.0%"), "{html}");
        assert!(html.contains("09:00 UTC – no calls"), "{html}");
        let html = calls_by_hour(&hours, Lang::En).into_string();
        assert!(html.contains("08:00 UTC – calls: 4, failed: 1"), "{html}");
        assert_eq!(
            html.matches("rect class=\"bar second\"").count(),
            1,
            "{html}"
        );
    }
}
