//! People: sessions, links, sign-in attempts, and members' changes to the team.

use std::collections::BTreeSet;
use std::time::Duration;

use offhook_domain::{EmailAddress, EventId, MemberId, MemberRole, Plan, Timestamp};
use offhook_storage::{
    Account, AttemptKey, AttemptRule, Begun, Invitation, JoinsWith, Member, NewChallenge,
    NewSession, NewSingleSignOn, Passkey, PasskeyAdded, Proof, SignInLink, Store, mint,
};
use offhook_testkit::contract;

use crate::it::shop::{Shop, T0, after, race, within};

const RULE: AttemptRule = AttemptRule {
    window: Duration::from_secs(900),
    first_wait: Duration::from_secs(60),
    longest_wait: Duration::from_secs(900),
};

const fn digest(of: u8) -> [u8; 32] {
    [of; 32]
}

const fn session(of: u8, at: Timestamp) -> NewSession {
    NewSession {
        digest: digest(of),
        at,
    }
}

fn email(text: &str) -> EmailAddress {
    text.parse().unwrap()
}

/// A member with this role, who joined at the beginning.
async fn join(shop: &Shop, address: &str, role: MemberRole) -> Member {
    let member = Member {
        id: mint(T0),
        account_id: shop.account,
        name: "Eva".to_owned(),
        email: email(address),
        role,
        joined_at: T0,
    };
    let (store, account, added) = (&shop.store, shop.account, member.clone());
    let join = within(store, move |mut tx| {
        Box::pin(async move {
            assert!(tx.change_seats(account, 1).await?);
            tx.add_member(&added).await
        })
    });
    join.await;
    member
}

fn link(member: &Member, until: Timestamp) -> SignInLink {
    SignInLink {
        email: member.email.clone(),
        account_id: member.account_id,
        expires_at: until,
    }
}

/// Sets a member's password with a link, in the session number `of`.
async fn set_password(shop: &Shop, member: &Member, of: u8, at: Timestamp) -> Option<Member> {
    let until = at.plus(Duration::from_secs(60));
    let made = shop.store.create_link(link(member, until), digest(of), at);
    assert!(made.await.unwrap());
    let hash = format!("hash {of}");
    let set = shop
        .store
        .set_password_by_link(digest(of), hash, session(of, at), digest(0));
    set.await.unwrap()
}

/// The member of the session number `of`.
async fn who(store: &Store, of: u8) -> Option<MemberId> {
    let session = store.session(digest(of)).await.unwrap()?;
    let is_there = session
        .memberships
        .iter()
        .any(|one| one.member.id == session.member);
    is_there.then_some(session.member)
}

