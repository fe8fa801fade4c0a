//! Widgets, and their text conversations.

use futures_util::future::join_all;
use offhook_domain::{
    AccountId, CallState, Channel, ClaimId, ConversationId, NodeId, Price, TerminationReason,
    Timestamp,
};
use offhook_storage::{
    ChatAnswered, ChatEnding, ChatMessage, Fenced, NewChatMessage, NewConversation, NewTurn, Store,
    WidgetSettings, mint,
};
use offhook_testkit::{TestDatabase, contract};

use crate::it::billing::assert_books;
use crate::it::raw::Raw;
use crate::it::shop::{MINUTE, Shop, T0, after, pass, within};

const ORIGIN: &str = "https://shop.example";

/// This process, the only one on the embedded database.
fn here() -> NodeId {
    NodeId::mint(T0, [1; 10])
}

/// A shop whose agent has its widget enabled, at four credits per minute: one credit for each reply.
async fn furnished(store: &Store, credits: i64) -> Shop {
    let shop = Shop::with_credits(store, credits).await;
    set(&shop, settings()).await;
    shop
}

fn settings() -> WidgetSettings {
    WidgetSettings {
        enabled: true,
        origins: vec![ORIGIN.to_owned(), "https://b.example".to_owned()],
        max_sessions_per_minute: 10,
        daily_credit_cap: None,
    }
}

async fn set(shop: &Shop, settings: WidgetSettings) {
    let set = shop.store.set_widget(shop.account, shop.agent, settings);
    set.await.unwrap();
}

async fn open(shop: &Shop, at: Timestamp) -> ConversationId {
    let new = NewConversation {
        price: Price::from_millicredits_per_minute(4_000),
        reserve: 1,
        ..shop.beginning(Channel::WidgetChat, at)
    };
    let id = new.id;
    assert!(shop.begin_text(new, ORIGIN).await);
    id
}

/// Whether the agent's widget serves pages of this origin.
async fn serves(shop: &Shop, origin: &'static str) -> bool {
    let agent = shop.agent;
    let locked = within(&shop.store, move |mut tx| {
        Box::pin(async move { tx.lock_widget_of(agent, origin).await })
    });
    locked.await.is_some()
}

fn message(id: ConversationId, key: Option<&str>, text: &str, at: Timestamp) -> NewChatMessage {
    NewChatMessage {
        conversation: id,
        message_id: key.map(str::to_owned),
        digest: text.as_bytes().to_vec(),
        text: text.to_owned(),
        node: here(),
        at,
    }
}

/// Claims the answer to a message, for a credit; `None` if another worker has the claim.
async fn take(shop: &Shop, new: NewChatMessage) -> Option<ClaimId> {
    let alone = shop.store.is_embedded().then_some(new.node);
    let claim = mint(new.at);
    within(&shop.store, move |mut tx| {
        Box::pin(async move {
            let (id, now) = (new.conversation, tx.lease_clock().await?);
            let session = tx.lock_chat(id).await?.unwrap();
            if session.is_claimed(now, alone) {
                return Ok(None);
            }
            let (price, reserved) = tx.chat_credits(id).await?;
            let more = price.of_answers(i64::from(session.answers) + 1) - reserved;
            assert!(more <= 0 || tx.reserve_more(id, more, new.at).await?);
            tx.write_lost_tools(&session, new.at).await?;
            let known = match &new.message_id {
                Some(key) => tx.chat_message(id, key).await?,
                None => None,
            };
            if known.is_none() {
                tx.write_chat_message(&new).await?.unwrap();
            }
            tx.claim_chat(&new, claim, now, session.held_day).await?;
            Ok(Some(claim))
        })
    })
    .await
}

async fn claimed(shop: &Shop, message: NewChatMessage) -> ClaimId {
    take(shop, message).await.unwrap()
}

fn said(role: &'static str, text: &str, at: Timestamp) -> NewTurn {
    NewTurn {
        role,
        text: text.to_owned(),
        started_at: at,
        duration_ms: 5,
        interrupted: false,
        latency: None,
        source: None,
        seq: None,
    }
}

fn answer(text: &str, at: Timestamp) -> ChatAnswered {
    ChatAnswered {
        turns: vec![said("agent", text, at)],
        last: None,
        is_charged: true,
        is_final: true,
        at,
    }
}

/// A message and its immediate reply.
async fn exchange(shop: &Shop, id: ConversationId, at: Timestamp) {
    let claim = claimed(shop, message(id, None, "Hello?", at)).await;
    let answered = shop.store.finish_chat_answer(id, claim, answer("Yes.", at));
    assert!(answered.await.unwrap().is_some());
}

