//! A configuration as the fields of a form, and back. A field is named by its path in the configuration, so that the path
//! of a refusal names the field.

#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use offhook_domain::body::{Body as _, Member, Shape};
use offhook_domain::config::{BUILT_IN, variables_in};
use offhook_domain::json::{Fault, Misread, item_path, member_path};

use crate::prelude::*;

/// How a member is written in a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Trimmed; empty is null.
    Line,
    /// Kept as typed; empty is null.
    Text,
    /// A number; other input is sent as text, for the rules to refuse.
    Number,
    /// A checkbox.
    Tick,
    /// A JSON object; empty is `{}`.
    Object,
}

/// Members of one value, by their path.
static MEMBERS: LazyLock<Vec<(String, Kind)>> = LazyLock::new(|| {
    let mut found = Vec::new();
    add_members(&mut found, "", AgentConfig::members());
    found
});

fn add_members(found: &mut Vec<(String, Kind)>, before: &str, members: Vec<Member>) {
    for member in members {
        let path = format!("{before}{}", member.name);
        let kind = match member.shape {
            Shape::Text { is_long: true, .. } => Kind::Text,
            Shape::Text { .. } | Shape::Word(_) => Kind::Line,
            Shape::Number { .. } | Shape::Integer { .. } | Shape::SampleRate => Kind::Number,
            Shape::Flag => Kind::Tick,
            Shape::Object => Kind::Object,
            Shape::Section(members) => {
                add_members(found, &format!("{path}."), members);
                continue;
            }
            Shape::Words(_)
            | Shape::Uuid
            | Shape::Uuids
            | Shape::Phone
            | Shape::Instant
            | Shape::Other => continue,
        };
        found.push((path, kind));
    }
}

/// Members that are lists of ids: one field for each.
const LISTS: [&str; 3] = [DOCUMENTS, FOLDERS, TOOLS];

pub(super) const DOCUMENTS: &str = "knowledge_base.doc_ids";
pub(super) const FOLDERS: &str = "knowledge_base.folder_ids";
pub(super) const TOOLS: &str = "tool_ids";

/// Members with repeated rows, and a row's columns.
pub(super) const FALLBACK: (&str, [&str; 2]) = ("llm.fallback", ["provider", "model"]);
pub(super) const FALLBACK_VOICES: (&str, [&str; 2]) =
    ("voice.fallback_voices", ["provider", "voice_id"]);
pub(super) const VARIABLES: (&str, [&str; 2]) = ("dynamic_variables", ["name", "default"]);
pub(super) const PRONUNCIATION: (&str, [&str; 2]) = ("conversation.pronunciation", ["term", "say"]);
pub(super) const MATCH_CASE: &str = "match_case";

/// A checkbox; its members follow it.
pub(super) const HOURS: &str = "conversation.calling_hours";

/// A voice chosen from the search, as `provider|voice_id`, and a model chosen from the list, as `provider|model`. They
/// replace the fields beside them.
pub(super) const PICK: &str = "voice.pick";
pub(super) const MODEL_PICK: &str = "llm.pick";

/// A row of variables for a name in the texts: it is no variable while it has no default.
pub(super) const FOUND: &str = "found";

/// The value of a language's select for a tag that is typed, in the field of this ending.
pub(super) const OTHER: &str = "other";

/// More rows than any list may have.
const MOST_ROWS: usize = 300;

