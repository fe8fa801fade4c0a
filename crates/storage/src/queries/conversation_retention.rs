//! How long conversations are kept: retention windows, plan changes, which change them, and deletion of expired
//! conversations with all that belongs to them.

use super::audit;
use crate::prelude::*;
use crate::schema::retention_windows as windows;

impl Store {
    pub fn note_retention_window(&self, window: RetentionWindow) -> Answer<'_, ()> {
        keep!(self, |conn| note(conn, window).await)
    }

    /// Moves an account from one plan to another and records its new window. `false` if it is not on the first plan.
    pub fn set_plan(
        &self,
        account: AccountId,
        (from, to): (Plan, Plan),
        window: RetentionWindow,
        at: Timestamp,
    ) -> Answer<'_, bool> {
        transact!(self, |conn| {
            let is_moved = diesel::update(accounts::table.find(V(account)))
                .filter(accounts::plan.eq(V(from)))
                .set(accounts::plan.eq(V(to)))
                .changes(conn)
                .await?;
            if is_moved {
                note(conn, window).await?;
                let target = format!("{from} to {to}");
                let words = ("cli", "account.set-plan", target.as_str());
                audit::line(conn, account, words, at).await?;
            }
            Ok(Verdict::keep_if(is_moved, is_moved))
        })
    }

    /// Every account with its recorded window.
    pub fn retention_windows(&self) -> Answer<'_, Vec<(Account, Option<RetentionWindow>)>> {
        accounts::table
            .left_join(windows::table)
            .order(accounts::id)
            .select((Account::as_select(), Option::<RetentionWindow>::as_select()))
            .read_all(self)
    }

    /// An account's recorded window.
    pub fn retention_window(&self, account: AccountId) -> Answer<'_, Option<RetentionWindow>> {
        windows::table
            .find(V(account))
            .select(RetentionWindow::as_select())
            .read_first(self)
    }

    /// How many of the account's conversations were accepted before `before`.
    pub fn conversations_before(&self, account: AccountId, before: Timestamp) -> Answer<'_, i64> {
        calls::table
            .filter(calls::account_id.eq(V(account)))
            .filter(calls::started_at.lt(V(before)))
            .count()
            .read_one(self)
    }

    /// Up to `most` of the account's oldest ended conversations from before `before` and after the key `after`, each
    /// with its start and whether it has a recording.
    pub fn ended_conversations_before(
        &self,
        account: AccountId,
        (before, after): (Timestamp, Option<(Timestamp, ConversationId)>),
        most: i64,
    ) -> Answer<'_, Vec<(Timestamp, ConversationId, bool)>> {
        let after = after.unwrap_or((Timestamp::from_micros(0), ConversationId::nil()));
        let ended = [CallState::Completed, CallState::Failed].map(V);
        calls::table
            .filter(calls::account_id.eq(V(account)))
            .filter(calls::started_at.lt(V(before)))
            .filter(calls::started_at.ge(V(after.0)))
            .filter(
                calls::started_at
                    .gt(V(after.0))
                    .or(calls::id.gt(V(after.1))),
            )
            .filter(calls::state.eq_any(ended))
            .order((calls::started_at, calls::id))
            .limit(most)
            .select((calls::started_at, calls::id, calls::has_audio))
            .read_all(self)
    }

    /// Deletes conversations of the account, with all their data except the ledger rows. A conversation that has got a
    /// recording since `seen` was read is left to the next run, with the recording. Idempotency-Keys have expired long
    /// before: no window is shorter than their day.
    pub fn delete_conversations(
        &self,
        account: AccountId,
        seen: Vec<(ConversationId, bool)>,
    ) -> Answer<'_, ()> {
        keep!(self, |conn| {
            let seen: HashMap<ConversationId, bool> = seen.into_iter().collect();
            // A write that changes nothing: it locks the rows, so that no recording is added before they are deleted.
            let found: Vec<(ConversationId, bool)> = diesel::update(calls::table)
                .filter(calls::id.eq_any(seen.keys().copied().map(V)))
                .filter(calls::account_id.eq(V(account)))
                .set(calls::has_audio.eq(calls::has_audio))
                .returning((calls::id, calls::has_audio))
                .get_results(conn)
                .await?;
            let as_seen = |(id, has_audio): (ConversationId, bool)| {
                (seen.get(&id) == Some(&has_audio)).then_some(id)
            };
            let ids: Vec<ConversationId> = found.into_iter().filter_map(as_seen).collect();
            // With an empty list, a database would scan the whole table for nothing.
            ensure!(!ids.is_empty(), ());
            let told: Vec<EventId> = events::table
                .filter(events::conversation_id.eq_any(ids.iter().copied().map(V)))
                .select(events::id)
                .load(conn)
                .await?;
            let sent: Vec<DeliveryId> = deliveries::table
                .filter(deliveries::event_id.eq_any(told.iter().copied().map(V)))
                .select(deliveries::id)
                .load(conn)
                .await?;
            macro_rules! delete {
                ($table:ident, $column:ident, $ids:expr) => {
                    let of = $ids.iter().copied().map(V);
                    delete(conn, $table::table.filter($table::$column.eq_any(of))).await?;
                };
            }
            delete!(tries, conversation_id, ids);
            // In chunks, because a busy account has more endpoints than a statement has parameters.
            for sent in sent.chunks(500) {
                delete!(attempts, delivery_id, sent);
                delete!(resends, delivery_id, sent);
                delete!(deliveries, id, sent);
            }
            delete!(events, id, told);
            delete!(chat_messages, conversation_id, ids);
            delete!(whatsapp_sent, conversation_id, ids);
            delete!(chat_sessions, conversation_id, ids);
            delete!(analyses, conversation_id, ids);
            delete!(conversation_notes, conversation_id, ids);
            delete!(conversation_tags, conversation_id, ids);
            delete!(conversation_contexts, conversation_id, ids);
            delete!(moments, conversation_id, ids);
            delete!(calls, id, ids);
            Ok(())
        })
    }
}

/// Records an account's window.
async fn note(conn: &mut Conn, window: RetentionWindow) -> Result<()> {
    let noted = row! { windows of window: days, held_days, held_until };
    diesel::insert_into(windows::table)
        .values((windows::account_id.eq(V(window.account_id)), noted))
        .on_conflict(windows::account_id)
        .do_update()
        .set(noted)
        .run(conn)
        .await
}
