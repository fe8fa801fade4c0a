//! The table.

/// What a figure must be.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Target {
    /// At least so much.
    AtLeast(f64),
    /// At most so much.
    AtMost(f64),
    /// None: it is reported, beside others that have one.
    Reported,
}

/// The figures so far.
#[derive(Debug, Default)]
pub(crate) struct Report {
    rows: Vec<[String; 4]>,
    misses: usize,
}

impl Report {
    /// Adds a figure: its value in `unit`, and what else there is to say.
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

    /// How many gates were missed.
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

/// Three digits that count.
pub(crate) fn number(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}
