//! Tools: what agents can do besides speaking.

pub(crate) mod mcp;
mod request;
pub(crate) mod schema;
mod toolbox;

#[cfg(test)]
mod tests;

use std::collections::HashSet;

use futures_util::future::try_join_all;

use offhook_domain::json::{item_path, member_path};
use offhook_domain::tool::{Header, TOOLS_AT_MOST, Tool, ToolKind};
use offhook_egress::{GuardedClient, TargetUrl};

use crate::error::Result;
use crate::gate::may_call;
use crate::knowledge::SEARCH;
use crate::prelude::*;

pub(crate) use toolbox::Toolbox;

/// How often a change is retried on a tool that has changed meanwhile.
const TRIES: usize = 5;

/// A tool as the API shows it.
#[derive(Debug, Clone)]
pub struct ToolView {
    pub row: ToolRow,
    /// Everything but the id and the times, with header values hidden.
    pub definition: Json,
    /// Whether it is a function of an integration: then only its name and description may change.
    pub is_function: bool,
}

#[derive(Clone)]
pub struct ToolShelf {
    pub(crate) ctx: Arc<Context>,
    /// The client of `http` tools; its policy says which URLs they may point to.
    pub(crate) client: GuardedClient,
}

#[boxed]
impl ToolShelf {
    /// Lists tools, newest first.
    pub async fn list(
        &self,
        account: AccountId,
        page: PageRequest<ToolId>,
    ) -> Result<Page<ToolView>> {
        let limit = i64::from(page.limit);
        let rows = self.ctx.store.tools(account, page.after, limit).await?;
        let views = rows.into_iter().map(view).collect::<Result<_, _>>()?;
        Ok(Page::of(views, page.limit))
    }

    /// The agents whose published versions have tools, by name, each with a tool.
    pub async fn users(&self, account: AccountId) -> Result<Vec<(ToolId, PinningAgent)>> {
        Ok(self.ctx.store.tool_users(account).await?)
    }

    pub async fn get(&self, account: AccountId, id: ToolId) -> Result<ToolView> {
        let row = self.ctx.store.tool(account, id).await?;
        Ok(view(row.ok_or(UseCaseError::NotFound)?)?)
    }

    /// Creates a tool: `{name, description, kind, parameters?, http?, transfer?, mcp?}`.
    pub async fn create(&self, account: AccountId, body: &Json) -> Result<ToolView> {
        let (mut tool, headers) = Tool::from_json(body, &[])?;
        self.check(&mut tool)?;
        let at = self.ctx.clock.now();
        let row = ToolRow {
            id: mint(at),
            account_id: account,
            name: tool.name.clone(),
            definition: tool.to_stored(),
            revision: 1,
            created_at: at,
            updated_at: at,
        };
        let headers = headers_to(&headers);
        let made = self
            .ctx
            .store
            .create_tool(row.clone(), headers.as_deref(), TOOLS_AT_MOST)
            .await;
        if unless_taken(made, &tool.name)? {
            return Ok(view(row)?);
        }
        Err(UseCaseError::Conflict(Refusal::TooManyTools(TOOLS_AT_MOST)))
    }

    /// Changes a tool by a merge patch (RFC 7396); a header's `***` keeps the stored value. Published versions keep the
    /// tool as they pinned it.
    pub async fn update(&self, account: AccountId, id: ToolId, body: &Json) -> Result<ToolView> {
        for _ in 0..TRIES {
            let found = self.ctx.store.tool_with_headers(account, id).await?;
            let (row, headers) = found.ok_or(UseCaseError::NotFound)?;
            let before = read(&row)?;
            let kept = headers_from(headers.as_deref())?;
            let (mut after, values) = before.merge(body, &kept)?;
            if before.function.is_some() && !says_only_otherwise(&before, &after) {
                return Err(UseCaseError::Conflict(Refusal::ToolOfIntegration));
            }
            self.check(&mut after)?;
            if after == before && values == kept {
                return Ok(view(row)?);
            }
            let change = ToolChange {
                revision: row.revision,
                name: after.name.clone(),
                definition: after.to_stored(),
                headers: headers_to(&values),
                at: self.ctx.clock.now(),
            };
            let changed = self.ctx.store.change_tool(account, id, change).await;
            if let Some(row) = unless_taken(changed, &after.name)? {
                return Ok(view(row)?);
            }
        }
        Err(UseCaseError::Conflict(Refusal::ToolContended))
    }

    /// Deletes a tool. Published versions keep it as they pinned it.
    pub async fn delete(&self, account: AccountId, id: ToolId) -> Result<()> {
        UseCaseError::unless_found(self.ctx.store.delete_tool(account, id).await?)
    }

    /// Checks that need this service: reserved names, the schema, where the URL leads, and which numbers may be called.
    /// Normalizes the URL.
    fn check(&self, tool: &mut Tool) -> Result<(), FieldError> {
        if tool.name == SEARCH {
            return Err(FieldError::new("name", Fault::ReservedTool(SEARCH)));
        }
        schema::check(&tool.parameters).map_err(|fault| FieldError::new("parameters", fault))?;
        // The operator configures the URLs of integrations.
        if let (Some(http), None) = (&mut tool.http, &tool.function) {
            let target = TargetUrl::parse(&http.url, self.client.policy())
                .map_err(|error| FieldError::new(format!("{}.url", tool.kind), error))?;
            let properties = tool.parameters.get("properties");
            let is_argument = |name: &str| properties.is_some_and(|all| all.get(name).is_some());
            let mut fixed = target.as_url().query_pairs();
            if let Some((name, _)) = fixed.find(|(name, _)| is_argument(name)) {
                let fault = Fault::InQuery(name.into_owned());
                return Err(FieldError::new("parameters", fault));
            }
            target.as_str().clone_into(&mut http.url);
        }
        // A transfer may not reach a number that POST /v1/calls may not dial.
        let prefixes = &self.ctx.calls.allowed_prefixes;
        let targets = tool.targets.as_deref().unwrap_or_default();
        if let Some(at) = targets
            .iter()
            .position(|target| !may_call(prefixes, &target.to))
        {
            let path = member_path(&item_path("transfer.targets", at), "to");
            return Err(FieldError::new(path, Fault::Prefixes(prefixes.join(", "))));
        }
        Ok(())
    }
}

