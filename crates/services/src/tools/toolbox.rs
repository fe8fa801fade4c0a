//! The tools of one conversation: those that the agent's version has pinned.

use async_trait::async_trait;
use offhook_domain::config::Variables;
use offhook_domain::tool::{Header, Tool, ToolKind};
use offhook_egress::GuardedClient;
use offhook_engine::ports::{ToolAction, ToolCall, ToolDefinition, ToolOutcome, Tools};

use super::{headers_from, mcp, request, schema};
use crate::Result;
use crate::gate::{Transfers, may_call};
use crate::integrations::Functions;
use crate::prelude::*;
use crate::scenarios::{Instead, Mocks};

/// The tools that an agent may use in a conversation.
pub(crate) struct Toolbox {
    tools: Vec<Equipped>,
    definitions: Arc<[ToolDefinition]>,
    client: GuardedClient,
    allowed_prefixes: Vec<String>,
    functions: Option<Functions>,
    transfers: Option<Transfers>,
    mocks: Option<Arc<Mocks>>,
}

struct Equipped {
    tool: Tool,
    headers: Vec<Header>,
    server: Option<mcp::Server>,
}

impl Equipped {
    /// Its place among the tool's functions, if the tool has a function of this name.
    fn place(&self, name: &str) -> Option<usize> {
        match self.tool.kind {
            ToolKind::Mcp => {
                let mut functions = self.tool.functions.iter();
                functions.position(|function| self.tool.name_of(function) == name)
            }
            _ => (self.tool.name == name).then_some(0),
        }
    }
}

impl Toolbox {
    /// The pinned tools, whose headers may name variables. They transfer only to numbers with one of the prefixes, if there
    /// are any.
    pub(crate) fn new(
        client: GuardedClient,
        allowed_prefixes: Vec<String>,
        pinned: Vec<PinnedTool>,
        variables: &Variables,
    ) -> Result<Self> {
        let equip = |pinned: PinnedTool| {
            let tool = Tool::from_stored(&pinned.definition)
                .map_err(|error| StoreError::Corrupt(format!("a pinned tool: {error:?}")))?;
            let mut headers = headers_from(pinned.headers.as_deref())?;
            for (_, value) in &mut headers {
                *value = variables.fill(value);
            }
            let server = match tool.kind {
                ToolKind::Mcp => mcp::Server::of(client.clone(), &tool, &headers),
                _ => None,
            };
            Ok::<_, StoreError>(Equipped {
                tool,
                headers,
                server,
            })
        };
        let tools: Vec<Equipped> = pinned.into_iter().map(equip).collect::<Result<_, _>>()?;
        let definitions = tools
            .iter()
            .flat_map(|equipped| definitions(&equipped.tool));
        Ok(Self {
            definitions: definitions.collect(),
            tools,
            client,
            allowed_prefixes,
            functions: None,
            transfers: None,
            mocks: None,
        })
    }

    /// Adds the account's connected applications, which run the tools that are functions of theirs.
    pub(crate) fn with_functions(self, functions: Functions) -> Self {
        Self {
            functions: Some(functions),
            ..self
        }
    }

    /// Asks before each transfer whether the account calls the number.
    pub(crate) fn with_transfers(self, transfers: Transfers) -> Self {
        Self {
            transfers: Some(transfers),
            ..self
        }
    }

    /// Answers as a scenario says, in place of what has an effect outside.
    pub(crate) fn with_mocks(self, mocks: Option<Arc<Mocks>>) -> Self {
        Self { mocks, ..self }
    }

    fn unknown(&self, name: &str) -> String {
        let names: Vec<&str> = self.definitions.iter().map(|tool| &*tool.name).collect();
        format!("There is no tool `{name}`; there is: {}.", names.join(", "))
    }

