//! The phone network that calls go through.

use async_trait::async_trait;
use offhook_engine::ports::audio::{AudioCarrier, AudioLeg};
use offhook_engine::ports::{Carrier, DialError, DialRequest};

use crate::prelude::*;

/// The phone network of a process.
#[derive(Clone)]
pub enum Network {
    /// The simulated network: its callers exchange text.
    Text(Arc<dyn Carrier>),
    /// A network with audio. Each call gets a recognizer and a voice by its agent's configuration.
    Spoken(Arc<dyn AudioCarrier>),
}

impl Network {
    /// Whether calls have audio, so that agents need speech-to-text and a voice.
    pub(crate) const fn is_spoken(&self) -> bool {
        matches!(self, Self::Spoken(_))
    }

    /// Whether the network is known to be unreachable now (`upstream_unreachable`).
    pub(crate) fn is_down(&self) -> bool {
        match self {
            Self::Text(carrier) => carrier.is_down(),
            Self::Spoken(carrier) => carrier.is_down(),
        }
    }

    /// A number that every account may call from.
    pub(crate) fn shared_number(&self) -> Option<E164> {
        match self {
            Self::Text(carrier) => carrier.shared_number(),
            Self::Spoken(carrier) => carrier.shared_number(),
        }
    }

    /// The provider whose numbers calls go out from; `None` allows any.
    pub(crate) fn number_provider(&self) -> Option<NumberProvider> {
        match self {
            Self::Text(_) => None,
            Self::Spoken(carrier) => Some(carrier.number_provider()),
        }
    }

    /// The provider of the account credential that lists its numbers, and of those numbers. `None` for a trunk: it
    /// belongs to the deployment, and the operator assigns its numbers.
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

    /// The numbers that an account's own credential lists.
    pub(crate) async fn numbers(&self, credential: &str) -> Result<Vec<E164>, DialError> {
        match self {
            Self::Text(carrier) => carrier.numbers(credential).await,
            Self::Spoken(carrier) => carrier.numbers(credential).await,
        }
    }

    /// Routes calls to these numbers, which an account's own credential lists, to this service.
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

    /// What another process needs, besides the handle, to end this process's answered call.
    pub(crate) fn dialog(&self, handle: CallHandle) -> Option<String> {
        match self {
            Self::Text(_) => None,
            Self::Spoken(carrier) => carrier.dialog(handle),
        }
    }

    /// The same for a call that is not answered yet.
    pub(crate) fn early_dialog(&self, handle: CallHandle) -> Option<String> {
        match self {
            Self::Text(_) => None,
            Self::Spoken(carrier) => carrier.early_dialog(handle),
        }
    }

    /// Ends a call whose owner died, if it still continues, by its stored [`dialog`](Self::dialog). After an error, the
    /// network did not confirm, and the caller may retry.
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

/// The login at the carrier that a number's calls use.
pub(crate) enum Login {
    /// The deployment's.
    Ours,
    /// That of the number's account; `None` if it has removed its credential.
    Own(Option<String>),
}

impl Providers {
    /// The login that a number's calls use. With `account`, the number counts only as that account's.
    pub(crate) async fn own_login(
        &self,
        store: &Store,
        number: &E164,
        account: Option<AccountId>,
    ) -> Result<Login, StoreError> {
        let Some((provider, _)) = self.network.lists_numbers() else {
            return Ok(Login::Ours);
        };
        let owner = store.owner_of_number(number.clone()).await?;
        let owner = owner.filter(|(owner, _)| account.is_none_or(|account| account == *owner));
        let Some((owner, true)) = owner else {
            return Ok(Login::Ours);
        };
        Ok(Login::Own(store.credential_secret(owner, provider).await?))
    }

    /// The network of a call, with the login of our number's account.
    pub(crate) async fn network_of(
        &self,
        store: &Store,
        call: &Conversation,
    ) -> Result<Network, StoreError> {
        let ours = match call.is_inbound() {
            true => call.to_number.as_ref(),
            false => call.from_number.as_ref(),
        };
        let (Network::Spoken(carrier), Some(ours)) = (&self.network, ours) else {
            return Ok(self.network.clone());
        };
        Ok(
            match self.own_login(store, ours, Some(call.account_id)).await? {
                Login::Ours => self.network.clone(),
                Login::Own(credential) => {
                    let own = credential.and_then(|credential| carrier.of_account(&credential));
                    Network::Spoken(own.unwrap_or_else(|| Arc::new(NoLogin)))
                }
            },
        )
    }
}

/// The network of an account that no longer has a login.
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
