//! Members of a file: what they change, what they leave out, and whether they are valid.

use anyhow::Result;
use similar::TextDiff;

use super::folder;
use super::remote::{with_some_ids, word};
use crate::prelude::*;

/// Members of which the file has the whole: what it leaves out is removed. Elsewhere it has the default.
const WHOLE: &str = "analysis_schema parameters http.headers mcp.headers config.dynamic_variables config.stt.settings config.voice.settings config.voice.fallback_voices";

pub(super) struct Change {
    pub(super) field: Vec<String>,
    pub(super) old: Value,
    pub(super) new: Value,
}

impl Change {
    pub(super) fn words(&self) -> String {
        let field = self.field.join(".");
        let [old, new] = [&self.old, &self.new].map(|text| match text.as_str() {
            None | Some("") => String::new(),
            Some(text) => format!("{text}\n"),
        });
        if old.lines().count().max(new.lines().count()) < 2 {
            return format!("  {field}: {} → {}", self.old, self.new);
        }
        let diff = TextDiff::from_lines(&old, &new);
        let diff = diff.unified_diff().context_radius(2).to_string();
        format!(
            "  {field}:\n    {}",
            diff.trim_end().replace('\n', "\n    ")
        )
    }
}

fn is_whole(field: &[String]) -> bool {
    let field = field.join(".") + ".";
    let mut all = WHOLE.split(' ');
    all.any(|whole| field.starts_with(&format!("{whole}.")))
}

/// That no member of an agent is misspelled, as far as the service's has any.
pub(super) fn check_fields(
    path: &str,
    text: &str,
    new: &Value,
    old: &Value,
    field: &mut Vec<String>,
) -> Result<()> {
    let (Value::Object(new), Value::Object(old)) = (new, old) else {
        return Ok(());
    };
    for (name, value) in new {
        field.push(name.clone());
        if !is_whole(field) {
            ensure!(
                old.contains_key(name),
                folder::unknown(path, text, name, old.keys())
            );
            check_fields(path, text, value, &old[name], field)?;
        }
        field.pop();
    }
    Ok(())
}

/// What a file leaves out has the default.
pub(super) fn fill(value: &mut Value, defaults: &Value, field: &mut Vec<String>) {
    let (Value::Object(value), Value::Object(defaults)) = (value, defaults) else {
        return;
    };
    for (name, default) in defaults {
        field.push(name.clone());
        match value.get_mut(name) {
            Some(value) if !is_whole(field) => fill(value, default, field),
            Some(_) => {}
            None => drop(value.insert(name.clone(), default.clone())),
        }
        field.pop();
    }
}

/// That an agent's values are valid, as far as that can be told here.
pub(super) fn check_values(path: &str, text: &str, agent: &Value) -> Result<()> {
    let config = with_some_ids(agent["config"].clone())?;
    let config = Json::parse(config.to_string().as_bytes())?;
    let language = word(agent, "language");
    let read = AgentConfig::from_json(&config, "config", &language);
    read.map_err(|fault| folder::fault(path, text, &fault))?;
    Ok(())
}

pub(super) fn compare(
    new: &Value,
    old: &Value,
    field: &mut Vec<String>,
    changes: &mut Vec<Change>,
) {
    if let (Value::Object(new), Value::Object(old)) = (new, old) {
        let missing = |name: &&String| is_whole(field) && !new.contains_key(*name);
        let missing: Vec<&String> = old.keys().filter(missing).collect();
        for name in new.keys().chain(missing) {
            field.push(name.clone());
            let [new, old] = [new, old].map(|members| members.get(name).unwrap_or(&Value::Null));
            compare(new, old, field, changes);
            field.pop();
        }
    // 1 and 1.0 are the same.
    } else if new != old && (new.as_f64().is_none() || new.as_f64() != old.as_f64()) {
        let (field, old, new) = (field.clone(), old.clone(), new.clone());
        changes.push(Change { field, old, new });
    }
}

/// The changes of some fields as a merge patch (RFC 7396).
pub(super) fn patch(changes: &[Change], is_of: impl Fn(&str) -> bool) -> Value {
    let mut all = json!({});
    for change in changes.iter().filter(|change| is_of(&change.field[0])) {
        let names = change.field.iter();
        *names.fold(&mut all, |at, name| &mut at[name.as_str()]) = change.new.clone();
    }
    all
}

/// Applies a merge patch.
pub(super) fn merge(into: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *into = patch.clone();
        return;
    };
    for (name, value) in patch {
        match into.as_object_mut() {
            Some(into) if value.is_null() => drop(into.shift_remove(name)),
            _ => merge(&mut into[name.as_str()], value),
        }
    }
}
