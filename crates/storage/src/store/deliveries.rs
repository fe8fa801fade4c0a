//! Deliveries as customers see them: lists, repetitions, test events.

use offhook_domain::{AccountId, DeliveryId, EndpointId, Timestamp};

use super::{Answer, mint, read, write};
use crate::queries;
use crate::{Delivery, DeliveryState, DeliveryStory, EndpointStatus, NewEvent, Store, Verdict};

/// What became of a request for one more attempt.
#[derive(Debug, Clone)]
pub enum Resent {
    /// It will be made.
    Asked(Delivery),
    /// There is no such delivery.
    Absent,
    /// Its endpoint is disabled or gone.
    EndpointDisabled,
    /// What it carried has been taken away.
    BodyGone,
}

/// What became of a request to send again what an endpoint has missed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovered {
    /// So many deliveries will be attempted once more.
    Asked(i64),
    /// There is no such endpoint.
    Absent,
    /// It is disabled.
    EndpointDisabled,
}

impl Store {
    /// Writes a test event for one endpoint.
    pub fn send_test_event(
        &self,
        account: AccountId,
        endpoint: EndpointId,
        event: NewEvent,
        at: Timestamp,
    ) -> Answer<'_, Resent> {
        write!(self, |conn| {
            match queries::deliveries::endpoint_status(conn, account, endpoint).await? {
                None => return Ok(Verdict::Rollback(Resent::Absent)),
                Some(EndpointStatus::Disabled) => {
                    return Ok(Verdict::Rollback(Resent::EndpointDisabled));
                }
                Some(EndpointStatus::Enabled) => {}
            }
            let (event_id, kind) = (event.id, event.kind);
            queries::events::insert_event(conn, account, None, event, at).await?;
            let id: DeliveryId = mint(at);
            let row = queries::events::NewDelivery {
                id,
                account,
                endpoint,
                event: event_id,
                kind,
                waits_for: None,
                state: DeliveryState::Pending,
                at,
            };
            queries::events::insert_deliveries(conn, vec![row]).await?;
            let story = queries::deliveries::story(conn, account, id).await?;
            Ok(match story {
                Some(story) => Verdict::Commit(Resent::Asked(story.delivery)),
                None => Verdict::Rollback(Resent::Absent),
            })
        })
    }

    /// A delivery of the account with its payload and attempts.
    pub fn delivery(
        &self,
        account: AccountId,
        id: DeliveryId,
    ) -> Answer<'_, Option<DeliveryStory>> {
        read!(self, |conn| queries::deliveries::story(conn, account, id)
            .await)
    }

    /// Asks for one more attempt of a delivery.
    pub fn resend_delivery(
        &self,
        account: AccountId,
        id: DeliveryId,
        at: Timestamp,
    ) -> Answer<'_, Resent> {
        write!(self, |conn| {
            let Some(story) = queries::deliveries::story(conn, account, id).await? else {
                return Ok(Verdict::Rollback(Resent::Absent));
            };
            let endpoint = story.delivery.endpoint_id;
            match queries::deliveries::endpoint_status(conn, account, endpoint).await? {
                Some(EndpointStatus::Enabled) => {}
                Some(EndpointStatus::Disabled) | None => {
                    return Ok(Verdict::Rollback(Resent::EndpointDisabled));
                }
            }
            if story.payload.is_none() {
                return Ok(Verdict::Rollback(Resent::BodyGone));
            }
            queries::deliveries::resend(conn, &story.delivery, at).await?;
            Ok(Verdict::Commit(Resent::Asked(story.delivery)))
        })
    }

    /// Asks for one more attempt of everything that an endpoint has missed since `since`.
    pub fn recover_endpoint(
        &self,
        account: AccountId,
        endpoint: EndpointId,
        since: Timestamp,
        at: Timestamp,
    ) -> Answer<'_, Recovered> {
        write!(self, |conn| {
            match queries::deliveries::endpoint_status(conn, account, endpoint).await? {
                None => return Ok(Verdict::Rollback(Recovered::Absent)),
                Some(EndpointStatus::Disabled) => {
                    return Ok(Verdict::Rollback(Recovered::EndpointDisabled));
                }
                Some(EndpointStatus::Enabled) => {}
            }
            let asked = queries::deliveries::recover(conn, endpoint, since, at).await?;
            Ok(Verdict::Commit(Recovered::Asked(asked)))
        })
    }
}
