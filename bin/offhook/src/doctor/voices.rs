//! The catalogs that `voices` names.

use offhook_domain::VoiceProvider;

use super::models::bearer;
use super::upstream::Question;
use super::{Finding, Hop};
use crate::settings::Settings;

const HOP: Hop = Hop("voices");

/// Asks each provider for the beginning of its list.
pub(super) async fn look(settings: &Settings) -> Vec<Finding> {
    let asked = settings.voices.iter().map(async |(provider, at)| {
        let key = at.api_key.as_str();
        let (path, key) = match provider {
            VoiceProvider::A => (
                "v2/voices?page_size=1",
                Some(("xi-api-key", key.to_owned())),
            ),
            VoiceProvider::B => ("voices?limit=1", bearer(Some(key))),
            VoiceProvider::C => ("v1/models", Some(("authorization", format!("Token {key}")))),
        };
        let question = Question {
            hop: HOP,
            section: &format!("voices.{provider}"),
            base_url: &at.base_url,
            path,
            list: "voices",
            key,
            may_lack_path: false,
        };
        question.ask().await
    });
    futures_util::future::join_all(asked).await
}
