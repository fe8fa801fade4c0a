//! A call at its provider, asked after until it has ended: soon after something has changed, ever more rarely while
//! nothing does, and at once when the provider says of its own accord that it knows more.

use std::sync::Arc;
use std::time::Duration;

use offhook_domain::{ClaimId, FailureReason, Timestamp};
use offhook_engine::legacy::{LegacyEnd, LegacyError, LegacyPace, LegacyProgress, LegacyReference};
use offhook_engine::{CallControl, CallSink as _, EndRequest, Turn, TurnRole};
use offhook_failpoints::scaled;
use offhook_storage::{Conversation, Fenced, NewTurn};
use tokio::time::{Instant, sleep_until};

use super::super::closing::{Lasted, MediaEnd, close, settle};
use super::super::covering::top_up;
use super::super::record::{Record, insist, stored};
use super::end::{failed, outcome};
use super::times::fit;
use crate::legacy::Look;
use crate::recordings::Wanted;
use crate::{Result, Shared};

/// The longest call that credits are held for; the provider has limits of its own.
const LONGEST_S: i64 = 7_200;

/// What a call is followed with.
pub(super) struct Following {
    pub(super) credential: String,
    pub(super) reference: LegacyReference,
    /// Who has said what, as far as it is written.
    pub(super) written: Vec<(TurnRole, String)>,
    /// What becomes of a call that the provider does not know.
    pub(super) if_unknown: FailureReason,
}

/// Follows a call to its end and settles it. `Ok` without that is a call that is another owner's now, or will be.
pub(super) async fn follow(
    shared: &Arc<Shared>,
    call: &Conversation,
    claim: ClaimId,
    control: &CallControl,
    following: Following,
) -> Result<()> {
    let record = Record::new(shared.clone(), call, claim);
    let pace = shared.legacy.pace().mapped(scaled);
    if !pace.appears_within.is_zero() {
        // It is for this process to find out what becomes of it, however late the provider says so.
        shared.registry.mark_alive(call.id);
    }
    let mut followed = Followed {
        shared,
        call,
        claim,
        control,
        pace,
        look: shared.legacy_looks.of(call.id),
        began: Instant::now(),
        alive: false,
        answered_at: call.answered_at,
        last_sign: None,
        unknown_since: None,
        mark: None,
        reported_as: None,
        told: Vec::new(),
        following,
    };
    let end = {
        let top_up = top_up(shared, call, LONGEST_S, control);
        tokio::pin!(top_up);
        let end = followed.until_end(&record);
        tokio::pin!(end);
        tokio::select! {
            end = &mut end => end,
            // It never ends by itself before the call does.
            () = &mut top_up => end.await,
        }
    };
    let Some(end) = end else { return Ok(()) };
    if record.finish().await.is_err() || followed.write_last_word().await? == Fenced::Lost {
        return Ok(());
    }
    let media = MediaEnd {
        outcome: end.outcome,
        answered_at: followed.answered_at,
        ended_at: end.ended_at,
        latencies_ms: Vec::new(),
    };
    let conversation = followed.following.reference.conversation;
    // Written down before the call is closed: whoever closes it may die right behind that.
    let wanted = match end.recorded {
        true => Wanted::note(shared, call, conversation).await,
        false => None,
    };
    let closed = close(shared, call, claim, &media).await?;
    match (closed, wanted) {
        (Some(_), Some(wanted)) => wanted.fetch(shared),
        (None, Some(wanted)) => wanted.leave().await,
        (_, None) => {}
    }
    let Some(duration) = closed else {
        return Ok(());
    };
    let lasted = Lasted::at_most(call, end.ended_at, duration);
    settle(shared, call, claim, end.outcome, lasted, end.summary).await
}

