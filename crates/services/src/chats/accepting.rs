//! Accepts a customer's message: its text, the credits for its answer and the claim to answer it, in one transaction.

use crate::conversations::reserve_more;
use crate::error::Result;
use crate::prelude::*;
use crate::widgets::count_credits;

/// A message that was accepted, now or earlier.
pub(super) enum Accepted {
    /// The caller must answer it under this claim.
    Claimed {
        claim: ClaimId,
        /// The moment of the customer's message.
        seq: i32,
        /// Answers that were charged before.
        answers: i32,
    },
    /// It was answered before, by the moments after `seq` up to `last`.
    Before {
        /// The moment of the customer's message.
        seq: i32,
        last: i32,
        /// Charged answers.
        answers: i32,
    },
}

/// Accepts a message. The session's token has authorized the caller. After `StoreError::UnknownCommit` it may have been
/// stored; after other errors it was not.
pub(super) async fn accept(store: &Store, new: NewChatMessage) -> Result<Accepted> {
    // On the embedded database, only this process can have a valid claim.
    let alone = store.is_embedded().then_some(new.node);
    let claim = mint(new.at);
    let attempt = || {
        let new = new.clone();
        store.transaction(move |mut tx| {
            Box::pin(async move { judge(&mut tx, &new, claim, alone).await })
        })
    };
    match attempt().await {
        // If the message was stored, the claim exists.
        Err(UseCaseError::Store(StoreError::UnknownCommit(why))) => {
            let again = attempt().await;
            again.map_err(|_| StoreError::UnknownCommit(why).into())
        }
        accepted => accepted,
    }
}

async fn judge(
    tx: &mut Tx<'_>,
    new: &NewChatMessage,
    claim: ClaimId,
    alone: Option<NodeId>,
) -> Result<Accepted> {
    let ended = || UseCaseError::Conflict(Refusal::SessionEnded);
    let id = new.conversation;
    let lease_now = tx.lease_clock().await?;
    let session = tx.lock_chat(id).await?.ok_or_else(ended)?;
    let answers = session.answers;
    let known = match &new.message_id {
        Some(key) => tx.chat_message(id, key).await?,
        None => None,
    };
    if let Some(known) = &known {
        if known.digest != new.digest {
            return Err(UseCaseError::OtherText);
        }
        if let Some(last) = known.answered_seq {
            let seq = known.seq;
            return Ok(Accepted::Before { seq, last, answers });
        }
    }
    let known = known.map(|known| known.seq);
    if session.claim_id == Some(claim) {
        let seq = match known {
            Some(seq) => seq,
            // The message is the last moment written: only the claim's owner writes.
            None => tx.last_moment(id).await?,
        };
        return Ok(Accepted::Claimed {
            claim,
            seq,
            answers,
        });
    }
    if !session.is_open {
        return Err(ended());
    }
    if session.is_claimed(lease_now, alone) {
        return Err(UseCaseError::Conflict(Refusal::BeingAnswered));
    }
    let held_day = reserve_answer(tx, &session, new.at).await?;
    tx.write_lost_tools(&session, new.at).await?;
    let seq = match known {
        // Its text exists; the worker that was to answer has died.
        Some(seq) => seq,
        None => tx.write_chat_message(new).await?.ok_or_else(ended)?,
    };
    tx.claim_chat(new, claim, lease_now, held_day).await?;
    Ok(Accepted::Claimed {
        claim,
        seq,
        answers,
    })
}

/// Makes the session reserve one answer more than it is charged for. Returns the day whose cap that counts against.
/// Without a web page's visitor, the wallet is the only limit.
async fn reserve_answer(tx: &mut Tx<'_>, session: &ChatSession, at: Timestamp) -> Result<i32> {
    let (id, agent) = (session.conversation_id, session.agent_id);
    let counts = match session.is_of_widget() {
        true => {
            let counts = tx.lock_widget_of(agent, &session.origin).await?;
            Some(counts.ok_or(UseCaseError::Origin)?)
        }
        false => None,
    };
    let (price, reserved) = tx.chat_credits(id).await?;
    let more = price.of_answers(i64::from(session.answers) + 1) - reserved;
    if more <= 0 {
        return Ok(session.held_day);
    }
    let day = match counts {
        Some(counts) => count_credits(tx, agent, counts, (more, at)).await?,
        None => session.held_day,
    };
    reserve_more(tx, id, more, at).await?;
    Ok(day)
}
