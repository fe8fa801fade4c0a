//! `offhook agents apply`

use anyhow::Result;
use reqwest::Method;

use super::fields::{merge, patch};
use super::folder::{Folder, Kind, agent_of};
use super::plan::{Plan, Step, filled, sent_by};
use super::remote::{Service, mark, own_settings, word};
use super::{ApplyArgs, tool_name};
use crate::prelude::*;

impl ApplyArgs {
    pub(crate) async fn run(self) -> Result<()> {
        let (mut folder, mut service, json) = self.folder.open().await?;
        let plan = Plan::of(&folder, &mut service, self.overwrite).await?;
        if !json {
            output::print(false, &Value::Null, &plan.words())?;
        }
        for Step {
            path,
            meanwhile,
            unset,
            ..
        } in &plan.steps
        {
            if let (Some(words), false) = (meanwhile, self.overwrite) {
                bail!(
                    "{path} was edited here and changed at the service: {words}; `offhook agents pull` and Git merge both, --overwrite replaces the service's; nothing was written"
                );
            }
            if let Some(name) = unset {
                bail!(
                    "{path} needs the variable {name}: set it in the environment; nothing was written"
                );
            }
        }
        let (folder, service, done) = (&mut folder, &mut service, Vec::new());
        let mut work = Work {
            folder,
            service,
            done,
        };
        let applied = work.apply(&plan, self.publish).await;
        // What was written is noted, also if the next failed.
        work.folder.save_lock()?;
        let words: Vec<String> = work
            .done
            .iter()
            .map(|(path, what)| format!("{path}: {what}"))
            .collect();
        if json || !words.is_empty() {
            let done = work
                .done
                .iter()
                .map(|(path, what)| json!({ "file": path, "done": what }));
            output::print(json, &done.collect(), &words.join("\n"))?;
        }
        applied
    }
}

struct Work<'a> {
    folder: &'a mut Folder,
    service: &'a Service,
    done: Vec<(String, String)>,
}

