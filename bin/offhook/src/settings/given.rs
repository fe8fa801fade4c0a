//! What the file, the environment and the flags say, before it is understood.

use std::ffi::OsString;
use std::fmt;

use toml::Value;

use super::{Result, SettingsError};
use crate::prelude::*;

/// What every variable of ours begins with.
const PREFIX: &str = "OFFHOOK_";

/// The variable that stands for `--config`.
pub(super) const CONFIG_VARIABLE: &str = "OFFHOOK_CONFIG";

/// What the variables of others begin with that stand in for settings.
const OF_OTHERS: &str = "AWS_";

/// Beginnings of variables that are no settings: Kubernetes injects the first two for a service called "offhook",
/// tests the third.
const IGNORED_PREFIXES: [&str; 3] = ["OFFHOOK_PORT", "OFFHOOK_SERVICE_", "OFFHOOK_TEST_"];

/// Variables that are no settings: two steer tests, two are of the commands that speak to an API, one names the file.
const IGNORED: [&str; 5] = [
    "OFFHOOK_FAILPOINT",
    "OFFHOOK_BIN",
    "OFFHOOK_API_URL",
    "OFFHOOK_API_KEY",
    CONFIG_VARIABLE,
];

/// A name at least this alike is offered in place of an unknown one.
const ALIKE: f64 = 0.8;

/// Where a setting was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    /// In the configuration file.
    File(PathBuf),
    /// In this environment variable.
    Variable(String),
    Flag(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "in {}", path.display()),
            Self::Variable(name) => write!(f, "from {name}"),
            Self::Flag(name) => write!(f, "from {name}"),
        }
    }
}

struct Entry {
    value: Value,
    origin: Origin,
}

/// Settings by their dotted key. Each is taken out when it is read, so what is left in the end is unknown.
#[derive(Default)]
pub(super) struct Given {
    entries: BTreeMap<String, Entry>,
    /// Every setting that was asked for.
    pub(super) known: Vec<String>,
    of_others: BTreeMap<String, String>,
}

