//! What the service has, in the shape of the files.

use anyhow::Result;

use super::folder::{Folder, KNOWLEDGE, TOOLS};
use crate::client::Api;
use crate::prelude::*;

/// Where a configuration has ids: its section, the member there and in a file, and the files that are meant.
const REFERENCES: [(&str, &str, &str, &str, &str); 3] = [
    ("", "tool_ids", "tools", TOOLS, ".yaml"),
    ("/knowledge_base", "doc_ids", "documents", KNOWLEDGE, ""),
    ("/knowledge_base", "folder_ids", "folders", "folders/", ""),
];
const OF_TOOLS: usize = 0;
const OF_DOCUMENTS: usize = 1;
const OF_FOLDERS: usize = 2;

/// An agent, tool or document of the service, as its file would have it.
pub(super) struct Item {
    pub(super) id: String,
    pub(super) name: String,
    /// Changes with everything that the file has.
    pub(super) at: String,
    pub(super) value: Value,
}

impl Item {
    pub(super) const fn new(id: String, name: String, at: String, value: Value) -> Self {
        Self {
            id,
            name,
            at,
            value,
        }
    }
}

pub(super) struct Service {
    pub(super) api: Api,
    pub(super) agents: Vec<Value>,
    /// In the order of the references.
    known: [Vec<Value>; 3],
    pub(super) scenarios: Vec<Value>,
    /// Agents as they were read, with their settings and analysis schema.
    read: BTreeMap<String, [Value; 3]>,
}

impl Service {
    pub(super) async fn read(api: Api, has_documents: bool) -> Result<Self> {
        let mut agents = list(&api, "/v1/agents?runtime=engine&limit=100").await?;
        agents.retain(|agent| agent["status"] != "archived");
        let tools = list(&api, "/v1/agents/tools?limit=100").await?;
        let scenarios = list(&api, "/v1/scenarios?limit=100").await?;
        let (known, read) = ([tools, Vec::new(), Vec::new()], BTreeMap::new());
        let mut service = Self {
            api,
            agents,
            known,
            scenarios,
            read,
        };
        if has_documents {
            service.read_documents().await?;
        }
        Ok(service)
    }

    /// Documents need a scope and a module of their own: they are asked for once they matter.
    async fn read_documents(&mut self) -> Result<()> {
        if self.known[OF_DOCUMENTS].is_empty() {
            let path = "/v1/knowledge/documents?limit=100";
            self.known[OF_DOCUMENTS] = list(&self.api, path).await?;
            let path = "/v1/knowledge/folders?limit=100";
            self.known[OF_FOLDERS] = list(&self.api, path).await?;
        }
        Ok(())
    }

    pub(super) fn tools(&self) -> impl Iterator<Item = Item> {
        self.known[OF_TOOLS].iter().map(|tool| {
            let value = own_tool(tool);
            let [id, name, at] = ["id", "name", "updated_at"].map(|name| word(tool, name));
            Item::new(id, name, at, value)
        })
    }

    /// The scenarios of an agent.
    pub(super) fn scenarios_of(&self, agent: &str) -> impl Iterator<Item = Item> {
        let of_agent = move |one: &&Value| one["agent_id"] == agent;
        self.scenarios.iter().filter(of_agent).map(|one| {
            let mut value = one.clone();
            if let Some(members) = value.as_object_mut() {
                let own = ["id", "agent_id", "created_at", "updated_at"];
                members.retain(|name, value| !own.contains(&name.as_str()) && !value.is_null());
            }
            let [id, name, at] = ["id", "name", "updated_at"].map(|name| word(one, name));
            Item {
                id,
                name,
                at,
                value,
            }
        })
    }

    pub(super) fn document(&self, id: &str) -> Option<Item> {
        let mut all = self.known[OF_DOCUMENTS].iter();
        let document = all.find(|document| document["id"] == id)?;
        let (id, name) = (id.to_owned(), word(document, "name"));
        Some(Item::new(id, name, String::new(), json!({})))
    }

    /// The texts that agents name and the service has word by word; those of files and pages stay there.
    pub(super) async fn texts(&mut self, agents: &[String], folder: &Folder) -> Result<Vec<Item>> {
        let mut named = Vec::new();
        for id in agents {
            let [agent, ..] = self.read_agent(id).await?;
            named.extend(ids(&agent, "doc_ids"));
        }
        let mut texts = Vec::new();
        for document in &self.known[OF_DOCUMENTS] {
            let (id, name) = (word(document, "id"), word(document, "name"));
            let is_text = document["source"] == "text" && document["status"] == "ready";
            // A document's content never changes.
            let path = folder.path_of(&id);
            let is_here = path.is_some_and(|path| folder.files.contains_key(path));
            if is_text && !is_here && named.contains(&id) {
                let path = format!("/v1/knowledge/documents/{id}/content");
                let text = self.api.bytes(&path).await?;
                let value = json!({ "text": String::from_utf8_lossy(&text) });
                texts.push(Item::new(id, name, String::new(), value));
            }
        }
        Ok(texts)
    }

