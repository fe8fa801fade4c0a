//! Password guessing by strangers, and two-step verification.

use std::net::IpAddr;
use std::time::Duration;

use offhook_domain::{Clock as _, MemberRole, Plan};
use offhook_services::SignInError;
use offhook_testkit::ManualClock;
use ring::hmac;

use crate::it::world::{Browser, PASSWORD, Page, World, must};

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

/// The value of a hidden field.
fn hidden(page: &Page, name: &str) -> String {
    let before = format!("name=\"{name}\" value=\"");
    let (_, rest) = page.body.split_once(&before).unwrap_or_default();
    rest.split('"').next().unwrap_or_default().to_owned()
}

/// What an authenticator app shows for this secret (RFC 6238).
fn code(secret: &str, clock: &ManualClock) -> String {
    let secret = must(hex::decode(secret));
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &secret);
    let step = clock.now().unix_seconds() / 30;
    let tag = hmac::sign(&key, &step.to_be_bytes());
    let bytes = tag.as_ref();
    let offset = usize::from(bytes[19] & 15);
    let word: [u8; 4] = must(bytes[offset..offset + 4].try_into());
    format!(
        "{:06}",
        (u32::from_be_bytes(word) & 0x7fff_ffff) % 1_000_000
    )
}

/// Turns two-step verification on; returns the secret and the recovery codes.
async fn turn_on(world: &World, ana: &Browser) -> (String, Vec<String>) {
    let page = ana.sees("/profile/two-step", &["<svg", "Copy Key"]).await;
    let secret = hidden(&page, "secret");
    let now = code(&secret, &world.clock);
    let path = "/profile/two-step";
    let form = |password, code| {
        [
            ("secret", secret.as_str()),
            ("current_password", password),
            ("code", code),
        ]
    };
    let wrong = form("guess guess guess", &now);
    ana.refused(path, &wrong, &["The password is wrong.", &secret])
        .await;
    ana.refused(path, &form(PASSWORD, "12345"), &["Wrong code", &secret])
        .await;
    let on = ana.post(path, &form(PASSWORD, &now)).await.assert(200);
    let (_, rest) = on.body.split_once("<pre id=\"codes\">").unwrap_or_default();
    let (codes, _) = rest.split_once("</pre>").unwrap_or_default();
    (secret, codes.lines().map(str::to_owned).collect())
}

