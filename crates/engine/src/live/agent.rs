//! The agent's side of a live call: its turns, spoken sentence by sentence.

use std::collections::VecDeque;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join};
use offhook_domain::{CallOutcome, Timestamp};
use tokio::time::{Instant, timeout};
use tracing::{Span, field};

use super::LiveCall;
use super::tools::ToolStep;
use crate::TurnRole;
use crate::latency::ReplyTimes;
use crate::ports::Spoken;
use crate::reply::{Reply, ReplySource, SharedSource, source_of};
use crate::session::{SessionExit, Turn, unless_lost};

/// How long a line may take to report how much of an interrupted text was heard.
pub(super) const CUT_LIMIT: Duration = Duration::from_secs(1);

/// One turn of the agent, spoken sentence by sentence.
pub(super) struct AgentTurn<'a> {
    pub(super) reply: Option<Reply>,
    /// How the reply comes about.
    source: Option<SharedSource>,
    pub(super) queue: VecDeque<String>,
    pub(super) speaking: Option<BoxFuture<'a, Spoken>>,
    pub(super) heard: String,
    /// How many bytes at the start of `heard` are filler, not part of the answer.
    filled: usize,
    /// The text being spoken is filler, not part of the answer.
    fills: bool,
    /// The first sentence has started.
    has_begun: bool,
    pub(super) started_at: Option<Timestamp>,
    pub(super) duration_ms: u32,
    /// Part of the turn was cut, though the turn goes on.
    pub(super) interrupted: bool,
    /// The turn's tool calls, once the reply is complete.
    pub(super) step: Option<ToolStep<'a>>,
    /// The first text is a notice that has not started yet.
    has_notice: bool,
    /// The notice is being spoken, which cannot be interrupted.
    gives_notice: bool,
    /// The turn's greeting, until part of it was heard.
    greeting: Option<String>,
    /// The call ends after this turn, with this outcome.
    pub(super) farewell: Option<CallOutcome>,
    /// The times of the first sentence, until it was heard.
    pub(super) times: Option<ReplyTimes>,
    /// Covers the whole turn.
    span: Span,
}

impl AgentTurn<'_> {
    pub(super) fn new(
        reply: Option<Reply>,
        text: Option<&str>,
        farewell: Option<CallOutcome>,
    ) -> Self {
        Self {
            source: reply.as_ref().map(Reply::source),
            reply,
            queue: text.map(str::to_owned).into_iter().collect(),
            speaking: None,
            heard: String::new(),
            filled: 0,
            fills: false,
            has_begun: false,
            started_at: None,
            duration_ms: 0,
            interrupted: false,
            step: None,
            has_notice: false,
            gives_notice: false,
            greeting: None,
            farewell,
            times: None,
            span: tracing::info_span!("turn", latency_ms = field::Empty),
        }
    }

    /// The first turn of a call: a notice, then a greeting. `None` if both are empty.
    pub(super) fn opening(notice: &str, greeting: &str) -> Option<Self> {
        let texts = [notice, greeting].map(str::trim);
        let mut texts = texts.into_iter().filter(|text| !text.is_empty());
        let mut turn = Self::new(None, Some(texts.next()?), None);
        turn.queue.extend(texts.map(str::to_owned));
        turn.has_notice = !notice.trim().is_empty();
        let greeting = greeting.trim();
        turn.greeting = (!greeting.is_empty()).then(|| greeting.to_owned());
        Some(turn)
    }

    /// Whether the turn's tools are running.
    fn works(&self) -> bool {
        let step = self.step.as_ref();
        step.is_some_and(|step| step.running.is_some())
    }

    /// Records how long the customer waited for this turn.
    pub(super) fn measured(&self, latency_ms: u32) {
        self.span.record("latency_ms", latency_ms);
    }

    pub(super) fn add(&mut self, spoken: &Spoken) {
        let text = spoken.heard_text.trim();
        if !self.heard.is_empty() && !text.is_empty() {
            self.heard.push(' ');
        }
        self.heard.push_str(text);
        if !text.is_empty() && !self.gives_notice {
            self.greeting = None;
        }
        if std::mem::take(&mut self.fills) {
            self.filled = self.heard.len();
        }
        self.duration_ms = self.duration_ms.saturating_add(spoken.duration_ms);
    }

    /// What the customer heard of the answer, without filler.
    pub(super) fn heard_answer(&self) -> &str {
        self.heard
            .get(self.filled..)
            .unwrap_or_default()
            .trim_start()
    }

    /// How a model came to what was heard, or to tool calls without words.
    pub(super) fn source(&self) -> Option<Box<ReplySource>> {
        self.source.as_ref().and_then(source_of)
    }

    /// Whether nothing has been spoken yet, and nothing is being spoken.
    pub(super) const fn is_unheard(&self) -> bool {
        self.speaking.is_none() && self.heard.is_empty()
    }
}

impl<'a> LiveCall<'a> {
    pub(super) fn begin(&mut self, turn: AgentTurn<'a>) {
        self.reply_at = None;
        self.silence_at = None;
        self.agent = Some(turn);
        self.speak_next();
    }

    /// Whether the agent goes silent when the customer speaks. If the customer may not barge in, only a turn that has
    /// not started yields: the customer's further words belong to the same question.
    pub(super) fn yields(&self) -> bool {
        self.agent.as_ref().is_some_and(|turn| {
            let interrupts = self.dialogue.persona().interruptions;
            let may = turn.farewell.is_none() && !turn.gives_notice;
            may && (interrupts || turn.started_at.is_none())
        })
    }