    async fn read_agent(&mut self, id: &str) -> Result<[Value; 3]> {
        if let Some(read) = self.read.get(id) {
            return Ok(read.clone());
        }
        let path = format!("/v1/agents/{id}");
        let agent = self.api.get(&path).await?;
        let settings = self.api.get(&format!("{path}/settings")).await?;
        let path = format!("{path}/analysis-schema");
        let analysis = self.api.get(&path).await?;
        if !ids(&agent, "doc_ids").is_empty() || !ids(&agent, "folder_ids").is_empty() {
            self.read_documents().await?;
        }
        let read = [agent, settings, analysis];
        self.read.insert(id.to_owned(), read.clone());
        Ok(read)
    }

    /// An agent, with names where the service has ids.
    pub(super) async fn agent(&mut self, id: &str, folder: &Folder) -> Result<Item> {
        let [agent, settings, analysis] = self.read_agent(id).await?;
        let version = agent["current_version"].as_i64().unwrap_or_default();
        let [id, name, language] = ["id", "name", "language"].map(|name| word(&agent, name));
        let schema_at = analysis["updated_at"].as_str().unwrap_or("-");
        let config = &agent["config"];
        let config = own_config(config, &|index, id| self.name_of(folder, index, id))?;
        let value = json!({
            "name": name,
            "language": language,
            "config": config,
            "settings": own_settings(settings),
            "analysis_schema": analysis["schema"],
        });
        let at = mark(version, schema_at, &language, &name);
        Ok(Item::new(id, name, at, value))
    }

    /// What a file calls this id: its file, else its name if no other has it, else the id.
    fn name_of(&self, folder: &Folder, index: usize, id: &str) -> String {
        let (_, _, _, prefix, suffix) = REFERENCES[index];
        if let Some(path) = folder.path_of(id) {
            let name = path.strip_prefix(prefix).unwrap_or(path);
            let name = name.strip_suffix(suffix).unwrap_or(name);
            // The name of a document that is edited is its successor's.
            let is_replaced = index == OF_DOCUMENTS && folder.is_edited(path);
            return if is_replaced { id } else { name }.to_owned();
        }
        let known = self.known[index].iter().find(|one| one["id"] == id);
        let name = known.map(|one| word(one, "name")).unwrap_or_default();
        match self.id_of(folder, index, &name) {
            Some(found) if found == id => name,
            _ => id.to_owned(),
        }
    }

    /// The id that a file means by this name: of a file beside it, of the only one with the name, or itself.
    fn id_of(&self, folder: &Folder, index: usize, name: &str) -> Option<String> {
        let (_, _, _, prefix, suffix) = REFERENCES[index];
        let path = format!("{prefix}{name}{suffix}");
        if folder.files.contains_key(&path) || folder.lock.contains_key(&path) {
            // One that is not created yet has none.
            return Some(folder.locked(&path, "id").to_owned());
        }
        let mut named = self.known[index].iter().filter(|one| one["name"] == name);
        let is_id = name.len() == 36 && name.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
        match (named.next(), named.next()) {
            (Some(one), None) => Some(word(one, "id")),
            _ => is_id.then(|| name.to_owned()),
        }
    }

    /// Puts ids where a file has names.
    pub(super) fn to_ids(&self, config: &mut Value, folder: &Folder) -> Result<()> {
        rename(config, true, &|index, name| {
            let (_, _, names, prefix, suffix) = REFERENCES[index];
            self.id_of(folder, index, name).with_context(|| {
                format!("`{names}` has `{name}`, which is no single one at the service: give its id, or write {prefix}{name}{suffix}")
            })
        })
    }

    /// What is said of an agent that has changed since: its latest version, and the key that saved it.
    pub(super) async fn meanwhile(&self, id: &str, since: &str) -> Result<String> {
        let path = format!("/v1/agents/{id}/versions?limit=1");
        let versions = self.api.get(&path).await?;
        let latest = &versions["data"][0];
        let (version, at) = (latest["version"].to_string(), word(latest, "created_at"));
        let since = since.split(' ').next().unwrap_or_default();
        if latest.is_null() || since == version {
            return Ok("its name, language or analysis schema has changed".to_owned());
        }
        let by = match self.saved_by(id, &at).await {
            Some(key) => format!("by a request with the key {key}…"),
            None => "by no API request that this key may see, as in the portal".to_owned(),
        };
        let mut words = format!("version {version} was saved at {at} {by}");
        if let Some(note) = latest["note"].as_str() {
            words += &format!(" ({note})");
        }
        Ok(format!("{words}; the file is based on version {since}"))
    }

