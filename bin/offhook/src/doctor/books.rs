//! The books of every account, and what is kept.

use offhook_services::Services;

use super::finding::{Finding, Hop};
use crate::prelude::*;

const HOP: Hop = Hop("ledger");

/// From when on retention is late: it has a turn every ten minutes.
const LATE: Duration = Duration::from_secs(3_600);

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

/// Whether what is to be deleted is.
pub(super) async fn retention(services: &Services) -> Finding {
    const HOP: Hop = Hop("retention");
    match services.retention().behind().await {
        Ok(behind) if behind < LATE => HOP.good("nothing is kept beyond its time"),
        Ok(behind) => HOP.warning(format!(
            "conversations are kept for {} h beyond their time: see that a process serves, and in its log which recordings could \
             not be deleted (`offhook_job_left_behind`)",
            behind.as_secs() / 3_600
        )),
        Err(error) => HOP.failed(format!(
            "what is kept cannot be read ({error}): see the database's own log"
        )),
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
