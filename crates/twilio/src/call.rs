//! The task of one call: it asks Twilio for the call, once, and looks after it till its end.

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

/// How long a call whose placing was not answered may show itself, before it is taken not to have been placed.
const SHOWS_WITHIN: Duration = Duration::from_secs(10);

/// How long Twilio may refuse a call for the moment before it is none, and what is waited if it does not say how long.
const PLACED_WITHIN: Duration = Duration::from_secs(8);
const BUSY_WAIT: Duration = Duration::from_secs(1);

/// How long a call may wait to be made: an account makes one a second, and Twilio keeps the others.
const QUEUED_AT_MOST: Duration = Duration::from_secs(120);

/// How often Twilio is asked about a call that is not answered: what it told may not have come.
const ASK_EVERY: Duration = Duration::from_secs(10);

/// How often in a row Twilio may know nothing of a call before it is lost, and how soon it is asked again: what it has just
/// placed need not be found everywhere at once.
const FORGOTTEN_AT_MOST: u32 = 3;
const ASK_AGAIN: Duration = Duration::from_secs(5);

/// How long the sound of an answered call may take to begin.
const SOUND_WITHIN: Duration = Duration::from_secs(8);

/// How long Twilio may take to say why a connection is gone.
const EXPLAINED_WITHIN: Duration = Duration::from_secs(2);

/// How long the engine may take to let go of a call that was handed over.
const HANDED_OVER_WITHIN: Duration = Duration::from_secs(30);

/// How long the last words of the agent may take to be played once it hangs up.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Frames between two marks, unless a sentence ends: a second.
const MARK_EVERY: u32 = 50;

/// Ticks that are made up for at once after the machine was busy. When it was away for longer they are left out.
const MOST_BEHIND: u32 = 5;

/// The waits before Twilio is asked again to end a call.
const END_AGAIN: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(2)];

/// A request to place a call, and its answer. It goes on by itself once the call has shown itself.
type Asking = Pin<Box<dyn Future<Output = Result<String, TwilioError>> + Send>>;

/// A call, as its task has it.
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

/// How far it is.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// By what it showed itself before Twilio's answer.
    shown: Option<Signal>,
    rank: Option<u8>,
    sequence: Option<u64>,
    /// How often in a row Twilio knew nothing of it.
    forgotten: u32,
    rang: bool,
    /// Its sound has begun, so that it counts as answered.
    started: bool,
    /// Who answered, if that was found out before.
    machine: Option<bool>,
    /// When it fails unless something is heard of it, and why.
    fails_at: Option<(Instant, FailureReason)>,
    number: u64,
    unmarked: u32,
}

/// How a call ended, as far as Twilio is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// There is nothing left of it.
    Over,
    /// It is to be ended there.
    Ours,
}

