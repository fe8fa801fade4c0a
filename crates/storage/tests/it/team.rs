//! Members, invitations and seats.

use std::collections::HashSet;
use std::time::Duration;

use offhook_domain::{EmailAddress, MemberRole, Timestamp};
use offhook_storage::{Invitation, Member, SeatTaken, Store, mint};
use offhook_testkit::{TestDatabase, contract};

use crate::it::raw::Raw;
use crate::it::shop::{Shop, T0, after, paged, race};

fn member(shop: &Shop, email: &str, at: Timestamp) -> Member {
    Member {
        id: mint(at),
        account_id: shop.account,
        name: "Eva".to_owned(),
        email: email.parse().unwrap(),
        role: MemberRole::Developer,
        joined_at: at,
    }
}

/// An invitation for a hundred seconds.
fn invitation(shop: &Shop, email: &str, at: Timestamp) -> Invitation {
    Invitation {
        id: mint(at),
        account_id: shop.account,
        name: "Eva".to_owned(),
        email: email.parse().unwrap(),
        role: MemberRole::Viewer,
        created_at: at,
        expires_at: at.plus(Duration::from_secs(100)),
    }
}

/// A unique digest.
fn digest(of: &Invitation) -> [u8; 32] {
    let mut digest = [7; 32];
    digest[..16].copy_from_slice(of.id.uuid().as_bytes());
    digest
}

async fn add(shop: &Shop, email: &str, at: Timestamp, max: Option<u32>) -> SeatTaken {
    let member = member(shop, email, at);
    shop.store.add_member(member, max).await.unwrap()
}

async fn invite(shop: &Shop, email: &str, at: Timestamp, max: Option<u32>) -> SeatTaken {
    let invitation = invitation(shop, email, at);
    let digest = digest(&invitation);
    shop.store.invite(invitation, digest, max).await.unwrap()
}

async fn used(shop: &Shop, now: Timestamp) -> i64 {
    shop.store.team(shop.account, None, 1, now).await.unwrap().1
}

