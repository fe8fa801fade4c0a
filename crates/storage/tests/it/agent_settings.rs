//! Settings of versions, what agents remember of callers, and context URLs.

use offhook_domain::{CallState, ContextResult, Price};
use offhook_storage::{AgentChange, ContextNote, Publication, Store};
use offhook_testkit::contract;

use crate::it::shop::{CUSTOMER, Shop, T0, after, node, phone, within};

fn change(head: i32, settings: Option<&str>) -> AgentChange {
    AgentChange {
        head_version: head,
        name: None,
        language: None,
        status: None,
        config: Some("{}".to_owned()),
        settings: settings.map(str::to_owned),
        at: after(1),
    }
}

contract! {
    async fn a_version_keeps_its_settings_and_the_next_one_takes_them_over(store: Store) {
        let shop = Shop::new(&store).await;
        let of = |version| store.settings_of_version(shop.account, shop.agent, version);
        assert_eq!(of(1).await.unwrap(), (None, None));
        let set = r#"{"time_zone":"Asia/Tokyo"}"#;
        for change in [change(1, Some(set)), change(2, None), change(3, Some("{}"))] {
            store.change_agent(shop.account, shop.agent, change).await.unwrap().unwrap();
        }
        let publication = Publication {
            version: 3,
            statuses: (offhook_domain::AgentStatus::Active, offhook_domain::AgentStatus::Active),
            note: None,
            tools: Vec::new(),
            knowledge: (Vec::new(), Vec::new()),
            at: after(2),
        };
        store.publish_agent(shop.account, shop.agent, publication).await.unwrap().unwrap();
        store.set_time_zone(shop.account, "Europe/Madrid".to_owned()).await.unwrap();
        let zone = || Some("Europe/Madrid".to_owned());
        assert_eq!(of(1).await.unwrap(), (None, zone()));
        assert_eq!(of(3).await.unwrap(), (Some(set.to_owned()), zone()));
        let (agent, head) = store.agent_with_settings(shop.account, shop.agent).await.unwrap().unwrap();
        assert_eq!((agent.head_version, head.as_deref()), (4, Some("{}")));
        let stranger = Shop::new(&store).await;
        assert!(store.agent_with_settings(stranger.account, shop.agent).await.unwrap().is_none());
    }

    async fn a_secret_is_the_agents_own_and_a_note_is_written_once(store: Store) {
        let shop = Shop::new(&store).await;
        let stranger = Shop::new(&store).await;
        assert!(!store.set_agent_secret(stranger.account, shop.agent, "theirs").await.unwrap());
        assert_eq!(store.agent_secret(shop.agent).await.unwrap(), None);
        for secret in ["first", "second"] {
            assert!(store.set_agent_secret(shop.account, shop.agent, secret).await.unwrap());
            assert_eq!(store.agent_secret(shop.agent).await.unwrap().as_deref(), Some(secret));
        }
        let mut new = shop.beginning(offhook_domain::Channel::Phone, T0);
        new.reserve = 0;
        let call = shop.begin_spoken(new, (5, node())).await.unwrap();
        let note = |detail: &str| ContextNote {
            conversation_id: call.id,
            at: T0,
            took_ms: 7,
            result: ContextResult::Answered,
            detail: detail.to_owned(),
        };
        for detail in ["once", "twice"] {
            store.note_context(note(detail)).await.unwrap();
        }
        assert_eq!(store.context_note(call.id).await.unwrap(), Some(note("once")));
        let ids = vec![(call.id, false)];
        store.delete_conversations(shop.account, ids).await.unwrap();
        assert_eq!(store.context_note(call.id).await.unwrap(), None);
    }

    async fn a_call_changes_its_agent_only_under_its_claim_and_before_the_answer(store: Store) {
        let shop = Shop::new(&store).await;
        let other = Shop::new(&store).await.agent;
        let new = shop.beginning(offhook_domain::Channel::Phone, T0);
        let call = shop.begin_spoken(new, (5, node())).await.unwrap();
        let claim = call.claim_id.unwrap();
        let price = Price::from_millicredits_per_minute(7_000);
        let hand = async |claim| within(&store, move |mut tx| {
            Box::pin(async move { tx.hand_call_to((call.id, claim), (other, 9), price).await })
        }).await;
        assert!(!hand(offhook_storage::mint(T0)).await);
        assert!(hand(claim).await);
        let row = shop.conversation(call.id).await;
        assert_eq!((row.agent_id, row.agent_version, row.price()), (other, 9, price));
        assert_eq!((row.agent_ref, row.state), (other.to_string(), CallState::Dialing));
        store.call_answered(call.id, claim, after(1), None).await.unwrap();
        assert!(!hand(claim).await);
    }

    async fn nothing_is_remembered_of_a_caller_without_a_summary(store: Store) {
        let shop = Shop::new(&store).await;
        let of = (shop.account, shop.agent);
        let mut new = shop.beginning(offhook_domain::Channel::Phone, T0);
        new.from = Some(phone(CUSTOMER));
        shop.begin_spoken(new, (5, node())).await.unwrap();
        let found = store.earlier_summaries(of, phone(CUSTOMER), None, 5).await.unwrap();
        assert!(found.is_empty());
        assert_eq!(store.forget_caller(of, phone(CUSTOMER)).await.unwrap(), 1);
        assert_eq!(store.forget_caller(of, phone(CUSTOMER)).await.unwrap(), 0);
    }
}
