//! Polls a call at its provider until it has ended: soon after a change, less often while nothing changes, and at once
//! when the provider reports news.

use offhook_engine::legacy::{LegacyEnd, LegacyError, LegacyPace, LegacyProgress, LegacyReference};
use offhook_engine::{CallControl, CallSink as _, EndRequest, Turn, TurnRole};
use offhook_failpoints::scaled;
use tokio::time::{Instant, sleep_until};

use super::super::closing::{Lasted, MediaEnd, close, settle};
use super::super::covering::top_up;
use super::super::record::Record;
use super::end::{failed, outcome};
use super::times::fit;
use crate::Result;
use crate::legacy::Look;
use crate::prelude::*;
use crate::recordings::Wanted;
use crate::retry::retried;
use crate::turns::stored;

/// The longest call that credits are held for; the provider has its own limits.
const LONGEST_S: i64 = 7_200;

pub(super) struct Following {
    pub(super) credential: String,
    pub(super) reference: LegacyReference,
    /// The turns written so far, with their speakers.
    pub(super) written: Vec<(TurnRole, String)>,
    /// The failure of a call that the provider does not know.
    pub(super) if_unknown: FailureReason,
}

/// Follows a call to its end and settles it. Also returns `Ok` without that if another owner has the call, or will have
/// it.
pub(super) async fn follow(
    runner: &Arc<Runner>,
    call: &Conversation,
    claim: ClaimId,
    control: &CallControl,
    following: Following,
) -> Result<()> {
    let record = Record::new(runner.clone(), call, claim);
    let pace = runner.providers.legacy.pace().mapped(scaled);
    if !pace.appears_within.is_zero() {
        // This process must find out how the call ends, however late the provider shows it.
        runner.live.registry.mark_alive(call.id);
    }
    let mut followed = Followed {
        runner,
        call,
        claim,
        control,
        pace,
        look: runner.live.legacy_looks.of(call.id),
        began: Instant::now(),
        alive: false,
        answered_at: call.answered_at,
        last_sign: None,
        unknown_since: None,
        mark: None,
        reported_as: None,
        reported: Vec::new(),
        following,
    };
    let end = {
        let top_up = top_up(runner, call, LONGEST_S, control);
        tokio::pin!(top_up);
        let end = followed.until_end(&record);
        tokio::pin!(end);
        tokio::select! {
            end = &mut end => end,
            // Never ends before the call does.
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
        signaled: record.signaled(),
    };
    let conversation = followed.following.reference.conversation;
    // Written before the call is closed, because the process may die right after closing it.
    let wanted = match end.recorded {
        true => Wanted::note(&runner.recordings, call, conversation).await,
        false => None,
    };
    let closed = close(runner, call, claim, &media).await?;
    match (closed, wanted) {
        (Some(_), Some(wanted)) => wanted.fetch(&runner.recordings),
        (None, Some(wanted)) => wanted.leave().await,
        (_, None) => {}
    }
    let duration = some_or!(closed, ());
    let lasted = Lasted::at_most(call, end.ended_at, duration);
    settle(runner, call, claim, end.outcome, lasted, end.summary).await
}

/// A call being followed, and what is known of it.
struct Followed<'a> {
    runner: &'a Arc<Runner>,
    call: &'a Conversation,
    claim: ClaimId,
    control: &'a CallControl,
    pace: LegacyPace,
    look: Look,
    began: Instant,
    alive: bool,
    answered_at: Option<Timestamp>,
    /// The last moment at which the provider showed activity of the call.
    last_sign: Option<Timestamp>,
    /// Since when the provider has not known the call.
    unknown_since: Option<Instant>,
    /// Changes whenever the call does.
    mark: Option<(usize, bool, bool)>,
    /// The provider's id of the call from a report, while a look-up by our reference does not return it.
    reported_as: Option<String>,
    /// The turns that the provider returned last.
    reported: Vec<Turn>,
    following: Following,
}

