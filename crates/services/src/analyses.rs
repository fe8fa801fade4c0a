//! Data extracted from ended conversations by their agent's JSON Schema (docs/guides/agents.md, Analysis).
//!
//! The schema belongs to the agent and not to its versions: it says what an account wants to know about its
//! conversations, not how they are held. The end of a conversation queues its analysis with the schema in force then.
//! Later changes do not affect ended conversations.

mod analysis_worker;
mod judge;

use offhook_domain::body::{Nullable, Own};

use crate::error::Result;
use crate::prelude::*;
use crate::tools::schema;

pub(crate) use analysis_worker::keep_analysing;
pub(crate) use judge::Judge;

/// What to extract from an agent's conversations.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AnalysisSchemaView {
    /// A JSON Schema; `None` if nothing is extracted.
    pub schema: Option<Json>,
    /// When the schema was set or cleared; `None` if it never was.
    pub updated_at: Option<Timestamp>,
}

body! {
    /// `PUT /v1/agents/{id}/analysis-schema`.
    #[derive(Debug)]
    pub SetAnalysisSchema {
        schema: Option<String>, Nullable(Own(definition)), "A JSON Schema whose top level is an object: local `$ref` only, at most 32 levels deep and 64 KiB of compact JSON. Null clears it.";
    }
}

#[derive(Clone)]
pub struct Analyses(pub(crate) Arc<Context>);

#[boxed]
impl Analyses {
    pub async fn schema(&self, account: AccountId, id: AgentId) -> Result<AnalysisSchemaView> {
        let agent = self.agent(account, id).await?;
        match self.0.store.analysis_schema(agent.id).await? {
            Some(schema) => Ok(view(schema)?),
            None => Ok(AnalysisSchemaView::default()),
        }
    }

    /// Sets an agent's schema: `{schema}`; null clears it.
    pub async fn set_schema(
        &self,
        account: AccountId,
        id: AgentId,
        body: &Json,
    ) -> Result<AnalysisSchemaView> {
        let definition = read(body)?;
        let agent = self.agent(account, id).await?;
        if agent.runtime == Runtime::Legacy {
            return Err(UseCaseError::UnsupportedRuntime(Refusal::LegacyAnalysis));
        }
        if agent.status == AgentStatus::Archived {
            return Err(UseCaseError::Conflict(Refusal::AgentArchived));
        }
        let store = &self.0.store;
        let at = self.0.clock.now();
        let set = store.set_analysis_schema(account, id, definition, at);
        let set = set.await?.ok_or(UseCaseError::NotFound)?;
        Ok(set.map(view).transpose()?.unwrap_or_default())
    }

    async fn agent(&self, account: AccountId, id: AgentId) -> Result<Agent> {
        let found = self.0.store.agent_with_config(account, id, None).await?;
        found.map(|(agent, _)| agent).ok_or(UseCaseError::NotFound)
    }
}

fn view(stored: AnalysisSchema) -> Result<AnalysisSchemaView> {
    let corrupt = |_| StoreError::Corrupt("an analysis schema".to_owned());
    let schema = stored.definition.as_deref();
    let schema = schema.map(|text| Json::parse(text.as_bytes()));
    Ok(AnalysisSchemaView {
        schema: schema.transpose().map_err(corrupt)?,
        updated_at: Some(stored.created_at),
    })
}

/// The schema in a body as compact text; `None` to clear it.
fn read(body: &Json) -> Result<Option<String>, FieldError> {
    Ok(SetAnalysisSchema::of(body, &())?.schema)
}

fn definition(fields: &mut Fields<'_>, name: &str) -> Result<String, FieldError> {
    let given = fields.required(name)?;
    if !matches!(given, Json::Object(_)) {
        return Err(fields.fault(name, Fault::SchemaOrNull));
    }
    check(given).map_err(|fault| fields.fault(name, fault))?;
    Ok(given.to_compact())
}

fn check(given: &Json) -> Result<(), Fault> {
    let is_object = given
        .get("type")
        .is_none_or(|kind| kind.as_str() == Some("object"));
    if !is_object {
        return Err(Fault::SchemaOfExtract);
    }
    schema::check(given)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(body: &str) -> String {
        let json = Json::parse(body.as_bytes()).unwrap();
        read(&json).map_or_else(|fault| fault.to_string(), |_| String::new())
    }

    #[test]
    fn a_schema_is_kept_as_it_was_written_and_null_clears_it() {
        let read = |body: &str| read(&Json::parse(body.as_bytes()).unwrap()).unwrap();
        assert_eq!(read(r#"{"schema": null}"#), None);
        let written =
            r#"{"schema": {"type": "object", "properties": {"b": {"maximum": 1.50}, "a": true}}}"#;
        let kept = r#"{"type":"object","properties":{"b":{"maximum":1.50},"a":true}}"#;
        assert_eq!(read(written).as_deref(), Some(kept));
    }

    #[test]
    fn bad_schemas_are_refused_with_a_sentence() {
        for (schema, message) in [
            ("[]", "must be a JSON Schema, as an object, or null"),
            ("true", "must be a JSON Schema, as an object, or null"),
            (
                r#"{"type":"array"}"#,
                "must have the `type` `object`: what is extracted is an object",
            ),
            (
                r#"{"type":["object","null"]}"#,
                "must have the `type` `object`: what is extracted is an object",
            ),
        ] {
            let refused = fault(&format!(r#"{{"schema":{schema}}}"#));
            assert_eq!(refused, format!("`schema`: {message}"));
        }
        let invalid = fault(r#"{"schema":{"properties":{"a":{"type":"strnig"}}}}"#);
        assert!(
            invalid.starts_with("`schema`: is no valid JSON Schema at /properties/a/type"),
            "{invalid}"
        );
        assert_eq!(fault("{}"), "`schema`: is required; null clears it");
        assert_eq!(fault(r#"{"schema":null,"x":1}"#), "`x`: unknown field");
        assert_eq!(
            fault(r#"{"type":"object"}"#),
            "`schema`: is required; null clears it"
        );
    }
}
