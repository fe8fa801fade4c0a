//! `offhook doctor`: do the books add up?

use serde_json::json;

use super::JsonArgs;
use crate::settings::Settings;
use crate::{output, parts};

/// Looks at every account's books and prints what is wrong with them.
///
/// # Errors
/// Something is, or the database is out of reach.
pub(super) async fn run(settings: &Settings, JsonArgs { json }: JsonArgs) -> anyhow::Result<()> {
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
