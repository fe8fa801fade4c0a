//! The queries of an account's overview, and its members' own chats.

use offhook_domain::{CallState, Channel, FailureReason, TerminationReason};
use offhook_storage::{CallLatency, ChatEnding, Quarter, Store, Stretch, mint};
use offhook_testkit::contract;

use crate::it::billing::assert_books;
use crate::it::shop::{CANCELLED, Shop, T0, after, node, settlement, turn};

contract! {
    async fn an_agents_newest_conversation_is_found_with_those_of_others(store: Store) {
        let (shop, other) = (Shop::new(&store).await, Shop::new(&store).await);
        let last = |account| store.last_conversations(account, vec![shop.agent, other.agent]);
        assert_eq!(last(shop.account).await.unwrap(), []);
        for second in [5, 9, 7] {
            shop.place(after(second)).await;
        }
        other.place(after(20)).await;
        assert_eq!(last(shop.account).await.unwrap(), [(shop.agent, after(9))]);
        assert_eq!(store.last_conversations(shop.account, Vec::new()).await.unwrap(), []);
    }

    async fn a_stretch_is_counted_by_quarters_of_an_hour_and_by_reason_for_one_agent_or_all(store: Store) {
        let shop = Shop::new(&store).await;
        let (id, claim) = shop.closing(node()).await;
        let settled = store.settle_call((shop.account, id, claim), settlement(CallState::Completed, 7));
        assert!(settled.await.unwrap().is_some());
        let quarter = 900;
        for second in [1, quarter, quarter + 1] {
            let id = shop.place(after(second)).await;
            let ended = store.end_queued_call((shop.account, id), CANCELLED, settlement(CallState::Failed, 0));
            assert!(ended.await.unwrap().is_some());
        }
        shop.place(after(2)).await;
        let counted = async |agent, since, until| {
            let stretch = Stretch { agent, since: after(since), until: after(until) };
            let quarters = store.quarters(shop.account, stretch).await.unwrap();
            let failures = store.failures(shop.account, stretch).await.unwrap();
            assert!(quarters.iter().all(|found| found.begins_at() <= after(until)));
            let each = |found: &Quarter| (found.calls, found.failed, found.credits);
            (quarters.iter().map(each).collect::<Vec<_>>(), failures)
        };
        let cancelled = |count| vec![(Some(FailureReason::Cancelled), count)];
        let all = (vec![(2, 1, 7), (2, 2, 0)], cancelled(3));
        assert_eq!(counted(None, 0, 2 * quarter).await, all);
        assert_eq!(counted(Some(shop.agent), 0, 2 * quarter).await, all);
        assert_eq!(counted(None, quarter, quarter + 1).await, (vec![(1, 1, 0)], cancelled(1)));
        let none = (vec![], vec![]);
        assert_eq!(counted(Some(mint(T0)), 0, 2 * quarter).await, none);
        let used = store.usage_shares(shop.account, (T0, after(9_999))).await.unwrap();
        let conversations: i64 = used.iter().map(|share| share.conversations).sum();
        let credits: i64 = used.iter().map(|share| share.credits).sum();
        assert!(used.iter().all(|share| share.agent_id == shop.agent), "{used:?}");
        assert_eq!((conversations, credits), (4, 7));
        let other = Shop::new(&store).await;
        assert_eq!(store.usage_shares(other.account, (T0, after(9_999))).await.unwrap(), []);
        let whole = Stretch { agent: None, since: T0, until: after(9_999) };
        assert_eq!(store.quarters(other.account, whole).await.unwrap(), []);
        assert_eq!(store.failures(other.account, whole).await.unwrap(), []);
        assert_eq!(store.reply_latencies(other.account, whole, 50).await.unwrap(), Vec::<String>::new());
    }

    async fn latencies_are_those_of_the_newest_calls(store: Store) {
        let shop = Shop::new(&store).await;
        let (id, claim) = shop.closing(node()).await;
        let settled = store.settle_call((shop.account, id, claim), settlement(CallState::Completed, 7));
        settled.await.unwrap();
        let latencies = |since, most| {
            let stretch = Stretch { agent: None, since, until: after(100) };
            store.call_latencies(shop.account, stretch, most)
        };
        let measured = CallLatency { turns: 2, p50_ms: 300, p95_ms: 450 };
        assert_eq!(latencies(T0, 10).await.unwrap(), [measured]);
        assert_eq!(latencies(after(1), 10).await.unwrap(), []);
        // The newest one has no latency.
        shop.place(after(1)).await;
        assert_eq!(latencies(T0, 1).await.unwrap(), []);
    }

    async fn calls_under_way_are_seen_with_what_was_said_last(store: Store) {
        let shop = Shop::new(&store).await;
        shop.place(after(1)).await;
        assert!(store.calls_under_way(shop.account, 10).await.unwrap().is_empty(), "it waits");
        let (id, claim) = shop.live(node()).await;
        let seen = store.calls_under_way(shop.account, 10).await.unwrap();
        let live: Vec<_> = seen.iter().filter(|call| call.view.conversation.id == id).collect();
        assert_eq!((live.len(), &live[0].role, live[0].at), (1, &None, Some(after(3))));
        store.append_turn(id, claim, turn("agent", "Hola")).await.unwrap();
        let seen = store.calls_under_way(shop.account, 10).await.unwrap();
        let live = seen.iter().find(|call| call.view.conversation.id == id).unwrap();
        assert_eq!((live.role.as_deref(), live.said.as_deref(), live.at), (Some("agent"), Some("Hola"), Some(after(5))));
        assert_eq!(live.view.agent_name, "Ana");
        assert_eq!(store.calls_under_way(shop.account, 1).await.unwrap().len(), 1);
        let other = Shop::new(&store).await;
        assert!(store.calls_under_way(other.account, 10).await.unwrap().is_empty());
    }

    async fn a_members_chat_needs_no_widget_and_is_held_and_paid_as_any(store: Store) {
        let shop = Shop::with_credits(&store, 10).await;
        let new = shop.beginning(Channel::Chat, T0);
        let id = new.id;
        assert!(shop.begin_text(new, "").await);
        assert_eq!(shop.wallet().await, (10, 10));
        let row = shop.conversation(id).await;
        assert_eq!((row.channel, row.voice, row.state), (Some(Channel::Chat), false, CallState::Live));
        let view = store.account_chat(shop.account, id, "").await.unwrap().unwrap();
        assert!(view.session.is_open && view.session.is_of_member());
        let other = Shop::new(&store).await;
        assert!(store.account_chat(other.account, id, "").await.unwrap().is_none(), "another account's");
        assert!(!shop.begin_text(shop.beginning(Channel::Chat, T0), "").await, "the wallet");
        let ending = ChatEnding {
            reason: TerminationReason::CustomerHangup,
            node: node(),
            at: after(4),
            idle_before: None,
        };
        let closing = store.close_chat(id, ending).await.unwrap().unwrap();
        assert!(store.settle_chat(id, closing.claim, String::new(), after(5)).await.unwrap());
        assert_eq!(shop.wallet().await, (10, 0));
        assert_books(&shop).await;
    }
}