    /// The key of the last successful change before this time, if the log has it and the key may read that.
    async fn saved_by(&self, id: &str, at: &str) -> Option<String> {
        let from = Timestamp::parse_from(at).ok()?;
        let from = from.minus(Duration::from_secs(15));
        let query = format!("/v1/logs?status=2xx&from={from}&to={at}&limit=100");
        let log = self.api.get(&query).await.ok()?;
        let is_it = |entry: &&Value| {
            let path = entry["path"].as_str().unwrap_or_default();
            let is_change = matches!(entry["method"].as_str(), Some("PATCH" | "PUT"));
            is_change && path.contains(id) && !path.ends_with("analysis-schema")
        };
        let entry = log["data"].as_array()?.iter().find(is_it)?;
        Some(word(entry, "key_prefix"))
    }
}

/// A tool as its file has it.
pub(super) fn own_tool(tool: &Value) -> Value {
    let mut value = tool.clone();
    let is_derived = matches!(tool["kind"].as_str(), Some("transfer" | "dtmf"));
    if let Some(members) = value.as_object_mut() {
        members.retain(|name, value| match name.as_str() {
            "id" | "name" | "created_at" | "updated_at" => false,
            "parameters" => !is_derived,
            _ => !value.is_null(),
        });
    }
    value
}

/// A configuration with names where the service has ids; without one, that of an agent with every default.
pub(super) fn own_config(config: &Value, name_of: &dyn Fn(usize, &str) -> String) -> Result<Value> {
    let mut config = match config {
        Value::Null => serde_json::to_value(AgentConfig::new(""))?,
        config => config.clone(),
    };
    if let Some(members) = config.as_object_mut() {
        members.retain(|name, _| name != "version" && name != "language");
    }
    rename(&mut config, false, &|index, id| Ok(name_of(index, id)))?;
    Ok(config)
}

fn rename(
    config: &mut Value,
    to_ids: bool,
    each: &dyn Fn(usize, &str) -> Result<String>,
) -> Result<()> {
    for (index, (section, ids, names, ..)) in REFERENCES.into_iter().enumerate() {
        let (from, to) = if to_ids { (names, ids) } else { (ids, names) };
        let section = config.pointer_mut(section).and_then(Value::as_object_mut);
        let Some((given, section)) =
            section.and_then(|members| Some((members.shift_remove(from)?, members)))
        else {
            continue;
        };
        ensure!(given.is_array(), "`{from}` must be a list");
        let given = given.as_array().into_iter().flatten();
        let given = given.map(|one| each(index, one.as_str().unwrap_or_default()));
        section.insert(to.to_owned(), given.collect::<Result<Vec<_>>>()?.into());
    }
    Ok(())
}

/// The configuration with ids of nothing in place of names, for a reader that wants ids.
pub(super) fn with_some_ids(mut config: Value) -> Result<Value> {
    let count = std::cell::Cell::new(0_u32);
    rename(&mut config, true, &|_, _| {
        count.set(count.get() + 1);
        Ok(format!("00000000-0000-4000-8000-{:012}", count.get()))
    })?;
    Ok(config)
}

fn ids(agent: &Value, member: &str) -> Vec<String> {
    let ids = agent["config"]["knowledge_base"][member].as_array();
    let ids = ids.into_iter().flatten().filter_map(Value::as_str);
    ids.map(str::to_owned).collect()
}

/// What changes with all that an agent's file has.
pub(super) fn mark(version: i64, schema_at: &str, language: &str, name: &str) -> String {
    format!("{version} {schema_at} {language} {name}")
}

/// The settings without what says when they were set.
pub(super) fn own_settings(mut settings: Value) -> Value {
    if let Some(members) = settings.as_object_mut() {
        members.retain(|name, _| name != "version" && name != "signing_secret");
    }
    settings
}

pub(super) fn word(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_default().to_owned()
}

/// All pages of a list.
async fn list(api: &Api, path: &str) -> Result<Vec<Value>> {
    let (mut all, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = api.get(&format!("{path}{cursor}")).await?;
        all.extend(page["data"].as_array().cloned().unwrap_or_default());
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return Ok(all),
        }
    }
}
