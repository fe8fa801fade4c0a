//! The engine's actions on a leg: playout, keys, transfer, hangup.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use offhook_domain::E164;
use offhook_engine::ports::LineError;
use offhook_engine::ports::audio::Signalling;
use offhook_media::pump::{Outlet, Pump, SendKeysError, Tick};
use parking_lot::Mutex;
use tokio::sync::mpsc;

use crate::call::{CallControl, TransferError};

/// Receives the pump's output.
pub(super) struct SpeechInput {
    pub(super) ticks: mpsc::Sender<Tick>,
    pub(super) keys: mpsc::UnboundedSender<char>,
}

impl Outlet for SpeechInput {
    fn tick(&mut self, tick: Tick) -> bool {
        self.ticks.try_send(tick).is_ok()
    }

    fn key(&mut self, key: char) {
        let _ = self.keys.send(key);
    }
}

/// The audio of a call, once it has started.
#[derive(Default)]
pub(super) struct Sound {
    pub(super) pump: Mutex<Option<Pump>>,
    /// The other side accepts telephone-events.
    pub(super) takes_keys: AtomicBool,
}

/// The actions on the call.
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
        let sending = self
            .sound
            .pump
            .lock()
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
