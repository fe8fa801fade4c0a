//! The alerts and the dashboard only use metrics that exist, with labels that they have.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use offhook_metrics::{Metrics, metrics};

const SECOND: Duration = Duration::from_secs(1);

/// Counts everything once: the output omits metrics that were never counted.
fn touch(metrics: &Metrics) {
    let _request = metrics.http.began();
    metrics
        .http
        .answered("GET", Some("/v1/me".to_owned()), 200, SECOND);
    metrics.http.refused("address");
    metrics.limiter.sampled(1, 1, 1);
    metrics.limiter.decided(true);
    metrics.limiter.unavailable();
    metrics.logs.drop_one();
    metrics.logs.waiting(1);
    metrics.calls.accepted();
    metrics.calls.came_in("taken");
    metrics.calls.claimed(SECOND);
    metrics.calls.dialed("taken_over", SECOND);
    metrics.calls.turn(300);
    metrics.calls.turn_step("playout", 300);
    metrics.calls.ended("failed", "busy");
    metrics.calls.renewal_failed();
    metrics.calls.lease_lost();
    metrics.calls.orphans_taken(1);
    metrics.calls.sampled(1, 1);
    metrics.calls.held(1);
    metrics.recordings.kept();
    metrics.recordings.failed();
    metrics.recordings.waiting(1);
    let _attempt = metrics.deliveries.began();
    metrics.deliveries.attempted(Some(200), None, SECOND);
    metrics.deliveries.unrecorded(1);
    metrics.deliveries.sampled(1, 1, SECOND);
    metrics.jobs.ran("retention", true);
    metrics.jobs.ready(true);
    metrics.jobs.batches(1);
    metrics.knowledge.read("ready");
    metrics.knowledge.sampled(1, 1);
    metrics.database.worked("read", SECOND);
    metrics.database.failed("locked");
    metrics.database.waited(SECOND);
    metrics.database.connections(1, 1);
    metrics.database.waiting(1);
    metrics.database.writer_queue(1);
    metrics.traces.sent(1);
}

/// The names of the samples, each with its labels.
fn samples(text: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut samples: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let end = line.find(['{', ' ']).unwrap();
        let labels = samples.entry(line[..end].to_owned()).or_default();
        let inside = line[end..]
            .rsplit_once('}')
            .map_or("", |(inside, _)| inside);
        labels.extend(
            words(inside)
                .filter(|(_, behind)| behind.starts_with("=\""))
                .map(|(word, _)| word.to_owned()),
        );
    }
    samples
}

/// The words of a text, each with the text after it.
fn words(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut rest = text;
    std::iter::from_fn(move || {
        let begin = rest.find(is_word)?;
        let end = rest[begin..]
            .find(|c| !is_word(c))
            .map_or(rest.len(), |n| begin + n);
        let (word, behind) = (&rest[begin..end], &rest[end..]);
        rest = behind;
        Some((word, behind))
    })
}

#[test]
fn the_alerts_and_the_dashboard_ask_for_what_there_is() {
    touch(metrics());
    let samples = samples(&metrics().text());
    let deploy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy");
    let mut used = BTreeSet::new();
    for file in ["prometheus/alerts.yml", "grafana/offhook.json"] {
        let text = std::fs::read_to_string(deploy.join(file)).unwrap();
        for (word, behind) in words(&text) {
            if !word.starts_with("offhook_") && !word.starts_with("process_") {
                continue;
            }
            let labels = samples.get(word);
            let labels = labels.unwrap_or_else(|| panic!("{file}: there is no {word}"));
            used.insert(word.to_owned());
            let Some(asked) = behind.strip_prefix('{') else {
                continue;
            };
            let asked = &asked[..asked.find('}').unwrap()];
            for (label, behind) in words(asked) {
                let is_label = ["=", "!=", "!~"]
                    .iter()
                    .any(|sign| behind.starts_with(sign));
                let is_scrape = matches!(label, "instance" | "job");
                assert!(
                    !is_label || is_scrape || labels.contains(label),
                    "{file}: {word} has no label {label}"
                );
            }
        }
    }
    // A metric that nothing displays need not be counted.
    for (name, _) in samples {
        let base = ["_bucket", "_sum", "_count"]
            .iter()
            .find_map(|suffix| name.strip_suffix(suffix));
        let shown = base.map_or_else(|| name.clone(), |base| format!("{base}_bucket"));
        assert!(
            used.contains(&shown) || name == "process_threads",
            "neither an alert nor the dashboard shows {name}"
        );
    }
}

#[test]
fn every_name_is_as_prometheus_has_it() {
    touch(metrics());
    let text = metrics().text();
    assert!(text.ends_with("# EOF\n"));
    for line in text.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let (name, kind) = line.split_once(' ').unwrap();
        let is_ours = name.starts_with("offhook_") || name.starts_with("process_");
        assert!(is_ours && !name.ends_with("_total"), "{line}");
        let is_timed = ["_seconds", "_bytes"]
            .iter()
            .any(|unit| name.ends_with(unit));
        assert!(kind != "histogram" || is_timed, "{line}");
    }
    for line in text.lines().filter_map(|line| line.strip_prefix("# HELP ")) {
        assert!(line.ends_with('.') && !line.ends_with(".."), "{line}");
    }
}

#[test]
fn a_method_that_nobody_knows_makes_no_label() {
    let http = &metrics().http;
    for method in ["GET", "BREW-0190163d"] {
        http.answered(method, None, 200, SECOND);
    }
    let text = metrics().text();
    assert!(text.contains("method=\"GET\"") && text.contains("method=\"other\""));
    assert!(!text.contains("BREW"));
}

#[test]
fn what_is_under_way_is_counted_until_it_is_dropped() {
    let under_way = || {
        let text = metrics().text();
        let figure = text
            .lines()
            .find_map(|line| line.strip_prefix("offhook_http_requests_in_flight "));
        figure
            .and_then(|figure| figure.parse::<i64>().ok())
            .unwrap()
    };
    let before = under_way();
    let one = metrics().http.began();
    assert_eq!(under_way(), before + 1);
    drop(one);
    assert_eq!(under_way(), before);
}
