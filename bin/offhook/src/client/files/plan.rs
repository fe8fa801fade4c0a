//! What would change at the service, member by member.

use anyhow::Result;
use offhook_domain::tool::{HIDDEN, Header};
use url::Url;

use super::fields::{Change, check_fields, check_values, compare, fill, merge, patch};
use super::folder::{self, Folder, KNOWLEDGE, Kind, TOOLS};
use super::remote::{Item, Service, own_config, own_tool, word};
use crate::prelude::*;

/// A file, and how it differs from what the service has.
#[derive(Default)]
pub(super) struct Step {
    pub(super) path: String,
    /// What it is at the service; `None`: it is to be created.
    pub(super) remote: Option<Item>,
    pub(super) value: Value,
    pub(super) changes: Vec<Change>,
    /// What changed at the service since the file was last the same.
    pub(super) meanwhile: Option<String>,
    /// A variable of the environment without which it cannot be applied.
    pub(super) unset: Option<String>,
    /// Files of tools that are changed with it: an agent uses them from its next version on.
    pub(super) tools: Option<String>,
}

#[derive(Default)]
pub(super) struct Plan {
    pub(super) steps: Vec<Step>,
    /// What is not to be applied, and yet to be known.
    pub(super) notes: Vec<String>,
    /// Files that are as the service has it.
    pub(super) same: Vec<(String, Item)>,
}

impl Plan {
    pub(super) async fn of(
        folder: &Folder,
        service: &mut Service,
        overwrite: bool,
    ) -> Result<Self> {
        ensure!(
            !folder.files.is_empty(),
            "no agent.md, tool or document is there: `offhook agents pull` writes them"
        );
        let mut plan = Self::default();
        let mut paths: Vec<&String> = folder.files.keys().collect();
        paths.sort_by_key(|path| Kind::of(path));
        // An edited document has another id, and with that the agents that name it change.
        let is_document = |path: &&&String| Kind::of(path) == Kind::Document;
        let mut documents = paths.iter().filter(is_document);
        let is_sure = !documents.any(|path| folder.is_edited(path));
        for path in paths {
            let step = match Kind::of(path) {
                Kind::Document => document(folder, service, path)?,
                Kind::Tool => tool(folder, service, path)?,
                Kind::Scenario => scenario(folder, service, path)?,
                Kind::Agent => {
                    let tools = plan.changed_tools(folder, path)?;
                    let is_sure = is_sure && tools.is_none();
                    let mut step = agent(folder, service, path, is_sure).await?;
                    step.tools = tools.filter(|_| step.remote.is_some());
                    step
                }
            };
            match step {
                Step {
                    meanwhile: Some(words),
                    ..
                } if !overwrite && !folder.is_edited(path) => {
                    let words = format!("{path}: {words}; `offhook agents pull` takes it over");
                    plan.notes.push(words);
                }
                Step {
                    changes,
                    remote,
                    tools: None,
                    ..
                } if changes.is_empty() => {
                    plan.same.extend(remote.map(|item| (path.clone(), item)));
                }
                step => plan.steps.push(step),
            }
        }
        for path in folder
            .lock
            .keys()
            .filter(|path| !folder.files.contains_key(*path))
        {
            let agent = folder::agent_of(path);
            if Kind::of(path) == Kind::Scenario && folder.files.contains_key(&agent) {
                let step = gone_scenario(folder, service, path);
                plan.steps.extend(step.filter(|step| !plan.has(step)));
                continue;
            }
            plan.notes.push(format!("{path}: is gone here and stays at the service, where the API or the portal removes it"));
        }
        plan.note_unpublished(service);
        Ok(plan)
    }

    /// Whether another file is of the same thing, as one that was renamed is.
    fn has(&self, step: &Step) -> bool {
        let steps = self.steps.iter().filter_map(|step| step.remote.as_ref());
        let mut all = steps.chain(self.same.iter().map(|(_, item)| item));
        let id = step.remote.as_ref().map(|item| &item.id);
        all.any(|item| Some(&item.id) == id)
    }

    /// Notes the agents whose customers get another version than the latest.
    fn note_unpublished(&mut self, service: &Service) {
        for (path, item) in &self.same {
            let mut listed = service.agents.iter();
            let Some(agent) = listed.find(|agent| agent["id"] == *item.id) else {
                continue;
            };
            let number = |name: &str| agent[name].as_i64().unwrap_or(0);
            let (latest, served) = (number("current_version"), number("published_version"));
            if Kind::of(path) == Kind::Agent && served != 0 && latest != served {
                self.notes.push(format!("{path}: version {latest} is the latest and customers get version {served}: `apply --publish` publishes version {latest}"));
            }
        }
    }

