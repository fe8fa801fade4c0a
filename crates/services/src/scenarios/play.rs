//! A conversation of a scenario, in writing.

use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use offhook_domain::json::{Fault, FieldError, item_path, member_path};
use offhook_domain::{AccountId, Channel, Clock, EndedBy, TurnRole};
use offhook_engine::ports::{Models, Tools};
use offhook_engine::{
    ChatEnd, ChatPiece, ChatSink, ClaimLost, Dialogue, Latencies, Persona, Turn, answer,
};
use offhook_storage::PinnedTool;
use parking_lot::Mutex;
use serde::Serialize;
use tokio::time::{Instant, timeout};

use super::format::Scenario;
use super::mocks::{Mocks, Recorded, UsedTool};
use super::persona::PlayedCaller;
use crate::error::Result;
use crate::trials::{Draft, Ready, Stage, Trials};

/// A line of the transcript.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SaidLine {
    pub role: TurnRole,
    pub text: String,
    /// The number of the caller's line that it is, or that it answers; 0 before the first.
    pub turn: usize,
    /// By sound: milliseconds from the beginning until it was over.
    pub at_ms: Option<u32>,
    /// Whether the caller cut it short.
    pub interrupted: bool,
}

/// How long an answer took.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AnswerTime {
    pub turn: usize,
    /// Milliseconds to the first text, if there was any.
    pub first_text_ms: Option<u32>,
    pub ms: u32,
}

/// What was said and done.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Played {
    pub transcript: Vec<SaidLine>,
    pub tools: Vec<UsedTool>,
    pub answers: Vec<AnswerTime>,
    pub ended_by: EndedBy,
    /// How many lines the caller said.
    pub lines: usize,
    /// How often the guard put an honest sentence in the place of a claim.
    pub claims_replaced: u32,
    /// A model could not be reached.
    pub no_reply: bool,
    /// It took longer than it may.
    #[serde(skip)]
    pub is_cut: bool,
    /// What was said in it. This is not stored: it lasts as long as the conversation.
    pub before: Option<Vec<SaidLine>>,
}

impl Played {
    pub(super) const fn new() -> Self {
        Self {
            transcript: Vec::new(),
            tools: Vec::new(),
            answers: Vec::new(),
            ended_by: EndedBy::Limit,
            lines: 0,
            claims_replaced: 0,
            no_reply: false,
            is_cut: false,
            before: None,
        }
    }
}

/// A conversation under way.
struct Stand {
    ready: Ready,
    clock: Arc<dyn Clock>,
    agent: Arc<Persona>,
    tools: Recorded,
    played: Mutex<Played>,
}

/// What scenarios are held with.
pub(super) struct Subject<'a> {
    pub(super) account: AccountId,
    pub(super) version: i32,
    pub(super) draft: &'a Draft,
    pub(super) tools: &'a [PinnedTool],
}

/// Prepares the agent for a scenario: its tools answer as that says.
pub(super) async fn staged(
    trials: &Trials,
    subject: &Subject<'_>,
    scenario: &Scenario,
    channel: Channel,
) -> Result<Ready> {
    let mocks = Arc::new(Mocks::new(&scenario.tools));
    let stage = Stage {
        channel,
        version: Some(subject.version),
        tools: Some((subject.tools.to_vec(), mocks)),
        notes: None,
    };
    let ready = trials.prepare(subject.account, subject.draft, stage);
    let mut ready = ready.await?;
    let known = names(&*ready.tools);
    let mut named = (0..).zip(&scenario.tools);
    if let Some((at, mock)) = named.find(|(_, mock)| !known.contains(&mock.name)) {
        let path = member_path(&item_path("tools", at), "name");
        return Err(FieldError::new(path, Fault::AgentHasNo(mock.name.clone())).into());
    }
    ready.persona.guard |= scenario.wants_honesty();
    Ok(ready)
}

/// Holds the conversation. Fails if it cannot begin.
pub(super) async fn play(
    trials: &Trials,
    subject: &Subject<'_>,
    scenario: &Scenario,
) -> Result<Stood> {
    let ready = staged(trials, subject, scenario, Channel::Chat).await?;
    let stand = Stand {
        agent: Arc::new(ready.persona.clone()),
        tools: Recorded::over(ready.tools.clone()),
        ready,
        clock: trials.0.clock.clone(),
        played: Mutex::new(Played::new()),
    };
    let budget = Duration::from_secs(scenario.budget_s.unsigned_abs());
    let is_cut = timeout(budget, stand.hold(scenario)).await.is_err();
    let mut played = stand.played.into_inner();
    played.is_cut = is_cut;
    played.tools = stand.tools.used.into_inner();
    Ok(Stood {
        played,
        models: stand.ready.providers.models.clone(),
        latencies: stand.ready.providers.latencies.clone(),
        agent: stand.agent,
        tools: names(&*stand.ready.tools),
    })
}

