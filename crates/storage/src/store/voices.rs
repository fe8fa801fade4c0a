//! Voices as their providers listed them.

use async_recursion::async_recursion as boxed;
use offhook_domain::{EventId, Timestamp, Voice, VoiceList, VoiceProvider};

use super::{mint, read, write};
use crate::queries;
use crate::{Result, Store, Verdict, VoiceChanges};

impl Store {
    /// What names the voices as they are; it is another one after each change. `None`: there has been none.
    #[boxed]
    pub async fn voices_generation(&self) -> Result<Option<String>> {
        read!(self, |conn| queries::voices::generation(conn).await)
    }

    /// Up to `most` voices behind this one, by provider and id. A change between two of these looks is another generation
    /// ([`Store::voices_generation`]).
    #[boxed]
    pub async fn voices_behind(
        &self,
        last: Option<(VoiceProvider, String)>,
        most: usize,
    ) -> Result<Vec<Voice>> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        read!(self, |conn| queries::voices::behind(conn, last, most).await)
    }

    /// Makes a provider's voices these.
    #[boxed]
    pub async fn replace_voices(
        &self,
        provider: VoiceProvider,
        voices: VoiceList,
        at: Timestamp,
    ) -> Result<VoiceChanges> {
        write!(self, |conn| {
            let changes = queries::voices::replace(conn, provider, voices).await?;
            if changes == VoiceChanges::default() {
                return Ok(Verdict::Rollback(changes));
            }
            let generation: EventId = mint(at);
            queries::voices::renew_generation(conn, &generation.to_string()).await?;
            Ok(Verdict::Commit(changes))
        })
    }

    /// Writes that a voice of a provider's shared library has been added to its workspace. One that is not in the
    /// library, or listed no more, stays as it is.
    #[boxed]
    pub async fn voice_added(
        &self,
        provider: VoiceProvider,
        voice_id: &str,
        at: Timestamp,
    ) -> Result<()> {
        let voice_id = voice_id.to_owned();
        write!(self, |conn| {
            if !queries::voices::to_workspace(conn, provider, &voice_id).await? {
                return Ok(Verdict::Rollback(()));
            }
            let generation: EventId = mint(at);
            queries::voices::renew_generation(conn, &generation.to_string()).await?;
            Ok(Verdict::Commit(()))
        })
    }
}
