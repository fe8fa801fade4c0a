//! Webhook endpoints and their deliveries.

mod looks;
mod of_conversation;

use futures_util::Stream;
use std::sync::atomic::Ordering;

use offhook_domain::body::{
    Change, Clearable, Form, Instant, Integer, Like, Optional, Required, Text, Word, Words,
};
use offhook_egress::{Policy, TargetUrl};
use offhook_signing::SigningSecret;
use ring::rand::SystemRandom;
use tokio::time::timeout;
use uuid::Uuid;

use crate::error::Result;
use crate::events;
use crate::prelude::*;
use crate::signals::Signal;
use crate::tail::{Followed, READ_AT_ONCE, tail};

const ENDPOINTS_AT_MOST: i64 = 20;

/// How long after its time an event may be committed and still be followed.
const COMMITTED_WITHIN: Duration = Duration::from_secs(15);

/// How far back `recover` reaches: as long as payloads are kept.
const RECOVER_AT_MOST: Duration = BODIES_KEPT;

/// How long enabling an endpoint waits for deliveries that are still being cancelled since it was disabled.
const CANCELLING_AT_MOST: Duration = Duration::from_secs(2);

const DESCRIPTION: std::ops::RangeInclusive<usize> = 0..=500;

body! {
    /// `POST /v1/webhooks`.
    #[derive(Debug)]
    pub CreateWebhook(policy: Policy = &Policy::default()) {
        url: String, Required(target(*policy)), "The URL that receives events: public https, at most 2,048 characters.";
        description: Option<String>, Optional(Text(DESCRIPTION)), "A note, at most 500 characters.";
        events: Option<Vec<EventType>>, Optional(Words::of()), "The event types it receives (default `call.initiated`, `call.completed` and `call.failed`).";
    }
}

body! {
    /// `PATCH /v1/webhooks/{id}`.
    #[derive(Debug)]
    pub UpdateWebhook(policy: Policy = &Policy::default()) {
        url: Option<String>, Change(target(*policy)), "The URL that receives events: public https, at most 2,048 characters.";
        description: Option<Option<String>>, Clearable(Text(DESCRIPTION)), "A note, at most 500 characters.";
        events: Option<Option<Vec<EventType>>>, Clearable(Words::of()), "The event types it receives from now on; null restores the default.";
        status: Option<EndpointStatus>, Change(Word::of()), "`disabled` cancels pending deliveries. After `enabled`, `recover` sends missed ones.";
    }
}

body! {
    /// `POST /v1/webhooks/{id}/rotate-secret`.
    #[derive(Debug)]
    pub RotateSecret {
        overlap_hours: Option<i64>, Optional(Integer(0..=168)), "Hours during which the old secret also signs, 0 to 168 (default 0).";
    }
}

body! {
    /// `POST /v1/webhooks/{id}/test`.
    #[derive(Debug)]
    pub TestWebhook {
        r#type: Option<EventType>, Optional(Word::of()), "The event to send (default `call.completed`).";
    }
}

body! {
    /// `POST /v1/webhooks/{id}/recover`.
    #[derive(Debug)]
    pub Recover(now: Timestamp = &Timestamp::from_micros(0)) {
        since: Timestamp, Required(Like(Instant, since(*now))), "ISO 8601, at most 14 days back: undelivered deliveries created since then are sent again.";
    }
}

/// A URL that events may go to, in its normal form.
fn target(policy: Policy) -> impl Form<Value = String> {
    Like(
        Text(1..=2_048),
        move |fields: &mut Fields<'_>, name: &str| {
            let url = fields.required_string(name, 1..=2_048)?;
            let target = TargetUrl::parse(url, policy);
            target
                .map(|target| target.as_str().to_owned())
                .map_err(|error| fields.fault(name, error))
        },
    )
}

/// An instant of the last 14 days.
fn since(now: Timestamp) -> impl Fn(&mut Fields<'_>, &str) -> Result<Timestamp, FieldError> {
    move |fields, name| {
        let since = Instant.read(fields, name)?;
        if since < now.minus(RECOVER_AT_MOST) {
            return Err(fields.fault(name, Fault::TooOld));
        }
        match since > now {
            true => Err(fields.fault(name, Fault::Future)),
            false => Ok(since),
        }
    }
}

/// An endpoint with its secret, which is shown only here.
#[derive(Debug, Clone)]
pub struct Registered {
    pub view: EndpointView,
    /// The whole secret.
    pub secret: String,
}

#[derive(Clone)]
pub struct Webhooks {
    pub(crate) ctx: Arc<Context>,
    pub(crate) live: Arc<Live>,
    /// The URLs that webhooks may point to.
    pub(crate) policy: Policy,
}

