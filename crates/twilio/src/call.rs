//! The task of one call: it sends one request to place the call, and runs it to its end.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use offhook_domain::FailureReason;
use offhook_engine::ports::DialError;
use offhook_engine::ports::audio::{AudioEvent, FRAME_TIME, Played, SILENCE, Tick};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep, sleep_until, timeout};

use crate::carrier::Lines;
use crate::client::{Order, TwilioClient, TwilioError};
use crate::line::{Line, Signal, Text, is_set};
use crate::status::{CallStatus, failure_of_code, failure_of_status};
use crate::stream;

/// How long a call without an answer to its request may take to appear; after it the call counts as not placed.
const SHOWS_WITHIN: Duration = Duration::from_secs(10);

/// How long Twilio may rate-limit a call before it fails, and the delay before a retry if Twilio names none.
const PLACED_WITHIN: Duration = Duration::from_secs(8);
const BUSY_WAIT: Duration = Duration::from_secs(1);

/// How long a call may be queued: an account places one call a second, and Twilio queues the others.
const QUEUED_AT_MOST: Duration = Duration::from_secs(120);

/// How often to poll an unanswered call, because a callback may have been lost.
const POLL_EVERY: Duration = Duration::from_secs(10);

/// How many times in a row Twilio may return 404 for a call before it counts as lost, and the delay between tries. A
/// new call may not be visible on all of Twilio's servers at once.
const FORGOTTEN_AT_MOST: u32 = 3;
const POLL_AGAIN: Duration = Duration::from_secs(5);

/// How long the audio of an answered call may take to begin.
const SOUND_WITHIN: Duration = Duration::from_secs(8);

/// How long Twilio may take to explain a lost connection.
const EXPLAINED_WITHIN: Duration = Duration::from_secs(2);

/// How long the engine may take to release a transferred call.
const HANDED_OVER_WITHIN: Duration = Duration::from_secs(30);

/// How long the agent's last words may take to play after it hangs up.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Frames between two marks, unless a sentence ends: one second.
const MARK_EVERY: u32 = 50;

/// Ticks that are caught up at once after the machine was busy. After a longer stall they are skipped.
const MOST_BEHIND: u32 = 5;

/// The delays before further attempts to end a call.
const END_AGAIN: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(2)];

/// A pending request to place a call. It continues in the background once the call has appeared.
type Placing = Pin<Box<dyn Future<Output = Result<String, TwilioError>> + Send>>;

/// The state of a call's task.
pub(crate) struct Call {
    pub(crate) line: Arc<Line>,
    pub(crate) lines: Arc<Lines>,
    pub(crate) token: String,
    pub(crate) signals: mpsc::Receiver<Signal>,
    pub(crate) events: mpsc::Sender<AudioEvent>,
    pub(crate) ticks: mpsc::Sender<Tick>,
    pub(crate) played: mpsc::UnboundedSender<Played>,
    pub(crate) progress: Progress,
}

/// The progress of a call.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// The signal with which it appeared before Twilio's answer.
    shown: Option<Signal>,
    rank: Option<u8>,
    sequence: Option<u64>,
    /// How many times in a row Twilio returned 404 for it.
    forgotten: u32,
    rang: bool,
    /// Its audio has started, so it counts as answered.
    started: bool,
    /// The answering machine detection's result, if it came before the audio.
    machine: Option<bool>,
    /// When it fails without a further signal, and the reason.
    fails_at: Option<(Instant, FailureReason)>,
    number: u64,
    unmarked: u32,
}

/// How a call ended from Twilio's view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// It is over at Twilio.
    Over,
    /// We must end it at Twilio.
    Ours,
}

