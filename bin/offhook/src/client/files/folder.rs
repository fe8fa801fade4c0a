//! A folder of agents: read within bounds, written in a stable form.

use std::fs;
use std::io::{ErrorKind, Read as _};

use anyhow::Result;
use offhook_services::{AgentSettings, Scenario};
use ring::digest::{SHA256, digest};
use serde_json::Map;

use crate::output::printable;
use crate::prelude::*;

/// Which service's things the files are, and as of when.
const LOCK: &str = "offhook.lock";
const LOCK_HEAD: &str = "# Written by offhook: the id of each file at the service, what it was there and here when both were last the same.\n";

pub(super) const TOOLS: &str = "tools/";
pub(super) const KNOWLEDGE: &str = "knowledge/";
const AGENT: &str = "agent.md";
const SCENARIOS: &str = "/scenarios/";

/// Far above what the API accepts, far below what a machine minds.
const MAX_BYTES: u64 = 1 << 20;
const MAX_DOCUMENT_BYTES: u64 = 10 << 20;
const MAX_FILES: usize = 2_000;
const MAX_NODES: usize = 50_000;

/// The members of an agent's front matter.
const MEMBERS: [&str; 5] = ["name", "language", "config", "settings", "analysis_schema"];

pub(crate) struct Folder {
    root: PathBuf,
    /// The text of each file by its path, as `front-desk/agent.md`.
    pub(super) files: BTreeMap<String, String>,
    pub(super) lock: Map<String, Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Tool,
    Document,
    Agent,
    Scenario,
}

impl Kind {
    pub(super) fn of(path: &str) -> Self {
        match () {
            () if path.starts_with(TOOLS) => Self::Tool,
            () if path.starts_with(KNOWLEDGE) => Self::Document,
            () if path.contains(SCENARIOS) => Self::Scenario,
            () => Self::Agent,
        }
    }
}

impl Folder {
    /// Reads a folder; one that does not exist is empty.
    pub(crate) fn open(root: &Path) -> Result<Self> {
        let (files, lock) = (BTreeMap::new(), Map::new());
        let mut folder = Self {
            root: root.to_owned(),
            files,
            lock,
        };
        for at in entries(root)? {
            let below = match at.as_str() {
                "tools" | "knowledge" => entries(&root.join(&at))?,
                agent => {
                    let scenarios = root.join(agent).join("scenarios");
                    let mut below = vec![AGENT.to_owned()];
                    let is_link = scenarios.is_symlink();
                    ensure!(
                        !is_link,
                        "{}: is a symbolic link: put the folder itself there",
                        scenarios.display()
                    );
                    for name in if scenarios.is_dir() {
                        entries(&scenarios)?
                    } else {
                        Vec::new()
                    } {
                        if name.ends_with(".yaml") {
                            below.push(format!("scenarios/{name}"));
                        }
                    }
                    below
                }
            };
            for name in below {
                let path = format!("{at}/{name}");
                if at == "tools" && !name.ends_with(".yaml") {
                    continue;
                }
                if let Some(text) = read(root, &path)? {
                    folder.files.insert(path, text);
                }
            }
        }
        let is_small = folder.files.len() <= MAX_FILES;
        ensure!(
            is_small,
            "{}: more than {MAX_FILES} files: split the folder",
            root.display()
        );
        let lock = read(root, LOCK)?
            .map(|text| yaml(LOCK, &text))
            .transpose()?;
        match lock {
            Some(Value::Object(lock)) => {
                // What is pulled is written to these paths.
                let strange = lock.keys().find(|path| !is_ours(path));
                if let Some(path) = strange {
                    bail!(
                        "{LOCK}: `{}` is no file of this folder: restore it",
                        printable(path)
                    );
                }
                folder.lock = lock;
            }
            Some(_) => bail!(
                "{LOCK}: is not a mapping: restore it, or remove it and pull into an empty folder"
            ),
            None => {}
        }
        Ok(folder)
    }

