//! What the engine does to a leg: it speaks, presses keys, hands over, hangs up.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use offhook_domain::E164;
use offhook_engine::ports::LineError;
use offhook_engine::ports::audio::{
    Cleared, Played, Playout, SegmentId, Signalling, Tick as EngineTick,
};
use offhook_media::playout::{self, Segment, Speaker};
use offhook_media::pump::{Outlet, Pump, SendKeysError, Tick};
use tokio::sync::mpsc;

use super::lock;
use crate::call::{CallControl, TransferError};

/// The playout queue as the engine knows it.
pub(super) struct Mouth {
    speaker: Speaker,
    /// A pause stays when the queue is cleared.
    paused: Mutex<bool>,
}

impl Mouth {
    pub(super) fn new(speaker: Speaker) -> Self {
        Self {
            speaker,
            paused: Mutex::default(),
        }
    }
}

impl Playout for Mouth {
    fn enqueue(&self, segment: SegmentId, samples: &[i16]) {
        self.speaker.enqueue(Segment(segment.0), samples);
    }

    fn finish(&self, segment: SegmentId) {
        self.speaker.finish(Segment(segment.0));
    }

    fn pause(&self) {
        let mut paused = lock(&self.paused);
        *paused = true;
        self.speaker.pause();
    }

    fn resume(&self) {
        let mut paused = lock(&self.paused);
        *paused = false;
        self.speaker.resume();
    }

    fn set_background(&self, samples: Arc<[i16]>) {
        self.speaker.set_background(samples);
    }

    fn clear(&self) -> Vec<Cleared> {
        let paused = lock(&self.paused);
        let cleared = self.speaker.clear();
        if *paused {
            self.speaker.pause();
        }
        cleared
            .into_iter()
            .map(|cleared| Cleared {
                segment: SegmentId(cleared.segment.0),
                played: cleared.played,
                enqueued: cleared.enqueued,
                finished: cleared.finished,
            })
            .collect()
    }
}

/// What became of a segment, in the engine's words.
pub(super) fn played(played: playout::Played) -> Played {
    match played {
        playout::Played::Began(segment, at) => Played::Began(SegmentId(segment.0), at),
        playout::Played::Ended(segment, at) => Played::Ended(SegmentId(segment.0), at),
    }
}

/// Where the pump puts what it makes.
pub(super) struct Ear {
    pub(super) ticks: mpsc::Sender<EngineTick>,
    pub(super) keys: mpsc::UnboundedSender<char>,
}

impl Outlet for Ear {
    fn tick(&mut self, tick: Tick) -> bool {
        let tick = EngineTick {
            number: tick.number,
            heard: tick.heard,
            lost: tick.lost,
            said: tick.said,
        };
        self.ticks.try_send(tick).is_ok()
    }

    fn key(&mut self, key: char) {
        let _ = self.keys.send(key);
    }
}

/// The sound of a call, once there is any.
#[derive(Default)]
pub(super) struct Sound {
    pub(super) pump: Mutex<Option<Pump>>,
    /// The other side takes telephone-events.
    pub(super) takes_keys: AtomicBool,
}

/// The way to do something to the call.
pub(super) struct Line {
    pub(super) control: CallControl,
    pub(super) sound: Arc<Sound>,
}

#[async_trait]
impl Signalling for Line {
    async fn transfer(&self, to: &E164) -> Result<(), LineError> {
        self.control
            .transfer(to)
            .await
            .map_err(|error| match error {
                TransferError::Gone => LineError::Gone,
                TransferError::Refused(_) | TransferError::Unconfirmed => LineError::Refused,
            })
    }

    async fn send_digits(&self, digits: &str) -> Result<(), LineError> {
        if !self.sound.takes_keys.load(Ordering::Relaxed) {
            return Err(LineError::Refused);
        }
        let sending = lock(&self.sound.pump)
            .as_ref()
            .map(|pump| pump.send_keys(digits));
        match sending {
            None => Err(LineError::Gone),
            Some(sending) => sending.await.map_err(|error| match error {
                SendKeysError::NoKey(_) => LineError::Refused,
                SendKeysError::Ended => LineError::Gone,
            }),
        }
    }

    async fn hang_up(&self) {
        self.control.hang_up().await;
    }
}