impl Followed<'_> {
    /// Polls the call until it has ended. `None` if another owner has it, or will take it over.
    async fn until_end(&mut self, record: &Record) -> Option<LegacyEnd> {
        let mut ask_at = Instant::now();
        let mut wait = self.pace.soonest;
        // The request made here, and whether the provider has confirmed it.
        let (mut heard, mut ending, mut confirmed) = (None, None, true);
        // What the provider has said about the end so far, and since when.
        let mut over: Option<(Instant, LegacyEnd)> = None;
        // Whether a report may have come. One may have come before this process followed the call.
        let mut may_be_reported = true;
        loop {
            tokio::select! {
                biased;
                request = self.control.beyond(heard) => {
                    if request == EndRequest::ClaimLost {
                        return None;
                    }
                    heard = Some(request);
                    if self.runner.providers.legacy.hangs_up() {
                        (ending, confirmed) = (heard, false);
                    } else if request == EndRequest::Drain {
                        // The call continues where its media lives; its next owner polls it.
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
            // Reports are looked up after a wake-up, and always if the provider does not know the call or does not
            // respond.
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
                        // The provider may have told the end before it forgot the call.
                        let end = over.map_or(end, |(_, reported)| reported);
                        return Some(self.reported(end).await);
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, call = %self.call.id, "the legacy provider does not say how a call goes");
                    wait = (wait * 2).min(self.pace.latest).max(patience(&error));
                    // The call may continue, unless the provider has reported that it never began.
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

    /// Whether to stop waiting for more details of a call that is over.
    fn is_told(&self, since: Instant, end: &LegacyEnd) -> bool {
        end.is_final || since.elapsed() >= self.pace.told_within
    }

    /// Polls the call. Retries once if the request is refused and the account has stored a new credential since.
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
        let provider = &self.runner.providers.legacy;
        if reference.conversation.is_none() && self.reported_as.is_some() {
            let reported = LegacyReference {
                call: reference.call,
                conversation: self.reported_as.clone(),
            };
            match provider.progress(credential, &reported).await {
                // As if there were no report.
                Ok(None) => {}
                asked => return asked,
            }
        }
        provider.progress(credential, reference).await
    }

    /// Learns the provider's id of the call from a report, if it is not known.
    async fn hear(&mut self) {
        let is_known = self.following.reference.conversation.is_some();
        if is_known || self.reported_as.is_some() || !self.runner.providers.legacy.reports() {
            return;
        }
        let (account, id) = (self.call.account_id, self.call.id);
        // An outage passes; the report stays.
        let reported = self.runner.store.legacy_call_reported(account, id).await;
        self.reported_as = reported.unwrap_or_default();
    }

    /// Reads the account's credential again; returns whether it changed.
    async fn has_new_credential(&mut self) -> bool {
        // An outage passes; the next refusal reads it again.
        let stored = self.runner.legacy_credential(self.call.account_id).await;
        let stored = stored.unwrap_or_default();
        let Some(new) = stored.filter(|stored| *stored != self.following.credential) else {
            return false;
        };
        self.following.credential = new;
        true
    }

    /// Hangs up; returns whether the provider confirms it.
    async fn is_hung_up(&self) -> bool {
        let Following {
            credential,
            reference,
            ..
        } = &self.following;
        let ended = self.runner.providers.legacy.hang_up(credential, reference);
        ended.await.is_ok()
    }

    /// Polls soon after a change; doubles the pause after no change.
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

    /// Writes what is new, with times that are possible; `None` if another owner has the call now.
    async fn note(
        &mut self,
        record: &Record,
        mut progress: LegacyProgress,
    ) -> Option<Option<LegacyEnd>> {
        let known = (self.call.started_at, self.answered_at);
        fit(&mut progress, known, self.runner.clock.now());
        if let (Some(name), None) = (
            &progress.conversation,
            &self.following.reference.conversation,
        ) {
            let name = name.clone();
            let (store, id) = (&self.runner.store, self.call.id);
            let named = retried(|| store.name_legacy_call(id, self.claim, &name)).await;
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
        self.reported = progress.turns;
        let last = self.reported.last().map(|turn| turn.started_at);
        self.last_sign = last.or(self.last_sign).or(self.answered_at);
        if progress.end.is_some() {
            // The final word of the provider, which the charge is based on.
            self.answered_at = progress.answered_at;
        }
        Some(progress.end)
    }

    /// Replaces the transcript by the provider's last version, if that differs from what was written live.
    async fn write_last_word(&self) -> Result<Fenced> {
        let reported = self.reported.iter().map(|turn| (turn.role, &turn.text));
        let written = self.following.written.iter();
        if self.reported.is_empty() || reported.eq(written.map(|(role, text)| (*role, text))) {
            return Ok(Fenced::Done);
        }
        let turns = self.reported.iter().cloned();
        let turns: Vec<NewTurn> = turns.map(|turn| stored(turn, None)).collect();
        let (store, id) = (&self.runner.store, self.call.id);
        let replaced = retried(|| store.replace_turns(id, self.claim, turns.clone())).await?;
        self.runner.live.touch(id);
        Ok(replaced)
    }

    /// The reason if the provider has reported that the call never began.
    async fn report(&self) -> Option<FailureReason> {
        if !self.runner.providers.legacy.reports() {
            return None;
        }
        let name = self.following.reference.conversation.as_deref();
        let (account, id) = (self.call.account_id, self.call.id);
        // An outage passes; the report stays.
        let report = self.runner.store.legacy_failure(account, id, name).await;
        report.unwrap_or_default()
    }

    /// The end as the provider returned it, or as it reported it: a report may say more about an unanswered call.
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

    /// The end of a call that the provider has reported as never begun.
    async fn never_begun(&self) -> Option<LegacyEnd> {
        if self.answered_at.is_some() {
            return None;
        }
        let reason = self.report().await?;
        Some(self.ended_now(reason))
    }

    /// The end of a call that the provider does not know; it may still list it in a moment.
    async fn unknown(&mut self) -> Option<LegacyEnd> {
        let since = *self.unknown_since.get_or_insert_with(Instant::now);
        let is_late = since.elapsed() >= self.pace.appears_within;
        if self.answered_at.is_some() {
            // The provider knew the call and has lost it. What was said is known, but not how it ended.
            return is_late.then(|| self.forgotten());
        }
        if let Some(end) = self.never_begun().await {
            return Some(end);
        }
        is_late.then(|| self.ended_now(self.following.if_unknown))
    }

    /// The provider accepted the call and never said how it ended. The charge covers what is known of it.
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
            ended_at: self.runner.clock.now(),
            summary: String::new(),
            recorded: false,
            is_final: true,
        }
    }
}

/// How long the provider wants no requests after this error.
const fn patience(error: &LegacyError) -> Duration {
    match error {
        LegacyError::Later(Some(after)) => *after,
        LegacyError::Later(None)
        | LegacyError::NotConnected
        | LegacyError::Unknown
        | LegacyError::Refused(_) => Duration::ZERO,
    }
}
