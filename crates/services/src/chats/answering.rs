//! The answer to a message: one at a time per session, under a claim that other processes can see.

use futures_util::FutureExt as _;
use std::sync::atomic::{AtomicI32, Ordering};

use async_trait::async_trait;
use offhook_domain::body::{Optional, Own, Required};
use offhook_domain::config::Variables;
use offhook_domain::tool::{Tool, ToolKind};
use offhook_engine::ports::{Knowledge, Models, NoTools, Tools};
use offhook_engine::{
    ChatAnswer, ChatEnd, ChatPiece, ChatSink, ClaimLost, Dialogue, Latencies, Persona, Turn, answer,
};
use tokio::sync::mpsc;

use super::accepting::{Accepted, accept};
use super::{ChatReply, Chats, IN_DOUBT, endings};
use crate::conversations::check_status;
use crate::digest::sha256;
use crate::error::Result;
use crate::integrations::Functions;
use crate::knowledge::with_knowledge;
use crate::leases;
use crate::personas::persona;
use crate::prelude::*;
use crate::retry::retried;
use crate::tools::Toolbox;
use crate::turns::{recalled, stored};
use crate::variables::{Filled, Scene};

const MAX_TEXT_BYTES: usize = 4_096;

/// Characters of a client's message id.
const MESSAGE_ID_CHARS: usize = 64;

/// Turns that an answer is based on; the dialogue sends the models at most this many messages.
const REMEMBERED_TURNS: i64 = 200;

/// How long an answer may take in total, tools included.
const ANSWER_LIMIT: Duration = Duration::from_secs(120);

/// An event of an answer; the last is `Completed` or `Failed`.
#[derive(Debug)]
pub enum ChatEvent {
    Delta(String),
    /// The agent calls the tool of this name.
    ToolStarted(String),
    /// The tool has responded.
    ToolFinished(String),
    /// The answer is stored.
    Completed(ChatReply),
    /// There is no answer.
    Failed(UseCaseError),
}

#[derive(Debug)]
pub enum Answering {
    /// The message was answered earlier.
    Before(ChatReply),
    /// The answer is being written.
    Now(mpsc::UnboundedReceiver<ChatEvent>),
}

body! {
    /// A message of the customer.
    #[derive(Debug)]
    pub Message {
        text: String, Required(Own(text)), "The text, at most 4,096 bytes.";
        message_id: Option<String>, Optional(Own(message_id)), "An id of the client's: a retry with the same gets the same answer.";
    }
}

#[boxed]
impl Chats {
    /// Accepts a message in an entered session and has the agent answer it. With a client's message id, the answer is
    /// completed even if the client disconnects, and a retry gets the same answer. Without one, the answer stops when
    /// the client disconnects. After an error nothing was written, except perhaps after
    /// [`UseCaseError::UnknownCommit`].
    pub async fn send(&self, view: &ChatView, body: &Json) -> Result<Answering> {
        self.0.check_running()?;
        self.answer(view, Message::of(body, &())?).await
    }

    /// As [`send`](Self::send), for a message from another channel with an id of that channel.
    pub(crate) async fn send_text(
        &self,
        view: &ChatView,
        id: String,
        text: String,
    ) -> Result<Answering> {
        self.0.check_running()?;
        let message_id = Some(id);
        self.answer(view, Message { text, message_id }).await
    }

    async fn answer(&self, view: &ChatView, message: Message) -> Result<Answering> {
        let ready = self.prepare(&view.conversation).await?;
        let at = self.0.clock.now();
        let id = view.session.conversation_id;
        let is_kept = message.message_id.is_some();
        let new = NewChatMessage {
            conversation: id,
            message_id: message.message_id,
            digest: sha256(message.text.as_bytes()).to_vec(),
            text: message.text,
            node: self.0.node,
            at,
        };
        let accepted = accept(&self.0.store, new).await;
        let (claim, seq, answers) = match accepted.map_err(UseCaseError::of_write(IN_DOUBT))? {
            Accepted::Claimed {
                claim,
                seq,
                answers,
            } => (claim, seq, answers),
            Accepted::Before { seq, last, answers } => {
                let price = view.conversation.price();
                let moments = self.between(id, seq, last).await?;
                let is_last = !view.session.is_open;
                let reply = ChatReply::of(&moments, (answers, price), is_last);
                return Ok(Answering::Before(reply));
            }
        };
        self.0.live.touch(id);
        let (events, listener) = mpsc::unbounded_channel();
        let writer = Writer {
            shared: self.0.clone(),
            id,
            claim,
            seq,
            last: AtomicI32::new(seq),
            answers,
            price: view.conversation.price(),
            events,
            is_kept,
        };
        self.0.live.chats.spawn(writer.write(ready).boxed());
        Ok(Answering::Now(listener))
    }