    /// Writes a file, also over one that is there.
    pub(crate) fn write(&mut self, path: &str, text: String) -> Result<()> {
        let file = self.root.join(path);
        let made = fs::create_dir_all(file.parent().unwrap_or(&self.root));
        let written = made.and_then(|()| fs::write(&file, &text));
        written.with_context(|| format!("cannot write {}", file.display()))?;
        self.files.insert(path.to_owned(), text);
        Ok(())
    }

    /// Notes that a file and what has this id are the same now.
    pub(super) fn note(&mut self, path: &str, id: &str, at: &str) {
        let sha256 = self.files.get(path).map(|text| sha256(text));
        let mark = json!({ "id": id, "at": at, "sha256": sha256 });
        // A file that was renamed was another one.
        self.lock
            .retain(|other, mark| other.as_str() == path || mark["id"] != id);
        self.lock.insert(path.to_owned(), mark);
    }

    /// The same while not all of the file is there.
    pub(super) fn note_part(&mut self, path: &str, id: &str, at: &str) {
        self.lock
            .insert(path.to_owned(), json!({ "id": id, "at": at }));
    }

    pub(super) fn save_lock(&mut self) -> Result<()> {
        self.lock.sort_keys();
        let text = to_yaml(&Value::Object(self.lock.clone()))?;
        self.write(LOCK, format!("{LOCK_HEAD}{text}"))
    }

    pub(super) fn locked(&self, path: &str, member: &str) -> &str {
        let mark = self.lock.get(path).unwrap_or(&Value::Null);
        mark[member].as_str().unwrap_or_default()
    }

    /// The path of what has this id.
    pub(super) fn path_of(&self, id: &str) -> Option<&str> {
        let found = self.lock.iter().find(|(_, mark)| mark["id"] == id);
        found.map(|(path, _)| path.as_str())
    }

    /// Whether a file is not what it was when it was last the same as at the service.
    pub(super) fn is_edited(&self, path: &str) -> bool {
        let text = self.files.get(path);
        text.is_some_and(|text| self.locked(path, "sha256") != sha256(text))
    }

    /// A path for something new, with a number where the name is taken.
    /// Of a scenario, the name begins with its agent's folder.
    pub(crate) fn free_path(&self, kind: Kind, name: &str) -> String {
        let (agent, name) = match (kind, name.split_once('/')) {
            (Kind::Scenario, Some((agent, name))) => (format!("{agent}{SCENARIOS}"), name),
            _ => (String::new(), name),
        };
        let mut kept = String::new();
        for c in name.chars().take(80) {
            match c {
                c if kind == Kind::Agent && c.is_ascii_alphanumeric() => {
                    kept.push(c.to_ascii_lowercase())
                }
                c if kind != Kind::Agent && (c.is_alphanumeric() || "._ ".contains(c)) => {
                    kept.push(c)
                }
                _ if !kept.ends_with('-') => kept.push('-'),
                _ => {}
            }
        }
        let name = match kept.trim_matches(['-', '.', ' ']) {
            "" if kind == Kind::Scenario => "scenario",
            "" | "tools" | "knowledge" => "agent",
            name => name,
        };
        let (prefix, suffix) = match kind {
            Kind::Tool => (TOOLS, ".yaml"),
            Kind::Document => (KNOWLEDGE, ""),
            Kind::Agent => ("", "/agent.md"),
            Kind::Scenario => (agent.as_str(), ".yaml"),
        };
        let (mut path, mut number) = (format!("{prefix}{name}{suffix}"), 2);
        while self.files.contains_key(&path) || self.lock.contains_key(&path) {
            path = format!("{prefix}{name}-{number}{suffix}");
            number += 1;
        }
        path
    }
}

/// Whether a path has the form of one of the folder's files.
fn is_ours(path: &str) -> bool {
    let is_name = |name: &&str| {
        !name.is_empty()
            && !name.starts_with('.')
            && !name.contains('\\')
            && printable(name) == **name
    };
    let names: Vec<&str> = path.split('/').collect();
    names.iter().all(is_name)
        && match names.as_slice() {
            ["tools" | "knowledge", _] => true,
            [_, file] => *file == AGENT,
            [_, folder, _] => *folder == "scenarios",
            _ => false,
        }
}

