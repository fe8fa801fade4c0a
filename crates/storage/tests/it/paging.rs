//! Lists: by key, each row once, every filter.

use std::collections::HashSet;

use offhook_domain::{Channel, ConversationId, ConversationStatus, E164, Timestamp};
use offhook_storage::{Conversation, ConversationFilter, Store};
use offhook_testkit::{TestDatabase, contract};

use crate::it::raw::Raw;
use crate::it::shop::{CUSTOMER, OURS, Shop, T0, after, new_agent, phone};

const OTHER: &str = "+4915112345678";

/// The filter's meaning, in plain code.
fn shows(filter: &ConversationFilter, row: &Conversation) -> bool {
    let is = |number: &Option<E164>, phone: &E164| number.as_ref() == Some(phone);
    let voice = matches!(row.channel, Some(Channel::Phone | Channel::WidgetVoice));
    (!filter.voice_only || voice)
        && filter.since.is_none_or(|since| row.started_at >= since)
        && filter.until.is_none_or(|until| row.started_at <= until)
        && filter.agent.is_none_or(|agent| row.agent_id == agent)
        && filter.status.is_none_or(|status| row.status == status)
        && filter
            .channel
            .is_none_or(|channel| row.channel.unwrap_or(Channel::Unknown) == channel)
        && filter
            .phone
            .as_ref()
            .is_none_or(|phone| is(&row.customer_phone, phone) || is(&row.to_number, phone))
}

/// Conversations of every kind, several at each instant.
async fn many_kinds(raw: &mut Raw, shop: &Shop) {
    let second = new_agent(shop.account, "Bea");
    let other_agent = Shop {
        agent: second.agent.id,
        ..shop.clone()
    };
    shop.store.create_agent(second).await.unwrap();
    let shapes = [
        "channel = 'phone'",
        "channel = 'chat', voice = false, from_number = NULL, to_number = NULL, customer_phone = NULL",
        "channel = NULL, voice = false",
        "channel = 'widget_voice', status = 'completed'",
        "status = 'failed'",
        // Incoming: the customer called one of our numbers.
        "from_number = customer_phone, to_number = '+15005550100'",
        "to_number = '+4915112345678', customer_phone = '+4915112345678', status = 'completed'",
    ];
    for number in 0..42_usize {
        let shop = if number % 3 == 0 { &other_agent } else { shop };
        let id = shop.place(after(u64::try_from(number / 5).unwrap())).await;
        let id = raw.id(id.uuid());
        let shape = shapes[number % shapes.len()];
        raw.run(&format!("UPDATE conversations SET {shape} WHERE id = {id}"))
            .await;
    }
}

fn filters(shop: &Shop) -> Vec<ConversationFilter> {
    fn or_none<T: Clone>(values: &[T]) -> Vec<Option<T>> {
        values.iter().cloned().map(Some).chain([None]).collect()
    }
    let mut filters = Vec::new();
    for status in or_none(ConversationStatus::ALL) {
        for channel in or_none(Channel::ALL) {
            for phone in or_none(&[CUSTOMER, OTHER, OURS, "+19998887777"].map(phone)) {
                for agent in [Some(shop.agent), None] {
                    filters.push(ConversationFilter {
                        status,
                        channel,
                        phone: phone.clone(),
                        agent,
                        ..Default::default()
                    });
                }
            }
        }
    }
    for (since, until) in [
        (Some(2), None),
        (None, Some(4)),
        (Some(3), Some(5)),
        (Some(5), Some(3)),
    ] {
        for voice_only in [true, false] {
            for phone in or_none(&[CUSTOMER, OURS].map(phone)) {
                filters.push(ConversationFilter {
                    voice_only,
                    since: since.map(after),
                    until: until.map(after),
                    phone,
                    ..Default::default()
                });
            }
        }
    }
    filters
}

