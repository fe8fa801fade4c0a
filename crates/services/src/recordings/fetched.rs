//! Recordings stored elsewhere: the legacy agents' provider has those of its calls. They are fetched after their calls
//! end, and retried until they come. The call is settled without waiting for them.

use futures_util::FutureExt as _;
use std::io;

use offhook_engine::legacy::{LegacyReference, RecordingError};
use offhook_metrics::metrics;
use tokio::time::sleep;

use super::Recordings;
use super::kept::{Held, KeepError, blocking};
use super::spool::{Of, Spool};
use crate::prelude::*;

/// How long fetching a recording is retried.
const PATIENCE: Duration = Duration::from_secs(24 * 3_600);

/// The first pauses before a retry; later ones are the recording keeper's.
const FIRST_RETRIES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(5)];

/// A recording to fetch. The intent is on disk: if this process dies, the next owner of its files fetches the
/// recording.
pub(crate) struct Wanted {
    of: Of,
    spool: Spool,
    held: Held,
}

/// What fetching a recording needs to know.
#[derive(Debug, PartialEq, Eq)]
struct Note {
    /// When retrying ends, in seconds since 1970.
    until: i64,
    /// The call's id at the provider.
    conversation: Option<String>,
}

/// The result of fetching a recording.
enum Came {
    Whole,
    NotYet(String),
    Never(String),
}

impl Wanted {
    /// Records that the recording of an ended call is to be fetched. `None` if there is no place for it.
    pub(crate) async fn note(
        recordings: &Recordings,
        call: &Conversation,
        conversation: Option<String>,
    ) -> Option<Self> {
        let of = Of {
            account: call.account_id,
            id: call.id,
        };
        let (Some(spool), Some(held)) = (recordings.spool.get(), recordings.busy.take(of.id))
        else {
            metrics().recordings.failed();
            tracing::error!(call = %call.id, "a recording is not fetched: there is no place for it");
            return None;
        };
        let note = Note {
            until: recordings.ctx.clock.now().plus(PATIENCE).unix_seconds(),
            conversation,
        };
        let noted = blocking(spool, move |spool| spool.want(of, &note.text())).await;
        if let Err(error) = noted {
            metrics().recordings.failed();
            tracing::error!(
                %error,
                call = %call.id,
                "a recording is not fetched: see that the data directory's disk has room"
            );
            return None;
        }
        Some(Self {
            of,
            spool: spool.clone(),
            held,
        })
    }

    /// Starts fetching it.
    pub(crate) fn fetch(self, recordings: &Arc<Recordings>) {
        tokio::spawn(self.fetch_with_retries(recordings.clone()).boxed());
    }

    async fn fetch_with_retries(self, recordings: Arc<Recordings>) {
        let Self {
            of,
            spool,
            held: _held,
        } = self;
        let mut retries = FIRST_RETRIES.into_iter();
        while !recordings.try_fetching(&spool, of).await {
            match retries.next() {
                Some(wait) => sleep(wait).await,
                None => return,
            }
        }
    }

    /// Leaves the recording to the call's other owner.
    pub(crate) async fn leave(self) {
        let of = self.of;
        if let Err(error) = blocking(&self.spool, move |spool| spool.forget(of)).await {
            // It is fetched twice, with the same result.
            tracing::warn!(%error, call = %of.id, "a recording that another process fetches is fetched here, too");
        }
    }
}

impl Note {
    fn text(&self) -> String {
        let conversation = self.conversation.as_deref().unwrap_or_default();
        format!("{}\n{conversation}", self.until)
    }

    /// Parses the text of [`Note::text`]; any other text gives an expired note.
    fn read(text: &str) -> Self {
        let (until, conversation) = text.split_once('\n').unwrap_or((text, ""));
        Self {
            until: until.parse().unwrap_or(i64::MIN),
            conversation: (!conversation.is_empty()).then(|| conversation.to_owned()),
        }
    }