/// The fields of a form that shows this configuration.
pub(super) fn fields_of(config: &Json) -> Fields {
    let mut fields = Fields::default();
    for (path, kind) in MEMBERS.iter() {
        let value = at(config, path).unwrap_or(&Json::Null);
        match kind {
            Kind::Tick if value.as_bool() == Some(true) => fields.push(path, "on"),
            Kind::Tick => {}
            Kind::Object if value.as_object().is_none_or(<[_]>::is_empty) => fields.push(path, ""),
            Kind::Object => fields.push(path, &pretty(value)),
            Kind::Line | Kind::Text | Kind::Number => fields.push(path, &plain(value)),
        }
    }
    for path in LISTS {
        for id in items(config, path) {
            fields.push(path, &plain(id));
        }
    }
    let mut row = |(of, columns): (&str, [&str; 2]), place: usize, values: [String; 2]| {
        for (column, value) in columns.into_iter().zip(values) {
            fields.push(&cell(of, place, column), &value);
        }
    };
    let text = |item: &Json, name: &str| item.get(name).map(plain).unwrap_or_default();
    for of in [FALLBACK, PRONUNCIATION] {
        for (place, item) in items(config, of.0).iter().enumerate() {
            row(of, place, of.1.map(|column| text(item, column)));
        }
    }
    for (place, (provider, voice)) in members(config, FALLBACK_VOICES.0).iter().enumerate() {
        row(FALLBACK_VOICES, place, [provider.clone(), plain(voice)]);
    }
    for (place, (name, variable)) in members(config, VARIABLES.0).iter().enumerate() {
        let default = variable.get("default").map(default_text);
        row(
            VARIABLES,
            place,
            [name.clone(), default.unwrap_or_default()],
        );
    }
    for (place, rule) in items(config, PRONUNCIATION.0).iter().enumerate() {
        if rule.get(MATCH_CASE).and_then(Json::as_bool) == Some(true) {
            fields.push(&cell(PRONUNCIATION.0, place, MATCH_CASE), "on");
        }
    }
    if let Some(hours) = at(config, HOURS).filter(|hours| hours.as_object().is_some()) {
        fields.push(HOURS, "on");
        for name in ["timezone", "start", "end"] {
            fields.push(&member_path(HOURS, name), &text(hours, name));
        }
        let days = hours.get("days").and_then(Json::as_array);
        for day in days.unwrap_or_default() {
            fields.push(&member_path(HOURS, "days"), &plain(day));
        }
    }
    fields
}

/// The whole configuration that a form says. What may not be is left to the rules to refuse.
///
/// # Errors
/// What the form cannot say in JSON: settings that are none, a name that is there twice.
pub(super) fn document(fields: &Fields) -> Result<Json, FieldError> {
    let mut config = Json::Object(Vec::new());
    for (path, kind) in MEMBERS.iter() {
        let value = match kind {
            Kind::Line if is_language(path) => line(language(fields, path)),
            Kind::Line => line(fields.text(path)),
            Kind::Text => line(&unix_lines(fields.raw(path))),
            Kind::Number => number(fields.text(path)),
            Kind::Tick => Json::Bool(fields.is_set(path)),
            Kind::Object => object(fields.text(path)).map_err(|found| fault(path, found))?,
        };
        set(&mut config, path, value);
    }
    for (pick, [provider, id]) in [
        (PICK, ["voice.provider", "voice.voice_id"]),
        (MODEL_PICK, ["llm.provider", "llm.model"]),
    ] {
        if let Some((of, picked)) = fields.text(pick).split_once('|') {
            set(&mut config, provider, line(of));
            set(&mut config, id, line(picked));
        }
    }
    for path in LISTS {
        let mut ids: Vec<&str> = Vec::new();
        for id in fields.all(path).map(str::trim) {
            if !id.is_empty() && !ids.contains(&id) {
                ids.push(id);
            }
        }
        set(&mut config, path, ids.into_iter().map(Json::from).collect());
    }
    let (path, columns) = FALLBACK;
    set(&mut config, path, objects(fields, path, columns));
    let voices = named(fields, FALLBACK_VOICES, |voice| Json::from(voice))?;
    set(&mut config, FALLBACK_VOICES.0, voices);
    let variable = |text: &str| Json::object([("default", default_of(text))]);
    let variables = named(&without_unset(fields), VARIABLES, variable)?;
    set(&mut config, VARIABLES.0, variables);
    let (path, [term, say]) = PRONUNCIATION;
    let rules = rows(fields, path, [term, say]);
    let rules = rules.iter().map(|row| {
        let [first, second] = row.values;
        let cases = Json::Bool(fields.is_set(&cell(path, row.place, MATCH_CASE)));
        Json::object([
            (term, Json::from(first)),
            (say, Json::from(second)),
            (MATCH_CASE, cases),
        ])
    });
    set(&mut config, path, rules.collect());
    set(&mut config, HOURS, hours(fields));
    Ok(config)
}

fn is_language(path: &str) -> bool {
    path == "language" || path.ends_with(".language")
}

/// The language of a select, or the tag that was typed.
pub(in crate::pages) fn language<'a>(fields: &'a Fields, path: &str) -> &'a str {
    match fields.text(path) {
        OTHER => fields.text(&member_path(path, OTHER)),
        chosen => chosen,
    }
}