    /// The files of an agent's tools that are to be changed.
    fn changed_tools(&self, folder: &Folder, path: &str) -> Result<Option<String>> {
        let agent = folder::parse(path, &folder.files[path])?;
        let names = agent["config"]["tools"].as_array().into_iter().flatten();
        let files = names.map(|name| format!("{TOOLS}{}.yaml", name.as_str().unwrap_or_default()));
        let changes = |file: &String| {
            // One without a mark was saved by an `apply` that did not come to its agents.
            let is_pending =
                !folder.locked(file, "id").is_empty() && folder.locked(file, "sha256").is_empty();
            let mut steps = self.steps.iter();
            is_pending || steps.any(|step| step.path == *file && step.remote.is_some())
        };
        let changed: Vec<String> = files.filter(changes).collect();
        Ok((!changed.is_empty()).then(|| changed.join(", ")))
    }

    pub(super) fn words(&self) -> String {
        let (mut lines, mut new) = (Vec::new(), 0);
        for step in &self.steps {
            let what = match (&step.remote, Kind::of(&step.path)) {
                (Some(_), _) if step.value.is_null() => "- delete:",
                (None, _) => "+ new:",
                (_, Kind::Document) => "+ new, in place of the document before:",
                _ => "~ changes:",
            };
            new += usize::from(what.starts_with('+'));
            lines.push(format!("{what} {}", step.path));
            lines.extend(step.changes.iter().map(Change::words));
            let tools = step.tools.iter();
            lines.extend(tools.map(|tools| format!("  the next version, for {tools}")));
            lines.extend(step.meanwhile.iter().map(|words| format!("  ! {words}")));
            lines.extend(
                step.unset
                    .iter()
                    .map(|name| format!("  ! set {name} in the environment to apply this")),
            );
        }
        lines.extend(self.notes.iter().map(|note| format!("! {note}")));
        lines.push(match self.steps.len() {
            0 => "no changes".to_owned(),
            all => format!("{new} to create, {} to change", all - new),
        });
        lines.join("\n")
    }

    pub(super) fn json(&self) -> Value {
        let change =
            |one: &Change| json!({ "field": one.field.join("."), "old": one.old, "new": one.new });
        let steps = self.steps.iter().map(|step| {
            let changes: Value = step.changes.iter().map(change).collect();
            let id = step.remote.as_ref().map(|item| &item.id);
            json!({ "file": step.path, "id": id, "changes": changes, "meanwhile": step.meanwhile })
        });
        json!({ "steps": steps.collect::<Value>(), "notes": self.notes })
    }
}

impl Step {
    /// Compares a file with what the service has, which is `old` if it has none.
    fn of(path: &str, value: Value, remote: Option<Item>, old: &Value) -> Self {
        let mut changes = Vec::new();
        let old = remote.as_ref().map_or(old, |item| &item.value);
        compare(&value, old, &mut Vec::new(), &mut changes);
        Self {
            path: path.to_owned(),
            remote,
            value,
            changes,
            ..Self::default()
        }
    }

    /// The file's stable form, as the service has it and as it would have it.
    pub(super) fn texts(&self) -> Result<[String; 2]> {
        let item = self.remote.as_ref();
        let Some(item) = item.filter(|_| Kind::of(&self.path) != Kind::Document) else {
            return Ok([String::new(), folder::render(&self.path, &self.value)?]);
        };
        let mut new = item.value.clone();
        merge(&mut new, &patch(&self.changes, |_| true));
        Ok([
            folder::render(&self.path, &item.value)?,
            folder::render(&self.path, &new)?,
        ])
    }
}

fn document(folder: &Folder, service: &Service, path: &str) -> Result<Step> {
    let id = folder.locked(path, "id");
    let remote = service.document(id);
    ensure!(id.is_empty() || remote.is_some(), gone(path));
    let name = remote
        .as_ref()
        .map_or(&path[KNOWLEDGE.len()..], |item| item.name.as_str());
    let name = json!(name);
    let value = folder::parse(path, &folder.files[path])?;
    let mut step = Step::of(path, value, remote, &json!({}));
    // Its content at the service is what was sent there, as nothing changes that.
    step.changes.retain(|_| folder.is_edited(path));
    for change in &mut step.changes {
        change.new = format!("{} bytes", folder.files[path].len()).into();
    }
    step.value["name"] = name;
    Ok(step)
}

