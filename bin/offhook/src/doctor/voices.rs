//! The catalogs that `voices` names.

use super::finding::{Finding, Hop};
use super::upstream::{Question, Shape};
use crate::prelude::*;

const HOP: Hop = Hop("voices");

/// Asks each provider for the beginning of its list.
pub(super) async fn look(settings: &Settings) -> Vec<Finding> {
    let asked = settings.voices.iter().map(async |(provider, at)| {
        let question = Question {
            hop: HOP,
            section: &format!("voices.{provider}"),
            base_url: &at.base_url,
            shape: match provider {
                VoiceProvider::A => Shape::ElevenLabs,
                VoiceProvider::B => Shape::Cartesia,
                VoiceProvider::C => Shape::Deepgram,
            },
            list: "voices",
            api_key: Some(&at.api_key),
            may_lack_path: false,
        };
        question.ask().await
    });
    futures_util::future::join_all(asked).await
}
