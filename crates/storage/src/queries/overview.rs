//! Live views, and the chats of an account's own members. The number of rows that each query reads does not depend on
//! the account's size.

use super::{chat_openings, claims::is_claimed};
use crate::prelude::*;

#[boxed]
impl Store {
    /// The measured latencies among the newest `most` calls since `since`.
    pub fn call_latencies(
        &self,
        account: AccountId,
        since: Timestamp,
        most: i64,
    ) -> Answer<'_, Vec<CallLatency>> {
        read!(self, |conn| {
            type Row = (Option<i32>, Option<i32>, Option<i32>);
            // The limit counts calls, measured or not: a filter on the latency would scan past all unmeasured ones.
            let rows: Vec<Row> = calls::table
                .filter(calls::account_id.eq(V(account)))
                .filter(calls::voice)
                .filter(calls::started_at.ge(V(since)))
                .order((calls::started_at.desc(), calls::id.desc()))
                .limit(most)
                .select((
                    calls::latency_turns,
                    calls::latency_p50_ms,
                    calls::latency_p95_ms,
                ))
                .load(conn)
                .await?;
            let measured = rows.into_iter().filter_map(|(turns, p50_ms, p95_ms)| {
                Some(CallLatency {
                    turns: turns.filter(|turns| *turns > 0)?,
                    p50_ms: p50_ms?,
                    p95_ms: p95_ms?,
                })
            });
            Ok(measured.collect())
        })
    }

    /// Up to `most` of the account's calls that are dialing, live or closing, newest first.
    pub fn calls_under_way(&self, account: AccountId, most: i64) -> Answer<'_, Vec<LiveCall>> {
        read!(self, |conn| {
            let newest = moments::conversation_id
                .eq(calls::id)
                .and(moments::seq.eq(calls::last_seq));
            let mut live: Vec<LiveCall> = calls::table
                .inner_join(agents::table)
                .left_join(moments::table.on(newest))
                .filter(calls::account_id.eq(V(account)))
                .filter(is_claimed())
                .select((
                    ConversationView::as_select(),
                    moments::role.nullable(),
                    moments::content.nullable(),
                    moments::at.nullable(),
                ))
                .load(conn)
                .await?;
            // With an ORDER BY, SQLite would scan all of the account's conversations; a plan has few live calls.
            live.sort_by_key(|call| {
                let conversation = &call.view.conversation;
                std::cmp::Reverse((conversation.started_at, conversation.id))
            });
            live.truncate(usize::try_from(most).unwrap_or(0));
            Ok(live)
        })
    }

    /// An agent of the account with its published configuration, whatever its widget's settings.
    pub async fn member_agent(
        &self,
        account: AccountId,
        agent: AgentId,
    ) -> Result<Option<WidgetAgent>> {
        let found = self.widget_agent(agent).await?;
        Ok(found.filter(|found| found.account.id == account))
    }

    /// Begins a text conversation of a member of the account with one of its agents: reservation, conversation and
    /// session in one transaction. No widget is involved: [`NewChat::origin`] is empty. After
    /// `StoreError::UnknownCommit` it may have begun; after other errors it has not.
    pub fn open_member_chat(&self, chat: NewChat, steady: Timestamp) -> Answer<'_, ChatOpened> {
        transact!(self, |conn| {
            let begins = (Channel::Chat, chat.at.utc_day());
            let begun = chat_openings::begin(conn, &chat, begins, steady).await?;
            Ok(match begun {
                ChatOpened::Opened => Commit(ChatOpened::Opened),
                refused => Rollback(refused),
            })
        })
    }

    /// A text conversation that a member of the account began.
    pub fn member_chat(
        &self,
        account: AccountId,
        id: ConversationId,
    ) -> Answer<'_, Option<ChatView>> {
        read!(self, |conn| {
            // A member's conversation has no origin.
            chat_openings::of_account(conn, account, id, "").await
        })
    }
}