/// An example of each event type's envelope, for `GET /v1/webhooks/events`.
pub fn event_example(kind: EventType) -> Vec<u8> {
    // 2026-01-01T12:00:00Z
    events::example(kind, Timestamp::from_micros(1_767_268_800_000_000)).body
}

#[boxed]
impl Webhooks {
    /// Lists endpoints, newest first.
    pub async fn list(
        &self,
        account: AccountId,
        page: PageRequest<EndpointId>,
    ) -> Result<Page<EndpointView>, StoreError> {
        let store = &self.ctx.store;
        page.read(|after, limit| store.endpoints(account, after, limit))
            .await
    }

    /// The account's events as they come to be, behind the event `after`, whether it has endpoints or not.
    pub async fn follow(
        &self,
        account: AccountId,
        after: Option<Uuid>,
    ) -> Result<
        Followed<impl Stream<Item = Result<AccountEvent, StoreError>> + Send + use<>>,
        StoreError,
    > {
        let ctx = self.ctx.clone();
        let key = |event: &AccountEvent| (event.created_at, event.id.uuid());
        tail(ctx.clone(), after, COMMITTED_WITHIN, key, move |since| {
            let ctx = ctx.clone();
            async move {
                let events = ctx.store.events_since(account, since, READ_AT_ONCE);
                events.await
            }
        })
        .await
    }

    pub async fn get(&self, account: AccountId, id: EndpointId) -> Result<EndpointView> {
        self.ctx
            .store
            .endpoint(account, id)
            .await?
            .ok_or(UseCaseError::NotFound)
    }

    /// Registers an endpoint: `{url, description?, events?}`.
    pub async fn create(&self, account: AccountId, body: &Json) -> Result<Registered> {
        let CreateWebhook {
            url,
            description,
            events,
        } = CreateWebhook::of(body, &self.policy)?;
        let secret = self.fresh_secret()?;
        let at = self.ctx.clock.now();
        let endpoint = Endpoint {
            id: mint(at),
            account_id: account,
            url,
            description,
            status: EndpointStatus::Enabled,
            disabled_reason: None,
            events: events.map(|events| events.into_iter().collect()),
            created_at: at,
            updated_at: at,
        };
        let (shown, prefix) = (secret.expose(), secret.prefix());
        let made = self
            .ctx
            .store
            .create_endpoint(endpoint.clone(), shown, prefix, ENDPOINTS_AT_MOST)
            .await?;
        if !made {
            return Err(UseCaseError::Conflict(Refusal::TooManyEndpoints(
                ENDPOINTS_AT_MOST,
            )));
        }
        let view = EndpointView {
            endpoint,
            secret_prefix: prefix.to_owned(),
        };
        Ok(Registered {
            view,
            secret: shown.to_owned(),
        })
    }

    /// Changes an endpoint: `{url?, description?, events?, status?}`. Disabling cancels due deliveries.
    /// [`UseCaseError::StillCancelling`] if it is too soon to enable it.
    pub async fn update(
        &self,
        account: AccountId,
        id: EndpointId,
        body: &Json,
    ) -> Result<EndpointView> {
        let sent = UpdateWebhook::of(body, &self.policy)?;
        let change = EndpointChange {
            url: sent.url,
            description: sent.description,
            status: sent.status,
            events: sent
                .events
                .map(|events| events.map(|events| events.into_iter().collect::<EventTypes>())),
        };
        let view = self.get(account, id).await?;
        if !changes(&change, &view.endpoint) {
            return Ok(view);
        }
        if change.status == Some(EndpointStatus::Enabled) {
            self.cancel_before_enabling(id).await?;
        }
        let (store, at) = (&self.ctx.store, self.ctx.clock.now());
        let changed = store.change_endpoint(account, id, change, at).await;
        self.count_change();
        changed?.ok_or(UseCaseError::NotFound)
    }

    /// Helps to cancel what was due when the endpoint was disabled, so that none of it is sent once it is enabled.
    async fn cancel_before_enabling(&self, id: EndpointId) -> Result<()> {
        let cancelling = async {
            while self.ctx.store.cancel_open_deliveries(id).await? > 0 {}
            Ok(())
        };
        timeout(CANCELLING_AT_MOST, cancelling)
            .await
            .unwrap_or(Err(UseCaseError::StillCancelling))
    }

    /// Has deliveries that were claimed for an endpoint before checked again before they are sent, also if it is
    /// unknown whether the change was made.
    fn count_change(&self) {
        let changes = &self.ctx.wakes.endpoint_changes;
        changes.fetch_add(1, Ordering::SeqCst);
        self.live.signals.say(Signal::Endpoints);
    }

