//! The live part of a call: who has the floor, and what happens next. One task makes all decisions.

mod agent;
mod customer;
mod spoken;
mod tools;
mod waiting;

use std::sync::Arc;
use std::time::Duration;

use offhook_domain::{CallOutcome, Clock, FailureReason, TerminationReason, Timestamp};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

use agent::AgentTurn;
use customer::Words;
use tools::ToolStep;

use crate::Voicemail;
use crate::control::{EndRequest, EndRequests};
use crate::dialogue::Dialogue;
use crate::phrases::phrases;
use crate::ports::{LegEvent, Line, Spoken, ToolOutcome, Tools};
use crate::reply::{NoReply, Piece, Reply};
use crate::session::{
    Answered, CallSink, HANG_UP_LIMIT, Session, SessionEnd, SessionExit, at, at_speed,
};

/// Sentences that a model may be ahead of the synthesizer.
const SENTENCES_AHEAD: usize = 4;

/// The longest utterance without a pause; after it, the end of the utterance must have been lost.
const LONGEST_UTTERANCE: Duration = Duration::from_secs(60);

/// How long an answering machine's greeting may take to begin before the agent leaves its message anyway.
const GREETING_LIMIT: Duration = Duration::from_secs(10);

/// How long the agent's last words may take before the call ends without them.
const FAREWELL_LIMIT: Duration = Duration::from_secs(30);

/// Runs an answered call until it is over, and hangs up.
pub(crate) async fn run(
    answered: Answered,
    session: Session,
    sink: &dyn CallSink,
    requests: EndRequests,
) -> SessionEnd {
    let answered_at = answered.at;
    let clock = Arc::clone(&session.clock);
    let leg = answered.leg;
    let tools = Arc::clone(&session.tools);
    let dialogue = Dialogue::new(session.persona.clone(), session.models, session.latencies)
        .with_tools(tools.definitions())
        .with_knowledge(session.knowledge);
    let ends_at = answered.since + session.persona.max_duration;
    let mut live = LiveCall {
        line: &*leg.line,
        tools: &*tools,
        events: leg.events,
        speed: leg.speed,
        sink,
        clock: &*clock,
        requests,
        granted: None,
        ends_at,
        warns_at: waiting::warns_at(ends_at, session.persona.max_duration, leg.line.is_spoken()),
        has_warning: false,
        filler_at: None,
        dialogue,
        machine: answered.machine,
        agent: None,
        customer_since: None,
        overheard: Vec::new(),
        screening: false,
        ungreeted: None,
        held_since: None,
        heard_at: None,
        turn_over_at: None,
        reply_at: None,
        silence_at: None,
        asked_again: false,
        latencies_ms: Vec::new(),
    };
    let over = live.talk().await;
    let ended_at = clock.now();
    let _ = timeout(HANG_UP_LIMIT, leg.line.hang_up()).await;
    match over {
        SessionExit::ClaimLost => SessionEnd::ClaimLost,
        SessionExit::Outcome(outcome) => SessionEnd::Ended {
            outcome,
            answered_at: Some(answered_at),
            ended_at,
            latencies_ms: live.latencies_ms,
            transcript: live.dialogue.into_transcript(),
        },
    }
}

