//! Reading conversations: pages by key, one by id, and their moments.

use crate::prelude::*;
use crate::schema::conversation_tags as tags;

impl Store {
    /// A page of conversations, newest first, with one more than `limit` if there is a next page.
    pub fn conversations(
        &self,
        account: AccountId,
        filter: ConversationFilter,
        after: Option<PageKey<ConversationId>>,
        limit: i64,
    ) -> Answer<'_, Vec<ConversationView>> {
        read!(self, |conn| {
            // A phone number is searched with two index scans: neither database answers an OR in order from an index.
            let scans: &[bool] = if filter.phone.is_some() {
                &[true, false]
            } else {
                &[true]
            };
            let mut page = Vec::new();
            for &of_customer in scans {
                let mut query = calls::table
                    .inner_join(agents::table)
                    .filter(calls::account_id.eq(V(account)))
                    .order((calls::started_at.desc(), calls::id.desc()))
                    .limit(limit + 1)
                    .select(ConversationView::as_select())
                    .into_boxed::<Db>();
                if filter.voice_only {
                    query = query.filter(calls::voice);
                }
                query = query
                    .when(filter.since, |since| calls::started_at.ge(V(since)))
                    .when(earlier(filter.until, after), |until| {
                        calls::started_at.le(V(until))
                    })
                    .when(after, |(at, id)| {
                        calls::started_at.lt(V(at)).or(calls::id.lt(V(id)))
                    })
                    .when_is(calls::agent_id, filter.agent)
                    .when_is(calls::status, filter.status)
                    .when_is(calls::outcome, filter.outcome);
                query = match filter.channel {
                    None => query,
                    Some(Channel::Unknown) => query.filter(unlikely(calls::channel.is_null())),
                    Some(channel) => query.filter(unlikely(calls::channel.eq(V(channel)))),
                };
                // Members set tags by hand, so that a tag has few conversations.
                query = query.when(filter.tag.as_ref(), |tag| {
                    let of_account = tags::account_id.eq(V(account));
                    let tagged = tags::table.filter(of_account.and(tags::tag.eq(tag.clone())));
                    calls::id.eq_any(tagged.select(tags::conversation_id))
                });
                query = match &filter.phone {
                    None => query,
                    Some(phone) if of_customer => {
                        query.filter(unlikely(calls::customer_phone.eq(V(phone.clone()))))
                    }
                    // The dialed number where it differs from the customer's: inbound calls, with the caller's number
                    // or without.
                    Some(phone) => query
                        .filter(unlikely(calls::to_number.eq(V(phone.clone()))))
                        .filter(calls::to_number.is_not_null())
                        .filter(
                            calls::customer_phone
                                .is_null()
                                .or(calls::to_number.ne(calls::customer_phone)),
                        ),
                };
                page.extend(query.load::<ConversationView, _>(conn).await?);
            }
            page.sort_by_key(|v| std::cmp::Reverse((v.conversation.started_at, v.conversation.id)));
            page.truncate(usize::try_from(limit + 1).unwrap_or(usize::MAX));
            Ok(page)
        })
    }

    /// A conversation of the account, if it was accepted at or after `since`.
    pub fn conversation(
        &self,
        account: AccountId,
        id: ConversationId,
        since: Option<Timestamp>,
    ) -> Answer<'_, Option<ConversationView>> {
        read!(self, |conn| find(conn, account, id, since).await)
    }

    /// A conversation of the account with its first `limit` turns.
    pub fn transcript(
        &self,
        account: AccountId,
        id: ConversationId,
        since: Option<Timestamp>,
        limit: i64,
    ) -> Answer<'_, Option<(ConversationView, Vec<Moment>)>> {
        read!(self, |conn| {
            let view = find(conn, account, id, since).await?;
            let Some(view) = view else { return Ok(None) };
            let turns = moments(conn, id, 0, limit, true).await?;
            Ok(Some((view, turns)))
        })
    }

    /// The moments of a conversation after moment `after`, with its current state. The state is read first, so that a
    /// terminal state means that the moments are complete.
    pub fn moments(
        &self,
        account: AccountId,
        id: ConversationId,
        after: i32,
        limit: i64,
    ) -> Answer<'_, Option<(CallState, Vec<Moment>)>> {
        read!(self, |conn| {
            let view = find(conn, account, id, None).await?;
            let Some(view) = view else { return Ok(None) };
            let moments = moments(conn, id, after, limit, false).await?;
            Ok(Some((view.conversation.state, moments)))
        })
    }

    /// The changes of state of a conversation, in order. The caller has looked it up for its account.
    pub fn states(&self, id: ConversationId) -> Answer<'_, Vec<Moment>> {
        moments::table
            .filter(moments::conversation_id.eq(V(id)))
            .filter(moments::state.is_not_null())
            .order(moments::seq)
            .select(Moment::as_select())
            .read_all(self)
    }

    /// What was said in these conversations, in order, with each one's id. The caller has looked them up for its account.
    pub fn words_of(
        &self,
        ids: Vec<ConversationId>,
    ) -> Answer<'_, Vec<(ConversationId, Option<String>)>> {
        moments::table
            .filter(moments::conversation_id.eq_any(ids.into_iter().map(V)))
            .filter(moments::role.is_not_null())
            .order((moments::conversation_id, moments::seq))
            .select((moments::conversation_id, moments::content))
            .read_all(self)
    }

    /// Turns of a conversation after moment `after`. The caller has looked it up for its account.
    pub fn turns(&self, id: ConversationId, after: i32, limit: i64) -> Answer<'_, Vec<Moment>> {
        read!(self, |conn| moments(conn, id, after, limit, true).await)
    }

    /// The last turns of a conversation before moment `before`, in order. The caller has looked it up for its account.
    pub fn turns_before(
        &self,
        id: ConversationId,
        before: i32,
        limit: i64,
    ) -> Answer<'_, Vec<Moment>> {
        read!(self, |conn| {
            let mut turns: Vec<Moment> = moments::table
                .filter(moments::conversation_id.eq(V(id)))
                .filter(moments::seq.lt(before))
                .filter(moments::role.is_not_null())
                .order(moments::seq.desc())
                .limit(limit)
                .select(Moment::as_select())
                .load(conn)
                .await?;
            turns.reverse();
            Ok(turns)
        })
    }
}

async fn find(
    conn: &mut Conn,
    account: AccountId,
    id: ConversationId,
    since: Option<Timestamp>,
) -> Result<Option<ConversationView>> {
    let query = calls::table
        .inner_join(agents::table)
        .filter(calls::id.eq(V(id)).and(calls::account_id.eq(V(account))))
        .select(ConversationView::as_select())
        .into_boxed::<Db>()
        .when(since, |since| calls::started_at.ge(V(since)));
    Ok(query.found(conn).await?)
}

/// Moments after `after`, in order. The caller has looked up the conversation for its account.
async fn moments(
    conn: &mut Conn,
    id: ConversationId,
    after: i32,
    limit: i64,
    turns_only: bool,
) -> Result<Vec<Moment>> {
    let mut query = moments::table
        .filter(moments::conversation_id.eq(V(id)))
        .filter(moments::seq.gt(after))
        .order(moments::seq)
        .limit(limit)
        .select(Moment::as_select())
        .into_boxed::<Db>();
    if turns_only {
        query = query.filter(moments::role.is_not_null());
    }
    Ok(query.load(conn).await?)
}
