//! What providers were handed of batches.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use offhook_domain::{
    AccountId, BatchId, CallState, ClaimId, ConversationId, RecipientId, SliceId,
};

use super::super::Conn;
use crate::schema::{
    batch_recipients as recipients, batch_slice_calls as sliced, batch_slices as slices,
    batch_tries as tries, conversations as calls,
};
use crate::sql::V;
use crate::{Slice, StoreError};

/// The batches that placed these calls; a call that none placed is left out.
pub(crate) async fn batches_of(
    conn: &mut Conn,
    ids: &[ConversationId],
) -> Result<Vec<(ConversationId, BatchId)>, StoreError> {
    let tried: Vec<(ConversationId, RecipientId)> = tries::table
        .filter(tries::conversation_id.eq_any(ids.iter().copied().map(V)))
        .select((tries::conversation_id, tries::recipient_id))
        .load(conn)
        .await?;
    if tried.is_empty() {
        return Ok(Vec::new());
    }
    let of: Vec<(RecipientId, BatchId)> = recipients::table
        .filter(recipients::id.eq_any(tried.iter().map(|(_, recipient)| V(*recipient))))
        .select((recipients::id, recipients::batch_id))
        .load(conn)
        .await?;
    let batch = |recipient| of.iter().find(|(id, _)| *id == recipient);
    let tried = tried.into_iter();
    Ok(tried
        .filter_map(|(id, recipient)| batch(recipient).map(|(_, batch)| (id, *batch)))
        .collect())
}

/// Writes a slice of those of `claims` that are still being dialed under their claims and are in no slice yet; returns
/// them.
pub(crate) async fn open(
    conn: &mut Conn,
    slice: &Slice,
    account: AccountId,
    claims: &[(ConversationId, ClaimId)],
) -> Result<Vec<ConversationId>, StoreError> {
    let ids = || claims.iter().map(|(id, _)| V(*id));
    let in_force: Vec<ConversationId> = calls::table
        .filter(calls::id.eq_any(ids()))
        .filter(calls::account_id.eq(V(account)))
        .filter(calls::claim_id.eq_any(claims.iter().map(|(_, claim)| V(*claim))))
        .filter(calls::state.eq(V(CallState::Dialing)))
        .select(calls::id)
        .load(conn)
        .await?;
    let before: Vec<ConversationId> = sliced::table
        .filter(sliced::conversation_id.eq_any(ids()))
        .select(sliced::conversation_id)
        .load(conn)
        .await?;
    let new: Vec<ConversationId> = in_force
        .into_iter()
        .filter(|id| !before.contains(id))
        .collect();
    if new.is_empty() {
        return Ok(new);
    }
    diesel::insert_into(slices::table)
        .values((
            slices::id.eq(V(slice.id)),
            slices::batch_id.eq(V(slice.batch_id)),
            slices::provider_batch_id.eq(slice.provider_batch_id.clone()),
            slices::created_at.eq(V(slice.created_at)),
        ))
        .execute(conn)
        .await?;
    for id in &new {
        diesel::insert_into(sliced::table)
            .values((
                sliced::conversation_id.eq(V(*id)),
                sliced::slice_id.eq(V(slice.id)),
            ))
            .execute(conn)
            .await?;
    }
    Ok(new)
}

/// Notes what a slice is called at the provider. The first answer stays.
pub(crate) async fn submitted(
    conn: &mut Conn,
    id: SliceId,
    provider_batch_id: &str,
) -> Result<(), StoreError> {
    diesel::update(slices::table.find(V(id)))
        .filter(slices::provider_batch_id.is_null())
        .set(slices::provider_batch_id.eq(Some(provider_batch_id.to_owned())))
        .execute(conn)
        .await?;
    Ok(())
}

/// Forgets a slice that the provider does not have.
pub(crate) async fn withdraw(conn: &mut Conn, id: SliceId) -> Result<(), StoreError> {
    diesel::delete(sliced::table.filter(sliced::slice_id.eq(V(id))))
        .execute(conn)
        .await?;
    diesel::delete(slices::table.find(V(id)))
        .execute(conn)
        .await?;
    Ok(())
}

/// The slice that a call is in.
pub(crate) async fn of_call(
    conn: &mut Conn,
    conversation: ConversationId,
) -> Result<Option<Slice>, StoreError> {
    let id: Option<SliceId> = sliced::table
        .find(V(conversation))
        .select(sliced::slice_id)
        .first(conn)
        .await
        .optional()?;
    let Some(id) = id else { return Ok(None) };
    Ok(slices::table
        .find(V(id))
        .select(Slice::as_select())
        .first(conn)
        .await
        .optional()?)
}
