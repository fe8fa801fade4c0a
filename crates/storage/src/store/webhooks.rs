//! Webhook endpoints and deliveries.

use std::collections::HashMap;
use std::time::Duration;

use offhook_domain::{AccountId, AttemptId, ClaimId, DeliveryId, EndpointId, EventId, Timestamp};

use super::{LEASE, mint, read, write};
use crate::{
    AttemptReport, ClaimSlots, Claimed, ClaimedWork, Delivery, DeliveryFilter, DeliveryState,
    DeliveryStory, DueEndpoint, Endpoint, EndpointChange, EndpointStatus, EndpointView,
    FailingEndpoint, NewEvent, PageKey, Rechecked, Store, StoreError, Verdict,
};

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
    /// Makes an endpoint with its secret; `false` if the account has `most` already.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the database is out of reach.
    pub async fn create_endpoint(
        &self,
        endpoint: Endpoint,
        secret: &str,
        secret_prefix: &str,
        most: i64,
    ) -> Result<bool, StoreError> {
        let secret = self.seal(secret, secret_prefix, endpoint.created_at)?;
        write!(self, |conn| {
            // The account's row keeps two creations of one account apart.
            dialect::lock_account(conn, endpoint.account_id).await?;
            if queries::endpoints::count(conn, endpoint.account_id).await? >= most {
                return Ok(Verdict::Rollback(false));
            }
            let secret = queries::endpoints::SealedSecret {
                row: secret.0,
                prefix: secret.1,
                sealed: secret.2,
            };
            queries::endpoints::insert(conn, endpoint, secret).await?;
            Ok(Verdict::Commit(true))
        })
    }

    fn seal(
        &self,
        secret: &str,
        prefix: &str,
        at: Timestamp,
    ) -> Result<(uuid::Uuid, String, Vec<u8>), StoreError> {
        let row = mint::<EventId>(at).uuid();
        Ok((row, prefix.to_owned(), self.master_key.seal(secret, &row)?))
    }

    /// An endpoint of the account.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the database is out of reach.
    pub async fn endpoint(
        &self,
        account: AccountId,
        id: EndpointId,
    ) -> Result<Option<EndpointView>, StoreError> {
        read!(self, |conn| queries::endpoints::find(conn, account, id)
            .await)
    }

    /// A page of the account's endpoints, newest first, with one more than `limit` if there is a next page.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the database is out of reach.
    pub async fn endpoints(
        &self,
        account: AccountId,
        after: Option<PageKey<EndpointId>>,
        limit: i64,
    ) -> Result<Vec<EndpointView>, StoreError> {
        read!(self, |conn| queries::endpoints::page(
            conn, account, after, limit
        )
        .await)
    }

    /// Changes an endpoint; `None` if there is no such one. Disabling cancels what is due; of a lot the rest is left to
    /// [`Store::cancel_open_deliveries`], and nothing of it is claimed any more.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the database is out of reach.
    pub async fn change_endpoint(
        &self,
        account: AccountId,
        id: EndpointId,
        change: EndpointChange,
        at: Timestamp,
    ) -> Result<Option<EndpointView>, StoreError> {
        write!(self, |conn| {
            if !queries::endpoints::change(conn, account, id, change, at).await? {
                return Ok(Verdict::Rollback(None));
            }
            Ok(Verdict::Commit(
                queries::endpoints::find(conn, account, id).await?,
            ))
        })
    }

    /// Deletes an endpoint and cancels what is due; `false` if there is no such one.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the database is out of reach.
    pub async fn delete_endpoint(
        &self,
        account: AccountId,
        id: EndpointId,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        write!(self, |conn| {
            Ok(Verdict::Commit(
                queries::endpoints::delete(conn, account, id, at).await?,
            ))
        })
    }

    /// Cancels some of what is open of an endpoint that receives nothing, with which its change did not wait; returns how
    /// many deliveries that were.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the database is out of reach.
    pub async fn cancel_open_deliveries(&self, id: EndpointId) -> Result<usize, StoreError> {
        write!(self, |conn| {
            Ok(match queries::cancelling::some(conn, id).await? {
                0 => Verdict::Rollback(0),
                some => Verdict::Commit(some),
            })
        })
    }

    /// The endpoints that receive nothing, and have open deliveries all the same.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the database is out of reach.
    pub async fn endpoints_to_cancel(&self) -> Result<Vec<EndpointId>, StoreError> {
        read!(self, |conn| queries::cancelling::left(conn).await)
    }

    /// Puts a new secret in force; the old one signs along for `overlap`. `None` if there is no such endpoint.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the database is out of reach.
    pub async fn rotate_secret(
        &self,
        account: AccountId,
        id: EndpointId,
        (secret, prefix): (&str, &str),
        overlap: Duration,
        now: Timestamp,
    ) -> Result<Option<EndpointView>, StoreError> {
        let secret = self.seal(secret, prefix, now)?;
        write!(self, |conn| {
            let secret = queries::endpoints::SealedSecret {
                row: secret.0,
                prefix: secret.1,
                sealed: secret.2,
            };
            let times = (now, now.plus(overlap));
            if !queries::endpoints::rotate(conn, account, id, secret, times).await? {
                return Ok(Verdict::Rollback(None));
            }
            Ok(Verdict::Commit(
                queries::endpoints::find(conn, account, id).await?,
            ))
        })
    }

    /// Writes a test event for one endpoint.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the database is out of reach.
    pub async fn send_test_event(
        &self,
        account: AccountId,
        endpoint: EndpointId,
        event: NewEvent,
        at: Timestamp,
    ) -> Result<Resent, StoreError> {
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
            dialect::insert_deliveries(conn, vec![row]).await?;
            let story = queries::deliveries::story(conn, account, id).await?;
            Ok(match story {
                Some(story) => Verdict::Commit(Resent::Asked(story.delivery)),
                None => Verdict::Rollback(Resent::Absent),
            })
        })
    }

    /// A page of the account's deliveries, newest first, with one more than `limit` if there is a next page.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the database is out of reach.
    pub async fn deliveries(
        &self,
        account: AccountId,
        filter: DeliveryFilter,
        after: Option<PageKey<DeliveryId>>,
        limit: i64,
    ) -> Result<Vec<Delivery>, StoreError> {
        read!(self, |conn| queries::deliveries::page(
            conn, account, &filter, after, limit
        )
        .await)
    }

    /// A delivery of the account with its payload and attempts.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the database is out of reach.
    pub async fn delivery(
        &self,
        account: AccountId,
        id: DeliveryId,
    ) -> Result<Option<DeliveryStory>, StoreError> {
        read!(self, |conn| queries::deliveries::story(conn, account, id)
            .await)
    }

    /// Asks for one more attempt of a delivery.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the database is out of reach.
    pub async fn resend_delivery(
        &self,
        account: AccountId,
        id: DeliveryId,
        at: Timestamp,
    ) -> Result<Resent, StoreError> {
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
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the database is out of reach.
    pub async fn recover_endpoint(
        &self,
        account: AccountId,
        endpoint: EndpointId,
        since: Timestamp,
        at: Timestamp,
    ) -> Result<Recovered, StoreError> {
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

    /// Enabled endpoints with open deliveries that nobody has claimed, and how long each one's next repetition has to wait: by
    /// the database's clock on PostgreSQL, else by `steady` (decision 8.7). Deliveries that wait for an earlier event of
    /// their call do not count.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the database is out of reach.
    pub async fn due_endpoints(&self, steady: Timestamp) -> Result<Vec<DueEndpoint>, StoreError> {
        let offset = self.offset();
        read!(self, |conn| {
            let clocks = dialect::delivery_clocks(conn, steady, offset).await?;
            queries::dispatch::due(conn, clocks).await
        })
    }

    /// Endpoints with asked-for repetitions that nobody has claimed.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the database is out of reach.
    pub async fn due_resends(&self) -> Result<Vec<EndpointId>, StoreError> {
        let offset = self.offset();
        read!(self, |conn| {
            let judged_at = dialect::lease_clock(conn, offset).await?;
            queries::dispatch::due_resends(conn, judged_at).await
        })
    }

    /// Takes every claim from its owner: for the start of a process that has the database to itself (decision 8.7).
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the database is out of reach.
    pub async fn orphan_deliveries(&self) -> Result<(), StoreError> {
        write!(self, |conn| {
            queries::dispatch::orphan(conn).await?;
            Ok(Verdict::Commit(()))
        })
    }

    /// Claims due deliveries and begins an attempt of each. `offsets` are the waits after the 1st, 2nd, … failure; what is
    /// due is judged as by [`Store::due_endpoints`], `now` is for what customers read. An attempt without secrets is of an
    /// endpoint that has been deleted meanwhile, or whose secret cannot be read.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the database is out of reach, [`StoreError::UnknownCommit`] if the claim may be in
    /// force: it runs out by itself.
    pub async fn claim_deliveries(
        &self,
        slots: Vec<ClaimSlots>,
        offsets: Vec<Duration>,
        (now, steady): (Timestamp, Timestamp),
    ) -> Result<Claimed, StoreError> {
        let offset = self.offset();
        let (mut attempts, sealed, failing) = write!(self, |conn| {
            let (due, judged_at) = dialect::delivery_clocks(conn, steady, offset).await?;
            let times = queries::delivery_claims::Times {
                now,
                due,
                judged_at,
                lease: judged_at.plus(LEASE),
            };
            let claimed = queries::delivery_claims::claim(conn, &slots, &offsets, times).await?;
            Ok(Verdict::Commit(claimed))
        })?;
        let secrets = self.unseal(sealed);
        for attempt in &mut attempts {
            attempt.secrets = secrets
                .get(&attempt.endpoint_id)
                .cloned()
                .unwrap_or_default();
        }
        Ok(Claimed { attempts, failing })
    }

    /// What of an endpoint's claimed work may still be begun: it may have been disabled, deleted or changed since the
    /// claim.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the database is out of reach.
    pub async fn recheck_claims(
        &self,
        endpoint: EndpointId,
        work: Vec<ClaimedWork>,
        now: Timestamp,
    ) -> Result<Rechecked, StoreError> {
        let (receiving, in_force) = read!(self, |conn| {
            let receiving = queries::rechecks::receiving(conn, endpoint, now).await?;
            let in_force = match &receiving {
                Some(_) => queries::rechecks::in_force(conn, work).await?,
                None => Vec::new(),
            };
            Ok((receiving, in_force))
        })?;
        let Some((url, sealed)) = receiving else {
            return Ok(Rechecked::default());
        };
        Ok(Rechecked {
            url,
            secrets: self.unseal(sealed).remove(&endpoint).unwrap_or_default(),
            in_force: in_force.into_iter().map(|one| one.attempt_id).collect(),
        })
    }

    /// Each endpoint's secrets, the newest last.
    fn unseal(
        &self,
        sealed: Vec<(EndpointId, uuid::Uuid, Vec<u8>)>,
    ) -> HashMap<EndpointId, Vec<String>> {
        let mut secrets: HashMap<EndpointId, Vec<String>> = HashMap::new();
        for (endpoint, row, sealed) in sealed {
            match self.master_key.open(&sealed, &row) {
                Ok(secret) => secrets.entry(endpoint).or_default().push(secret),
                // One endpoint's broken row must not keep the others waiting.
                Err(error) => tracing::error!(%endpoint, %error, "a signing secret cannot be read"),
            }
        }
        secrets
    }

    /// Gives claimed work back that has not been begun.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the database is out of reach.
    pub async fn give_back_deliveries(
        &self,
        returned: Vec<(DeliveryId, AttemptId, ClaimId)>,
    ) -> Result<(), StoreError> {
        write!(self, |conn| {
            queries::dispatch::give_back(conn, &returned).await?;
            Ok(Verdict::Commit(()))
        })
    }

    /// Records what became of attempts, in one transaction. `steady` is the present by the clock of their ends. Returns
    /// the endpoints that have failed.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the database is out of reach.
    pub async fn finish_attempts(
        &self,
        reports: Vec<AttemptReport>,
        steady: Timestamp,
    ) -> Result<Vec<FailingEndpoint>, StoreError> {
        let clock = (steady, self.offset());
        write!(self, |conn| {
            // Deliveries before their attempts, as claiming and cancelling do.
            let ids = reports.iter().map(|report| report.delivery_id).collect();
            dialect::lock_deliveries(conn, ids).await?;
            let exhausted = dialect::finish(conn, &reports, clock).await?;
            queries::dispatch::finish_resends(conn, &reports).await?;
            let failing = queries::health::note(conn, &reports, &exhausted).await?;
            Ok(Verdict::Commit(failing))
        })
    }

    /// Disables an endpoint that has received nothing since `since` and of which `exhausted` deliveries or more were given
    /// up since, and cancels what is due; `false` if that is not so, or no more (decision 7.7).
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the database is out of reach.
    pub async fn disable_failing_endpoint(
        &self,
        id: EndpointId,
        since: Timestamp,
        exhausted: i32,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        write!(self, |conn| {
            let limits = (since, exhausted);
            Ok(
                match queries::endpoints::disable_failing(conn, id, limits, at).await? {
                    true => Verdict::Commit(true),
                    false => Verdict::Rollback(false),
                },
            )
        })
    }

    /// How many deliveries are open.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the database is out of reach.
    pub async fn delivery_backlog(&self) -> Result<i64, StoreError> {
        read!(self, |conn| queries::deliveries::backlog(conn).await)
    }
}
