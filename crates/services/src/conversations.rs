//! Reads conversations within the plan's retention window.

mod begin;
mod cost;
mod credits;
mod notes;
mod search;
mod tags;

use futures_util::Stream;
use futures_util::stream;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::prelude::*;
use crate::recordings::Recordings;
use crate::signals::{FOLLOW_AGAIN_AFTER, Signal};
use crate::{Recording, Result};

pub(crate) use begin::{Lines, STOPPING, Slot, begin_text, check_serves, check_status, serving};
pub use cost::Cost;
pub(crate) use credits::reserve_more;
pub use search::{EndReason, Found, Search};
pub use tags::tag;

/// Turns returned with a conversation at most.
const TRANSCRIPT_TURNS: i64 = 1_000;

/// Moments that a follower reads at once.
const FOLLOW_BATCH: i64 = 200;

/// A conversation's duration and cost so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SoFar {
    /// Seconds since it was answered.
    pub seconds: i64,
    pub credits: Credits,
}

#[derive(Clone)]
pub struct Conversations {
    pub(crate) ctx: Arc<Context>,
    pub(crate) live: Arc<Live>,
    pub(crate) recordings: Arc<Recordings>,
    pub(crate) providers: Arc<Providers>,
}

#[boxed]
impl Conversations {
    fn retained_since(&self, caller: &Caller) -> Option<Timestamp> {
        retained_since(&self.ctx, caller)
    }

    /// Lists conversations, newest first.
    pub async fn list(
        &self,
        caller: &Caller,
        mut filter: ConversationFilter,
        page: PageRequest<ConversationId>,
    ) -> Result<Page<ConversationView>> {
        filter.since = filter.since.max(self.retained_since(caller));
        let (store, account) = (&self.ctx.store, caller.account.id);
        page.read(|after, limit| store.conversations(account, filter, after, limit))
            .await
    }

    /// A conversation; with `voice_only`, only a voice one.
    pub async fn get(
        &self,
        caller: &Caller,
        id: ConversationId,
        voice_only: bool,
    ) -> Result<Option<ConversationView>> {
        let since = self.retained_since(caller);
        let store = &self.ctx.store;
        let view = store.conversation(caller.account.id, id, since).await?;
        Ok(view.filter(|view| !voice_only || view.conversation.is_voice()))
    }

    /// A conversation with its first 1,000 turns.
    pub async fn transcript(
        &self,
        caller: &Caller,
        id: ConversationId,
    ) -> Result<Option<(ConversationView, Vec<Moment>)>> {
        let since = self.retained_since(caller);
        self.ctx
            .store
            .transcript(caller.account.id, id, since, TRANSCRIPT_TURNS)
            .await
    }

    /// The duration and cost of a conversation that the caller may read; while it lasts, as if it ended now.
    pub async fn so_far(&self, conversation: &Conversation) -> Result<SoFar> {
        let until = conversation
            .ended_at
            .unwrap_or_else(|| self.ctx.clock.now());
        let seconds = conversation.duration_seconds.unwrap_or_else(|| {
            let answered = conversation.answered_at;
            answered.map_or(0, |answered| until.started_seconds_since(answered))
        });
        let price = conversation.price();
        let credits = match conversation.credits {
            Some(credits) => credits,
            None if conversation.voice => price.of_seconds(seconds),
            None => {
                let (account, id) = (conversation.account_id, conversation.id);
                let answers = self.ctx.store.chat_answers(account, id).await?;
                price.of_answers(i64::from(answers.unwrap_or(0)))
            }
        };
        Ok(SoFar { seconds, credits })
    }

    /// The data extracted from a conversation that the caller may read. `None` while it lasts, and if there is nothing
    /// to extract.
    pub async fn analysis(&self, view: &ConversationView) -> Result<Option<Analysis>> {
        let conversation = &view.conversation;
        if !conversation.state.is_terminal() {
            return Ok(None);
        }
        let (account, id) = (conversation.account_id, conversation.id);
        self.ctx.store.analysis(account, id).await
    }

    /// The recording of a conversation, if there is one. A recording that is missing from the object store is logged
    /// and returned as `None`.
    pub async fn recording(
        &self,
        caller: &Caller,
        id: ConversationId,
    ) -> Result<Option<Recording>, UseCaseError> {
        let view = self.get(caller, id, false).await?;
        if view.is_none_or(|view| !view.conversation.has_audio) {
            return Ok(None);
        }
        let found = self.recordings.find(caller.account.id, id).await?;
        if found.is_none() {
            tracing::error!(conversation = %id, "a recording is missing from the object store");
        }
        Ok(found)
    }