contract! {
    async fn a_link_sets_a_password_once_and_ends_the_persons_sessions(store: Store) {
        let shop = Shop::new(&store).await;
        let ana = join(&shop, "a@x.mx", MemberRole::Owner).await;
        assert_eq!(set_password(&shop, &ana, 1, T0).await, Some(ana.clone()));
        assert_eq!(who(&store, 1).await, Some(ana.id));
        let again = store.set_password_by_link(digest(1), "x".into(), session(7, T0), digest(0));
        assert_eq!(again.await.unwrap(), None, "it was used");
        // Using one of two links invalidates the other.
        for of in [2, 3] {
            assert!(store.create_link(link(&ana, after(60)), digest(of), T0).await.unwrap());
        }
        let (found, account, password) = store.link(digest(3), after(59)).await.unwrap().unwrap();
        assert_eq!((found, account.id), (link(&ana, after(60)), shop.account));
        assert_eq!(password.unwrap().hash, "hash 1");
        assert!(store.link(digest(3), after(60)).await.unwrap().is_none(), "it has expired");
        let set = store.set_password_by_link(digest(2), "new".into(), session(2, after(1)), digest(0));
        assert_eq!(set.await.unwrap(), Some(ana.clone()));
        assert!(store.link(digest(3), after(2)).await.unwrap().is_none());
        assert_eq!((who(&store, 1).await, who(&store, 2).await), (None, Some(ana.id)));
        let (password, memberships) = store.person(ana.email.clone()).await.unwrap();
        let password = password.unwrap();
        assert_eq!((password.hash.as_str(), password.changed_at), ("new", after(1)));
        assert_eq!(memberships.len(), 1);
        let stranger = Member { email: email("b@x.mx"), ..ana };
        assert!(!store.create_link(link(&stranger, after(60)), digest(9), T0).await.unwrap());
    }

    async fn a_session_begins_only_with_the_password_that_was_checked(store: Store) {
        let shop = Shop::new(&store).await;
        let ana = join(&shop, "a@x.mx", MemberRole::Owner).await;
        set_password(&shop, &ana, 1, T0).await;
        let keys = || (digest(40), vec![digest(41)]);
        let begin = async |of: u8, changed_at| {
            let begun = store.begin_session(session(of, after(5)), ana.clone(), changed_at, keys());
            begun.await.unwrap() == Some(Begun::Session)
        };
        assert!(begin(2, T0).await);
        assert!(!begin(3, after(1)).await, "another password was checked");
        let changed = store.change_password(ana.clone(), T0, "new".into(), session(7, after(6)));
        assert!(changed.await.unwrap());
        assert!(!begin(4, T0).await);
        assert!(begin(5, after(6)).await);
        assert_eq!((who(&store, 1).await, who(&store, 2).await), (None, None));
        assert_eq!(who(&store, 7).await, Some(ana.id));
        let ends = (after(1), T0);
        let others = store.count_other_sessions(ana.email.clone(), digest(7), ends).await.unwrap();
        assert_eq!(others, 1);
        assert_eq!(store.end_other_sessions(ana.email.clone(), digest(7)).await.unwrap(), 1);
        store.end_session(digest(7)).await.unwrap();
        assert_eq!(who(&store, 7).await, None);
        let (account, left) = (shop.account, ana.email.clone());
        within(&store, move |mut tx| Box::pin(async move { tx.delete_member(account, &left).await })).await;
        assert!(!begin(6, after(6)).await, "she is no member any more");
    }

    async fn a_code_ends_one_waiting_sign_in_and_no_second(store: Store) {
        let shop = Shop::new(&store).await;
        let ana = join(&shop, "a@x.mx", MemberRole::Owner).await;
        set_password(&shop, &ana, 1, T0).await;
        let keys = || (digest(40), vec![digest(41)]);
        let begin = async |of: u8, at| {
            store.begin_session(session(of, at), ana.clone(), T0, keys()).await.unwrap()
        };
        assert_eq!(begin(2, T0).await, Some(Begun::Session));
        let set = async |step| {
            let recovery = vec![digest(50), digest(51)];
            let with = ("secret", step);
            let recovery = (recovery, None);
            store.set_second_factor((ana.clone(), T0), with, recovery, session(1, T0)).await.unwrap()
        };
        assert!(set(7).await);
        assert!(!set(8).await, "there is one");
        assert_eq!((who(&store, 1).await, who(&store, 2).await), (Some(ana.id), None));
        let factors = store.second_factors(ana.email.clone()).await.unwrap();
        let factor = factors.app.unwrap();
        assert_eq!((factor.secret.as_str(), factors.recovery_codes), ("secret", 2));

        let finish = async |half: u8, proof: Proof, of: u8, at| {
            let finished = store.finish_sign_in(digest(half), proof, session(of, at), keys());
            finished.await.unwrap().is_some()
        };
        let code = |step| Proof::Code { factor: factor.id, step };
        for half in [3, 4, 5] {
            assert_eq!(begin(half, after(1)).await, Some(Begun::Half));
            assert_eq!(who(&store, half).await, None);
        }
        assert_eq!(store.half_sign_in(digest(3), after(2)).await.unwrap(), Some(ana.email.clone()));
        assert!(!finish(3, code(7), 6, after(2)).await, "it was used to set the factor up");
        let both = race(2, |n| {
            let half = [3, 4][n];
            let (store, proof) = (store.clone(), code(8));
            async move {
                let session = session(half + 10, after(2));
                let keys = (digest(40), vec![digest(41)]);
                store.finish_sign_in(digest(half), proof, session, keys).await.unwrap().is_some()
            }
        });
        assert_eq!(both.await.iter().filter(|is_done| **is_done).count(), 1);
        assert!(finish(5, Proof::Recovery(digest(50)), 15, after(3)).await);
        assert!(!finish(5, code(9), 16, after(3)).await, "it was finished");
        assert_eq!(begin(17, after(4)).await, Some(Begun::Half));
        assert!(!finish(17, Proof::Recovery(digest(50)), 18, after(5)).await);
        assert_eq!(store.half_sign_in(digest(17), after(604)).await.unwrap(), None, "it has expired");
        assert!(!finish(17, code(9), 18, after(604)).await);

        // Another secret makes other codes: none of the old one is valid.
        let remove = async |proof| {
            store.remove_second_factor((ana.clone(), T0), proof, session(15, after(6))).await.unwrap()
        };
        assert!(!remove(code(8)).await);
        assert!(remove(code(9)).await);
        assert!(set(1).await);
        assert_eq!(begin(19, after(7)).await, Some(Begun::Half));
        assert!(!finish(19, code(10), 20, after(7)).await);
        // The operator's link turns it off.
        set_password(&shop, &ana, 21, after(8)).await.unwrap();
        assert!(!store.second_factors(ana.email.clone()).await.unwrap().is_on());
        assert!(!finish(19, Proof::Recovery(digest(51)), 20, after(8)).await);
    }

    async fn a_challenge_is_read_once_within_five_minutes_and_a_source_has_a_hundred(store: Store) {
        let new = |of: u8, source: u8, at| NewChallenge {
            digest: digest(of),
            source: digest(source),
            state: format!("{of}"),
            at,
        };
        let take = async |of: u8, at| store.take_challenge(digest(of), at).await.unwrap();
        store.keep_challenge(new(1, 1, T0)).await.unwrap();
        assert_eq!(take(2, T0).await, None);
        assert_eq!((take(1, after(299)).await, take(1, after(299)).await), (Some("1".to_owned()), None));
        store.keep_challenge(new(1, 1, T0)).await.unwrap();
        assert_eq!((take(1, after(300)).await, take(1, T0).await), (None, None));
        // The browser's next challenge replaces the one before.
        store.keep_challenge(new(1, 1, T0)).await.unwrap();
        store.keep_challenge(NewChallenge { state: "other".to_owned(), ..new(1, 1, T0) }).await.unwrap();
        assert_eq!(take(1, T0).await, Some("other".to_owned()));
        store.keep_challenge(new(200, 2, T0)).await.unwrap();
        for of in 0..101 {
            store.keep_challenge(new(of, 1, after(u64::from(of)))).await.unwrap();
        }
        assert_eq!((take(0, after(1)).await, take(1, after(1)).await), (None, Some("1".to_owned())));
        assert_eq!(take(200, after(1)).await, Some("200".to_owned()), "another source's stays");
    }

    async fn of_two_signatures_with_one_counter_one_opens_a_session(store: Store) {
        let shop = Shop::new(&store).await;
        let ana = join(&shop, "a@x.mx", MemberRole::Owner).await;
        set_password(&shop, &ana, 1, T0).await;
        // Ids of one instant are in no order, and the list is in the order of the ids.
        let passkey = |of: u8| Passkey {
            id: mint(after(u64::from(of))),
            email: ana.email.clone(),
            credential_id: vec![of; 16],
            user_handle: vec![9; 16],
            name: "Phone".to_owned(),
            credential: "1".to_owned(),
            created_at: T0,
            used_at: None,
        };
        let add = async |new: &Passkey| {
            let recovery = vec![digest(50)];
            store.add_passkey(ana.clone(), new.clone(), recovery, session(1, T0)).await.unwrap()
        };
        let (first, second) = (passkey(1), passkey(2));
        assert_eq!((add(&first).await, add(&passkey(1)).await), (PasskeyAdded::First, PasskeyAdded::Known));
        assert_eq!(add(&second).await, PasskeyAdded::Another);
        let proof = |id, before: &str, after: &str| Proof::Passkey {
            id,
            before: before.to_owned(),
            after: after.to_owned(),
        };
        let both = race(2, |n| {
            let (store, ana, proof) = (store.clone(), ana.clone(), proof(first.id, "1", "2"));
            async move {
                let session = session([3, 4][n], after(2));
                let keys = (digest(40), vec![digest(41)]);
                store.begin_session_by_passkey(ana, proof, session, keys).await.unwrap().is_some()
            }
        });
        assert_eq!(both.await.iter().filter(|is_done| **is_done).count(), 1);
        let factors = store.second_factors(ana.email.clone()).await.unwrap();
        let told = factors.passkeys.iter().map(|one| (one.credential.as_str(), one.used_at));
        assert_eq!(told.collect::<Vec<_>>(), [("2", Some(after(2))), ("1", None)]);

        // The recovery codes go with the last one.
        let remove = async |id, proof| {
            store.remove_passkey((ana.clone(), T0), id, proof, session(1, after(3))).await.unwrap()
        };
        assert!(!remove(first.id, proof(first.id, "1", "3")).await, "it was used before");
        assert!(!remove(mint(T0), proof(first.id, "2", "3")).await, "it is nobody's");
        assert!(remove(first.id, proof(first.id, "2", "3")).await);
        assert!(store.second_factors(ana.email.clone()).await.unwrap().is_on());
        assert!(remove(second.id, Proof::Recovery(digest(50))).await);
        let factors = store.second_factors(ana.email.clone()).await.unwrap();
        assert_eq!((factors.is_on(), factors.recovery_codes), (false, 0));
    }

    async fn a_provider_opens_its_own_account_and_may_be_required(store: Store) {
        let shop = Shop::new(&store).await;
        let other = Shop::new(&store).await;
        let ana = join(&shop, "a@x.mx", MemberRole::Developer).await;
        let there = join(&other, "a@x.mx", MemberRole::Viewer).await;
        let boss = join(&shop, "b@x.mx", MemberRole::Owner).await;
        set_password(&shop, &ana, 1, T0).await;
        set_password(&shop, &boss, 2, T0).await;
        let set = async |account, issuer: &str, domain: &str, is_required| {
            let new = NewSingleSignOn {
                issuer: issuer.to_owned(),
                client_id: "client".to_owned(),
                email_domain: Some(domain.to_owned()),
                is_required,
                creates_viewers: false,
            };
            store.set_single_sign_on(account, new, "secret", T0).await.unwrap()
        };
        let opens = async |of: u8| {
            let session = store.session(digest(of)).await.unwrap();
            let memberships = session.into_iter().flat_map(|session| session.memberships);
            memberships.map(|one| one.member.id).collect::<BTreeSet<_>>()
        };
        assert!(set(shop.account, "https://one.example", "x.mx", false).await);
        assert!(!set(other.account, "https://two.example", "x.mx", false).await, "it is taken");
        assert_eq!(store.account_of_domain("x.mx".to_owned()).await.unwrap(), Some(shop.account));
        let provider = store.single_sign_on(shop.account).await.unwrap().unwrap();
        assert_eq!(store.client_secret(&provider).unwrap(), "secret");
        let begin = async |provider, address: &str, of: u8| {
            let whom = (email(address), session(of, T0));
            let of = (shop.account, provider);
            store.begin_session_by_provider(of, whom.0, whom.1).await.unwrap().map(|member| member.id)
        };
        assert_eq!(begin(provider.id, "a@x.mx", 3).await, Some(ana.id));
        assert_eq!(begin(provider.id, "c@x.mx", 4).await, None);
        assert_eq!(begin(mint(T0), "a@x.mx", 4).await, None, "another one is set by now");
        assert_eq!((opens(1).await, opens(3).await), ([ana.id, there.id].into(), [ana.id].into()));
        assert!(!store.switch_session(digest(3), other.account).await.unwrap());
        assert!(set(shop.account, "https://one.example", "x.mx", true).await);
        assert_eq!((opens(1).await, opens(2).await), ([there.id].into(), [boss.id].into()));
        assert_eq!(opens(3).await, [ana.id].into());
        assert!(!store.switch_session(digest(1), shop.account).await.unwrap());
        assert!(store.switch_session(digest(1), other.account).await.unwrap());
        // Another issuer ends what the one before has begun.
        assert!(set(shop.account, "https://three.example", "x.mx", true).await);
        assert_eq!((opens(3).await, opens(2).await), ([].into(), [boss.id].into()));
        assert!(store.remove_single_sign_on(shop.account, T0).await.unwrap());
        assert!(!store.remove_single_sign_on(shop.account, T0).await.unwrap());
        assert_eq!(opens(1).await, [ana.id, there.id].into());
    }

    async fn the_use_of_a_session_is_written_once_in_a_while(store: Store) {
        let shop = Shop::new(&store).await;
        let ana = join(&shop, "a@x.mx", MemberRole::Owner).await;
        set_password(&shop, &ana, 1, T0).await;
        let seen = async || store.session(digest(1)).await.unwrap().unwrap().seen_at;
        store.touch_session(digest(1), (T0, after(60))).await.unwrap();
        assert_eq!(seen().await, after(60));
        store.touch_session(digest(1), (after(1), after(61))).await.unwrap();
        assert_eq!(seen().await, after(60));
        assert!(!store.delete_ended_sessions(after(59), after(59)).await.unwrap());
        assert_eq!(who(&store, 1).await, Some(ana.id));
        assert!(!store.delete_ended_sessions(after(60), after(60)).await.unwrap());
        assert_eq!(who(&store, 1).await, None);
    }

    async fn a_secret_waits_a_minute_for_its_session_and_is_read_once(store: Store) {
        let shop = Shop::new(&store).await;
        let ana = join(&shop, "a@x.mx", MemberRole::Owner).await;
        set_password(&shop, &ana, 1, T0).await;
        assert!(store.begin_session(session(2, T0), ana, T0, (digest(40), vec![])).await.unwrap().is_some());
        let id: EventId = mint(T0);
        let keep = async |secret: &str| {
            let until = (T0, after(60));
            store.keep_shown_once(digest(1), (id, secret), until).await.unwrap();
        };
        let take = async |of: u8, at| store.take_shown_once(digest(of), id, at).await.unwrap();
        keep("first").await;
        keep("second").await;
        assert_eq!(take(2, T0).await, None, "another session of the same person");
        assert_eq!(take(1, after(59)).await.as_deref(), Some("second"));
        assert_eq!(take(1, after(59)).await, None, "it was read");
        keep("third").await;
        assert_eq!(take(1, after(60)).await, None, "it has expired");
        keep("fourth").await;
        let readers = race(8, |_| {
            let store = store.clone();
            async move { store.take_shown_once(digest(1), id, T0).await.unwrap() }
        });
        assert_eq!(readers.await.into_iter().flatten().collect::<Vec<_>>(), ["fourth"]);
        keep("fifth").await;
        store.end_session(digest(1)).await.unwrap();
        assert_eq!(take(1, T0).await, None, "its session has ended");
    }

    async fn of_many_attempts_at_once_no_more_are_counted_than_may_be(store: Store) {
        let keys = |person: u8| vec![
            AttemptKey { digest: digest(person), most: 5 },
            AttemptKey { digest: digest(200), most: 8 },
        ];
        let attempts = async |person: u8, count: usize| {
            let all = race(count, |_| {
                let (store, keys) = (store.clone(), keys(person));
                async move { store.take_attempt(keys, RULE, T0).await.unwrap() }
            });
            all.await.into_iter().filter(Result::is_ok).count()
        };
        assert_eq!(attempts(1, 12).await, 5);
        // Another person from the same address has three attempts left.
        assert_eq!(attempts(2, 12).await, 3);
        let until = store.take_attempt(keys(1), RULE, after(59)).await.unwrap();
        assert_eq!(until, Err(after(60)));
        // A success resets the person's count and returns one attempt to the address.
        store.give_back_attempt((digest(1), vec![digest(200)]), after(60)).await.unwrap();
        let taken = store.take_attempt(keys(1), RULE, after(60)).await.unwrap();
        assert_eq!(taken, Ok(()));
        let taken = store.take_attempt(keys(1), RULE, after(60)).await.unwrap();
        assert_eq!(taken, Err(after(120)), "the address waits again");
        store.delete_ended_sessions(T0, after(9_999)).await.unwrap();
        assert_eq!(store.take_attempt(keys(1), RULE, after(61)).await.unwrap(), Ok(()));
    }

    async fn an_invitation_makes_a_member_once(store: Store) {
        let shop = Shop::new(&store).await;
        let invite = async |address: &str, of: u8| {
            let invitation = Invitation {
                id: mint(T0),
                account_id: shop.account,
                name: "Eva".to_owned(),
                email: email(address),
                role: MemberRole::Developer,
                created_at: T0,
                expires_at: after(100),
            };
            let new = invitation.clone();
            let invite = within(&store, move |mut tx| {
                Box::pin(async move { tx.add_invitation(new, digest(of)).await })
            });
            invite.await;
            invitation
        };
        let accept = async |of: u8, with: JoinsWith, at: Timestamp| {
            let accepted = store.accept_invitation(digest(of), "Ana".into(), with, session(of, at));
            accepted.await.unwrap().map(|(member, _)| member)
        };
        let first = || JoinsWith::First("hash".to_owned());
        let (eva, ana) = (invite("e@x.mx", 1).await, invite("a@x.mx", 2).await);
        assert_eq!(store.invitations(shop.account, after(99)).await.unwrap().len(), 2);
        assert!(store.invitations(shop.account, after(100)).await.unwrap().is_empty());
        let (found, account, password) = store.invitation(digest(1), T0).await.unwrap().unwrap();
        assert_eq!((found.id, account.id, password), (eva.id, shop.account, None));
        assert_eq!(accept(1, first(), after(100)).await, None, "it has expired");
        assert_eq!(accept(3, first(), T0).await, None, "there is no such one");
        let member = accept(1, first(), after(1)).await.unwrap();
        assert_eq!(member.name.as_str(), "Ana");
        assert_eq!(member.role, MemberRole::Developer);
        assert_eq!(member.joined_at, after(1));
        assert_eq!(who(&store, 1).await, Some(member.id));
        assert_eq!(accept(1, first(), after(2)).await, None, "it was accepted");
        // No additional seat is used.
        assert_eq!(store.team(shop.account, None, 9, after(2)).await.unwrap().1, 2);
        // For a person with a password: it must match the one that was checked, and no first password replaces it.
        let other = Shop::new(&store).await;
        let known = join(&other, "a@x.mx", MemberRole::Owner).await;
        set_password(&other, &known, 5, T0).await;
        assert!(store.invitation(digest(2), T0).await.unwrap().unwrap().2.is_some());
        assert_eq!(accept(2, first(), after(3)).await, None);
        assert_eq!(accept(2, JoinsWith::Known(after(7)), after(3)).await, None);
        let joined = accept(2, JoinsWith::Known(T0), after(3)).await.unwrap();
        assert_eq!(joined.email, ana.email);
        assert_eq!(store.person(ana.email).await.unwrap().0.unwrap().hash, "hash 5");
    }

    async fn the_first_account_is_made_once(store: Store) {
        assert!(!store.has_account().await.unwrap());
        let all = race(4, |of| {
            let (store, of) = (store.clone(), u8::try_from(of + 1).unwrap());
            async move {
                let account = Account {
                    id: mint(T0),
                    name: "First".to_owned(),
                    plan: Plan::Pro,
                    engine_module: None,
                    created_at: T0,
            dialing: offhook_storage::Dialing::default(),
            has_own_keys: false,
                };
                let owner = Member {
                    id: mint(T0),
                    account_id: account.id,
                    name: "Eva".to_owned(),
                    email: email("e@x.mx"),
                    role: MemberRole::Owner,
                    joined_at: T0,
                };
                let with = (owner, format!("hash {of}"));
                store.begin_service(account, None, with, session(of, T0)).await.unwrap()
            }
        });
        let all = all.await;
        assert_eq!(all.iter().filter(|made| **made).count(), 1, "{all:?}");
        assert_eq!(store.accounts().await.unwrap().len(), 1);
        assert!(store.has_account().await.unwrap());
    }
}
