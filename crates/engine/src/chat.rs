//! Written answers: the dialogue of a phone call, without a line. The text is streamed as the model writes it.
//! Tools that need no phone line run in between.

use async_trait::async_trait;
use offhook_domain::{Clock, Timestamp};
use tokio::time::Instant;

use crate::TurnRole;
use crate::dialogue::Dialogue;
use crate::ports::{ToolAction, ToolCall, ToolOutcome, Tools};
use crate::reply::{Piece, ReplySource, source_of};
use crate::session::{ClaimLost, Turn};
use crate::tool_use;

/// Separates the text that the agent writes before a tool call from the text after it.
pub const CHAT_BREAK: &str = "\n\n";

/// One event of an answer that is being written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChatPiece {
    /// More text.
    Text(String),
    ToolStarted(String),
    ToolFinished(String),
}

/// Receives an answer while it is written.
#[async_trait]
pub trait ChatSink: Send + Sync {
    fn piece(&self, piece: ChatPiece);

    /// Called before tools run, with the transcript's text for each tool in case its answer is lost. That text is
    /// stored when this returns, so that after a crash no tool call with a possible effect is repeated.
    async fn at_work(&self, told: Vec<String>) -> Result<(), ClaimLost>;

    /// Turns are complete, and more will follow.
    async fn turns(&self, turns: Vec<Turn>) -> Result<(), ClaimLost>;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatAnswer {
    /// What the agent wrote after its last tool call. The sink has not received this turn.
    pub last: Option<Turn>,
    pub end: ChatEnd,
    /// Whether a model produced any output, text or tool calls.
    pub is_begun: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChatEnd {
    Complete,
    /// The answer is complete, and with it the agent ends the conversation.
    Farewell,
    Stopped,
    /// No model could be reached.
    NoReply,
}

/// Writes the agent's answer to the customer's message until it is complete or `stop` resolves. Tools that are already
/// running then finish first, because stopping does not undo their effects. Fails with [`ClaimLost`] as soon as the
/// sink does.
pub async fn answer(
    mut dialogue: Dialogue,
    tools: &dyn Tools,
    clock: &dyn Clock,
    sink: &dyn ChatSink,
    stop: impl Future<Output = ()>,
) -> Result<ChatAnswer, ClaimLost> {
    tokio::pin!(stop);
    let mut is_begun = false;
    loop {
        let mut step = Step::begin(clock);
        let mut reply = dialogue.reply();
        let end = loop {
            let piece = tokio::select! {
                biased;
                () = &mut stop => break ChatEnd::Stopped,
                piece = reply.next() => piece,
            };
            match piece {
                None => break ChatEnd::Complete,
                Some(Err(_)) => break ChatEnd::NoReply,
                Some(Ok(Piece::Calls(calls))) => step.calls = calls,
                Some(Ok(Piece::Sentence(text))) => {
                    if step.text.is_empty() {
                        step.started_at = clock.now();
                        if is_begun {
                            sink.piece(ChatPiece::Text(CHAT_BREAK.to_owned()));
                        }
                    }
                    step.text.push_str(&text);
                    sink.piece(ChatPiece::Text(text));
                }
            }
        };
        step.source = source_of(&reply.source());
        drop(reply);
        is_begun |= !step.text.is_empty() || !step.calls.is_empty();
        let turn = step.turn(end == ChatEnd::Stopped);
        if end != ChatEnd::Complete || step.calls.is_empty() {
            return Ok(ChatAnswer {
                last: turn,
                end,
                is_begun,
            });
        }
        if let Some(turn) = turn {
            sink.turns(vec![turn]).await?;
        }
        let answers = step.use_tools(tools, clock, sink).await?;
        dialogue.used_tools(&step.text, std::mem::take(&mut step.calls), &answers);
        if step.is_farewell {
            return Ok(ChatAnswer {
                last: None,
                end: ChatEnd::Farewell,
                is_begun,
            });
        }
    }
}

/// The result of one model request.
struct Step {
    text: String,
    calls: Vec<ToolCall>,
    started_at: Timestamp,
    since: Instant,
    is_farewell: bool,
    /// Goes with the first turn of the step.
    source: Option<Box<ReplySource>>,
}

impl Step {
    fn begin(clock: &dyn Clock) -> Self {
        Self {
            text: String::new(),
            calls: Vec::new(),
            started_at: clock.now(),
            since: Instant::now(),
            is_farewell: false,
            source: None,
        }
    }

    fn turn(&mut self, interrupted: bool) -> Option<Turn> {
        let text = self.text.trim();
        (!text.is_empty()).then(|| Turn {
            role: TurnRole::Agent,
            text: text.to_owned(),
            started_at: self.started_at,
            duration_ms: millis(self.since),
            interrupted,
            source: self.source.take(),
        })
    }

    /// Runs the tools and records each answer; returns the answers, as an error if nothing was done.
    async fn use_tools(
        &mut self,
        tools: &dyn Tools,
        clock: &dyn Clock,
        sink: &dyn ChatSink,
    ) -> Result<Vec<Result<String, String>>, ClaimLost> {
        let (started_at, since) = (clock.now(), Instant::now());
        let unheard = |call| tool_use::transcript_text(call, tool_use::UNKNOWN_EFFECT);
        sink.at_work(self.calls.iter().map(unheard).collect())
            .await?;
        for call in &self.calls {
            sink.piece(ChatPiece::ToolStarted(call.name.clone()));
        }
        let outcomes = tool_use::run(tools, &self.calls).await;
        let mut answers = Vec::with_capacity(outcomes.len());
        let mut turns = Vec::with_capacity(outcomes.len());
        for (call, outcome) in self.calls.iter().zip(outcomes) {
            let answer = match outcome {
                ToolOutcome::Answer(text) => Ok(text),
                ToolOutcome::Failed(text) => Err(text),
                ToolOutcome::Act(ToolAction::EndCall) => {
                    self.is_farewell = true;
                    Ok("Done.".to_owned())
                }
                ToolOutcome::Act(ToolAction::Transfer { .. } | ToolAction::SendDigits(_)) => {
                    Err("Not done: this is a chat, not a call.".to_owned())
                }
            };
            sink.piece(ChatPiece::ToolFinished(call.name.clone()));
            turns.push(Turn {
                role: TurnRole::Tool,
                text: tool_use::transcript_text(call, tool_use::text(&answer)),
                started_at,
                duration_ms: millis(since),
                interrupted: false,
                source: self.source.take(),
            });
            answers.push(answer);
        }
        sink.turns(turns).await?;
        Ok(answers)
    }
}

fn millis(since: Instant) -> u32 {
    u32::try_from(since.elapsed().as_millis()).unwrap_or(u32::MAX)
}