impl Call {
    /// Runs the call to its end. `taken` reports whether Twilio accepted it.
    pub(crate) async fn run(
        mut self,
        order: Order,
        mut taken: oneshot::Sender<Result<(), DialError>>,
    ) {
        let placed = self.place(order, &mut taken).await;
        let is_placed = placed.is_ok();
        if is_placed {
            let _ = self.events.try_send(AudioEvent::Accepted);
        }
        // The dialer may be gone; the call then ends like any other without an owner.
        let _ = taken.send(placed);
        if is_placed {
            self.live_and_end(QUEUED_AT_MOST).await;
        }
        self.forget();
    }

    /// Runs an incoming, answered call to its end.
    pub(crate) async fn run_answered(mut self) {
        let _ = self.events.try_send(AudioEvent::Accepted);
        self.progress.rank = Some(CallStatus::InProgress.rank());
        self.live_and_end(SOUND_WITHIN).await;
        self.forget();
    }

    pub(crate) fn forget(&self) {
        self.lines.forget(&self.line, &self.token);
        self.line.end();
    }

    async fn live_and_end(&mut self, shows_within: Duration) {
        let end = self.live(shows_within).await;
        // No more signals of the call are wanted.
        self.lines.forget_token(&self.token);
        let line = &self.line;
        if end == End::Ours && !line.is_handed_over() && !self.end_at_twilio().await {
            tracing::warn!(call = %line.handle, "Twilio did not confirm the end of a call");
            self.lines.leave(line.handle, &line.party);
        }
    }

    fn client(&self) -> &TwilioClient {
        &self.line.party.client
    }

    /// Places the call once. If the answer is late or lost, Twilio's callbacks show whether the call exists.
    async fn place(
        &mut self,
        order: Order,
        taken: &mut oneshot::Sender<Result<(), DialError>>,
    ) -> Result<(), DialError> {
        let Some(placed) = self.place_call(order, taken).await else {
            return Ok(());
        };
        match placed {
            Ok(sid) if self.line.is_of(&sid) => Ok(()),
            // No other id came before, or the call would have taken it.
            Ok(_) => Err(DialError::Unknown),
            Err(TwilioError::NotConnected) => Err(DialError::NotConnected),
            Err(TwilioError::RateLimited(_)) => {
                tracing::warn!(call = %self.line.handle, "Twilio takes no more calls for now");
                Err(DialError::Refused(FailureReason::CarrierError))
            }
            Err(TwilioError::Refused { status, code }) => {
                tracing::warn!(call = %self.line.handle, status, code, "Twilio refused a call");
                Err(DialError::Refused(failure_of_code(status, code)))
            }
            Err(TwilioError::Unknown) => self.await_call().await,
        }
    }

    /// Repeats the request until Twilio answers; `None` if the call appears before.
    async fn place_call(
        &mut self,
        order: Order,
        taken: &mut oneshot::Sender<Result<(), DialError>>,
    ) -> Option<Result<String, TwilioError>> {
        let (order, until) = (Arc::new(order), Instant::now() + PLACED_WITHIN);
        let mut hang_ups = self.line.hang_ups();
        loop {
            let mut placing = self.placing(&order);
            let answer = tokio::select! {
                biased;
                Some(signal) = self.signals.recv() => {
                    self.shows_itself(signal);
                    let (client, line) = (self.client().clone(), Arc::clone(&self.line));
                    tokio::spawn(outrun(placing, client, line));
                    return None;
                }
                answer = &mut placing => answer,
            };
            let Err(TwilioError::RateLimited(asked)) = answer else {
                return Some(answer);
            };
            // Nothing was done: retry while the dialer waits.
            let pause = asked.unwrap_or(BUSY_WAIT);
            let again = Instant::now() + pause.clamp(BUSY_WAIT, PLACED_WITHIN);
            if again >= until || taken.is_closed() {
                return Some(answer);
            }
            tokio::select! {
                biased;
                Some(signal) = self.signals.recv() => {
                    self.shows_itself(signal);
                    return None;
                }
                () = is_set(&mut hang_ups) => return Some(answer),
                () = taken.closed() => return Some(answer),
                () = sleep_until(again) => {}
            }
        }
    }

