//! The tools of one conversation: those that the agent's version has pinned.

use std::sync::Arc;

use async_trait::async_trait;
use offhook_domain::config::Variables;
use offhook_domain::json::Json;
use offhook_domain::tool::{Header, Tool, ToolKind};
use offhook_egress::GuardedClient;
use offhook_engine::ports::{ToolAction, ToolCall, ToolDefinition, ToolOutcome, Tools};
use offhook_storage::{PinnedTool, StoreError};

use super::{headers_from, may_call, request, schema};
use crate::Result;
use crate::gate::Transfers;
use crate::integrations::Functions;
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
            Ok::<_, StoreError>(Equipped { tool, headers })
        };
        let tools: Vec<Equipped> = pinned.into_iter().map(equip).collect::<Result<_, _>>()?;
        let definitions = tools.iter().map(|equipped| definition(&equipped.tool));
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
        let found = self
            .tools
            .iter()
            .find(|equipped| equipped.tool.name == call.name);
        let Equipped { tool, headers } = found.ok_or_else(|| self.unknown(&call.name))?;
        let arguments = schema::fit(&tool.parameters, &call.arguments)?;
        let text = |name: &str| arguments.get(name).and_then(|value| value.as_str());
        if let Some(mocks) = &self.mocks
            && tool.kind != ToolKind::EndCall
        {
            match mocks.instead_of(&tool.name).await {
                Some(Instead::Outcome(outcome)) => return Ok(outcome),
                Some(Instead::Nothing) => {}
                None if is_of_the_line(tool.kind) => {}
                None => return Err(Mocks::unnamed(&tool.name)),
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

/// Models require the arguments to have a type.
fn definition(tool: &Tool) -> ToolDefinition {
    let mut parameters = tool.parameters.clone();
    if let Json::Object(members) = &mut parameters
        && !members.iter().any(|(name, _)| name == "type")
    {
        members.insert(0, ("type".to_owned(), Json::from("object")));
    }
    ToolDefinition {
        name: tool.name.as_str().into(),
        description: tool.description.as_str().into(),
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
}
