//! What lies between the end of a turn, as the recogniser tells it, and the first sound of the reply in the queue.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use offhook_domain::CallHandle;
use offhook_engine::ports::audio::{AudioCarrier, AudioLeg, Cleared, Playout, SegmentId};
use offhook_engine::ports::{DialError, DialRequest};
use tokio::time::Instant;

use super::lock;

/// The times of all calls, in milliseconds.
#[derive(Default)]
pub(super) struct Added(Mutex<Vec<f64>>);

impl Added {
    pub(super) fn take(&self) -> Vec<f64> {
        std::mem::take(&mut lock(&self.0))
    }
}

/// One call's way from the end of a turn to the reply.
pub(super) struct Way {
    ended_at: Mutex<Option<Instant>>,
    added: Arc<Added>,
}

impl Way {
    pub(super) const fn new(added: Arc<Added>) -> Self {
        Self {
            ended_at: Mutex::new(None),
            added,
        }
    }

    /// The recogniser tells that a turn is over.
    pub(super) fn turn_ends(&self) {
        *lock(&self.ended_at) = Some(Instant::now());
    }

    fn sounds(&self) {
        if let Some(ended_at) = lock(&self.ended_at).take() {
            let took = ended_at.elapsed().as_secs_f64() * 1e3;
            lock(&self.added.0).push(took);
        }
    }
}

/// A network whose calls tell when sound is put into their queue.
pub(super) struct Noting {
    network: Arc<dyn AudioCarrier>,
    way: Arc<Way>,
}

impl Noting {
    pub(super) fn new(network: Arc<dyn AudioCarrier>, way: Arc<Way>) -> Self {
        Self { network, way }
    }
}

#[async_trait]
impl AudioCarrier for Noting {
    async fn dial(&self, request: DialRequest) -> Result<AudioLeg, DialError> {
        let leg = self.network.dial(request).await?;
        let queue = Queue {
            playout: leg.playout,
            way: Arc::clone(&self.way),
        };
        Ok(AudioLeg {
            playout: Arc::new(queue),
            ..leg
        })
    }

    async fn hang_up_orphan(&self, handle: CallHandle) -> Result<(), DialError> {
        self.network.hang_up_orphan(handle).await
    }
}

struct Queue {
    playout: Arc<dyn Playout>,
    way: Arc<Way>,
}

impl Playout for Queue {
    fn enqueue(&self, segment: SegmentId, samples: &[i16]) {
        self.playout.enqueue(segment, samples);
        self.way.sounds();
    }

    fn finish(&self, segment: SegmentId) {
        self.playout.finish(segment);
    }

    fn pause(&self) {
        self.playout.pause();
    }

    fn resume(&self) {
        self.playout.resume();
    }

    fn clear(&self) -> Vec<Cleared> {
        self.playout.clear()
    }

    fn set_background(&self, sound: Arc<[i16]>) {
        self.playout.set_background(sound);
    }
}
