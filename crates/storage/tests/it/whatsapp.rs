//! Messages on WhatsApp: stored once, answered under a claim, sent at most once.

use offhook_domain::{Channel, ConversationId, NodeId, SentStatus, Timestamp, WhatsAppThreadId};
use offhook_storage::{
    Fenced, NewConversation, NewWhatsAppMessage, Store, WHATSAPP_ORIGIN, WhatsAppClaim,
    WhatsAppOutcome, WhatsAppOutgoing, WhatsAppRemark, WhatsAppStep, WhatsAppTimes,
};
use offhook_testkit::{TestDatabase, contract};

use crate::it::raw::Raw;
use crate::it::shop::{CUSTOMER, OURS, Shop, T0, after, pass, phone, within};

const ID: &str = "106540352242922";

fn here() -> NodeId {
    NodeId::mint(T0, [1; 10])
}

fn there() -> NodeId {
    NodeId::mint(T0, [2; 10])
}

fn message(shop: &Shop, wamid: &str, at: Timestamp) -> NewWhatsAppMessage {
    NewWhatsAppMessage {
        account_id: shop.account,
        wamid: wamid.to_owned(),
        own_number: phone(OURS),
        phone_number_id: ID.to_owned(),
        customer: phone(CUSTOMER),
        kind: "text".to_owned(),
        text: Some(format!("Words of {wamid}")),
        sent_at: at,
        received_at: at,
    }
}

async fn receive(shop: &Shop, wamid: &str, at: Timestamp) -> usize {
    let messages = vec![message(shop, wamid, at)];
    shop.store.receive_whatsapp(messages, at).await.unwrap()
}

fn times(at: Timestamp) -> WhatsAppTimes {
    WhatsAppTimes {
        now: at,
        steady: at,
    }
}

async fn due(store: &Store, node: NodeId, at: Timestamp) -> Vec<WhatsAppThreadId> {
    store.due_whatsapp(node, at, true, 10).await.unwrap()
}

async fn claimed(store: &Store, node: NodeId, at: Timestamp) -> WhatsAppClaim {
    let thread = due(store, node, at).await.remove(0);
    let claim = store
        .claim_whatsapp(thread, node, at, true)
        .await
        .unwrap()
        .unwrap();
    WhatsAppClaim { thread, claim }
}

async fn waiting(store: &Store, hold: WhatsAppClaim, at: Timestamp) -> String {
    match store.next_whatsapp(hold, times(at)).await.unwrap() {
        WhatsAppStep::Answer(_, message) => message.wamid,
        _ => panic!("nothing waits to be answered"),
    }
}

async fn queued(store: &Store, hold: WhatsAppClaim, at: Timestamp) -> WhatsAppOutgoing {
    match store.next_whatsapp(hold, times(at)).await.unwrap() {
        WhatsAppStep::Send(_, outgoing) => outgoing,
        _ => panic!("nothing waits to be sent"),
    }
}

async fn rests(store: &Store, hold: WhatsAppClaim, at: Timestamp) -> bool {
    matches!(
        store.next_whatsapp(hold, times(at)).await.unwrap(),
        WhatsAppStep::Rest
    )
}

async fn open(shop: &Shop, hold: WhatsAppClaim, at: Timestamp) -> ConversationId {
    let new = NewConversation {
        from: Some(phone(CUSTOMER)),
        to: Some(phone(OURS)),
        reserve: 1,
        ..shop.beginning(Channel::Whatsapp, at)
    };
    let id = new.id;
    assert!(shop.begin_text(new, WHATSAPP_ORIGIN).await);
    within(&shop.store, move |mut tx| {
        Box::pin(async move {
            let thread = tx.lock_whatsapp(hold).await?.unwrap();
            tx.set_whatsapp_conversation(thread.id, id).await
        })
    })
    .await;
    id
}

