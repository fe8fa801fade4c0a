//! Voices as their providers listed them.

use offhook_domain::{EventId, Timestamp, Voice, VoiceList, VoiceProvider};

use super::{Answer, mint, read, write};
use crate::queries;
use crate::{Store, Verdict, VoiceChanges};

impl Store {
    /// Up to `most` voices behind this one, by provider and id. A change between two of these looks is another generation
    /// ([`Store::voices_generation`]).
    pub fn voices_behind(
        &self,
        last: Option<(VoiceProvider, String)>,
        most: usize,
    ) -> Answer<'_, Vec<Voice>> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        read!(self, |conn| queries::voices::behind(conn, last, most).await)
    }

    /// Makes a provider's voices these.
    pub fn replace_voices(
        &self,
        provider: VoiceProvider,
        voices: VoiceList,
        at: Timestamp,
    ) -> Answer<'_, VoiceChanges> {
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
    pub fn voice_added(
        &self,
        provider: VoiceProvider,
        voice_id: &str,
        at: Timestamp,
    ) -> Answer<'_, ()> {
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