/// The names in a folder, sorted. Hidden ones are not ours.
fn entries(folder: &Path) -> Result<Vec<String>> {
    let read = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        read => read.with_context(|| format!("cannot read {}", folder.display()))?,
    };
    let mut found = Vec::new();
    for entry in read.take(10 * MAX_FILES) {
        let entry = entry?;
        let path = entry.path();
        let is_link = entry.file_type()?.is_symlink();
        match entry.file_name().into_string() {
            Ok(name) if name.starts_with('.') => {}
            Ok(_) if is_link => bail!(
                "{}: is a symbolic link: put the file itself there",
                path.display()
            ),
            Ok(name) => found.push(name),
            Err(_) => bail!("{}: its name is not UTF-8: rename it", path.display()),
        }
    }
    found.sort();
    Ok(found)
}

fn read(root: &Path, path: &str) -> Result<Option<String>> {
    let file = root.join(path);
    let name = file.display();
    let most = if path.starts_with(KNOWLEDGE) {
        MAX_DOCUMENT_BYTES
    } else {
        MAX_BYTES
    };
    match fs::symlink_metadata(&file) {
        Err(error) if [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&error.kind()) => {
            return Ok(None);
        }
        kind if kind.as_ref().is_ok_and(|kind| !kind.is_file()) => {
            bail!("{name}: is not a regular file: put the file itself there")
        }
        _ => {}
    }
    let mut text = String::new();
    let opened = fs::File::open(&file);
    let read = opened.and_then(|file| file.take(most + 1).read_to_string(&mut text));
    read.with_context(|| format!("cannot read {name}"))?;
    ensure!(
        text.len() as u64 <= most,
        "{name}: is larger than {} MiB",
        most >> 20
    );
    Ok(Some(text))
}

pub(super) fn sha256(text: &str) -> String {
    hex::encode(digest(&SHA256, text.as_bytes()))
}

/// A YAML document, within bounds: anchors may not make it larger than it could be without.
pub(crate) fn yaml(path: &str, text: &str) -> Result<Value> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_nodes: MAX_NODES, max_aliases: 1_000 },
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let line = error.location().map_or(1, |at| at.line());
        let words = error.without_snippet().to_string();
        anyhow::anyhow!("{path}:{line}: {words}")
    })
}

pub(crate) fn to_yaml(value: &Value) -> Result<String> {
    Ok(serde_saphyr::to_string(value)?)
}

/// What a file describes, with an agent's prompt as `config.system_prompt`.
pub(super) fn parse(path: &str, text: &str) -> Result<Value> {
    match Kind::of(path) {
        Kind::Document => return Ok(json!({ "text": text })),
        Kind::Tool => {
            let tool = yaml(path, text)?;
            ensure!(
                tool.is_object(),
                "{path}:1: must be a mapping, as `description: …`"
            );
            return Ok(tool);
        }
        Kind::Scenario => return scenario(path, text),
        Kind::Agent => {}
    }
    // As a checkout on Windows has it.
    let is_windows = text.starts_with("---\r\n");
    let text = &if is_windows {
        text.replace("\r\n", "\n")
    } else {
        text.to_owned()
    };
    let whole = text.strip_suffix("\n---").map(|head| (head, ""));
    let found = text.split_once("\n---\n").or(whole);
    let found = found.filter(|_| text.starts_with("---\n"));
    let (head, body) = found.with_context(|| {
        format!("{path}:1: must begin with a line `---`, YAML, and another line `---`; the prompt comes behind it")
    })?;
    let mut agent = yaml(path, head)?;
    let members = agent.as_object_mut();
    let members = members.with_context(|| format!("{path}:2: must be a mapping, as `name: …`"))?;
    if let Some(name) = members
        .keys()
        .find(|name| !MEMBERS.contains(&name.as_str()))
    {
        let has = |value: Value| value.get(name).is_some();
        let section = match () {
            () if has(json!(AgentSettings::default())) => "settings",
            () if has(json!(AgentConfig::new(""))) => "config",
            () => bail!(unknown(path, text, name, MEMBERS)),
        };
        bail!(
            "{path}:{}: `{name}` goes below `{section}`",
            line_of(text, name)
        );
    }
    for name in ["name", "language"] {
        let is_there = members.get(name).is_some_and(Value::is_string);
        ensure!(is_there, "{path}:1: `{name}` is missing: write `{name}: …`");
    }
    let body = body.strip_prefix('\n').unwrap_or(body);
    let body = body.strip_suffix('\n').unwrap_or(body);
    let config = members.entry("config").or_insert_with(|| json!({}));
    let config = config.as_object_mut();
    let config = config.with_context(|| {
        format!(
            "{path}:{}: `config` must be a mapping",
            line_of(text, "config")
        )
    })?;
    let before = config.insert("system_prompt".to_owned(), body.into());
    let line = line_of(text, "system_prompt");
    ensure!(
        before.is_none(),
        "{path}:{line}: the prompt is the text behind the front matter: move `system_prompt` there"
    );
    Ok(agent)
}

