//! The cards and charts of the overview.

use offhook_services::store::{CallLatency, Wallet};
use offhook_services::{Totals, Waits};

use super::range::Range;
use crate::pages::conversations::wording;
use crate::parts::chart::{self, Bar};
use crate::prelude::*;

/// Where the bars of the response latency begin, in milliseconds; the last one has no end.
const WAITS: [i32; 7] = [0, 400, 800, 1_200, 1_600, 2_000, 3_000];

/// Reasons for failures that are shown.
const REASONS: usize = 5;

/// What the overview shows.
pub(super) struct Figures {
    bars: Vec<Totals>,
    /// Totals of the period before, if it is still kept.
    before: Option<Totals>,
    waits: Waits,
    /// The median wait of the period before.
    waited_before: Option<i32>,
    split: Option<[i64; 5]>,
    failures: Vec<(Option<FailureReason>, i64)>,
    live: i64,
    wallet: Wallet,
}

impl Figures {
    pub(super) async fn read(visitor: &Visitor, range: &Range) -> Result<Self> {
        let (services, caller) = (visitor.services(), visitor.caller());
        let (overview, account) = (services.overview(), visitor.account());
        let (agent, edges, before) = (range.agent, &range.edges, &range.before);
        let totals_before = overview.totals(caller, agent, before).await?;
        let waited_before = overview.waits(caller, agent, before).await?.typical;
        Ok(Self {
            bars: overview.totals(caller, agent, edges).await?,
            before: (!before.is_empty()).then(|| Totals::sum(&totals_before)),
            waits: overview.waits(caller, agent, edges).await?,
            waited_before: waited_before.map(|latency| latency.p50_ms),
            split: overview.split(caller, agent, edges).await?,
            failures: overview.failures(caller, agent, edges).await?,
            live: services.calls().live(account).await?,
            wallet: services.billing().wallet(account).await?,
        })
    }

    /// What one agent's page shows of them.
    pub(super) fn of_agent(&self, t: Lang, range: &Range) -> Markup {
        let sum = Totals::sum(&self.bars);
        let lasted = sum.seconds.checked_div(sum.answered);
        html! {
            div.cards {
                (self.of_period(t))
                (card(t.t("Average length", "Duración media"), &lasted.map_or_else(|| "–".to_owned(), wording::seconds_told), html! {
                    span.soft { (t.t("of answered calls", "de las llamadas contestadas")) }
                }))
            }
            @if sum.calls > 0 { (self.calls(t, range)) }
        }
    }

    pub(super) fn cards(&self, visitor: &Visitor, range: &Range) -> Markup {
        let t = visitor.lang();
        let limit = visitor.caller().terms.live_calls;
        let free: Credits = self.wallet.balance - self.wallet.reserved;
        html! {
            h2.unseen { (t.t("Figures of the period", "Cifras del periodo")) }
            div.cards {
                (self.of_period(t))
                (card(t.t("Live now", "En vivo ahora"), &format!("{} / {limit}", words::count(self.live)), html! {
                    span.soft { (t.t("calls / plan limit", "llamadas / límite del plan")) }
                    p { a href={ (PATH) "/conversations/live" } { (t.t("Watch", "Ver")) } }
                }))
                (card(t.t("Credits", "Créditos"), &words::count(free), html! {
                    span.soft { (t.t("available", "disponibles")) }
                    p { a href={ (PATH) "/billing" } { (t.t("Billing", "Facturación")) } }
                }))
            }
            @let zone = range.zone.name();
            p.soft {
                (text!(t, "Times are in {zone}.", "Las horas son de {zone}."))
                @if self.before.is_some_and(|before| before.calls > 0) { (t.t(" Changes are against the period before.", " Los cambios son frente al periodo anterior.")) }
            }
            @if self.before.is_none() && range.edges.len() > 1 {
                p.soft { (t.t(
                    "There is no comparison: conversations of the period before are no longer kept.",
                    "No hay comparación: ya no se conservan las conversaciones del periodo anterior.",
                )) }
            }
        }
    }

