//! What the provider of the legacy agents tells of its own accord: once, before or after its id is known, and of the account's
//! own calls alone.

use offhook_domain::{CallOutcome, CallState, ClaimId, ConversationId, FailureReason, Runtime};
use offhook_storage::{CallEnd, Fenced, LegacyReport, NewCall, NewTurn, Store, mint};
use offhook_testkit::contract;

use crate::shop::{Shop, T0, after, end, node, settlement, turn};

const DAY: u64 = 24 * 3_600;

fn report(name: &str, failure: Option<FailureReason>) -> LegacyReport {
    LegacyReport {
        provider_call_id: name.to_owned(),
        conversation: None,
        failure,
    }
}

/// A legacy call that is being dialed.
async fn dialing(shop: &Shop) -> (ConversationId, ClaimId) {
    let call = NewCall {
        runtime: Runtime::Legacy,
        ..shop.call(T0)
    };
    let id = call.id;
    shop.store.place_call(call).await.unwrap();
    let claimed = shop.claim_at(1_000, node(), T0).await;
    let call = claimed.into_iter().find(|call| call.id == id).unwrap();
    (id, call.claim_id.unwrap())
}

contract! {
    async fn a_report_finds_its_call_by_either_name_and_no_other_accounts(store: Store) {
        let (shop, stranger) = (Shop::new(&store).await, Shop::new(&store).await);
        let (id, claim) = dialing(&shop).await;
        let (theirs, their_claim) = dialing(&stranger).await;
        assert_eq!(store.name_legacy_call(id, claim, "conv_1").await.unwrap(), Fenced::Done);
        assert_eq!(store.name_legacy_call(theirs, their_claim, "conv_2").await.unwrap(), Fenced::Done);
        let another: ClaimId = mint(T0);
        assert_eq!(store.name_legacy_call(id, another, "conv_9").await.unwrap(), Fenced::Lost);
        let take = async |report: LegacyReport| store.take_legacy_report(shop.account, &report, T0).await.unwrap();
        assert_eq!(take(report("conv_1", None)).await, Some(id));
        assert_eq!(take(report("conv_1", None)).await, Some(id), "the same again");
        assert_eq!(take(report("conv_2", None)).await, None);
        assert_eq!(take(LegacyReport { conversation: Some(theirs), ..report("conv_3", None) }).await, None);
        assert_eq!(take(LegacyReport { conversation: Some(id), ..report("conv_4", None) }).await, Some(id));
    }

    async fn why_a_call_was_never_begun_is_known_whenever_it_was_told(store: Store) {
        let shop = Shop::new(&store).await;
        let (id, claim) = dialing(&shop).await;
        let failure = async |name: Option<&str>| store.legacy_failure(shop.account, id, name).await.unwrap();
        // Before the provider's id of the call is known here.
        let busy = report("conv_1", Some(FailureReason::Busy));
        assert_eq!(store.take_legacy_report(shop.account, &busy, T0).await.unwrap(), None);
        assert_eq!((failure(None).await, failure(Some("conv_2")).await), (None, None));
        assert_eq!(failure(Some("conv_1")).await, Some(FailureReason::Busy));
        // Afterwards, by the call itself; an end that is told as well takes nothing away, and the first reason stays.
        store.name_legacy_call(id, claim, "conv_3").await.unwrap();
        for told in [
            report("conv_3", None),
            report("conv_3", Some(FailureReason::NoAnswer)),
            report("conv_3", Some(FailureReason::Busy)),
        ] {
            assert_eq!(store.take_legacy_report(shop.account, &told, T0).await.unwrap(), Some(id));
        }
        assert_eq!(failure(None).await, Some(FailureReason::NoAnswer));
    }

    async fn what_was_said_is_attached_once_to_a_call_that_failed_unanswered_and_to_no_other(store: Store) {
        let (shop, stranger) = (Shop::new(&store).await, Shop::new(&store).await);
        let attach = async |shop: &Shop, id: ConversationId, turns: Vec<NewTurn>| {
            let summary = "They spoke.".to_owned();
            store.attach_transcript((shop.account, id), turns, summary).await.unwrap()
        };
        let (id, claim) = dialing(&shop).await;
        assert!(!attach(&shop, id, vec![turn("agent", "Hello.")]).await, "it is under way");
        let failed = CallEnd { outcome: CallOutcome::Failed(FailureReason::CarrierError), ..end() };
        assert_eq!(store.close_call(id, claim, failed).await.unwrap(), Fenced::Done);
        assert!(!attach(&shop, id, vec![turn("agent", "Hello.")]).await, "it is being closed");
        let settled = store.settle_call((shop.account, id, claim), settlement(CallState::Failed, 0));
        assert!(settled.await.unwrap().is_some());
        let before = shop.conversation(id).await;
        assert!(!attach(&stranger, id, vec![turn("agent", "Hello.")]).await, "it is another account's");
        // Tools alone are no message, and something that was said all the same.
        assert!(attach(&shop, id, vec![turn("tool", "look")]).await);
        assert!(!attach(&shop, id, vec![turn("agent", "Hello.")]).await, "once");
        let now = shop.conversation(id).await;
        let fixed = |call: &offhook_storage::Conversation| (call.state, call.failure_reason, call.credits, call.ended_at);
        assert_eq!(fixed(&now), fixed(&before));
        assert_eq!((now.messages_count, now.last_seq), (0, before.last_seq + 1));
        assert_eq!(now.summary.as_deref(), Some("They spoke."));
        let turns = store.turns(id, 0, 10).await.unwrap();
        let said: Vec<_> = turns.iter().map(|turn| (turn.seq, turn.content.as_deref())).collect();
        assert_eq!(said, [(before.last_seq + 1, Some("look"))]);
        // What was answered is known as it was.
        let (answered, claim) = dialing(&shop).await;
        assert_eq!(store.call_answered(answered, claim, after(3), None).await.unwrap(), Fenced::Done);
        let failed = CallEnd { outcome: CallOutcome::Failed(FailureReason::AgentError), ..end() };
        assert_eq!(store.close_call(answered, claim, failed).await.unwrap(), Fenced::Done);
        let settled = store.settle_call((shop.account, answered, claim), settlement(CallState::Failed, 0));
        assert!(settled.await.unwrap().is_some());
        assert!(!attach(&shop, answered, vec![turn("agent", "Hello.")]).await, "it was answered");
    }

    async fn reports_are_forgotten_after_a_day(store: Store) {
        let shop = Shop::new(&store).await;
        for (name, at) in [("conv_1", 0), ("conv_2", 1), ("conv_3", 10)] {
            let told = report(name, Some(FailureReason::Busy));
            store.take_legacy_report(shop.account, &told, after(at)).await.unwrap();
        }
        assert!(!store.delete_old_legacy_reports(after(DAY)).await.unwrap());
        assert!(store.delete_old_legacy_reports(after(DAY + 2)).await.unwrap());
        assert!(!store.delete_old_legacy_reports(after(DAY + 2)).await.unwrap());
        let id = shop.place(T0).await;
        for (name, known) in [("conv_2", None), ("conv_3", Some(FailureReason::Busy))] {
            let failure = store.legacy_failure(shop.account, id, Some(name)).await.unwrap();
            assert_eq!(failure, known, "{name}");
        }
    }
}