impl Given {
    /// Takes over a file's settings.
    pub(super) fn file(&mut self, path: &Path) -> Result<()> {
        let fault = |what: String| SettingsError(format!("{}: {what}", path.display()));
        let text = std::fs::read_to_string(path)
            .map_err(|error| fault(format!("cannot be read: {error}")))?;
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            // The parser's own rendering quotes the line, which may hold a secret.
            let line = error.span().map_or(0, |span| {
                text[..span.start.min(text.len())].lines().count().max(1)
            });
            fault(format!("line {line} is no TOML: {}", error.message()))
        })?;
        self.table(None, table, path);
        Ok(())
    }

    fn table(&mut self, section: Option<&str>, table: toml::Table, path: &Path) {
        for (name, value) in table {
            let key = section.map_or_else(|| name.clone(), |section| format!("{section}.{name}"));
            match value {
                Value::Table(inner) if !inner.is_empty() => self.table(Some(&key), inner, path),
                value => self.put(key, value, Origin::File(path.to_owned())),
            }
        }
    }

    /// Takes over the environment's settings, which win over the file's.
    pub(super) fn environment(
        &mut self,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<()> {
        for (name, value) in variables {
            if let (Some(name), Some(value)) = (name.to_str(), value.to_str())
                && name.starts_with(OF_OTHERS)
                && !value.is_empty()
            {
                self.of_others.insert(name.to_owned(), value.to_owned());
            }
            let Some(name) = name.to_str().filter(|name| is_ours(name)) else {
                continue;
            };
            let value = value
                .into_string()
                .map_err(|_| SettingsError(format!("{name} is no UTF-8 text")))?;
            let key = key_of(name);
            self.put(key, Value::String(value), Origin::Variable(name.to_owned()));
        }
        Ok(())
    }

    /// Takes over a flag's value, which wins over all.
    pub(super) fn flag(&mut self, flag: &'static str, value: Option<String>) {
        if let Some(value) = value {
            let key = flag.trim_start_matches('-').replace('-', "_");
            self.put(key, Value::String(value), Origin::Flag(flag));
        }
    }

    fn put(&mut self, key: String, value: Value, origin: Origin) {
        self.entries.insert(key, Entry { value, origin });
    }

    /// The value of a variable that is not ours, and stands in for a setting.
    pub(super) fn of_others(&self, name: &str) -> Option<&str> {
        self.of_others.get(name).map(String::as_str)
    }

    /// The names in a section, such as the providers in `models`.
    pub(super) fn names_in(&self, section: &str) -> Vec<String> {
        let inside = self.entries.keys().filter_map(|key| {
            let rest = key.strip_prefix(section)?.strip_prefix('.')?;
            Some(rest.split('.').next().unwrap_or(rest).to_owned())
        });
        let mut names: Vec<String> = inside.collect();
        names.dedup();
        names
    }

    /// A section, such as `models.openai`.
    pub(super) fn section(&mut self, name: impl Into<String>) -> Section<'_> {
        Section {
            given: self,
            name: name.into(),
        }
    }

    /// Reads a setting, if it is given. `read` says what is wrong with a value, as a sentence that follows the key.
    pub(super) fn read<T>(
        &mut self,
        key: &str,
        read: impl FnOnce(Raw) -> Result<T, String>,
    ) -> Result<Option<T>> {
        self.known.push(key.to_owned());
        let Some(Entry { value, origin }) = self.entries.remove(key) else {
            return Ok(None);
        };
        let typed = !matches!(origin, Origin::File(_));
        read(Raw { value, typed })
            .map(Some)
            .map_err(|fault| SettingsError(format!("setting `{key}` ({origin}) {fault}")))
    }

    /// Refuses what nobody read.
    pub(super) fn finish(self) -> Result<()> {
        let is_known_section = |key: &str, value: &Value| {
            let section = format!("{key}.");
            value.as_table().is_some_and(toml::Table::is_empty)
                && self.known.iter().any(|known| known.starts_with(&section))
        };
        let unknown = self
            .entries
            .iter()
            .find(|(key, entry)| !is_known_section(key, &entry.value));
        let Some((key, Entry { origin, .. })) = unknown else {
            return Ok(());
        };
        // The right name in the wrong section: the setting of that name in the fewest sections.
        let last = |key: &str| key.rsplit('.').next().map(str::to_owned);
        let depth = |key: &str| key.split('.').count();
        let namesake = self
            .known
            .iter()
            .filter(|known| last(known) == last(key) && !known.contains('<'));
        let namesake = namesake
            .min_by_key(|known| depth(known))
            .filter(|known| depth(known) < depth(key));
        // A single underscore where two belong is the likeliest slip in a variable.
        let plain = |key: &str| key.replace(['.', '-'], "_");
        let nearest = self
            .known
            .iter()
            .map(|known| (strsim::jaro_winkler(&plain(known), &plain(key)), known))
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .filter(|(alike, _)| *alike >= ALIKE);
        let nearest = namesake.map(|known| (1.0, known)).or(nearest);
        let remedy = match (nearest, origin) {
            (Some((_, known)), Origin::Variable(_)) => {
                format!("did you mean {}?", variable_of(known))
            }
            (Some((_, known)), _) => format!("did you mean `{known}`?"),
            (None, _) => "remove it".to_owned(),
        };
        let name = match origin {
            Origin::Variable(name) => name,
            Origin::File(_) | Origin::Flag(_) => key,
        };
        let place = match origin {
            Origin::Variable(_) => "the environment".to_owned(),
            other => other.to_string().trim_start_matches("in ").to_owned(),
        };
        Err(SettingsError(format!(
            "unknown setting `{name}` in {place}: {remedy}"
        )))
    }
}

/// A section of the settings.
pub(super) struct Section<'a> {
    given: &'a mut Given,
    name: String,
}

impl Section<'_> {
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The whole key of one of its settings.
    pub(super) fn key(&self, name: &str) -> String {
        format!("{}.{name}", self.name)
    }

    /// As [`Given::read`].
    pub(super) fn read<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(Raw) -> Result<T, String>,
    ) -> Result<Option<T>> {
        let key = self.key(name);
        self.given.read(&key, read)
    }

    /// As [`Given::read`], of what has a default.
    pub(super) fn read_or<T>(
        &mut self,
        name: &str,
        default: T,
        read: impl FnOnce(Raw) -> Result<T, String>,
    ) -> Result<T> {
        Ok(self.read(name, read)?.unwrap_or(default))
    }

    pub(super) fn text(&mut self, name: &str) -> Result<Option<String>> {
        self.read(name, Raw::text)
    }

    /// Whether a switch is on that is off where nothing is said.
    pub(super) fn is_on(&mut self, name: &str) -> Result<bool> {
        self.read_or(name, false, Raw::bool)
    }

    /// That one of its settings is missing, and why it is needed.
    pub(super) fn missing(&self, name: &str, why: &str) -> SettingsError {
        SettingsError::missing(&self.key(name), why)
    }
}

fn is_ours(name: &str) -> bool {
    name.starts_with(PREFIX)
        && !IGNORED.contains(&name)
        && !IGNORED_PREFIXES
            .iter()
            .any(|prefix| name.starts_with(prefix))
}