fn tool(folder: &Folder, service: &Service, path: &str) -> Result<Step> {
    let id = folder.locked(path, "id");
    // A tool's name is unique in the account.
    let remote = service
        .tools()
        .find(|item| item.id == id || id.is_empty() && item.name == super::tool_name(path));
    ensure!(id.is_empty() || remote.is_some(), gone(path));
    let value = whole_tool(path, &folder.files[path])?;
    let mut step = Step::of(path, value, remote, &json!({ "http": {}, "mcp": {} }));
    let section = sent_by(&step.value);
    let nothing = Value::Null;
    let old = step.remote.as_ref().map_or(&nothing, |item| &item.value);
    step.meanwhile = match (&step.remote, folder.locked(path, "at")) {
        (Some(_), "") => {
            Some("the account has a tool of this name, which was not pulled".to_owned())
        }
        (Some(item), at) if item.at != at => Some(format!("it was changed at {}", item.at)),
        _ => None,
    };
    let of_header = |change: &Change| change.field.get(1).is_some_and(|name| name == "headers");
    step.changes
        .retain(|change| !of_header(change) || change.new.is_null());
    // The service sends a stored value to no other server.
    let origin = |tool: &Value| Some(Url::parse(tool[section]["url"].as_str()?).ok()?.origin());
    let moves = origin(&step.value) != origin(old);
    let headers = step.value[section]["headers"].as_object();
    for (header, given) in headers.into_iter().flatten() {
        let stored = &old[section]["headers"][header];
        let is_stored = !moves && !stored.is_null();
        let field = format!("{path}: `{section}.headers.{header}`");
        let given = given.as_str().unwrap_or_default();
        if given == "***" {
            ensure!(
                is_stored,
                "{field} is `***`, of which the service has no value for this URL: write `${{NAME}}`"
            );
            continue;
        }
        ensure!(
            given.contains("${"),
            "{field} must name a variable of the environment, as `${{NAME}}`: a file has no secret"
        );
        ensure!(
            !given.contains("${OFFHOOK_"),
            "{field} must not name a variable of this command: a tool's server would get its key"
        );
        let unset = filled(given).err();
        if unset.is_none() || !is_stored {
            let field = [section, "headers", header].map(str::to_owned).to_vec();
            step.changes.push(Change {
                field,
                old: stored.clone(),
                new: given.into(),
            });
            step.unset = step.unset.or(unset);
        }
    }
    Ok(step)
}

/// A file's tool with every default, as the service has it.
fn whole_tool(path: &str, text: &str) -> Result<Value> {
    let given = folder::parse(path, text)?;
    let section = sent_by(&given);
    let headers = &given[section]["headers"];
    // A value that stays at the service is any here.
    let names = headers.as_object().into_iter().flatten();
    let kept: Vec<Header> = names
        .map(|(name, _)| (name.clone(), HIDDEN.to_owned()))
        .collect();
    let mut named = given.clone();
    named["name"] = super::tool_name(path).into();
    let named = Json::parse(named.to_string().as_bytes())?;
    let read = Tool::from_json(&named, &kept);
    let (tool, _) = read.map_err(|fault| folder::fault(path, text, &fault))?;
    let mut whole = own_tool(&serde_json::from_str(&tool.to_json().to_compact())?);
    if headers.is_object() {
        whole[section]["headers"] = headers.clone();
    }
    Ok(whole)
}

fn scenario(folder: &Folder, service: &Service, path: &str) -> Result<Step> {
    let agent = folder::agent_of(path);
    ensure!(
        folder.files.contains_key(&agent),
        "{path}: its agent is missing: {agent}"
    );
    let id = folder.locked(path, "id");
    let value = folder::parse(path, &folder.files[path])?;
    let name = word(&value, "name");
    // A scenario's name is unique for its agent.
    let remote = service
        .scenarios_of(folder.locked(&agent, "id"))
        .find(|item| item.id == id || id.is_empty() && item.name == name);
    ensure!(id.is_empty() || remote.is_some(), gone(path));
    let mut step = Step::of(path, value, remote, &json!({}));
    // What the file leaves out is removed.
    let old = step.remote.as_ref().and_then(|item| item.value.as_object());
    let left_out = old
        .into_iter()
        .flatten()
        .filter(|(name, _)| step.value.get(name).is_none());
    let left_out = left_out.map(|(name, old)| Change {
        field: vec![name.clone()],
        old: old.clone(),
        new: Value::Null,
    });
    step.changes.extend(left_out.collect::<Vec<_>>());
    let known = step
        .remote
        .as_ref()
        .and_then(|item| folder.path_of(&item.id));
    let known = known.filter(|known| !folder.files.contains_key(*known));
    step.meanwhile = match (&step.remote, folder.locked(known.unwrap_or(path), "at")) {
        (Some(_), "") => {
            Some("the agent has a scenario of this name, which was not pulled".to_owned())
        }
        (Some(item), at) if item.at != at => Some(format!("it was changed at {}", item.at)),
        _ => None,
    };
    Ok(step)
}

