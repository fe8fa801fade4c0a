//! `offhook import`: another platform's export as a folder, and what became of each of its fields.

mod convert;
mod secrets;

use std::io::Read as _;

use anyhow::Result;
use clap::ValueEnum;

use self::convert::{convert, put, tool_name};
use super::folder::{Folder, Kind, TOOLS, render};
use super::remote::word;
use crate::prelude::*;

const REPORT: &str = "import-report.md";
const MAX_BYTES: u64 = 8 << 20;
const MAX_FIELDS: usize = 20_000;

const EMPTY: &str = "is empty";
const UNKNOWN: &str = "nothing here is like it";
const UNKNOWN_TOOL: &str = "no kind of tool here is like it";
const REMOVED: &str = "what looks like a credential was removed";
const NO_HEADER: &str = "the service writes it, or it is no header's name";
const CREDENTIAL: &str = "a credential, which is never copied";

#[derive(Debug, Args)]
pub(crate) struct ImportCommand {
    /// The platform that the file comes from.
    from: Vendor,
    /// The JSON that its API or dashboard gives for an agent, or a list of them.
    file: PathBuf,
    /// The folder to write into; agents that are there stay.
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Print the report as one JSON array.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Vendor {
    Vapi,
    Retell,
    #[value(name = "elevenlabs")]
    ElevenLabs,
    Bland,
}

impl Vendor {
    /// Its table, and the members that may be around what the table describes.
    const fn table(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Self::Vapi => (include_str!("import/vapi.txt"), &["assistant"]),
            Self::Retell => (include_str!("import/retell.txt"), &RETELL),
            Self::ElevenLabs => (include_str!("import/elevenlabs.txt"), &["agent"]),
            Self::Bland => (include_str!("import/bland.txt"), &["agent"]),
        }
    }
}

const RETELL: [&str; 3] = ["agent", "llm", "retellLlmData"];

/// A line of a table: a field, how it is read, what it becomes, and how that differs or why it is left out.
struct Row(&'static str, &'static str, &'static str, &'static str);

impl Row {
    fn of(line: &'static str) -> Self {
        let mut columns = line.split('|').map(str::trim);
        let [field, how, target, words] = [(); 4].map(|()| columns.next().unwrap_or_default());
        Self(field, how, target, words)
    }

    /// Whether it is of the field at these names, `*` being any.
    fn is_of(&self, prefix: &str, names: &[String]) -> bool {
        let field = self.0.strip_prefix(prefix).unwrap_or("/");
        let mut parts = field.split('.');
        let is_like = |name: &String| parts.next().is_some_and(|part| part == "*" || part == name);
        names.iter().all(is_like) && parts.next().is_none()
    }
}

/// What became of a field: where it went, and how it differs or why it is left out.
struct Outcome(String, String, String);

struct Import {
    rows: Vec<Row>,
    wrappers: &'static [&'static str],
    root: Value,
    /// What is being written: the agent, or a tool.
    into: Value,
    /// How deep in the export the tool begins.
    tool_depth: Option<usize>,
    tools: BTreeMap<String, Value>,
    outcomes: Vec<Outcome>,
}

impl ImportCommand {
    pub(crate) fn run(self) -> Result<()> {
        let name = self.file.display();
        let mut text = String::new();
        let opened = std::fs::File::open(&self.file);
        let read = opened.and_then(|file| file.take(MAX_BYTES + 1).read_to_string(&mut text));
        read.with_context(|| format!("cannot read {name}"))?;
        ensure!(
            text.len() as u64 <= MAX_BYTES,
            "{name} is larger than {} MiB: export fewer agents at once",
            MAX_BYTES >> 20
        );
        let export = serde_json::from_str(&text);
        let export = export
            .with_context(|| format!("{name} is not JSON: export an agent as the API gives it"))?;
        let mut imported = Vec::new();
        for agent in agents(export) {
            let import = Import::read(self.from, agent);
            imported.push(import.with_context(|| name.to_string())?);
        }
        ensure!(!imported.is_empty(), "{name} has no agent");
        let mut folder = Folder::open(&self.output)?;
        let (mut words, mut all) = (format!("# Import of {name}\n"), Vec::new());
        for mut import in imported {
            import.write_tools(&mut folder)?;
            let path = folder.free_path(Kind::Agent, &word(&import.into, "name"));
            folder.write(&path, render(&path, &import.into)?)?;
            words += &import.words(&path);
            for Outcome(field, target, words) in &import.outcomes {
                all.push(json!({ "file": path, "field": field, "becomes": target, "note": words }));
            }
        }
        let dir = self.output.display();
        words += &format!("\nNext: read the files, then `offhook agents plan {dir}`.");
        folder.write(REPORT, format!("{words}\n"))?;
        output::print(self.json, &Value::Array(all), &words)
    }
}