/// The form with a row for each variable of its texts that has none and is not built in.
pub(super) fn with_found_variables(fields: &Fields) -> Fields {
    let mut shown = without_unset(fields);
    let texts = [
        "system_prompt",
        "first_message",
        "conversation.recording.consent_text",
    ];
    let texts = texts.map(|path| fields.raw(path)).join("\n");
    let (of, [name, default]) = VARIABLES;
    let known = rows(&shown, of, [name, default]);
    let mut place = known.last().map_or(0, |last| last.place + 1);
    let known: Vec<String> = known.iter().map(|row| row.values[0].to_owned()).collect();
    for found in variables_in(&texts) {
        if !known.contains(&found) && !BUILT_IN.contains(&&*found) {
            shown.set(&cell(of, place, name), &found);
            shown.set(&cell(of, place, default), "");
            shown.set(&cell(of, place, FOUND), "on");
            place += 1;
        }
    }
    shown
}

/// The form without the rows of found variables that were given no default.
fn without_unset(fields: &Fields) -> Fields {
    let (of, columns) = VARIABLES;
    let mut kept = fields.clone();
    for row in rows(fields, of, columns) {
        if fields.is_set(&cell(of, row.place, FOUND)) && row.values[1].is_empty() {
            kept.set(&cell(of, row.place, columns[0]), "");
        }
    }
    kept
}

fn hours(fields: &Fields) -> Json {
    if !fields.is_set(HOURS) {
        return Json::Null;
    }
    let text = |name: &str| line(fields.text(&member_path(HOURS, name)));
    let path = member_path(HOURS, "days");
    let days = fields.all(&path).map(number);
    Json::object([
        ("timezone", text("timezone")),
        ("days", days.collect::<Json>()),
        ("start", text("start")),
        ("end", text("end")),
    ])
}

/// The first calling hours field that is filled in although the checkbox is not set.
pub(super) fn hours_without_box(fields: &Fields) -> Option<String> {
    let names = ["timezone", "days", "start", "end"];
    let mut paths = names.into_iter().map(|name| member_path(HOURS, name));
    let unticked = !fields.is_set(HOURS);
    paths.find(|path| unticked && fields.is_set(path))
}

/// Whether a configuration has calling hours.
pub(super) fn has_hours(config: &Json) -> bool {
    at(config, HOURS).is_some_and(|hours| hours.as_object().is_some())
}

/// A row of a form that has something in it.
pub(in crate::pages) struct Row<'a> {
    /// Its number in the submitted form.
    pub(in crate::pages) place: usize,
    pub(in crate::pages) values: [&'a str; 2],
}

/// The rows that are not empty.
pub(in crate::pages) fn rows<'a>(fields: &'a Fields, of: &str, columns: [&str; 2]) -> Vec<Row<'a>> {
    let sent = |place: &usize| {
        let begins = format!("{of}[{place}].");
        fields.iter().any(|(name, _)| name.starts_with(&begins))
    };
    let row = |place: usize| Row {
        place,
        values: columns.map(|column| fields.text(&cell(of, place, column))),
    };
    (0..MOST_ROWS)
        .take_while(sent)
        .map(row)
        .filter(|row| row.values.iter().any(|value| !value.is_empty()))
        .collect()
}

/// The rows, with empty ones to fill in: more if rows were added.
pub(in crate::pages) fn rows_and_more<'a>(
    fields: &'a Fields,
    of: &str,
    columns: [&str; 2],
    add: &str,
) -> Vec<Row<'a>> {
    let mut all = rows(fields, of, columns);
    let empty = if add == of { 3 } else { 1 };
    all.extend((0..empty).map(|_| Row {
        place: usize::MAX,
        values: ["", ""],
    }));
    all
}

/// The name of a field of a row.
pub(in crate::pages) fn cell(of: &str, place: usize, column: &str) -> String {
    member_path(&item_path(of, place), column)
}

/// The rows, each as an object of its columns.
pub(in crate::pages) fn objects(fields: &Fields, of: &str, columns: [&str; 2]) -> Json {
    let rows = rows(fields, of, columns).into_iter();
    rows.map(|row| Json::object(columns.into_iter().zip(row.values.map(Json::from))))
        .collect()
}

/// An object of rows whose first column is the member's name.
fn named(
    fields: &Fields,
    (path, columns): (&str, [&str; 2]),
    value: impl Fn(&str) -> Json,
) -> Result<Json, FieldError> {
    let mut members: Vec<(String, Json)> = Vec::new();
    for row in rows(fields, path, columns) {
        let [name, text] = row.values;
        if members.iter().any(|(other, _)| other == name) {
            let path = member_path(path, name);
            return Err(fault(&path, Fault::Twice));
        }
        members.push((name.to_owned(), value(text)));
    }
    Ok(Json::Object(members))
}

