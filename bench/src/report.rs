//! The table.

/// How a figure compares with its target.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Target {
    /// At least so much.
    AtLeast(f64),
    /// At most so much.
    AtMost(f64),
    /// None: it is reported.
    Reported,
}

/// The figures so far.
#[derive(Debug, Default)]
pub(crate) struct Report {
    rows: Vec<[String; 4]>,
}

impl Report {
    /// Adds a figure: its value in `unit`, and what else there is to say.
    pub(crate) fn add(&mut self, name: &str, target: Target, value: f64, unit: &str, detail: &str) {
        let (bound, verdict) = match target {
            Target::AtLeast(bound) => (format!("≥ {bound}{unit}"), verdict(value >= bound)),
            Target::AtMost(bound) => (format!("≤ {bound}{unit}"), verdict(value <= bound)),
            Target::Reported => ("reported".to_owned(), ""),
        };
        let detail = match detail {
            "" => String::new(),
            detail => format!(" ({detail})"),
        };
        let row = [
            name.to_owned(),
            bound,
            format!("{}{unit}{detail}", number(value)),
            verdict.to_owned(),
        ];
        eprintln!("{} | {} | {} | {}", row[0], row[1], row[2], row[3]);
        self.rows.push(row);
    }

    /// Adds a figure that could not be measured here.
    pub(crate) fn skip(&mut self, name: &str, target: Target, why: &str) {
        let bound = match target {
            Target::AtLeast(bound) => format!("≥ {bound}"),
            Target::AtMost(bound) => format!("≤ {bound}"),
            Target::Reported => "reported".to_owned(),
        };
        eprintln!("{name} | {bound} | not measured: {why}");
        let why = format!("not measured: {why}");
        self.rows
            .push([name.to_owned(), bound, why, "**not measured**".to_owned()]);
    }

    /// Prints the table on standard output.
    pub(crate) fn print(&self) {
        println!("| figure | target | measured | |\n|---|---|---|---|");
        for [name, bound, value, verdict] in &self.rows {
            println!("| {name} | {bound} | {value} | {verdict} |");
        }
    }
}

const fn verdict(ok: bool) -> &'static str {
    if ok { "ok" } else { "**miss**" }
}

/// Three digits that count.
pub(crate) fn number(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}
