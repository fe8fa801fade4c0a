//! Charts as SVG, drawn on the server. A table holds the same figures for screen readers.

use maud::{Markup, html};

/// The width of a chart, and of one beside another.
const WIDTH: f64 = 640.0;
const HALF_WIDTH: f64 = 400.0;
const HEIGHT: f64 = 160.0;
const LEFT: f64 = 44.0;
const BOTTOM: f64 = 22.0;
const TOP: f64 = 10.0;

/// One bar: its label, its value, and the part in the accent color (`failed` of `calls`).
pub(crate) struct Bar {
    /// Below it; empty where a label would not fit.
    pub(crate) label: String,
    /// The full text: the tooltip and the table's.
    pub(crate) text: String,
    /// Its height.
    pub(crate) value: f64,
    /// The lower part that is drawn in the second color.
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

/// Bars side by side, all of one unit.
pub(crate) fn bars(title: &str, heads: [&str; 2], bars: &[Bar]) -> Markup {
    drawn(WIDTH, title, heads, bars)
}

/// The same in a chart that has another one beside it.
pub(crate) fn half(title: &str, heads: [&str; 2], bars: &[Bar]) -> Markup {
    drawn(HALF_WIDTH, title, heads, bars)
}

fn drawn(width: f64, title: &str, heads: [&str; 2], bars: &[Bar]) -> Markup {
    let most = bars.iter().map(|bar| bar.value).fold(0.0, f64::max);
    let top = round_up(most);
    let step = (width - LEFT) / (bars.len().max(1)) as f64;
    let y = |value: f64| TOP + (HEIGHT - TOP - BOTTOM) * (1.0 - value / top);
    html! {
        figure.chart {
            figcaption { (title) }
            svg viewBox={ "0 0 " (width) " " (HEIGHT) } role="img" aria-label=(title) preserveAspectRatio="none" {
                // Counts have no halves.
                @for share in [0.0, 0.5, 1.0].into_iter().filter(|share| (top * share).fract() == 0.0) {
                    line.grid x1=(LEFT) x2=(width) y1=(y(top * share)) y2=(y(top * share)) {}
                    text.axis x=(LEFT - 6.0) y=(y(top * share) + 4.0) text-anchor="end" { (short(top * share)) }
                }
                @for (place, bar) in bars.iter().enumerate() {
                    @let x = LEFT + step * place as f64;
                    g {
                        title { (bar.text) }
                        rect.bar x=(x + step * 0.15) width=(step * 0.7) y=(y(bar.value)) height=(y(0.0) - y(bar.value)) {}
                        @if bar.part > 0.0 {
                            rect.bar.second x=(x + step * 0.15) width=(step * 0.7) y=(y(bar.part)) height=(y(0.0) - y(bar.part)) {}
                        }
                        @if !bar.label.is_empty() {
                            text.axis x=(x + step / 2.0) y=(HEIGHT - 6.0) text-anchor="middle" { (bar.label) }
                        }
                    }
                }
            }
            details {
                summary { (heads[0]) " / " (heads[1]) }
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
