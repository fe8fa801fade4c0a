//! Adapts a phone network with audio to the session's carrier port.

use std::sync::Arc;

use async_trait::async_trait;
use offhook_domain::{CallHandle, E164, FailureReason};
use parking_lot::Mutex;

use super::{SpokenSettings, spoken_leg};
use crate::ports::audio::AudioCarrier;
use crate::ports::{Carrier, DialError, DialRequest, Leg};

/// Dials one call on a network, with this call's speech settings.
pub struct SpokenCarrier {
    network: Arc<dyn AudioCarrier>,
    /// `None` once a call has taken them.
    settings: Mutex<Option<SpokenSettings>>,
}

impl SpokenCarrier {
    pub fn new(network: Arc<dyn AudioCarrier>, settings: SpokenSettings) -> Self {
        Self {
            network,
            settings: Mutex::new(Some(settings)),
        }
    }
}

#[async_trait]
impl Carrier for SpokenCarrier {
    async fn dial(&self, request: DialRequest) -> Result<Leg, DialError> {
        let leg = self.network.dial(request).await?;
        let settings = self.settings.lock().take();
        match settings {
            Some(settings) => Ok(spoken_leg(leg, settings)),
            // Dropping the leg hangs up: a second call has no agent.
            None => Err(DialError::Refused(FailureReason::CarrierError)),
        }
    }

    async fn hang_up_orphan(&self, handle: CallHandle) -> Result<(), DialError> {
        self.network.hang_up_orphan(handle).await
    }

    fn is_down(&self) -> bool {
        self.network.is_down()
    }

    fn shared_number(&self) -> Option<E164> {
        self.network.shared_number()
    }
}
