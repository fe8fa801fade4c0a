//! Webhook reports of the legacy agents' provider: stored once, before or after its call id is known, and only for
//! the account's own calls.

use offhook_domain::{CallOutcome, ClaimId, ConversationId, FailureReason, Runtime};
use offhook_storage::{CallEnd, Fenced, LegacyReport, NewCall, Store, mint};
use offhook_testkit::contract;

use crate::it::shop::{Shop, T0, after, end, node, turn};

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
        // Afterward, by the call itself. A later report of an end removes nothing, and the first reason stays.
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

    async fn what_was_said_is_replaced_in_its_places_under_the_claim_alone(store: Store) {
        let shop = Shop::new(&store).await;
        let (id, claim) = dialing(&shop).await;
        let replace = async |claim: ClaimId, words: &[(&'static str, &str)]| {
            let turns = words.iter().map(|(role, text)| turn(role, text)).collect();
            store.replace_turns(id, claim, turns).await.unwrap()
        };
        assert_eq!(replace(claim, &[("agent", "Hello.")]).await, Fenced::Lost, "nobody has answered");
        assert_eq!(store.call_answered(id, claim, after(3), None).await.unwrap(), Fenced::Done);
        for text in ["Hello.", "Well"] {
            assert_eq!(store.append_turn(id, claim, turn("agent", text)).await.unwrap(), Fenced::Done);
        }
        assert_eq!(replace(mint(T0), &[("agent", "Hello.")]).await, Fenced::Lost, "another owner's");
        let first = shop.conversation(id).await.last_seq - 1;
        for (words, expected) in [
            (&[("agent", "Hello."), ("user", "H\0i."), ("tool", "look")][..], &[(first, "Hello."), (first + 1, "Hi."), (first + 2, "look")][..]),
            (&[("user", "Hi.")][..], &[(first, "Hi.")][..]),
            (&[("user", "Hi."), ("agent", "Bye.")][..], &[(first, "Hi."), (first + 3, "Bye.")][..]),
        ] {
            assert_eq!(replace(claim, words).await, Fenced::Done);
            let turns = store.turns(id, 0, 10).await.unwrap();
            let said: Vec<_> = turns.iter().map(|turn| (turn.seq, turn.content.as_deref().unwrap())).collect();
            assert_eq!(said, expected);
            let spoken = words.iter().filter(|(role, _)| *role != "tool").count();
            assert_eq!(shop.conversation(id).await.messages_count, i32::try_from(spoken).unwrap());
        }
        assert_eq!(store.append_turn(id, claim, turn("agent", "So.")).await.unwrap(), Fenced::Done, "its place is free");
        let failed = CallEnd { outcome: CallOutcome::Failed(FailureReason::AgentError), ..end() };
        assert_eq!(store.close_call(id, claim, failed).await.unwrap(), Fenced::Done);
        assert_eq!(replace(claim, &[("agent", "Hello.")]).await, Fenced::Lost, "it is being closed");
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
