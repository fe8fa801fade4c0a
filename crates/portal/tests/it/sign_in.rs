//! Password guessing by strangers.

use std::net::IpAddr;
use std::time::Duration;

use offhook_domain::MemberRole;
use offhook_services::SignInError;

use crate::it::world::{PASSWORD, World, must};

#[tokio::test(flavor = "multi_thread")]
async fn what_strangers_guess_keeps_nobody_out_elsewhere() {
    let world = World::start().await;
    let ana = world.browser(MemberRole::Owner).await;
    let email = format!("owner@{}.example", world.account);
    let people = world.services.people();
    let sign_in = async |host: u8, password: &str| {
        let address = IpAddr::from([192, 0, 2, host]);
        people.sign_in(&email, password, address).await
    };
    let waits = async |host: u8, password: &str| {
        let blocked = sign_in(host, password).await;
        let wait = SignInError::Throttled { seconds: 60 }.to_string();
        assert_eq!(blocked.map_err(|error| error.to_string()).err(), Some(wait));
    };
    let guess_five = async |host: u8| {
        for _ in 0..5 {
            let guessed = sign_in(host, "guess guess guess").await;
            assert!(matches!(guessed, Err(SignInError::Wrong)), "{guessed:?}");
        }
    };
    guess_five(1).await;
    waits(1, PASSWORD).await;
    must(sign_in(2, PASSWORD).await);

    // From many addresses, ten times as many guesses are checked before all have to wait.
    for host in 10..19 {
        guess_five(host).await;
    }
    waits(3, PASSWORD).await;

    // A signed-in person has a separate guess limit.
    let path = "/profile/password";
    let other = "another long password";
    let change = [("password", PASSWORD), ("new_password", other)];
    let changed = ana.post(path, &change).await;
    ana.get("/profile").await.assert(401);
    let ana = world.kept(&changed).await;
    assert_eq!(changed.leads(), "/profile");
    for _ in 0..5 {
        ana.post(path, &change).await.assert(422);
    }
    let blocked = ana.refused(path, &change, &["Too many attempts."]).await;
    assert_eq!(blocked.header("retry-after"), Some("60"));

    // Earlier guesses at the password no longer count at that address.
    world.clock.advance(Duration::from_secs(60));
    must(sign_in(1, other).await);
    let back = [("password", other), ("new_password", PASSWORD)];
    ana.sends(path, &back, "/profile").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_five_guesses_the_door_stays_shut_to_the_right_password_too() {
    let world = World::start().await;
    let ana = world.browser(MemberRole::Owner).await;
    let email = format!("owner@{}.example", world.account);
    let sign_in = async |password: &str| {
        let fields = [("email", email.as_str()), ("password", password)];
        ana.post("/sign-in", &fields).await
    };
    for _ in 0..5 {
        sign_in("guess guess guess").await.assert(422);
    }
    for password in ["guess guess guess", PASSWORD] {
        let blocked = sign_in(password).await.assert(429);
        assert_eq!(blocked.header("retry-after"), Some("60"));
        assert_eq!(blocked.header("set-cookie"), None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_travels_over_https_or_within_the_machine() {
    let far = "\r\nX-Forwarded-For: 203.0.113.9";
    for (public_url, from, expected) in [
        ("http://voice.example.com", "", Some(false)),
        ("http://voice.example.com", far, None),
        ("https://voice.example.com", "", Some(true)),
        ("https://voice.example.com", far, Some(true)),
    ] {
        let world = World::start_known_as(public_url).await;
        let email = format!("owner@{}.example", world.account);
        let ana = world.browser(MemberRole::Owner).await.saying(from);
        let fields = [("email", email.as_str()), ("password", PASSWORD)];
        let answer = ana.post("/sign-in", &fields).await;
        let case = format!("{public_url} {from}");
        let Some(is_secure) = expected else {
            assert_eq!(answer.header("set-cookie"), None, "{case}");
            let why = "Without HTTPS you can only sign in from this machine";
            answer.assert(403).shows(&[why, "http.public_url"]);

            continue;
        };
        let cookie = answer.header("set-cookie").unwrap_or_default();
        let words: Vec<&str> = cookie.split("; ").collect();
        assert!(words[0].starts_with("offhook_session="), "{case}: {cookie}");
        for (word, is_there) in [
            ("HttpOnly", true),
            ("SameSite=Lax", true),
            ("Secure", is_secure),
        ] {
            assert_eq!(words.contains(&word), is_there, "{case}: {cookie}");
        }
    }
}
