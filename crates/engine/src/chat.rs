//! An answer in writing: the same dialogue as on a call, without a line. It is written as it comes; tools are used in
//! between, as far as they need no line.

use async_trait::async_trait;
use offhook_domain::{Clock, Timestamp};
use tokio::time::Instant;

use crate::TurnRole;
use crate::dialogue::Dialogue;
use crate::ports::{ToolAction, ToolCall, ToolOutcome, Tools};
use crate::reply::Piece;
use crate::session::{ClaimLost, Turn};
use crate::tool_use;

/// Stands between what the agent writes before it uses tools and after.
pub const CHAT_BREAK: &str = "\n\n";

/// Something of an answer, as it happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChatPiece {
    /// More text.
    Text(String),
    /// A tool is set to work.
    ToolStarted(String),
    /// It has answered.
    ToolFinished(String),
}

/// Where an answer goes as it is written.
#[async_trait]
pub trait ChatSink: Send + Sync {
    /// Something of it happened.
    fn piece(&self, piece: ChatPiece);

    /// Tools are about to be set to work; what the transcript says of each if nobody hears what it answers. Once this has
    /// returned that much is known, whatever becomes of this process: nothing that may have had an effect is done again.
    async fn at_work(&self, told: Vec<String>) -> Result<(), ClaimLost>;

    /// Turns are over, and more will follow.
    async fn turns(&self, turns: Vec<Turn>) -> Result<(), ClaimLost>;
}

/// How an answer ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatAnswer {
    /// What the agent wrote last, if it wrote anything since it last used tools; the sink was not given it.
    pub last: Option<Turn>,
    /// What became of it.
    pub end: ChatEnd,
    /// Whether a model wrote anything at all, text or calls.
    pub is_begun: bool,
}

/// What became of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChatEnd {
    Complete,
    /// It is complete, and the agent ends the conversation with it.
    Farewell,
    Stopped,
    /// No model could be reached.
    NoReply,
}

/// Writes the agent's answer to what the customer said, until it is complete or `stop` resolves. Tools that are at work
/// by then end their work first: what they do is not undone by that.
///
/// # Errors
/// [`ClaimLost`] as soon as the sink says so.
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

/// What one question to the models comes to.
struct Step {
    text: String,
    calls: Vec<ToolCall>,
    started_at: Timestamp,
    since: Instant,
    is_farewell: bool,
}

impl Step {
    fn begin(clock: &dyn Clock) -> Self {
        Self {
            text: String::new(),
            calls: Vec::new(),
            started_at: clock.now(),
            since: Instant::now(),
            is_farewell: false,
        }
    }

    fn turn(&self, interrupted: bool) -> Option<Turn> {
        let text = self.text.trim();
        (!text.is_empty()).then(|| Turn {
            role: TurnRole::Agent,
            text: text.to_owned(),
            started_at: self.started_at,
            duration_ms: millis(self.since),
            interrupted,
        })
    }

    /// What the tools answered, each written down.
    async fn use_tools(
        &mut self,
        tools: &dyn Tools,
        clock: &dyn Clock,
        sink: &dyn ChatSink,
    ) -> Result<Vec<String>, ClaimLost> {
        let (started_at, since) = (clock.now(), Instant::now());
        let unheard = |call| tool_use::told(call, tool_use::UNHEARD);
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
                ToolOutcome::Answer(text) => text,
                ToolOutcome::Act(ToolAction::EndCall) => {
                    self.is_farewell = true;
                    "Done.".to_owned()
                }
                ToolOutcome::Act(ToolAction::Transfer { .. } | ToolAction::SendDigits(_)) => {
                    "Not done: this is a chat, not a call.".to_owned()
                }
            };
            sink.piece(ChatPiece::ToolFinished(call.name.clone()));
            turns.push(Turn {
                role: TurnRole::Tool,
                text: tool_use::told(call, &answer),
                started_at,
                duration_ms: millis(since),
                interrupted: false,
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
