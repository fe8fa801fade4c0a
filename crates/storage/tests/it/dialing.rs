//! Suppressed numbers, and queued calls that a rule refuses.

use futures_util::future::join_all;
use offhook_domain::{CallState, DialRule, Timestamp};
use offhook_storage::{
    Candidate, DialFacts, Dialing, NewCall, Store, Suppression, SuppressionFilter, mint,
};
use offhook_testkit::{TestDatabase, contract};

use crate::it::shop::{MINUTE, Shop, T0, after, node};

/// Refuses what is suppressed.
fn suppressed(
    _: &Dialing,
    facts: DialFacts,
    calls: &[Candidate],
    _: Timestamp,
) -> offhook_storage::Result<Vec<Option<DialRule>>> {
    let refused = |call: &Candidate| facts.suppressed.contains_key(&call.to);
    let rule = |call| refused(call).then_some(DialRule::SuppressionList);
    Ok(calls.iter().map(rule).collect())
}

fn suppression(shop: &Shop, number: &str, at: Timestamp) -> Suppression {
    Suppression {
        id: mint(at),
        account_id: shop.account,
        number: number.parse().unwrap(),
        reason: "asked".to_owned(),
        source: offhook_domain::SuppressionSource::Customer,
        until: None,
        conversation_id: None,
        created_at: at,
    }
}

async fn claim(shop: &Shop, store: &Store) -> offhook_storage::Claimed {
    let by = (node(), mint(T0));
    let claimed = store.claim_calls(
        shop.account,
        (1_000, 10),
        2 * MINUTE,
        by,
        (T0, T0),
        suppressed,
    );
    claimed.await.unwrap()
}

contract! {
    async fn a_suppressed_number_is_not_claimed_and_another_accounts_list_does_not_count(store: Store) {
        let (shop, other) = (Shop::new(&store).await, Shop::new(&store).await);
        let id = shop.place(T0).await;
        let to = shop.call(T0).to;
        assert_eq!(store.suppress(other.account, vec![suppression(&other, to.as_str(), T0)]).await.unwrap(), []);
        assert_eq!(store.suppress(shop.account, vec![suppression(&shop, to.as_str(), T0)]).await.unwrap(), []);
        let claimed = claim(&shop, &store).await;
        assert_eq!(claimed.calls.len(), 0);
        assert_eq!(claimed.refused, [(id, DialRule::SuppressionList)]);
        assert_eq!(shop.conversation(id).await.state, CallState::Queued);

        let listed = store.suppressions(shop.account, SuppressionFilter::default(), None, 10).await.unwrap();
        assert_eq!(listed, [suppression_of(&listed[0], &shop, to.as_str())]);
        assert!(!store.delete_suppression(other.account, listed[0].id).await.unwrap(), "it is not theirs");
        assert!(store.delete_suppression(shop.account, listed[0].id).await.unwrap());
        assert_eq!(claim(&shop, &store).await.calls.len(), 1);
    }

    async fn a_number_is_on_the_list_once_and_its_calls_that_are_being_dialed_are_hung_up(store: Store) {
        let shop = Shop::new(&store).await;
        let (dialing, _) = shop.dialing(node()).await;
        let (live, _) = shop.live(node()).await;
        let to = shop.call(T0).to;
        let hung = store.suppress(shop.account, vec![suppression(&shop, to.as_str(), T0)]).await.unwrap();
        assert_eq!(hung, [dialing]);
        assert!(shop.conversation(dialing).await.hangup_requested);
        assert!(!shop.conversation(live).await.hangup_requested);
        let mut again = suppression(&shop, to.as_str(), after(1));
        again.reason = "again".to_owned();
        again.until = Some(after(60));
        store.suppress(shop.account, vec![again]).await.unwrap();
        let listed = store.suppressions(shop.account, SuppressionFilter::default(), None, 10).await.unwrap();
        assert_eq!((listed.len(), listed[0].reason.as_str(), listed[0].until), (1, "again", Some(after(60))));
        let dialing = Dialing { rules: None, has_suppressions: true };
        let facts = |at| store.dial_facts(shop.account, dialing.clone(), vec![to.clone()], at);
        assert_eq!(facts(after(59)).await.unwrap().suppressed.len(), 1);
        assert_eq!(facts(after(60)).await.unwrap().suppressed.len(), 0, "its time is over");
    }

    async fn attempts_are_the_dialed_calls_of_seven_days(store: Store) {
        let shop = Shop::new(&store).await;
        let to = shop.call(T0).to;
        shop.dialing(node()).await;
        shop.place(after(1)).await;
        let rules = r#"{"attempts_per_day":5,"daily_credits":1000}"#.to_owned();
        let dialing = Dialing { rules: Some(rules), has_suppressions: false };
        let facts = |at| store.dial_facts(shop.account, dialing.clone(), vec![to.clone()], at);
        let known = facts(after(10)).await.unwrap();
        assert_eq!(known.attempts.get(&to), Some(&vec![T0]), "a queued call is none");
        assert_eq!(known.reserved, shop.call(T0).reserve);
        let week = 7 * 24 * 60 * MINUTE;
        assert_eq!(facts(T0.plus(week)).await.unwrap().attempts.len(), 0);
    }

    async fn no_claim_is_committed_after_an_opt_out_and_what_was_claimed_before_is_hung_up(database: TestDatabase) {
        let (first, second) = (database.open().await, database.open().await);
        let shop = Shop::with_credits(&first, 100_000).await;
        for round in 0..30 {
            let number = format!("+52155000{round:05}");
            let (live, _) = shop.live(node()).await;
            for _ in 0..3 {
                let call = NewCall { to: number.parse().unwrap(), ..shop.call(T0) };
                first.place_call(call).await.unwrap();
            }
            let mut opt_out = suppression(&shop, &number, T0);
            opt_out.conversation_id = Some(live);
            let claims = join_all([&first, &second].map(|store| claim(&shop, store)));
            let (claims, opted) = tokio::join!(claims, second.opt_out(opt_out, None));
            let claimed = claims.into_iter().flat_map(|claims| claims.calls);
            let mut claimed: Vec<_> = claimed.filter(|call| call.to_number == Some(number.parse().unwrap())).map(|call| call.id).collect();
            let mut hung = opted.unwrap().dialing;
            claimed.sort_unstable();
            hung.sort_unstable();
            assert_eq!(claimed, hung, "each claim came before the opt-out, which saw it");
            assert!(shop.conversation(live).await.line.allowed.opted_out);
            assert_eq!(claim(&shop, &first).await.calls.len(), 0);
        }
    }
}

fn suppression_of(listed: &Suppression, shop: &Shop, number: &str) -> Suppression {
    Suppression {
        id: listed.id,
        ..suppression(shop, number, T0)
    }
}
