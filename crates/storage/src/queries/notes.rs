//! Members' notes on conversations, and their saved filters.

use crate::prelude::*;
use crate::schema::{conversation_notes as notes, saved_views as views};

impl Store {
    /// The notes on a conversation, oldest first. The caller has looked it up for its account.
    pub fn notes(&self, id: ConversationId, most: i64) -> Answer<'_, Vec<Note>> {
        notes::table
            .filter(notes::conversation_id.eq(V(id)))
            .order(notes::id)
            .limit(most)
            .select(Note::as_select())
            .read_all(self)
    }

    /// Writes a note, unless its conversation is gone or has `most` notes.
    pub fn add_note(&self, note: Note, most: i64) -> Answer<'_, bool> {
        transact!(self, |conn| {
            let (account, id) = (note.account_id, note.conversation_id);
            // The lock keeps the conversation from being deleted meanwhile, and notes from being counted twice.
            let is_there = diesel::update(own!(calls, account, id))
                .set(calls::has_audio.eq(calls::has_audio))
                .changes(conn)
                .await?;
            let count = notes::table.filter(notes::conversation_id.eq(V(id)));
            let has_room = is_there && count.counted(conn).await? < most;
            ensure!(has_room, Rollback(false));
            insert! {
                conn, notes of note: id, account_id, conversation_id, member_id, author, text, created_at
            }?;
            Ok(Commit(true))
        })
    }

    /// Deletes a note; one of this author only, if given.
    pub fn delete_note(
        &self,
        account: AccountId,
        (conversation, id): (ConversationId, NoteId),
        of: Option<MemberId>,
    ) -> Answer<'_, bool> {
        keep!(self, |conn| {
            let note = own!(notes, account, id).filter(notes::conversation_id.eq(V(conversation)));
            match of {
                Some(member) => {
                    let own = note.filter(notes::member_id.eq(V(member)));
                    diesel::delete(own).changes(conn).await
                }
                None => diesel::delete(note).changes(conn).await,
            }
        })
    }

    /// A member's saved views, by name.
    pub fn saved_views(&self, member: MemberId, most: i64) -> Answer<'_, Vec<SavedView>> {
        views::table
            .filter(views::member_id.eq(V(member)))
            .order(views::name)
            .limit(most)
            .select(SavedView::as_select())
            .read_all(self)
    }

    /// Saves a view; one of the same name is replaced. `false` if the member has `most` others.
    pub fn save_view(&self, view: SavedView, most: i64) -> Answer<'_, bool> {
        transact!(self, |conn| {
            let others = views::table
                .filter(views::member_id.eq(V(view.member_id)))
                .filter(views::name.ne(&view.name));
            ensure!(others.counted(conn).await? < most, Rollback(false));
            diesel::insert_into(views::table)
                .values(row! { views of view: id, account_id, member_id, name, query })
                .on_conflict((views::member_id, views::name))
                .do_update()
                .set(row! { views of view: query })
                .run(conn)
                .await?;
            Ok(Commit(true))
        })
    }

    pub fn delete_view(&self, member: MemberId, id: SavedViewId) -> Answer<'_, bool> {
        diesel::delete(
            views::table
                .find(V(id))
                .filter(views::member_id.eq(V(member))),
        )
        .commit_change(self)
    }
}
