//! Calls of a batch that are claimed together are handed to the legacy provider together, where it has batch operations:
//! each call is claimed, holds its credits and counts among the live calls before, as one that is placed alone does. The
//! slice is written down first, its name is the provider's, and it is sent once: one that may have left is looked for
//! under its name, and never sent again. What the provider will not take is placed one by one.

mod watch;
mod watches;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use offhook_domain::{AccountId, BatchId, ClaimId, ConversationId, Runtime};
use offhook_engine::CallControl;
use offhook_engine::legacy::{LegacyCall, LegacyError};
use offhook_engine::legacy_batches::{LegacyBatch, LegacyBatches};
use offhook_failpoints as failpoints;
use offhook_storage::{Conversation, Slice, StoreError, mint};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until, timeout_at};

use super::record::insist;
use crate::Shared;

pub(super) use watch::{Asked, Watch, alone as ask_alone};
pub(crate) use watches::Slices;
pub(super) use watches::watch_of;

/// How long the calls of a slice may take to look at their agent before the others go without them.
const GATHERED_WITHIN: Duration = Duration::from_secs(2);

/// What is left, of the time that a call may wait to be dialed, for placing those alone that were refused together.
const FOR_ALONE: Duration = Duration::from_secs(5);

/// How soon a look that failed is repeated.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Fewer calls are placed one by one.
const AT_LEAST: usize = 2;

/// What became of a call that came to be handed over with others.
pub(super) enum Handed {
    /// It is to be placed alone: the provider has not been asked for it.
    Alone,
    /// The provider was asked for it, with others.
    Together(Arc<Watch>),
    /// Nobody knows; its lease will tell.
    Lost,
}

/// A call's place in a slice that is being gathered. Without its call the others go on.
pub(crate) struct Place(mpsc::UnboundedSender<Member>);

/// A call that is ready to be handed over.
pub(super) struct Ready {
    pub(super) id: ConversationId,
    pub(super) claim: ClaimId,
    pub(super) call: LegacyCall,
    pub(super) credential: String,
    pub(super) control: CallControl,
}

struct Member {
    ready: Ready,
    told: oneshot::Sender<Handed>,
}

impl Member {
    fn tell(self, handed: Handed) {
        // Whoever waits no more has ended the call.
        let _ = self.told.send(handed);
    }
}

impl Place {
    /// Hands a call over with the others of its slice.
    pub(super) async fn hand_over(self, ready: Ready) -> Handed {
        let (told, tells) = oneshot::channel();
        if self.0.send(Member { ready, told }).is_err() {
            return Handed::Alone;
        }
        // The last one to come need not be waited for.
        drop(self);
        tells.await.unwrap_or(Handed::Lost)
    }
}

/// Gives the calls of batches among `claimed` places in slices, if the provider takes slices. Two calls to one number
/// are not in one slice.
pub(super) async fn gather(shared: &Arc<Shared>, claimed: &[Conversation], place_by: Instant) {
    if shared.legacy.batches().is_none() {
        return;
    }
    let legacy = claimed
        .iter()
        .filter(|call| call.runtime == Runtime::Legacy);
    let legacy: Vec<&Conversation> = legacy.collect();
    if legacy.len() < AT_LEAST {
        return;
    }
    let ids: Vec<ConversationId> = legacy.iter().map(|call| call.id).collect();
    let of = match shared.store.batches_of_calls(&ids).await {
        Ok(of) => HashMap::<_, _>::from_iter(of),
        Err(error) => {
            tracing::warn!(%error, "calls are placed one by one: their batches could not be looked up");
            return;
        }
    };
    let mut slices: HashMap<BatchId, Vec<&Conversation>> = HashMap::new();
    let mut numbers = HashSet::new();
    for call in legacy {
        if let Some(batch) = of.get(&call.id)
            && numbers.insert((*batch, &call.to_number))
        {
            slices.entry(*batch).or_default().push(call);
        }
    }
    let within = Instant::now() + GATHERED_WITHIN;
    for (batch, calls) in slices {
        let Some(first) = calls.first().filter(|_| calls.len() >= AT_LEAST) else {
            continue;
        };
        let (sender, coming) = mpsc::unbounded_channel();
        let account = first.account_id;
        for call in calls {
            shared.registry.slices.give(call.id, Place(sender.clone()));
        }
        let shared = shared.clone();
        tokio::spawn(async move {
            let members = come(coming, within).await;
            hand_over(&shared, (account, batch), members, place_by).await;
        });
    }
}

