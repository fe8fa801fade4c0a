//! `offhook voices …`

use super::JsonArgs;
use crate::prelude::*;

#[derive(Debug, Subcommand)]
pub(super) enum VoicesCommand {
    /// Sync the voice catalog with the providers now; the service does so daily.
    Sync(JsonArgs),
}

impl VoicesCommand {
    pub(super) async fn run(self, settings: &Settings) -> anyhow::Result<()> {
        let Self::Sync(JsonArgs { json }) = self;
        if settings.voices.is_empty() {
            bail!(
                "no voice provider is set up: give `voices.provider_a.base_url` and \
                 `voices.provider_a.api_key`, or those of another provider"
            );
        }
        let services = parts::administration(settings).await?;
        let mut outcomes = services.voices().sync().await;
        outcomes.extend(services.voices().sync_accounts().await?);
        let (mut rows, mut failed) = (Vec::new(), Vec::new());
        let mut words = Vec::new();
        for outcome in &outcomes {
            let provider = outcome.provider;
            let who = match outcome.account {
                None => provider.to_string(),
                Some(account) => format!("{provider} for account {account}"),
            };
            let done = outcome.result.as_ref();
            rows.push(json!({
                "provider": provider,
                "account_id": outcome.account,
                "voices": done.ok().map(|(voices, _)| voices),
                "written": done.map_or(0, |(_, changes)| changes.written),
                "deleted": done.map_or(0, |(_, changes)| changes.deleted),
                "error": done.err().map(ToString::to_string),
            }));
            match done {
                Ok((voices, _)) => words.push(format!("{who}: {voices} voices")),
                Err(error) => failed.push(format!("{who}: {error}")),
            }
        }
        if json || !words.is_empty() {
            output::print(json, &Value::Array(rows), &words.join("\n"))?;
        }
        if !failed.is_empty() {
            bail!(
                "{}; these voices stay those of the last time",
                failed.join("; ")
            );
        }
        Ok(())
    }
}