    fn is_over(&self, now: Timestamp) -> bool {
        now.unix_seconds() >= self.until
    }
}

impl Recordings {
    /// Tries to fetch a recording once; `false` if it must be retried.
    pub(super) async fn try_fetching(&self, spool: &Spool, of: Of) -> bool {
        match self.fetch(spool, of).await {
            Ok(None) => true,
            Ok(Some(why)) => {
                tracing::warn!(call = %of.id, "a recording did not come, and is asked for again: {why}");
                false
            }
            Err(error) => {
                tracing::warn!(%error, call = %of.id, "a recording waits, and is tried again");
                false
            }
        }
    }

    /// Why a recording has not come yet; `None` if it needs no retry.
    async fn fetch(&self, spool: &Spool, of: Of) -> Result<Option<String>, KeepError> {
        let Some(note) = blocking(spool, move |spool| spool.wanted(of)).await? else {
            // A process that died may have left a part of it.
            blocking(spool, move |spool| spool.discard(of)).await?;
            return Ok(None);
        };
        let note = Note::read(&note);
        let _fetching = self.fetching.acquire().await;
        let view = self.ctx.store.conversation(of.account, of.id, None).await?;
        // It is already here, or its conversation was deleted.
        if view.is_none_or(|view| view.conversation.has_audio) {
            blocking(spool, move |spool| give_up(spool, of)).await?;
            return Ok(None);
        }
        let is_over = note.is_over(self.ctx.clock.now());
        let why = match self.ask(spool, of, note.conversation).await? {
            Came::Whole => {
                let taken = move |spool: &Spool| spool.take_in(of).and_then(|()| spool.forget(of));
                blocking(spool, taken).await?;
                self.keep(spool, of).await?;
                return Ok(None);
            }
            Came::NotYet(why) if !is_over => {
                blocking(spool, move |spool| spool.discard(of)).await?;
                return Ok(Some(why));
            }
            Came::NotYet(why) | Came::Never(why) => why,
        };
        metrics().recordings.failed();
        tracing::error!(call = %of.id, "a recording is not kept, and not asked for any more: {why}");
        blocking(spool, move |spool| give_up(spool, of)).await?;
        Ok(None)
    }

    async fn ask(
        &self,
        spool: &Spool,
        of: Of,
        conversation: Option<String>,
    ) -> Result<Came, KeepError> {
        let Some(credential) = self.ctx.legacy_credential(of.account).await? else {
            return Ok(Came::NotYet(
                "the account has no credential for the legacy provider".to_owned(),
            ));
        };
        let reference = LegacyReference {
            call: CallHandle(of.id),
            conversation,
        };
        let to = blocking(spool, move |spool| spool.fresh(of)).await?;
        let asked = self
            .providers
            .legacy
            .recording(&credential, &reference, to)
            .await;
        Ok(match asked {
            Ok(true) => Came::Whole,
            Ok(false) => Came::NotYet("the legacy provider does not have it yet".to_owned()),
            Err(error @ RecordingError::Unusable(_)) => Came::Never(error.to_string()),
            Err(error) => Came::NotYet(error.to_string()),
        })
    }
}

/// Also deletes what has been fetched so far.
fn give_up(spool: &Spool, of: Of) -> io::Result<()> {
    spool.discard(of)?;
    spool.forget(of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_down_is_read_again_and_nonsense_is_over() {
        for conversation in [None, Some("conv_1".to_owned())] {
            let note = Note {
                until: 1_777_000_000,
                conversation,
            };
            assert_eq!(Note::read(&note.text()), note);
            let at = |seconds: i64| Timestamp::from_micros(seconds * 1_000_000);
            assert!(!note.is_over(at(1_776_999_999)) && note.is_over(at(1_777_000_000)));
        }
        assert!(Note::read("").is_over(Timestamp::from_micros(0)));
    }
}
