//! Members' tags on conversations: words in lower case by which they are found again.

use super::Conversations;
use crate::casefold::fold;
use crate::error::Result;
use crate::people::Person;
use crate::prelude::*;

/// Tags of one conversation.
const TAGS_AT_MOST: i64 = 20;

/// Characters of a tag.
const TAG_CHARS: usize = 40;

/// Tags of an account that are suggested.
const SUGGESTED: i64 = 200;

/// The tag that is meant by a text; empty for a blank one.
#[must_use]
pub fn tag(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    fold(&words.join(" "))
}

#[boxed]
impl Conversations {
    /// The tags of conversations that the caller may read, each in order.
    pub async fn tags(
        &self,
        ids: Vec<ConversationId>,
    ) -> Result<HashMap<ConversationId, Vec<String>>> {
        let mut tags: HashMap<ConversationId, Vec<String>> = HashMap::new();
        // With an empty list, a database would scan the whole table for nothing.
        if ids.is_empty() {
            return Ok(tags);
        }
        for (id, tag) in self.ctx.store.tags(ids).await? {
            tags.entry(id).or_default().push(tag);
        }
        Ok(tags)
    }

    /// The tags that the account uses, in order.
    pub async fn known_tags(&self, person: &Person) -> Result<Vec<String>> {
        let account = person.caller.account.id;
        Ok(self.ctx.store.known_tags(account, SUGGESTED).await?)
    }

    /// Adds tags to a conversation, separated by commas.
    pub async fn add_tags(&self, person: &Person, id: ConversationId, text: &str) -> Result<()> {
        let tags = text.split(',').map(tag).filter(|tag| !tag.is_empty());
        let tags: Vec<String> = tags.collect();
        let is_long = |tag: &String| tag.chars().count() > TAG_CHARS;
        if tags.is_empty() {
            return Err(FieldError::new("tag", Fault::Blank).into());
        }
        if tags.iter().any(is_long) {
            return Err(FieldError::new("tag", Fault::TooLong(TAG_CHARS)).into());
        }
        let view = self.get(&person.caller, id, false).await?;
        view.ok_or(UseCaseError::NotFound)?;
        let (store, account) = (&self.ctx.store, person.caller.account.id);
        match store.add_tags(account, id, tags, TAGS_AT_MOST).await? {
            true => Ok(()),
            false => Err(UseCaseError::Conflict(Refusal::TooManyTags(TAGS_AT_MOST))),
        }
    }

    /// Removes a tag from a conversation.
    pub async fn remove_tag(&self, person: &Person, id: ConversationId, text: &str) -> Result<()> {
        let view = self.get(&person.caller, id, false).await?;
        view.ok_or(UseCaseError::NotFound)?;
        let (store, account) = (&self.ctx.store, person.caller.account.id);
        match store.delete_tag(account, id, tag(text)).await? {
            true => Ok(()),
            false => Err(UseCaseError::NotFound),
        }
    }
}
