//! What came of a conversation, written with its end.

use offhook_domain::{CallOutcome, CallState, Channel, FailureReason, Outcome, TerminationReason};
use offhook_storage::{CallEnd, ChatEnding, ConversationFilter, Signaled, Store};
use offhook_testkit::{TestDatabase, contract};

use crate::it::raw::Raw;
use crate::it::shop::{CANCELLED, Shop, T0, after, end, node, race, settlement, turn};

contract! {
    async fn what_came_of_a_call_is_written_with_its_end_and_finds_it(store: Store) {
        use Outcome::{AnsweredHuman, Busy, Cancelled, Silent, Voicemail};
        let shop = Shop::new(&store).await;
        let voicemail = CallOutcome::Completed(TerminationReason::Voicemail);
        let signaled = Signaled { rang_at: Some(after(2)), carrier_status: Some(486) };
        let busy = CallEnd { outcome: CallOutcome::Failed(FailureReason::Busy), signaled, ..end() };
        let mut ends = Vec::new();
        for (roles, end, state, outcome) in [
            (&["agent", "user"][..], end(), CallState::Completed, AnsweredHuman),
            (&["agent", "tool"], end(), CallState::Completed, Silent),
            (&["user"], CallEnd { outcome: voicemail, ..end() }, CallState::Completed, Voicemail),
            (&[], busy, CallState::Failed, Busy),
        ] {
            let (id, claim) = shop.live(node()).await;
            for role in roles {
                store.append_turn(id, claim, turn(role, "Hola")).await.unwrap();
            }
            ends.push((id, claim, end, state, outcome));
        }
        // At once, as many calls end: on PostgreSQL they share a statement.
        race(ends.len(), |number| {
            let (store, account) = (store.clone(), shop.account);
            let (id, claim, end, state, _) = ends[number].clone();
            async move {
                store.close_call(id, claim, end).await.unwrap();
                store.settle_call((account, id, claim), settlement(state, 0)).await.unwrap().unwrap();
            }
        })
        .await;
        for (id, _, end, _, outcome) in &ends {
            let call = shop.conversation(*id).await;
            assert_eq!((call.outcome(), call.line.signaled), (Some(*outcome), end.signaled));
            let filter = ConversationFilter { outcome: Some(*outcome), ..Default::default() };
            assert_eq!(shop.every(&filter, 10).await, [*id], "{outcome}");
        }

        let queued = shop.place(after(1)).await;
        assert_eq!(shop.conversation(queued).await.outcome(), None);
        let ended = store.end_queued_call((shop.account, queued), CANCELLED, settlement(CallState::Failed, 0));
        ended.await.unwrap().unwrap();
        assert_eq!(shop.conversation(queued).await.outcome(), Some(Cancelled));
    }

    async fn what_came_of_earlier_calls_is_told_by_the_migration(database: TestDatabase) {
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        let voicemail = CallOutcome::Completed(TerminationReason::Voicemail);
        let busy = CallOutcome::Failed(FailureReason::Busy);
        let interrupted = CallOutcome::Failed(FailureReason::Interrupted);
        let mut ended = Vec::new();
        for (role, how, outcome) in [
            ("user", end().outcome, Outcome::AnsweredHuman),
            ("agent", end().outcome, Outcome::Silent),
            ("user", voicemail, Outcome::Voicemail),
            ("agent", busy, Outcome::Busy),
            ("user", interrupted, Outcome::Failed),
        ] {
            let (id, claim) = shop.live(node()).await;
            store.append_turn(id, claim, turn(role, "Hola")).await.unwrap();
            store.close_call(id, claim, CallEnd { outcome: how, ..end() }).await.unwrap();
            let settled = store.settle_call((shop.account, id, claim), settlement(how.state(), 0));
            settled.await.unwrap().unwrap();
            ended.push((id, outcome));
        }
        let (live, _) = shop.live(node()).await;
        let account = shop.account;
        drop((shop, store));
        let mut raw = Raw::open(&database).await;
        raw.run("DROP INDEX conversations_outcome").await;
        raw.run("ALTER TABLE usage_hours DROP COLUMN answered").await;
        for column in ["outcome", "rang_at", "carrier_status"] {
            raw.run(&format!("ALTER TABLE conversations DROP COLUMN {column}")).await;
        }
        raw.run("DELETE FROM __diesel_schema_migrations WHERE version IN ('00000000000120', '00000000000121', '00000000000122')").await;
        let store = database.open().await;
        for (id, outcome) in ended {
            let view = store.conversation(account, id, None).await.unwrap().unwrap();
            assert_eq!(view.conversation.outcome(), Some(outcome));
        }
        let view = store.conversation(account, live, None).await.unwrap().unwrap();
        assert_eq!(view.conversation.line.outcome, None);
    }

    async fn a_chat_in_which_nobody_wrote_is_silent(store: Store) {
        let shop = Shop::new(&store).await;
        let new = shop.beginning(Channel::Chat, T0);
        let id = new.id;
        assert!(shop.begin_text(new, "").await);
        let ending = ChatEnding {
            reason: TerminationReason::CustomerHangup,
            node: node(),
            at: after(4),
            idle_before: None,
        };
        let closing = store.close_chat(id, ending).await.unwrap().unwrap();
        assert!(store.settle_chat(id, closing.claim, String::new(), after(5)).await.unwrap());
        assert_eq!(shop.conversation(id).await.outcome(), Some(Outcome::Silent));
    }
}