    fn placing(&self, order: &Arc<Order>) -> Placing {
        let (client, order) = (self.client().clone(), Arc::clone(order));
        Box::pin(async move { client.place(&order).await })
    }

    /// Waits for a call whose answer was lost. After a hangup request it does not wait: the call is ended when it
    /// appears.
    async fn await_call(&mut self) -> Result<(), DialError> {
        let (call, mut hang_ups) = (self.line.handle, self.line.hang_ups());
        tokio::select! {
            biased;
            Some(signal) = self.signals.recv() => {
                tracing::warn!(%call, "Twilio's answer was lost, and the call shows itself");
                self.shows_itself(signal);
                return Ok(());
            }
            () = is_set(&mut hang_ups) => {
                tracing::warn!(%call, "Twilio's answer was lost, and the call is not wanted any more");
            }
            () = sleep(SHOWS_WITHIN) => {
                tracing::warn!(%call, "Twilio's answer was lost, and nothing is heard of the call");
            }
        }
        self.lines.leave(call, &self.line.party);
        Err(DialError::Unknown)
    }

    /// The call exists, as this signal shows. Its id counts at once, so that the call can be ended.
    fn shows_itself(&mut self, signal: Signal) {
        if let Some(sid) = signal.sid() {
            self.line.is_of(sid);
        }
        self.progress.shown = Some(signal);
    }

    async fn live(&mut self, shows_within: Duration) -> End {
        let mut hang_ups = self.line.hang_ups();
        let begun = Instant::now();
        let mut polls = interval_at(begun + POLL_EVERY, POLL_EVERY);
        polls.set_missed_tick_behavior(MissedTickBehavior::Delay);
        self.progress.fails_at = Some((begun + shows_within, FailureReason::CarrierError));
        // This signal came first.
        if let Some(signal) = self.progress.shown.take()
            && let Some(end) = self.apply(signal)
        {
            return end;
        }
        let mut deadline = begun;
        loop {
            let started = self.progress.started;
            let fails_at = self.progress.fails_at.map(|(at, _)| at);
            tokio::select! {
                biased;
                () = is_set(&mut hang_ups) => {
                    self.last_words().await;
                    return End::Ours;
                }
                () = self.events.closed() => return End::Ours,
                signal = self.signals.recv() => {
                    let Some(signal) = signal else { return End::Ours };
                    if let Some(end) = self.apply(signal) {
                        return end;
                    }
                    if self.progress.forgotten > 0 {
                        polls.reset_after(POLL_AGAIN);
                    }
                    if self.progress.started && !started {
                        deadline = Instant::now();
                    }
                }
                () = sleep_until(fails_at.unwrap_or(begun)), if fails_at.is_some() => {
                    let reason = self.progress.fails_at.map(|(_, reason)| reason);
                    self.report(AudioEvent::Failed(reason.unwrap_or(FailureReason::CarrierError)));
                    return End::Ours;
                }
                () = sleep_until(deadline), if started => {
                    let now = Instant::now();
                    let late = now.saturating_duration_since(deadline);
                    let behind = (late.as_millis() / FRAME_TIME.as_millis()) as u32;
                    if behind > MOST_BEHIND {
                        self.progress.number += u64::from(behind);
                        deadline += FRAME_TIME * behind;
                    }
                    self.tick(now);
                    deadline += FRAME_TIME;
                }
                _ = polls.tick(), if !started => self.poll(),
            }
        }
    }

