//! Searches conversations for what no index answers: words that were said, reasons, lengths and variables. An index of all
//! words would cost each turn of each call a write; a search reads the newest conversations instead, and says how far it
//! came.

use tokio::time::Instant;

use super::Conversations;
use crate::Result;
use crate::casefold::fold;
use crate::prelude::*;

/// Conversations read at once.
const AT_ONCE: i64 = 100;

/// Conversations that one search looks at.
const LOOKED_AT_MOST: usize = 5_000;

/// How long one search looks.
const LONGEST: Duration = Duration::from_secs(2);

/// Why a conversation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndReason {
    Ended(TerminationReason),
    Failed(FailureReason),
}

/// What is searched for, beside the filters of an index.
#[derive(Debug, Clone, Default)]
pub struct Search {
    /// Part of what was said, or of the summary, without regard to case.
    pub words: Option<String>,
    pub reason: Option<EndReason>,
    pub min_seconds: Option<i64>,
    /// A variable's name and, if given, its value.
    pub variable: Option<(String, Option<String>)>,
}

/// What a search has found.
#[derive(Debug, Clone, Default)]
pub struct Found {
    pub views: Vec<ConversationView>,
    /// The turn or summary in which each conversation has the words.
    pub said: HashMap<ConversationId, String>,
    /// Where the next page begins, if there may be more.
    pub next: Option<(Timestamp, ConversationId)>,
    /// How many conversations were looked at, if the search stopped before the page was full.
    pub stopped_after: Option<usize>,
}

impl Search {
    /// Whether it keeps every conversation.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.words.is_none()
            && self.reason.is_none()
            && self.min_seconds.is_none()
            && self.variable.is_none()
    }

    /// Whether a conversation has the reason, length and variable.
    fn fits(&self, conversation: &Conversation) -> bool {
        let ended = conversation.state.is_terminal();
        let has_reason = self.reason.is_none_or(|reason| match reason {
            EndReason::Ended(reason) => conversation.termination_reason == Some(reason),
            EndReason::Failed(reason) => conversation.failure_reason == Some(reason),
        });
        let seconds = conversation.duration_seconds.unwrap_or(0);
        let is_long = self.min_seconds.is_none_or(|least| seconds >= least);
        let is_decided = self.reason.is_none() && self.min_seconds.is_none() || ended;
        is_decided && has_reason && is_long && self.has_variable(&conversation.metadata)
    }

    fn has_variable(&self, metadata: &str) -> bool {
        let Some((name, value)) = &self.variable else {
            return true;
        };
        let sent = Json::parse(metadata.as_bytes()).ok();
        let members = sent.as_ref().and_then(Json::as_object).unwrap_or_default();
        let found = members.iter().find(|(known, _)| known == name);
        found.is_some_and(|(_, found)| {
            value.as_ref().is_none_or(|value| match found.as_str() {
                Some(text) => fold(text) == fold(value),
                None => found.to_compact() == *value,
            })
        })
    }
}

#[boxed]
impl Conversations {
    /// The next conversations, newest first, that meet the filter and the search.
    pub async fn search(
        &self,
        caller: &Caller,
        mut filter: ConversationFilter,
        search: &Search,
        page: PageRequest<ConversationId>,
    ) -> Result<Found> {
        filter.since = filter.since.max(self.retained_since(caller));
        let (most, until) = (page.limit as usize, Instant::now() + LONGEST);
        let mut found = Found::default();
        let (mut after, mut looked) = (page.after, 0);
        let at_once = match search.is_empty() {
            true => i64::from(page.limit),
            false => AT_ONCE,
        };
        loop {
            let store = &self.ctx.store;
            let rows = store.conversations(caller.account.id, filter.clone(), after, at_once);
            let mut rows = rows.await?;
            let has_more = rows.len() > usize::try_from(at_once).unwrap_or(usize::MAX);
            rows.truncate(usize::try_from(at_once).unwrap_or(usize::MAX));
            let count = rows.len();
            let said = self.said(&rows, search).await?;
            for (place, view) in rows.into_iter().enumerate() {
                let conversation = &view.conversation;
                after = Some((conversation.started_at, conversation.id));
                looked += 1;
                let has_words = search.words.is_none() || said.contains_key(&conversation.id);
                if !has_words || !search.fits(conversation) {
                    continue;
                }
                if let Some(said) = said.get(&conversation.id) {
                    found.said.insert(conversation.id, said.clone());
                }
                found.views.push(view);
                if found.views.len() == most {
                    found.next = after.filter(|_| has_more || place + 1 < count);
                    return Ok(found);
                }
            }
            if !has_more {
                return Ok(found);
            }
            if looked >= LOOKED_AT_MOST || Instant::now() >= until {
                found.next = after;
                found.stopped_after = Some(looked);
                return Ok(found);
            }
        }
    }

    /// The first turn, or the summary, of each of these conversations that has the words.
    async fn said(
        &self,
        views: &[ConversationView],
        search: &Search,
    ) -> Result<HashMap<ConversationId, String>> {
        let mut said = HashMap::new();
        let words = some_or!(search.words.as_deref().map(fold), said);
        let fitting = views.iter().map(|view| &view.conversation);
        let fitting: Vec<_> = fitting.filter(|one| search.fits(one)).collect();
        for conversation in &fitting {
            if let Some(summary) = &conversation.summary
                && fold(summary).contains(&words)
            {
                said.insert(conversation.id, summary.clone());
            }
        }
        let ids: Vec<_> = fitting.iter().map(|one| one.id).collect();
        if ids.is_empty() {
            return Ok(said);
        }
        let mut is_in_turns = HashMap::new();
        for (id, text) in self.ctx.store.words_of(ids).await? {
            let text = text.unwrap_or_default();
            if !is_in_turns.contains_key(&id) && fold(&text).contains(&words) {
                is_in_turns.insert(id, text);
            }
        }
        said.extend(is_in_turns);
        Ok(said)
    }
}
