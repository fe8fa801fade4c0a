//! What a change has changed, for people: the members of two JSON values that differ.

use crate::json::{Json, item_path, member_path};

/// The most members that are listed.
const MOST: usize = 40;

/// The most characters of a value.
const CHARS: usize = 200;

/// Words in the names of members whose values are never written.
const SECRET: [&str; 4] = ["secret", "password", "token", "credential"];

/// A member that has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldChange {
    /// Its path, such as `voice.speed`.
    pub field: String,
    /// Its values before and after, shortened, each absent if the member was; `None` for a secret.
    pub values: Option<[Option<String>; 2]>,
}

/// The members that a change has changed, in the order of the values, a bounded number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes(pub Vec<FieldChange>);

impl Changes {
    /// Compares two values. A missing member, null and the empty text are the same: nothing is set.
    #[must_use]
    pub fn between(before: &Json, after: &Json) -> Self {
        let (mut old, mut new) = (Vec::new(), Vec::new());
        flatten(before, String::new(), &mut old);
        flatten(after, String::new(), &mut new);
        let value = |of: &[(String, String)], path: &str| {
            let found = of.iter().find(|(name, _)| name == path);
            found.map(|(_, value)| value.clone())
        };
        let added = new.iter().filter(|(path, _)| value(&old, path).is_none());
        let paths = old.iter().chain(added).map(|(path, _)| path);
        let changed = paths.filter_map(|path| {
            let values = [value(&old, path), value(&new, path)];
            (values[0] != values[1]).then(|| FieldChange {
                field: path.clone(),
                values: (!is_secret(path)).then(|| values.map(|value| value.map(shortened))),
            })
        });
        Self(changed.take(MOST).collect())
    }

    /// A secret that was replaced.
    #[must_use]
    pub fn secret(field: &str) -> Self {
        Self(vec![FieldChange {
            field: field.to_owned(),
            values: None,
        }])
    }

    /// Returns the stored form; `None` if nothing has changed.
    #[must_use]
    pub fn to_stored(&self) -> Option<String> {
        let change = |change: &FieldChange| {
            let mut members = vec![("field", Json::from(change.field.as_str()))];
            if let Some([from, to]) = &change.values {
                members.push(("from", Json::from(from.as_deref())));
                members.push(("to", Json::from(to.as_deref())));
            }
            Json::object(members)
        };
        let all: Json = self.0.iter().map(change).collect();
        (!self.0.is_empty()).then(|| all.to_compact())
    }

    /// Reads the stored form.
    #[must_use]
    pub fn of_stored(text: &str) -> Self {
        let stored = Json::parse(text.as_bytes()).unwrap_or(Json::Null);
        let change = |change: &Json| {
            let text = |name| change.get(name).and_then(Json::as_str).map(str::to_owned);
            let has_values = change.get("from").is_some();
            Some(FieldChange {
                field: text("field")?,
                values: has_values.then(|| [text("from"), text("to")]),
            })
        };
        let all = stored.as_array().unwrap_or_default();
        Self(all.iter().filter_map(change).collect())
    }
}

fn is_secret(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    SECRET.iter().any(|word| path.contains(word))
}

fn shortened(value: String) -> String {
    match value.char_indices().nth(CHARS) {
        Some((at, _)) => format!("{}…", &value[..at]),
        None => value,
    }
}

/// The values of an object's members by their paths. A list of plain values is one value.
fn flatten(json: &Json, path: String, into: &mut Vec<(String, String)>) {
    let plain = |json: &Json| match json {
        Json::String(text) => text.clone(),
        other => other.to_compact(),
    };
    match json {
        Json::Null => {}
        Json::Object(members) => {
            for (name, value) in members {
                flatten(value, member_path(&path, name), into);
            }
        }
        Json::Array(items) if items.iter().any(|item| item.as_object().is_some()) => {
            for (at, item) in items.iter().enumerate() {
                flatten(item, item_path(&path, at), into);
            }
        }
        Json::Array(items) => {
            let items: Vec<String> = items.iter().map(plain).collect();
            into.push((path, items.join(", ")));
        }
        value => into.push((path, plain(value))),
    }
    into.retain(|(_, value)| !value.is_empty());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Json {
        Json::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn changes_name_the_members_that_differ_and_no_secret() {
        let before = parsed(
            r#"{"url":"a","note":"","same":1,"voice":{"speed":1.0},"client_secret":"x","events":["p"]}"#,
        );
        let after = parsed(
            r#"{"url":"b","note":null,"same":1,"voice":{"speed":1.5},"client_secret":"y","events":["p","q"],"new":true}"#,
        );
        let changes = Changes::between(&before, &after);
        let stored = changes.to_stored().unwrap();
        assert_eq!(
            stored,
            r#"[{"field":"url","from":"a","to":"b"},{"field":"voice.speed","from":"1.0","to":"1.5"},{"field":"client_secret"},{"field":"events","from":"p","to":"p, q"},{"field":"new","from":null,"to":"true"}]"#
        );
        assert_eq!(Changes::of_stored(&stored), changes);
        assert_eq!(Changes::between(&before, &before).to_stored(), None);
    }

    #[test]
    fn changes_are_bounded() {
        let many = |text: &str| {
            let members = (0..MOST * 2).map(|at| (at.to_string(), Json::from(text)));
            Json::object(members)
        };
        let Changes(all) = Changes::between(&Json::Null, &many(&"é".repeat(CHARS + 1)));
        assert_eq!(all.len(), MOST);
        let [_, after] = all[0].values.clone().unwrap();
        assert_eq!(after.unwrap().chars().count(), CHARS + 1);
    }
}
