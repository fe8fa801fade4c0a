//! Analyses of conversations: requested with the end, claimed once settled, finished once.

use std::time::Duration;

use offhook_domain::{AnalysisStatus, CallOutcome, CallState, ConversationId, FailureReason};
use offhook_storage::{Analysis, AnalysisEnd, AnalysisJob, AnalysisSchema, CallEnd, Fenced, Store};
use offhook_testkit::{TestDatabase, contract};

use crate::it::raw::Raw;
use crate::it::shop::{Shop, T0, after, end, node, pass, settlement};

const FIRST: &str = r#"{"title": "first"}"#;
const SECOND: &str = r#"{"title":  "second"}"#;

async fn set(shop: &Shop, definition: Option<&str>, seconds: u64) -> AnalysisSchema {
    let definition = definition.map(str::to_owned);
    let set = shop
        .store
        .set_analysis_schema(shop.account, shop.agent, definition, after(seconds));
    set.await.unwrap().unwrap().unwrap()
}

/// An answered, ended and settled call.
async fn ended(shop: &Shop) -> ConversationId {
    let (id, claim) = shop.closing(node()).await;
    settle(shop, id, claim).await;
    id
}

async fn settle(shop: &Shop, id: ConversationId, claim: offhook_domain::ClaimId) {
    let settled = settlement(CallState::Completed, 7);
    let call = (shop.account, id, claim);
    assert!(
        shop.store
            .settle_call(call, settled)
            .await
            .unwrap()
            .is_some()
    );
}

async fn claim(store: &Store) -> Option<AnalysisJob> {
    store.claim_analysis(vec![], T0).await.unwrap()
}

async fn analysis(shop: &Shop, id: ConversationId) -> Option<Analysis> {
    shop.store.analysis(shop.account, id).await.unwrap()
}

fn pending() -> Analysis {
    Analysis {
        status: AnalysisStatus::Pending,
        data: None,
        error: None,
        completed_at: None,
    }
}