fn ending(reason: TerminationReason, at: Timestamp) -> ChatEnding {
    ChatEnding {
        reason,
        node: here(),
        at,
        idle_before: None,
    }
}

async fn settle(shop: &Shop, id: ConversationId, at: Timestamp) {
    let ending = ending(TerminationReason::CustomerHangup, at);
    let closing = shop.store.close_chat(id, ending).await.unwrap().unwrap();
    let settled = shop
        .store
        .settle_chat(id, closing.claim, "A chat.".to_owned(), at);
    assert!(settled.await.unwrap());
}

/// Role and text of all turns.
async fn transcript(shop: &Shop, id: ConversationId) -> Vec<(String, String)> {
    let turns = shop.store.chat_history(id, 100).await.unwrap();
    let turns = turns.into_iter();
    turns
        .map(|turn| (turn.role.unwrap(), turn.content.unwrap()))
        .collect()
}

fn pair(role: &str, text: &str) -> (String, String) {
    (role.to_owned(), text.to_owned())
}

contract! {
    async fn a_widget_is_what_was_set_last(database: TestDatabase) {
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        assert_eq!(store.widget(shop.agent).await.unwrap(), None);
        assert!(!serves(&shop, ORIGIN).await);
        set(&shop, settings()).await;
        assert!(serves(&shop, ORIGIN).await);
        assert_eq!(store.widget(shop.agent).await.unwrap(), Some(settings()));
        let other = WidgetSettings {
            origins: vec!["https://c.example".to_owned()],
            daily_credit_cap: Some(7),
            ..settings()
        };
        set(&shop, other.clone()).await;
        assert_eq!(store.widget(shop.agent).await.unwrap(), Some(other));
        let knows = |origin: &str| store.is_widget_origin(origin.to_owned());
        assert!(knows("https://c.example").await.unwrap());
        assert!(!knows(ORIGIN).await.unwrap());
        assert!(!serves(&shop, ORIGIN).await, "another origin");
        set(&shop, WidgetSettings { enabled: false, ..settings() }).await;
        assert!(!knows(ORIGIN).await.unwrap(), "it is off");
        assert!(!serves(&shop, ORIGIN).await);
        let seen = store.widget_agent(shop.agent).await.unwrap().unwrap();
        assert_eq!((seen.agent.id, seen.account.id), (shop.agent, shop.account));
        assert_eq!(seen.config.as_deref(), Some(r#"{"version": 1}"#));
    }

    async fn a_conversation_is_told_answered_ended_and_paid(database: TestDatabase) {
        let store = database.open().await;
        let shop = furnished(&store, 100).await;
        let id = open(&shop, T0).await;
        assert_eq!(shop.wallet().await, (100, 1));
        let began = shop.conversation(id).await;
        assert_eq!((began.channel, began.voice, began.state), (Some(Channel::WidgetChat), false, CallState::Live));
        assert_eq!(began.metadata, r#"{"page": 1.50}"#);
        for minute in 1..=3 {
            exchange(&shop, id, after(60 * minute)).await;
            assert_books(&shop).await;
        }
        assert_eq!(shop.wallet().await, (100, 3));
        settle(&shop, id, after(200)).await;
        let ended = shop.conversation(id).await;
        assert_eq!((ended.state, ended.credits, ended.duration_seconds), (CallState::Completed, Some(3), Some(200)));
        assert_eq!(ended.termination_reason, Some(TerminationReason::CustomerHangup));
        assert_eq!((ended.summary.as_deref(), ended.messages_count), (Some("A chat."), 7));
        assert_eq!(shop.wallet().await, (97, 0));
        assert_books(&shop).await;
        let day = T0.utc_day();
        let usage = store.usage(shop.account, day, day).await.unwrap();
        assert_eq!((usage[0].calls, usage[0].conversations, usage[0].credits), (0, 1, 3));
        let mut raw = Raw::open(&database).await;
        assert_eq!(raw.count("events").await, 0, "text conversations emit none");
        let told = transcript(&shop, id).await;
        assert_eq!((told.len(), &told[0]), (7, &pair("agent", "Hi.")));
        for both in told[1..].chunks(2) {
            assert_eq!(both, [pair("user", "Hello?"), pair("agent", "Yes.")]);
        }
    }

    async fn what_is_said_and_what_it_was_about_are_kept_without_their_nul(store: Store) {
        let shop = furnished(&store, 100).await;
        let id = open(&shop, T0).await;
        let claim = claimed(&shop, message(id, None, "He\0llo?", after(1))).await;
        let answered = store.finish_chat_answer(id, claim, answer("\0Yes.\0", after(2)));
        assert!(answered.await.unwrap().is_some());
        let said = [pair("agent", "Hi."), pair("user", "Hello?"), pair("agent", "Yes.")];
        assert_eq!(transcript(&shop, id).await, said);
        let ending = ending(TerminationReason::CustomerHangup, after(3));
        let closing = store.close_chat(id, ending).await.unwrap().unwrap();
        let settled = store.settle_chat(id, closing.claim, "A\0 chat.".to_owned(), after(3));
        assert!(settled.await.unwrap());
        let ended = shop.conversation(id).await;
        assert_eq!((ended.state, ended.summary.as_deref()), (CallState::Completed, Some("A chat.")));
    }

    async fn a_message_is_known_by_its_id_with_the_end_of_its_answer(database: TestDatabase) {
        let store = database.open().await;
        let shop = furnished(&store, 100).await;
        let id = open(&shop, T0).await;
        let claim = claimed(&shop, message(id, Some("m1"), "A room?", after(1))).await;
        let known = async |key: &'static str| {
            within(&store, move |mut tx| Box::pin(async move { tx.chat_message(id, key).await })).await
        };
        let seq = shop.conversation(id).await.last_seq;
        let new = ChatMessage { digest: b"A room?".to_vec(), seq, answered_seq: None };
        assert_eq!(known("m1").await, Some(new.clone()));
        assert_eq!(known("m2").await, None);
        let last = store.finish_chat_answer(id, claim, answer("Yes.", after(3))).await.unwrap();
        assert_eq!(known("m1").await, Some(ChatMessage { answered_seq: last, ..new }));
        assert_eq!(store.chat_answers(shop.account, id).await.unwrap(), Some(1));
        assert_eq!(store.chat_answers(mint(T0), id).await.unwrap(), None, "another account's");
        // The claim is used up.
        assert_eq!(store.finish_chat_answer(id, claim, answer("No.", after(5))).await.unwrap(), None);
        settle(&shop, id, after(6)).await;
        assert_eq!(shop.wallet().await, (99, 0));
    }

    async fn an_answer_that_is_told_again_is_written_and_charged_once(store: Store) {
        let shop = furnished(&store, 100).await;
        let id = open(&shop, T0).await;
        let claim = claimed(&shop, message(id, None, "A room?", after(1))).await;
        let last = shop.conversation(id).await.last_seq;
        let at = |place: i32, role, text| NewTurn {
            seq: Some(last + place),
            ..said(role, text, after(1 + u64::from(place.unsigned_abs())))
        };
        for _ in 0..2 {
            let looked = store.append_chat_turns(id, claim, vec![at(1, "tool", "look({}) → 1")]);
            assert_eq!(looked.await.unwrap(), Fenced::Done);
        }
        let answered = ChatAnswered {
            turns: vec![at(2, "agent", "Yes.")],
            last: Some(last + 2),
            ..answer("", after(3))
        };
        for _ in 0..2 {
            let told = store.finish_chat_answer(id, claim, answered.clone()).await.unwrap();
            assert_eq!(told, Some(last + 2));
        }
        assert_eq!(transcript(&shop, id).await.len(), 4);
        assert_eq!(store.chat_answers(shop.account, id).await.unwrap(), Some(1));
        // Finishing an empty reply again also returns the same result, until another claim has replied.
        let claim = claimed(&shop, message(id, None, "Two?", after(5))).await;
        let nothing = ChatAnswered {
            turns: vec![],
            last: Some(last + 3),
            is_charged: false,
            is_final: false,
            at: after(6),
        };
        for _ in 0..2 {
            let told = store.finish_chat_answer(id, claim, nothing.clone()).await.unwrap();
            assert_eq!(told, Some(last + 3));
        }
        exchange(&shop, id, after(7)).await;
        assert_eq!(store.finish_chat_answer(id, claim, nothing).await.unwrap(), None);
    }

    async fn of_messages_at_one_instant_one_is_answered(database: TestDatabase) {
        let store = database.open().await;
        let shop = furnished(&store, 100).await;
        let id = open(&shop, T0).await;
        let taken = join_all((0..12).map(|_| take(&shop, message(id, None, "Hello?", after(1))))).await;
        let busy = taken.iter().filter(|taken| taken.is_none()).count();
        assert_eq!(busy, 11, "{taken:?}");
        assert_eq!(transcript(&shop, id).await.len(), 2);
    }

    async fn what_a_dead_process_left_unanswered_is_answered_by_another_and_charged_once(database: TestDatabase) {
        let store = database.open().await;
        let shop = furnished(&store, 100).await;
        let id = open(&shop, T0).await;
        let dead = claimed(&shop, message(id, Some("m1"), "A room?", after(1))).await;
        store.append_chat_turns(id, dead, vec![said("tool", "look({}) → 1", after(1))]).await.unwrap();
        pass(&store, 46);
        let other = NewChatMessage { node: mint(after(50)), ..message(id, Some("m1"), "A room?", after(50)) };
        let claim = claimed(&shop, other).await;
        let late = store.append_chat_turns(id, dead, vec![said("agent", "x", after(51))]);
        assert_eq!(late.await.unwrap(), Fenced::Lost);
        assert_eq!(store.renew_chat(id, dead).await.unwrap(), Fenced::Lost);
        assert_eq!(store.finish_chat_answer(id, dead, answer("x", after(51))).await.unwrap(), None);
        store.finish_chat_answer(id, claim, answer("Yes.", after(52))).await.unwrap().unwrap();
        let expected = [("agent", "Hi."), ("user", "A room?"), ("tool", "look({}) → 1"), ("agent", "Yes.")];
        assert_eq!(transcript(&shop, id).await, expected.map(|(role, text)| pair(role, text)));
        assert_eq!(shop.wallet().await, (100, 1));
        assert_books(&shop).await;
    }

    async fn tools_that_a_dead_process_had_set_to_work_are_told_of_once(database: TestDatabase) {
        let store = database.open().await;
        let shop = furnished(&store, 100).await;
        let id = open(&shop, T0).await;
        let dead = claimed(&shop, message(id, Some("m1"), "A room?", after(1))).await;
        let told = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        // Tools with a result are only reported by it.
        store.set_chat_tools(id, dead, told(&["look({}) → ?"])).await.unwrap();
        store.append_chat_turns(id, dead, vec![said("tool", "look({}) → 1", after(1))]).await.unwrap();
        let two = told(&["book({\"n\":\"\\\"é\"}) → ?", "log({}) → ?"]);
        store.set_chat_tools(id, dead, two.clone()).await.unwrap();
        pass(&store, 46);
        let node = mint(after(50));
        let again = NewChatMessage { node, ..message(id, Some("m1"), "A room?", after(50)) };
        let claim = claimed(&shop, again).await;
        let late = store.set_chat_tools(id, dead, told(&["x"])).await.unwrap();
        assert_eq!(late, Fenced::Lost);
        store.finish_chat_answer(id, claim, answer("Yes.", after(52))).await.unwrap().unwrap();
        let mut expected = vec![pair("agent", "Hi."), pair("user", "A room?"), pair("tool", "look({}) → 1")];
        expected.extend(two.iter().map(|told| pair("tool", told)));
        expected.push(pair("agent", "Yes."));
        assert_eq!(transcript(&shop, id).await, expected);
        // Another message, or the end, also reports them.
        let other = NewChatMessage { node, ..message(id, None, "And?", after(60)) };
        let claim = claimed(&shop, other).await;
        store.set_chat_tools(id, claim, told(&["pay({}) → ?"])).await.unwrap();
        settle(&shop, id, after(61)).await;
        expected.extend([pair("user", "And?"), pair("tool", "pay({}) → ?")]);
        assert_eq!(transcript(&shop, id).await, expected);
    }

    async fn an_answer_that_failed_is_not_charged(database: TestDatabase) {
        let store = database.open().await;
        let shop = furnished(&store, 100).await;
        let id = open(&shop, T0).await;
        let claim = claimed(&shop, message(id, Some("m1"), "A room?", after(1))).await;
        let failed = ChatAnswered { turns: vec![], last: None, is_charged: false, is_final: false, at: after(2) };
        store.finish_chat_answer(id, claim, failed).await.unwrap().unwrap();
        let claim = claimed(&shop, message(id, Some("m1"), "A room?", after(3))).await;
        store.finish_chat_answer(id, claim, answer("Yes.", after(4))).await.unwrap().unwrap();
        assert_eq!(transcript(&shop, id).await.len(), 3);
        settle(&shop, id, after(5)).await;
        assert_eq!(shop.wallet().await, (99, 0));
    }

    async fn a_token_opens_a_session_that_its_widget_may_no_longer_serve(database: TestDatabase) {
        let store = database.open().await;
        let shop = furnished(&store, 100).await;
        let id = open(&shop, T0).await;
        let digest = id.uuid().as_bytes().to_vec();
        assert!(store.chat(id, digest.clone()).await.unwrap().unwrap().is_served);
        let elsewhere = vec!["https://b.example".to_owned()];
        for less in [WidgetSettings { origins: elsewhere, ..settings() }, WidgetSettings { enabled: false, ..settings() }] {
            set(&shop, less).await;
            let view = store.chat(id, digest.clone()).await.unwrap().unwrap();
            assert!(!view.is_served && view.session.is_open);
        }
        assert!(store.chat(id, vec![0; 32]).await.unwrap().is_none(), "another token");
    }

    async fn a_silent_conversation_ends_when_it_fell_silent(database: TestDatabase) {
        let store = database.open().await;
        let shop = furnished(&store, 100).await;
        let (silent, lively) = (open(&shop, T0).await, open(&shop, T0).await);
        exchange(&shop, silent, after(90)).await;
        exchange(&shop, lively, after(1_000)).await;
        let now = after(1_900);
        let before = now.minus(30 * MINUTE);
        assert_eq!(store.idle_chats(false, before, 10).await.unwrap(), [silent]);
        let reason = TerminationReason::SilenceTimeout;
        let idle = ChatEnding { idle_before: Some(before), ..ending(reason, now) };
        assert!(store.close_chat(lively, idle).await.unwrap().is_none());
        let closing = store.close_chat(silent, idle).await.unwrap().unwrap();
        assert_eq!(closing.conversation.ended_at, Some(after(90)));
        assert_eq!(closing.conversation.duration_seconds, Some(90));
        assert!(store.close_chat(silent, idle).await.unwrap().is_none(), "once");
        assert_eq!(store.idle_chats(false, before, 10).await.unwrap(), []);
    }

    async fn an_ending_whose_process_died_is_carried_on_by_another(database: TestDatabase) {
        let store = database.open().await;
        let shop = furnished(&store, 100).await;
        let id = open(&shop, T0).await;
        exchange(&shop, id, after(1)).await;
        let answering = claimed(&shop, message(id, None, "More?", after(2))).await;
        let ending = ending(TerminationReason::CustomerHangup, after(3));
        let dead = store.close_chat(id, ending).await.unwrap().unwrap();
        assert_eq!(store.renew_chat(id, answering).await.unwrap(), Fenced::Lost);
        let living = ending.node;
        let taken = store.claim_closing_chats(living, after(4), 10).await.unwrap();
        assert_eq!(taken.len(), 0, "its owner is at it");
        let now = pass(&store, 46);
        let taken = store.claim_closing_chats(mint(now), now, 10).await.unwrap();
        assert_eq!(taken.len(), 1);
        assert!(!store.settle_chat(id, dead.claim, String::new(), now).await.unwrap());
        assert!(store.settle_chat(id, taken[0].claim, String::new(), now).await.unwrap());
        assert!(!store.settle_chat(id, taken[0].claim, String::new(), now).await.unwrap());
        assert_eq!(store.claim_closing_chats(mint(now), now, 10).await.unwrap().len(), 0);
        assert_eq!(shop.wallet().await, (99, 0));
        assert_books(&shop).await;
    }

    async fn a_chat_is_no_call_that_a_dialer_owns(database: TestDatabase) {
        let store = database.open().await;
        let shop = furnished(&store, 100).await;
        let id = open(&shop, T0).await;
        claimed(&shop, message(id, None, "Hello?", after(1))).await;
        assert_eq!(store.live_calls(shop.account).await.unwrap(), 0);
        let now = pass(&store, 100);
        assert!(store.take_orphans(true, 10, mint(now), now).await.unwrap().is_empty());
        assert!(store.take_orphans(false, 10, mint(now), now).await.unwrap().is_empty());
        assert_eq!(shop.conversation(id).await.state, CallState::Live);
    }

    async fn a_chat_whose_time_is_over_goes_with_its_session(database: TestDatabase) {
        let store = database.open().await;
        let shop = furnished(&store, 100).await;
        let id = open(&shop, T0).await;
        claimed(&shop, message(id, Some("m1"), "Hello?", after(1))).await;
        let late = after(1_000);
        let found = |account: AccountId| store.ended_conversations_before(account, (late, None), 10);
        assert_eq!(found(shop.account).await.unwrap(), [], "it goes on");
        settle(&shop, id, after(2)).await;
        let ended: Vec<_> = found(shop.account).await.unwrap().into_iter().map(|ended| (ended.1, ended.2)).collect();
        assert_eq!(ended, [(id, false)]);
        store.delete_conversations(shop.account, vec![(id, false)]).await.unwrap();
        let mut raw = Raw::open(&database).await;
        for table in ["conversations", "conversation_moments", "chat_sessions", "chat_messages"] {
            assert_eq!(raw.count(table).await, 0, "{table}");
        }
    }
}