    /// Applies a signal; returns the end of the call, if it is one.
    fn apply(&mut self, signal: Signal) -> Option<End> {
        match signal {
            Signal::Status {
                sid,
                status,
                sip_code,
                sequence,
            } => {
                if !self.line.is_of(&sid) {
                    return None;
                }
                self.progress.forgotten = 0;
                if let Some(sequence) = sequence {
                    // A duplicate, or overtaken by a later one.
                    if self.progress.sequence.is_some_and(|last| sequence <= last) {
                        return None;
                    }
                    self.progress.sequence = Some(sequence);
                }
                self.status(status, sip_code)
            }
            Signal::Forgotten => {
                self.progress.forgotten += 1;
                if self.progress.forgotten < FORGOTTEN_AT_MOST && !self.progress.started {
                    return None;
                }
                self.report(AudioEvent::Failed(FailureReason::CarrierError));
                // Ending a call that is gone does no harm.
                Some(End::Ours)
            }
            Signal::Screened { sid, machine } => {
                if self.line.is_of(&sid) && self.progress.machine.replace(machine).is_none() {
                    self.report_screening();
                }
                None
            }
            Signal::Started { sid } => {
                if !self.line.is_of(&sid) {
                    self.report(AudioEvent::Failed(FailureReason::CarrierError));
                    return Some(End::Ours);
                }
                self.progress.started = true;
                self.progress.fails_at = None;
                self.report(AudioEvent::Answered);
                self.report_screening();
                None
            }
            Signal::Key(key) => {
                self.report(AudioEvent::Dtmf(key));
                None
            }
            Signal::Stopped if self.line.is_handed_over() => {
                self.line.has_left();
                // The engine releases the call. If Twilio refuses the transfer after all, the call has no audio.
                let at = Instant::now() + HANDED_OVER_WITHIN;
                self.progress.fails_at = Some((at, FailureReason::CarrierError));
                None
            }
            Signal::Stopped => {
                self.report(AudioEvent::Hangup);
                Some(End::Over)
            }
            Signal::Gone => {
                // If the call goes on, its audio is lost; if it is over, Twilio will report it.
                let at = Instant::now() + EXPLAINED_WITHIN;
                self.progress.fails_at = Some((at, FailureReason::AgentError));
                self.poll();
                None
            }
            Signal::Unusable { .. } => {
                self.report(AudioEvent::Failed(FailureReason::CarrierError));
                Some(End::Ours)
            }
        }
    }

    fn status(&mut self, status: CallStatus, sip_code: Option<u16>) -> Option<End> {
        if self.progress.rank.is_some_and(|rank| status.rank() <= rank) {
            return None;
        }
        self.progress.rank = Some(status.rank());
        match status {
            CallStatus::Queued | CallStatus::Initiated => {}
            CallStatus::Ringing => self.rings(),
            CallStatus::InProgress if !self.progress.started => {
                let at = Instant::now() + SOUND_WITHIN;
                self.progress.fails_at = Some((at, FailureReason::CarrierError));
            }
            CallStatus::InProgress => {}
            _ if self.progress.started => {
                self.report(AudioEvent::Hangup);
                return Some(End::Over);
            }
            status => {
                tracing::info!(call = %self.line.handle, sip_code, "a call was not answered");
                if let Some(code) = sip_code {
                    self.report(AudioEvent::Status(code));
                }
                self.report(AudioEvent::Failed(failure_of_status(status, sip_code)));
                return Some(End::Over);
            }
        }
        None
    }

    fn rings(&mut self) {
        // From here on the session's ring limit applies.
        self.progress.fails_at = None;
        if !std::mem::replace(&mut self.progress.rang, true) {
            self.report(AudioEvent::Ringing);
        }
    }

    fn report_screening(&self) {
        if let (true, Some(machine)) = (self.progress.started, self.progress.machine) {
            self.report(AudioEvent::Screened(machine));
        }
    }

    /// An engine that lets events pile up is gone. Its call ends when the last receiver is dropped.
    fn report(&self, event: AudioEvent) {
        let _ = self.events.try_send(event);
    }

    /// Polls the call's status in the background.
    fn poll(&self) {
        let Some(sid) = self.line.sid().map(str::to_owned) else {
            return;
        };
        let (client, line) = (self.client().clone(), Arc::clone(&self.line));
        tokio::spawn(async move {
            match client.status(&sid).await {
                Ok(Some(status)) => line.signal(Signal::Status {
                    sid,
                    status,
                    sip_code: None,
                    sequence: None,
                }),
                Ok(None) => line.signal(Signal::Forgotten),
                Err(error) => {
                    tracing::warn!(call = %line.handle, %error, "where a call is could not be asked");
                }
            }
        });
    }

