//! The recording of a call under way.

use futures_util::FutureExt as _;

use offhook_engine::ports::audio::Recorder;
use offhook_media::recorder;
use offhook_metrics::metrics;

use super::Recordings;
use super::kept::Held;
use super::spool::{Of, Spool};
use crate::prelude::*;

/// Records both sides of a call, if its agent's configuration enables it. Dropping the recorder ends the recording and
/// starts its upload. Call it within a runtime; it does not block.
pub(crate) fn recorder_for(
    recordings: &Arc<Recordings>,
    call: &Conversation,
    config: &AgentConfig,
) -> Option<Box<dyn Recorder>> {
    if !config.conversation.recording.enabled {
        return None;
    }
    let of = Of {
        account: call.account_id,
        id: call.id,
    };
    let (Some(spool), Some(held)) = (recordings.spool.get(), recordings.busy.take(of.id)) else {
        metrics().recordings.failed();
        tracing::error!(call = %call.id, "a call is not recorded: there is no place for its recording");
        return None;
    };
    let place = spool.clone();
    let (recorder, written) = recorder::Recorder::begin(move || place.create(of));
    tokio::spawn(end(recordings.clone(), spool.clone(), written, of, held).boxed());
    Some(Box::new(recorder))
}

/// Waits for the recording to be written, then uploads it. A full disk ends it before its call.
async fn end(
    recordings: Arc<Recordings>,
    spool: Spool,
    written: recorder::Written,
    of: Of,
    _held: Held,
) {
    if let Err(error) = written.wait().await {
        metrics().recordings.failed();
        tracing::error!(%error, call = %of.id, "a recording ended before its call: see that the data directory's disk has room");
    }
    if let Err(error) = recordings.keep(&spool, of).await {
        tracing::warn!(%error, call = %of.id, "a recording waits on this machine, and is tried again");
    }
}
