//! What providers are handed of batches: a call is handed over once, under its claim, and can be told by its slice.

use offhook_domain::{ClaimId, ConversationId, Price, RecipientStatus};
use offhook_storage::{
    Batch, BatchLook, BatchStep, Conversation, NewBatch, NewRecipient, Slice, Store, mint,
};
use offhook_testkit::contract;

use crate::shop::{OURS, Shop, T0, after, end, node, phone};

/// A batch whose calls are claimed.
async fn claimed(shop: &Shop, total: i32) -> (Batch, Vec<Conversation>) {
    let batch = Batch {
        id: mint(T0),
        account_id: shop.account,
        name: "Spring".to_owned(),
        agent_id: shop.agent,
        phone_number_id: None,
        key_id: Some(shop.key),
        status: offhook_domain::BatchStatus::Running,
        paused_reason: None,
        scheduled_at: None,
        total,
        pending: total,
        dialing: 0,
        completed: 0,
        failed: 0,
        cancelled: 0,
        created_at: T0,
        started_at: Some(T0),
        ended_at: None,
    };
    let recipients = (0..total).map(|number| NewRecipient {
        id: mint(T0),
        to: phone(&format!("+52155{number:08}")),
        metadata: "{}".to_owned(),
    });
    let new = NewBatch {
        batch: batch.clone(),
        recipients: recipients.collect(),
        idempotency: None,
    };
    shop.store.create_batch(new).await.unwrap();
    let look = BatchLook {
        at: after(1),
        steady: after(1),
        calls_at_most: 100,
        most: 50,
        price: Price::from_millicredits_per_minute(1_000),
        reserve: 10,
        shared_number: Some(phone(OURS)),
        legacy_any: true,
        next: after(2),
        later: after(30),
    };
    let looked = shop.store.look_at_batch(shop.account, batch.id, look);
    assert_eq!(looked.await.unwrap(), usize::try_from(total).unwrap());
    let calls = shop.claim_at(100, node(), after(1)).await;
    assert_eq!(calls.len(), usize::try_from(total).unwrap());
    (batch, calls)
}

fn slice(batch: &Batch) -> Slice {
    Slice {
        id: mint(after(2)),
        batch_id: batch.id,
        provider_batch_id: None,
        created_at: after(2),
    }
}

fn claims(calls: &[Conversation]) -> Vec<(ConversationId, ClaimId)> {
    calls
        .iter()
        .map(|call| (call.id, call.claim_id.unwrap()))
        .collect()
}

fn sorted(mut ids: Vec<ConversationId>) -> Vec<ConversationId> {
    ids.sort_unstable();
    ids
}

contract! {
    async fn a_call_is_told_by_its_batch_and_a_single_one_has_none(store: Store) {
        let shop = Shop::new(&store).await;
        let (batch, calls) = claimed(&shop, 3).await;
        let single = shop.place(after(2)).await;
        let mut ids: Vec<_> = calls.iter().map(|call| call.id).collect();
        ids.push(single);
        let mut of = store.batches_of_calls(&ids).await.unwrap();
        of.sort_unstable();
        let mut expected: Vec<_> = calls.iter().map(|call| (call.id, batch.id)).collect();
        expected.sort_unstable();
        assert_eq!(of, expected);
        assert_eq!(store.batches_of_calls(&[single]).await.unwrap(), Vec::new());
        assert_eq!(store.batches_of_calls(&[]).await.unwrap(), Vec::new());
    }

    async fn a_call_is_in_one_slice_at_most(store: Store) {
        let shop = Shop::new(&store).await;
        let (batch, calls) = claimed(&shop, 5).await;
        let all = claims(&calls);
        let (first, second) = (slice(&batch), slice(&batch));
        let opened = store.open_slice(shop.account, first.clone(), &all[..3]).await.unwrap();
        assert_eq!(sorted(opened), sorted(all[..3].iter().map(|(id, _)| *id).collect()));
        // Two of the five are left.
        let opened = store.open_slice(shop.account, second.clone(), &all).await.unwrap();
        assert_eq!(sorted(opened), sorted(all[3..].iter().map(|(id, _)| *id).collect()));
        assert_eq!(store.open_slice(shop.account, slice(&batch), &all).await.unwrap(), Vec::new());
        for (number, (id, _)) in all.iter().enumerate() {
            let expected = if number < 3 { &first } else { &second };
            assert_eq!(store.slice_of_call(*id).await.unwrap().as_ref(), Some(expected));
        }
        assert_eq!(first.name(), format!("{}/{}", batch.id, first.id));
    }

    async fn a_call_is_in_a_slice_only_under_its_claim(store: Store) {
        let shop = Shop::new(&store).await;
        let (batch, calls) = claimed(&shop, 4).await;
        let mut all = claims(&calls);
        // One has ended since, and one is another owner's.
        shop.store.close_call(all[0].0, all[0].1, end()).await.unwrap();
        all[1].1 = mint(after(3));
        let opened = store.open_slice(shop.account, slice(&batch), &all).await.unwrap();
        assert_eq!(sorted(opened), sorted(vec![all[2].0, all[3].0]));
        for (id, _) in &all[..2] {
            assert_eq!(store.slice_of_call(*id).await.unwrap(), None);
        }
        let stranger = Shop::new(&store).await;
        let (batch, calls) = claimed(&shop, 2).await;
        let opened = store.open_slice(stranger.account, slice(&batch), &claims(&calls)).await;
        assert_eq!(opened.unwrap(), Vec::new());
    }

    async fn one_call_alone_is_no_slice(store: Store) {
        let shop = Shop::new(&store).await;
        let (batch, calls) = claimed(&shop, 1).await;
        let opened = store.open_slice(shop.account, slice(&batch), &claims(&calls)).await;
        assert_eq!(opened.unwrap(), Vec::new());
        assert_eq!(store.slice_of_call(calls[0].id).await.unwrap(), None);
    }

    async fn the_providers_id_is_written_once_and_a_slice_that_it_did_not_take_is_forgotten(store: Store) {
        let shop = Shop::new(&store).await;
        let (batch, calls) = claimed(&shop, 4).await;
        let all = claims(&calls);
        let (taken, refused) = (slice(&batch), slice(&batch));
        store.open_slice(shop.account, taken.clone(), &all[..2]).await.unwrap();
        store.open_slice(shop.account, refused.clone(), &all[2..]).await.unwrap();
        store.slice_submitted(taken.id, "btc_1").await.unwrap();
        store.slice_submitted(taken.id, "btc_2").await.unwrap();
        store.withdraw_slice(refused.id).await.unwrap();
        let known = Slice { provider_batch_id: Some("btc_1".to_owned()), ..taken };
        assert_eq!(store.slice_of_call(all[0].0).await.unwrap(), Some(known));
        assert_eq!(store.slice_of_call(all[2].0).await.unwrap(), None);
        // They may be handed over again.
        let again = slice(&batch);
        let opened = store.open_slice(shop.account, again, &all[2..]).await.unwrap();
        assert_eq!(opened.len(), 2);
        // The batch's own rows know nothing of it.
        let rows = store.batch_recipients(shop.account, batch.id, Some(RecipientStatus::Dialing), None, 10);
        assert_eq!(rows.await.unwrap().unwrap().len(), 4);
        let step = store.step_batch(shop.account, batch.id, BatchStep::Cancel, after(9)).await;
        assert!(step.is_ok());
    }
}
