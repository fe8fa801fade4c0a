//! The answer to a message: the agent that gives it, its conversation and its text.

use offhook_domain::ports::whatsapp::{MESSAGE_CHARS, Refusal};
use offhook_engine::only_text;

use super::LONGEST;
use super::split::split;
use super::work::{Halt, Job, kept};
use crate::chats::{self, Answering, ChatEvent, ChatReply, Chats};
use crate::conversations::{STOPPING, begin_text, check_serves, serving};
use crate::prelude::*;

/// How often an answer is tried if no model gives one, and the pause in between.
const TRIES: i32 = 3;
const TRY_AGAIN: Duration = Duration::from_secs(10);

/// The pause if another process may still be answering.
const BUSY: Duration = Duration::from_secs(1);

/// The conversation that a message belongs to, and the language of its agent.
struct Place {
    view: ChatView,
    language: String,
}

impl Job {
    pub(super) async fn answer(
        &self,
        thread: &WhatsAppThread,
        message: WhatsAppReceived,
    ) -> Result<(), Halt> {
        // Reactions and WhatsApp's own messages get no answer.
        if matches!(
            message.kind.as_str(),
            "reaction" | "system" | "request_welcome"
        ) {
            return self.drop_it(message, None).await;
        }
        let place = match self.place(thread, &message).await {
            Err(Halt::Unanswered(why)) => {
                let thread = thread.id;
                tracing::info!(%thread, why, "a message on WhatsApp is not answered");
                return self.drop_it(message, None).await;
            }
            place => place?,
        };
        let is_open = self.is_window_open(thread);
        match &message.content {
            Some(text) if is_open => {
                let text = text.clone();
                self.have_answered(&place, message, text).await
            }
            _ => self.remark(thread, &place, message, is_open).await,
        }
    }

    /// Has the agent answer.
    async fn have_answered(
        &self,
        place: &Place,
        message: WhatsAppReceived,
        text: String,
    ) -> Result<(), Halt> {
        let conversation = place.view.session.conversation_id;
        let chats = Chats(self.shared.clone());
        let sent = chats.send_text(&place.view, message.wamid.clone(), text);
        let reply = match sent.await {
            Ok(Answering::Before(reply)) => Ok(reply),
            Ok(Answering::Now(mut events)) => loop {
                match events.recv().await {
                    Some(ChatEvent::Completed(reply)) => break Ok(reply),
                    Some(ChatEvent::Failed(error)) => break Err(error),
                    Some(_) => {}
                    None => break Err(UseCaseError::Stopping(STOPPING)),
                }
            },
            Err(error) => Err(error),
        };
        match reply {
            Ok(reply) => self.queue(place, message, &reply).await,
            Err(error) => self.unanswered(message, error, conversation).await,
        }
    }

    async fn queue(
        &self,
        place: &Place,
        message: WhatsAppReceived,
        reply: &ChatReply,
    ) -> Result<(), Halt> {
        failpoints::hit(failpoints::WHATSAPP_AFTER_ANSWER);
        let parts = split(&reply.text, MESSAGE_CHARS);
        let conversation = place.view.session.conversation_id;
        let store = &self.shared.store;
        let times = self.times();
        let queued =
            store.queue_whatsapp_answer(self.claim, conversation, message.wamid, parts, times);
        kept(queued.await?)
    }

    /// Handles a message without an answer: retries or drops it.
    async fn unanswered(
        &self,
        message: WhatsAppReceived,
        error: UseCaseError,
        conversation: ConversationId,
    ) -> Result<(), Halt> {
        match error {
            UseCaseError::Store(error) if error.may_pass() => Err(error.into()),
            // It continues in the next conversation.
            UseCaseError::Conflict(crate::Refusal::SessionEnded) => {
                self.put_off(message, Duration::ZERO, false).await
            }
            UseCaseError::Stopping(_) => Err(Halt::Later),
            UseCaseError::Conflict(crate::Refusal::BeingAnswered)
            | UseCaseError::UnknownCommit(_) => {
                self.put_off(message, BUSY, false).await?;
                Err(Halt::Later)
            }
            UseCaseError::NoReply if message.tries + 1 < TRIES => {
                self.put_off(message, TRY_AGAIN, true).await?;
                Err(Halt::Later)
            }
            UseCaseError::NoReply => {
                self.drop_it(message, Some(WhatsAppNote::NoReply.to_string()))
                    .await
            }
            UseCaseError::PaymentRequired(_) => {
                tracing::info!(%conversation, "a message on WhatsApp is not answered: the wallet does not cover it");
                self.drop_it(message, Some(WhatsAppNote::NoCredits.to_string()))
                    .await
            }
            UseCaseError::NotFound
            | UseCaseError::Invalid(_)
            | UseCaseError::Conflict(_)
            | UseCaseError::UnsupportedRuntime(_)
            | UseCaseError::AgentDisabled(_)
            | UseCaseError::AgentNotFound
            | UseCaseError::PlanLimit(_)
            | UseCaseError::KeyBudgetExhausted
            | UseCaseError::RateLimited(..)
            | UseCaseError::IdempotencyConflict
            | UseCaseError::OtherText
            | UseCaseError::Origin
            | UseCaseError::Unauthorized
            | UseCaseError::Upstream(..)
            | UseCaseError::UpstreamUnreachable
            | UseCaseError::Full
            | UseCaseError::QueueFull
            | UseCaseError::StillCancelling
            | UseCaseError::Store(_)
            | UseCaseError::Objects(_) => {
                tracing::info!(%conversation, %error, "a message on WhatsApp is not answered");
                self.drop_it(message, None).await
            }
        }
    }