    /// Advances 20 ms.
    fn tick(&mut self, now: Instant) {
        let pulled = self.line.inbox.lock().pull();
        let (heard, lost) = (pulled.unwrap_or(SILENCE), pulled.is_none());
        let said = {
            let mut queue = self.line.queue.lock();
            let stream_sid = self.line.stream_sid();
            loop {
                let frame = queue.send();
                if let Some(frame) = &frame {
                    self.line
                        .outbox
                        .push(Text::Speech(stream::media(stream_sid, frame)));
                    self.progress.unmarked += 1;
                }
                let ends = queue.sent_whole();
                if ends.is_some() || self.progress.unmarked >= MARK_EVERY {
                    self.progress.unmarked = 0;
                    let ahead = u32::try_from(queue.ahead()).unwrap_or(u32::MAX);
                    let played_at = now + FRAME_TIME * ahead;
                    let name = self.line.echoes.lock().mark(ends, played_at);
                    self.line
                        .outbox
                        .push(Text::Speech(stream::mark(stream_sid, &name)));
                }
                if frame.is_none() {
                    break;
                }
            }
            let said = queue.play(now);
            for event in queue.events() {
                let _ = self.played.send(event);
            }
            said
        };
        let tick = Tick {
            number: self.progress.number,
            heard,
            lost,
            said: said.filter(|frame| *frame != SILENCE),
        };
        self.progress.number += 1;
        // An engine that is busy for five seconds loses the ticks that do not fit.
        let _ = self.ticks.try_send(tick);
    }

    /// Lets Twilio play the agent's last words.
    async fn last_words(&self) {
        let played = async {
            while self.line.echoes.lock().is_saying() {
                sleep(FRAME_TIME).await;
            }
        };
        if self.progress.started {
            let _ = timeout(LAST_WORDS, played).await;
        }
    }

    /// Ends the call; `false` if Twilio did not confirm. A repeated request does no harm.
    async fn end_at_twilio(&self) -> bool {
        let Some(sid) = self.line.sid() else {
            return false;
        };
        let was_answered =
            self.progress.started || self.progress.rank.is_some_and(|rank| rank >= 2);
        end(self.client(), sid, was_answered).await.is_ok()
    }
}

/// Waits for the answer of a call that appeared before it. The id that appeared first is this call's. An answer with
/// another id means a second call without an owner, which is hung up and logged.
async fn outrun(placing: Placing, client: TwilioClient, line: Arc<Line>) {
    let call = line.handle;
    match placing.await {
        Ok(sid) if line.is_of(&sid) => {}
        Ok(sid) => match end(&client, &sid, false).await {
            Ok(()) => tracing::warn!(%call, "Twilio placed a second call, which is hung up"),
            Err(error) => {
                tracing::warn!(%call, %error, "Twilio placed a second call, which goes on");
            }
        },
        Err(TwilioError::Unknown) => {
            tracing::warn!(%call, "Twilio's answer was lost, and the call has shown itself");
        }
        Err(error) => {
            tracing::warn!(%call, %error, "Twilio did not take a call, and the call has shown itself");
        }
    }
}

/// Ends the call with this id in any state. Fails if Twilio did not confirm.
pub(crate) async fn end(
    client: &TwilioClient,
    sid: &str,
    was_answered: bool,
) -> Result<(), TwilioError> {
    let (mut answered, mut waits) = (was_answered, END_AGAIN.into_iter());
    loop {
        match client.end(sid, answered).await {
            // It was answered meanwhile, and continued.
            Ok(Some(CallStatus::InProgress)) if !answered => answered = true,
            Ok(_) => return Ok(()),
            Err(error) => match waits.next() {
                Some(wait) => sleep(wait).await,
                None => return Err(error),
            },
        }
    }
}