    fn of_period(&self, t: Lang) -> Markup {
        let sum = Totals::sum(&self.bars);
        let before = self.before;
        let none = || "–".to_owned();
        let latency = self.waits.typical;
        let latency_figure = latency.map_or_else(none, |latency| format!("{} ms", latency.p50_ms));
        let latency_told =
            latency.map(|CallLatency { p95_ms, .. }| format!("p50 · p95 {p95_ms} ms"));
        let slower = latency.zip(self.waited_before);
        let slower = slower.map(|(now, before)| (f64::from(now.p50_ms - before), " ms"));
        let points = success(sum).zip(before.and_then(success));
        let points = points.map(|(now, before)| (now - before, t.t(" points", " puntos")));
        html! {
            (card(t.t("Calls", "Llamadas"), &words::count(sum.calls), html! {
                (delta(grown(sum.calls, before.map(|before| before.calls)), Better::Neither, t))
            }))
            (card(t.t("Success", "Éxito"), &success(sum).map_or_else(none, percent), html! {
                (delta(points, Better::More, t))
                span.soft { (t.t("a person answered and spoke", "una persona contestó y habló")) }
            }))
            (card(t.t("Response latency", "Latencia de respuesta"), &latency_figure, html! {
                (delta(slower, Better::Less, t))
                span.soft { (latency_told.as_deref().unwrap_or(t.t("no calls measured", "sin llamadas medidas"))) }
            }))
            (card(t.t("Cost", "Costo"), &words::count(sum.credits), html! {
                (delta(grown(sum.credits, before.map(|before| before.credits)), Better::Neither, t))
                span.soft { (t.t("credits", "créditos")) }
            }))
        }
    }

    pub(super) fn charts(&self, t: Lang, range: &Range) -> Markup {
        html! {
            div.charts {
                (self.calls(t, range))
                (self.success(t, range))
                (calls_by_wait(&self.waits.measured, t))
                (self.cost(t, range))
                (self.reasons(t))
                @if let Some(split) = self.split { (steps(split, t)) }
            }
        }
    }

    /// A bar for each hour or day.
    fn by_time(&self, range: &Range, bar: impl Fn(&Totals, &str, &str) -> Bar) -> Vec<Bar> {
        let bars = self.bars.iter().zip(&range.edges).enumerate();
        bars.map(|(place, (totals, begin))| {
            let (time, label) = range.named(place, *begin);
            bar(totals, &time, &label)
        })
        .collect()
    }

    fn calls(&self, t: Lang, range: &Range) -> Markup {
        let bars = self.by_time(range, |totals, time, label| {
            let Totals { calls, failed, .. } = totals;
            let text = text!(
                t,
                "{time} – calls: {calls}, failed: {failed}",
                "{time} – llamadas: {calls}, fallidas: {failed}"
            );
            Bar {
                part: *failed as f64,
                ..Bar::of(label, text, *calls as f64)
            }
        });
        let heads = [time_head(range, t), t.t("Calls", "Llamadas")];
        let legend = [t.t("Completed", "Completadas"), t.t("Failed", "Fallidas")];
        chart::bars(t, t.t("Calls", "Llamadas"), heads, &legend, &bars)
    }

    fn success(&self, t: Lang, range: &Range) -> Markup {
        let bars = self.by_time(range, |totals, time, label| {
            let share = success(*totals);
            let text = match share {
                None => text!(t, "{time} – no calls", "{time} – sin llamadas"),
                Some(share) => format!("{time} – {}", percent(share)),
            };
            Bar::of(label, text, share.unwrap_or(0.0))
        });
        let heads = [time_head(range, t), "%"];
        chart::bars(t, t.t("Success, %", "Éxito, %"), heads, &[], &bars)
    }

    fn cost(&self, t: Lang, range: &Range) -> Markup {
        let bars = self.by_time(range, |totals, time, label| {
            let credits = words::count(totals.credits);
            let text = text!(
                t,
                "{time} – credits: {credits}",
                "{time} – créditos: {credits}"
            );
            Bar::of(label, text, totals.credits as f64)
        });
        let heads = [time_head(range, t), t.t("Credits", "Créditos")];
        chart::bars(
            t,
            t.t("Cost in credits", "Costo en créditos"),
            heads,
            &[],
            &bars,
        )
    }

    fn reasons(&self, t: Lang) -> Markup {
        let title = t.t("Top failure reasons", "Principales causas de falla");
        let shown = self.failures.get(..REASONS).unwrap_or(&self.failures);
        html! {
            section.chart {
                h2 { (title) }
                @if shown.is_empty() { p.soft { (t.t("No calls failed.", "Ninguna llamada falló.")) } }
                @else {
                    (Table::of(title, shown)
                        .column(t.t("Reason", "Causa"), |(reason, _)| {
                            reason.map_or(t.t("Unknown", "Se desconoce"), |reason| wording::failed(reason, t))
                        })
                        .number(t.t("Calls", "Llamadas"), |(_, count)| words::count(*count)))
                    p { a href={ (PATH) "/conversations?status=failed" } { (t.t("Failed conversations", "Conversaciones fallidas")) } }
                }
            }
        }
    }
}

