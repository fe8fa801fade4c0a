//! Members' notes on conversations, and their saved views of the list.

use offhook_domain::body::{Name, Required};

use super::Conversations;
use crate::Waveform;
use crate::error::Result;
use crate::people::Person;
use crate::prelude::*;

/// Notes of one conversation.
const NOTES_AT_MOST: i64 = 200;

/// Saved views of one member.
const VIEWS_AT_MOST: i64 = 50;

body! {
    /// A note on a conversation.
    #[derive(Debug)]
    pub WriteNote {
        text: String, Required(Name(4_000)), "The note, 1 to 4,000 characters.";
    }
}

body! {
    /// A saved view of the list of conversations.
    #[derive(Debug)]
    pub SaveView {
        name: String, Required(Name(60)), "Its name, 1 to 60 characters; a view of the same name is replaced.";
        query: String, Required(Name(2_000)), "The query of the list's address.";
    }
}

#[boxed]
impl Conversations {
    /// The changes of state of a conversation that the caller may read, in order.
    pub async fn states(&self, id: ConversationId) -> Result<Vec<Moment>> {
        Ok(self.ctx.store.states(id).await?)
    }

    /// What became of the request to the agent's context URL. The caller may read the conversation.
    pub async fn context_note(&self, id: ConversationId) -> Result<Option<ContextNote>> {
        Ok(self.ctx.store.context_note(id).await?)
    }

    /// How loud each side of a recording is; `None` without a recording that can be drawn.
    pub async fn waveform(&self, person: &Person, id: ConversationId) -> Result<Option<Waveform>> {
        let recording = some_or!(self.recording(&person.caller, id).await?, None);
        Ok(recording.waveform().await?)
    }

    /// The notes on a conversation that the caller may read, oldest first.
    pub async fn notes(&self, id: ConversationId) -> Result<Vec<Note>> {
        Ok(self.ctx.store.notes(id, NOTES_AT_MOST).await?)
    }

    /// Writes a member's note: `{text}`.
    pub async fn add_note(&self, author: &Person, id: ConversationId, body: &Json) -> Result<()> {
        let WriteNote { text } = WriteNote::of(body, &())?;
        let view = self.get(&author.caller, id, false).await?;
        view.ok_or(UseCaseError::NotFound)?;
        let at = self.ctx.clock.now();
        let note = Note {
            id: mint(at),
            account_id: author.caller.account.id,
            conversation_id: id,
            member_id: author.member.id,
            author: author.member.name.clone(),
            text,
            created_at: at,
        };
        match self.ctx.store.add_note(note, NOTES_AT_MOST).await? {
            true => Ok(()),
            false => Err(UseCaseError::Conflict(Refusal::TooManyNotes(NOTES_AT_MOST))),
        }
    }

    /// Deletes a note: members their own, administrators any.
    pub async fn delete_note(
        &self,
        person: &Person,
        conversation: ConversationId,
        id: NoteId,
    ) -> Result<()> {
        let member = &person.member;
        let of = (!member.role.may(MemberRole::Admin)).then_some(member.id);
        let (store, account) = (&self.ctx.store, person.caller.account.id);
        match store.delete_note(account, (conversation, id), of).await? {
            true => Ok(()),
            false => Err(UseCaseError::NotFound),
        }
    }

    /// A member's saved views, by name.
    pub async fn saved_views(&self, person: &Person) -> Result<Vec<SavedView>> {
        let views = self.ctx.store.saved_views(person.member.id, VIEWS_AT_MOST);
        Ok(views.await?)
    }

    /// Saves a view of the member's own: `{name, query}`.
    pub async fn save_view(&self, person: &Person, body: &Json) -> Result<()> {
        let SaveView { name, query } = SaveView::of(body, &())?;
        let view = SavedView {
            id: mint(self.ctx.clock.now()),
            account_id: person.caller.account.id,
            member_id: person.member.id,
            name: name.trim().to_owned(),
            query,
        };
        match self.ctx.store.save_view(view, VIEWS_AT_MOST).await? {
            true => Ok(()),
            false => Err(UseCaseError::Conflict(Refusal::TooManyViews(VIEWS_AT_MOST))),
        }
    }

    /// Deletes a view of the member's own.
    pub async fn delete_view(&self, person: &Person, id: SavedViewId) -> Result<()> {
        match self.ctx.store.delete_view(person.member.id, id).await? {
            true => Ok(()),
            false => Err(UseCaseError::NotFound),
        }
    }
}
