//! The data extracted from ended conversations.

use super::*;
use crate::wire::analysis::AnalysisSchemaBody;

pub(super) fn operations() -> Vec<Operation> {
    let path = "/v1/agents/{id}/analysis-schema";
    operations! {
        GET path, getAnalysisSchema, Access::Scope(Scope::AgentsRead)
            => Answer::One("AnalysisSchema"), "Read an agent's analysis schema";
        PUT path, setAnalysisSchema, Access::Scope(Scope::AgentsWrite)
            => Answer::One("AnalysisSchema"), "Set an agent's analysis schema"
            .body("SetAnalysisSchema").errors_too(&[Code::Conflict, Code::UnsupportedRuntime]);
    }
}

pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    schemas! {
        AnalysisSchema => AnalysisSchemaBody::shape();
        SetAnalysisSchema => body::request_with::<bodies::SetAnalysisSchema>(&|_| any_object());
    }
}

/// The data extracted from one conversation.
pub(super) fn analysis() -> Value {
    object(&[
        ("status", words(AnalysisStatus::ALL)),
        ("data", nullable(any_object())),
        ("error", nullable(string())),
        ("completed_at", nullable(instant())),
    ])
}