impl Call {
    /// Lives the call to its end. `taken` learns whether Twilio has taken it over.
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
        // Whoever dialed may be gone; the call is ended then like any other that nobody has.
        let _ = taken.send(placed);
        if is_placed {
            self.live_and_end(QUEUED_AT_MOST).await;
        }
        self.forget();
    }

    /// Lives a call that came in, and was answered by whoever made it wait, to its end.
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
        // Nothing of it is wanted any more.
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

    /// Places the call, once. When the answer is late or lost, what Twilio tells of the call shows whether there is one.
    async fn place(
        &mut self,
        order: Order,
        taken: &mut oneshot::Sender<Result<(), DialError>>,
    ) -> Result<(), DialError> {
        let Some(placed) = self.ask_for(order, taken).await else {
            return Ok(());
        };
        match placed {
            Ok(sid) if self.line.is_of(&sid) => Ok(()),
            // Nothing has named another one before: the call would have been taken up by it.
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
            Err(TwilioError::Unknown) => self.look_out().await,
        }
    }

    /// Asks for the call until Twilio answers; `None` if the call shows itself before.
    async fn ask_for(
        &mut self,
        order: Order,
        taken: &mut oneshot::Sender<Result<(), DialError>>,
    ) -> Option<Result<String, TwilioError>> {
        let (order, until) = (Arc::new(order), Instant::now() + PLACED_WITHIN);
        let mut hang_ups = self.line.hang_ups();
        loop {
            let mut asking = self.asking(&order);
            let answer = tokio::select! {
                biased;
                Some(signal) = self.signals.recv() => {
                    self.shows_itself(signal);
                    let (client, line) = (self.client().clone(), Arc::clone(&self.line));
                    tokio::spawn(outrun(asking, client, line));
                    return None;
                }
                answer = &mut asking => answer,
            };
            let Err(TwilioError::RateLimited(asked)) = answer else {
                return Some(answer);
            };
            // Nothing was done: it is asked again, while whoever dials still waits.
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

    fn asking(&self, order: &Arc<Order>) -> Asking {
        let (client, order) = (self.client().clone(), Arc::clone(order));
        Box::pin(async move { client.place(&order).await })
    }

    /// Waits for a call whose answer was lost. One that is to be ended is not waited for: it is ended when it shows itself.
    async fn look_out(&mut self) -> Result<(), DialError> {
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

    /// The call is there, and this is what shows it. Its id counts at once, so that the call can be ended.
    fn shows_itself(&mut self, signal: Signal) {
        if let Some(sid) = signal.sid() {
            self.line.is_of(sid);
        }
        self.progress.shown = Some(signal);
    }

    async fn live(&mut self, shows_within: Duration) -> End {
        let mut hang_ups = self.line.hang_ups();
        let begun = Instant::now();
        let mut asks = interval_at(begun + ASK_EVERY, ASK_EVERY);
        asks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        self.progress.fails_at = Some((begun + shows_within, FailureReason::CarrierError));
        // It came before all others.
        if let Some(signal) = self.progress.shown.take()
            && let Some(end) = self.take(signal)
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
                    if let Some(end) = self.take(signal) {
                        return end;
                    }
                    if self.progress.forgotten > 0 {
                        asks.reset_after(ASK_AGAIN);
                    }
                    if self.progress.started && !started {
                        deadline = Instant::now();
                    }
                }
                () = sleep_until(fails_at.unwrap_or(begun)), if fails_at.is_some() => {
                    let reason = self.progress.fails_at.map(|(_, reason)| reason);
                    self.tell(AudioEvent::Failed(reason.unwrap_or(FailureReason::CarrierError)));
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
                _ = asks.tick(), if !started => self.ask(),
            }
        }
    }

    /// What a signal makes of the call; an end, if it is one.
    fn take(&mut self, signal: Signal) -> Option<End> {
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
                    // Told again, or overtaken.
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
                self.tell(AudioEvent::Failed(FailureReason::CarrierError));
                // To end what is gone does no harm.
                Some(End::Ours)
            }
            Signal::Screened { sid, machine } => {
                if self.line.is_of(&sid) && self.progress.machine.replace(machine).is_none() {
                    self.tell_who_answered();
                }
                None
            }
            Signal::Started { sid } => {
                if !self.line.is_of(&sid) {
                    self.tell(AudioEvent::Failed(FailureReason::CarrierError));
                    return Some(End::Ours);
                }
                self.progress.started = true;
                self.progress.fails_at = None;
                self.tell(AudioEvent::Answered);
                self.tell_who_answered();
                None
            }
            Signal::Key(key) => {
                self.tell(AudioEvent::Dtmf(key));
                None
            }
            Signal::Stopped if self.line.is_handed_over() => {
                self.line.has_left();
                // The engine lets go of it; if Twilio would not hand the call over after all, there is no sound.
                let at = Instant::now() + HANDED_OVER_WITHIN;
                self.progress.fails_at = Some((at, FailureReason::CarrierError));
                None
            }
            Signal::Stopped => {
                self.tell(AudioEvent::Hangup);
                Some(End::Over)
            }
            Signal::Gone => {
                // The sound of a call that goes on is lost; of one that is over, Twilio says so.
                let at = Instant::now() + EXPLAINED_WITHIN;
                self.progress.fails_at = Some((at, FailureReason::AgentError));
                self.ask();
                None
            }
            Signal::Unusable { .. } => {
                self.tell(AudioEvent::Failed(FailureReason::CarrierError));
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
                self.tell(AudioEvent::Hangup);
                return Some(End::Over);
            }
            status => {
                tracing::info!(call = %self.line.handle, sip_code, "a call was not answered");
                self.tell(AudioEvent::Failed(failure_of_status(status, sip_code)));
                return Some(End::Over);
            }
        }
        None
    }

    fn rings(&mut self) {
        // From here on the session counts.
        self.progress.fails_at = None;
        if !std::mem::replace(&mut self.progress.rang, true) {
            self.tell(AudioEvent::Ringing);
        }
    }

    fn tell_who_answered(&self) {
        if let (true, Some(machine)) = (self.progress.started, self.progress.machine) {
            self.tell(AudioEvent::Screened(machine));
        }
    }

    /// An engine that lets events pile up is gone, and its call is ended as soon as the last of them is dropped.
    fn tell(&self, event: AudioEvent) {
        let _ = self.events.try_send(event);
    }

    /// Asks Twilio where the call is, beside everything else.
    fn ask(&self) {
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

    /// Lets 20 ms pass.
    fn tick(&mut self, now: Instant) {
        let (heard, lost) = self.line.inbox.lock().take();
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
        // An engine that is busy for five seconds loses what it cannot take.
        let _ = self.ticks.try_send(tick);
    }

    /// Lets Twilio play what the agent said last.
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

    /// Ends the call; `false` if Twilio did not confirm. To ask for that again does no harm.
    async fn end_at_twilio(&self) -> bool {
        let Some(sid) = self.line.sid() else {
            return false;
        };
        let was_answered =
            self.progress.started || self.progress.rank.is_some_and(|rank| rank >= 2);
        end(self.client(), sid, was_answered).await.is_ok()
    }
}

/// Waits for the answer of a call that has shown itself before. A call is one id, and the one that was shown first is this
/// call's: what the answer says beside it is told, and a second call that it names is nobody's.
async fn outrun(asking: Asking, client: TwilioClient, line: Arc<Line>) {
    let call = line.handle;
    match asking.await {
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

/// Ends a call of this id, whatever it does.
///
/// # Errors
/// [`TwilioError`] if Twilio did not confirm.
pub(crate) async fn end(
    client: &TwilioClient,
    sid: &str,
    was_answered: bool,
) -> Result<(), TwilioError> {
    let (mut answered, mut waits) = (was_answered, END_AGAIN.into_iter());
    loop {
        match client.end(sid, answered).await {
            // It was answered meanwhile, and went on.
            Ok(Some(CallStatus::InProgress)) if !answered => answered = true,
            Ok(_) => return Ok(()),
            Err(error) => match waits.next() {
                Some(wait) => sleep(wait).await,
                None => return Err(error),
            },
        }
    }
}