impl Work<'_> {
    async fn apply(&mut self, plan: &Plan, publish: bool) -> Result<()> {
        let is_tool = |path: &str| Kind::of(path) == Kind::Tool;
        let (tools, rest): (Vec<_>, Vec<_>) = plan.same.iter().partition(|(path, _)| is_tool(path));
        for (path, item) in rest {
            self.folder.note(path, &item.id, &item.at);
        }
        for step in &plan.steps {
            let done = match Kind::of(&step.path) {
                Kind::Tool => self.tool(step).await,
                Kind::Document => self.document(step).await,
                Kind::Agent => self.agent(step).await,
                Kind::Scenario => self.scenario(step).await,
            };
            let done = done.with_context(|| step.path.clone())?;
            self.done.push((step.path.clone(), done));
            // Whoever interrupts the rest finds this noted.
            self.folder.save_lock()?;
        }
        // By now its agents have their next versions for it.
        for (path, item) in tools {
            self.folder.note(path, &item.id, &item.at);
        }
        for path in plan.steps.iter().map(|step| step.path.as_str()) {
            if is_tool(path) {
                let [id, at] = ["id", "at"].map(|of| self.folder.locked(path, of).to_owned());
                self.folder.note(path, &id, &at);
            }
        }
        self.folder.save_lock()?;
        let same = plan.same.iter().map(|(path, _)| path);
        let all = same.chain(plan.steps.iter().map(|step| &step.path));
        for path in all.filter(|path| publish && Kind::of(path) == Kind::Agent) {
            let done = self.publish(path).await;
            let done = done.with_context(|| format!("{path} is saved, not published"))?;
            self.done.extend(done.map(|done| (path.clone(), done)));
        }
        Ok(())
    }

    async fn send(&self, method: Method, path: &str, body: &Value) -> Result<Value> {
        self.service.api.send_json(method, path, body).await
    }

    async fn tool(&mut self, step: &Step) -> Result<String> {
        let (method, mut path) = (Method::POST, "/v1/agents/tools".to_owned());
        let (method, mut body) = match &step.remote {
            None => (method, step.value.clone()),
            Some(item) => {
                path += &format!("/{}", item.id);
                (Method::PATCH, patch(&step.changes, |_| true))
            }
        };
        if step.remote.is_none() {
            body["name"] = tool_name(&step.path).into();
        }
        let section = sent_by(&step.value);
        let headers = body.pointer_mut(&format!("/{section}/headers"));
        for (_, value) in headers.and_then(Value::as_object_mut).into_iter().flatten() {
            if let Some(given) = value.as_str() {
                *value = filled(given).unwrap_or_default().into();
            }
        }
        let saved = self.send(method, &path, &body).await?;
        let [id, at] = ["id", "updated_at"].map(|name| word(&saved, name));
        self.folder.note_part(&step.path, &id, &at);
        Ok("saved; an agent uses it from its next version on".to_owned())
    }

    async fn scenario(&mut self, step: &Step) -> Result<String> {
        let path = "/v1/scenarios";
        let saved = match &step.remote {
            Some(item) if step.value.is_null() => {
                let path = format!("{path}/{}", item.id);
                self.send(Method::DELETE, &path, &json!({})).await?;
                self.folder.lock.shift_remove(&step.path);
                return Ok("deleted".to_owned());
            }
            None => {
                let mut body = step.value.clone();
                body["agent_id"] = self.folder.locked(&agent_of(&step.path), "id").into();
                self.send(Method::POST, path, &body).await?
            }
            Some(item) => {
                let body = patch(&step.changes, |_| true);
                let path = format!("{path}/{}", item.id);
                self.send(Method::PATCH, &path, &body).await?
            }
        };
        let [id, at] = ["id", "updated_at"].map(|name| word(&saved, name));
        self.folder.note(&step.path, &id, &at);
        Ok("saved".to_owned())
    }

    async fn document(&mut self, step: &Step) -> Result<String> {
        let path = "/v1/knowledge/documents";
        let saved = self.send(Method::POST, path, &step.value).await?;
        self.folder.note(&step.path, &word(&saved, "id"), "");
        let mut words = "saved".to_owned();
        if let Some(item) = &step.remote {
            words += &format!(
                "; the document before is still there, with the id {}",
                item.id
            );
        }
        Ok(words)
    }

    async fn agent(&mut self, step: &Step) -> Result<String> {
        let [name, language] = ["name", "language"].map(|name| word(&step.value, name));
        let mut body = match &step.remote {
            None => json!({ "name": name, "language": language, "config": step.value["config"] }),
            Some(_) => patch(&step.changes, |field| {
                ["name", "language", "config"].contains(&field)
            }),
        };
        if let Some(config) = body.get_mut("config") {
            self.service.to_ids(config, self.folder)?;
        }
        let at = step.remote.as_ref().map_or("0 -", |item| item.at.as_str());
        let mut at = at.split(' ');
        let mut version: i64 = at.next().unwrap_or_default().parse()?;
        let mut schema_at = at.next().unwrap_or_default().to_owned();
        let mut id = folder_id(step);
        // Each write is noted: if the next one fails, this one is not taken for somebody else's.
        if id.is_empty() {
            let made = self.send(Method::POST, "/v1/agents", &body).await?;
            (id, version) = (word(&made, "id"), number(&made, "current_version"));
        } else if body != json!({}) || step.tools.is_some() {
            // The service saves the next version if the tools are not those of the last one.
            if body["config"].is_null() {
                body["config"] = json!({});
            }
            body["expected_version"] = version.into();
            let path = format!("/v1/agents/{id}");
            let saved = self.send(Method::PATCH, &path, &body).await?;
            version = number(&saved, "current_version");
        }
        let noted = mark(version, &schema_at, &language, &name);
        self.folder.note_part(&step.path, &id, &noted);
        let mut words = String::new();
        let settings = patch(&step.changes, |field| field == "settings");
        if settings != json!({}) {
            let path = format!("/v1/agents/{id}/settings");
            let mut body = own_settings(self.service.api.get(&path).await?);
            merge(&mut body, &settings["settings"]);
            body["expected_version"] = version.into();
            let saved = self.send(Method::PUT, &path, &body).await?;
            version = number(&saved, "version");
            if let Some(secret) = saved["signing_secret"].as_str() {
                words = format!(
                    "; requests to its context URL are signed with {secret}, which is shown this once"
                );
            }
            let noted = mark(version, &schema_at, &language, &name);
            self.folder.note_part(&step.path, &id, &noted);
        }
        if patch(&step.changes, |field| field == "analysis_schema") != json!({}) {
            let path = format!("/v1/agents/{id}/analysis-schema");
            let body = json!({ "schema": step.value["analysis_schema"] });
            schema_at = word(&self.send(Method::PUT, &path, &body).await?, "updated_at");
        }
        let noted = mark(version, &schema_at, &language, &name);
        self.folder.note(&step.path, &id, &noted);
        Ok(format!("saved as version {version}{words}"))
    }

    async fn publish(&self, path: &str) -> Result<Option<String>> {
        let at = format!("/v1/agents/{}", self.folder.locked(path, "id"));
        let version = self.folder.locked(path, "at").split(' ').next();
        let version: i64 = version.unwrap_or_default().parse()?;
        let agent = self.service.api.get(&at).await?;
        if number(&agent, "published_version") == version {
            return Ok(None);
        }
        let body = json!({ "version": version });
        self.send(Method::POST, &format!("{at}/publish"), &body)
            .await?;
        Ok(Some(format!("published version {version}")))
    }
}

fn folder_id(step: &Step) -> String {
    step.remote
        .as_ref()
        .map(|item| item.id.clone())
        .unwrap_or_default()
}

fn number(value: &Value, name: &str) -> i64 {
    value[name].as_i64().unwrap_or_default()
}
