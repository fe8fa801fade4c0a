//! Passkeys of a software authenticator, and what a false one gets.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use offhook_domain::{Clock as _, MemberRole};
use offhook_services::store::NewSingleSignOn;
use offhook_testkit::{TestDatabase, contract};
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};

use crate::it::world::{Browser, PASSWORD, Page, World, must};

const ORIGIN: &str = "https://voice.example.com";
const NEW: &str = "/profile/passkeys/new";

/// An authenticator with one passkey (ES256), and the browser around it.
struct Authenticator {
    key: EcdsaKeyPair,
    id: Vec<u8>,
    origin: &'static str,
    /// The user handle of its passkey.
    handle: Value,
    counter: u32,
    verifies_user: bool,
}

fn encoded(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn sha256(bytes: &[u8]) -> Vec<u8> {
    digest(&SHA256, bytes).as_ref().to_vec()
}

impl Authenticator {
    fn new(id: u8) -> Self {
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_ASN1_SIGNING;
        let key = must(EcdsaKeyPair::generate_pkcs8(algorithm, &random));
        Self {
            key: must(EcdsaKeyPair::from_pkcs8(algorithm, key.as_ref(), &random)),
            id: vec![id; 16],
            origin: ORIGIN,
            handle: Value::Null,
            counter: 1,
            verifies_user: true,
        }
    }

    /// The authenticator data: of a new passkey, or of a signature.
    fn data(&self, is_new: bool) -> Vec<u8> {
        let flags = 0x01 | u8::from(self.verifies_user) << 2 | u8::from(is_new) << 6;
        let mut data = sha256(b"voice.example.com");
        data.push(flags);
        data.extend(self.counter.to_be_bytes());
        if is_new {
            let point = self.key.public_key().as_ref();
            data.extend([0; 16]);
            data.extend([0, 16]);
            data.extend(&self.id);
            // COSE, in CBOR: EC2, ES256, P-256, x and y.
            data.extend(b"\xa5\x01\x02\x03\x26\x20\x01\x21\x58\x20");
            data.extend(&point[1..33]);
            data.extend(b"\x22\x58\x20");
            data.extend(&point[33..]);
        }
        data
    }

    fn answer(&self, kind: &str, options: &Value, response: Value) -> String {
        let client = json!({
            "type": kind, "challenge": options["challenge"], "origin": self.origin, "crossOrigin": false,
        });
        let client = client.to_string();
        let mut response = response;
        response["clientDataJSON"] = json!(encoded(&client));
        if kind == "webauthn.get" {
            let data = self.data(false);
            let signed = [data.as_slice(), &sha256(client.as_bytes())].concat();
            let signature = must(self.key.sign(&SystemRandom::new(), &signed));
            response["authenticatorData"] = json!(encoded(data));
            response["signature"] = json!(encoded(signature));
        }
        let id = encoded(&self.id);
        json!({
            "id": id, "rawId": id, "type": "public-key", "response": response, "clientExtensionResults": {},
        })
        .to_string()
    }

    /// `navigator.credentials.create()`.
    fn create(&mut self, options: &Value) -> String {
        self.handle = options["user"]["id"].clone();
        let data = self.data(true);
        let mut object = b"\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x58".to_vec();
        object.push(must(data.len().try_into()));
        object.extend(data);
        let response = json!({ "attestationObject": encoded(object), "transports": ["internal"] });
        self.answer("webauthn.create", options, response)
    }

    /// `navigator.credentials.get()`.
    fn get(&mut self, options: &Value) -> String {
        self.counter += 1;
        let response = json!({ "userHandle": self.handle });
        self.answer("webauthn.get", options, response)
    }
}

fn read(page: Page) -> Value {
    let page = page.assert(200);
    assert_eq!(page.header("cache-control"), Some("no-store"));
    must(serde_json::from_str(&page.body))
}

/// The browser with this cookie of an answer.
fn with_cookie(browser: &Browser, answer: &Page) -> Browser {
    let cookie = answer.header("set-cookie").unwrap_or_default();
    for word in ["HttpOnly", "Secure", "SameSite=Lax"] {
        assert!(cookie.contains(word), "{cookie}");
    }
    let cookie = cookie.split(';').next().unwrap_or_default();
    browser
        .reading(answer)
        .saying(format!("\r\nCookie: {cookie}").leak())
}

/// Asks for the options of a new passkey.
async fn begin(ana: &Browser, password: &str, more: &[(&str, &str)]) -> Page {
    let mut fields = vec![("name", "Phone"), ("current_password", password)];
    fields.extend(more);
    ana.post("/profile/passkeys/options", &fields).await
}

/// Adds the first passkey; returns the recovery codes.
async fn add(ana: &Browser, authenticator: &mut Authenticator) -> Vec<String> {
    let options = read(begin(ana, PASSWORD, &[]).await);
    let made = authenticator.create(&options);
    let added = ana.post(NEW, &[("credential", &made)]).await.assert(200);
    codes(&added)
}

fn codes(page: &Page) -> Vec<String> {
    let (_, rest) = page
        .body
        .split_once("<pre id=\"codes\">")
        .unwrap_or_default();
    let (codes, _) = rest.split_once("</pre>").unwrap_or_default();
    codes.lines().map(str::to_owned).collect()
}

/// Begins a sign-in with a passkey: the browser with its cookie, and the options.
async fn knock(world: &World) -> (Browser, Value) {
    let nobody = world.nobody();
    let asked = nobody.post("/sign-in/passkey/options", &[]).await;
    let browser = with_cookie(&nobody, &asked);
    (browser, read(asked))
}

async fn enter(browser: &Browser, answer: &str) -> Page {
    let fields = [("passkey", answer), ("next", "/portal/logs")];
    browser.post("/sign-in/passkey", &fields).await
}

/// Enters the password of the account's owner, whose second factor is asked for then.
async fn half_way(world: &World, email: &str) -> Browser {
    let fields = [("email", email), ("password", PASSWORD)];
    let half = world.nobody().post("/sign-in", &fields).await.assert(200);
    with_cookie(&world.nobody(), &half)
}

/// What a form of a person with two-step verification confirms.
fn confirmed<'a>(password: &'a str, code: &'a str) -> [(&'a str, &'a str); 2] {
    [("current_password", password), ("code", code)]
}

