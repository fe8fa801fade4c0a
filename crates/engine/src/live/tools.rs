//! Tool calls within an agent's turn: they run while the agent speaks, and are concluded after it has spoken.

use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use offhook_domain::{CallOutcome, TerminationReason, Timestamp};
use tokio::time::{Instant, timeout};

use super::LiveCall;
use super::agent::CUT_LIMIT;
use crate::TurnRole;
use crate::ports::{LineError, ToolAction, ToolCall, ToolOutcome, Tools};
use crate::session::{SessionExit, Turn};
use crate::tool_use;

/// How long the carrier may take to carry out a line action.
const LINE_LIMIT: Duration = Duration::from_secs(5);

/// The extra time for each tone to send: that of a pause, the longest one.
const TONE_LIMIT: Duration = Duration::from_millis(500);

/// The transcript's text for a tool that needed the line.
const NOT_DONE: &str = "Not done: the call is over.";

/// The transcript's text for a tool that was running: its request to an external service cannot be undone.
const GIVEN_UP: &str = "The call was over before it answered: it may have been done, or not.";

/// The tool calls of one reply.
pub(super) struct ToolStep<'a> {
    calls: Vec<ToolCall>,
    since: Instant,
    started_at: Timestamp,
    pub(super) running: Option<BoxFuture<'a, Vec<ToolOutcome>>>,
    outcomes: Vec<ToolOutcome>,
    duration_ms: u32,
}

impl<'a> ToolStep<'a> {
    /// Starts all of them at once.
    pub(super) fn begin(tools: &'a dyn Tools, calls: Vec<ToolCall>, started_at: Timestamp) -> Self {
        let asked = calls.clone();
        let running = async move { tool_use::run(tools, &asked).await };
        Self {
            calls,
            since: Instant::now(),
            started_at,
            running: Some(running.boxed()),
            outcomes: Vec::new(),
            duration_ms: 0,
        }
    }

    fn turn(&self, call: &ToolCall, answer: &str, interrupted: bool) -> Turn {
        Turn {
            role: TurnRole::Tool,
            text: tool_use::transcript_text(call, answer),
            started_at: self.started_at,
            duration_ms: self.duration_ms,
            interrupted,
            source: None,
        }
    }
}

impl LiveCall<'_> {
    pub(super) async fn tools_answered(
        &mut self,
        outcomes: Vec<ToolOutcome>,
    ) -> Result<(), SessionExit> {
        let Some(turn) = self.agent.as_mut() else {
            return Ok(());
        };
        let Some(step) = turn.step.as_mut() else {
            return Ok(());
        };
        step.running = None;
        step.duration_ms = u32::try_from(step.since.elapsed().as_millis()).unwrap_or(u32::MAX);
        let is_last = outcomes.contains(&ToolOutcome::Act(ToolAction::EndCall));
        step.outcomes = outcomes;
        if is_last {
            // The agent is speaking its last words, which cannot be interrupted.
            turn.farewell = Some(CallOutcome::Completed(TerminationReason::AgentHangup));
            self.line.set_interruptible(false);
            self.limit_farewell();
        }
        let is_quiet = self
            .agent
            .as_ref()
            .is_some_and(|turn| turn.speaking.is_none());
        if is_quiet { self.go_on().await } else { Ok(()) }
    }

    /// The customer barges in. Running tools go on, because an interruption does not undo their effects. The model gets
    /// their answers together with what the customer says.
    pub(super) async fn interrupt(&mut self) -> Result<(), SessionExit> {
        let Some(turn) = self.agent.as_mut().filter(|turn| turn.step.is_some()) else {
            return self.cut().await;
        };
        turn.interrupted |= !turn.queue.is_empty();
        turn.queue.clear();
        if let Some(speaking) = turn.speaking.take() {
            self.line.stop_speaking();
            let spoken = timeout(CUT_LIMIT, speaking).await.unwrap_or_default();
            turn.interrupted |= !spoken.complete;
            self.add(&spoken);
        }
        self.go_on().await
    }

    /// Carries out the tools' line actions, records everything, and lets the model continue.
    pub(super) async fn conclude(&mut self) -> Result<(), SessionExit> {
        let Some(mut turn) = self.agent.take() else {
            return Ok(());
        };
        let Some(step) = turn.step.take() else {
            return Ok(());
        };
        let said = turn.heard_answer().to_owned();
        let interrupted = turn.interrupted;
        let mut source = turn.source().filter(|_| turn.heard.is_empty());
        self.record_speech(turn, interrupted).await?;
        let (mut answers, mut over) = (Vec::new(), None);
        for (call, outcome) in step.calls.iter().zip(&step.outcomes) {
            let answer = match outcome {
                ToolOutcome::Answer(text) => Ok(text.clone()),
                ToolOutcome::Failed(text) => Err(text.clone()),
                ToolOutcome::Act(_) if over.is_some() => Err(NOT_DONE.to_owned()),
                ToolOutcome::Act(action) => {
                    let (answer, end) = self.act(action).await;
                    over = end;
                    answer
                }
            };
            let turn = step.turn(call, tool_use::text(&answer), false);
            let source = source.take();
            self.record(Turn { source, ..turn }).await?;
            answers.push(answer);
        }
        self.dialogue.used_tools(&said, step.calls, &answers);
        if let Some(reason) = over {
            return Err(SessionExit::Outcome(CallOutcome::Completed(reason)));
        }
        self.yield_floor();
        Ok(())
    }

    async fn act(
        &mut self,
        action: &ToolAction,
    ) -> (Result<String, String>, Option<TerminationReason>) {
        let line = self.line;
        match action {
            ToolAction::EndCall => (Ok("Done.".to_owned()), Some(TerminationReason::AgentHangup)),
            ToolAction::Transfer { name, to } => {
                match self.unless_requested(LINE_LIMIT, line.transfer(to)).await {
                    Ok(()) => (
                        Ok(format!("Transferred to {name}.")),
                        Some(TerminationReason::Transferred),
                    ),
                    Err(error) => (Err(format!("The transfer failed: {error}.")), None),
                }
            }
            ToolAction::SendDigits(digits) => {
                let tones = u32::try_from(digits.chars().count()).unwrap_or(u32::MAX);
                let limit = LINE_LIMIT + TONE_LIMIT.saturating_mul(tones);
                match self.unless_requested(limit, line.send_digits(digits)).await {
                    Ok(()) => (Ok("The digits were sent.".to_owned()), None),
                    Err(error) => (Err(format!("The digits were not sent: {error}.")), None),
                }
            }
        }
    }

    /// Waits for the carrier, up to `limit`, unless a request to end the call comes first.
    async fn unless_requested(
        &mut self,
        limit: Duration,
        doing: impl Future<Output = Result<(), LineError>>,
    ) -> Result<(), LineError> {
        tokio::select! {
            biased;
            _ = self.requests.beyond(self.granted) => Err(LineError::Refused),
            done = timeout(limit, doing) => done.unwrap_or(Err(LineError::Refused)),
        }
    }

    /// Records the tool calls of a turn whose call ends before they are done.
    pub(super) async fn abandon(&mut self, step: ToolStep<'_>) -> Result<(), SessionExit> {
        for (at, call) in step.calls.iter().enumerate() {
            let turn = match step.outcomes.get(at) {
                Some(ToolOutcome::Answer(text) | ToolOutcome::Failed(text)) => {
                    step.turn(call, text, false)
                }
                Some(ToolOutcome::Act(_)) => step.turn(call, NOT_DONE, true),
                None => step.turn(call, GIVEN_UP, true),
            };
            self.record(turn).await?;
        }
        Ok(())
    }
}
