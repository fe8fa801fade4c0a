//! Campaigns: that no recipient is called twice, by however many processes.

use std::collections::HashSet;

use futures_util::future::join_all;
use offhook_domain::{CampaignRecipientStatus, CampaignStatus, Timestamp};
use offhook_storage::{
    Campaign, CampaignRecipientFilter, NewCall, NewCampaignRecipient, Reserve, Store, mint,
};
use offhook_testkit::{TestDatabase, contract};

use crate::it::shop::{Shop, T0, phone, within};

async fn made(shop: &Shop, total: i32) -> Campaign {
    let mut campaign = Campaign {
        status: CampaignStatus::Running,
        started_at: Some(T0),
        ..Campaign::draft((shop.account, mint(T0)), "Summer", shop.agent, T0)
    };
    shop.store.insert_campaign(campaign.clone()).await.unwrap();
    campaign.total = add(&shop.store, &campaign, total).await;
    campaign
}

/// Adds the first recipients; returns how many are new.
async fn add(store: &Store, campaign: &Campaign, total: i32) -> i32 {
    let campaign = campaign.clone();
    let new = (0..total).map(|at| NewCampaignRecipient {
        id: mint(T0),
        number: phone(&format!("+52155{at:08}")),
        name: String::new(),
        variables: r#"{"n":1.0}"#.to_owned(),
        time_zone: None,
        consent: None,
    });
    let new: Vec<_> = new.collect();
    let added = within(store, move |mut tx| {
        Box::pin(async move {
            let mut campaign = tx
                .lock_campaign(campaign.account_id, campaign.id)
                .await?
                .unwrap();
            let added = tx.add_recipients(&campaign, new, T0).await?;
            campaign.total += added;
            campaign.pending += added;
            tx.save_campaign(&campaign, Some(T0)).await?;
            Ok(added)
        })
    });
    added.await
}

/// Calls up to seven recipients.
async fn round(store: &Store, campaign: &Campaign, call: NewCall, at: Timestamp) -> usize {
    let (account, id) = (campaign.account_id, campaign.id);
    let placed = within(store, move |mut tx| {
        Box::pin(async move {
            tx.lock_account(account).await?;
            let mut campaign = tx.lock_campaign(account, id).await?.unwrap();
            let due = tx.recipients_due(id, 7, at).await?;
            let placed = due.len();
            for mut one in due {
                let call = NewCall {
                    id: mint(at),
                    to: one.number.clone(),
                    ..call.clone()
                };
                assert_eq!(tx.try_reserve(&call).await?, Reserve::Held);
                tx.place_reserved(&call).await?;
                one.status = CampaignRecipientStatus::Dialing;
                one.attempts += 1;
                one.conversation_id = Some(call.id);
                tx.save_recipient(&one).await?;
                campaign.pending -= 1;
                campaign.dialing += 1;
            }
            tx.save_campaign(&campaign, Some(at)).await?;
            Ok(placed)
        })
    });
    placed.await
}

contract! {
    async fn rounds_of_two_processes_call_each_recipient_once(database: TestDatabase) {
        let (first, second) = (database.open().await, database.open().await);
        let shop = Shop::with_credits(&first, 100_000).await;
        let campaign = made(&shop, 100).await;
        assert_eq!(add(&second, &campaign, 101).await, 1, "the others are there");
        for _ in 0..10 {
            let rounds = [&first, &second].map(|store| round(store, &campaign, shop.call(T0), T0));
            join_all(rounds).await;
        }
        let filter = CampaignRecipientFilter::default();
        let rows = first.campaign_recipients((shop.account, campaign.id), filter, None, 1_000).await.unwrap().unwrap();
        let calls: HashSet<_> = rows.iter().filter_map(|one| one.conversation_id).collect();
        assert_eq!((rows.len(), calls.len()), (101, 101));
        assert!(rows.iter().all(|one| one.attempts == 1));
        assert_eq!(first.queue_length().await.unwrap(), 101);
        let now = second.campaign(shop.account, campaign.id).await.unwrap().unwrap();
        assert_eq!((now.total, now.pending, now.dialing), (101, 0, 101));
        let filter = CampaignRecipientFilter { status: Some(CampaignRecipientStatus::Pending), outcome: None };
        let none = first.campaign_recipients((shop.account, campaign.id), filter, None, 10).await.unwrap();
        assert_eq!(none, Some(Vec::new()));
    }
}
