//! Members, invitations and seats.

use std::collections::HashSet;
use std::time::Duration;

use futures_util::future::join_all;
use offhook_domain::{Changes, EmailAddress, MemberId, MemberRole, Timestamp};
use offhook_storage::{
    Actor, AuditFilter, Invitation, Member, NewSession, SignInLink, Store, mint,
};
use offhook_testkit::contract;

use super::shop::{Shop, T0, after, paged, race};
use crate::TeamRefusal;
use crate::team::seats::{self, MemberStep};

type Result<T> = std::result::Result<T, TeamRefusal>;

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

async fn add(shop: &Shop, email: &str, at: Timestamp, max: Option<u32>) -> Result<()> {
    seats::add(&shop.store, member(shop, email, at), max).await
}

async fn invite(shop: &Shop, email: &str, at: Timestamp, max: Option<u32>) -> Result<()> {
    let invitation = invitation(shop, email, at);
    let digest = digest(&invitation);
    seats::invite(&shop.store, invitation, digest, max).await
}

async fn used(shop: &Shop, now: Timestamp) -> i64 {
    shop.store.team(shop.account, None, 1, now).await.unwrap().1
}

/// A member with this role.
async fn join(shop: &Shop, email: &str, role: MemberRole) -> Member {
    let member = Member {
        role,
        ..member(shop, email, T0)
    };
    seats::add(&shop.store, member.clone(), None).await.unwrap();
    member
}

/// Signs a member in, in the session number `of`.
async fn sign_in(member: &Member, shop: &Shop, of: u8) {
    let link = SignInLink {
        email: member.email.clone(),
        account_id: member.account_id,
        expires_at: after(60),
    };
    let (digest, store) = ([of; 32], &shop.store);
    assert!(store.create_link(link, digest, T0).await.unwrap());
    let session = NewSession { digest, at: T0 };
    let set = store.set_password_by_link(digest, "hash".to_owned(), session, [0; 32]);
    assert!(set.await.unwrap().is_some());
}

/// The member of the session number `of`.
async fn who(store: &Store, of: u8) -> Option<MemberId> {
    let session = store.session([of; 32]).await.unwrap()?;
    let mut members = session.memberships.iter().map(|one| one.member.id);
    members.find(|id| *id == session.member)
}

async fn change(shop: &Shop, by: &Member, of: &Member, step: MemberStep) -> Result<Member> {
    let store = shop.store.acting(Actor::Member(by.id));
    seats::change(&store, shop.account, (by.id, of.id), step, after(9)).await
}

/// The lines of the audit log about the team by these actors, sorted.
async fn audited(shop: &Shop, actor: &str) -> Vec<String> {
    let lines = shop
        .store
        .audit(shop.account, AuditFilter::default(), None, 100)
        .await
        .unwrap();
    let of_team = lines
        .iter()
        .filter(|line| line.actor.starts_with(actor) && line.action.starts_with("member."));
    let shown = of_team.map(|line| {
        let changes = Changes::of_stored(line.changes.as_deref().unwrap_or_default());
        let values = changes.0.first().and_then(|change| change.values.clone());
        let role = values.map(|values| values.map(Option::unwrap_or_default).join(" > "));
        let line = format!("{} {} {} ", line.actor, line.action, line.target);
        (line + &role.unwrap_or_default()).trim_end().to_owned()
    });
    let mut shown: Vec<_> = shown.collect();
    shown.sort();
    shown
}

