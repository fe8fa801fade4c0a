//! Members' tags on conversations.

use crate::prelude::*;
use crate::schema::conversation_tags as tags;

#[derive(QueryableByName)]
struct Known {
    #[diesel(sql_type = Text)]
    tag: String,
}

impl Store {
    /// The tags of these conversations, in order, with each one's id. The caller has looked them up for its account.
    pub fn tags(&self, ids: Vec<ConversationId>) -> Answer<'_, Vec<(ConversationId, String)>> {
        tags::table
            .filter(tags::conversation_id.eq_any(ids.into_iter().map(V)))
            .order((tags::conversation_id, tags::tag))
            .select((tags::conversation_id, tags::tag))
            .read_all(self)
    }

    /// The first `most` tags of an account, in order. Costs one index look-up per tag, however many conversations have it.
    pub fn known_tags(&self, account: AccountId, most: i64) -> Answer<'_, Vec<String>> {
        read!(self, |conn| {
            let rows: Vec<Known> = diesel::sql_query(
                "WITH RECURSIVE known (tag) AS ( \
                   SELECT f.tag FROM (SELECT tag FROM conversation_tags \
                     WHERE account_id = $1 ORDER BY tag LIMIT 1) AS f \
                   UNION ALL \
                   SELECT (SELECT t.tag FROM conversation_tags t \
                     WHERE t.account_id = $1 AND t.tag > k.tag ORDER BY t.tag LIMIT 1) \
                   FROM known k WHERE k.tag IS NOT NULL) \
                 SELECT tag FROM known WHERE tag IS NOT NULL LIMIT $2",
            )
            .bind::<sql::Uuid, _>(V(account))
            .bind::<BigInt, _>(most)
            .load(conn)
            .await?;
            Ok(rows.into_iter().map(|row| row.tag).collect())
        })
    }

    /// Adds tags, unless the conversation is gone or would have more than `most`.
    pub fn add_tags(
        &self,
        account: AccountId,
        id: ConversationId,
        new: Vec<String>,
        most: i64,
    ) -> Answer<'_, bool> {
        transact!(self, |conn| {
            // The lock keeps the conversation from being deleted meanwhile, and tags from being counted twice.
            let is_there = diesel::update(own!(calls, account, id))
                .set(calls::has_audio.eq(calls::has_audio))
                .changes(conn)
                .await?;
            ensure!(is_there, Rollback(false));
            for tag in new {
                insert_new! { conn, tags: conversation_id = id, tag, account_id = account }?;
            }
            let count = tags::table.filter(tags::conversation_id.eq(V(id)));
            let has_room = count.counted(conn).await? <= most;
            Ok(Verdict::keep_if(has_room, has_room))
        })
    }

    pub fn delete_tag(
        &self,
        account: AccountId,
        id: ConversationId,
        tag: String,
    ) -> Answer<'_, bool> {
        let found = tags::table.find((V(id), tag));
        diesel::delete(found.filter(tags::account_id.eq(V(account)))).commit_change(self)
    }
}