impl Context {
    /// The tools that a configuration names, in its order; the error names the first that the account does not have.
    pub(crate) async fn tools_of(
        &self,
        account: AccountId,
        config: &AgentConfig,
    ) -> Result<Result<Vec<ToolId>, FieldError>> {
        let ids: Vec<ToolId> = config
            .tool_ids
            .iter()
            .copied()
            .map(ToolId::from_uuid)
            .collect();
        if ids.is_empty() {
            return Ok(Ok(ids));
        }
        let known = self.store.known_tools(account, ids.clone()).await?;
        let missing = ids
            .iter()
            .position(|id| !known.iter().any(|(known, _)| known == id));
        Ok(match missing {
            Some(at) => Err(FieldError::new(
                item_path("config.tool_ids", at),
                Fault::NoTool,
            )),
            None => Ok(ids),
        })
    }

    /// The tools that a configuration names as a version would pin them now, each with the values of its headers: the
    /// servers of `mcp` tools are asked what their functions take. The error names the first tool that cannot be used.
    pub(crate) async fn tools_to_pin(
        &self,
        account: AccountId,
        config: &AgentConfig,
        client: &GuardedClient,
    ) -> Result<Result<Vec<(ToolToPin, Option<String>)>, FieldError>> {
        let ids = match self.tools_of(account, config).await? {
            Ok(ids) => ids,
            Err(fault) => return Ok(Err(fault)),
        };
        let at = |place| item_path("config.tool_ids", place);
        let mut found = Vec::with_capacity(ids.len());
        for (place, id) in ids.into_iter().enumerate() {
            let Some((row, headers)) = self.store.tool_with_headers(account, id).await? else {
                return Ok(Err(FieldError::new(at(place), Fault::NoTool)));
            };
            let values = headers_from(headers.as_deref())?;
            found.push((place, read(&row)?, values, row, headers));
        }
        let described = try_join_all(found.iter_mut().map(async |(place, tool, values, _, _)| {
            if tool.kind == ToolKind::Mcp
                && let Some(server) = mcp::Server::of(client.clone(), tool, values)
            {
                let described = server.describe(tool).await;
                tool.described = described.map_err(|fault| FieldError::new(at(*place), fault))?;
            }
            Ok(())
        }));
        if let Err(fault) = described.await {
            return Ok(Err(fault));
        }
        let mut names = HashSet::new();
        for (place, tool, ..) in &found {
            for definition in toolbox::definitions(tool) {
                let name = definition.name.to_string();
                if !names.insert(name.clone()) {
                    return Ok(Err(FieldError::new(at(*place), Fault::McpSameName(name))));
                }
            }
        }
        let pinned = found.into_iter().map(|(_, tool, _, row, headers)| {
            let pinned = ToolToPin {
                id: row.id,
                revision: row.revision,
                definition: tool.to_stored(),
            };
            (pinned, headers)
        });
        Ok(Ok(pinned.collect()))
    }
}

/// Whether two tools differ only in name and description.
fn says_only_otherwise(before: &Tool, after: &Tool) -> bool {
    let same = Tool {
        name: before.name.clone(),
        description: before.description.clone(),
        ..after.clone()
    };
    same == *before
}

fn view(row: ToolRow) -> Result<ToolView, StoreError> {
    let tool = read(&row)?;
    Ok(ToolView {
        row,
        definition: tool.to_json(),
        is_function: tool.function.is_some(),
    })
}

fn read(row: &ToolRow) -> Result<Tool, StoreError> {
    Tool::from_stored(&row.definition)
        .map_err(|error| StoreError::Corrupt(format!("a stored tool: {error:?}")))
}

fn unless_taken<T>(done: Result<T, StoreError>, name: &str) -> Result<T> {
    done.map_err(|error| match error {
        StoreError::Conflict(_) => UseCaseError::Conflict(Refusal::ToolNameTaken(name.to_owned())),
        error => error.into(),
    })
}

/// Header values as one JSON object, to be encrypted.
pub(crate) fn headers_to(headers: &[Header]) -> Option<String> {
    let members = headers
        .iter()
        .map(|(name, value)| (name.as_str(), Json::from(value.as_str())));
    (!headers.is_empty()).then(|| Json::object(members).to_compact())
}

/// Header values from decrypted text.
fn headers_from(text: Option<&str>) -> Result<Vec<Header>, StoreError> {
    let corrupt = || StoreError::Corrupt("a tool's sealed headers".to_owned());
    let text = some_or!(text, Vec::new());
    let json = Json::parse(text.as_bytes()).map_err(|_| corrupt())?;
    let members = json.as_object().ok_or_else(corrupt)?;
    let header = |(name, value): &(String, Json)| {
        let value = value.as_str().ok_or_else(corrupt)?;
        Ok((name.clone(), value.to_owned()))
    };
    members.iter().map(header).collect()
}