    /// Answers a message without text once per conversation, with a fixed sentence. If the customer may no longer be
    /// written to, the conversation says so.
    async fn remark(
        &self,
        thread: &WhatsAppThread,
        place: &Place,
        message: WhatsAppReceived,
        is_open: bool,
    ) -> Result<(), Halt> {
        let conversation = place.view.session.conversation_id;
        let is_told = thread.told_in == Some(conversation);
        let customer = message
            .content
            .unwrap_or_else(|| format!("[{}]", message.kind));
        let agent = match is_open && !is_told {
            true => vec![only_text(&place.language).to_owned()],
            false => Vec::new(),
        };
        let remark = WhatsAppRemark {
            customer,
            agent,
            note: (!is_open).then(|| Refusal::Window.to_string()),
        };
        let (store, times) = (&self.shared.store, self.times());
        let written =
            store.remark_on_whatsapp(self.claim, conversation, message.wamid, remark, times);
        match written.await? {
            // If the conversation has ended meanwhile, the message is handled again, in the next one.
            Some(_) => {
                self.shared.live.touch(conversation);
                Ok(())
            }
            None => Err(Halt::Lost),
        }
    }

    /// The conversation that continues, or a new one.
    async fn place(
        &self,
        thread: &WhatsAppThread,
        message: &WhatsAppReceived,
    ) -> Result<Place, Halt> {
        let (shared, store) = (&self.shared, &self.shared.store);
        let account = thread.account_id;
        let found = store.whatsapp_number(account, thread.own_number.clone());
        let found = found.await?;
        let found = found.ok_or_else(|| unanswered("the account has no such number"))?;
        let (agent, config) = self.admit(&found)?;
        let language = config.language.clone();
        if let Some(id) = thread.conversation_id
            && let Some(view) = store.account_chat(account, id, WHATSAPP_ORIGIN).await?
        {
            let wamid = message.wamid.clone();
            if !view.session.is_open {
                // The agent's last words answered it, and the process that wrote them did not get to send them.
                if store.is_answered_in_chat(id, wamid).await? {
                    return Ok(Place { view, language });
                }
                return self.begin(thread, &found.account, (agent, &config)).await;
            }
            let age = shared.clock.now().since(view.conversation.started_at);
            let reason = if age >= LONGEST {
                TerminationReason::MaxDuration
            } else if view.session.agent_id == agent.id {
                return Ok(Place { view, language });
            } else {
                // The number has another agent now, who was not part of this conversation.
                TerminationReason::AgentHangup
            };
            chats::end(shared, id, reason).await?;
        }
        self.begin(thread, &found.account, (agent, &config)).await
    }

    /// Starts the thread's next conversation.
    async fn begin(
        &self,
        thread: &WhatsAppThread,
        account: &Account,
        (agent, config): (&Agent, &AgentConfig),
    ) -> Result<Place, Halt> {
        let (shared, store) = (&self.shared, &self.shared.store);
        let new = NewConversation {
            from: Some(thread.customer.clone()),
            to: Some(thread.own_number.clone()),
            ..shared
                .new_text(agent, Channel::Whatsapp, account.plan, config)
                .await?
        };
        let session = NewChatSession {
            origin: WHATSAPP_ORIGIN.to_owned(),
            // The digest of a token that no client receives.
            token_digest: chats::unknown_token()?,
            token_expires_at: new.at,
            held_day: new.at.utc_day(),
            // The customer wrote first, so the agent answers and does not greet.
            first_message: None,
        };
        let (claim, id) = (self.claim, new.id);
        let begun = store.transaction::<_, Halt, _>(move |mut tx| {
            Box::pin(async move {
                let thread = tx.lock_whatsapp(claim).await?.ok_or(Halt::Lost)?;
                check_serves(&mut tx, &new).await?;
                begin_text(&mut tx, &new, session).await?;
                Ok(tx.set_whatsapp_conversation(thread.id, id).await?)
            })
        });
        begun.await?;
        tracing::info!(conversation = %id, "a conversation on WhatsApp began");
        shared.live.touch(id);
        let view = store.account_chat(thread.account_id, id, WHATSAPP_ORIGIN);
        let gone =
            || StoreError::Corrupt("a conversation that was just written is gone".to_owned());
        let view = view.await?.ok_or_else(gone)?;
        let language = config.language.clone();
        Ok(Place { view, language })
    }

    /// The number's agent, and the configuration with which it answers.
    fn admit<'a>(&self, found: &'a CalledNumber) -> Result<(&'a Agent, AgentConfig), Halt> {
        let agent = found.agent.as_ref();
        let agent = agent.ok_or_else(|| unanswered("the number has no agent"))?;
        if agent.runtime != Runtime::Engine {
            return Err(unanswered(
                "the number's agent lives at its provider (runtime `legacy`) and cannot answer here",
            ));
        }
        if !self.shared.plans.terms(found.account.plan).api {
            return Err(unanswered("the account's plan has no API"));
        }
        let config = serving(agent, found.config.as_deref());
        Ok((agent, config.map_err(unanswered)?))
    }

    async fn drop_it(&self, message: WhatsAppReceived, note: Option<String>) -> Result<(), Halt> {
        let now = self.shared.clock.now();
        let store = &self.shared.store;
        kept(
            store
                .drop_whatsapp(self.claim, message.wamid, note, now)
                .await?,
        )
    }

    async fn put_off(
        &self,
        message: WhatsAppReceived,
        wait: Duration,
        is_try: bool,
    ) -> Result<(), Halt> {
        let due = self.shared.clock.steady().plus(wait);
        let store = &self.shared.store;
        kept(
            store
                .postpone_whatsapp(self.claim, message.wamid, due, is_try)
                .await?,
        )
    }
}

fn unanswered(why: impl ToString) -> Halt {
    Halt::Unanswered(why.to_string())
}
