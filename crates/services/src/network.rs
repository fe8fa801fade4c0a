//! The phone network that calls go through.

use std::sync::Arc;

use async_trait::async_trait;
use offhook_domain::{
    AccountId, CallHandle, CredentialProvider, E164, FailureReason, NumberProvider,
};
use offhook_engine::ports::audio::{AudioCarrier, AudioLeg};
use offhook_engine::ports::{Carrier, DialError, DialRequest};
use offhook_storage::{Conversation, StoreError};

use crate::Shared;

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

    /// Has calls to these numbers, which an account's own credential opens, come in here.
    pub(crate) async fn receive(
        &self,
        credential: &str,
        numbers: &[E164],
    ) -> Result<(), DialError> {
        match self {
            Self::Text(_) => Ok(()),
            Self::Spoken(carrier) => carrier.receive(credential, numbers).await,
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

/// By whose login at the carrier a number's calls go.
pub(crate) enum Login {
    /// The deployment's.
    Ours,
    /// That of the account which has the number; `None` if it has removed its credential.
    Own(Option<String>),
}

impl Shared {
    /// By whose login the calls of a number go. With `account` the number counts only as that account's.
    pub(crate) async fn own_login(
        &self,
        number: &E164,
        account: Option<AccountId>,
    ) -> Result<Login, StoreError> {
        let Some((provider, _)) = self.network.lists_numbers() else {
            return Ok(Login::Ours);
        };
        let owner = self.store.owner_of_number(number.clone()).await?;
        let owner = owner.filter(|(owner, _)| account.is_none_or(|account| account == *owner));
        let Some((owner, true)) = owner else {
            return Ok(Login::Ours);
        };
        Ok(Login::Own(
            self.store.credential_secret(owner, provider).await?,
        ))
    }

    /// The network of a call: as the account has it by whose number it goes.
    pub(crate) async fn network_of(&self, call: &Conversation) -> Result<Network, StoreError> {
        let ours = match call.is_inbound() {
            true => call.to_number.as_ref(),
            false => call.from_number.as_ref(),
        };
        let (Network::Spoken(carrier), Some(ours)) = (&self.network, ours) else {
            return Ok(self.network.clone());
        };
        Ok(match self.own_login(ours, Some(call.account_id)).await? {
            Login::Ours => self.network.clone(),
            Login::Own(credential) => {
                let own = credential.and_then(|credential| carrier.of_account(&credential));
                Network::Spoken(own.unwrap_or_else(|| Arc::new(NoLogin)))
            }
        })
    }
}

/// The network of an account that has no login any more.
struct NoLogin;

#[async_trait]
impl AudioCarrier for NoLogin {
    async fn dial(&self, _: DialRequest) -> Result<AudioLeg, DialError> {
        Err(DialError::Refused(FailureReason::Rejected))
    }

    async fn hang_up_orphan(&self, _: CallHandle) -> Result<(), DialError> {
        Err(DialError::Refused(FailureReason::Rejected))
    }
}