fn completed() -> AnalysisEnd {
    AnalysisEnd::Completed(r#"{"b": 1.50, "a": null}"#.to_owned())
}

contract! {
    async fn a_schema_is_what_was_set_last_and_another_accounts_agent_has_none(store: Store) {
        let shop = Shop::new(&store).await;
        let other = Shop::new(&store).await;
        assert_eq!(store.analysis_schema(shop.agent).await.unwrap(), None);
        let nothing = store.set_analysis_schema(shop.account, shop.agent, None, after(1)).await;
        assert_eq!(nothing.unwrap(), Some(None));
        assert_eq!(store.analysis_schema(shop.agent).await.unwrap(), None, "nothing was changed");

        let first = set(&shop, Some(FIRST), 2).await;
        assert_eq!(first, AnalysisSchema { definition: Some(FIRST.to_owned()), created_at: after(2) });
        assert_eq!(set(&shop, Some(FIRST), 3).await, first);
        let cleared = set(&shop, None, 4).await;
        assert_eq!(cleared, AnalysisSchema { definition: None, created_at: after(4) });
        assert_eq!(store.analysis_schema(shop.agent).await.unwrap(), Some(cleared));
        let second = set(&shop, Some(SECOND), 5).await;
        assert_eq!(store.analysis_schema(shop.agent).await.unwrap(), Some(second));
        let foreign = store.set_analysis_schema(other.account, shop.agent, None, T0).await.unwrap();
        assert_eq!(foreign, None);
        assert_eq!(store.analysis_schema(other.agent).await.unwrap(), None);
    }

    async fn an_analysis_is_ordered_by_the_schema_of_the_end_and_claimed_once_that_is_settled(store: Store) {
        let shop = Shop::new(&store).await;
        let without = ended(&shop).await;
        set(&shop, Some(FIRST), 1).await;
        let (unanswered, dialing) = shop.dialing(node()).await;
        let busy = CallEnd { outcome: CallOutcome::Failed(FailureReason::Busy), ..end() };
        store.close_call(unanswered, dialing, busy).await.unwrap();
        let (id, closing) = shop.closing(node()).await;
        set(&shop, Some(SECOND), 2).await;
        assert_eq!(analysis(&shop, without).await, None);
        assert_eq!(analysis(&shop, unanswered).await, None);
        assert_eq!(analysis(&shop, id).await, Some(pending()));
        assert_eq!(claim(&store).await, None, "its end is not settled");
        settle(&shop, id, closing).await;
        let job = claim(&store).await.unwrap();
        assert_eq!((job.conversation, job.account, job.tries), (id, shop.account, 1));
        assert_eq!(job.definition.as_deref(), Some(FIRST));
        assert_eq!(claim(&store).await, None, "it is somebody's");
        // Another account has no such conversation.
        let other = Shop::new(&store).await;
        assert_eq!(store.analysis(other.account, id).await.unwrap(), None);

        assert_eq!(store.finish_analysis(job.clone(), completed(), after(60)).await.unwrap(), Fenced::Done);
        let made = Analysis {
            status: AnalysisStatus::Completed,
            data: Some(r#"{"b": 1.50, "a": null}"#.to_owned()),
            error: None,
            completed_at: Some(after(60)),
        };
        assert_eq!(analysis(&shop, id).await, Some(made.clone()));
        let again = AnalysisEnd::Failed("No.".to_owned());
        assert_eq!(store.finish_analysis(job.clone(), again, after(61)).await.unwrap(), Fenced::Lost);
        assert_eq!(store.renew_analysis(job).await.unwrap(), Fenced::Lost);
        assert_eq!(analysis(&shop, id).await, Some(made));
        assert_eq!(claim(&store).await, None);
    }

    async fn a_claim_that_is_not_renewed_is_anothers_after_its_lease(store: Store) {
        let shop = Shop::new(&store).await;
        set(&shop, Some(FIRST), 1).await;
        let id = ended(&shop).await;
        let first = claim(&store).await.unwrap();
        pass(&store, 30);
        assert_eq!(store.renew_analysis(first.clone()).await.unwrap(), Fenced::Done);
        pass(&store, 60);
        assert_eq!(claim(&store).await, None);
        pass(&store, 90);
        let second = claim(&store).await.unwrap();
        assert_eq!((second.conversation, second.tries), (id, 2));
        assert_eq!(store.renew_analysis(first.clone()).await.unwrap(), Fenced::Lost);
        assert_eq!(store.finish_analysis(first.clone(), completed(), T0).await.unwrap(), Fenced::Lost);
        store.release_analysis(first, None).await.unwrap();
        assert_eq!(claim(&store).await, None, "a claim that is gone gives nothing back");
        let no = AnalysisEnd::Failed("No.".to_owned());
        assert_eq!(store.finish_analysis(second, no, after(1)).await.unwrap(), Fenced::Done);
        let failed = Analysis {
            status: AnalysisStatus::Failed,
            data: None,
            error: Some("No.".to_owned()),
            completed_at: Some(after(1)),
        };
        assert_eq!(analysis(&shop, id).await, Some(failed));
    }

    async fn what_is_given_back_rests_as_long_as_was_said_or_was_never_tried(store: Store) {
        let shop = Shop::new(&store).await;
        set(&shop, Some(FIRST), 1).await;
        ended(&shop).await;
        let job = claim(&store).await.unwrap();
        store.release_analysis(job, None).await.unwrap();
        let job = claim(&store).await.unwrap();
        assert_eq!(job.tries, 1);
        store.release_analysis(job, Some(Duration::from_secs(30))).await.unwrap();
        assert_eq!(claim(&store).await, None);
        pass(&store, 31);
        assert_eq!(claim(&store).await.unwrap().tries, 2);
        // A new process on the embedded database takes over at once.
        assert_eq!(store.release_analyses().await.unwrap(), 1);
        assert_eq!(claim(&store).await.unwrap().tries, 3);
    }

    async fn the_oldest_of_accounts_that_are_not_busy_is_claimed_first(store: Store) {
        let (shop, other) = (Shop::new(&store).await, Shop::new(&store).await);
        set(&shop, Some(FIRST), 1).await;
        set(&other, Some(FIRST), 1).await;
        let (first, second) = (ended(&shop).await, ended(&shop).await);
        let theirs = ended(&other).await;
        let busy = vec![shop.account];
        let job = store.claim_analysis(busy.clone(), T0).await.unwrap().unwrap();
        assert_eq!(job.conversation, theirs);
        assert_eq!(store.claim_analysis(busy, T0).await.unwrap(), None);
        let mut mine = [first, second];
        mine.sort_unstable();
        for id in mine {
            assert_eq!(claim(&store).await.unwrap().conversation, id);
        }
    }

    async fn two_that_claim_at_once_never_have_the_same(store: Store) {
        let shop = Shop::new(&store).await;
        set(&shop, Some(FIRST), 1).await;
        for _ in 0..4 {
            ended(&shop).await;
        }
        let claims = futures_util::future::join_all((0..8).map(|_| claim(&store))).await;
        let mut claimed: Vec<_> = claims.into_iter().flatten().map(|job| job.conversation).collect();
        // A claim skips rows that another transaction holds, and may find none.
        while let Some(job) = claim(&store).await {
            claimed.push(job.conversation);
        }
        claimed.sort_unstable();
        let count = claimed.len();
        claimed.dedup();
        assert_eq!((claimed.len(), count), (4, 4));
    }

    async fn schemas_that_were_replaced_go_once_nothing_waits_for_them(database: TestDatabase) {
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        let mut raw = Raw::open(&database).await;
        set(&shop, Some(FIRST), 1).await;
        let id = ended(&shop).await;
        set(&shop, Some(SECOND), 2).await;
        set(&shop, None, 3).await;
        assert_eq!(raw.count("analysis_schemas").await, 3, "they were replaced a moment ago");
        set(&shop, Some(SECOND), 100).await;
        // The first is still needed; the third was in force a minute ago.
        assert_eq!(raw.count("analysis_schemas").await, 3);
        let job = claim(&store).await.unwrap();
        assert_eq!((job.conversation, job.definition.as_deref()), (id, Some(FIRST)));
        store.finish_analysis(job, completed(), after(101)).await.unwrap();
        set(&shop, Some(FIRST), 200).await;
        assert_eq!(raw.count("analysis_schemas").await, 2);
    }

    async fn an_analysis_goes_with_its_conversation(database: TestDatabase) {
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        let mut raw = Raw::open(&database).await;
        set(&shop, Some(FIRST), 1).await;
        let (made, waiting) = (ended(&shop).await, ended(&shop).await);
        let job = claim(&store).await.unwrap();
        store.finish_analysis(job, completed(), T0).await.unwrap();
        let job = claim(&store).await.unwrap();
        assert_eq!(raw.count("conversation_analyses").await, 2);
        let seen = vec![(made, false), (waiting, false)];
        store.delete_conversations(shop.account, seen).await.unwrap();
        assert_eq!(raw.count("conversation_analyses").await, 0);
        assert_eq!(store.renew_analysis(job.clone()).await.unwrap(), Fenced::Lost);
        assert_eq!(store.finish_analysis(job, completed(), T0).await.unwrap(), Fenced::Lost);
        assert_eq!(raw.count("conversation_analyses").await, 0);
    }
}