struct LiveCall<'a> {
    line: &'a dyn Line,
    tools: &'a dyn Tools,
    events: mpsc::Receiver<LegEvent>,
    speed: f64,
    sink: &'a dyn CallSink,
    clock: &'a dyn Clock,
    requests: EndRequests,
    /// The request that is being carried out.
    granted: Option<EndRequest>,
    ends_at: Instant,
    /// When to warn the customer that the call is almost over.
    warns_at: Option<Instant>,
    /// The warning is due as soon as the customer listens.
    has_warning: bool,
    /// When to say a filler phrase because no answer has come yet.
    filler_at: Option<Instant>,
    dialogue: Dialogue,
    /// An answering machine picked up and a message is to be left: no replies, no barge-in.
    machine: bool,
    /// The agent's current turn, spoken or about to be.
    agent: Option<AgentTurn<'a>>,
    /// When the customer started to speak.
    customer_since: Option<Timestamp>,
    /// What the customer said while the agent kept talking.
    overheard: Vec<String>,
    /// The line is still detecting whether a human or a machine answered.
    screening: bool,
    /// The greeting, if the customer spoke before hearing any of it.
    ungreeted: Option<String>,
    /// When the call was put on hold.
    held_since: Option<Instant>,
    /// The end of the customer's last words, until the agent answers them.
    heard_at: Option<Instant>,
    /// When these words were judged to be a complete turn.
    turn_over_at: Option<Instant>,
    reply_at: Option<Instant>,
    silence_at: Option<Instant>,
    asked_again: bool,
    latencies_ms: Vec<u32>,
}

enum Step {
    Requested(EndRequest),
    Event(Option<LegEvent>),
    Spoken(Spoken),
    Written(Option<Result<Piece, NoReply>>),
    Answered(Vec<ToolOutcome>),
    Timer(Timer),
}

#[derive(Clone, Copy)]
enum Timer {
    MaxDuration,
    Warning,
    Filler,
    Reply,
    Silence,
}

impl<'a> LiveCall<'a> {
    async fn talk(&mut self) -> SessionExit {
        if let Err(over) = self.open() {
            return over;
        }
        loop {
            let done = match self.step().await {
                Step::Requested(request) => self.obey(request).await,
                Step::Event(event) => self.observe(event).await,
                Step::Spoken(spoken) => self.spoken(&spoken).await,
                Step::Written(piece) => self.written(piece).await,
                Step::Answered(outcomes) => self.tools_answered(outcomes).await,
                Step::Timer(timer) => self.due(timer).await,
            };
            if let Err(over) = done {
                return over;
            }
        }
    }

    /// Waits for the next event. Work in progress continues.
    async fn step(&mut self) -> Step {
        let (instant, timer) = self.next_timer();
        let Self {
            requests,
            events,
            agent,
            granted,
            ..
        } = self;
        let (reply, speaking, working) = match agent {
            Some(turn) => (
                turn.reply
                    .as_mut()
                    .filter(|_| turn.queue.len() < SENTENCES_AHEAD),
                turn.speaking.as_mut(),
                turn.step.as_mut().and_then(|step| step.running.as_mut()),
            ),
            None => (None, None, None),
        };
        tokio::select! {
            biased;
            request = requests.beyond(*granted) => Step::Requested(request),
            event = events.recv() => Step::Event(event),
            spoken = or_never(speaking) => Step::Spoken(spoken),
            outcomes = or_never(working) => Step::Answered(outcomes),
            piece = or_never(reply.map(Reply::next)) => Step::Written(piece),
            () = at(Some(instant)) => Step::Timer(timer),
        }
    }

    fn next_timer(&self) -> (Instant, Timer) {
        let mut next = (self.ends_at, Timer::MaxDuration);
        if self.held_since.is_some() {
            return next;
        }
        for (instant, timer) in [
            (self.warns_at, Timer::Warning),
            (self.filler_at, Timer::Filler),
            (self.reply_at, Timer::Reply),
            (self.silence_at, Timer::Silence),
        ] {
            if let Some(instant) = instant.filter(|instant| *instant < next.0) {
                next = (instant, timer);
            }
        }
        next
    }

    fn open(&mut self) -> Result<(), SessionExit> {
        self.screening = self.line.screens();
        if self.screening {
            return Ok(());
        }
        self.greet()
    }

