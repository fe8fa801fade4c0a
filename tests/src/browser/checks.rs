//! Checks for every page: no error in the browser, no accessibility barrier, and a screenshot.

use std::fmt::Write as _;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::driver::Extension;
use super::{Browser, HEIGHT, WIDTH};
use crate::wait::must;

/// The width of a desk's screen, in CSS pixels.
const DESK: u32 = 1_440;

/// The width of a phone, in CSS pixels.
const PHONE: u32 = 390;

/// The largest useful height of a screenshot.
const TALLEST: u32 = 3_000;

/// axe-core 4 by Deque (MPL-2.0), as published.
const AXE: &str = include_str!("../../assets/axe/axe.min.js");

impl Browser {
    /// The browser's new log entries: console messages, refused requests, violations of the page's
    /// Content-Security-Policy.
    async fn log(&self) -> Vec<(String, String)> {
        let command = Extension {
            path: "se/log",
            body: json!({"type": "browser"}),
        };
        let entries = must("the browser's log", self.client.issue_cmd(command).await);
        let entries = entries.as_array().cloned().unwrap_or_default();
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        entries
            .iter()
            .filter(|entry| entry["level"] == "SEVERE" || entry["source"] == "security")
            .map(|entry| (word(&entry["source"]), word(&entry["message"])))
            .collect()
    }

    /// Checks that no page so far has violated its Content-Security-Policy, logged an error, requested a missing
    /// resource, or opened a dialog.
    ///
    /// # Panics
    /// If one did.
    pub async fn no_violations(&self) {
        let violations = self.violations().await;
        assert!(violations.is_empty(), "{violations:#?}");
    }

    /// The problems that [`Browser::no_violations`] checks for.
    ///
    /// # Panics
    /// If a dialog is open, since nothing else works then.
    pub async fn violations(&self) -> Vec<String> {
        let dialog = self.client.get_alert_text().await;
        assert!(dialog.is_err(), "a dialog is open: {dialog:?}");
        let address = self.address().await;
        let log = self.log().await.into_iter();
        log.map(|(source, message)| format!("{address}, {source}: {message}"))
            .collect()
    }

    /// As [`Browser::no_violations`], after a request that the server refused with this status code.
    ///
    /// # Panics
    /// If the log has something else, or no such refusal.
    pub async fn was_refused(&self, status: u16) {
        let words = format!("the server responded with a status of {status} ");
        let (refusals, others): (Vec<_>, Vec<_>) = (self.log().await.into_iter())
            .partition(|(source, message)| source == "network" && message.contains(&words));
        assert!(others.is_empty(), "{}: {others:#?}", self.address().await);
        assert!(
            !refusals.is_empty(),
            "{} was not refused",
            self.address().await
        );
    }

    /// Checks with axe-core that the page has no serious or critical barrier.
    ///
    /// # Panics
    /// If it has one.
    pub async fn axe(&self) {
        let report = self.barriers().await;
        assert!(report.is_empty(), "{}:\n{report}", self.address().await);
    }

    /// The page's serious and critical barriers by axe-core; empty if there are none.
    pub async fn barriers(&self) -> String {
        let loaded = self.js("return Boolean(window.axe)", vec![]).await;
        if loaded != json!(true) {
            self.js(AXE, vec![]).await;
        }
        let script = "const done = arguments[arguments.length - 1];
            // A button on its way from one colour to another has the contrast of neither.
            document.getAnimations().forEach(change => change.finish());
            axe.run(document, {resultTypes: ['violations']}).then(
              found => done(found.violations),
              error => done([{id: 'axe', impact: 'critical', help: String(error), nodes: []}]))";
        let found = self.js_later(script, vec![]).await;
        let found = found.as_array().cloned().unwrap_or_default();
        let mut report = String::new();
        for rule in &found {
            if rule["impact"] != "serious" && rule["impact"] != "critical" {
                continue;
            }
            let (id, impact, help) = (&rule["id"], &rule["impact"], &rule["help"]);
            let _ = writeln!(report, "{id} ({impact}): {help}");
            for node in rule["nodes"].as_array().into_iter().flatten() {
                let summary = node["failureSummary"].as_str().unwrap_or_default();
                let summary = summary.replace('\n', "\n    ");
                let _ = writeln!(report, "  {}\n    {summary}", node["html"]);
            }
        }
        report
    }

    /// The elements that make the page wider than the window; empty if none do.
    async fn overhang(&self) -> String {
        let script = "const page = document.documentElement;
            if (page.scrollWidth <= page.clientWidth) return '';
            const wide = [...document.body.querySelectorAll('*')]
              .filter(e => e.getBoundingClientRect().right > page.clientWidth + 1)
              .map(e => e.tagName.toLowerCase() + '.' + e.className);
            return `${page.scrollWidth} pixels in ${page.clientWidth}, because of ${wide.slice(-5).join(', ')}`";
        let found = self.js(script, vec![]).await;
        found.as_str().unwrap_or_default().to_owned()
    }

    /// Saves a screenshot of the window to `target/screens/<name>.png` if screenshots are enabled; returns its path.
    pub async fn screenshot(&self, name: &str) -> Option<PathBuf> {
        std::env::var_os("OFFHOOK_TEST_PICTURES")?;
        let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../target/screens"));
        must("a folder", std::fs::create_dir_all(&folder));
        let path = folder.join(format!("{name}.png"));
        let picture = must("a picture", self.client.screenshot().await);
        must("a picture", std::fs::write(&path, picture));
        Some(path)
    }

    /// Takes screenshots of the whole page, light, dark and on a phone; returns the problems in each.
    pub async fn portraits(&self, name: &str) -> Vec<String> {
        let mut faults = Vec::new();
        let mut note = |how: &str, fault: String| {
            if !fault.is_empty() {
                faults.push(format!("{name}, {how}: {fault}"));
            }
        };
        self.resize(DESK, HEIGHT).await;
        self.tall(DESK).await;
        self.screenshot(name).await;
        note("light", self.barriers().await);
        note("light", self.overhang().await);
        self.dark(true).await;
        self.screenshot(&format!("{name}-dark")).await;
        note("dark", self.barriers().await);
        self.dark(false).await;
        self.resize(PHONE, HEIGHT).await;
        self.tall(PHONE).await;
        self.screenshot(&format!("{name}-phone")).await;
        note("on a telephone", self.overhang().await);
        self.resize(WIDTH, HEIGHT).await;
        faults
    }

    /// Makes the window as high as the page, so that a screenshot shows all of it.
    async fn tall(&self, width: u32) {
        let height = self
            .js("return document.documentElement.scrollHeight", vec![])
            .await;
        let height = height.as_u64().and_then(|height| height.try_into().ok());
        let height = height.unwrap_or(HEIGHT).clamp(HEIGHT, TALLEST);
        self.resize(width, height).await;
    }
}
