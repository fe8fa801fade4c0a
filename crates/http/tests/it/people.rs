//! People of the portal, through the use cases of its pages, with a manual clock.

use std::net::IpAddr;
use std::time::Duration;

use futures_util::future::join_all;
use offhook_domain::{AccountId, Changes, EmailAddress, MemberRole, Plan};
use offhook_services::store::AuditFilter;
use offhook_services::{
    BeginError, ChangePasswordError, JoinError, LinkError, NewService, PasswordFault, People,
    SignInError, SignedIn, TeamRefusal,
};
use offhook_testkit::TestDatabase;

use crate::it::app::{Setup, TestApp};
use crate::it::client::must;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(60 * 60);
const PASSWORD: &str = "correct horse battery";
const OTHER: &str = "staple correct horse";

fn here() -> IpAddr {
    IpAddr::from([192, 0, 2, 7])
}

fn email(text: &str) -> EmailAddress {
    must(text.parse())
}

async fn start(database: TestDatabase) -> TestApp {
    let setup = Setup {
        database: Some(database),
        ..Setup::default()
    };
    TestApp::with(setup).await
}

/// A member of the account with a password, signed in.
async fn member(app: &TestApp, account: AccountId, address: &str, role: MemberRole) -> SignedIn {
    let team = app.services.team();
    must(team.add(account, email(address), "Ana", role).await);
    let people = app.services.people();
    let link = must(people.link(account, &email(address)).await);
    let link = link.unwrap_or_else(|| panic!("no link"));
    must(people.set_password_by_link(&link.token, PASSWORD).await)
}

async fn sign_in(people: &People, address: &str, password: &str) -> Result<SignedIn, SignInError> {
    people.sign_in(address, password, here()).await
}

async fn is_in(people: &People, token: &str) -> bool {
    must(people.who(token).await).is_some()
}

/// Runs a test on both databases.
macro_rules! both {
    ($(async fn $name:ident($app:ident) $body:block)*) => {
        $(async fn $name($app: TestApp) $body)*

        mod sqlite {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $name() {
                    super::$name(super::start(super::TestDatabase::sqlite()).await).await;
                }
            )*
        }

        mod postgres {
            $(
                #[tokio::test(flavor = "multi_thread")]
                #[ignore = "needs PostgreSQL: just test"]
                async fn $name() {
                    super::$name(super::start(super::TestDatabase::postgres().await).await).await;
                }
            )*
        }
    };
}

