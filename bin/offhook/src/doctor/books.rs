//! The books of every account.

use offhook_services::Services;

use serde_json::json;

use super::{Finding, Hop};
use crate::settings::Settings;
use crate::{output, parts};

const HOP: Hop = Hop("ledger");

/// Looks at nothing else, and prints what is wrong.
pub(super) async fn alone(settings: &Settings, json: bool) -> anyhow::Result<()> {
    let services = parts::administration(settings).await?;
    let faults = services.billing().faults().await?;
    let words = match faults.as_slice() {
        [] => "the books of every account add up".to_owned(),
        faults => faults.join("\n"),
    };
    output::print(json, &json!({ "faults": faults }), &words)?;
    match faults.len() {
        0 => Ok(()),
        count => anyhow::bail!("{count} faults were found in the books"),
    }
}

pub(super) async fn look(services: &Services) -> Vec<Finding> {
    match services.billing().faults().await {
        Ok(faults) if faults.is_empty() => {
            vec![HOP.good("the books of every account add up")]
        }
        Ok(faults) => faults.into_iter().map(|fault| HOP.failed(fault)).collect(),
        Err(error) => vec![HOP.failed(format!(
            "the books cannot be read ({error}): see the database's own log"
        ))],
    }
}