/// A claimed thread with a reply of two parts to send.
async fn answered(shop: &Shop, at: Timestamp) -> (WhatsAppClaim, ConversationId) {
    let store = &shop.store;
    receive(shop, "m1", at).await;
    let hold = claimed(store, here(), at).await;
    let wamid = waiting(store, hold, at).await;
    let conversation = open(shop, hold, at).await;
    let parts = vec!["One.".to_owned(), "Two.".to_owned()];
    let done = store.queue_whatsapp_answer(hold, conversation, wamid, parts, times(at));
    assert_eq!(done.await.unwrap(), Fenced::Done);
    (hold, conversation)
}

async fn statuses(shop: &Shop, conversation: ConversationId) -> Vec<SentStatus> {
    let sent = shop
        .store
        .sent_on_whatsapp(shop.account, conversation, 100)
        .await
        .unwrap();
    sent.into_iter().map(|sent| sent.status).collect()
}

async fn notes(store: &Store, conversation: ConversationId) -> Vec<String> {
    let turns = store.chat_history(conversation, 100).await.unwrap();
    let tools = turns
        .into_iter()
        .filter(|turn| turn.role.as_deref() == Some("tool"));
    tools.filter_map(|turn| turn.content).collect()
}

contract! {
    async fn a_message_is_taken_in_once_and_answered_in_the_order_in_which_customers_wrote(database: TestDatabase) {
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        assert_eq!(receive(&shop, "late", after(9)).await, 1);
        assert_eq!(receive(&shop, "early", after(4)).await, 1);
        assert_eq!(receive(&shop, "late", after(9)).await, 0, "told twice");
        let hold = claimed(&store, here(), after(10)).await;
        assert_eq!(due(&store, here(), after(10)).await, [], "somebody is at it");
        assert_eq!(waiting(&store, hold, after(10)).await, "early");
        store.drop_whatsapp(hold, "early".to_owned(), None, after(10)).await.unwrap();
        assert_eq!(waiting(&store, hold, after(10)).await, "late");
        // A postponed message becomes due at its time, and not before.
        store.postpone_whatsapp(hold, "late".to_owned(), after(30), true).await.unwrap();
        assert!(rests(&store, hold, after(11)).await);
        assert_eq!(store.release_whatsapp(hold).await.unwrap(), Fenced::Done);
        assert_eq!(store.release_whatsapp(hold).await.unwrap(), Fenced::Lost, "given back");
        assert_eq!(due(&store, here(), after(29)).await, []);
        let hold = claimed(&store, here(), after(30)).await;
        assert_eq!(waiting(&store, hold, after(30)).await, "late");
    }

    async fn what_was_begun_and_left_is_never_sent_again_whoever_takes_over(database: TestDatabase) {
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        let (hold, conversation) = answered(&shop, T0).await;
        let first = queued(&store, hold, T0).await;
        assert_eq!(first.content.as_deref(), Some("One."));
        assert_eq!(store.begin_sending_whatsapp(hold, first.id, T0).await.unwrap(), Fenced::Done);
        assert_eq!(store.begin_sending_whatsapp(hold, first.id, T0).await.unwrap(), Fenced::Lost, "once");
        // The process dies; another one takes over when the lease has expired, on SQLite at once.
        let now = pass(&store, 60);
        let taken = claimed(&store, there(), now).await;
        assert_ne!(taken.claim, hold.claim);
        assert!(matches!(store.next_whatsapp(hold, times(now)).await.unwrap(), WhatsAppStep::Lost));
        let second = queued(&store, taken, now).await;
        assert_eq!(second.content.as_deref(), Some("Two."), "the first one may have left");
        assert_eq!(statuses(&shop, conversation).await, [SentStatus::Unknown, SentStatus::Queued]);
        assert_eq!(notes(&store, conversation).await.len(), 1);
        // The sender survived after all: its result counts, but does not queue the message again.
        store.record_whatsapp_outcome(first.id, WhatsAppOutcome::Later(now), now).await.unwrap();
        assert_eq!(statuses(&shop, conversation).await[0], SentStatus::Unknown);
        store.record_whatsapp_outcome(first.id, WhatsAppOutcome::Accepted("out1".to_owned()), now).await.unwrap();
        assert_eq!(statuses(&shop, conversation).await[0], SentStatus::Accepted);
        let notes = notes(&store, conversation).await;
        assert!(notes.len() == 2 && notes[1].contains("WhatsApp did take"), "{notes:?}");
    }

    async fn a_thread_that_nobody_gave_back_is_due_again_when_its_lease_is_over(database: TestDatabase) {
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        receive(&shop, "m1", T0).await;
        let left = claimed(&store, here(), T0).await;
        let now = pass(&store, 20);
        assert_eq!(due(&store, here(), now).await, [], "a lease has 45 s");
        assert_eq!(store.claim_whatsapp(left.thread, here(), now, true).await.unwrap(), None);
        let now = pass(&store, 46);
        assert_eq!(store.due_whatsapp(here(), now, false, 10).await.unwrap(), [], "who may not judge");
        assert_eq!(store.claim_whatsapp(left.thread, here(), now, false).await.unwrap(), None);
        let taken = claimed(&store, here(), now).await;
        assert_eq!(taken.thread, left.thread);
        assert!(matches!(store.next_whatsapp(left, times(now)).await.unwrap(), WhatsAppStep::Lost));
        assert_eq!(store.renew_whatsapp(left).await.unwrap(), Fenced::Lost);
        assert_eq!(store.release_whatsapp(left).await.unwrap(), Fenced::Lost);
        assert_eq!(waiting(&store, taken, now).await, "m1");
    }

    async fn a_conversation_on_whatsapp_has_both_numbers_and_is_no_widgets(database: TestDatabase) {
        let store = database.open().await;
        let shop = Shop::with_credits(&store, 100).await;
        receive(&shop, "m1", T0).await;
        let hold = claimed(&store, here(), T0).await;
        let id = open(&shop, hold, T0).await;
        let call = shop.conversation(id).await;
        let number = |number: &Option<offhook_domain::E164>| number.as_ref().map(ToString::to_string);
        assert_eq!(number(&call.from_number).as_deref(), Some(CUSTOMER));
        assert_eq!(number(&call.to_number).as_deref(), Some(OURS));
        assert_eq!(number(&call.customer_phone).as_deref(), Some(CUSTOMER));
        assert_eq!(call.channel, Some(offhook_domain::Channel::Whatsapp));
        assert!(store.account_chat(shop.account, id, WHATSAPP_ORIGIN).await.unwrap().is_some());
        assert!(store.account_chat(shop.account, id, "").await.unwrap().is_none(), "no member writes in it");
        let remark = WhatsAppRemark { customer: "[image]".to_owned(), agent: vec!["Only text.".to_owned()], note: None };
        let written = store.remark_on_whatsapp(hold, id, "m1".to_owned(), remark, times(after(1)));
        assert_eq!(written.await.unwrap(), Some(true));
        assert_eq!(queued(&store, hold, after(1)).await.content.as_deref(), Some("Only text."));
        // Idle by a page's limit, but not by WhatsApp's.
        assert_eq!(store.idle_chats(false, after(9_999), 10).await.unwrap(), []);
        assert_eq!(store.idle_chats(true, after(9_999), 10).await.unwrap(), [id]);
        assert_eq!(shop.wallet().await, (100, 1));
    }

    async fn what_is_done_is_forgotten_and_what_waits_is_not(database: TestDatabase) {
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        let (hold, conversation) = answered(&shop, T0).await;
        receive(&shop, "m2", after(1)).await;
        store.release_whatsapp(hold).await.unwrap();
        assert!(!store.delete_old_whatsapp(after(1_000), 10).await.unwrap());
        let mut raw = Raw::open(&database).await;
        assert_eq!(raw.count("whatsapp_received").await, 1, "m2 waits");
        assert_eq!(raw.count("whatsapp_threads").await, 1);
        // A restored database sends nothing that may have been sent.
        store.hold_restored(after(2)).await.unwrap();
        assert_eq!(due(&store, here(), after(9_999)).await, []);
        assert_eq!(statuses(&shop, conversation).await, [SentStatus::Unknown, SentStatus::Unknown]);
        store.delete_old_whatsapp(after(1_000), 10).await.unwrap();
        assert_eq!(raw.count("whatsapp_received").await, 0);
        assert_eq!(raw.count("whatsapp_threads").await, 0);
    }
}