/// Everybody who has come until `within`, or until nobody can come any more.
async fn come(mut coming: mpsc::UnboundedReceiver<Member>, within: Instant) -> Vec<Member> {
    let mut members = Vec::new();
    let late = sleep_until(within);
    tokio::pin!(late);
    loop {
        let member = tokio::select! {
            member = coming.recv() => member,
            () = &mut late => break,
        };
        match member {
            Some(member) => members.push(member),
            None => return members,
        }
    }
    coming.close();
    while let Some(member) = coming.recv().await {
        members.push(member);
    }
    members
}

/// Those who can be handed over in one request; the others are told to go alone.
fn alike(members: Vec<Member>) -> Vec<Member> {
    let mut together: Vec<Member> = Vec::new();
    for member in members {
        let alike = together.first().is_none_or(|first| {
            let (one, other) = (&first.ready, &member.ready);
            (&one.call.agent, &one.call.from, &one.credential)
                == (&other.call.agent, &other.call.from, &other.credential)
        });
        // Somebody wants it to end: that is looked to where calls are placed alone.
        if alike && member.ready.control.requested().is_none() {
            together.push(member);
        } else {
            member.tell(Handed::Alone);
        }
    }
    together
}

fn alone(members: Vec<Member>) {
    for member in members {
        member.tell(Handed::Alone);
    }
}

async fn hand_over(
    shared: &Arc<Shared>,
    (account, batch): (AccountId, BatchId),
    members: Vec<Member>,
    place_by: Instant,
) {
    let members = alike(members);
    let Some(batches) = shared.legacy.batches() else {
        return alone(members);
    };
    if members.len() < AT_LEAST {
        return alone(members);
    }
    let at = shared.clock.now();
    let slice = Slice {
        id: mint(at),
        batch_id: batch,
        provider_batch_id: None,
        created_at: at,
    };
    let members = open(shared, account, &slice, members).await;
    let Some(first) = members.first() else { return };
    failpoints::hit(failpoints::SLICE_AFTER_OPEN);
    if Instant::now() >= place_by {
        return withdraw(shared, &slice, members).await;
    }
    let (agent, credential) = (
        first.ready.call.agent.clone(),
        first.ready.credential.clone(),
    );
    let request = LegacyBatch {
        name: slice.name(),
        calls: members
            .iter()
            .map(|member| member.ready.call.clone())
            .collect(),
    };
    let count = request.calls.len();
    let id = match batches.submit_batch(&credential, request, place_by).await {
        Ok(id) => Some(id),
        // Whether an unanswered request had an effect is for the look-up by its name to say.
        Err(LegacyError::Unknown) => None,
        // What never left is not there: the time is for placing the calls.
        Err(LegacyError::NotConnected) => return withdraw(shared, &slice, members).await,
        Err(error) => {
            tracing::warn!(%error, batch = %batch, "the legacy provider did not take calls together");
            // Before they are asked for once more it is looked whether they are there all the same.
            let name = slice.name();
            // What was refused is most likely to be called alone, and that takes time.
            let until = match error {
                LegacyError::Refused(_) => place_by.checked_sub(FOR_ALONE).unwrap_or(place_by),
                _ => place_by,
            };
            let found = look(batches, (&credential, &agent, &name), until).await;
            match (found, error) {
                (Ok(Some(id)), _) => Some(id),
                // What was refused is not there, whoever can be asked.
                (Ok(None), _) | (Err(_), LegacyError::Refused(_)) => {
                    return withdraw(shared, &slice, members).await;
                }
                // Nobody can tell yet, and nobody is called twice: it is looked for by whoever waits for its calls.
                (Err(_), _) => None,
            }
        }
    };
    failpoints::hit(failpoints::SLICE_AFTER_SUBMIT);
    tracing::info!(batch = %batch, slice = %slice.id, calls = count, "calls were handed over together");
    let slice_id = slice.id;
    let slice = Slice {
        provider_batch_id: id.clone(),
        ..slice
    };
    let watch = Watch::new(slice, account, agent);
    let watch = shared.registry.slices.keep(watch);
    for member in members {
        shared.registry.mark_alive(member.ready.id);
        member.tell(Handed::Together(watch.clone()));
    }
    let Some(id) = id else { return };
    if let Err(error) = insist(|| shared.store.slice_submitted(slice_id, &id)).await {
        tracing::error!(%error, slice = %slice_id, "what the provider calls a slice could not be written; its name is");
    }
    failpoints::hit(failpoints::SLICE_AFTER_WRITE);
}