pub(super) fn names(tools: &dyn Tools) -> Vec<String> {
    let definitions = tools.definitions();
    definitions
        .iter()
        .map(|tool| tool.name.to_string())
        .collect()
}

/// A conversation that is over, and who can judge it.
pub(super) struct Stood {
    pub(super) played: Played,
    pub(super) models: Arc<dyn Models>,
    pub(super) latencies: Latencies,
    pub(super) agent: Arc<Persona>,
    /// The names of its tools.
    pub(super) tools: Vec<String>,
}

impl Stand {
    async fn hold(&self, scenario: &Scenario) {
        let first = self.agent.first_message.trim();
        if !first.is_empty() {
            self.note(TurnRole::Agent, first, 0);
        }
        let most = match &scenario.turns {
            Some(lines) => lines.len(),
            None => usize::try_from(scenario.max_turns).unwrap_or(1),
        };
        let caller = PlayedCaller::new(scenario, &self.ready, &self.clock);
        for number in 1..=most {
            let (line, is_last) = match scenario.turns.as_ref().map(|lines| lines.get(number - 1)) {
                Some(line) => (
                    line.map_or_else(String::new, |line| line.say.clone()),
                    number == most,
                ),
                None => match caller.says(self.said()).await {
                    Some(said) => said,
                    None => return self.no_reply(),
                },
            };
            if !line.is_empty() {
                self.note(TurnRole::User, &line, number);
                self.played.lock().lines = number;
                match self.answer(number).await {
                    Some(ChatEnd::Complete) => {}
                    Some(ChatEnd::Farewell) => return self.end(EndedBy::Agent),
                    _ => return self.no_reply(),
                }
            }
            if is_last {
                return self.end(EndedBy::Caller);
            }
        }
    }

    fn end(&self, by: EndedBy) {
        self.played.lock().ended_by = by;
    }

    fn no_reply(&self) {
        self.played.lock().no_reply = true;
    }

    fn note(&self, role: TurnRole, text: &str, turn: usize) {
        let text = text.to_owned();
        let mut played = self.played.lock();
        played.transcript.push(SaidLine {
            role,
            text,
            turn,
            at_ms: None,
            interrupted: false,
        });
    }

    /// What was said so far.
    fn said(&self) -> Vec<(TurnRole, String)> {
        let said = self.played.lock().transcript.clone().into_iter();
        said.map(|line| (line.role, line.text)).collect()
    }

    /// Has the agent answer the caller's last line.
    async fn answer(&self, turn: usize) -> Option<ChatEnd> {
        self.tools.turn.store(turn, Ordering::Relaxed);
        let providers = &self.ready.providers;
        let (models, latencies) = (providers.models.clone(), providers.latencies.clone());
        let dialogue = Dialogue::new(self.agent.clone(), models, latencies)
            .in_writing()
            .with_tools(self.tools.definitions())
            .with_knowledge(self.ready.knowledge.clone())
            .behind(self.said());
        let sink = Sink::new();
        let ended = answer(
            dialogue,
            &self.tools,
            &*self.clock,
            &sink,
            std::future::pending(),
        );
        let ended = ended.await.ok()?;
        let turns = sink.turns.into_inner().into_iter().chain(ended.last);
        for said in turns {
            let unproven = said.source.as_ref().map_or(0, |source| source.unproven);
            self.played.lock().claims_replaced += unproven;
            self.note(said.role, &said.text, turn);
        }
        self.played.lock().answers.push(AnswerTime {
            turn,
            first_text_ms: sink.first_text.get().copied(),
            ms: millis(sink.begun),
        });
        (ended.is_begun || ended.end == ChatEnd::Farewell).then_some(ended.end)
    }
}

/// Keeps what an answer consists of.
pub(super) struct Sink {
    begun: Instant,
    first_text: OnceLock<u32>,
    turns: Mutex<Vec<Turn>>,
}

impl Sink {
    pub(super) fn new() -> Self {
        Self {
            begun: Instant::now(),
            first_text: OnceLock::new(),
            turns: Mutex::default(),
        }
    }
}

#[async_trait]
impl ChatSink for Sink {
    fn piece(&self, piece: ChatPiece) {
        if let ChatPiece::Text(_) = piece {
            self.first_text.get_or_init(|| millis(self.begun));
        }
    }

    /// Nothing survives the process.
    async fn at_work(&self, _told: Vec<String>) -> std::result::Result<(), ClaimLost> {
        Ok(())
    }

    async fn turns(&self, turns: Vec<Turn>) -> std::result::Result<(), ClaimLost> {
        self.turns.lock().extend(turns);
        Ok(())
    }
}

fn millis(since: Instant) -> u32 {
    u32::try_from(since.elapsed().as_millis()).unwrap_or(u32::MAX)
}
