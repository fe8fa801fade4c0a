//! Signing in by an account's identity provider, and what a false one gets.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use offhook_domain::{Clock as _, MemberRole, Plan};
use offhook_testkit::upstream::{Answer, Fault, ReceivedRequest, Upstream};
use parking_lot::Mutex;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};

use crate::it::world::{Browser, PASSWORD, Page, World, must};

const SECRET: &str = "the client's secret";

/// An identity provider that issues what a test tells it.
struct Provider {
    upstream: Upstream,
    state: Arc<Mutex<State>>,
}

struct State {
    key: EcdsaKeyPair,
    /// The algorithm that a token names.
    alg: &'static str,
    claims: Value,
    /// Claims that only the userinfo endpoint tells.
    told: Value,
    /// Bytes around a token.
    padding: usize,
    /// The form of the last code that was exchanged.
    form: Vec<(String, String)>,
}

fn new_key() -> EcdsaKeyPair {
    let random = SystemRandom::new();
    let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
    let key = must(EcdsaKeyPair::generate_pkcs8(algorithm, &random));
    must(EcdsaKeyPair::from_pkcs8(algorithm, key.as_ref(), &random))
}

fn encoded(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

impl State {
    fn token(&self) -> String {
        let head = json!({"alg": self.alg, "typ": "JWT", "kid": "first"});
        let head = encoded(head.to_string());
        let signed = format!("{head}.{}", encoded(self.claims.to_string()));
        let signature = match self.alg {
            "none" => Vec::new(),
            _ => must(self.key.sign(&SystemRandom::new(), signed.as_bytes()))
                .as_ref()
                .to_vec(),
        };
        format!("{signed}.{}", encoded(signature))
    }
}

fn answer(asked: &ReceivedRequest, state: &mut State) -> Answer {
    let issuer = format!("http://{}", asked.header("host").unwrap_or_default());
    match asked.path.as_str() {
        "/.well-known/openid-configuration" => Answer::json(
            200,
            &json!({
                "issuer": issuer,
                "authorization_endpoint": format!("{issuer}/authorize"),
                "token_endpoint": format!("{issuer}/token"),
                "userinfo_endpoint": format!("{issuer}/userinfo"),
                "jwks_uri": format!("{issuer}/keys"),
                "response_types_supported": ["code"],
                "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": ["ES256", "none", "HS256"],
            }),
        ),
        "/keys" => {
            let point = state.key.public_key().as_ref();
            Answer::json(
                200,
                &json!({"keys": [{
                    "kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": "first",
                    "x": encoded(&point[1..33]), "y": encoded(&point[33..]),
                }]}),
            )
        }
        "/token" => {
            state.form = asked.form();
            Answer::json(
                200,
                &json!({
                    "access_token": "secret-access", "token_type": "Bearer", "id_token": state.token(),
                    "padding": "x".repeat(state.padding),
                }),
            )
        }
        "/userinfo" => Answer::json(200, &state.told),
        _ => Answer::empty(404),
    }
}

impl Provider {
    async fn start() -> Self {
        let state = Arc::new(Mutex::new(State {
            key: new_key(),
            alg: "ES256",
            claims: Value::Null,
            told: json!({"sub": "ana"}),
            padding: 0,
            form: Vec::new(),
        }));
        let served = state.clone();
        let upstream = Upstream::start(move |asked| answer(asked, &mut served.lock())).await;
        Self { upstream, state }
    }

    fn issuer(&self) -> String {
        self.upstream.base_url()
    }
}

/// A browser at the provider: what its callback needs.
struct Going {
    browser: Browser,
    path: String,
    state: String,
    nonce: String,
}

/// Follows the sign-in link of the account up to the provider.
async fn go(world: &World, nobody: &Browser) -> Going {
    let path = format!("/sso/{}", world.account);
    let page = nobody.sees(&path, &["Acme", "Continue to 127.0.0.1"]).await;
    let (_, rest) = page
        .body
        .split_once("<a class=\"button primary\" href=\"")
        .unwrap_or_default();
    let url = rest
        .split('"')
        .next()
        .unwrap_or_default()
        .replace("&amp;", "&");
    let url = must(url::Url::parse(&url));
    let of = |name: &str| {
        let mut pairs = url.query_pairs();
        let found = pairs.find(|(known, _)| known == name);
        found
            .unwrap_or_else(|| panic!("no {name} in {url}"))
            .1
            .into_owned()
    };
    assert_eq!(of("response_type"), "code");
    assert_eq!(of("code_challenge_method"), "S256");
    assert_eq!(of("scope"), "openid email profile");
    let callback = of("redirect_uri");
    assert!(
        callback.ends_with(&format!("/portal{path}/callback")),
        "{callback}"
    );
    let cookie = page.header("set-cookie").unwrap_or_default();
    assert!(
        cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax"),
        "{cookie}"
    );
    let cookie = cookie.split(';').next().unwrap_or_default();
    Going {
        browser: nobody
            .reading(&page)
            .saying(format!("\r\nCookie: {cookie}").leak()),
        path: format!("{path}/callback"),
        state: of("state"),
        nonce: of("nonce"),
    }
}

impl Going {
    async fn back(&self, state: &str, code: &str) -> Page {
        let path = format!("{}?state={state}&code={code}", self.path);
        self.browser.get(&path).await
    }
}

/// The right claims for the owner.
fn claims(world: &World, provider: &Provider, going: &Going) -> Value {
    let now = world.clock.now().unix_seconds();
    json!({
        "iss": provider.issuer(), "aud": "offhook", "sub": "ana", "nonce": going.nonce,
        "iat": now, "exp": now + 60,
        "email": format!("Owner@{}.example", world.account), "email_verified": true,
    })
}

async fn set_up(provider: &Provider, ana: &Browser, more: &[(&str, &str)]) -> Page {
    let issuer = provider.issuer();
    let base = [
        ("issuer", issuer.as_str()),
        ("client_id", "offhook"),
        ("client_secret", SECRET),
    ];
    ana.post("/settings/single-sign-on", &[&base[..], more].concat())
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_signs_members_in_and_a_false_answer_signs_nobody_in() {
    let world = World::start().await;
    let provider = Provider::start().await;
    let ana = world.browser(MemberRole::Owner).await;
    assert_eq!(
        set_up(&provider, &ana, &[]).await.leads(),
        "/settings/single-sign-on"
    );
    ana.sees("/settings/single-sign-on", &["Leave empty to keep"])
        .await;
    let nobody = world.nobody();

    let right = go(&world, &nobody).await;
    let rightful = claims(&world, &provider, &right);
    provider.state.lock().claims = rightful;
    right
        .back("another", "code")
        .await
        .assert(403)
        .shows(&["another browser"]);
    let stolen = format!("{}?state={}&code=code", right.path, right.state);
    nobody
        .get(&stolen)
        .await
        .assert(403)
        .shows(&["another browser"]);
    let denied = format!("{}?state={}&error=access_denied", right.path, right.state);
    right
        .browser
        .get(&denied)
        .await
        .assert(403)
        .shows(&["did not sign you in"]);
    let done = right.back(&right.state, "the-code").await;
    let signed_in = world.kept(&done).await;
    assert_eq!(done.leads(), "/");
    let form = provider.state.lock().form.clone();
    let of = |name: &str| {
        form.iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.len())
    };
    assert_eq!(of("code"), Some("the-code".len()));
    assert_eq!(of("code_verifier"), Some(43));
    // The session has no other account, nor what belongs to the password.
    let profile = signed_in.sees("/profile", &["Acme"]).await;
    assert!(
        !profile.body.contains("Change password"),
        "{}",
        profile.body
    );

    type Change = fn(&mut State);
    let cases: [(&str, Change, u16, &str); 11] = [
        (
            "issuer",
            |state| state.claims["iss"] = json!("https://evil.example"),
            502,
            "did not respond",
        ),
        (
            "audience",
            |state| state.claims["aud"] = json!("another"),
            502,
            "did not respond",
        ),
        (
            "second audience",
            |state| state.claims["aud"] = json!(["offhook", "another"]),
            502,
            "did not respond",
        ),
        (
            "nonce",
            |state| state.claims["nonce"] = json!("another"),
            502,
            "did not respond",
        ),
        (
            "no nonce",
            |state| {
                state.claims.as_object_mut().unwrap().remove("nonce");
            },
            502,
            "did not respond",
        ),
        (
            "expired",
            |state| state.claims["exp"] = json!(state.claims["iat"].as_i64().unwrap() - 1),
            502,
            "did not respond",
        ),
        (
            "alg none",
            |state| state.alg = "none",
            502,
            "did not respond",
        ),
        (
            "too large",
            |state| state.padding = 300_000,
            502,
            "did not respond",
        ),
        (
            "not verified",
            |state| state.claims["email_verified"] = json!(false),
            403,
            "no verified email",
        ),
        (
            "nobody",
            |state| state.claims["email"] = json!("eve@evil.example"),
            403,
            "not a member",
        ),
        (
            "another key",
            |state| state.key = new_key(),
            502,
            "did not respond",
        ),
    ];
    for (case, change, status, message) in cases {
        let going = go(&world, &nobody).await;
        let right = claims(&world, &provider, &going);
        {
            let mut state = provider.state.lock();
            state.claims = right;
            change(&mut state);
        }
        let answer = going.back(&going.state, "code").await;
        assert_eq!(answer.status, status, "{case}: {}", answer.body);
        assert!(answer.body.contains(message), "{case}: {}", answer.body);
        let cookie = answer.header("set-cookie").unwrap_or_default();
        assert!(!cookie.contains("offhook_session"), "{case}: {cookie}");
        let mut state = provider.state.lock();
        (state.alg, state.padding) = ("ES256", 0);
    }

    // Within a while the provider's new key is read, and its old one is forgotten.
    world.clock.advance(Duration::from_secs(30));
    let going = go(&world, &nobody).await;
    provider.state.lock().claims = claims(&world, &provider, &going);
    let done = going.back(&going.state, "code").await;
    world.kept(&done).await;

    // A provider whose ID token has no address tells it at its userinfo endpoint.
    let going = go(&world, &nobody).await;
    {
        let mut state = provider.state.lock();
        let mut whole = claims(&world, &provider, &going);
        let told = json!({"sub": "ana", "email": whole["email"], "email_verified": true});
        let claims = whole.as_object_mut().unwrap();
        claims.remove("email");
        claims.remove("email_verified");
        (state.claims, state.told) = (whole, told);
    }
    let done = going.back(&going.state, "code").await;
    world.kept(&done).await;
    provider.state.lock().told["sub"] = json!("another");
    let going = go(&world, &nobody).await;
    provider.state.lock().claims["nonce"] = json!(going.nonce);
    going.back(&going.state, "code").await.assert(502);

    // The answers of a provider that hangs or never ends are given up.
    provider.upstream.fail("POST", "/token", Fault::Endless, 1);
    let going = go(&world, &nobody).await;
    provider.state.lock().claims = claims(&world, &provider, &going);
    going.back(&going.state, "code").await.assert(502);

    ana.sends(
        "/settings/single-sign-on/remove",
        &[],
        "/settings/single-sign-on",
    )
    .await;
    signed_in.get("/profile").await.assert(401);
    let gone = format!("/sso/{}", world.account);
    nobody.get(&gone).await.assert(404).shows(&["not set up"]);
    ana.sees(
        "/settings/audit",
        &["single_sign_on.set", "single_sign_on.remove"],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_opens_its_own_account_alone_and_may_be_required() {
    let world = World::start().await;
    let provider = Provider::start().await;
    let ana = world.browser(MemberRole::Owner).await;
    let eva = world.browser(MemberRole::Developer).await;
    let email = format!("developer@{}.example", world.account);
    // Ana's address is a member elsewhere too.
    let accounts = world.services.accounts();
    let other = accounts.create("Beta", Plan::Scale, Some(1_000), None, None);
    let other = must(other.await).id;
    let team = world.services.team();
    must(
        team.add(other, must(email.parse()), "Eva", MemberRole::Owner)
            .await,
    );
    eva.sees("/profile", &["Beta"]).await;

    let domain = format!("{}.example", world.account);
    let taken = set_up(&provider, &ana, &[("email_domain", "gmail.com")]).await;
    taken.assert(422).shows(&["must be the one of your own"]);
    let required = [("is_required", "on"), ("email_domain", &domain)];
    set_up(&provider, &ana, &required).await.assert(303);
    // Owners may still use a password; others may enter only their other accounts with it.
    ana.get("/profile").await.assert(200);
    eva.get("/profile").await.assert(401);
    let nobody = world.nobody();
    let in_beta = nobody
        .post("/sign-in", &[("email", &email), ("password", PASSWORD)])
        .await;
    let in_beta = world.kept(&in_beta).await;
    in_beta.sees("/settings", &["Beta"]).await;
    let account = world.account.to_string();
    in_beta
        .post("/profile/account", &[("account", &account)])
        .await
        .assert(404);
    must(team.remove(other, must(email.parse())).await);
    let refused = nobody
        .post("/sign-in", &[("email", &email), ("password", PASSWORD)])
        .await;
    refused.assert(403).shows(&["requires single sign-on"]);
    must(
        team.add(other, must(email.parse()), "Eva", MemberRole::Owner)
            .await,
    );

    for address in [&email, &format!("nobody@{domain}")] {
        nobody
            .sends("/sso", &[("email", address)], &format!("/sso/{account}"))
            .await;
    }
    nobody
        .refused(
            "/sso",
            &[("email", "ana@evil.example")],
            &["No account uses"],
        )
        .await;
    let going = go(&world, &nobody).await;
    let mut named = claims(&world, &provider, &going);
    named["email"] = json!(email);
    provider.state.lock().claims = named;
    let done = going.back(&going.state, "code").await;
    let eva = world.kept(&done).await;
    let profile = eva.sees("/profile", &["Acme"]).await;
    assert!(!profile.body.contains("Beta"), "{}", profile.body);
    let beta = other.to_string();
    eva.post("/profile/account", &[("account", &beta)])
        .await
        .assert(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn people_whom_a_provider_names_become_viewers_where_the_owner_wants_it() {
    let world = World::start().await;
    let provider = Provider::start().await;
    let ana = world.browser(MemberRole::Owner).await;
    let admin = world.browser(MemberRole::Admin).await;
    let refused = set_up(&provider, &admin, &[]).await;
    refused.assert(422).shows(&["Only an owner"]);
    set_up(&provider, &ana, &[("creates_viewers", "on")])
        .await
        .assert(303);
    let nobody = world.nobody();
    let enter = async |email: &str| {
        let going = go(&world, &nobody).await;
        let mut named = claims(&world, &provider, &going);
        (named["email"], named["name"]) = (json!(email), json!("Eve Field"));
        provider.state.lock().claims = named;
        going.back(&going.state, "code").await
    };
    let eve = world.kept(&enter("eve@example.com").await).await;
    eve.sees("/profile", &["Eve Field", "Viewer"]).await;
    // Somebody who set a password with another account's invitation may not be its owner.
    let accounts = world.services.accounts();
    let other = accounts.create("Beta", Plan::Scale, Some(1_000), None, None);
    let other = must(other.await).id;
    let team = world.services.team();
    let bob = must("bob@example.com".parse());
    let invited = must(team.invite(other, bob, "Bob", MemberRole::Admin).await);
    let joins = [("name", "Bob"), ("password", PASSWORD)];
    nobody
        .post(&format!("/join/{}", invited.token), &joins)
        .await
        .assert(303);
    enter("bob@example.com")
        .await
        .assert(403)
        .shows(&["not a member"]);
}