async fn agent(folder: &Folder, service: &mut Service, path: &str, is_sure: bool) -> Result<Step> {
    let id = folder.locked(path, "id");
    let mut remote = None;
    let mut listed = service.agents.iter();
    if let Some(listed) = listed.find(|agent| agent["id"] == id) {
        // To read an agent takes three requests, of which small plans have ten a minute.
        let at = folder.locked(path, "at").to_owned();
        if is_sure && !folder.is_edited(path) && is_at(listed, &at) {
            let remote = Some(Item::new(id.to_owned(), String::new(), at, Value::Null));
            let path = path.to_owned();
            return Ok(Step {
                path,
                remote,
                ..Step::default()
            });
        }
        remote = Some(service.agent(id, folder).await?);
    }
    ensure!(id.is_empty() || remote.is_some(), gone(path));
    let blank = json!({
        "name": null,
        "language": null,
        "config": own_config(&Value::Null, &|_, id| id.to_owned())?,
        "settings": offhook_services::AgentSettings::default(),
        "analysis_schema": null,
    });
    let old = remote.as_ref().map_or(&blank, |item| &item.value).clone();
    let text = &folder.files[path];
    let mut value = folder::parse(path, text)?;
    fill(&mut value, &blank, &mut Vec::new());
    let mut step = Step::of(path, value, remote, &blank);
    check_fields(path, text, &step.value, &old, &mut Vec::new())?;
    let names = service.to_ids(&mut step.value["config"].clone(), folder);
    names.with_context(|| path.to_owned())?;
    if !step.changes.is_empty() {
        check_values(path, text, &step.value)?;
    }
    let at = folder.locked(path, "at");
    match &step.remote {
        Some(item) if item.at != at => {
            step.meanwhile = Some(service.meanwhile(&item.id, at).await?)
        }
        Some(_) => {}
        None => {
            let name = &step.value["name"];
            let is_taken = service.agents.iter().any(|agent| agent["name"] == *name);
            ensure!(
                !is_taken,
                "{path}: the account has an agent named {name}, which offhook.lock does not know: restore that file, pull into an empty folder, or give this one another name"
            );
        }
    }
    Ok(step)
}

/// A scenario whose file is gone is deleted.
fn gone_scenario(folder: &Folder, service: &Service, path: &str) -> Option<Step> {
    let id = folder.locked(path, "id");
    let agent = folder.locked(&folder::agent_of(path), "id");
    let item = service.scenarios_of(agent).find(|item| item.id == id)?;
    let meanwhile =
        (item.at != folder.locked(path, "at")).then(|| format!("it was changed at {}", item.at));
    Some(Step {
        path: path.to_owned(),
        remote: Some(item),
        meanwhile,
        ..Step::default()
    })
}

/// Whether the version, language and name of an agent are those of a mark.
fn is_at(listed: &Value, at: &str) -> bool {
    let [language, name] = ["language", "name"].map(|name| word(listed, name));
    let is_version = at.starts_with(&format!("{} ", listed["current_version"]));
    is_version && at.ends_with(&format!(" {language} {name}"))
}

fn gone(path: &str) -> String {
    format!(
        "{path}: what it was is not in this account any more, or archived: remove the file, or its entry in offhook.lock to create it anew"
    )
}

/// The section of a tool that has a URL and headers.
pub(super) fn sent_by(tool: &Value) -> &'static str {
    if tool["mcp"].is_object() {
        "mcp"
    } else {
        "http"
    }
}

/// A header's value with the environment's in place of `${NAME}`; the error is a name that has none.
pub(super) fn filled(given: &str) -> Result<String, String> {
    let mut parts = given.split("${");
    let mut value = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once('}').unwrap_or((part, ""));
        let set = std::env::var(name).ok().filter(|set| !set.is_empty());
        value += &set.ok_or_else(|| name.to_owned())?;
        value += rest;
    }
    Ok(value)
}
