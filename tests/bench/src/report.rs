//! The table.

/// The gate of a figure.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Target {
    /// At least this value.
    AtLeast(f64),
    /// At most this value.
    AtMost(f64),
    /// No gate: reported next to figures that have one.
    Reported,
}

/// The figures so far.
#[derive(Debug, Default)]
pub(crate) struct Report {
    rows: Vec<[String; 4]>,
    misses: usize,
}

impl Report {
    /// Adds a figure: its value in `unit`, and a detail.
    pub(crate) fn add(&mut self, name: &str, target: Target, value: f64, unit: &str, detail: &str) {
        let (bound, meets) = match target {
            Target::AtLeast(bound) => (format!("≥ {bound}{unit}"), Some(value >= bound)),
            Target::AtMost(bound) => (format!("≤ {bound}{unit}"), Some(value <= bound)),
            Target::Reported => ("reported".to_owned(), None),
        };
        let verdict = match meets {
            Some(true) => "ok",
            Some(false) => "**miss**",
            None => "",
        };
        self.misses += usize::from(meets == Some(false));
        let detail = match detail {
            "" => String::new(),
            detail => format!(" ({detail})"),
        };
        let value = format!("{}{unit}{detail}", number(value));
        let row = [name.to_owned(), bound, value, verdict.to_owned()];
        eprintln!("{}", row.join(" | "));
        self.rows.push(row);
    }

    pub(crate) const fn misses(&self) -> usize {
        self.misses
    }

    /// Prints the table on standard output.
    pub(crate) fn print(&self) {
        println!("| figure | target | measured | |\n|---|---|---|---|");
        for row in &self.rows {
            println!("| {} |", row.join(" | "));
        }
    }
}

/// Three significant digits.
pub(crate) fn number(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}