/// What the provider calls the batch of this name, if it has one. It is asked until it says so, at most `until`.
async fn look(
    batches: &dyn LegacyBatches,
    (credential, agent, name): (&str, &str, &str),
    until: Instant,
) -> Result<Option<String>, LegacyError> {
    loop {
        // One look may be many requests.
        let found = batches.find_batch(credential, agent, name);
        let Ok(found) = timeout_at(until, found).await else {
            return Err(LegacyError::Unknown);
        };
        let again = match &found {
            Err(LegacyError::Later(Some(after))) => Instant::now() + *after,
            Err(LegacyError::Later(None) | LegacyError::Unknown | LegacyError::NotConnected) => {
                Instant::now() + LOOK_AGAIN
            }
            Err(LegacyError::Refused(_)) | Ok(_) => return found,
        };
        if again >= until {
            return found;
        }
        sleep_until(again).await;
    }
}

/// Writes the slice down; returns who is in it, and tells the others to go alone.
async fn open(
    shared: &Shared,
    account: AccountId,
    slice: &Slice,
    members: Vec<Member>,
) -> Vec<Member> {
    let claims = members
        .iter()
        .map(|member| (member.ready.id, member.ready.claim));
    let claims: Vec<_> = claims.collect();
    let opened = shared.store.open_slice(account, slice.clone(), &claims);
    let opened = match opened.await {
        Ok(opened) => opened,
        Err(error) => {
            tracing::warn!(%error, batch = %slice.batch_id, "calls are placed one by one: their slice could not be written");
            if matches!(error, StoreError::UnknownCommit(_)) {
                // Should it fail, the calls are found by their references all the same.
                let _ = shared.store.withdraw_slice(slice.id).await;
            }
            Vec::new()
        }
    };
    let (inside, outside) = members
        .into_iter()
        .partition(|member: &Member| opened.contains(&member.ready.id));
    alone(outside);
    inside
}

/// Forgets a slice that the provider does not have, before its calls are placed one by one.
async fn withdraw(shared: &Shared, slice: &Slice, members: Vec<Member>) {
    match insist(|| shared.store.withdraw_slice(slice.id)).await {
        Ok(()) => alone(members),
        // They are left to their leases; then nobody finds them at the provider.
        Err(error) => tracing::error!(%error, slice = %slice.id, "a slice could not be forgotten"),
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use async_trait::async_trait;
    use offhook_engine::legacy_batches::LegacyRecipient;

    use super::*;

    /// A provider whose list of batches never comes to its end.
    struct Endless;

    #[async_trait]
    impl LegacyBatches for Endless {
        async fn submit_batch(
            &self,
            _: &str,
            _: LegacyBatch,
            _: Instant,
        ) -> Result<String, LegacyError> {
            Err(LegacyError::Refused("not today"))
        }

        async fn find_batch(
            &self,
            _: &str,
            _: &str,
            _: &str,
        ) -> Result<Option<String>, LegacyError> {
            pending().await
        }

        async fn batch_status(
            &self,
            _: &str,
            _: &str,
        ) -> Result<Option<Vec<LegacyRecipient>>, LegacyError> {
            Ok(None)
        }

        async fn cancel_batch(&self, _: &str, _: &str) -> Result<(), LegacyError> {
            Ok(())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_look_that_takes_too_long_leaves_the_time_for_placing_calls_alone() {
        let until = Instant::now() + Duration::from_secs(25);
        let found = look(&Endless, ("key", "agent_1", "slice"), until).await;
        assert!(matches!(found, Err(LegacyError::Unknown)));
        assert_eq!(Instant::now(), until);
    }
}
