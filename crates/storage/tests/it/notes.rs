//! Members' notes, tags and saved views.

use offhook_domain::{CallState, MemberId, MemberRole};
use offhook_storage::{ConversationFilter, Member, Note, SavedView, Store, mint};
use offhook_testkit::contract;

use crate::it::shop::{CANCELLED, Shop, T0, after, settlement, within};

fn view(member: &Member, name: &str, query: &str) -> SavedView {
    SavedView {
        id: mint(T0),
        account_id: member.account_id,
        member_id: member.id,
        name: name.to_owned(),
        query: query.to_owned(),
    }
}

async fn joined(shop: &Shop) -> Member {
    let member = Member {
        id: mint(T0),
        account_id: shop.account,
        name: "Ana".to_owned(),
        email: "ana@x.mx".parse().unwrap(),
        role: MemberRole::Viewer,
        joined_at: T0,
    };
    let added = member.clone();
    within(&shop.store, move |mut tx| {
        Box::pin(async move { tx.add_member(&added).await })
    })
    .await;
    member
}

contract! {
    async fn notes_are_in_order_of_their_own_conversation_and_go_with_it(store: Store) {
        let (shop, other) = (Shop::new(&store).await, Shop::new(&store).await);
        let id = shop.place(T0).await;
        let author: MemberId = mint(T0);
        let note = |second, account| Note {
            id: mint(after(second)),
            account_id: account,
            conversation_id: id,
            member_id: author,
            author: "Ana".to_owned(),
            text: format!("at {second}"),
            created_at: after(second),
        };
        let (first, second) = (note(1, shop.account), note(2, shop.account));
        assert!(store.add_note(second.clone(), 2).await.unwrap());
        assert!(store.add_note(first.clone(), 2).await.unwrap());
        assert!(!store.add_note(note(3, shop.account), 2).await.unwrap(), "it is full");
        assert!(!store.add_note(note(3, other.account), 9).await.unwrap(), "it is not theirs");
        assert_eq!(store.notes(id, 10).await.unwrap(), [first.clone(), second.clone()]);

        let stranger: MemberId = mint(T0);
        assert!(!store.delete_note(shop.account, (id, first.id), Some(stranger)).await.unwrap());
        assert!(!store.delete_note(other.account, (id, first.id), None).await.unwrap());
        assert!(store.delete_note(shop.account, (id, first.id), Some(author)).await.unwrap());
        assert_eq!(store.notes(id, 10).await.unwrap(), [second]);

        let ended = store.end_queued_call((shop.account, id), CANCELLED, settlement(CallState::Failed, 0));
        ended.await.unwrap().unwrap();
        store.delete_conversations(shop.account, vec![(id, false)]).await.unwrap();
        assert_eq!(store.notes(id, 10).await.unwrap(), []);
    }

    async fn tags_are_those_of_one_conversation_and_find_it(store: Store) {
        let (shop, other) = (Shop::new(&store).await, Shop::new(&store).await);
        let (first, second) = (shop.place(T0).await, shop.place(after(1)).await);
        let words = |all: &[&str]| all.iter().map(|tag| (*tag).to_owned()).collect::<Vec<_>>();
        let add = |account, id, tags: &[&str]| store.add_tags(account, id, words(tags), 2);
        assert!(add(shop.account, first, &["vip", "billing"]).await.unwrap());
        assert!(add(shop.account, first, &["vip"]).await.unwrap(), "it has it already");
        assert!(!add(shop.account, first, &["third"]).await.unwrap(), "it is full");
        assert!(add(shop.account, second, &["vip"]).await.unwrap());
        assert!(!add(other.account, second, &["mine"]).await.unwrap(), "it is not theirs");
        let all = store.tags(vec![first]).await.unwrap();
        assert_eq!(all, [(first, "billing".to_owned()), (first, "vip".to_owned())]);
        assert_eq!(store.known_tags(shop.account, 9).await.unwrap(), ["billing", "vip"]);
        assert_eq!(store.known_tags(shop.account, 1).await.unwrap(), ["billing"]);
        assert_eq!(store.known_tags(other.account, 9).await.unwrap(), [""; 0]);

        for (account, tag, found) in [
            (shop.account, "vip", &[second, first][..]),
            (shop.account, "billing", &[first]),
            (shop.account, "none", &[]),
            (other.account, "vip", &[]),
        ] {
            let filter = ConversationFilter { tag: Some(tag.to_owned()), ..Default::default() };
            let page = store.conversations(account, filter, None, 9).await.unwrap();
            let ids: Vec<_> = page.iter().map(|view| view.conversation.id).collect();
            assert_eq!(ids, found, "{tag}");
        }

        assert!(!store.delete_tag(other.account, first, "vip".to_owned()).await.unwrap());
        assert!(store.delete_tag(shop.account, first, "vip".to_owned()).await.unwrap());
        assert!(!store.delete_tag(shop.account, first, "vip".to_owned()).await.unwrap());
        let ended = store.end_queued_call((shop.account, first), CANCELLED, settlement(CallState::Failed, 0));
        ended.await.unwrap().unwrap();
        store.delete_conversations(shop.account, vec![(first, false)]).await.unwrap();
        assert_eq!(store.known_tags(shop.account, 9).await.unwrap(), ["vip"]);
    }

    async fn a_view_is_its_members_alone_and_goes_with_them(store: Store) {
        let shop = Shop::new(&store).await;
        let ana = joined(&shop).await;
        let mine = view(&ana, "Silent", "outcome=silent");
        assert!(store.save_view(mine.clone(), 2).await.unwrap());
        assert!(store.save_view(view(&ana, "Busy", "outcome=busy"), 2).await.unwrap());
        assert!(!store.save_view(view(&ana, "Third", ""), 2).await.unwrap(), "there is no room");
        // The same name replaces.
        assert!(store.save_view(view(&ana, "Silent", "outcome=silent&min=9"), 2).await.unwrap());
        let views = store.saved_views(ana.id, 9).await.unwrap();
        let named: Vec<_> = views.iter().map(|view| (&*view.name, &*view.query)).collect();
        assert_eq!(named, [("Busy", "outcome=busy"), ("Silent", "outcome=silent&min=9")]);
        assert!(!store.delete_view(mint(T0), mine.id).await.unwrap(), "it is not theirs");
        assert!(store.delete_view(ana.id, mine.id).await.unwrap());

        let account = shop.account;
        let email = ana.email.clone();
        let left = within(&store, move |mut tx| {
            Box::pin(async move { tx.delete_member(account, &email).await })
        });
        assert!(left.await.is_some());
        assert_eq!(store.saved_views(ana.id, 9).await.unwrap(), []);
    }
}
