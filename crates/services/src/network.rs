//! The phone network that calls go through.

use std::sync::Arc;

use offhook_domain::{CallHandle, CredentialProvider, E164, NumberProvider};
use offhook_engine::ports::audio::AudioCarrier;
use offhook_engine::ports::{Carrier, DialError};

/// The phone network of a process.
#[derive(Clone)]
pub enum Network {
    /// Its people read and write: the simulated one.
    Text(Arc<dyn Carrier>),
    /// Its people hear and speak. Each call gets an ear and a voice of its own, as its agent says.
    Spoken(Arc<dyn AudioCarrier>),
}

impl Network {
    /// Whether its people hear and speak, so that agents need an ear and a voice.
    pub(crate) const fn is_spoken(&self) -> bool {
        matches!(self, Self::Spoken(_))
    }

    /// Whether the network is known to be out of reach now (`upstream_unreachable`).
    pub(crate) fn is_down(&self) -> bool {
        match self {
            Self::Text(carrier) => carrier.is_down(),
            Self::Spoken(carrier) => carrier.is_down(),
        }
    }

    /// A number that every account may call from.
    pub(crate) fn ours(&self) -> Option<E164> {
        match self {
            Self::Text(carrier) => carrier.ours(),
            Self::Spoken(carrier) => carrier.ours(),
        }
    }

    /// Whose numbers calls go out from; `None`: anybody's.
    pub(crate) fn number_provider(&self) -> Option<NumberProvider> {
        match self {
            Self::Text(_) => None,
            Self::Spoken(carrier) => Some(carrier.number_provider()),
        }
    }

    /// Whose credential of an account opens its numbers, and whose they are then. `None`: a trunk is the deployment's, and
    /// its numbers are the operator's to give.
    pub(crate) fn lists_numbers(&self) -> Option<(CredentialProvider, NumberProvider)> {
        match self {
            Self::Text(_) => Some((CredentialProvider::Simulator, NumberProvider::Simulator)),
            Self::Spoken(carrier) if carrier.lists_numbers() => match carrier.number_provider() {
                NumberProvider::Twilio => {
                    Some((CredentialProvider::Twilio, NumberProvider::Twilio))
                }
                NumberProvider::Sip | NumberProvider::Simulator => None,
            },
            Self::Spoken(_) => None,
        }
    }

    /// The numbers that an account's own credential opens.
    pub(crate) async fn numbers(&self, credential: &str) -> Result<Vec<E164>, DialError> {
        match self {
            Self::Text(carrier) => carrier.numbers(credential).await,
            Self::Spoken(carrier) => carrier.numbers(credential).await,
        }
    }

    /// Whether an account may take this number without a credential of its own.
    pub(crate) fn gives(&self, number: &E164) -> bool {
        match self {
            Self::Text(carrier) => carrier.gives(number),
            Self::Spoken(_) => false,
        }
    }

    /// What another process needs, beside the handle, to end an answered call of this one.
    pub(crate) fn dialog(&self, handle: CallHandle) -> Option<String> {
        match self {
            Self::Text(_) => None,
            Self::Spoken(carrier) => carrier.dialog(handle),
        }
    }

    /// The same of a call that nobody has answered yet.
    pub(crate) fn early_dialog(&self, handle: CallHandle) -> Option<String> {
        match self {
            Self::Text(_) => None,
            Self::Spoken(carrier) => carrier.early_dialog(handle),
        }
    }

    /// Ends a call whose owner died, if it still goes on, by what was kept of its [`dialog`](Self::dialog).
    ///
    /// # Errors
    /// [`DialError`] if the network did not confirm; it may be asked again.
    pub(crate) async fn hang_up_orphan(
        &self,
        handle: CallHandle,
        dialog: Option<&str>,
    ) -> Result<(), DialError> {
        match (self, dialog) {
            (Self::Text(carrier), _) => carrier.hang_up_orphan(handle).await,
            (Self::Spoken(carrier), Some(dialog)) => carrier.hang_up_dialog(handle, dialog).await,
            (Self::Spoken(carrier), None) => carrier.hang_up_orphan(handle).await,
        }
    }
}
