//! Printing what JSON has in a form of its own.

use serde::{Serialize, Serializer};

use super::DynamicVariable;
use crate::json::Json;

/// A number as [`Json`] writes it: 1, and not 1.0.
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

/// Variables as an object of `{default}` by their names.
pub(super) fn variables<S: Serializer>(
    variables: &[DynamicVariable],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(variables.iter().map(|variable| {
        let default = Json::object([("default", variable.default.clone())]);
        (&variable.name, default)
    }))
}
