//! The output of a run.

use std::path::Path;
use std::time::Duration;

use crate::faults::Done;
use crate::ledger::{Promise, Verdict};

/// How many violations of one promise are shown.
const SHOWN: usize = 8;

pub(crate) fn row(promise: &str, attacked_by: &str, seen: &str, broken: usize) {
    let result = match broken {
        0 => "kept".to_owned(),
        count => format!("**broken {count} times**"),
    };
    println!("| {promise} | {attacked_by} | {seen} | {result} |");
}

/// The result of a run.
pub(crate) struct Report {
    pub(crate) database: &'static str,
    pub(crate) nodes: usize,
    pub(crate) verdict: Verdict,
    pub(crate) done: Done,
    pub(crate) outcomes: Vec<(String, usize)>,
    pub(crate) slowest: Duration,
    pub(crate) took: Duration,
    pub(crate) logs: Vec<(String, String)>,
}

impl Report {
    pub(crate) fn is_clean(&self) -> bool {
        self.verdict.violations.is_empty()
    }

    /// Prints the table, then the evidence of each violation.
    pub(crate) fn print(&self) {
        println!(
            "\n### {}, {} node{}: {} kills, {} faults in all, {:.0} s\n",
            self.database,
            self.nodes,
            if self.nodes == 1 { "" } else { "s" },
            self.done.kills(),
            self.done.disturbances(),
            self.took.as_secs_f64()
        );
        println!("| Promise | Attacked by | Looked at | Result |");
        println!("|---|---|---|---|");
        for promise in Promise::ALL {
            let count = self.verdict.counts.get(&promise);
            let seen = count.map_or("", String::as_str);
            let broken = self.of(promise).count();
            row(promise.words(), promise.attacked_by(), seen, broken);
        }
        let list = |pairs: Vec<String>| pairs.join(", ");
        let done = self
            .done
            .counts
            .iter()
            .map(|(what, n)| format!("{what} {n}"));
        println!("\nFaults: {}.", list(done.collect()));
        let ends = self.outcomes.iter().map(|(what, n)| format!("{what} {n}"));
        println!("Ends of calls: {}.", list(ends.collect()));
        println!(
            "The slowest answer took {:.1} s.",
            self.slowest.as_secs_f64()
        );
        for promise in Promise::ALL {
            let broken: Vec<_> = self.of(promise).collect();
            if broken.is_empty() {
                continue;
            }
            println!("\nBROKEN: {} ({} times)", promise.words(), broken.len());
            for shown_by in broken.iter().take(SHOWN) {
                println!("  - {shown_by}");
            }
        }
    }

    fn of(&self, promise: Promise) -> impl Iterator<Item = &str> {
        let violations = self.verdict.violations.iter();
        violations
            .filter(move |one| one.promise == promise)
            .map(|one| one.shown_by.as_str())
    }

    /// Writes the nodes' logs and every violation to files.
    pub(crate) fn keep(&self, directory: &Path) -> std::io::Result<()> {
        let directory = directory.join(self.database.to_lowercase());
        std::fs::create_dir_all(&directory)?;
        for (name, log) in &self.logs {
            let file = format!("{}.log", name.replace(' ', "-"));
            std::fs::write(directory.join(file), log)?;
        }
        let violations: Vec<String> = self
            .verdict
            .violations
            .iter()
            .map(|one| format!("{}: {}", one.promise.words(), one.shown_by))
            .collect();
        std::fs::write(directory.join("violations"), violations.join("\n"))?;
        println!("\nThe nodes' logs are in {}.", directory.display());
        Ok(())
    }
}
