//! Starts a text conversation.

use offhook_domain::body::{Or, Own, Required, Text};
use ring::rand::{SecureRandom, SystemRandom};

use super::{Chats, IN_DOUBT, TOKEN_HEX, TOKEN_PREFIX};
use crate::calls::metadata;
use crate::conversations::{begin_text, serving};
use crate::digest::sha256;
use crate::error::Result;
use crate::prelude::*;
use crate::variables::Scene;
use crate::widgets::count_session;

/// How long a session's token is valid: longer than any visit. The session ends half an hour after its last message
/// anyway.
const TOKEN_LIFE: Duration = Duration::from_secs(4 * 3_600);

body! {
    /// A text conversation to start.
    #[derive(Debug)]
    pub OpenChat {
        agent_id: String, Required(Text(1..=255)), "The agent.";
        metadata: Metadata, Or(Own(metadata), Metadata::empty()), "Values for the prompt's `{{names}}`.";
    }
}

pub struct OpenedChat {
    /// Its id, which is also the conversation's.
    pub id: ConversationId,
    /// The session's token; shown once.
    pub token: String,
    pub token_expires_at: Timestamp,
    /// The agent's first message, if it has one.
    pub first_message: Option<String>,
}

#[boxed]
impl Chats {
    /// Starts a conversation for a page of this origin. After an error nothing was written, except perhaps after
    /// [`UseCaseError::UnknownCommit`].
    pub async fn open(&self, origin: &str, body: &Json) -> Result<OpenedChat> {
        self.0.check_running()?;
        let (agent_id, metadata) = read(body)?;
        let found = self.0.store.widget_agent(agent_id).await?;
        let found = found.ok_or(UseCaseError::NotFound)?;
        let config = admit(&self.0, &found, origin)?;
        self.begin(&found, &config, &metadata, origin).await
    }

    /// Writes a conversation of a page of this origin, or of a member, who has none.
    pub(super) async fn begin(
        &self,
        found: &WidgetAgent,
        config: &AgentConfig,
        metadata: &Metadata,
        origin: &str,
    ) -> Result<OpenedChat> {
        let channel = match origin.is_empty() {
            true => Channel::Chat,
            false => Channel::WidgetChat,
        };
        let new = NewConversation {
            metadata: metadata.as_json_text().to_owned(),
            ..self
                .0
                .new_text(&found.agent, channel, found.account.plan, config)
                .await?
        };
        let scene = Scene::of_new(&new);
        let version = (&found.agent, new.agent_version);
        let known = self.0.known(version, config, &scene, metadata.clone());
        let first_message = config.rendered(&known.await?.variables).first_message;
        let opened = OpenedChat {
            id: new.id,
            token: new_token()?,
            token_expires_at: new.at.plus(TOKEN_LIFE),
            first_message: Some(first_message).filter(|text| !text.trim().is_empty()),
        };
        let mut session = NewChatSession {
            origin: origin.to_owned(),
            token_digest: sha256(opened.token.as_bytes()).to_vec(),
            token_expires_at: opened.token_expires_at,
            held_day: new.at.utc_day(),
            first_message: opened.first_message.clone(),
        };
        let begun = self.0.store.transaction(move |mut tx| {
            Box::pin(async move {
                if !session.origin.is_empty() {
                    let credits = (new.reserve, new.at);
                    session.held_day =
                        count_session(&mut tx, new.agent_id, &session.origin, credits).await?;
                }
                begin_text(&mut tx, &new, session).await
            })
        });
        begun.await.map_err(UseCaseError::of_write(IN_DOUBT))?;
        tracing::info!(conversation = %opened.id, "chat began");
        Ok(opened)
    }
}

/// The configuration that answers, if the widget is enabled, lists the origin, and the agent takes conversations.
pub(crate) fn admit(shared: &Runner, found: &WidgetAgent, origin: &str) -> Result<AgentConfig> {
    let settings = found.settings.as_ref();
    let settings = settings
        .filter(|settings| settings.enabled)
        .ok_or(UseCaseError::NotFound)?;
    if !settings.origins.iter().any(|listed| listed == origin) {
        return Err(UseCaseError::Origin);
    }
    if !shared.plans.terms(found.account.plan).api {
        return Err(UseCaseError::PlanLimit(Refusal::NoApi));
    }
    serving(&found.agent, found.config.as_deref())
}

/// A malformed agent id is reported as an unknown agent.
pub(super) fn read(body: &Json) -> Result<(AgentId, Metadata)> {
    let OpenChat { agent_id, metadata } = OpenChat::of(body, &())?;
    let agent = agent_id.parse().map_err(|_| UseCaseError::NotFound)?;
    Ok((agent, metadata))
}

pub(super) fn new_token() -> Result<String, StoreError> {
    let mut random = [0; TOKEN_HEX / 2];
    SystemRandom::new()
        .fill(&mut random)
        .map_err(|_| StoreError::Internal("the system gives no randomness".to_owned()))?;
    Ok(format!("{TOKEN_PREFIX}{}", hex::encode(random)))
}