    /// Says the first message, or waits for the callee to speak.
    fn greet(&mut self) -> Result<(), SessionExit> {
        let persona = self.dialogue.persona();
        if self.machine && persona.voicemail == Voicemail::HangUp {
            return Err(completed(TerminationReason::Voicemail));
        }
        self.machine &= persona.voicemail == Voicemail::LeaveMessage;
        if self.machine {
            self.reply_at = Some(self.after(GREETING_LIMIT));
        } else if persona.greets_only {
            let message = persona.first_message.clone();
            let outcome = CallOutcome::Completed(TerminationReason::AgentHangup);
            self.part(&message, outcome);
        } else {
            let opening = AgentTurn::opening(&persona.notice, &persona.first_message);
            match opening {
                Some(turn) => self.begin(turn),
                None => self.listen(),
            }
        }
        Ok(())
    }

    async fn obey(&mut self, request: EndRequest) -> Result<(), SessionExit> {
        self.granted = Some(request);
        let outcome = match request {
            EndRequest::ClaimLost => return Err(SessionExit::ClaimLost),
            EndRequest::ApiHangup => {
                self.cut().await?;
                return Err(completed(TerminationReason::ApiHangup));
            }
            EndRequest::OutOfCredits => CallOutcome::Completed(TerminationReason::AgentHangup),
            EndRequest::Drain => CallOutcome::Failed(FailureReason::Interrupted),
        };
        if self.farewell().is_none() {
            self.cut().await?;
            let goodbye = phrases(&self.dialogue.persona().language).goodbye;
            self.part(goodbye, outcome);
        }
        Ok(())
    }

    async fn observe(&mut self, event: Option<LegEvent>) -> Result<(), SessionExit> {
        match event {
            None | Some(LegEvent::Hangup) => {
                let outcome = self
                    .farewell()
                    .unwrap_or(CallOutcome::Completed(TerminationReason::CustomerHangup));
                self.cut().await?;
                Err(SessionExit::Outcome(outcome))
            }
            Some(LegEvent::Failed(reason)) => {
                self.cut().await?;
                Err(reason.into())
            }
            Some(LegEvent::CustomerStarted) => self.customer_started().await,
            Some(LegEvent::Heard { text, duration_ms }) => self.heard(&text, duration_ms).await,
            Some(LegEvent::TurnOver {
                text,
                duration_ms,
                spoke_until,
                interrupts,
            }) => {
                let words = Words {
                    text: text.trim(),
                    duration_ms,
                    spoke_until,
                    answered_at: Instant::now(),
                    interrupts,
                };
                self.turn_over(words).await
            }
            Some(LegEvent::Screened {
                machine,
                text,
                duration_ms,
            }) => self.screened(machine, text.trim(), duration_ms).await,
            Some(LegEvent::Held(on)) => {
                self.set_on_hold(on);
                Ok(())
            }
            Some(
                LegEvent::Accepted
                | LegEvent::Ringing
                | LegEvent::Status(_)
                | LegEvent::Answered { .. },
            ) => Ok(()),
        }
    }

    async fn spoken(&mut self, spoken: &Spoken) -> Result<(), SessionExit> {
        let Some(turn) = self.agent.as_mut() else {
            return Ok(());
        };
        turn.speaking = None;
        let uses_tools = turn.step.is_some();
        if !spoken.complete {
            turn.reply = None;
            turn.queue.clear();
            turn.interrupted = true;
        }
        self.add(spoken);
        if !spoken.complete && !uses_tools {
            return self.finish(true).await;
        }
        self.go_on().await
    }

    async fn written(&mut self, piece: Option<Result<Piece, NoReply>>) -> Result<(), SessionExit> {
        let Some(turn) = self.agent.as_mut() else {
            return Ok(());
        };
        match piece {
            Some(Ok(Piece::Sentence(text))) => {
                if turn.speaking.is_some() && turn.queue.is_empty() {
                    self.line.prepare(&text);
                }
                turn.queue.push_back(text);
            }
            Some(Ok(Piece::Calls(calls))) => {
                turn.reply = None;
                turn.step = Some(ToolStep::begin(self.tools, calls, self.clock.now()));
            }
            Some(Err(NoReply)) => {
                let apology = phrases(&self.dialogue.persona().language).apology;
                let outcome = CallOutcome::Failed(FailureReason::AgentError);
                if turn.is_unheard() {
                    self.agent = None;
                    self.part(apology, outcome);
                    return Ok(());
                }
                // After what was said while the customer waited for this reply.
                turn.reply = None;
                turn.farewell = Some(outcome);
                turn.queue.push_back(apology.to_owned());
                self.line.set_interruptible(false);
                self.limit_farewell();
            }
            None => turn.reply = None,
        }
        let agent = self.agent.as_ref();
        if agent.is_some_and(|turn| turn.speaking.is_some()) {
            Ok(())
        } else {
            self.go_on().await
        }
    }