contract! {
    async fn members_and_invitations_that_have_not_expired_take_seats(store: Store) {
        let (shop, stranger) = (Shop::new(&store).await, Shop::new(&store).await);
        assert_eq!(used(&shop, T0).await, 0);
        assert_eq!(add(&shop, "a@x.mx", T0, Some(3)).await, SeatTaken::Done);
        assert_eq!(invite(&shop, "b@x.mx", T0, Some(3)).await, SeatTaken::Done);
        assert_eq!(invite(&shop, "c@x.mx", after(50), Some(3)).await, SeatTaken::Done);
        assert_eq!(used(&shop, after(50)).await, 3);
        assert_eq!(add(&shop, "d@x.mx", after(50), Some(3)).await, SeatTaken::Full(3));
        assert_eq!(invite(&shop, "d@x.mx", after(50), Some(3)).await, SeatTaken::Full(3));
        // At the exact end of the invitation its seat is free.
        assert_eq!((used(&shop, after(99)).await, used(&shop, after(100)).await), (3, 2));
        assert_eq!(invite(&shop, "d@x.mx", after(99), Some(3)).await, SeatTaken::Full(3));
        assert_eq!(invite(&shop, "d@x.mx", after(100), Some(3)).await, SeatTaken::Done);
        assert_eq!(used(&shop, after(100)).await, 3);
        // Without a limit there is always a seat; a refusal takes none.
        assert_eq!(add(&shop, "e@x.mx", after(100), None).await, SeatTaken::Done);
        assert_eq!((used(&shop, after(100)).await, used(&stranger, T0).await), (4, 0));
    }

    async fn an_address_comes_to_a_team_once(store: Store) {
        let (shop, stranger) = (Shop::new(&store).await, Shop::new(&store).await);
        assert_eq!(add(&shop, "Ana@x.mx", T0, None).await, SeatTaken::Done);
        assert_eq!(add(&shop, "ana@X.mx", T0, None).await, SeatTaken::Member);
        assert_eq!(invite(&shop, "ana@x.mx", T0, None).await, SeatTaken::Member);
        assert_eq!(invite(&shop, "eva@x.mx", T0, None).await, SeatTaken::Done);
        let again = invite(&shop, "EVA@x.mx", after(1), None).await;
        assert_eq!(again, SeatTaken::Invited(after(100)));
        // An expired invitation does not count.
        assert_eq!(invite(&shop, "eva@x.mx", after(100), None).await, SeatTaken::Done);
        // A member takes the seat of the invitation, even if no other seat is free.
        assert_eq!(add(&shop, "eva@x.mx", after(101), Some(2)).await, SeatTaken::Done);
        assert_eq!(used(&shop, after(101)).await, 2);
        for email in ["ana@x.mx", "eva@x.mx"] {
            assert_eq!(add(&stranger, email, T0, None).await, SeatTaken::Done);
        }
    }

    async fn there_is_no_seat_without_an_account(store: Store) {
        let nobody = Shop { account: mint(T0), ..Shop::new(&store).await };
        assert_eq!(add(&nobody, "a@x.mx", T0, None).await, SeatTaken::NoAccount);
        assert_eq!(invite(&nobody, "a@x.mx", T0, None).await, SeatTaken::NoAccount);
    }

    async fn of_those_that_race_for_the_last_seats_no_more_get_one(store: Store) {
        let shop = Shop::new(&store).await;
        let all = race(12, |at| {
            let (shop, email) = (shop.clone(), format!("a{at}@x.mx"));
            async move {
                match at % 2 {
                    0 => add(&shop, &email, T0, Some(4)).await,
                    _ => invite(&shop, &email, T0, Some(4)).await,
                }
            }
        });
        let all = all.await;
        let done = all.iter().filter(|taken| **taken == SeatTaken::Done).count();
        let full = all.iter().filter(|taken| **taken == SeatTaken::Full(4)).count();
        assert_eq!((done, full), (4, 8), "{all:?}");
        assert_eq!(used(&shop, T0).await, 4);
    }

    async fn of_one_address_that_races_with_itself_one_gets_a_seat(store: Store) {
        let shop = Shop::new(&store).await;
        let all = race(8, |_| {
            let shop = shop.clone();
            async move { add(&shop, "a@x.mx", T0, None).await }
        });
        let all = all.await;
        assert_eq!(all.iter().filter(|taken| **taken == SeatTaken::Done).count(), 1, "{all:?}");
        assert_eq!(used(&shop, T0).await, 1);
    }

    async fn who_goes_frees_a_seat_of_that_account_alone(store: Store) {
        let (shop, other) = (Shop::new(&store).await, Shop::new(&store).await);
        let (ana, eva) = (member(&shop, "a@x.mx", T0), invitation(&shop, "e@x.mx", T0));
        store.add_member(ana.clone(), Some(2)).await.unwrap();
        store.invite(eva.clone(), digest(&eva), Some(2)).await.unwrap();
        add(&other, "a@x.mx", T0, None).await;
        let remove = async |shop: &Shop, email: &EmailAddress| {
            store.remove_member(shop.account, email.clone(), after(1)).await.unwrap()
        };
        let withdraw = async |shop: &Shop, email: &EmailAddress, at| {
            store.withdraw_invitation(shop.account, email.clone(), at).await.unwrap()
        };
        assert_eq!(remove(&shop, &eva.email).await, None, "she is only invited");
        assert_eq!(withdraw(&shop, &ana.email, after(1)).await, None, "she is a member");
        assert_eq!(withdraw(&other, &eva.email, after(1)).await, None);
        assert_eq!(used(&shop, T0).await, 2);
        assert_eq!(remove(&shop, &ana.email).await, Some(ana.clone()));
        assert_eq!(remove(&shop, &ana.email).await, None);
        assert_eq!((used(&shop, T0).await, used(&other, T0).await), (1, 1));
        assert_eq!(withdraw(&shop, &eva.email, eva.expires_at).await, None, "it has expired");
        assert_eq!(withdraw(&shop, &eva.email, after(1)).await, Some(eva.clone()));
        assert_eq!((used(&shop, T0).await, used(&other, T0).await), (0, 1));
        for email in ["a@x.mx", "e@x.mx"] {
            assert_eq!(add(&shop, email, T0, Some(2)).await, SeatTaken::Done);
        }
    }

    async fn pages_of_members_show_each_once_the_oldest_first(store: Store) {
        let (shop, stranger) = (Shop::new(&store).await, Shop::new(&store).await);
        add(&stranger, "a@x.mx", T0, None).await;
        let mut all = Vec::new();
        for at in [2_u64, 0, 1, 1, 0, 2, 1] {
            let member = member(&shop, &format!("a{}@x.mx", all.len()), after(at));
            assert_eq!(store.add_member(member.clone(), None).await.unwrap(), SeatTaken::Done);
            all.push(member);
        }
        all.sort_by_key(|member| (member.joined_at, member.id));
        let key = |member: &Member| (member.joined_at, member.id);
        let read = async |place| {
            let (page, used) = store.team(shop.account, place, 2, after(9)).await?;
            assert_eq!(used, 7);
            Ok(page)
        };
        let seen = paged(2, key, read).await;
        assert_eq!(seen, all);
        assert_eq!(seen.iter().map(|member| member.id).collect::<HashSet<_>>().len(), 7);
    }

    async fn who_was_added_and_invited_is_in_the_audit_log_and_a_refusal_is_not(database: TestDatabase) {
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        let (member, invitation) = (member(&shop, "a@x.mx", T0), invitation(&shop, "b@x.mx", T0));
        store.add_member(member.clone(), None).await.unwrap();
        store.invite(invitation.clone(), digest(&invitation), None).await.unwrap();
        add(&shop, "a@x.mx", T0, None).await;
        invite(&shop, "c@x.mx", T0, Some(2)).await;
        store.remove_member(shop.account, member.email.clone(), T0).await.unwrap();
        store.remove_member(shop.account, member.email.clone(), T0).await.unwrap();
        store.withdraw_invitation(shop.account, invitation.email.clone(), T0).await.unwrap();
        store.withdraw_invitation(shop.account, invitation.email.clone(), T0).await.unwrap();
        let mut raw = Raw::open(&database).await;
        let told = raw
            .lines("SELECT action || ' ' || target AS line FROM audit_log WHERE action LIKE 'member%' ORDER BY action")
            .await;
        let (member, invitation) = (member.id, invitation.id);
        let expected = [
            format!("member.add {member}"),
            format!("member.invite {invitation}"),
            format!("member.remove {member}"),
            format!("member.withdraw {invitation}"),
        ];
        assert_eq!(told, expected);
    }
}