    pub(super) fn farewell(&self) -> Option<CallOutcome> {
        self.agent.as_ref().and_then(|turn| turn.farewell)
    }

    /// Continues with the next sentence, the end of the tool step, or the end of the turn.
    pub(super) async fn go_on(&mut self) -> Result<(), SessionExit> {
        self.speak_next();
        let Some(turn) = &self.agent else {
            return Ok(());
        };
        if turn.speaking.is_some() || turn.reply.is_some() {
            return Ok(());
        }
        let (uses_tools, working) = (turn.step.is_some(), turn.works());
        if working {
            Ok(())
        } else if uses_tools {
            self.conclude().await
        } else {
            self.finish(false).await
        }
    }

    pub(super) fn speak_next(&mut self) {
        let Some(turn) = self.agent.as_mut() else {
            return;
        };
        let Some(text) = turn.queue.pop_front() else {
            return;
        };
        self.filler_at = None;
        if !std::mem::replace(&mut turn.has_begun, true) {
            let heard_at = self.heard_at.take();
            if let Some(heard_at) = heard_at.filter(|_| turn.reply.is_some()) {
                if self.line.is_spoken() {
                    let now = Instant::now();
                    let reply = turn.reply.as_ref();
                    turn.times = Some(ReplyTimes {
                        spoke_until: heard_at,
                        turn_over_at: self.turn_over_at.unwrap_or(heard_at),
                        first_token_at: reply.and_then(Reply::first_token_at).unwrap_or(now),
                        first_sentence_at: now,
                    });
                } else {
                    let waited = u32::try_from(heard_at.elapsed().as_millis());
                    let waited = waited.unwrap_or(u32::MAX);
                    turn.measured(waited);
                    self.latencies_ms.push(waited);
                }
            }
        }
        self.say(text);
    }

    /// Says a filler before the answer. The customer hears it, but the models do not see it.
    pub(super) fn fill(&mut self, text: &str) {
        if let Some(turn) = self.agent.as_mut() {
            turn.fills = true;
            self.say(text.to_owned());
        }
    }

    fn say(&mut self, text: String) {
        let interrupts = self.dialogue.persona().interruptions;
        let Some(turn) = self.agent.as_mut() else {
            return;
        };
        if turn.started_at.is_none() {
            turn.started_at = Some(self.clock.now());
        }
        let line = self.line;
        turn.gives_notice = std::mem::take(&mut turn.has_notice);
        line.set_interruptible(interrupts && turn.farewell.is_none() && !turn.gives_notice);
        let next = turn.queue.front().cloned();
        let speaking = async move {
            let prepare = async {
                if let Some(next) = &next {
                    line.prepare(next);
                }
            };
            // The order matters: the sentence to speak now is requested first.
            join(line.say(&text), prepare).await.0
        };
        turn.speaking = Some(speaking.boxed());
    }

    /// Takes the floor from the agent. The transcript keeps what was heard of its turn.
    pub(super) async fn cut(&mut self) -> Result<(), SessionExit> {
        let Some(turn) = self.agent.as_mut() else {
            return Ok(());
        };
        let mut complete = turn.reply.take().is_none() && turn.queue.is_empty();
        turn.queue.clear();
        turn.farewell = None;
        if let Some(speaking) = turn.speaking.take() {
            self.line.stop_speaking();
            let spoken = timeout(CUT_LIMIT, speaking).await.unwrap_or_default();
            self.add(&spoken);
            complete &= spoken.complete;
        }
        self.finish(!complete).await
    }

    /// Records the agent's turn and listens, or ends the call if these were its last words.
    pub(super) async fn finish(&mut self, interrupted: bool) -> Result<(), SessionExit> {
        let Some(mut turn) = self.agent.take() else {
            return Ok(());
        };
        self.dialogue.push_agent(turn.heard_answer());
        let (step, farewell) = (turn.step.take(), turn.farewell);
        // The customer made a noise before hearing the greeting; the agent says it afterwards.
        self.ungreeted = turn.greeting.take().filter(|_| interrupted);
        self.record_speech(turn, interrupted).await?;
        if let Some(step) = step {
            self.abandon(step).await?;
        }
        if let Some(outcome) = farewell {
            return Err(SessionExit::Outcome(outcome));
        }
        self.yield_floor();
        Ok(())
    }

    /// Adds what the customer said meanwhile, and listens.
    pub(super) fn yield_floor(&mut self) {
        for text in std::mem::take(&mut self.overheard) {
            self.dialogue.push_customer(&text);
        }
        self.listen();
    }

    /// Records what was heard of a turn.
    pub(super) async fn record_speech(
        &mut self,
        turn: AgentTurn<'_>,
        interrupted: bool,
    ) -> Result<(), SessionExit> {
        let (Some(started_at), false) = (turn.started_at, turn.heard.is_empty()) else {
            return Ok(());
        };
        self.record(Turn {
            role: TurnRole::Agent,
            source: turn.source(),
            text: turn.heard,
            started_at,
            duration_ms: turn.duration_ms,
            interrupted,
        })
        .await
    }

    pub(super) async fn record(&mut self, turn: Turn) -> Result<(), SessionExit> {
        unless_lost(&mut self.requests, self.sink.turn(turn)).await?;
        Ok(())
    }
}