    /// Lists a conversation's turns after moment `after`, oldest first.
    pub async fn turns(
        &self,
        caller: &Caller,
        id: ConversationId,
        after: i32,
        limit: u32,
    ) -> Result<Option<Page<Moment>>> {
        if self.get(caller, id, false).await?.is_none() {
            return Ok(None);
        }
        let store = &self.ctx.store;
        let rows = store.turns(id, after, i64::from(limit) + 1).await?;
        Ok(Some(Page::of(rows, limit)))
    }

    /// The last turns of a conversation before moment `before`, oldest first. The page says whether older ones are
    /// left.
    pub async fn turns_before(
        &self,
        caller: &Caller,
        id: ConversationId,
        before: i32,
        limit: u32,
    ) -> Result<Option<Page<Moment>>> {
        if self.get(caller, id, false).await?.is_none() {
            return Ok(None);
        }
        let store = &self.ctx.store;
        let mut rows = store.turns_before(id, before, i64::from(limit) + 1).await?;
        // The extra row is the oldest.
        rows.reverse();
        let mut page = Page::of(rows, limit);
        page.items.reverse();
        Ok(Some(page))
    }

    /// Records how many streams of the caller's key are open in this process. With `most`, returns `false` if all
    /// processes together would have more.
    pub async fn note_streams(
        &self,
        (account, key): (AccountId, KeyId),
        open: i32,
        most: Option<i32>,
    ) -> Result<bool, StoreError> {
        let ctx = &self.ctx;
        let noted = ctx
            .store
            .note_streams((account, key), ctx.node, (open, most), ctx.clock.now());
        noted.await
    }

    /// Streams a conversation's moments after `after`. The stream ends with the terminal state.
    pub fn follow(
        &self,
        caller: &Caller,
        id: ConversationId,
        after: i32,
    ) -> impl Stream<Item = Result<Moment>> + Send + use<> {
        let follower = Follower {
            ctx: self.ctx.clone(),
            live: self.live.clone(),
            account: caller.account.id,
            id,
            after,
            touched: self.live.feed.follow(id),
            said_at: None,
            ready: Vec::new().into_iter(),
            ended: false,
        };
        stream::unfold(follower, |mut follower| async move {
            follower.next().await.map(|item| (item, follower))
        })
    }
}

/// The oldest instant that the caller's plan still shows.
pub(crate) fn retained_since(ctx: &Context, caller: &Caller) -> Option<Timestamp> {
    let days = caller.terms.retention_days?;
    let window = Duration::from_secs(u64::from(days) * 86_400);
    Some(ctx.clock.now().minus(window))
}

struct Follower {
    ctx: Arc<Context>,
    live: Arc<Live>,
    account: AccountId,
    id: ConversationId,
    after: i32,
    touched: Arc<Notify>,
    /// When this follower was last announced to other processes.
    said_at: Option<Instant>,
    ready: std::vec::IntoIter<Moment>,
    ended: bool,
}

impl Follower {
    /// Tells the process that owns the call that it has a follower.
    fn say(&mut self) {
        let is_due = self
            .said_at
            .is_none_or(|at| at.elapsed() >= FOLLOW_AGAIN_AFTER);
        if is_due && !self.live.registry.holds(self.id) {
            self.live.signals.say(Signal::Follow(self.id));
            self.said_at = Some(Instant::now());
        }
    }

    /// How long to wait for a notification.
    fn pause(&self) -> Duration {
        let looks = &self.ctx.calls.looks;
        match self.live.signals.hears() {
            true => looks.streams,
            false => looks.deaf_streams,
        }
    }

    async fn next(&mut self) -> Option<Result<Moment>> {
        loop {
            if let Some(moment) = self.ready.next() {
                self.after = moment.seq;
                return Some(Ok(moment));
            }
            if self.ended {
                return None;
            }
            // Registered before the read, so that a notification in between is not missed.
            self.say();
            let touched = self.touched.clone();
            let touch = touched.notified();
            tokio::pin!(touch);
            touch.as_mut().enable();
            let read = self
                .ctx
                .store
                .moments(self.account, self.id, self.after, FOLLOW_BATCH)
                .await;
            match read {
                Ok(None) => return None,
                Ok(Some((state, moments))) => {
                    if moments.is_empty() {
                        if state.is_terminal() {
                            return None;
                        }
                        tokio::select! {
                            () = touch => {}
                            () = tokio::time::sleep(self.pause()) => {}
                        }
                    }
                    self.ready = moments.into_iter();
                }
                Err(error) => {
                    self.ended = true;
                    return Some(Err(error));
                }
            }
        }
    }
}
