//! The operations of the document by tag, what else their pages describe, and their addresses.

use maud::html;
use serde_json::Value;

use super::markup::{Section, list};
use super::{events, fields};

/// An operation with its method and path.
pub(super) struct Operation<'a> {
    pub(super) method: String,
    pub(super) path: &'a str,
    pub(super) spec: &'a Value,
}

/// The operations of a tag.
pub(super) struct Group<'a> {
    pub(super) tag: &'a str,
    pub(super) operations: Vec<Operation<'a>>,
    /// What else its page describes.
    pub(super) sections: Vec<Section>,
}

impl<'a> Operation<'a> {
    pub(super) fn id(&self) -> &'a str {
        self.text("operationId")
    }

    pub(super) fn summary(&self) -> &'a str {
        self.text("summary")
    }

    pub(super) fn description(&self) -> &'a str {
        self.text("description")
    }

    pub(super) fn scope(&self) -> &'a str {
        self.text("x-required-scope")
    }

    pub(super) fn tag(&self) -> &'a str {
        self.spec["tags"][0].as_str().unwrap_or_default()
    }

    /// The address of its description.
    pub(super) fn address(&self) -> String {
        format!("{}#{}", address(self.tag()), self.id())
    }

    pub(super) fn parameters(&self) -> &'a [Value] {
        self.spec["parameters"]
            .as_array()
            .map_or(&[], Vec::as_slice)
    }

    fn text(&self, member: &str) -> &'a str {
        self.spec[member].as_str().unwrap_or_default()
    }
}

/// The address of a tag's page.
pub(super) fn address(tag: &str) -> String {
    format!("/docs/{tag}")
}

pub(super) fn groups(document: &Value) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for (path, methods) in document["paths"].as_object().into_iter().flatten() {
        for (method, spec) in methods.as_object().into_iter().flatten() {
            let operation = Operation {
                method: method.to_uppercase(),
                path,
                spec,
            };
            let tag = operation.tag();
            match groups.iter_mut().find(|group| group.tag == tag) {
                Some(group) => group.operations.push(operation),
                None => groups.push(Group {
                    tag,
                    operations: vec![operation],
                    sections: sections(document, tag),
                }),
            }
        }
    }
    groups
}

fn sections(document: &Value, tag: &str) -> Vec<Section> {
    match tag {
        "agents" => vec![config(document)],
        "webhooks" => events::sections(document),
        _ => Vec::new(),
    }
}

fn config(document: &Value) -> Section {
    let config = &document["components"]["schemas"]["AgentConfig"];
    let text = html! {
        p { "The configuration of an engine agent. In a write every member may be left out; the numbers in brackets are the defaults." }
        (list(&fields::of(document, config), true))
    };
    Section::new("shape-AgentConfig", "AgentConfig", text)
}

/// A tag as a heading: `batch-calls` is "Batch calls".
pub(super) fn heading(tag: &str) -> String {
    let words = match tag {
        "me" => "your key",
        other => other,
    };
    let mut letters = words.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    let rest = letters.as_str().replace('-', " ");
    first.into_iter().collect::<String>() + &rest
}