/// A scenario with every default, as the service has it.
fn scenario(path: &str, text: &str) -> Result<Value> {
    let given = serde_json::to_vec(&yaml(path, text)?)?;
    let read = Json::parse(&given).map_err(anyhow::Error::from);
    let read = read.map(|json| Scenario::of_json(&json));
    let read = read.context(path.to_owned())?;
    let read = read.map_err(|error| fault(path, text, &error))?;
    let mut whole: Value = serde_json::from_str(&read.to_json().to_compact())?;
    if let Some(members) = whole.as_object_mut() {
        members.retain(|_, value| !value.is_null());
    }
    Ok(whole)
}

/// The file of the agent that a scenario is of.
pub(super) fn agent_of(path: &str) -> String {
    let agent = path.split_once(SCENARIOS).map_or("", |(agent, _)| agent);
    format!("{agent}/{AGENT}")
}

/// What is wrong about a member that nothing has, and where.
pub(super) fn unknown(
    path: &str,
    text: &str,
    name: &str,
    known: impl IntoIterator<Item: AsRef<str>>,
) -> String {
    let known = known
        .into_iter()
        .map(|one| (strsim::jaro(one.as_ref(), name), one));
    let near = known.max_by(|one, other| one.0.total_cmp(&other.0));
    let remedy = match &near {
        Some((likeness, near)) if *likeness > 0.7 => format!("did you mean `{}`?", near.as_ref()),
        _ => "remove it".to_owned(),
    };
    format!(
        "{path}:{}: `{name}` is not a field: {remedy}",
        line_of(text, name)
    )
}

/// The fault of a field of a file, and where it is.
pub(super) fn fault(path: &str, text: &str, fault: &FieldError) -> anyhow::Error {
    let name = fault.path.rsplit('.').next().unwrap_or_default();
    let name = name.split('[').next().unwrap_or_default();
    anyhow::anyhow!("{path}:{}: {fault}", line_of(text, name))
}

fn line_of(text: &str, name: &str) -> usize {
    let is_it = |line: &str| line.trim_start().starts_with(&format!("{name}:"));
    text.lines().position(is_it).map_or(1, |line| line + 1)
}

/// The text of a file.
pub(crate) fn render(path: &str, value: &Value) -> Result<String> {
    match Kind::of(path) {
        Kind::Tool | Kind::Scenario => return to_yaml(value),
        Kind::Document => return Ok(super::remote::word(value, "text")),
        Kind::Agent => {}
    }
    let mut value = value.clone();
    let config = value.get_mut("config").and_then(Value::as_object_mut);
    let prompt = config.and_then(|config| config.shift_remove("system_prompt"));
    let head = to_yaml(&value)?;
    Ok(match prompt.as_ref().and_then(Value::as_str) {
        None | Some("") => format!("---\n{head}---\n"),
        Some(prompt) => format!("---\n{head}---\n\n{prompt}\n"),
    })
}