contract! {
    async fn members_and_invitations_that_have_not_expired_take_seats(store: Store) {
        let (shop, stranger) = (Shop::new(&store).await, Shop::new(&store).await);
        assert_eq!(used(&shop, T0).await, 0);
        add(&shop, "a@x.mx", T0, Some(3)).await.unwrap();
        invite(&shop, "b@x.mx", T0, Some(3)).await.unwrap();
        invite(&shop, "c@x.mx", after(50), Some(3)).await.unwrap();
        assert_eq!(used(&shop, after(50)).await, 3);
        assert!(matches!(add(&shop, "d@x.mx", after(50), Some(3)).await, Err(TeamRefusal::NoSeat { used: 3, max: 3 })));
        assert!(matches!(invite(&shop, "d@x.mx", after(50), Some(3)).await, Err(TeamRefusal::NoSeat { used: 3, max: 3 })));
        // At the exact end of the invitation its seat is free.
        assert_eq!((used(&shop, after(99)).await, used(&shop, after(100)).await), (3, 2));
        assert!(matches!(invite(&shop, "d@x.mx", after(99), Some(3)).await, Err(TeamRefusal::NoSeat { used: 3, max: 3 })));
        invite(&shop, "d@x.mx", after(100), Some(3)).await.unwrap();
        assert_eq!(used(&shop, after(100)).await, 3);
        // Without a limit there is always a seat; a refusal takes none.
        add(&shop, "e@x.mx", after(100), None).await.unwrap();
        assert_eq!((used(&shop, after(100)).await, used(&stranger, T0).await), (4, 0));
    }

    async fn an_address_comes_to_a_team_once(store: Store) {
        let (shop, stranger) = (Shop::new(&store).await, Shop::new(&store).await);
        add(&shop, "Ana@x.mx", T0, None).await.unwrap();
        assert!(matches!(add(&shop, "ana@X.mx", T0, None).await, Err(TeamRefusal::Member)));
        assert!(matches!(invite(&shop, "ana@x.mx", T0, None).await, Err(TeamRefusal::Member)));
        invite(&shop, "eva@x.mx", T0, None).await.unwrap();
        let again = invite(&shop, "EVA@x.mx", after(1), None).await;
        assert!(matches!(again, Err(TeamRefusal::Invited(until)) if until == after(100)));
        // An expired invitation does not count.
        invite(&shop, "eva@x.mx", after(100), None).await.unwrap();
        // A member takes the seat of the invitation, even if no other seat is free.
        add(&shop, "eva@x.mx", after(101), Some(2)).await.unwrap();
        assert_eq!(used(&shop, after(101)).await, 2);
        for email in ["ana@x.mx", "eva@x.mx"] {
            add(&stranger, email, T0, None).await.unwrap();
        }
    }

    async fn there_is_no_seat_without_an_account(store: Store) {
        let nobody = Shop { account: mint(T0), ..Shop::new(&store).await };
        assert!(matches!(add(&nobody, "a@x.mx", T0, None).await, Err(TeamRefusal::Absent)));
        assert!(matches!(invite(&nobody, "a@x.mx", T0, None).await, Err(TeamRefusal::Absent)));
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
        let done = all.iter().filter(|added| added.is_ok()).count();
        let no_seat = |added: &&Result<()>| matches!(added, Err(TeamRefusal::NoSeat { used: 4, max: 4 }));
        let full = all.iter().filter(no_seat).count();
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
        assert_eq!(all.iter().filter(|added| added.is_ok()).count(), 1, "{all:?}");
        assert_eq!(used(&shop, T0).await, 1);
    }

    async fn who_goes_frees_a_seat_of_that_account_alone(store: Store) {
        let (shop, other) = (Shop::new(&store).await, Shop::new(&store).await);
        let (ana, eva) = (member(&shop, "a@x.mx", T0), invitation(&shop, "e@x.mx", T0));
        seats::add(&store, ana.clone(), Some(2)).await.unwrap();
        seats::invite(&store, eva.clone(), digest(&eva), Some(2)).await.unwrap();
        add(&other, "a@x.mx", T0, None).await.unwrap();
        let remove = async |shop: &Shop, email: &EmailAddress| {
            seats::remove(&store, shop.account, email.clone(), after(1)).await.ok()
        };
        let withdraw = async |shop: &Shop, email: &EmailAddress, at| {
            seats::withdraw(&store, shop.account, email.clone(), at).await.ok()
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
            add(&shop, email, T0, Some(2)).await.unwrap();
        }
    }

    async fn pages_of_members_show_each_once_the_oldest_first(store: Store) {
        let (shop, stranger) = (Shop::new(&store).await, Shop::new(&store).await);
        add(&stranger, "a@x.mx", T0, None).await.unwrap();
        let mut all = Vec::new();
        for at in [2_u64, 0, 1, 1, 0, 2, 1] {
            let member = member(&shop, &format!("a{}@x.mx", all.len()), after(at));
            seats::add(&store, member.clone(), None).await.unwrap();
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

    async fn who_was_added_and_invited_is_in_the_audit_log_and_a_refusal_is_not(store: Store) {
        let shop = Shop::new(&store).await;
        let (member, invitation) = (member(&shop, "a@x.mx", T0), invitation(&shop, "b@x.mx", T0));
        seats::add(&store, member.clone(), None).await.unwrap();
        seats::invite(&store, invitation.clone(), digest(&invitation), None).await.unwrap();
        add(&shop, "a@x.mx", T0, None).await.unwrap_err();
        invite(&shop, "c@x.mx", T0, Some(2)).await.unwrap_err();
        seats::remove(&store, shop.account, member.email.clone(), T0).await.unwrap();
        seats::remove(&store, shop.account, member.email.clone(), T0).await.unwrap_err();
        let withdraw = || seats::withdraw(&store, shop.account, invitation.email.clone(), T0);
        withdraw().await.unwrap();
        withdraw().await.unwrap_err();
        let (member, invitation) = (member.id, invitation.id);
        let expected = [
            format!("cli member.add {member}"),
            format!("cli member.invite {invitation}"),
            format!("cli member.remove {member}"),
            format!("cli member.withdraw {invitation}"),
        ];
        assert_eq!(audited(&shop, "cli").await, expected);
    }

    async fn a_team_is_changed_as_roles_allow_and_an_owner_stays(store: Store) {
        use MemberStep::{Remove, Role};
        let shop = Shop::new(&store).await;
        let other = Shop::new(&store).await;
        let owner = join(&shop, "o@x.mx", MemberRole::Owner).await;
        let admin = join(&shop, "a@x.mx", MemberRole::Admin).await;
        let viewer = join(&shop, "v@x.mx", MemberRole::Viewer).await;
        let stranger = join(&other, "s@x.mx", MemberRole::Owner).await;
        sign_in(&viewer, &shop, 1).await;
        for (by, of, step) in [
            (&admin, &owner, Role(MemberRole::Viewer)),
            (&admin, &owner, Remove),
            (&admin, &viewer, Role(MemberRole::Owner)),
            (&admin, &admin, Role(MemberRole::Owner)),
            (&viewer, &viewer, Role(MemberRole::Admin)),
            (&viewer, &admin, Remove),
            (&stranger, &viewer, Remove),
        ] {
            let refused = change(&shop, by, of, step).await;
            assert!(matches!(refused, Err(TeamRefusal::Forbidden)), "{step:?}");
        }
        let absent = change(&shop, &owner, &stranger, Remove).await;
        assert!(matches!(absent, Err(TeamRefusal::Absent)), "{absent:?}");
        for step in [Role(MemberRole::Admin), Remove] {
            let refused = change(&shop, &owner, &owner, step).await;
            assert!(matches!(refused, Err(TeamRefusal::LastOwner)), "{step:?}");
        }
        assert_eq!(who(&store, 1).await, Some(viewer.id), "nothing has changed yet");
        let developer = Member { role: MemberRole::Developer, ..viewer.clone() };
        let raised = change(&shop, &admin, &viewer, Role(MemberRole::Developer)).await;
        assert_eq!(raised.unwrap(), developer);
        assert_eq!(who(&store, 1).await, None, "another role ends the sessions");
        assert_eq!(change(&shop, &admin, &viewer, Remove).await.unwrap(), developer);
        change(&shop, &owner, &admin, Role(MemberRole::Owner)).await.unwrap();
        change(&shop, &owner, &owner, Remove).await.unwrap();
        let refused = change(&shop, &admin, &admin, Remove).await;
        assert!(matches!(refused, Err(TeamRefusal::LastOwner)), "{refused:?}");
        assert_eq!(store.team(shop.account, None, 9, after(9)).await.unwrap().1, 1);
        let mut expected = [
            format!("member:{} member.role {} viewer > developer", admin.id, viewer.id),
            format!("member:{} member.remove {}", admin.id, viewer.id),
            format!("member:{} member.role {} admin > owner", owner.id, admin.id),
            format!("member:{} member.remove {}", owner.id, owner.id),
        ];
        expected.sort();
        assert_eq!(audited(&shop, "member:").await, expected);
    }

    async fn of_two_owners_who_leave_at_once_one_stays(store: Store) {
        let shop = Shop::new(&store).await;
        let owners = [
            join(&shop, "a@x.mx", MemberRole::Owner).await,
            join(&shop, "b@x.mx", MemberRole::Owner).await,
        ];
        let leaving = owners.map(|owner| {
            let shop = shop.clone();
            tokio::spawn(async move { change(&shop, &owner, &owner, MemberStep::Remove).await })
        });
        let left: Vec<_> = join_all(leaving).await.into_iter().map(std::result::Result::unwrap).collect();
        let stays = left.iter().filter(|left| matches!(left, Err(TeamRefusal::LastOwner))).count();
        assert_eq!(stays, 1, "{left:?}");
    }
}
