//! `offhook rekey`

use offhook_services::SystemClock;

use crate::data_dir;
use crate::prelude::*;

#[derive(Debug, Args)]
pub(super) struct RekeyArgs {
    /// Confirm that every serving process runs with both keys, the new one first.
    #[arg(long)]
    while_serving: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Seals every secret with the first key of the master key's file. The earlier keys behind it are not needed then.
///
/// # Errors
/// Something serves the database, a secret opens with none of the keys, or the database is out of reach.
pub(super) async fn run(settings: &Settings, args: RekeyArgs) -> anyhow::Result<()> {
    let RekeyArgs {
        while_serving,
        json,
    } = args;
    parts::find_database(settings)?;
    let _lock = match settings.is_shared() || while_serving {
        true => None,
        false => Some(data_dir::lock(&settings.data_dir)?),
    };
    let store = parts::open_store(settings).await?;
    if settings.is_shared() && !while_serving {
        let serving = store.living_nodes(SystemClock.now()).await?;
        if serving > 0 {
            bail!(
                "{serving} processes serve this database, or died less than 45 s ago: stop them, or start each of \
                 them with both keys, the new one first, and give --while-serving"
            );
        }
    }
    let done = store.rekey(SystemClock.now()).await?;
    let words = match (done.is_new, done.secrets) {
        (false, 0) => "every secret was sealed with this key already: nothing to do".to_owned(),
        (_, secrets) => format!(
            "{secrets} secrets were sealed anew: take the earlier keys out of the master key's file"
        ),
    };
    let value = json!({ "secrets": done.secrets, "is_new": done.is_new });
    output::print(json, &value, &words)
}