/// Enters the password of a person with two-step verification.
async fn half_way(world: &World, ana: &Browser) -> Browser {
    let email = format!("owner@{}.example", world.account);
    let half = ana
        .post("/sign-in", &[("email", &email), ("password", PASSWORD)])
        .await;
    let half = half.assert(200).shows(&["Two-step verification"]);
    let cookie = half.header("set-cookie").unwrap_or_default();
    assert!(cookie.starts_with("offhook_sign_in="), "{cookie}");
    assert!(cookie.contains("HttpOnly"), "{cookie}");
    let cookie = cookie.split(';').next().unwrap_or_default();
    ana.reading(&half)
        .saying(format!("\r\nCookie: {cookie}").leak())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_is_asked_for_after_the_password_and_accepted_once() {
    let world = World::start().await;
    let ana = world.browser(MemberRole::Owner).await;
    let elsewhere = world.browser_elsewhere(MemberRole::Owner).await;
    let (secret, recovery) = turn_on(&world, &ana).await;
    assert_eq!(recovery.len(), 10);
    elsewhere.get("/profile").await.assert(401);
    ana.sees("/profile", &["Recovery codes left: 10."]).await;

    let path = "/sign-in/code";
    let half = half_way(&world, &ana).await;
    half.sees(path, &["Enter the code"]).await;
    let used = code(&secret, &world.clock);
    half.refused(path, &[("code", &used)], &["already used"])
        .await;
    world.clock.advance(Duration::from_secs(30));
    let next = code(&secret, &world.clock);
    let done = half
        .post(path, &[("code", &next), ("next", "/portal/logs")])
        .await;
    let ana = world.kept(&done).await;
    assert_eq!(done.leads(), "/logs");
    // The sign-in is finished: its cookie and its code open nothing any more.
    half.refused(path, &[("code", &next)], &["has expired"])
        .await;
    let half = half_way(&world, &ana).await;
    half.refused(path, &[("code", &next)], &["already used"])
        .await;
    world.clock.advance(Duration::from_secs(600));
    let late = code(&secret, &world.clock);
    half.refused(path, &[("code", &late)], &["has expired"])
        .await;

    // A recovery code works once, however it is typed.
    let typed = recovery[0].to_lowercase().replace('-', " ");
    let half = half_way(&world, &ana).await;
    let done = half.post(path, &[("code", &typed)]).await;
    let ana = world.kept(&done).await;
    ana.sees("/profile", &["Recovery codes left: 9."]).await;
    let half = half_way(&world, &ana).await;
    half.refused(path, &[("code", &typed)], &["already used"])
        .await;

    let off = "/profile/two-step/off";
    let fields = [
        ("current_password", PASSWORD),
        ("code", recovery[0].as_str()),
    ];
    ana.refused(off, &fields, &["already used"]).await;
    let fields = [
        ("current_password", PASSWORD),
        ("code", recovery[1].as_str()),
    ];
    ana.sends(off, &fields, "/profile").await;
    half.refused(path, &[("code", &recovery[2])], &["has expired"])
        .await;
    let actions = ["two_step.on", "recovery_code.use", "two_step.off"];
    ana.sees("/settings/audit", &actions).await;
    world.browser_elsewhere(MemberRole::Owner).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn codes_are_guessed_five_times_and_the_operators_link_turns_them_off() {
    let world = World::start().await;
    let ana = world.browser(MemberRole::Owner).await;
    let (secret, _) = turn_on(&world, &ana).await;
    world.clock.advance(Duration::from_secs(30));
    let path = "/sign-in/code";
    let half = half_way(&world, &ana).await;
    for _ in 0..5 {
        half.refused(path, &[("code", "000000x")], &["Wrong code"])
            .await;
    }
    let right = code(&secret, &world.clock);
    let blocked = half.post(path, &[("code", &right)]).await.assert(429);
    assert_eq!(blocked.header("retry-after"), Some("60"));
    // The password again gives no more guesses.
    let half = half_way(&world, &ana).await;
    half.post(path, &[("code", &right)]).await.assert(429);

    let people = world.services.people();
    let email = must(format!("owner@{}.example", world.account).parse());
    assert!(must(people.has_two_step(&email).await));
    let link = must(people.link(world.account, &email).await);
    let link = link.unwrap_or_else(|| panic!("no link"));
    let page = format!("/welcome/{}", link.token);
    ana.sees(&page, &["It also turns your two-step verification off."])
        .await;
    let done = ana.post(&page, &[("new_password", PASSWORD)]).await;
    let ana = world.kept(&done).await;
    ana.sees("/settings/audit", &["two_step.off"]).await;
    world.browser_elsewhere(MemberRole::Owner).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invitation_is_accepted_with_the_password_and_entered_with_a_code() {
    let world = World::start().await;
    let ana = world.browser(MemberRole::Owner).await;
    let (secret, _) = turn_on(&world, &ana).await;
    let accounts = world.services.accounts();
    let other = accounts.create("Beta", Plan::Scale, Some(1_000), None, None);
    let other = must(other.await).id;
    let email = must(format!("owner@{}.example", world.account).parse());
    let team = world.services.team();
    let invited = must(team.invite(other, email, "Ana", MemberRole::Admin).await);
    let path = format!("/join/{}", invited.token);
    let joined = ana
        .post(&path, &[("name", "Ana"), ("password", PASSWORD)])
        .await;
    let cookie = joined.header("set-cookie").unwrap_or_default().to_owned();
    assert!(!cookie.contains("offhook_session"), "{cookie}");
    assert_eq!(joined.leads(), "/sign-in/code");
    let cookie = cookie.split(';').next().unwrap_or_default();
    let half = ana.saying(format!("\r\nCookie: {cookie}").leak());
    world.clock.advance(Duration::from_secs(30));
    let next = code(&secret, &world.clock);
    let done = half.post("/sign-in/code", &[("code", &next)]).await;
    world.kept(&done).await.sees("/settings", &["Beta"]).await;
}