const fn time_head(range: &Range, t: Lang) -> &'static str {
    match range.by_hour {
        true => t.t("Hour", "Hora"),
        false => t.t("Day", "Día"),
    }
}

/// Where the median response latency comes from, step by step.
fn steps(split: [i64; 5], t: Lang) -> Markup {
    let title = t.t("Response latency by step", "Latencia de respuesta por paso");
    let names = [
        t.t("End of turn detected", "Fin de turno detectado"),
        t.t("Model's first output", "Primera salida del modelo"),
        t.t("First sentence complete", "Primera frase completa"),
        t.t("Speech synthesized", "Voz sintetizada"),
        t.t("Playback started", "Reproducción iniciada"),
    ];
    let rows: Vec<(&str, i64)> = names.into_iter().zip(split).collect();
    html! {
        section.chart {
            h2 { (title) }
            (Table::of(title, &rows)
                .column(t.t("Step", "Paso"), |(name, _)| *name)
                .number(t.t("Median, ms", "Mediana, ms"), |(_, ms)| words::count(*ms)))
            p.soft { (t.t("Of the newest 50 calls.", "De las 50 llamadas más recientes.")) }
        }
    }
}

fn card(name: &str, figure: &str, below: Markup) -> Markup {
    html! {
        div.card {
            h3 { (name) }
            span.figure { (figure) }
            (below)
        }
    }
}

/// Which direction is good news.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Better {
    More,
    Less,
    Neither,
}

/// A change since the period before, with its unit.
fn delta(change: Option<(f64, &str)>, better: Better, t: Lang) -> Markup {
    let Some((change, unit)) = change else {
        return html! {};
    };
    let is_good = match better {
        Better::Neither => None,
        _ if change.abs() < 0.05 => None,
        Better::More => Some(change > 0.0),
        Better::Less => Some(change < 0.0),
    };
    let class = match is_good {
        None => "delta",
        Some(true) => "delta good",
        Some(false) => "delta bad",
    };
    let number = format!("{change:+.1}");
    let number = number.strip_suffix(".0").unwrap_or(&number);
    let number = match number {
        "+0" | "-0" => "±0",
        number => number,
    };
    html! {
        span class=(class) title=(t.t("against the period before", "frente al periodo anterior")) { (number) (unit) }
    }
}

/// The growth since the period before; `None` without anything then.
fn grown(now: i64, before: Option<i64>) -> Option<(f64, &'static str)> {
    let before = before.filter(|before| *before > 0)? as f64;
    Some(((now as f64 - before) * 100.0 / before, "%"))
}

/// The share of calls in which a person answered and spoke, in percent; `None` without calls.
fn success(
    Totals {
        calls, answered, ..
    }: Totals,
) -> Option<f64> {
    (calls > 0).then(|| answered as f64 * 100.0 / calls as f64)
}

fn percent(share: f64) -> String {
    format!("{share:.1}%")
}

/// Measured calls by response latency.
fn calls_by_wait(measured: &[CallLatency], t: Lang) -> Markup {
    let bars = WAITS.iter().enumerate().map(|(place, begin)| {
        let end = WAITS.get(place + 1);
        let is_in =
            |call: &&CallLatency| call.p50_ms >= *begin && end.is_none_or(|end| call.p50_ms < *end);
        let calls = measured.iter().filter(is_in).count();
        let range = end.map_or_else(|| format!("{begin} +"), |end| format!("{begin}–{end}"));
        let text = text!(
            t,
            "{range} ms – calls: {calls}",
            "{range} ms – llamadas: {calls}"
        );
        Bar::of(&begin.to_string(), text, calls as f64)
    });
    let bars: Vec<Bar> = bars.collect();
    let title = t.t(
        "Calls by their median response latency, in ms",
        "Llamadas por latencia de respuesta mediana (desde … ms)",
    );
    let heads = [t.t("Latency", "Latencia"), t.t("Calls", "Llamadas")];
    chart::bars(t, title, heads, &[], &bars)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_says_how_much_and_whether_that_is_good() {
        let told = |change, better| delta(change, better, Lang::En).into_string();
        assert_eq!(told(None, Better::More), "");
        let grown = grown(9, Some(8));
        assert!(told(grown, Better::Neither).contains("class=\"delta\""));
        assert!(told(grown, Better::Neither).ends_with(">+12.5%</span>"));
        assert!(told(Some((-80.0, " ms")), Better::Less).contains("delta good"));
        assert!(told(Some((-80.0, " ms")), Better::Less).ends_with(">-80 ms</span>"));
        assert!(told(Some((0.0, "%")), Better::More).ends_with("\">±0%</span>"));
        assert_eq!(super::grown(9, Some(0)), None);
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
}