/// The merge patch (RFC 7396) from `old` to `new`: removed members are null.
pub(in crate::pages) fn patch(old: &Json, new: &Json) -> Json {
    let (Some(before), Some(after)) = (old.as_object(), new.as_object()) else {
        return new.clone();
    };
    let mut changes: Vec<(String, Json)> = Vec::new();
    for (name, value) in after {
        match old.get(name) {
            Some(same) if same == value => {}
            Some(other) if other.as_object().is_some() && value.as_object().is_some() => {
                let inner = patch(other, value);
                if inner != Json::Object(Vec::new()) {
                    changes.push((name.clone(), inner));
                }
            }
            _ => changes.push((name.clone(), value.clone())),
        }
    }
    let gone = before.iter().filter(|(name, _)| new.get(name).is_none());
    changes.extend(gone.map(|(name, _)| (name.clone(), Json::Null)));
    Json::Object(changes)
}

/// JSON on several lines.
pub(in crate::pages) fn pretty(json: &Json) -> String {
    serde_json::to_string_pretty(json).unwrap_or_else(|_| json.to_compact())
}

/// Parses JSON; an error names its line.
pub(in crate::pages) fn parse(text: &str) -> Result<Json, Fault> {
    if text.trim().is_empty() {
        return Err(Fault::Empty);
    }
    Json::parse(text.as_bytes()).map_err(|error| {
        let place = serde_json::from_str::<serde_json::Value>(text).err();
        let message = match &place {
            Some(place) => format!("{error}: {place}"),
            None => error.to_string(),
        };
        let place = place.map(|place| (place.line(), place.column()));
        Fault::Json(Misread { place, message })
    })
}

/// Converts browsers' line ends to the stored form.
pub(in crate::pages) fn unix_lines(text: &str) -> String {
    text.replace("\r\n", "\n")
}

fn fault(path: &str, fault: Fault) -> FieldError {
    FieldError::new(member_path("config", path), fault)
}

fn object(text: &str) -> Result<Json, Fault> {
    if text.is_empty() {
        return Ok(Json::Object(Vec::new()));
    }
    parse(text)
}

pub(in crate::pages) fn line(text: &str) -> Json {
    match text {
        "" => Json::Null,
        text => Json::from(text),
    }
}

pub(in crate::pages) fn number(text: &str) -> Json {
    match Json::parse(text.as_bytes()) {
        Ok(number @ Json::Number(_)) => number,
        _ => line(text),
    }
}

/// A variable's default: a number, `true`, `false` and a quoted text as JSON, other input as text.
fn default_of(text: &str) -> Json {
    match Json::parse(text.as_bytes()) {
        Ok(Json::Array(_) | Json::Object(_)) | Err(_) => line(text),
        Ok(scalar) => scalar,
    }
}

/// The text that [`default_of`] reads as this value, on one line.
fn default_text(value: &Json) -> String {
    let text = plain(value);
    let is_plain = text.trim() == text && !text.contains(char::is_control);
    if is_plain && default_of(&text) == *value {
        text
    } else {
        value.to_compact()
    }
}

/// A value as text: null is empty.
pub(in crate::pages) fn plain(value: &Json) -> String {
    match value {
        Json::Null => String::new(),
        Json::String(text) => text.clone(),
        other => other.to_compact(),
    }
}

/// The member at a path of names.
pub(in crate::pages) fn at<'a>(json: &'a Json, path: &str) -> Option<&'a Json> {
    path.split('.').try_fold(json, |json, name| json.get(name))
}

fn items<'a>(json: &'a Json, path: &str) -> &'a [Json] {
    at(json, path).and_then(Json::as_array).unwrap_or_default()
}

fn members<'a>(json: &'a Json, path: &str) -> &'a [(String, Json)] {
    at(json, path).and_then(Json::as_object).unwrap_or_default()
}

pub(in crate::pages) fn set(json: &mut Json, path: &str, value: Json) {
    let Json::Object(members) = json else {
        return;
    };
    let (name, rest) = path
        .split_once('.')
        .map_or((path, None), |(name, rest)| (name, Some(rest)));
    let place = members.iter().position(|(member, _)| member == name);
    let place = place.unwrap_or_else(|| {
        members.push((name.to_owned(), Json::Object(Vec::new())));
        members.len() - 1
    });
    match rest {
        Some(rest) => set(&mut members[place].1, rest, value),
        None => members[place].1 = value,
    }
}
