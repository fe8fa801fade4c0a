//! The end of a call: turns, closing, settlement, the terminal event.

use offhook_domain::{
    CallOutcome, CallState, ConversationStatus, EventType, FailureReason, TerminationReason,
};
use offhook_storage::{CallEnd, DeliveryFilter, Settlement, Store};
use offhook_testkit::{TestDatabase, contract};

use crate::it::raw::Raw;
use crate::it::shop::{Shop, after, end, node, race, settlement, top_up, turn};

contract! {
    async fn turns_are_numbered_in_order_and_tools_do_not_count_as_messages(store: Store) {
        let shop = Shop::new(&store).await;
        let (id, claim) = shop.live(node()).await;
        for (role, text) in [("agent", "Ho\0la"), ("user", "¿Quién es?"), ("tool", "{}"), ("agent", "Ana")] {
            store.append_turn(id, claim, turn(role, text)).await.unwrap();
        }
        let (view, turns) = store.transcript(shop.account, id, None, 10).await.unwrap().unwrap();
        assert_eq!(view.agent_name, "Ana");
        assert_eq!((view.conversation.messages_count, view.conversation.last_seq), (3, 6));
        let said: Vec<_> = turns
            .iter()
            .map(|t| (t.seq, t.role.as_deref().unwrap(), t.content.as_deref().unwrap()))
            .collect();
        assert_eq!(
            said,
            [(3, "agent", "Hola"), (4, "user", "¿Quién es?"), (5, "tool", "{}"), (6, "agent", "Ana")]
        );
        assert_eq!((turns[0].duration_ms, turns[0].interrupted), (Some(1_200), Some(false)));
        assert_eq!(turns[0].at, after(5));

        let rest = store.turns(id, 4, 1).await.unwrap();
        assert_eq!(rest.iter().map(|t| t.seq).collect::<Vec<_>>(), [5]);
        for (before, most, expected) in [
            (i32::MAX, 2, vec![5, 6]),
            (5, 2, vec![3, 4]),
            (4, 9, vec![3]),
            (3, 9, vec![]),
        ] {
            let turns = store.turns_before(id, before, most).await.unwrap();
            let seqs: Vec<_> = turns.iter().map(|t| t.seq).collect();
            assert_eq!(seqs, expected, "{most} before {before}");
        }
        let (state, moments) = store.moments(shop.account, id, 1, 2).await.unwrap().unwrap();
        assert_eq!(state, CallState::Live);
        assert_eq!(moments.iter().map(|m| m.seq).collect::<Vec<_>>(), [2, 3]);
    }

    async fn a_completed_call_is_settled_in_one_step(database: TestDatabase) {
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        let endpoint = shop.endpoint().await;
        let (id, claim) = shop.closing(node()).await;
        let closing = shop.conversation(id).await;
        assert_eq!(closing.status, ConversationStatus::Unknown);
        assert_eq!(closing.termination_reason, Some(TerminationReason::AgentHangup));
        assert_eq!((closing.ended_at, closing.duration_seconds), (Some(after(45)), Some(42)));
        assert_eq!(closing.credits, None);
        assert_eq!(shop.wallet().await, (1_000, 10));

        let settled = store
            .settle_call((shop.account, id, claim), settlement(CallState::Completed, 7))
            .await;
        assert_eq!(settled.unwrap(), Some(vec![endpoint]));
        let call = shop.conversation(id).await;
        assert_eq!((call.state, call.status), (CallState::Completed, ConversationStatus::Completed));
        assert_eq!((call.credits, call.summary.as_deref()), (Some(7), Some("They agreed.")));
        assert_eq!(call.latency.turns, Some(2));
        assert_eq!(call.latency.p50_ms, Some(300));
        assert_eq!(call.latency.p95_ms, Some(450));
        assert_eq!(call.claim_id, None);
        assert_eq!(shop.wallet().await, (993, 0));
        assert_eq!(store.live_calls(shop.account).await.unwrap(), 0);

        let mut raw = Raw::open(&database).await;
        assert_eq!(raw.count("reservations").await, 0);
        let ledger = raw
            .lines(
                "SELECT CAST(seq AS TEXT) || ' ' || type || ' ' || CAST(amount_credits AS TEXT) || ' ' \
                 || CAST(balance_after_credits AS TEXT) AS line FROM ledger ORDER BY seq",
            )
            .await;
        assert_eq!(ledger, ["1 manual_credit 1000 1000", "2 debit -7 993"]);
        let kinds = raw.lines("SELECT type AS line FROM events ORDER BY type").await;
        assert_eq!(kinds, ["call.completed", "call.initiated"]);
    }

    async fn calls_that_end_at_once_are_each_settled_once_and_counted(database: TestDatabase) {
        let store = database.open().await;
        let (shop, other) = (Shop::new(&store).await, Shop::new(&store).await);
        let endpoint = shop.endpoint().await;
        let mut closing = Vec::new();
        for number in 0..30 {
            let of = if number % 3 == 0 { &other } else { &shop };
            let (id, claim) = of.closing(node()).await;
            closing.push((of.account, id, claim));
        }
        // One claim was lost, and one call is settled twice.
        closing[0].2 = offhook_storage::mint(after(1));
        closing.push(closing[1]);
        let settled = race(closing.len(), |number| {
            let (store, call) = (store.clone(), closing[number]);
            let state = [CallState::Completed, CallState::Failed][number % 2];
            async move { store.settle_call(call, settlement(state, (number % 2) as i64)).await.unwrap() }
        })
        .await;
        assert_eq!(settled[0], None);
        let twice = [&settled[1], &settled[30]];
        assert_eq!(twice.iter().filter(|settled| settled.is_some()).count(), 1, "{twice:?}");
        for (number, settled) in settled.iter().enumerate().skip(2).take(28) {
            let expected = if number % 3 == 0 { vec![] } else { vec![endpoint] };
            assert_eq!(settled.as_ref(), Some(&expected), "{number}");
        }
        let mut raw = Raw::open(&database).await;
        assert_eq!(raw.count("reservations").await, 1);
        let gapless = raw
            .lines(
                "SELECT 'entry ' || CAST(l.seq AS TEXT) AS line FROM ledger l WHERE l.seq > 1 AND NOT EXISTS ( \
                   SELECT 1 FROM ledger p WHERE p.account_id = l.account_id AND p.seq = l.seq - 1 \
                   AND p.balance_after_credits + l.amount_credits = l.balance_after_credits)",
            )
            .await;
        assert_eq!(gapless, Vec::<String>::new());
        for (of, calls, held) in [(&shop, 20, 0), (&other, 9, 10)] {
            let day = of.store.usage(of.account, 0, i32::MAX).await.unwrap()[0];
            assert_eq!((day.calls, day.conversations, day.duration_seconds), (calls, calls, calls * 42));
            assert_eq!(of.wallet().await, (1_000 - day.credits, held));
        }
        let waiting = "deliveries d JOIN events e ON e.id = d.event_id JOIN deliveries f ON f.id = d.waits_for \
                       JOIN events g ON g.id = f.event_id WHERE g.conversation_id = e.conversation_id";
        assert_eq!(raw.count(waiting).await, 20);
    }

    async fn what_a_call_was_about_is_kept_without_its_nul(store: Store) {
        let shop = Shop::new(&store).await;
        let (id, claim) = shop.closing(node()).await;
        let told = Settlement {
            summary: "They\0 agreed.\0".to_owned(),
            ..settlement(CallState::Completed, 7)
        };
        let settled = store.settle_call((shop.account, id, claim), told).await;
        assert!(settled.unwrap().is_some());
        let call = shop.conversation(id).await;
        assert_eq!((call.state, call.summary.as_deref()), (CallState::Completed, Some("They agreed.")));
    }

    async fn a_failed_call_that_was_never_answered_costs_nothing(database: TestDatabase) {
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        let (id, claim) = shop.dialing(node()).await;
        let busy = CallEnd {
            outcome: CallOutcome::Failed(FailureReason::Busy),
            duration_seconds: 0,
            latency: None,
            ..end()
        };
        store.close_call(id, claim, busy).await.unwrap();
        let settled = store
            .settle_call((shop.account, id, claim), settlement(CallState::Failed, 0))
            .await;
        assert_eq!(settled.unwrap(), Some(vec![]));
        let call = shop.conversation(id).await;
        assert_eq!((call.state, call.status), (CallState::Failed, ConversationStatus::Failed));
        assert_eq!((call.failure_reason, call.termination_reason), (Some(FailureReason::Busy), None));
        assert_eq!(call.answered_at, None);
        assert_eq!(shop.wallet().await, (1_000, 0));
        assert_eq!(Raw::open(&database).await.count("ledger").await, 1);
    }

    async fn settling_moves_the_keys_budget_from_held_to_spent(database: TestDatabase) {
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        let mut call = shop.call(crate::it::shop::T0);
        call.key_budget = Some(100);
        let id = call.id;
        store.place_call(call).await.unwrap();
        let mut raw = Raw::open(&database).await;
        raw.run("UPDATE api_keys SET monthly_credit_budget = 100").await;
        let budget = "SELECT CAST(spent AS TEXT) || ' ' || CAST(reserved AS TEXT) AS line FROM key_budgets";
        assert_eq!(raw.line(budget).await, "0 10");
        let claim = shop.claim_at(5, node(), crate::it::shop::T0).await[0].claim_id.unwrap();
        assert!(top_up(&store, id, 5).await);
        assert_eq!(raw.line(budget).await, "0 15");
        assert!(!top_up(&store, id, 86).await, "beyond the key's budget");
        assert!(!top_up(&store, id, 2_000).await, "beyond the wallet");
        assert_eq!(raw.line(budget).await, "0 15");
        assert_eq!(shop.wallet().await, (1_000, 15));

        store.call_answered(id, claim, after(3), None).await.unwrap();
        store.close_call(id, claim, end()).await.unwrap();
        store
            .settle_call((shop.account, id, claim), settlement(CallState::Completed, 12))
            .await
            .unwrap();
        assert_eq!(raw.line(budget).await, "12 0");
        assert_eq!(shop.wallet().await, (988, 0));
        assert!(!top_up(&store, id, 1).await, "a settled call holds nothing more");
        assert_eq!(shop.wallet().await, (988, 0));
    }

    async fn a_call_has_one_terminal_event_and_one_debit(database: TestDatabase) {
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        let (id, claim) = shop.closing(node()).await;
        store
            .settle_call((shop.account, id, claim), settlement(CallState::Completed, 1))
            .await
            .unwrap();
        let mut raw = Raw::open(&database).await;
        let (account, call, now) = (raw.id(shop.account.uuid()), raw.id(id.uuid()), raw.at(after(50)));
        let fresh = raw.id(node().uuid());
        for kind in ["call.failed", "call.initiated"] {
            let second = format!("INSERT INTO events VALUES ({fresh}, {account}, {call}, '{kind}', '', {now})");
            // STRICT tables of SQLite only accept a body as bytes.
            let second = if store.is_embedded() { second.replace("''", "x''") } else { second };
            let refused = raw.try_run(&second).await.unwrap_err();
            assert!(refused.to_lowercase().contains("unique"), "{refused}");
        }
        let second = format!(
            "INSERT INTO ledger VALUES ({fresh}, {account}, 9, 'debit', -1, 0, '', {call}, {now}, NULL)"
        );
        let refused = raw.try_run(&second).await.unwrap_err();
        assert!(refused.to_lowercase().contains("unique"), "{refused}");
    }

    async fn of_parallel_settlements_one_counts(store: Store) {
        let shop = Shop::new(&store).await;
        let (id, claim) = shop.closing(node()).await;
        let settled = race(8, |_| {
            let (store, call) = (store.clone(), (shop.account, id, claim));
            async move { store.settle_call(call, settlement(CallState::Completed, 3)).await.unwrap() }
        });
        assert_eq!(settled.await.iter().flatten().count(), 1);
        assert_eq!(shop.wallet().await, (997, 0));
    }

    async fn an_event_goes_to_each_enabled_endpoint_and_waits_for_the_first_of_its_call(database: TestDatabase) {
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        let early = shop.endpoint().await;
        let (id, claim) = shop.closing(node()).await;
        let late = shop.endpoint().await;
        let off = shop.endpoint().await;
        let disabled = offhook_storage::EndpointChange {
            status: Some(offhook_storage::EndpointStatus::Disabled),
            ..Default::default()
        };
        store.change_endpoint(shop.account, off, disabled, after(1)).await.unwrap();
        let gone = shop.endpoint().await;
        assert!(store.delete_endpoint(shop.account, gone, after(1)).await.unwrap());

        let settled = store
            .settle_call((shop.account, id, claim), settlement(CallState::Completed, 0))
            .await;
        let mut told = settled.unwrap().unwrap();
        told.sort_unstable();
        let mut expected = vec![early, late];
        expected.sort_unstable();
        assert_eq!(told, expected);
        let terminal = DeliveryFilter { kind: Some(EventType::CallCompleted), ..Default::default() };
        let deliveries = store.deliveries(shop.account, terminal, None, 10).await.unwrap();
        assert_eq!(deliveries.len(), 2);
        let mut raw = Raw::open(&database).await;
        assert_eq!(raw.count("deliveries WHERE waits_for IS NOT NULL").await, 1);
        assert_eq!(
            raw.count(
                "deliveries d JOIN deliveries first ON d.waits_for = first.id \
                 AND first.event_type = 'call.initiated' AND first.endpoint_id = d.endpoint_id"
            )
            .await,
            1
        );
    }
}