/// A call that is being followed, and what is known of it.
struct Followed<'a> {
    shared: &'a Arc<Shared>,
    call: &'a Conversation,
    claim: ClaimId,
    control: &'a CallControl,
    pace: LegacyPace,
    look: Look,
    began: Instant,
    alive: bool,
    answered_at: Option<Timestamp>,
    /// The last moment at which something was heard of the call.
    last_sign: Option<Timestamp>,
    /// Since when the provider has not known it.
    unknown_since: Option<Instant>,
    /// By which one sees that something has changed.
    mark: Option<(usize, bool, bool)>,
    /// What the provider has called the call in a report, while it does not say so where it is asked by our reference.
    reported_as: Option<String>,
    /// What was said, as the provider has told last.
    told: Vec<Turn>,
    following: Following,
}

impl Followed<'_> {
    /// Asks after the call until it has ended; `None` if it is another owner's now, or is left to one.
    async fn until_end(&mut self, record: &Record) -> Option<LegacyEnd> {
        let mut ask_at = Instant::now();
        let mut wait = self.pace.soonest;
        // What was asked for here, and whether the provider has confirmed it.
        let (mut heard, mut ending, mut confirmed) = (None, None, true);
        // What was told of its end so far, and since when.
        let mut over: Option<(Instant, LegacyEnd)> = None;
        // Whether a report may have come: one may have before this process followed the call.
        let mut may_be_reported = true;
        loop {
            tokio::select! {
                biased;
                request = self.control.beyond(heard) => {
                    if request == EndRequest::ClaimLost {
                        return None;
                    }
                    heard = Some(request);
                    if self.shared.legacy.hangs_up() {
                        (ending, confirmed) = (heard, false);
                    } else if request == EndRequest::Drain {
                        // It goes on where its media lives; whoever takes it over asks after it.
                        return None;
                    } else {
                        continue;
                    }
                }
                () = self.look.woken() => (wait, may_be_reported) = (self.pace.soonest, true),
                () = sleep_until(ask_at) => {}
            }
            confirmed = confirmed || self.is_hung_up().await;
            if may_be_reported {
                self.hear().await;
            }
            let asked = self.ask().await;
            // On another node's word alone: where the provider does not say, it is looked for.
            may_be_reported = matches!(asked, Ok(None) | Err(_));
            match asked {
                Ok(Some(progress)) => {
                    wait = self.next_wait(&progress, wait);
                    let end = self.note(record, progress).await?;
                    over = end.map(|end| {
                        let since = over.map_or_else(Instant::now, |(since, _)| since);
                        let outcome = outcome(end.outcome, ending);
                        (since, LegacyEnd { outcome, ..end })
                    });
                    if over.is_none()
                        && let Some(end) = self.never_answered().await
                    {
                        return Some(end);
                    }
                }
                Ok(None) => {
                    wait = self.pace.soonest;
                    if let Some(end) = self.unknown().await {
                        // How it ended may have been told before it was forgotten.
                        let end = over.map_or(end, |(_, told)| told);
                        return Some(self.reported(end).await);
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, call = %self.call.id, "the legacy provider does not say how a call goes");
                    wait = (wait * 2).min(self.pace.latest).max(patience(&error));
                    // It may be going on, unless the provider has reported that it was never begun.
                    if over.is_none()
                        && let Some(end) = self.never_begun().await
                    {
                        return Some(end);
                    }
                }
            }
            if let Some((_, end)) = over.take_if(|(since, end)| self.is_told(*since, end)) {
                return Some(self.reported(end).await);
            }
            if self.began.elapsed() >= self.pace.over_within {
                return Some(over.map_or_else(|| self.forgotten(), |(_, end)| end));
            }
            ask_at = Instant::now() + wait;
            if let Some((since, _)) = &over {
                ask_at = ask_at.min(*since + self.pace.told_within);
            }
        }
    }

    /// Whether nothing more is waited for that the provider may say of a call which is over.
    fn is_told(&self, since: Instant, end: &LegacyEnd) -> bool {
        end.is_told || since.elapsed() >= self.pace.told_within
    }

    /// Asks how the call goes; once more if it is refused and the account has stored another credential since.
    async fn ask(&mut self) -> Result<Option<LegacyProgress>, LegacyError> {
        let asked = self.ask_once().await;
        if matches!(asked, Err(LegacyError::Refused(_))) && self.has_new_credential().await {
            return self.ask_once().await;
        }
        asked
    }

    async fn ask_once(&self) -> Result<Option<LegacyProgress>, LegacyError> {
        let Following {
            credential,
            reference,
            ..
        } = &self.following;
        let provider = &self.shared.legacy;
        if reference.conversation.is_none() && self.reported_as.is_some() {
            let reported = LegacyReference {
                call: reference.call,
                conversation: self.reported_as.clone(),
            };
            match provider.progress(credential, &reported).await {
                // As if nothing had been reported.
                Ok(None) => {}
                asked => return asked,
            }
        }
        provider.progress(credential, reference).await
    }

    /// Learns from a report what the provider calls the call, if that is not known.
    async fn hear(&mut self) {
        let is_known = self.following.reference.conversation.is_some();
        if is_known || self.reported_as.is_some() || !self.shared.legacy.reports() {
            return;
        }
        let (account, id) = (self.call.account_id, self.call.id);
        // An outage passes; the report stays.
        let reported = self.shared.store.legacy_call_reported(account, id).await;
        self.reported_as = reported.unwrap_or_default();
    }

    /// Reads the account's credential again; whether it is another one.
    async fn has_new_credential(&mut self) -> bool {
        // An outage passes; the next refusal looks again.
        let stored = self.shared.legacy_credential(self.call.account_id).await;
        let stored = stored.unwrap_or_default();
        let Some(new) = stored.filter(|stored| *stored != self.following.credential) else {
            return false;
        };
        self.following.credential = new;
        true
    }

    /// Hangs up; whether the provider confirms that.
    async fn is_hung_up(&self) -> bool {
        let Following {
            credential,
            reference,
            ..
        } = &self.following;
        let ended = self.shared.legacy.hang_up(credential, reference).await;
        ended.is_ok()
    }

    /// Soon after something has changed, twice as late as before if nothing has.
    fn next_wait(&mut self, progress: &LegacyProgress, wait: Duration) -> Duration {
        let answered = progress.answered_at.is_some();
        let mark = (progress.turns.len(), answered, progress.end.is_some());
        let is_other = self.mark.replace(mark) != Some(mark);
        if is_other || progress.end.is_some() {
            self.pace.soonest
        } else {
            (wait * 2).min(self.pace.latest)
        }
    }

    /// Writes down what is new, at the time at which it can have been; `None` if the call is another owner's now.
    async fn note(
        &mut self,
        record: &Record,
        mut progress: LegacyProgress,
    ) -> Option<Option<LegacyEnd>> {
        let known = (self.call.started_at, self.answered_at);
        fit(&mut progress, known, self.shared.clock.now());
        if let (Some(name), None) = (
            &progress.conversation,
            &self.following.reference.conversation,
        ) {
            let name = name.clone();
            let (store, id) = (&self.shared.store, self.call.id);
            let named = insist(|| store.name_legacy_call(id, self.claim, &name)).await;
            if matches!(named, Ok(Fenced::Lost)) {
                return None;
            }
            self.following.reference.conversation = Some(name);
        }
        self.unknown_since = None;
        if progress.reported && !self.alive {
            self.alive = true;
            record.carrier_reported().await.ok()?;
        }
        if let (Some(at), None) = (progress.answered_at, self.answered_at) {
            record.answered(at).await.ok()?;
            self.answered_at = Some(at);
        }
        let written = &mut self.following.written;
        for turn in progress.turns.iter().skip(written.len()) {
            record.turn(turn.clone()).await.ok()?;
            written.push((turn.role, turn.text.clone()));
        }
        self.told = progress.turns;
        let last = self.told.last().map(|turn| turn.started_at);
        self.last_sign = last.or(self.last_sign).or(self.answered_at);
        if progress.end.is_some() {
            // Its last word: what it charges for is counted from here.
            self.answered_at = progress.answered_at;
        }
        Some(progress.end)
    }

    /// Makes the provider's last word the transcript, if it differs from what was written as it came.
    async fn write_last_word(&self) -> Result<Fenced> {
        let told = self.told.iter().map(|turn| (turn.role, &turn.text));
        let written = self.following.written.iter();
        if self.told.is_empty() || told.eq(written.map(|(role, text)| (*role, text))) {
            return Ok(Fenced::Done);
        }
        let turns = self.told.iter().cloned();
        let turns: Vec<NewTurn> = turns.map(|turn| stored(turn, None)).collect();
        let (store, id) = (&self.shared.store, self.call.id);
        let replaced = insist(|| store.replace_turns(id, self.claim, turns.clone())).await?;
        self.shared.touch(id);
        Ok(replaced)
    }

    /// Why the provider has reported that the call was never begun, if it has.
    async fn report(&self) -> Option<FailureReason> {
        if !self.shared.legacy.reports() {
            return None;
        }
        let name = self.following.reference.conversation.as_deref();
        let (account, id) = (self.call.account_id, self.call.id);
        // An outage passes; the report stays.
        let report = self.shared.store.legacy_failure(account, id, name).await;
        report.unwrap_or_default()
    }

    /// An end as the provider says it, or as it has reported it, which may say more of a call that nobody answered.
    async fn reported(&self, end: LegacyEnd) -> LegacyEnd {
        let says_little = end.outcome == failed(FailureReason::CarrierError);
        if !says_little || self.answered_at.is_some() {
            return end;
        }
        let outcome = self.report().await.map_or(end.outcome, failed);
        LegacyEnd { outcome, ..end }
    }

    async fn never_answered(&self) -> Option<LegacyEnd> {
        if self.answered_at.is_some() {
            return None;
        }
        if let Some(end) = self.never_begun().await {
            return Some(end);
        }
        let is_late = self.began.elapsed() >= self.pace.answered_within;
        is_late.then(|| self.ended_now(FailureReason::CarrierError))
    }

    /// The end of a call of which the provider has reported that it was never begun.
    async fn never_begun(&self) -> Option<LegacyEnd> {
        if self.answered_at.is_some() {
            return None;
        }
        let reason = self.report().await?;
        Some(self.ended_now(reason))
    }

    /// What becomes of a call that the provider does not know now: it may list it in a moment.
    async fn unknown(&mut self) -> Option<LegacyEnd> {
        let since = *self.unknown_since.get_or_insert_with(Instant::now);
        let is_late = since.elapsed() >= self.pace.appears_within;
        if self.answered_at.is_some() {
            // It was there, and is no more: what was said is known, and how it ended is not.
            return is_late.then(|| self.forgotten());
        }
        if let Some(end) = self.never_begun().await {
            return Some(end);
        }
        is_late.then(|| self.ended_now(self.following.if_unknown))
    }

    /// The provider took the call, and never said how it ended: it is charged for what is known of it.
    fn forgotten(&self) -> LegacyEnd {
        match self.answered_at {
            Some(answered_at) => LegacyEnd {
                ended_at: self.last_sign.unwrap_or(answered_at),
                ..self.ended_now(FailureReason::AgentError)
            },
            None => self.ended_now(FailureReason::CarrierError),
        }
    }

    fn ended_now(&self, reason: FailureReason) -> LegacyEnd {
        LegacyEnd {
            outcome: failed(reason),
            ended_at: self.shared.clock.now(),
            summary: String::new(),
            recorded: false,
            is_told: true,
        }
    }
}

/// How long a provider that did not say wants to be left alone.
const fn patience(error: &LegacyError) -> Duration {
    match error {
        LegacyError::Later(Some(after)) => *after,
        LegacyError::Later(None)
        | LegacyError::NotConnected
        | LegacyError::Unknown
        | LegacyError::Refused(_) => Duration::ZERO,
    }
}
