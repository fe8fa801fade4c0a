//! The catalog of integrations: data of `catalog/integrations.toml`.

use offhook_domain::IntegrationCategory;
use serde::Deserialize;

use crate::CatalogError;

const FILE: &str = "catalog/integrations.toml";

/// The longest key in bytes: cursors hold a whole one.
const LONGEST_KEY: usize = 24;

/// Another application that agents can work with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toolkit {
    /// Its key: 1 to 24 of a–z, 0–9 and `_`.
    pub toolkit: String,
    /// Its name for people.
    pub name: String,
    /// What it is for.
    pub category: IntegrationCategory,
    /// Whether the service speaks to it itself, not through a broker of connections.
    pub native: bool,
}

/// Every toolkit, by its key.
#[derive(Debug, Clone)]
pub struct Toolkits(Vec<Toolkit>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    integrations: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    toolkit: String,
    name: String,
    category: String,
    native: bool,
}

impl Toolkits {
    /// Reads the shipped catalog.
    ///
    /// # Errors
    /// [`CatalogError`] if it does not parse, has a key that is none or twice, an empty name or an unknown category.
    pub fn load() -> Result<Self, CatalogError> {
        Self::parse(include_str!("../../../catalog/integrations.toml"))
    }

    fn parse(text: &str) -> Result<Self, CatalogError> {
        let wrong = |fault: String| CatalogError::new(FILE, fault);
        let file: File = toml::from_str(text).map_err(|error| wrong(error.to_string()))?;
        let mut toolkits = Vec::with_capacity(file.integrations.len());
        for entry in file.integrations {
            toolkits.push(entry.read().map_err(wrong)?);
        }
        toolkits.sort_by(|a: &Toolkit, b| a.toolkit.cmp(&b.toolkit));
        let twice = toolkits
            .windows(2)
            .find(|two| two[0].toolkit == two[1].toolkit);
        if let Some([toolkit, _]) = twice {
            return Err(wrong(format!("{}: toolkit used twice", toolkit.toolkit)));
        }
        Ok(Self(toolkits))
    }

    /// Those behind the key `after`, in the order of their keys; without one, all.
    pub(crate) fn after(&self, after: Option<&str>) -> &[Toolkit] {
        let seen = |toolkit: &Toolkit| after.is_some_and(|after| toolkit.toolkit.as_str() <= after);
        &self.0[self.0.partition_point(seen)..]
    }

    /// The toolkit with this key.
    pub(crate) fn find(&self, key: &str) -> Option<&Toolkit> {
        self.0.iter().find(|toolkit| toolkit.toolkit == key)
    }
}

impl Entry {
    fn read(self) -> Result<Toolkit, String> {
        let key = self.toolkit;
        let plain = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_');
        if !(1..=LONGEST_KEY).contains(&key.len()) || !key.bytes().all(plain) {
            return Err(format!(
                "{key:?}: toolkit must be 1 to {LONGEST_KEY} of a-z, 0-9 and _"
            ));
        }
        if self.name.trim().is_empty() {
            return Err(format!("{key}: name is empty"));
        }
        let category = self.category.parse().map_err(|_| {
            format!(
                "{key}: category {:?} must be {}",
                self.category,
                IntegrationCategory::choices()
            )
        })?;
        Ok(Toolkit {
            toolkit: key,
            name: self.name,
            category,
            native: self.native,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(key: &str, name: &str, category: &str) -> String {
        format!(
            "[[integrations]]\ntoolkit = {key:?}\nname = {name:?}\ncategory = {category:?}\nnative = false\n"
        )
    }

    #[test]
    fn the_shipped_catalog_has_both_kinds_and_every_category() {
        let Toolkits(all) = Toolkits::load().unwrap();
        assert!(all.len() >= 40, "{}", all.len());
        assert!(all.is_sorted_by(|a, b| a.toolkit < b.toolkit));
        for native in [true, false] {
            assert!(all.iter().any(|toolkit| toolkit.native == native));
        }
        for category in IntegrationCategory::ALL {
            assert!(
                all.iter().any(|toolkit| toolkit.category == *category),
                "{category}"
            );
        }
    }

    #[test]
    fn pages_begin_behind_a_key_also_behind_one_that_is_gone() {
        let text: String = ["c", "a", "b"].map(|key| entry(key, "N", "crm")).concat();
        let toolkits = Toolkits::parse(&text).unwrap();
        let keys = |after| {
            let rest = toolkits.after(after).iter();
            rest.map(|toolkit| toolkit.toolkit.as_str())
                .collect::<Vec<_>>()
        };
        assert_eq!(keys(None), ["a", "b", "c"]);
        assert_eq!(keys(Some("a")), ["b", "c"]);
        assert_eq!(keys(Some("aa")), ["b", "c"]);
        assert_eq!(keys(Some("c")), [""; 0]);
        assert_eq!(toolkits.find("b").map(|b| b.name.as_str()), Some("N"));
        assert_eq!(toolkits.find("d"), None);
    }

    #[test]
    fn a_broken_catalog_is_refused_with_the_entry_and_the_fault() {
        let long = "a".repeat(25);
        for (text, said) in [
            (entry("a", "N", "crm").repeat(2), "a: toolkit used twice"),
            (
                entry("A", "N", "crm"),
                "\"A\": toolkit must be 1 to 24 of a-z, 0-9 and _",
            ),
            (entry("", "N", "crm"), "\"\": toolkit must be"),
            (entry(&long, "N", "crm"), "toolkit must be"),
            (entry("a", " ", "crm"), "a: name is empty"),
            (
                entry("a", "N", "cmr"),
                "a: category \"cmr\" must be `calendar`, ",
            ),
            (
                entry("a", "N", "crm") + "more = 1\n",
                "unknown field `more`",
            ),
            ("integrations = 1".to_owned(), "invalid type"),
        ] {
            let error = Toolkits::parse(&text).unwrap_err().to_string();
            assert!(error.starts_with("catalog/integrations.toml: "), "{error}");
            assert!(error.contains(said), "{error}");
        }
    }
}