    async fn between(
        &self,
        id: ConversationId,
        seq: i32,
        last: i32,
    ) -> Result<Vec<Moment>, StoreError> {
        let most = i64::from(last.saturating_sub(seq));
        let mut moments = self.0.store.turns(id, seq, most).await?;
        moments.retain(|moment| moment.seq <= last);
        Ok(moments)
    }

    /// The agent in the version that the conversation began with.
    async fn prepare(&self, call: &Conversation) -> Result<Ready> {
        let shared = &self.0;
        let version = Some(call.agent_version);
        let found = shared
            .store
            .agent_with_config(call.account_id, call.agent_id, version);
        let broken = || StoreError::Corrupt("a version without a configuration".to_owned());
        let Some((agent, Some(stored))) = found.await? else {
            return Err(broken().into());
        };
        check_status(agent.status)?;
        let config = AgentConfig::from_stored(&stored).map_err(|_| broken())?;
        let metadata = Metadata::from_stored(&call.metadata).map_err(|_| broken())?;
        let (scene, version) = (Scene::of(call), call.agent_version);
        let known = shared.known((&agent, version), &config, &scene, metadata);
        let known = known.await?;
        let persona = persona(&config, &known).ok_or_else(broken)?;
        let persona = shared.with_key(call.account_id, persona).await?;
        let providers = shared.providers.of(shared, call.account_id).await?;
        let tools = tools(shared, call, &config, &known.variables).await?;
        let guard = known.guards(&*tools);
        let persona = Persona { guard, ..persona };
        let variables = known.variables;
        let (tools, knowledge) = with_knowledge(&shared.knowledge, call, &config, tools).await?;
        let tools = Arc::new(Filled { tools, variables });
        Ok(Ready {
            models: providers.models_within(call.price()),
            latencies: providers.latencies.clone(),
            persona: Arc::new(persona),
            tools,
            knowledge,
        })
    }
}

struct Ready {
    models: Arc<dyn Models>,
    latencies: Latencies,
    persona: Arc<Persona>,
    tools: Arc<dyn Tools>,
    knowledge: Option<Arc<dyn Knowledge>>,
}

fn text(fields: &mut Fields<'_>, name: &str) -> Result<String, FieldError> {
    let text = fields.required_string(name, 1..=usize::MAX)?;
    if text.len() > MAX_TEXT_BYTES {
        return Err(fields.fault(name, Fault::Bytes(MAX_TEXT_BYTES)));
    }
    match text.trim().is_empty() {
        true => Err(fields.fault(name, Fault::Empty)),
        false => Ok(text.to_owned()),
    }
}

fn message_id(fields: &mut Fields<'_>, name: &str) -> Result<String, FieldError> {
    let id = fields.required_string(name, 1..=MESSAGE_ID_CHARS)?;
    match id.bytes().all(|b| b.is_ascii_graphic()) {
        true => Ok(id.to_owned()),
        false => Err(fields.fault(name, Fault::Graphic)),
    }
}

/// The tools that a text conversation can use: those that need no phone line.
async fn tools(
    shared: &Arc<Runner>,
    call: &Conversation,
    config: &AgentConfig,
    variables: &Variables,
) -> Result<Arc<dyn Tools>, StoreError> {
    if config.tool_ids.is_empty() {
        return Ok(Arc::new(NoTools));
    }
    let (account, agent, version) = (call.account_id, call.agent_id, call.agent_version);
    let mut pinned = shared.store.pinned_tools(account, agent, version).await?;
    pinned.retain(|pinned| {
        let tool = Tool::from_stored(&pinned.definition);
        tool.is_ok_and(|tool| {
            matches!(
                tool.kind,
                ToolKind::Http | ToolKind::EndCall | ToolKind::Mcp
            )
        })
    });
    let client = shared.tool_client.clone();
    let functions = Functions::new(shared.integrations.clone(), account, call.id);
    let toolbox = Toolbox::new(client, Vec::new(), pinned, variables)?;
    Ok(Arc::new(toolbox.with_functions(functions)))
}

struct Writer {
    shared: Arc<Runner>,
    id: ConversationId,
    claim: ClaimId,
    seq: i32,
    /// The last moment written.
    last: AtomicI32,
    /// Answers charged earlier.
    answers: i32,
    price: Price,
    events: mpsc::UnboundedSender<ChatEvent>,
    /// The answer is completed even if the client disconnects.
    is_kept: bool,
}

impl Writer {
    async fn write(self, ready: Ready) {
        let event = match self.try_to(ready).await {
            Ok(reply) => ChatEvent::Completed(reply),
            Err(error) => {
                if let UseCaseError::Store(error) = &error {
                    tracing::error!(%error, conversation = %self.id, "an answer could not be written down");
                }
                ChatEvent::Failed(error)
            }
        };
        let _ = self.events.send(event);
    }

