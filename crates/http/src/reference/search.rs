//! The index of the search: every operation, error, event and section, with its address and its words.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::fields::{self, Field};
use super::markup::Section;
use super::operation::{Operation, address, groups, heading};
use super::overview;
use super::plain::plain;
use crate::prelude::*;

const PUNCTUATION: &[char] = &['.', ',', ':', ';', '(', ')', '`', '"'];

/// The index, as a script: the pages' policy allows no other way to load it.
pub(super) fn index(document: &Value) -> String {
    let mut entries: Vec<_> = overview::sections(document)
        .iter()
        .map(|section| of_section("/docs", "Overview", section))
        .collect();
    entries.extend(overview::errors(document).map(|(code, summary)| {
        entry(
            &format!("/docs#error-{code}"),
            "",
            (code, "Errors"),
            summary,
        )
    }));
    for group in groups(document) {
        let operations = group.operations.iter();
        entries.extend(operations.map(|operation| of_operation(document, operation)));
        let (page, title) = (address(group.tag), heading(group.tag));
        let sections = group.sections.iter();
        entries.extend(sections.map(|section| of_section(&page, &title, section)));
    }
    format!("globalThis.referenceIndex = {};\n", Value::from(entries))
}

fn of_section(page: &str, title: &str, section: &Section) -> Value {
    let address = format!("{page}#{}", section.id);
    entry(&address, "", (&section.title, title), &plain(&section.text))
}

fn of_operation(document: &Value, operation: &Operation<'_>) -> Value {
    let words = [operation.id(), operation.scope(), operation.description()];
    let mut text = words.join(" ");
    let parameters = fields::of_parameters(document, operation.parameters());
    add_fields(&mut text, &parameters);
    let responses = operation.spec["responses"].as_object();
    let responses = responses.into_iter().flatten();
    let successes = responses.filter(|(status, _)| status.starts_with('2'));
    let bodies = successes.map(|(_, response)| response);
    for body in bodies.chain([&operation.spec["requestBody"]]) {
        for (_, content) in body["content"].as_object().into_iter().flatten() {
            add_fields(&mut text, &fields::of(document, &content["schema"]));
        }
    }
    let title = (operation.path, operation.summary());
    entry(&operation.address(), &operation.method, title, &text)
}

fn add_fields(text: &mut String, fields: &[Field<'_>]) {
    for field in fields {
        let words = field.words.join(" ");
        let _ = write!(text, " {} {} {words}", field.path, field.description);
    }
}

/// What the search finds. Its detail is an operation's summary, or the title of the page; its words are all words of
/// these and of the text, in lower case.
fn entry(address: &str, method: &str, (name, detail): (&str, &str), text: &str) -> Value {
    let text = [method, name, detail, text].join(" ").to_lowercase();
    let words = text.split_whitespace();
    let words: BTreeSet<_> = words.map(|word| word.trim_matches(PUNCTUATION)).collect();
    let words = words.into_iter().collect::<Vec<_>>().join(" ");
    json!({"address": address, "method": method, "name": name, "detail": detail, "words": words})
}
