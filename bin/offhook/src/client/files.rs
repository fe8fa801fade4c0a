//! `offhook agents pull|diff|plan|apply`: agents as a folder of files.

mod apply;
mod fields;
mod folder;
mod import;
mod plan;
mod remote;

use anyhow::Result;
use similar::TextDiff;

use self::folder::{Folder, Kind, TOOLS};
pub(crate) use self::import::ImportCommand;
use self::plan::Plan;
use self::remote::{Item, Service, word};
use super::Remote;
use crate::output::Exit;
use crate::prelude::*;

#[derive(Debug, Args)]
pub(crate) struct FolderArgs {
    /// The folder of the agents' files.
    dir: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: Remote,
}

#[derive(Debug, Args)]
pub(crate) struct PullArgs {
    /// Only this agent; may be given several times.
    #[arg(long, value_name = "ID")]
    agent: Vec<String>,
    /// Replace files that were edited here and have changed at the service.
    #[arg(long)]
    overwrite: bool,
    #[command(flatten)]
    folder: FolderArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ApplyArgs {
    /// Replace what has changed at the service since it was pulled.
    #[arg(long)]
    overwrite: bool,
    /// Publish each agent's latest version.
    #[arg(long)]
    publish: bool,
    #[command(flatten)]
    folder: FolderArgs,
}

/// The exit code that says that there is something to apply; 2 is that of an invalid command line.
const CHANGES: Exit = Exit(3);

fn tool_name(path: &str) -> &str {
    let name = path.strip_prefix(TOOLS).unwrap_or(path);
    name.strip_suffix(".yaml").unwrap_or(name)
}

/// The files of an agent and its tools that are not as they were last applied, if the folder was ever applied.
pub(crate) fn unapplied(root: &Path, agent: &str) -> Result<Vec<String>> {
    let folder = Folder::open(root)?;
    let is_of_it =
        |path: &&String| path.starts_with(TOOLS) || path.starts_with(&format!("{agent}/"));
    let paths = folder.files.keys().filter(is_of_it);
    let edited = paths.filter(|path| folder.is_edited(path) && !folder.lock.is_empty());
    Ok(edited.cloned().collect())
}

impl FolderArgs {
    async fn open(self) -> Result<(Folder, Service, bool)> {
        let folder = Folder::open(&self.dir)?;
        let mut kinds = folder.files.keys().map(|path| Kind::of(path));
        let has_documents = kinds.any(|kind| kind == Kind::Document);
        let service = Service::read(self.remote.api()?, has_documents).await?;
        Ok((folder, service, self.json))
    }

    /// `offhook agents plan`
    pub(crate) async fn plan(self) -> Result<()> {
        let (folder, mut service, json) = self.open().await?;
        let plan = Plan::of(&folder, &mut service, false).await?;
        output::print(json, &plan.json(), &plan.words())?;
        ensure!(plan.steps.is_empty(), CHANGES);
        Ok(())
    }

    /// `offhook agents diff`
    pub(crate) async fn diff(self) -> Result<()> {
        let (folder, mut service, json) = self.open().await?;
        let mut all = Vec::new();
        for step in Plan::of(&folder, &mut service, true).await?.steps {
            let [there, here] = step.texts()?;
            let names = ["service", "folder"].map(|place| format!("{place}/{}", step.path));
            let diff = TextDiff::from_lines(&there, &here);
            let mut diff = diff.unified_diff();
            all.push(diff.header(&names[0], &names[1]).to_string());
        }
        output::print(json, &json!(all), all.concat().trim_end())?;
        ensure!(all.is_empty(), CHANGES);
        Ok(())
    }
}

impl PullArgs {
    pub(crate) async fn run(self) -> Result<()> {
        let (mut folder, mut service, json) = self.folder.open().await?;
        let agents = service.agents.iter().map(|agent| word(agent, "id"));
        let mut agents: Vec<String> = agents.collect();
        if let Some(id) = self.agent.iter().find(|id| !agents.contains(id)) {
            bail!(
                "--agent {id}: is no engine agent of the account: `offhook agents list` shows them"
            );
        }
        agents.retain(|id| self.agent.is_empty() || self.agent.contains(id));
        // Oldest first: of two agents with the same name, the folder of the first has it as it is.
        agents.sort();
        // Agents name tools and documents by their files, which are therefore first.
        let mut found = Vec::new();
        for item in service.tools() {
            found.extend(take(&mut folder, Kind::Tool, item)?);
        }
        for item in service.texts(&agents, &folder).await? {
            found.extend(take(&mut folder, Kind::Document, item)?);
        }
        for id in agents {
            let item = service.agent(&id, &folder).await?;
            found.extend(take(&mut folder, Kind::Agent, item)?);
            let agent = folder.path_of(&id).unwrap_or_default();
            let agent = agent.split('/').next().unwrap_or_default().to_owned();
            for mut item in service.scenarios_of(&id).collect::<Vec<_>>() {
                item.name = format!("{agent}/{}", item.name);
                found.extend(take(&mut folder, Kind::Scenario, item)?);
            }
        }
        found.retain(|(path, text, item)| {
            let is_as_it_was = folder.files.get(path) == Some(text);
            if is_as_it_was {
                folder.note(path, &item.id, &item.at);
            }
            !is_as_it_was
        });
        let paths: Vec<String> = found.iter().map(|(path, ..)| path.clone()).collect();
        let lost: Vec<&str> = paths
            .iter()
            .filter(|path| folder.is_edited(path))
            .map(String::as_str)
            .collect();
        ensure!(
            lost.is_empty() || self.overwrite,
            "edited here and changed at the service: {}; commit your edits and give --overwrite, then merge them in Git",
            lost.join(", ")
        );
        for (path, text, item) in found {
            folder.write(&path, text)?;
            folder.note(&path, &item.id, &item.at);
        }
        folder.save_lock()?;
        let words = match paths.len() {
            0 => "the files are up to date".to_owned(),
            _ => format!("wrote {}", paths.join("\nwrote ")),
        };
        output::print(json, &json!({ "written": paths }), &words)
    }
}

/// Gives an item its file, by which others name it; nothing if it is as it was when the file was last the same.
fn take(folder: &mut Folder, kind: Kind, mut item: Item) -> Result<Option<(String, String, Item)>> {
    let path = folder.path_of(&item.id).map(str::to_owned);
    let path = path.unwrap_or_else(|| folder.free_path(kind, &item.name));
    let local = folder.files.get(&path);
    if local.is_some() && folder.locked(&path, "at") == item.at {
        return Ok(None);
    }
    // The names of the variables that headers come from are known here alone.
    let local = local.and_then(|text| folder::parse(&path, text).ok());
    let section = plan::sent_by(&item.value);
    let headers = item.value.pointer_mut(&format!("/{section}/headers"));
    for (name, value) in headers.and_then(Value::as_object_mut).into_iter().flatten() {
        let here = local.as_ref().map(|local| &local[section]["headers"][name]);
        *value = here
            .filter(|here| here.is_string())
            .unwrap_or(value)
            .clone();
    }
    let text = folder::render(&path, &item.value)?;
    let mark = folder.lock.entry(path.clone());
    mark.or_insert_with(|| json!({ "id": item.id }));
    Ok(Some((path, text, item)))
}