    async fn outcome(&self, call: &ToolCall) -> Result<ToolOutcome, String> {
        let mut tools = self.tools.iter();
        let found = tools.find_map(|equipped| Some((equipped, equipped.place(&call.name)?)));
        let (equipped, place) = found.ok_or_else(|| self.unknown(&call.name))?;
        let Equipped { tool, headers, .. } = equipped;
        let described = tool.described.get(place);
        let parameters = described.map_or(&tool.parameters, |function| &function.parameters);
        let arguments = schema::fit(parameters, &call.arguments)?;
        let text = |name: &str| arguments.get(name).and_then(|value| value.as_str());
        if let Some(mocks) = &self.mocks
            && tool.kind != ToolKind::EndCall
        {
            match mocks.instead_of(&call.name).await {
                Some(Instead::Outcome(outcome)) => return Ok(outcome),
                Some(Instead::Nothing) => {}
                None if is_of_the_line(tool.kind) => {}
                None => return Err(Mocks::unnamed(&call.name)),
            }
        }
        let broken = || "The tool is set up wrongly.".to_owned();
        if let Some(function) = &tool.function {
            let functions = self.functions.as_ref().ok_or_else(broken)?;
            return functions
                .call(function, &arguments)
                .await
                .map(ToolOutcome::Answer);
        }
        Ok(match tool.kind {
            ToolKind::Http => {
                let http = tool.http.as_ref().ok_or_else(broken)?;
                request::ask(&self.client, http, headers, arguments)
                    .await
                    .into()
            }
            ToolKind::Mcp => {
                let server = equipped.server.as_ref().ok_or_else(broken)?;
                server.call(tool, place, arguments).await.into()
            }
            ToolKind::EndCall => ToolOutcome::Act(ToolAction::EndCall),
            ToolKind::Transfer => {
                let targets = tool.targets.iter().flatten();
                let target = targets
                    .clone()
                    .find(|target| Some(target.name.as_str()) == text("target"))
                    .ok_or_else(broken)?;
                // The setting may be newer than the version.
                if !may_call(&self.allowed_prefixes, &target.to) {
                    return Err("The target's number is not allowed here.".to_owned());
                }
                if let Some(transfers) = &self.transfers
                    && let Some(refusal) = transfers.refusal(&target.to).await
                {
                    return Err(refusal);
                }
                ToolOutcome::Act(ToolAction::Transfer {
                    name: target.name.clone(),
                    to: target.to.clone(),
                })
            }
            ToolKind::Dtmf => {
                let digits = text("digits").ok_or_else(broken)?;
                ToolOutcome::Act(ToolAction::SendDigits(digits.to_owned()))
            }
        })
    }
}

/// Whether it acts on the conversation alone.
const fn is_of_the_line(kind: ToolKind) -> bool {
    matches!(kind, ToolKind::Transfer | ToolKind::Dtmf)
}

/// The functions that a model may call.
pub(super) fn definitions(tool: &Tool) -> Vec<ToolDefinition> {
    if tool.kind != ToolKind::Mcp {
        return vec![definition(
            tool,
            &tool.name,
            &tool.description,
            &tool.parameters,
        )];
    }
    let functions = tool.functions.iter().zip(&tool.described);
    let functions = functions.map(|(function, described)| {
        let name = tool.name_of(function);
        definition(tool, &name, &described.description, &described.parameters)
    });
    functions.collect()
}

/// Models require the arguments to have a type.
fn definition(tool: &Tool, name: &str, description: &str, parameters: &Json) -> ToolDefinition {
    let mut parameters = parameters.clone();
    if let Json::Object(members) = &mut parameters
        && !members.iter().any(|(name, _)| name == "type")
    {
        members.insert(0, ("type".to_owned(), Json::from("object")));
    }
    ToolDefinition {
        name: name.into(),
        description: description.into(),
        parameters: parameters.to_compact().into(),
        acts: tool.kind != ToolKind::EndCall,
    }
}

#[async_trait]
impl Tools for Toolbox {
    fn definitions(&self) -> Arc<[ToolDefinition]> {
        Arc::clone(&self.definitions)
    }

    async fn call(&self, call: &ToolCall) -> ToolOutcome {
        self.outcome(call).await.unwrap_or_else(ToolOutcome::Failed)
    }

    fn is_foreign(&self, name: &str) -> bool {
        let mut servers = self.tools.iter().filter(|tool| tool.server.is_some());
        servers.any(|tool| tool.place(name).is_some())
    }
}
