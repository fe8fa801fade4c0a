//! Trials: a member writes or talks with a draft of an agent before it is saved. Its tools act; nothing else of it is
//! stored, listed or billed. What an account may use of it in a day is limited, and how many it may hold at once. Scenarios
//! hold their conversations in the same way, with what their tools answer.

mod talking;
mod writing;

use async_trait::async_trait;
use offhook_domain::config::Variables;
use offhook_engine::ports::{Knowledge, NoTools, Passage, Tools};
use offhook_engine::{Persona, Turn};
use parking_lot::Mutex;
use tokio::sync::mpsc;

use crate::error::Result;
use crate::integrations::Functions;
use crate::knowledge::{Documents, named, with_documents};
use crate::personas::persona;
use crate::prelude::*;
use crate::scenarios::Mocks;
use crate::tools::Toolbox;
use crate::variables::{Filled, Scene};

pub use writing::{TrialReply, TrialTurn};

/// Conversations of scenarios that an account may hold in a day in UTC.
pub(crate) const TEST_CONVERSATIONS: i32 = 5_000;

/// Written replies that an account may ask for in a day in UTC.
pub const TRIAL_REPLIES: i32 = 1_000;

/// Seconds of talk that an account may use in a day in UTC.
pub const TRIAL_SECONDS: i32 = 3_600;

/// Trials that an account may hold at once in a process.
const AT_ONCE: usize = 3;

/// Members' trials of drafts.
#[derive(Clone)]
pub struct Trials(pub(crate) Arc<Runner>, pub(crate) Arc<Running>);

/// How many trials each account holds here.
pub(crate) type Running = Mutex<HashMap<AccountId, usize>>;

/// One of them; dropping it removes it from the count.
pub(crate) struct Place(Arc<Running>, AccountId);

impl Place {
    fn take(running: &Arc<Running>, account: AccountId) -> Result<Self> {
        Self::among(running, account, AT_ONCE, Refusal::TrialsBusy(AT_ONCE))
    }

    /// A place among `most` of the account.
    pub(crate) fn among(
        running: &Arc<Running>,
        account: AccountId,
        most: usize,
        refusal: Refusal,
    ) -> Result<Self> {
        let mut all = running.lock();
        let held = all.entry(account).or_default();
        if *held >= most {
            return Err(UseCaseError::Conflict(refusal));
        }
        *held += 1;
        Ok(Self(running.clone(), account))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut all = self.0.lock();
        if let Some(held) = all.get_mut(&self.1) {
            *held -= 1;
            if *held == 0 {
                all.remove(&self.1);
            }
        }
    }
}

/// What is tried: a configuration as an editor shows it, and values for its `{{names}}`.
#[derive(Debug, Clone)]
pub struct Draft {
    pub agent: AgentId,
    pub config: Json,
    pub metadata: Metadata,
}

/// Something that a conversation shows beside what is said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrialNote {
    Turn(Turn),
    /// The passages that the next reply is based on.
    Passages(Vec<Passage>),
}

/// Where a draft is tried.
pub(crate) struct Stage {
    pub(crate) channel: Channel,
    /// The version whose settings count; `None`: the latest.
    pub(crate) version: Option<i32>,
    /// The tools, and what they answer in place of what they do; `None`: those of the draft, which act.
    pub(crate) tools: Option<(Vec<PinnedTool>, Arc<Mocks>)>,
    /// Learns which passages are found.
    pub(crate) notes: Option<mpsc::UnboundedSender<TrialNote>>,
}

impl Stage {
    fn of_trial(channel: Channel, notes: mpsc::UnboundedSender<TrialNote>) -> Self {
        Self {
            channel,
            version: None,
            tools: None,
            notes: Some(notes),
        }
    }
}

/// A draft that can hold a conversation.
pub(crate) struct Ready {
    pub(crate) providers: Arc<Providers>,
    pub(crate) config: AgentConfig,
    pub(crate) persona: Persona,
    pub(crate) tools: Arc<dyn Tools>,
    pub(crate) knowledge: Option<Arc<dyn Knowledge>>,
}

