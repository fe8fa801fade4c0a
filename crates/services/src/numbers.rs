//! Phone numbers.

pub(crate) mod ownership;

use offhook_domain::body::{Change, Clearable, Id, Optional, Phone, Required, Text};
use offhook_engine::ports::DialError;

use crate::Network;
use crate::error::Result;
use crate::prelude::*;

const LABEL: std::ops::RangeInclusive<usize> = 0..=120;

body! {
    /// `POST /v1/phone-numbers`.
    #[derive(Debug)]
    pub CreatePhoneNumber {
        phone_number: E164, Required(Phone), "An available number of the simulated network, +15005550000 to +15005559999.";
        label: Option<String>, Optional(Text(LABEL)), "A label, at most 120 characters.";
        agent_id: Option<AgentId>, Optional(Id::of()), "The agent to assign.";
    }
}

body! {
    /// `PATCH /v1/phone-numbers/{id}`.
    #[derive(Debug)]
    pub UpdatePhoneNumber {
        label: Option<String>, Change(Text(LABEL)), "A label, at most 120 characters.";
        agent_id: Option<Option<AgentId>>, Clearable(Id::of()), "The agent to assign; null unassigns.";
    }
}

/// The result of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Imported {
    /// Numbers that are new to the account.
    pub imported: usize,
    /// Numbers that it already had.
    pub already_present: usize,
}

#[derive(Clone)]
pub struct Numbers {
    pub(crate) ctx: Arc<Context>,
    pub(crate) network: Network,
}

#[boxed]
impl Numbers {
    /// Lists the account's numbers, newest first; with `agent`, only that agent's.
    pub async fn list(
        &self,
        account: AccountId,
        agent: Option<AgentId>,
        page: PageRequest<PhoneNumberId>,
    ) -> Result<Page<PhoneNumber>, StoreError> {
        let store = &self.ctx.store;
        page.read(|after, limit| store.numbers(account, agent, after, limit))
            .await
    }

    pub async fn get(&self, account: AccountId, id: PhoneNumberId) -> Result<PhoneNumber> {
        self.ctx
            .store
            .number(account, id)
            .await?
            .ok_or(UseCaseError::NotFound)
    }

    /// Takes a number of the simulated network: `{phone_number, label?, agent_id?}`.
    pub async fn create(&self, account: AccountId, body: &Json) -> Result<PhoneNumber> {
        let sent = CreatePhoneNumber::of(body, &())?;
        self.check_network()?;
        if !self.are_given_freely() {
            return Err(UseCaseError::Conflict(Refusal::NumbersByImport));
        }
        if !self.network.gives(&sent.phone_number) {
            return Err(UseCaseError::Conflict(Refusal::NumberNotListed));
        }
        let at = self.ctx.clock.now();
        let number = PhoneNumber {
            id: mint(at),
            account_id: account,
            phone_number: sent.phone_number,
            label: sent.label.unwrap_or_default(),
            provider: NumberProvider::Simulator,
            agent_id: sent.agent_id,
            created_at: at,
            updated_at: at,
            is_proven: true,
            at_legacy: false,
            by_credential: false,
        };
        match ownership::give(&self.ctx.store, number, false).await {
            // Who has it is nobody else's business.
            Err(UseCaseError::Conflict(Refusal::NumberOfAnother)) => {
                Err(UseCaseError::Conflict(Refusal::NumberNotListed))
            }
            given => given?.ok_or(UseCaseError::Conflict(Refusal::NumberAlreadyOurs)),
        }
    }

    /// Gives a number to an account, on the operator's behalf. A named agent answers the calls to it.
    pub async fn add(
        &self,
        account: AccountId,
        phone_number: E164,
        label: &str,
        (provider, agent_id): (NumberProvider, Option<AgentId>),
    ) -> Result<PhoneNumber> {
        if label.chars().count() > *LABEL.end() {
            return Err(FieldError::new("label", Fault::TooLong(*LABEL.end())).into());
        }
        if self.ctx.store.account(account).await?.is_none() {
            return Err(UseCaseError::Conflict(Refusal::NoSuchAccount(account)));
        }
        let at = self.ctx.clock.now();
        let number = PhoneNumber {
            id: mint(at),
            account_id: account,
            phone_number,
            label: label.to_owned(),
            provider,
            agent_id,
            created_at: at,
            updated_at: at,
            is_proven: true,
            at_legacy: false,
            by_credential: false,
        };
        let given = ownership::give(&self.ctx.store, number, true).await?;
        given.ok_or(UseCaseError::Conflict(Refusal::NumberAlreadyOurs))
    }