    async fn try_to(&self, ready: Ready) -> Result<ChatReply> {
        let store = &self.shared.store;
        let history = retried(|| store.chat_history(self.id, REMEMBERED_TURNS)).await?;
        let last = history.last().map_or(self.seq, |moment| moment.seq);
        self.last.store(last, Ordering::Relaxed);
        let dialogue = Dialogue::new(ready.persona, ready.models, ready.latencies)
            .in_writing()
            .with_tools(ready.tools.definitions())
            .with_knowledge(ready.knowledge)
            .behind(recalled(history));
        let clock = &*self.shared.clock;
        let answering = answer(dialogue, &*ready.tools, clock, self, self.stopped());
        let answered = tokio::select! {
            answered = answering => answered,
            () = leases::keep(|| self.shared.store.renew_chat(self.id, self.claim)) => Err(ClaimLost),
        };
        // The process that took over the session has ended it, or is answering in it.
        let answered =
            answered.map_err(|ClaimLost| UseCaseError::Conflict(Refusal::SessionEnded))?;
        let end = answered.end;
        let finished = self.finish(answered).await;
        self.shared.live.touch(self.id);
        let last = finished?;
        if end == ChatEnd::Farewell {
            let reason = TerminationReason::AgentHangup;
            retried(|| endings::end(&self.shared, self.id, reason)).await?;
        }
        let most = i64::from(last.saturating_sub(self.seq));
        let moments = retried(|| store.turns(self.id, self.seq, most)).await?;
        let charged = (self.answers + 1, self.price);
        Ok(ChatReply::of(&moments, charged, end == ChatEnd::Farewell))
    }

    /// Writes the rest of the answer, charges it and releases the claim. Returns the conversation's last moment.
    async fn finish(&self, answered: ChatAnswer) -> Result<i32> {
        // A model that wrote nothing did not answer.
        let is_answer = answered.end != ChatEnd::NoReply && answered.is_begun;
        let (turns, last) = self.placed(answered.last);
        let rest = ChatAnswered {
            turns,
            last: Some(last),
            is_charged: is_answer,
            is_final: is_answer,
            at: self.shared.clock.now(),
        };
        let store = &self.shared.store;
        let written = retried(|| store.finish_chat_answer(self.id, self.claim, rest.clone()));
        let last = written
            .await?
            .ok_or(UseCaseError::Conflict(Refusal::SessionEnded))?;
        if is_answer {
            Ok(last)
        } else {
            Err(UseCaseError::NoReply)
        }
    }

    /// Resolves when the answer must stop where it is.
    async fn stopped(&self) {
        let nobody_listens = async {
            if self.is_kept {
                std::future::pending::<()>().await;
            }
            self.events.closed().await;
        };
        tokio::select! {
            () = nobody_listens => {}
            () = tokio::time::sleep(ANSWER_LIMIT) => {}
            () = self.shared.live.chats.hurry().cancelled() => {}
        }
    }
}

#[async_trait]
impl ChatSink for Writer {
    fn piece(&self, piece: ChatPiece) {
        let _ = self.events.send(match piece {
            ChatPiece::Text(text) => ChatEvent::Delta(text),
            ChatPiece::ToolStarted(name) => ChatEvent::ToolStarted(name),
            ChatPiece::ToolFinished(name) => ChatEvent::ToolFinished(name),
        });
    }

    async fn at_work(&self, texts: Vec<String>) -> Result<(), ClaimLost> {
        let store = &self.shared.store;
        let written = retried(|| store.set_chat_tools(self.id, self.claim, texts.clone())).await;
        self.written(written, "tools at work in a chat cannot be written down")
    }

    async fn turns(&self, turns: Vec<Turn>) -> Result<(), ClaimLost> {
        let (turns, last) = self.placed(turns);
        let store = &self.shared.store;
        let written = retried(|| store.append_chat_turns(self.id, self.claim, turns.clone())).await;
        if let Ok(Fenced::Done) = written {
            self.last.store(last, Ordering::Relaxed);
        }
        self.shared.live.touch(self.id);
        self.written(written, "turns of a chat cannot be written")
    }
}

impl Writer {
    /// Numbers the turns in the conversation; returns them and the last number.
    fn placed(&self, turns: impl IntoIterator<Item = Turn>) -> (Vec<NewTurn>, i32) {
        let mut last = self.last.load(Ordering::Relaxed);
        let placed = turns.into_iter().map(|turn| {
            last += 1;
            NewTurn {
                seq: Some(last),
                ..stored(turn, None)
            }
        });
        (placed.collect(), last)
    }

    /// A permanent error loses the turns to be written, but not the answer.
    fn written(
        &self,
        written: Result<Fenced, StoreError>,
        trouble: &'static str,
    ) -> Result<(), ClaimLost> {
        match written {
            Ok(Fenced::Done) => Ok(()),
            Ok(Fenced::Lost) => Err(ClaimLost),
            Err(error) => {
                tracing::error!(%error, conversation = %self.id, "{trouble}");
                Ok(())
            }
        }
    }
}