/// The agents of an export: it is one, a list, or an object with a list.
fn agents(export: Value) -> Vec<Value> {
    match export {
        Value::Array(agents) => agents,
        Value::Object(mut one) => {
            let lists = ["agents", "assistants"];
            match lists.iter().find_map(|name| one.remove(*name)) {
                Some(Value::Array(agents)) => agents,
                _ => vec![Value::Object(one)],
            }
        }
        _ => Vec::new(),
    }
}

impl Import {
    fn read(vendor: Vendor, root: Value) -> Result<Self> {
        let (table, wrappers) = vendor.table();
        let lines = table.lines().filter(|line| line.contains('|'));
        let mut import = Self {
            rows: lines.map(Row::of).collect(),
            wrappers,
            root: root.clone(),
            into: json!({ "name": "Imported agent", "language": "en", "config": {} }),
            tool_depth: None,
            tools: BTreeMap::new(),
            outcomes: Vec::new(),
        };
        import.walk(&root, &mut Vec::new())?;
        ensure!(
            import.outcomes.iter().any(|one| !one.1.is_empty()),
            "no field of an agent is known: is it an agent's export, and of this platform?"
        );
        Ok(import)
    }

    /// Reads a field and what is below it, each part once.
    fn walk(&mut self, value: &Value, field: &mut Vec<String>) -> Result<()> {
        ensure!(
            self.outcomes.len() < MAX_FIELDS,
            "an agent has more than {MAX_FIELDS} fields: it is no agent's export"
        );
        let (prefix, skipped) = match self.tool_depth {
            Some(depth) => ("tool/", depth),
            None => {
                let first = field.first().map(String::as_str).unwrap_or_default();
                ("", usize::from(self.wrappers.contains(&first)))
            }
        };
        let names = field.get(skipped..).unwrap_or_default();
        let row = self.rows.iter().position(|row| row.is_of(prefix, names));
        let name = field.last().map(String::as_str).unwrap_or_default();
        match row.map(|row| (row, self.rows[row].1)) {
            Some((_, "tool")) if value.is_object() => self.tool(value, field)?,
            Some((_, "header")) => self.header(field),
            _ if secrets::is_named(name, value) => self.note(field, "", CREDENTIAL),
            Some((row, _)) => self.take(row, value, field),
            None => self.walk_below(value, field)?,
        }
        Ok(())
    }

    fn walk_below(&mut self, value: &Value, field: &mut Vec<String>) -> Result<()> {
        let below: Vec<(String, &Value)> = match value {
            Value::Object(members) => members
                .iter()
                .map(|(name, one)| (name.clone(), one))
                .collect(),
            Value::Array(items) => (0..).map(|at: usize| at.to_string()).zip(items).collect(),
            _ => Vec::new(),
        };
        match value {
            Value::Null | Value::Object(_) | Value::Array(_) if below.is_empty() => {
                self.note(field, "", EMPTY)
            }
            Value::Object(_) | Value::Array(_) => {}
            _ => self.note(field, "", UNKNOWN),
        }
        for (name, value) in below {
            field.push(name);
            self.walk(value, field)?;
            field.pop();
        }
        Ok(())
    }

    fn note(&mut self, field: &[String], target: &str, words: &str) {
        // Names come from the export, too.
        let names = field.iter().map(|name| secrets::removed(name).0);
        let field = names.collect::<Vec<_>>().join(".");
        let field = field.replace(|c: char| c.is_control() || "|`".contains(c), "?");
        let (target, words) = (target.to_owned(), words.to_owned());
        self.outcomes.push(Outcome(field, target, words));
    }

    fn take(&mut self, row: usize, value: &Value, field: &[String]) {
        let Row(_, how, target, words) = self.rows[row];
        match convert(how, value, &self.root) {
            _ if how == "kind" => self.note(field, target, words),
            None if value.is_null() => self.note(field, "", EMPTY),
            None if how == "drop" => self.note(field, "", words),
            None => self.note(field, "", UNKNOWN),
            Some((value, more)) => {
                let (value, had_secret) = secrets::scrubbed(value);
                let removed = if had_secret { REMOVED } else { "" };
                put(&mut self.into, target, value);
                let mut words = [words, more, removed].to_vec();
                words.retain(|words| !words.is_empty());
                self.note(field, target, &words.join("; "));
            }
        }
    }