    async fn due(&mut self, timer: Timer) -> Result<(), SessionExit> {
        match timer {
            Timer::MaxDuration => {
                let outcome = self
                    .farewell()
                    .unwrap_or(CallOutcome::Completed(TerminationReason::MaxDuration));
                self.cut().await?;
                Err(SessionExit::Outcome(outcome))
            }
            Timer::Warning => {
                self.warn();
                Ok(())
            }
            Timer::Filler => {
                self.say_filler();
                Ok(())
            }
            Timer::Reply if self.machine => self.leave_message(),
            Timer::Reply => {
                self.answer();
                Ok(())
            }
            Timer::Silence => self.silent(),
        }
    }

    fn leave_message(&mut self) -> Result<(), SessionExit> {
        let message = self.dialogue.persona().first_message.clone();
        if message.trim().is_empty() {
            return Err(completed(TerminationReason::Voicemail));
        }
        let outcome = CallOutcome::Completed(TerminationReason::Voicemail);
        self.begin(AgentTurn::new(None, Some(&message), Some(outcome)));
        Ok(())
    }

    fn answer(&mut self) {
        let greeting = self.ungreeted.take();
        if let Some(turn) = greeting.and_then(|greeting| AgentTurn::opening("", &greeting)) {
            self.begin(turn);
            return;
        }
        let reply = self.dialogue.reply();
        self.begin(AgentTurn::new(Some(reply), None, None));
        self.give_warning();
    }

    /// The customer has been silent for too long: the agent asks once, then hangs up.
    fn silent(&mut self) -> Result<(), SessionExit> {
        let answers = self.dialogue.awaits_reply() || self.ungreeted.is_some();
        if self.customer_since.take().is_some() && answers {
            self.answer();
        } else if self.asked_again {
            return Err(completed(TerminationReason::SilenceTimeout));
        } else {
            self.asked_again = true;
            let question = phrases(&self.dialogue.persona().language).reprompt;
            self.begin(AgentTurn::new(None, Some(question), None));
        }
        Ok(())
    }

    /// Says the call's last words, which cannot be interrupted.
    fn part(&mut self, words: &str, outcome: CallOutcome) {
        self.limit_farewell();
        self.begin(AgentTurn::new(None, Some(words), Some(outcome)));
    }

    fn limit_farewell(&mut self) {
        self.ends_at = self.ends_at.min(Instant::now() + FAREWELL_LIMIT);
    }

    /// Gives the customer the floor, unless there is something to answer.
    fn listen(&mut self) {
        if self.customer_since.is_some() {
            self.silence_at = Some(self.after(LONGEST_UTTERANCE));
        } else if self.dialogue.awaits_reply() || self.ungreeted.is_some() {
            self.reply_at = Some(Instant::now());
        } else if self.has_warning {
            self.warn_now();
        } else {
            self.silence_at = Some(self.after(self.dialogue.persona().silence_timeout));
        }
    }

    fn after(&self, wait: Duration) -> Instant {
        Instant::now() + at_speed(wait, self.speed)
    }
}

fn completed(reason: TerminationReason) -> SessionExit {
    SessionExit::Outcome(CallOutcome::Completed(reason))
}

async fn or_never<F: Future>(future: Option<F>) -> F::Output {
    match future {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}