    /// Whether accounts can take numbers themselves here; otherwise the operator assigns them.
    pub fn are_taken_by_accounts(&self) -> bool {
        self.network.lists_numbers().is_some()
    }

    /// Whether an account may take a number of the network without a credential of its own.
    pub fn are_given_freely(&self) -> bool {
        !self.network.is_spoken()
    }

    /// Checks that an account can take numbers itself here.
    fn check_network(&self) -> Result<(CredentialProvider, NumberProvider)> {
        let lists = self.network.lists_numbers();
        lists.ok_or(UseCaseError::Conflict(Refusal::NumbersByOperator))
    }

    /// The carrier whose numbers an account can import; `None` where the operator gives out numbers.
    pub fn carrier(&self) -> Option<CredentialProvider> {
        self.network.lists_numbers().map(|(provider, _)| provider)
    }

    /// Imports the numbers that the account's own carrier credential lists, and routes their calls to this service. A
    /// partly failed import can be retried.
    pub async fn import(&self, account: AccountId) -> Result<Imported> {
        let (provider, of) = self.check_network()?;
        let store = &self.ctx.store;
        let Some(secret) = store.credential_secret(account, provider).await? else {
            return Err(UseCaseError::Conflict(Refusal::NoCarrierCredential {
                account,
                provider,
            }));
        };
        let listed = self.network.numbers(&secret).await;
        let listed = listed.map_err(|error| not_listed(provider, error))?;
        let at = self.ctx.clock.now();
        let (mut imported, mut ours) = (Imported::default(), Vec::new());
        for phone_number in listed {
            let number = PhoneNumber {
                id: mint(at),
                account_id: account,
                phone_number: phone_number.clone(),
                label: String::new(),
                provider: of,
                agent_id: None,
                created_at: at,
                updated_at: at,
                is_proven: true,
                at_legacy: false,
                by_credential: self.network.is_spoken(),
            };
            match ownership::give(store, number, false).await {
                // Another account was first.
                Err(UseCaseError::Conflict(Refusal::NumberOfAnother)) => continue,
                given => match given? {
                    Some(_) => imported.imported += 1,
                    None => imported.already_present += 1,
                },
            }
            ours.push(phone_number);
        }
        let received = self.network.receive(&secret, &ours).await;
        received.map_err(|error| not_received(provider, error))?;
        Ok(imported)
    }

    /// Changes a number: `{label?, agent_id?}`; a null `agent_id` removes the agent.
    pub async fn update(
        &self,
        account: AccountId,
        id: PhoneNumberId,
        body: &Json,
    ) -> Result<PhoneNumber> {
        let sent = UpdatePhoneNumber::of(body, &())?;
        let change = NumberChange {
            label: sent.label,
            agent: sent.agent_id,
        };
        if change.label.is_none() && change.agent.is_none() {
            return self.get(account, id).await;
        }
        let (store, at) = (&self.ctx.store, self.ctx.clock.now());
        ownership::change(store, (account, id), change, at).await
    }

    /// Releases a number.
    pub async fn delete(&self, account: AccountId, id: PhoneNumberId) -> Result<()> {
        UseCaseError::unless_found(self.ctx.store.delete_number(account, id).await?)
    }
}

/// Why a carrier did not list an account's numbers, without the carrier's own words.
fn not_listed(provider: CredentialProvider, error: DialError) -> UseCaseError {
    match (provider, error) {
        // A retry would not help.
        (CredentialProvider::Twilio, DialError::Refused(FailureReason::Rejected)) => {
            UseCaseError::Conflict(Refusal::CredentialRefused)
        }
        (CredentialProvider::Twilio, _) => UseCaseError::Upstream(Refusal::TwilioList),
        (_, DialError::Refused(_)) => UseCaseError::Upstream(Refusal::CarrierCredential),
        (_, error) => UseCaseError::Upstream(Refusal::CarrierFailed(error.to_string())),
    }
}

/// Why calls to imported numbers do not come in.
fn not_received(provider: CredentialProvider, error: DialError) -> UseCaseError {
    tracing::warn!(provider = provider.as_str(), %error, "calls to imported numbers do not come in");
    UseCaseError::Upstream(Refusal::CallsNotReceived)
}