#[boxed]
impl Trials {
    /// Checks the draft as publishing does, and prepares what it needs.
    pub(crate) async fn prepare(
        &self,
        account: AccountId,
        draft: &Draft,
        stage: Stage,
    ) -> Result<Ready> {
        let shared = &self.0;
        shared.check_running()?;
        let found = shared.store.agent_with_config(account, draft.agent, None);
        let (agent, _) = found.await?.ok_or(UseCaseError::NotFound)?;
        let config = AgentConfig::from_json(&draft.config, "config", &agent.language)?;
        let providers = shared.providers.of(shared, account).await?;
        providers.check_config(&config)?;
        providers.check_publishable(&config)?;
        shared.ctx.check_knowledge(account, &config, None).await?;
        let id: ConversationId = mint(shared.clock.now());
        let scene = Scene::of_trial(id, stage.channel);
        let known = shared.known(
            (&agent, stage.version.unwrap_or(agent.head_version)),
            &config,
            &scene,
            draft.metadata.clone(),
        );
        let known = known.await?;
        let variables = &known.variables;
        let tools = self.tools(account, &config, (id, variables), stage.tools);
        let tools = tools.await?;
        let guard = known.guards(&*tools);
        let (documents, folders) = named(&config.knowledge_base);
        let documents = (account, Documents::Named(documents, folders));
        let (tools, knowledge) =
            with_documents(&shared.knowledge, documents, &config, tools).await?;
        let persona = persona(&config, &known).ok_or(UseCaseError::NotFound)?;
        let persona = shared.with_key(account, persona).await?;
        let persona = Persona { guard, ..persona };
        let noted = |inner| match stage.notes {
            Some(notes) => Arc::new(Noted { inner, notes }) as Arc<dyn Knowledge>,
            None => inner,
        };
        Ok(Ready {
            providers,
            config,
            persona,
            tools: Arc::new(Filled {
                tools,
                variables: known.variables,
            }),
            knowledge: knowledge.map(noted),
        })
    }

    /// The given tools, or the draft's as they are now.
    async fn tools(
        &self,
        account: AccountId,
        config: &AgentConfig,
        (id, variables): (ConversationId, &Variables),
        given: Option<(Vec<PinnedTool>, Arc<Mocks>)>,
    ) -> Result<Arc<dyn Tools>> {
        let shared = &self.0;
        let (pinned, mocks) = match given {
            Some((pinned, mocks)) => (pinned, Some(mocks)),
            None => {
                let tools = shared
                    .ctx
                    .tools_to_pin(account, config, &shared.tool_client);
                let tools = tools.await??.into_iter();
                let pinned = tools.map(|(tool, headers)| tool.pinned(headers));
                (pinned.collect(), None)
            }
        };
        if pinned.is_empty() {
            return Ok(Arc::new(NoTools));
        }
        let prefixes = shared.calls.allowed_prefixes.clone();
        let toolbox = Toolbox::new(shared.tool_client.clone(), prefixes, pinned, variables)?;
        let functions = Functions::new(shared.integrations.clone(), account, id);
        Ok(Arc::new(
            toolbox.with_functions(functions).with_mocks(mocks),
        ))
    }

    /// Counts what a trial may use at most. Returns the day that it counts for.
    pub(crate) async fn count(&self, account: AccountId, used: [i32; 3]) -> Result<i32> {
        let now = self.0.clock.now();
        let most = [TRIAL_REPLIES, TRIAL_SECONDS, TEST_CONVERSATIONS];
        let day = now.utc_day();
        if self.0.store.count_trial(account, day, used, most).await? {
            return Ok(day);
        }
        let refusal = match used {
            [0, 0, _] => Refusal::NoMoreTests(i64::from(TEST_CONVERSATIONS)),
            [0, ..] => Refusal::NoMoreTrialTalk(i64::from(TRIAL_SECONDS / 60)),
            _ => Refusal::NoMoreTrialReplies(i64::from(TRIAL_REPLIES)),
        };
        let tomorrow = offhook_domain::Timestamp::of_utc_day(day.saturating_add(1));
        Err(UseCaseError::RateLimited(
            refusal,
            tomorrow.since(now).as_secs().max(1),
        ))
    }
}

/// Knowledge whose passages are shown.
struct Noted {
    inner: Arc<dyn Knowledge>,
    notes: mpsc::UnboundedSender<TrialNote>,
}

#[async_trait]
impl Knowledge for Noted {
    async fn search(&self, question: &str) -> Vec<Passage> {
        let passages = self.inner.search(question).await;
        if !passages.is_empty() {
            let _ = self.notes.send(TrialNote::Passages(passages.clone()));
        }
        passages
    }
}
