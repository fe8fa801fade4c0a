//! Serializes fields whose JSON form differs from their type.

use serde::{Serialize, Serializer};

use super::DynamicVariable;
use crate::json::Json;

/// A number in [`Json`]'s form: 1, not 1.0.
pub(super) fn number<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    Json::from(*value).serialize(serializer)
}

/// Names and values as an object.
pub(super) fn map<S: Serializer>(
    members: &[(String, String)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(members.iter().map(|(name, value)| (name, value)))
}

/// Variables as an object of `{default}` by name.
pub(super) fn variables<S: Serializer>(
    variables: &[DynamicVariable],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(variables.iter().map(|variable| {
        let default = Json::object([("default", variable.default.clone())]);
        (&variable.name, default)
    }))
}