    /// Deletes an endpoint and cancels its due deliveries.
    pub async fn delete(&self, account: AccountId, id: EndpointId) -> Result<()> {
        let at = self.ctx.clock.now();
        let deleted = self.ctx.store.delete_endpoint(account, id, at).await;
        self.count_change();
        UseCaseError::unless_found(deleted?)
    }

    /// Sets a new secret: `{overlap_hours? 0–168}`.
    pub async fn rotate(
        &self,
        account: AccountId,
        id: EndpointId,
        body: &Json,
    ) -> Result<Registered> {
        let hours = RotateSecret::of(body, &())?.overlap_hours.unwrap_or(0);
        let overlap = Duration::from_secs(u64::try_from(hours).unwrap_or(0) * 3_600);
        let secret = self.fresh_secret()?;
        let sealed = (secret.expose(), secret.prefix());
        let now = self.ctx.clock.now();
        let store = &self.ctx.store;
        let view = store.rotate_secret(account, id, sealed, overlap, now).await;
        self.count_change();
        let view = view?.ok_or(UseCaseError::NotFound)?;
        Ok(Registered {
            view,
            secret: secret.expose().to_owned(),
        })
    }

    /// The secrets that sign an endpoint's deliveries now, the current one first.
    pub async fn signing_now(&self, account: AccountId, id: EndpointId) -> Result<Vec<SigningNow>> {
        let now = self.ctx.clock.now();
        Ok(self.ctx.store.signing_now(account, id, now).await?)
    }

    /// Sends a test event to an endpoint: `{type?}`, by default `call.completed`.
    pub async fn test(&self, account: AccountId, id: EndpointId, body: &Json) -> Result<Delivery> {
        let kind = TestWebhook::of(body, &())?.r#type;
        let (store, at) = (&self.ctx.store, self.ctx.clock.now());
        let event = events::test(kind.unwrap_or(EventType::CallCompleted), at);
        let sent = store.send_test_event(account, id, event, at).await?;
        self.asked(sent)
    }

    fn asked(&self, sent: Resent) -> Result<Delivery> {
        match sent {
            Resent::Asked(delivery) => {
                self.ctx.wakes.dispatcher.notify_one();
                Ok(delivery)
            }
            Resent::Absent => Err(UseCaseError::NotFound),
            Resent::EndpointDisabled => Err(disabled()),
            Resent::BodyGone => Err(UseCaseError::Conflict(Refusal::PayloadGone)),
        }
    }

    /// Lists deliveries, newest first.
    pub async fn deliveries(
        &self,
        account: AccountId,
        filter: DeliveryFilter,
        page: PageRequest<DeliveryId>,
    ) -> Result<Page<Delivery>, StoreError> {
        let store = &self.ctx.store;
        page.read(|after, limit| store.deliveries(account, filter, after, limit))
            .await
    }

    /// A delivery with its payload and attempts.
    pub async fn delivery(&self, account: AccountId, id: DeliveryId) -> Result<DeliveryStory> {
        self.ctx
            .store
            .delivery(account, id)
            .await?
            .ok_or(UseCaseError::NotFound)
    }

    /// Requests one more attempt of a delivery.
    pub async fn redeliver(&self, account: AccountId, id: DeliveryId) -> Result<Delivery> {
        let at = self.ctx.clock.now();
        let sent = self.ctx.store.resend_delivery(account, id, at).await?;
        self.asked(sent)
    }

    /// Requests one more attempt of everything that an endpoint has missed: `{since}`, at most 14 days back.
    pub async fn recover(&self, account: AccountId, id: EndpointId, body: &Json) -> Result<i64> {
        let now = self.ctx.clock.now();
        let Recover { since } = Recover::of(body, &now)?;
        let recovering = self.ctx.store.recover_endpoint(account, id, since, now);
        match recovering.await? {
            Recovered::Asked(count) => {
                self.ctx.wakes.dispatcher.notify_one();
                Ok(count)
            }
            Recovered::Absent => Err(UseCaseError::NotFound),
            Recovered::EndpointDisabled => Err(disabled()),
        }
    }

    fn fresh_secret(&self) -> Result<SigningSecret, StoreError> {
        SigningSecret::generate(&SystemRandom::new())
            .map_err(|_| StoreError::Internal("the system gives no randomness".to_owned()))
    }
}

/// Whether a change has an effect: one without does not move `updated_at`.
fn changes(change: &EndpointChange, now: &Endpoint) -> bool {
    change.url.as_ref().is_some_and(|url| *url != now.url)
        || (change.description.as_ref()).is_some_and(|text| *text != now.description)
        || change.events.is_some_and(|events| events != now.events)
        || change.status.is_some_and(|status| status != now.status)
}

fn disabled() -> UseCaseError {
    UseCaseError::Conflict(Refusal::EndpointDisabled)
}