both! {
    async fn a_session_is_of_its_member_and_ends_by_itself(app) {
        let people = app.services.people();
        let ana = member(&app, app.account, "ana@example.com", MemberRole::Owner).await;
        let person = must(people.who(&ana.token).await).unwrap_or_else(|| panic!("nobody"));
        assert_eq!((person.member.role, person.caller.account.id), (MemberRole::Owner, app.account));
        assert!(person.caller.key.is_none());
        assert_eq!(person.accounts, [(app.account, "Acme".to_owned())]);
        let second = must(sign_in(people, " ANA@example.com ", PASSWORD).await);
        assert_ne!(second.token, ana.token);
        // A person who returns within twelve hours stays signed in.
        for _ in 0..14 {
            app.clock.advance(HOUR * 12 - MINUTE);
            assert!(is_in(people, &ana.token).await);
        }
        assert!(!is_in(people, &second.token).await, "it was idle for twelve hours");
        // A session ends seven days after its beginning, however often it is used.
        app.clock.advance(MINUTE * 13);
        assert!(is_in(people, &ana.token).await);
        app.clock.advance(MINUTE);
        assert!(!is_in(people, &ana.token).await);
        let third = must(sign_in(people, "ana@example.com", PASSWORD).await);
        must(people.sign_out(&third.token).await);
        assert!(!is_in(people, &third.token).await);
        for token in ["", "zz", &"0".repeat(64)] {
            assert!(!is_in(people, token).await);
            must(people.sign_out(token).await);
        }
    }

    async fn of_a_hundred_guesses_at_once_five_are_looked_at(app) {
        let people = app.services.people();
        member(&app, app.account, "ana@example.com", MemberRole::Owner).await;
        member(&app, app.account, "eva@example.com", MemberRole::Owner).await;
        let guesses = (0..100).map(|guess| async move {
            sign_in(people, "ana@example.com", &format!("guess number {guess}")).await
        });
        let (mut wrong, mut throttled) = (0, 0);
        for guess in join_all(guesses).await {
            match guess {
                Err(SignInError::Wrong) => wrong += 1,
                Err(SignInError::Throttled { seconds: 60 }) => throttled += 1,
                other => panic!("{other:?}"),
            }
        }
        assert_eq!((wrong, throttled), (5, 95));
        // The right password has to wait too, but another person does not.
        let blocked = sign_in(people, "ana@example.com", PASSWORD).await;
        assert!(matches!(blocked, Err(SignInError::Throttled { seconds: 60 })));
        must(sign_in(people, "eva@example.com", PASSWORD).await);
        // Each further guess doubles the wait; a success resets it.
        app.clock.advance(MINUTE);
        assert!(matches!(sign_in(people, "ana@example.com", OTHER).await, Err(SignInError::Wrong)));
        let blocked = sign_in(people, "ana@example.com", PASSWORD).await;
        assert!(matches!(blocked, Err(SignInError::Throttled { seconds: 120 })));
        app.clock.advance(MINUTE * 2);
        must(sign_in(people, "ana@example.com", PASSWORD).await);
        assert!(matches!(sign_in(people, "ana@example.com", OTHER).await, Err(SignInError::Wrong)));
        must(sign_in(people, "ana@example.com", PASSWORD).await);
    }

    async fn an_address_of_the_network_has_twenty_guesses_whoever_they_are_for(app) {
        let people = app.services.people();
        member(&app, app.account, "ana@example.com", MemberRole::Owner).await;
        for guess in 0..20 {
            let guessed = sign_in(people, &format!("nobody{guess}@example.com"), PASSWORD).await;
            assert!(matches!(guessed, Err(SignInError::Wrong)), "{guessed:?}");
        }
        let blocked = sign_in(people, "ana@example.com", PASSWORD).await;
        assert!(matches!(blocked, Err(SignInError::Throttled { seconds: 60 })));
        let elsewhere = people.sign_in("ana@example.com", PASSWORD, IpAddr::from([192, 0, 2, 8]));
        must(elsewhere.await);
        let nonsense = people.sign_in("no address", PASSWORD, IpAddr::from([192, 0, 2, 9])).await;
        assert!(matches!(nonsense, Err(SignInError::Wrong)));
    }

    async fn a_changed_password_ends_the_other_sessions(app) {
        let people = app.services.people();
        let ana = member(&app, app.account, "ana@example.com", MemberRole::Owner).await;
        let other = must(sign_in(people, "ana@example.com", PASSWORD).await);
        assert_eq!(must(people.other_sessions(&ana.person).await), 1);
        let change = async |present: &str, new: &str| {
            people.change_password(&ana.person, present, new).await
        };
        let short = change(PASSWORD, "eleven char").await;
        assert!(matches!(short, Err(ChangePasswordError::Password(PasswordFault::TooShort))));
        let address = change(PASSWORD, "Ana@example.com").await;
        assert!(matches!(address, Err(ChangePasswordError::Password(PasswordFault::IsAddress))));
        assert!(matches!(change(OTHER, OTHER).await, Err(ChangePasswordError::Wrong)));
        assert!(is_in(people, &other.token).await);
        let token = must(change(PASSWORD, OTHER).await);
        assert!(!is_in(people, &other.token).await);
        // A copy of her session is also signed out.
        assert!(!is_in(people, &ana.token).await);
        assert!(is_in(people, &token).await);
        assert!(matches!(sign_in(people, "ana@example.com", PASSWORD).await, Err(SignInError::Wrong)));
        must(sign_in(people, "ana@example.com", OTHER).await);
        let ana = must(people.who(&token).await).unwrap_or_else(|| panic!("signed out"));
        assert_eq!(must(people.end_other_sessions(&ana).await), 1);
    }

    async fn a_link_opens_for_a_day_and_once(app) {
        let people = app.services.people();
        let ana = member(&app, app.account, "ana@example.com", MemberRole::Owner).await;
        let address = email("ana@example.com");
        assert!(must(people.link(app.account, &email("b@example.com")).await).is_none());
        let link = async || {
            must(people.link(app.account, &address).await).unwrap_or_else(|| panic!("no link")).token
        };
        let late = link().await;
        app.clock.advance(HOUR * 24);
        assert!(must(people.open_link(&late).await).is_none());
        assert!(matches!(people.set_password_by_link(&late, OTHER).await, Err(LinkError::Gone)));
        let token = link().await;
        app.clock.advance(HOUR * 24 - MINUTE);
        let opened = must(people.open_link(&token).await).unwrap_or_else(|| panic!("gone"));
        assert_eq!(opened.email.as_str(), "ana@example.com");
        assert_eq!(opened.account_name.as_str(), "Acme");
        assert!(opened.has_password);
        let short = people.set_password_by_link(&token, "short").await;
        assert!(matches!(short, Err(LinkError::Password(PasswordFault::TooShort))));
        // A link signs in a person with too many failed guesses.
        for _ in 0..5 {
            assert!(sign_in(people, "ana@example.com", "guess guess guess").await.is_err());
        }
        let set = must(people.set_password_by_link(&token, OTHER).await);
        assert!(is_in(people, &set.token).await && !is_in(people, &ana.token).await);
        assert!(matches!(people.set_password_by_link(&token, OTHER).await, Err(LinkError::Gone)));
        must(sign_in(people, "ana@example.com", OTHER).await);
    }

    async fn a_person_has_one_password_and_goes_from_account_to_account(app) {
        let people = app.services.people();
        let ana = member(&app, app.account, "ana@example.com", MemberRole::Owner).await;
        let made = app.services.accounts().create("Beta", Plan::Pro, None, None, Some("o@example.com"));
        let beta = must(made.await).id;
        let boss = member(&app, beta, "boss@example.com", MemberRole::Admin).await;
        assert!(!must(people.switch(&ana.token, beta).await));
        let invited = people.invite(&boss.person, email("ana@example.com"), "Ana", MemberRole::Viewer);
        let token = must(invited.await).token;
        let opened = must(people.invitation(&token).await).unwrap_or_else(|| panic!("gone"));
        assert_eq!(opened.account_name.as_str(), "Beta");
        // A thief of the link cannot use it.
        let stolen = people.accept_invitation(&token, "Eve", OTHER, here()).await;
        assert!(matches!(stolen, Err(JoinError::Wrong)));
        app.clock.advance(MINUTE);
        let joined = must(people.accept_invitation(&token, "Ana", PASSWORD, here()).await);
        assert_eq!((joined.person.caller.account.id, joined.person.member.role), (beta, MemberRole::Viewer));
        assert_eq!(
            joined.person.accounts,
            [(app.account, "Acme".to_owned()), (beta, "Beta".to_owned())]
        );
        assert!(matches!(
            people.accept_invitation(&token, "Ana", PASSWORD, here()).await,
            Err(JoinError::Gone)
        ));
        assert!(must(people.switch(&joined.token, app.account).await));
        let person = must(people.who(&joined.token).await).unwrap_or_else(|| panic!("nobody"));
        assert_eq!((person.caller.account.id, person.member.role), (app.account, MemberRole::Owner));
        // Signing in opens the account that was joined first.
        let again = must(sign_in(people, "ana@example.com", PASSWORD).await);
        assert_eq!(again.person.caller.account.id, app.account);
    }

    async fn what_an_admin_has_invited_ends_when_they_are_one_no_more(app) {
        let people = app.services.people();
        let owner = member(&app, app.account, "own@example.com", MemberRole::Owner).await;
        let admin = member(&app, app.account, "adm@example.com", MemberRole::Admin).await;
        let other = member(&app, app.account, "oth@example.com", MemberRole::Admin).await;
        let invite = async |by: &SignedIn, address: &str| {
            must(people.invite(&by.person, email(address), "Eve", MemberRole::Developer).await).token
        };
        let of_admin = invite(&admin, "a@example.com").await;
        let of_other = invite(&other, "b@example.com").await;
        let of_owner = invite(&owner, "c@example.com").await;
        let opens = async |token: &str| must(people.invitation(token).await).is_some();
        must(people.remove(&owner.person, admin.person.member.id).await);
        assert!(!opens(&of_admin).await && opens(&of_other).await);
        must(people.set_role(&owner.person, other.person.member.id, MemberRole::Developer).await);
        assert!(!opens(&of_other).await && opens(&of_owner).await);
    }

    async fn an_invitation_says_nothing_of_who_somebody_is_elsewhere(app) {
        let people = app.services.people();
        let eve = member(&app, app.account, "eve@example.com", MemberRole::Admin).await;
        let invite = async |address: &str| {
            let invited = people.invite(&eve.person, email(address), "Eve", MemberRole::Viewer);
            must(invited.await).token
        };
        // The operator has added the address, which has no password yet.
        let made = app.services.accounts().create("Beta", Plan::Pro, None, None, Some("boss@example.com"));
        let made = made.await;
        let token = invite("boss@example.com").await;
        let taken = people.accept_invitation(&token, "Eve", OTHER, here()).await;
        // The message and the number of tries are those of a wrong password.
        assert!(matches!(taken, Err(JoinError::Wrong)), "{taken:?}");
        for _ in 0..4 {
            assert!(people.accept_invitation(&token, "Eve", OTHER, here()).await.is_err());
        }
        let again = people.accept_invitation(&token, "Eve", OTHER, here()).await;
        assert!(matches!(again, Err(JoinError::Throttled { .. })), "{again:?}");
        app.clock.advance(HOUR);
        assert!(matches!(sign_in(people, "boss@example.com", OTHER).await, Err(SignInError::Wrong)));
        // The operator's link sets a password, and the invitation is still valid.
        let beta = must(made).id;
        let link = must(people.link(beta, &email("boss@example.com")).await).unwrap_or_else(|| panic!("no link"));
        must(people.set_password_by_link(&link.token, OTHER).await);
        must(people.accept_invitation(&token, "Boss", OTHER, here()).await);
        // The address was claimed with an invitation before the operator adds it.
        let token = invite("ceo@example.com").await;
        let claimed = must(people.accept_invitation(&token, "Eve", OTHER, here()).await);
        let made = app.services.accounts().create("Gamma", Plan::Pro, None, None, Some("ceo@example.com"));
        let gamma = must(made.await).id;
        assert!(!is_in(people, &claimed.token).await);
        assert!(matches!(sign_in(people, "ceo@example.com", OTHER).await, Err(SignInError::Wrong)));
        assert!(!must(people.has_password(&email("ceo@example.com")).await));
        // The operator's link gives access to both accounts, and later additions by the operator keep it.
        let link = must(people.link(gamma, &email("ceo@example.com")).await);
        let link = link.unwrap_or_else(|| panic!("no link"));
        let ceo = must(people.set_password_by_link(&link.token, PASSWORD).await);
        assert_eq!(ceo.person.accounts.len(), 2);
        let made = app.services.accounts().create("Delta", Plan::Pro, None, None, Some("ceo@example.com"));
        must(made.await);
        assert!(is_in(people, &ceo.token).await);
    }

    async fn another_role_and_a_removal_end_sessions_and_are_in_the_audit_log(app) {
        let people = app.services.people();
        let owner = member(&app, app.account, "owner@example.com", MemberRole::Owner).await;
        let admin = member(&app, app.account, "admin@example.com", MemberRole::Admin).await;
        let viewer = member(&app, app.account, "viewer@example.com", MemberRole::Viewer).await;
        let of = |signed: &SignedIn| signed.person.member.id;
        let refused = people.set_role(&admin.person, of(&owner), MemberRole::Viewer).await;
        assert!(matches!(refused, Err(TeamRefusal::Forbidden)));
        let refused = people.set_role(&viewer.person, of(&viewer), MemberRole::Owner).await;
        assert!(matches!(refused, Err(TeamRefusal::Forbidden)));
        let refused = people.invite(&admin.person, email("x@example.com"), "X", MemberRole::Owner).await;
        assert!(matches!(refused, Err(TeamRefusal::Forbidden)));
        assert!(matches!(people.remove(&owner.person, of(&owner)).await, Err(TeamRefusal::LastOwner)));
        app.clock.advance(MINUTE);
        must(people.set_role(&admin.person, of(&viewer), MemberRole::Developer).await);
        assert!(!is_in(people, &viewer.token).await);
        let again = must(sign_in(people, "viewer@example.com", PASSWORD).await);
        assert_eq!(again.person.member.role, MemberRole::Developer);
        app.clock.advance(MINUTE);
        must(people.remove(&owner.person, of(&admin)).await);
        assert!(!is_in(people, &admin.token).await);
        assert!(matches!(sign_in(people, "admin@example.com", PASSWORD).await, Err(SignInError::Wrong)));
        app.clock.advance(MINUTE);
        people.note(&again.person, "agent.publish", "an agent", Changes::default()).await;
        let page = offhook_services::PageRequest { after: None, limit: 3 };
        let page = must(people.audit(app.account, AuditFilter::default(), page).await);
        let told: Vec<_> = page.items.iter().map(|line| {
            (line.actor.clone(), line.action.as_str(), line.target.clone())
        }).collect();
        assert_eq!(told, [
            (format!("member:{}", of(&viewer)), "agent.publish", "an agent".to_owned()),
            (format!("member:{}", of(&owner)), "member.remove", of(&admin).to_string()),
            (format!("member:{}", of(&admin)), "member.role", of(&viewer).to_string()),
        ]);
        assert!(page.has_more);
    }

    async fn a_seat_is_needed_and_an_invitation_is_withdrawn(app) {
        let people = app.services.people();
        let made = app.services.accounts().create("Small", Plan::Starter, None, None, None);
        let small = must(made.await).id;
        let owner = member(&app, small, "owner@example.com", MemberRole::Owner).await;
        let invite = async |address: &str| {
            people.invite(&owner.person, email(address), "Eva", MemberRole::Viewer).await
        };
        let first = must(invite("a@example.com").await);
        assert!(matches!(invite("a@example.com").await, Err(TeamRefusal::Invited(_))));
        must(invite("b@example.com").await);
        assert!(matches!(invite("c@example.com").await, Err(TeamRefusal::NoSeat { used: 3, max: 3 })));
        assert_eq!(must(people.invitations(&owner.person).await).len(), 2);
        must(people.withdraw(&owner.person, email("a@example.com")).await);
        assert!(must(people.invitation(&first.token).await).is_none());
        let late = must(invite("c@example.com").await);
        let short = people.accept_invitation(&late.token, "Eva", "short", here()).await;
        assert!(matches!(short, Err(JoinError::Password(PasswordFault::TooShort))));
        let nameless = people.accept_invitation(&late.token, " ", PASSWORD, here()).await;
        assert!(matches!(nameless, Err(JoinError::Name)));
        app.clock.advance(HOUR * 24 * 7);
        let gone = people.accept_invitation(&late.token, "Eva", PASSWORD, here()).await;
        assert!(matches!(gone, Err(JoinError::Gone)));
    }

    async fn nobody_begins_a_service_that_has_an_account(app) {
        let people = app.services.people();
        assert!(!must(people.awaits_first_account().await));
        assert_eq!(must(people.first_run_code().await), None);
        let new = NewService {
            code: "",
            account_name: "Mine",
            plan: Plan::Pro,
            email: "eve@example.com",
            name: "Eve",
            password: PASSWORD,
        };
        assert!(matches!(people.begin(new).await, Err(BeginError::Begun)));
    }
}