contract! {
    async fn a_passkey_signs_in_alone_and_after_the_password(database: TestDatabase) {
        let world = World::start_known_on(database, ORIGIN).await;
        let ana = world.browser(MemberRole::Owner).await;
        let email = format!("owner@{}.example", world.account);
        let elsewhere = world.browser_elsewhere(MemberRole::Owner).await;
        ana.sees("/profile/passkeys", &["No passkeys yet"]).await;
        ana.in_spanish().sees(NEW, &["Tu navegador no conoce las llaves de acceso"]).await;
        let ana = world.browser_elsewhere(MemberRole::Owner).await;
        begin(&ana, "guess guess guess", &[]).await.assert(422).shows(&["The password is wrong."]);

        let mut phone = Authenticator::new(1);
        let options = read(begin(&ana, PASSWORD, &[]).await);
        let chosen = &options["authenticatorSelection"];
        assert_eq!((&chosen["residentKey"], &chosen["userVerification"]), (&json!("required"), &json!("required")));
        let handle = must(URL_SAFE_NO_PAD.decode(options["user"]["id"].as_str().unwrap_or_default()));
        assert_eq!((handle.len(), &options["rp"]["id"]), (16, &json!("voice.example.com")));
        let made = phone.create(&options);
        let added = ana.post(NEW, &[("credential", &made)]).await.assert(200);
        let recovery = codes(&added.shows(&["Two-step verification is on."]));
        assert_eq!(recovery.len(), 10);
        elsewhere.get("/profile").await.assert(401);
        // The challenge was used up.
        ana.refused(NEW, &[("credential", &made)], &["was not added"]).await;
        ana.sees("/profile/passkeys", &["Phone"]).await;

        // Without a password.
        world.nobody().sees("/sign-in", &["username webauthn", "Use a passkey"]).await;
        let (door, options) = knock(&world).await;
        assert_eq!((&options["userVerification"], &options["allowCredentials"]), (&json!("required"), &json!([])));
        let done = enter(&door, &phone.get(&options)).await;
        let ana = world.kept(&done).await;
        assert_eq!(done.leads(), "/logs");

        // After the password, which alone no longer opens the door.
        let half = half_way(&world, &email).await;
        let options = read(half.post("/sign-in/code/passkey", &[]).await);
        assert_eq!(options["allowCredentials"][0]["id"], json!(encoded([1; 16])));
        let answer = phone.get(&options);
        let done = half.post("/sign-in/code", &[("passkey", &answer)]).await;
        world.kept(&done).await;
        half.refused("/sign-in/code", &[("passkey", &answer)], &["has expired"]).await;
        // Or with a recovery code.
        let half = half_way(&world, &email).await;
        let done = half.post("/sign-in/code", &[("code", &recovery[0])]).await;
        world.kept(&done).await;

        let actions = ["passkey.add", "passkey.use", "two_step.on", "recovery_code.use"];
        ana.sees("/settings/audit", &actions).await;
    }

    async fn what_an_authenticator_may_not_say_is_refused(database: TestDatabase) {
        let world = World::start_known_on(database, ORIGIN).await;
        let ana = world.browser(MemberRole::Owner).await;
        let mut phone = Authenticator::new(1);
        for (origin, verifies_user) in [("https://evil.example.com", true), (ORIGIN, false)] {
            (phone.origin, phone.verifies_user) = (origin, verifies_user);
            let options = read(begin(&ana, PASSWORD, &[]).await);
            let made = phone.create(&options);
            ana.refused(NEW, &[("credential", &made)], &["was not added"]).await;
        }
        (phone.origin, phone.verifies_user) = (ORIGIN, true);
        add(&ana, &mut phone).await;

        let refused = async |browser: &Browser, answer: &str| {
            let page = enter(browser, answer).await.assert(422);
            assert!(!page.shows(&["The passkey was not accepted."]).body.is_empty());
            // Only so many are refused in a while; here each may be.
            world.clock.advance(Duration::from_secs(16 * 60));
        };
        let (door, options) = knock(&world).await;
        phone.origin = "https://voice.example.com.evil.net";
        refused(&door, &phone.get(&options)).await;
        phone.origin = ORIGIN;
        let (door, options) = knock(&world).await;
        phone.verifies_user = false;
        refused(&door, &phone.get(&options)).await;
        phone.verifies_user = true;
        // Somebody else's handle, or none.
        let handle = phone.handle.clone();
        for other in [json!(encoded([7; 16])), Value::Null] {
            let (door, options) = knock(&world).await;
            phone.handle = other;
            refused(&door, &phone.get(&options)).await;
        }
        phone.handle = handle;
        // Another key, and a passkey that is not known.
        for (id, is_known) in [(1, true), (2, false)] {
            let (door, options) = knock(&world).await;
            let mut other = Authenticator::new(id);
            other.handle = phone.handle.clone();
            other.counter = 100;
            assert_eq!(other.id == phone.id, is_known);
            refused(&door, &other.get(&options)).await;
        }
        // Another browser, and a challenge that is five minutes old.
        let (_, options) = knock(&world).await;
        let (other, _) = knock(&world).await;
        refused(&other, &phone.get(&options)).await;
        let (door, options) = knock(&world).await;
        world.clock.advance(Duration::from_secs(5 * 60));
        refused(&door, &phone.get(&options)).await;
        // Right once, and not again.
        let (door, options) = knock(&world).await;
        let answer = phone.get(&options);
        world.kept(&enter(&door, &answer).await).await;
        refused(&door, &answer).await;
        // A copy whose counter lags behind.
        phone.counter -= 2;
        let (door, options) = knock(&world).await;
        refused(&door, &phone.get(&options)).await;
        phone.counter += 2;
        let (door, options) = knock(&world).await;
        let ana = world.kept(&enter(&door, &phone.get(&options)).await).await;
        ana.sees("/settings/audit", &["passkey.copy"]).await;
    }

    async fn passkeys_are_guessed_as_often_as_passwords(database: TestDatabase) {
        let world = World::start_known_on(database, ORIGIN).await;
        let mut stranger = Authenticator::new(9);
        stranger.handle = json!(encoded([7; 16]));
        for _ in 0..5 {
            let (door, options) = knock(&world).await;
            enter(&door, &stranger.get(&options)).await.assert(422);
        }
        let (door, options) = knock(&world).await;
        let blocked = enter(&door, &stranger.get(&options)).await.assert(429);
        assert_eq!(blocked.header("retry-after"), Some("60"));
    }

    async fn a_passkey_is_of_one_person(database: TestDatabase) {
        let world = World::start_known_on(database, ORIGIN).await;
        let (ana, eva) = (world.browser(MemberRole::Owner).await, world.stranger().await);
        let (mut of_ana, mut of_eva) = (Authenticator::new(1), Authenticator::new(2));
        let recovery = add(&ana, &mut of_ana).await;
        add(&eva, &mut of_eva).await;
        let id = |page: &Page| {
            let (_, rest) = page.body.split_once("<option value=\"").unwrap_or_default();
            rest.split('"').next().unwrap_or_default().to_owned()
        };
        let of_eva_id = id(&eva.get("/profile/passkeys").await);
        let remove = "/profile/passkeys/remove";
        for id in [of_eva_id.as_str(), "nonsense"] {
            let fields = [("id", id), ("current_password", PASSWORD), ("code", recovery[0].as_str())];
            ana.post(remove, &fields).await.assert(404);
        }
        // Another person's passkey proves nothing, and is not added.
        let email = format!("owner@{}.example", world.account);
        let half = half_way(&world, &email).await;
        let options = read(half.post("/sign-in/code/passkey", &[]).await);
        half.refused("/sign-in/code", &[("passkey", &of_eva.get(&options))], &["was not accepted"]).await;
        let options = read(ana.post("/profile/passkeys/proof", &[]).await);
        let foreign = of_eva.get(&options);
        begin(&ana, PASSWORD, &[("passkey", &foreign)]).await.assert(422);
        begin(&ana, PASSWORD, &[]).await.assert(422);
        let options = read(ana.post("/profile/passkeys/proof", &[]).await);
        let own = of_ana.get(&options);
        let options = read(begin(&ana, PASSWORD, &[("passkey", &own)]).await);
        let made = of_eva.create(&options);
        ana.refused(NEW, &[("credential", &made)], &["was not added"]).await;
        // Nor twice.
        begin(&ana, PASSWORD, &[("passkey", &own)]).await.assert(422);
    }

    async fn recovery_codes_are_renewed_and_the_last_passkey_turns_it_off(database: TestDatabase) {
        let world = World::start_known_on(database, ORIGIN).await;
        let ana = world.browser(MemberRole::Owner).await;
        let path = "/profile/two-step/codes";
        assert_eq!(ana.get(path).await.leads(), "/profile");
        let mut phone = Authenticator::new(1);
        let old = add(&ana, &mut phone).await;
        ana.sees(path, &["Your present recovery codes stop working."]).await;
        ana.refused(path, &confirmed("guess guess guess", &old[0]), &["The password is wrong."]).await;
        ana.refused(path, &confirmed(PASSWORD, ""), &["Wrong code"]).await;
        let renewed = codes(&ana.post(path, &confirmed(PASSWORD, &old[0])).await.assert(200));
        assert_eq!(renewed.len(), 10);
        ana.refused(path, &confirmed(PASSWORD, &old[1]), &["Wrong code"]).await;

        // With a passkey in place of a code.
        let options = read(ana.post("/profile/passkeys/proof", &[]).await);
        let proof = phone.get(&options);
        let fields = [("current_password", PASSWORD), ("passkey", proof.as_str())];
        let renewed = codes(&ana.post(path, &fields).await.assert(200));

        let page = ana.get("/profile/passkeys").await;
        let (_, rest) = page.body.split_once("<option value=\"").unwrap_or_default();
        let id = rest.split('"').next().unwrap_or_default();
        let fields = [("id", id), ("current_password", PASSWORD), ("code", renewed[3].as_str())];
        ana.sends("/profile/passkeys/remove", &fields, "/profile/passkeys").await;
        let actions = ["passkey.remove", "two_step.off", "recovery_codes.renew"];
        ana.sees("/settings/audit", &actions).await;
        let (door, options) = knock(&world).await;
        enter(&door, &phone.get(&options)).await.assert(422);
        world.browser_elsewhere(MemberRole::Owner).await;
    }

    async fn where_single_sign_on_is_required_a_passkey_opens_no_more_than_a_password(database: TestDatabase) {
        let world = World::start_known_on(database, ORIGIN).await;
        let bob = world.browser(MemberRole::Developer).await;
        let mut phone = Authenticator::new(1);
        add(&bob, &mut phone).await;
        let provider = NewSingleSignOn {
            issuer: "https://id.example".to_owned(),
            client_id: "client".to_owned(),
            email_domain: None,
            is_required: true,
            creates_viewers: false,
        };
        let store = world.services.store();
        let now = world.clock.now();
        assert!(must(store.set_single_sign_on(world.account, provider, "secret", now).await));
        let (door, options) = knock(&world).await;
        let refused = enter(&door, &phone.get(&options)).await.assert(403);
        refused.shows(&["Your account requires single sign-on."]);
    }

    async fn a_link_of_the_operator_takes_the_passkeys_away(database: TestDatabase) {
        let world = World::start_known_on(database, ORIGIN).await;
        let ana = world.browser(MemberRole::Owner).await;
        let mut phone = Authenticator::new(1);
        add(&ana, &mut phone).await;
        let people = world.services.people();
        let email = must(format!("owner@{}.example", world.account).parse());
        assert!(must(people.has_two_step(&email).await));
        let link = must(people.link(world.account, &email).await);
        let link = link.unwrap_or_else(|| panic!("no link"));
        must(people.set_password_by_link(&link.token, PASSWORD).await);
        let (door, options) = knock(&world).await;
        enter(&door, &phone.get(&options)).await.assert(422);
        world.browser_elsewhere(MemberRole::Owner).await.sees("/settings/audit", &["two_step.off"]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_public_url_the_page_says_why_there_are_no_passkeys() {
    let world = World::start().await;
    let ana = world.browser(MemberRole::Owner).await;
    let page = "/profile/passkeys";
    ana.sees(page, &["not available at this address", "http.public_url"])
        .await;
    assert_eq!(ana.get(NEW).await.leads(), page);
    let page = world.nobody().get("/sign-in").await.assert(200);
    assert!(!page.body.contains("passkey"), "{}", page.body);
    for path in ["/sign-in/passkey/options", "/sign-in/code/passkey"] {
        world.nobody().post(path, &[]).await.assert(404);
    }
}