contract! {
    async fn every_filter_shows_what_it_names_newest_first(database: TestDatabase) {
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        let stranger = Shop::new(&store).await;
        stranger.place(T0).await;
        let mut raw = Raw::open(&database).await;
        many_kinds(&mut raw, &shop).await;

        let all = store
            .conversations(shop.account, ConversationFilter::default(), None, 100)
            .await
            .unwrap();
        let mut all: Vec<_> = all.into_iter().map(|view| view.conversation).collect();
        assert_eq!(all.len(), 42);
        all.sort_by_key(|row| std::cmp::Reverse((row.started_at, row.id)));
        for filter in filters(&shop) {
            let expected: Vec<_> = all.iter().filter(|row| shows(&filter, row)).map(|row| row.id).collect();
            assert_eq!(shop.every(&filter, 100).await, expected, "{filter:?}");
            assert_eq!(shop.every(&filter, 4).await, expected, "{filter:?}, page by page");
        }
    }

    async fn a_page_never_repeats_or_skips_rows_with_equal_times(store: Store) {
        let shop = Shop::new(&store).await;
        let mut placed = Vec::new();
        for number in 0..23 {
            let at = after(number / 8);
            placed.push((at, shop.place(at).await));
        }
        placed.sort_unstable_by(|a, b| b.cmp(a));
        let expected: Vec<_> = placed.into_iter().map(|(_, id)| id).collect();
        for limit in [1, 2, 7, 22, 23, 24] {
            let filter = ConversationFilter::default();
            assert_eq!(shop.every(&filter, limit).await, expected, "limit {limit}");
        }
    }

    async fn rows_that_were_there_when_paging_began_appear_once_whatever_comes_and_goes(database: TestDatabase) {
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        let mut raw = Raw::open(&database).await;
        for filter in [
            ConversationFilter::default(),
            ConversationFilter { phone: Some(phone(CUSTOMER)), ..Default::default() },
        ] {
            let mut there: Vec<(Timestamp, ConversationId)> = Vec::new();
            for number in 0..20 {
                let at = after(100 + number / 6);
                there.push((at, shop.place(at).await));
            }
            let began: HashSet<_> = shop.every(&filter, 100).await.into_iter().collect();
            let mut deleted = HashSet::new();
            let (mut seen, mut place) = (Vec::new(), None);
            loop {
                let (ids, next) = shop.page(&filter, place, 3).await;
                seen.extend(ids.iter().copied());
                // Deletes the row of the cursor, and one that was not shown yet.
                let unseen = began.iter().find(|id| !seen.contains(id) && !deleted.contains(*id));
                for id in ids.last().into_iter().chain(unseen) {
                    delete(&mut raw, *id).await;
                    deleted.insert(*id);
                }
                // Adds new rows: in front, and at the instant of the cursor.
                shop.place(after(1_000)).await;
                let Some(key) = next else { break };
                shop.place(key.0).await;
                place = Some(key);
            }
            let shown: HashSet<_> = seen.iter().copied().collect();
            assert_eq!(shown.len(), seen.len(), "no row twice");
            let skipped: Vec<_> = began.difference(&shown).filter(|id| !deleted.contains(*id)).collect();
            assert!(skipped.is_empty(), "{skipped:?}");
        }
    }

    async fn a_conversation_is_its_accounts_alone_and_hidden_by_retention(store: Store) {
        let shop = Shop::new(&store).await;
        let stranger = Shop::new(&store).await;
        let id = shop.place(after(5)).await;
        assert!(store.conversation(stranger.account, id, None).await.unwrap().is_none());
        assert!(store.transcript(stranger.account, id, None, 10).await.unwrap().is_none());
        assert!(store.moments(stranger.account, id, 0, 10).await.unwrap().is_none());
        assert!(store.conversation(shop.account, id, Some(after(5))).await.unwrap().is_some());
        assert!(store.conversation(shop.account, id, Some(after(6))).await.unwrap().is_none());
        assert!(store.transcript(shop.account, id, Some(after(6)), 10).await.unwrap().is_none());
    }

    async fn times_keep_their_microseconds(store: Store) {
        let shop = Shop::new(&store).await;
        for micros in [0, 1, -1, 946_684_799_999_999, 253_402_300_799_999_999] {
            let at = Timestamp::from_micros(micros);
            let mut call = shop.call(at);
            call.reserve = 0;
            let id = call.id;
            store.place_call(call).await.unwrap();
            assert_eq!(shop.conversation(id).await.started_at, at);
        }
    }
}

async fn delete(raw: &mut Raw, id: ConversationId) {
    let id = raw.id(id.uuid());
    raw.run(&format!(
        "DELETE FROM reservations WHERE conversation_id = {id}; \
         DELETE FROM events WHERE conversation_id = {id}; DELETE FROM conversations WHERE id = {id}"
    ))
    .await;
}