    fn tool(&mut self, value: &Value, field: &mut Vec<String>) -> Result<()> {
        let kind = [&value["params"]["system_tool_type"], &value["type"]];
        let kind = kind.into_iter().find_map(Value::as_str).unwrap_or_default();
        let mut rows = self.rows.iter();
        let row = rows.find(|row| row.0.strip_prefix("kind/") == Some(kind));
        let Some(&Row(_, kind, ..)) = row else {
            self.note(field, "", UNKNOWN_TOOL);
            return Ok(());
        };
        let mut blank = json!({ "kind": kind });
        if kind == "http" {
            blank["http"] = json!({ "method": "POST" });
        }
        let agent = std::mem::replace(&mut self.into, blank);
        let before = self.outcomes.len();
        self.tool_depth = Some(field.len());
        self.walk_below(value, field)?;
        self.tool_depth = None;
        let mut tool = std::mem::replace(&mut self.into, agent);
        let given = tool["name"].as_str().unwrap_or(kind).to_owned();
        let name = tool_name(&given);
        tool["name"] = name.clone().into();
        if word(&tool, "description").trim().is_empty() {
            tool["description"] = format!("Calls {name}.").into();
        }
        let read = Json::parse(tool.to_string().as_bytes()).map(|json| Tool::from_json(&json, &[]));
        if let Ok(Err(why)) = read {
            // The tool is one field then: none of it was taken.
            self.outcomes.truncate(before);
            let why = format!("a tool needs more, or other, than it has: {why}");
            self.note(field, "", &why);
            return Ok(());
        }
        let taken = self.outcomes[before..].iter_mut();
        for Outcome(_, target, words) in taken.filter(|one| !one.1.is_empty()) {
            if target == "name" && name != given {
                *words = format!("is {name} here: change it where the prompt names it");
            }
            *target = format!("{TOOLS}{name}.yaml: {target}");
        }
        if let Some(members) = tool.as_object_mut() {
            members.shift_remove("name");
        }
        self.tools.insert(name, tool);
        Ok(())
    }

    /// A header keeps its name; its value, often a key, comes from the environment.
    fn header(&mut self, field: &[String]) {
        let name = field.last().cloned().unwrap_or_default();
        let lower = name.to_ascii_lowercase();
        let is_ours = ["host", "content-type", "content-length"].contains(&lower.as_str());
        let is_odd = |c: char| !c.is_ascii_alphanumeric() && !"-_".contains(c);
        let is_name = (1..=64).contains(&name.len()) && !name.contains(is_odd);
        if secrets::removed(&name).1 {
            return self.note(field, "", CREDENTIAL);
        }
        if is_ours || !is_name {
            return self.note(field, "", NO_HEADER);
        }
        let tool = tool_name(self.into["name"].as_str().unwrap_or_default());
        // No variable that a machine has for something else.
        let variable = format!("tool_{tool}_{name}").to_ascii_uppercase();
        let variable = variable.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
        self.into["http"]["headers"][&name] = format!("${{{variable}}}").into();
        let words = format!(
            "its value is not copied: `offhook agents apply` takes it from the variable {variable}"
        );
        self.note(field, "http.headers", &words);
    }

    /// Writes each tool under a name that no other has, and names them in the agent.
    fn write_tools(&mut self, folder: &mut Folder) -> Result<()> {
        let mut names = Vec::new();
        for (first, tool) in &self.tools {
            let (mut name, mut number) = (first.clone(), 2);
            let mut path = format!("{TOOLS}{name}.yaml");
            let text = render(&path, tool)?;
            while folder.files.get(&path).is_some_and(|other| *other != text) {
                name = format!("{first}_{number}");
                path = format!("{TOOLS}{name}.yaml");
                number += 1;
            }
            folder.write(&path, text)?;
            names.push(name);
        }
        if !names.is_empty() {
            self.into["config"]["tools"] = names.into();
        }
        Ok(())
    }

    fn words(&self, path: &str) -> String {
        let mut words = format!("\n## {path}\n");
        let kinds = [
            ("Taken", true, false),
            ("Approximated", true, true),
            ("Dropped", false, true),
        ];
        for (heading, is_taken, has_words) in kinds {
            let is_such =
                |one: &&Outcome| one.1.is_empty() != is_taken && one.2.is_empty() != has_words;
            let such: Vec<&Outcome> = self.outcomes.iter().filter(is_such).collect();
            words += &format!("\n### {heading}: {}\n\n", such.len());
            for Outcome(field, target, why) in such {
                words += &match (is_taken, has_words) {
                    (true, false) => format!("- `{field}` → `{target}`\n"),
                    (true, true) => format!("- `{field}` → `{target}`: {why}\n"),
                    (false, _) => format!("- `{field}`: {why}\n"),
                };
            }
        }
        words
    }
}
