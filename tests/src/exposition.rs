//! A strict parser of OpenMetrics' text format: what it does not understand fails the test.

use std::collections::{BTreeMap, BTreeSet};

/// The metrics of a process.
#[derive(Debug, Default)]
pub struct Exposition {
    /// The families by name, with their types.
    pub families: BTreeMap<String, String>,
    pub samples: Vec<Sample>,
}

#[derive(Debug, Clone)]
pub struct Sample {
    /// Its name, with the suffix of its kind.
    pub name: String,
    pub labels: BTreeMap<String, String>,
    pub value: f64,
}

impl Exposition {
    /// Parses the text.
    ///
    /// # Panics
    /// If it violates the format.
    #[must_use]
    pub fn read(text: &str) -> Self {
        let body = text.strip_suffix("# EOF\n");
        let body = body.unwrap_or_else(|| panic!("no end: {text}"));
        let mut read = Self::default();
        let mut helped = BTreeSet::new();
        let mut seen = BTreeSet::new();
        let mut current = String::new();
        for line in body.lines() {
            if let Some(rest) = line.strip_prefix("# ") {
                let (kind, rest) = split(rest, ' ', line);
                let (name, words) = split(rest, ' ', line);
                assert_name(name, line);
                match kind {
                    "HELP" => {
                        assert!(helped.insert(name.to_owned()), "twice: {line}");
                        assert!(words.ends_with('.'), "no sentence: {line}");
                    }
                    "TYPE" => {
                        assert!(helped.contains(name), "a type before its help: {line}");
                        let known = ["counter", "gauge", "histogram", "info"];
                        assert!(known.contains(&words), "{line}");
                        let before = read.families.insert(name.to_owned(), words.to_owned());
                        assert!(before.is_none(), "twice: {line}");
                        current = name.to_owned();
                    }
                    "UNIT" => assert!(name.ends_with(&format!("_{words}")), "{line}"),
                    _ => panic!("no such comment: {line}"),
                }
                continue;
            }
            let sample = sample(line);
            let kind = read.families.get(&current).map(String::as_str);
            let suffixes: &[&str] = match kind {
                Some("counter") => &["_total"],
                Some("gauge") => &[""],
                Some("histogram") => &["_bucket", "_sum", "_count"],
                Some("info") => &["_info"],
                _ => panic!("a sample without a type: {line}"),
            };
            let belongs = |suffix: &&str| sample.name == format!("{current}{suffix}");
            assert!(suffixes.iter().any(belongs), "not in its family: {line}");
            assert!(
                seen.insert(format!("{}{:?}", sample.name, sample.labels)),
                "twice: {line}"
            );
            read.samples.push(sample);
        }
        read.check_histograms();
        read
    }

    fn check_histograms(&self) {
        for (name, _) in self
            .families
            .iter()
            .filter(|(_, kind)| *kind == "histogram")
        {
            let mut series: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
            for bucket in self.of(&format!("{name}_bucket")) {
                let mut labels = bucket.labels.clone();
                let bound = labels.remove("le").unwrap_or_else(|| panic!("{bucket:?}"));
                let bound = if bound == "+Inf" {
                    f64::INFINITY
                } else {
                    number(&bound)
                };
                let one = series.entry(format!("{labels:?}")).or_default();
                one.push((bound, bucket.value));
            }
            for (labels, buckets) in series {
                let in_order =
                    |pair: &[(f64, f64)]| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1;
                assert!(
                    buckets.windows(2).all(in_order),
                    "{name} {labels}: {buckets:?}"
                );
                let last = buckets.last().unwrap_or(&(0.0, 0.0));
                assert!(last.0.is_infinite(), "{name} {labels}");
                let count = self.of(&format!("{name}_count"));
                let count = count
                    .iter()
                    .find(|one| format!("{:?}", one.labels) == labels);
                assert_eq!(count.map(|one| one.value), Some(last.1), "{name} {labels}");
            }
        }
    }

    /// The samples of this name.
    #[must_use]
    pub fn of(&self, name: &str) -> Vec<&Sample> {
        self.samples.iter().filter(|one| one.name == name).collect()
    }

    /// The sum of the samples with this name and these labels.
    #[must_use]
    pub fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let has = |sample: &&&Sample| {
            labels
                .iter()
                .all(|(label, value)| sample.labels.get(*label).map(String::as_str) == Some(*value))
        };
        let of = self.of(name);
        of.iter().filter(has).map(|sample| sample.value).sum()
    }
}

fn sample(line: &str) -> Sample {
    let (series, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line}"));
    let (name, labels) = match series.split_once('{') {
        Some((name, rest)) => {
            let inner = rest.strip_suffix('}').unwrap_or_else(|| panic!("{line}"));
            (name, labels_of(inner, line))
        }
        None => (series, BTreeMap::new()),
    };
    assert_name(name, line);
    Sample {
        name: name.to_owned(),
        labels,
        value: number(value),
    }
}

/// Routes have braces, and values may contain commas, so a label ends at its quotation mark. No metric has a value
/// that needs an escape.
fn labels_of(mut rest: &str, line: &str) -> BTreeMap<String, String> {
    let mut labels = BTreeMap::new();
    while !rest.is_empty() {
        let (name, value) = rest.split_once("=\"").unwrap_or_else(|| panic!("{line}"));
        let (value, behind) = split(value, '"', line);
        assert!(!value.contains('\\'), "{line}");
        assert_name(name, line);
        let before = labels.insert(name.to_owned(), value.to_owned());
        assert!(before.is_none(), "twice: {line}");
        rest = behind;
        if !rest.is_empty() {
            rest = rest.strip_prefix(',').unwrap_or_else(|| panic!("{line}"));
            assert!(!rest.is_empty(), "{line}");
        }
    }
    labels
}

fn number(text: &str) -> f64 {
    text.parse().unwrap_or_else(|_| panic!("no number: {text}"))
}

fn split<'a>(text: &'a str, at: char, line: &str) -> (&'a str, &'a str) {
    text.split_once(at).unwrap_or_else(|| panic!("{line}"))
}

fn assert_name(name: &str, line: &str) {
    let is_good = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let good =
        !name.is_empty() && name.bytes().all(is_good) && !name.as_bytes()[0].is_ascii_digit();
    assert!(good, "no name: {line}");
}