/// `OFFHOOK_WEBHOOKS__ALLOW_PRIVATE_TARGETS` → `webhooks.allow_private_targets`. A name that is not in capitals stays
/// as it is, which no setting is called.
fn key_of(variable: &str) -> String {
    if variable.chars().any(|c| c.is_ascii_lowercase()) {
        return variable.to_owned();
    }
    variable[PREFIX.len()..]
        .replace("__", ".")
        .to_ascii_lowercase()
}

/// The variable of a key.
pub(super) fn variable_of(key: &str) -> String {
    format!("{PREFIX}{}", key.replace('.', "__").to_ascii_uppercase())
}

/// One setting's value. A variable or a flag is text, whatever it stands for; a file has types.
pub(super) struct Raw {
    value: Value,
    typed: bool,
}

impl Raw {
    fn as_typed(&self) -> Option<&str> {
        self.value.as_str().filter(|_| self.typed)
    }

    /// A text that is not empty.
    pub(super) fn text(self) -> Result<String, String> {
        match self.value {
            Value::String(text) if !text.is_empty() => Ok(text),
            Value::String(_) => Err("is empty: remove it or give a value".to_owned()),
            _ => Err("must be a text in quotes".to_owned()),
        }
    }

    /// `true` or `false`.
    pub(super) fn bool(self) -> Result<bool, String> {
        let value = match self.as_typed() {
            Some(text) => text.parse().ok(),
            None => self.value.as_bool(),
        };
        value.ok_or_else(|| "must be true or false".to_owned())
    }

    /// One of these words.
    pub(super) fn one_of<T: Copy>(self, words: &[(&str, T)]) -> Result<T, String> {
        let text = self.text()?;
        let named = words.iter().find(|(word, _)| *word == text);
        named
            .map(|(_, meant)| *meant)
            .ok_or_else(|| format!("must be {}", listed(words)))
    }

    /// A whole number from `min` to `max`.
    pub(super) fn integer(self, min: u32, max: u32) -> Result<u32, String> {
        let value = match self.as_typed() {
            Some(text) => text.parse().ok(),
            None => self.value.as_integer(),
        };
        value
            .and_then(|value| u32::try_from(value).ok())
            .filter(|value| (min..=max).contains(value))
            .ok_or_else(|| format!("must be a whole number from {min} to {max}"))
    }

    /// A whole number, or `"none"`.
    pub(super) fn integer_or_none(self, min: u32, max: u32) -> Result<Option<u32>, String> {
        if self.value.as_str() == Some("none") {
            return Ok(None);
        }
        self.integer(min, max)
            .map(Some)
            .map_err(|fault| format!("{fault}, or \"none\""))
    }

    /// A number above 0, at most `max`.
    pub(super) fn positive(self, max: f64) -> Result<f64, String> {
        let value = match self.as_typed() {
            Some(text) => text.parse().ok(),
            #[expect(clippy::cast_precision_loss, reason = "such numbers are beyond `max`")]
            None => (self.value.as_float()).or_else(|| self.value.as_integer().map(|i| i as f64)),
        };
        value
            .filter(|value| *value > 0.0 && *value <= max)
            .ok_or_else(|| format!("must be a number above 0, at most {max}"))
    }

    /// Credits per minute.
    pub(super) fn price(self) -> Result<Price, String> {
        let value = match self.as_typed() {
            Some(text) => text.parse().ok(),
            #[expect(clippy::cast_precision_loss, reason = "such numbers are refused")]
            None => (self.value.as_float()).or_else(|| self.value.as_integer().map(|i| i as f64)),
        };
        let price = value.and_then(offhook_services::price);
        price.ok_or_else(|| "must be credits per minute, with three decimals at most".to_owned())
    }

    /// A list of texts; in a variable they are separated by commas.
    pub(super) fn list(self) -> Result<Vec<String>, String> {
        if let Some(text) = self.as_typed() {
            let items = text.split(',').map(str::trim);
            return Ok(items
                .filter(|item| !item.is_empty())
                .map(str::to_owned)
                .collect());
        }
        let wrong = || "must be a list of texts, such as [\"a\", \"b\"]".to_owned();
        let Value::Array(items) = self.value else {
            return Err(wrong());
        };
        let texts = items.into_iter().map(|item| match item {
            Value::String(text) => Ok(text),
            _ => Err(wrong()),
        });
        texts.collect()
    }
}

/// Words as a sentence names them: `a, b or c`.
pub(super) fn listed<T>(words: &[(&str, T)]) -> String {
    let mut names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    let last = names.pop().unwrap_or_default();
    format!("{} or {last}", names.join(", "))
}
