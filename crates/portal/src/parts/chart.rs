//! Charts, drawn on the server: bars as SVG, which stretch with their place, and every text as HTML around them, so that
//! its size does not. A table holds the same figures for screen readers.

use crate::prelude::*;

/// One bar: its label, its value, and the part in the accent color (`failed` of `calls`).
pub(crate) struct Bar {
    /// Below it; empty where a label would not fit.
    pub(crate) label: String,
    /// The full text: the tooltip and the table's.
    pub(crate) text: String,
    /// Its height.
    pub(crate) value: f64,
    /// The upper part that is drawn in the second color.
    pub(crate) part: f64,
}

impl Bar {
    /// A bar of one color.
    pub(crate) fn of(label: &str, text: String, value: f64) -> Self {
        Self {
            label: label.to_owned(),
            text,
            value,
            part: 0.0,
        }
    }
}

/// The height of the drawing, and the width of a bar with its gaps. Both are stretched.
const HEIGHT: f64 = 100.0;
const STEP: f64 = 10.0;

/// Bars side by side, all of one unit. `legend` names the colors, where there are two.
pub(crate) fn bars(
    t: Lang,
    title: &str,
    heads: [&str; 2],
    legend: &[&str],
    bars: &[Bar],
) -> Markup {
    let most = bars.iter().map(|bar| bar.value).fold(0.0, f64::max);
    let top = round_up(most);
    let width = STEP * bars.len().max(1) as f64;
    // Hundredths are finer than a pixel.
    let y = |value: f64| (HEIGHT * (1.0 - value / top) * 100.0).round() / 100.0;
    // Counts have no halves.
    let shares = [1.0, 0.5, 0.0].into_iter();
    let shares: Vec<f64> = shares
        .filter(|share| (top * share).fract() == 0.0)
        .collect();
    html! {
        figure.chart {
            figcaption { (title) }
            @if !legend.is_empty() {
                ul.legend {
                    @for (place, name) in legend.iter().enumerate() { li.second[place > 0] { (name) } }
                }
            }
            div.plot {
                div.axis aria-hidden="true" { @for share in &shares { span { (short(top * share)) } } }
                svg viewBox={ "0 0 " (width) " " (HEIGHT) } role="img" aria-label=(title) preserveAspectRatio="none" {
                    @for share in &shares {
                        line.grid x1="0" x2=(width) y1=(y(top * share)) y2=(y(top * share)) {}
                    }
                    @for (place, bar) in bars.iter().enumerate() {
                        @let x = STEP * place as f64 + STEP * 0.15;
                        g {
                            title { (bar.text) }
                            rect.bar x=(x) width=(STEP * 0.7) y=(y(bar.value)) height=(y(0.0) - y(bar.value)) {}
                            @if bar.part > 0.0 {
                                rect.bar.second x=(x) width=(STEP * 0.7) y=(y(bar.value)) height=(y(0.0) - y(bar.part)) {}
                            }
                        }
                    }
                }
                div.labels aria-hidden="true" { @for bar in bars { span { (bar.label) } } }
            }
            details {
                summary { (t.t("Show as table", "Ver como tabla")) span.unseen { " " (title) } }
                table {
                    thead { tr { th scope="col" { (heads[0]) } th scope="col" { (heads[1]) } } }
                    tbody { @for bar in bars { tr { td { (bar.text) } td { (short(bar.value)) } } } }
                }
            }
        }
    }
}

/// The next of 1, 2, 5, 10, 20 …: the axis ends on a round number.
fn round_up(most: f64) -> f64 {
    if most <= 1.0 {
        return 1.0;
    }
    let power = 10_f64.powf(most.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0];
    let fitting = steps
        .iter()
        .map(|step| step * power)
        .find(|end| *end >= most);
    fitting.unwrap_or(most)
}

fn short(value: f64) -> String {
    match value {
        value if value >= 1_000_000.0 => format!("{}M", trimmed(value / 1_000_000.0)),
        value if value >= 10_000.0 => format!("{}k", trimmed(value / 1_000.0)),
        value => trimmed(value),
    }
}

fn trimmed(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_has_its_texts_outside_its_drawing() {
        let failed = Bar {
            part: 1.0,
            ..Bar::of("14:00", "14:00 – calls: 4".to_owned(), 4.0)
        };
        let html = bars(
            Lang::En,
            "Calls",
            ["Hour", "Calls"],
            &["Completed", "Failed"],
            &[failed],
        );
        let html = html.into_string();
        assert!(!html.contains("<text"), "{html}");
        assert!(html.contains("<span>14:00</span>"), "{html}");
        assert!(html.contains("<li class=\"second\">Failed</li>"), "{html}");
        // The failed one is above the others: from 4 down to 3 of 5.
        assert!(
            html.contains("class=\"bar second\" x=\"1.5\" width=\"7\" y=\"20\" height=\"20\""),
            "{html}"
        );
    }

    #[test]
    fn an_axis_ends_on_a_round_number_that_holds_the_highest_bar() {
        for (most, end) in [
            (0.0, 1.0),
            (3.0, 5.0),
            (10.0, 10.0),
            (11.0, 20.0),
            (430.0, 500.0),
        ] {
            assert!((round_up(most) - end).abs() < f64::EPSILON, "{most}");
        }
        assert_eq!(short(12_500.0), "12.5k");
    }
}
