//! Ways in besides a password alone.

use std::time::SystemTime;

use offhook_tests::{Browser, Options, Person, both, free_port, must, needs_browser};
use ring::hmac;

use super::super::session::COOKIE;
use super::super::stage::{OWNER, PASSWORD, Stage};

deeds! {
    a_code_of_an_app_is_asked_for_after_the_password: "/portal/profile/two-step", "/portal/sign-in/code";
    single_sign_on_is_offered_to_people_of_accounts_that_have_it:
        "/portal/settings/single-sign-on", "/portal/sso", "/portal/sso/{account}";
    a_passkey_signs_in_alone_and_after_the_password:
        "/portal/profile/passkeys", "/portal/profile/passkeys/new", "/portal/profile/two-step/codes";
}

/// What an authenticator app shows for this key, `ahead` steps of 30 s from now (RFC 6238).
fn code(key: &str, ahead: u64) -> String {
    let mut bits = String::new();
    for letter in key.bytes().filter(|byte| *byte != b' ') {
        let place = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
            .iter()
            .position(|one| *one == letter);
        bits.push_str(&format!("{:05b}", must("base 32", place.ok_or(key))));
    }
    let secret = bits
        .as_bytes()
        .chunks_exact(8)
        .map(|byte| byte.iter().fold(0_u8, |byte, bit| byte << 1 | (bit - b'0')));
    let secret: Vec<u8> = secret.collect();
    #[expect(
        clippy::disallowed_methods,
        reason = "an authenticator app has a clock of its own"
    )]
    let now = must(
        "a clock",
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH),
    );
    let step = now.as_secs() / 30 + ahead;
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &secret);
    let digest = hmac::sign(&key, &step.to_be_bytes());
    let digest = digest.as_ref();
    let at = usize::from(digest[19] & 15);
    let word = [
        digest[at] & 127,
        digest[at + 1],
        digest[at + 2],
        digest[at + 3],
    ];
    format!("{:06}", u32::from_be_bytes(word) % 1_000_000)
}

async fn signs_in(browser: &Browser) {
    browser.open("/portal/sign-in").await;
    browser.fill(("Email", "Correo electrónico"), OWNER).await;
    browser.fill(("Password", "Contraseña"), PASSWORD).await;
    browser.click(("Sign in", "Iniciar sesión")).await;
}

both! {
    async fn a_code_of_an_app_is_asked_for_after_the_password(database: Database) {
        let Some((stage, person)) = Stage::seen(database).await else { return };
        let browser = stage.owner(person).await;
        browser.open("/portal/profile/two-step").await;
        browser.axe().await;
        let key = browser.text_of("#copied-key").await;
        browser.fill(("Password", "Contraseña"), PASSWORD).await;
        browser.fill(("Code", "Código"), &code(&key, 0)).await;
        browser.click(("Turn on", "Activar")).await;
        let codes = browser.text_of("#codes").await;
        assert_eq!(codes.split(char::is_whitespace).count(), 10, "{codes}");
        browser.forget().await;
        signs_in(&browser).await;
        browser.sees(("Enter the code that your authenticator app shows", "Escribe el código que muestra tu aplicación")).await;
        browser.axe().await;
        browser.fill(("Code", "Código"), "000000").await;
        browser.click(("Sign in", "Iniciar sesión")).await;
        browser.was_refused(422).await;
        assert_eq!(browser.cookie(COOKIE).await, None);
        // The one that turned it on is used up; the next is accepted a step early.
        browser.fill(("Code", "Código"), &code(&key, 1)).await;
        browser.click(("Sign in", "Iniciar sesión")).await;
        browser.sees("Harbour Hotel").await;
        browser.open("/portal/profile").await;
        browser.sees(("Recovery codes left: 10", "Códigos de recuperación restantes: 10")).await;
        browser.no_violations().await;
    }

    async fn a_passkey_signs_in_alone_and_after_the_password(database: Database) {
        needs_browser!();
        let person = Person::on(&database);
        let port = free_port();
        let stage = Stage::with(Options::on(database).at_localhost(port)).await;
        // Passkeys belong to names of hosts.
        let at = |path: &str| format!("http://localhost:{port}/portal{path}");
        let browser = Browser::of(person, stage.server.address()).await;
        browser.keeps_passkeys().await;
        let signs_in = async || {
            browser.open(&at("/sign-in")).await;
            browser.fill(("Email", "Correo electrónico"), OWNER).await;
            browser.fill(("Password", "Contraseña"), PASSWORD).await;
            browser.click(("Sign in", "Iniciar sesión")).await;
        };
        signs_in().await;
        browser.sees("Harbour Hotel").await;
        browser.open(&at("/profile/passkeys")).await;
        browser.sees(("No passkeys yet", "Aún no hay llaves de acceso")).await;
        browser.click(("Add a passkey", "Agregar una llave de acceso")).await;
        browser.axe().await;
        browser.fill(("Name", "Nombre"), "Phone").await;
        browser.fill(("Password", "Contraseña"), "guess guess guess").await;
        let add = ("Add passkey", "Agregar llave de acceso");
        browser.click(add).await;
        browser.sees(("The password is wrong.", "La contraseña es incorrecta.")).await;
        browser.was_refused(422).await;
        browser.fill(("Password", "Contraseña"), PASSWORD).await;
        browser.click(add).await;
        let codes = browser.text_of("#codes").await;
        assert_eq!(codes.split(char::is_whitespace).count(), 10, "{codes}");
        browser.open(&at("/profile/passkeys")).await;
        browser.sees("Phone").await;
        browser.axe().await;

        // The browser suggests it in the field of the address, and its person agrees.
        browser.forget().await;
        browser.open(&at("/sign-in")).await;
        browser.sees("Harbour Hotel").await;
        let use_one = ("Use a passkey", "Usar una llave de acceso");
        browser.suggests_no_passkeys().await;
        browser.forget().await;
        browser.open(&at("/sign-in")).await;
        browser.click(use_one).await;
        browser.sees("Harbour Hotel").await;
        browser.forget().await;
        signs_in().await;
        browser.sees(("Two-step verification", "Verificación en dos pasos")).await;
        browser.axe().await;
        browser.click(use_one).await;
        browser.sees("Harbour Hotel").await;
        browser.open(&at("/profile/two-step/codes")).await;
        browser.fill(("Password", "Contraseña"), PASSWORD).await;
        browser.click(use_one).await;
        let renewed = browser.text_of("#codes").await;
        assert_ne!(renewed, codes);
        browser.no_violations().await;
    }

    async fn single_sign_on_is_offered_to_people_of_accounts_that_have_it(database: Database) {
        let Some((stage, person)) = Stage::seen(database).await else { return };
        let browser = stage.owner(person).await;
        browser.open("/portal/settings/single-sign-on").await;
        browser.sees(&*format!("/portal/sso/{}/callback", stage.account.id)).await;
        browser.fill(("Issuer URL", "URL del emisor"), "https://127.0.0.1:9").await;
        browser.fill(("Client ID", "ID de cliente"), "offhook").await;
        browser.fill(("Client secret", "Secreto de cliente"), "a secret").await;
        browser.click(("Save", "Guardar")).await;
        browser.counts(".refusal", 1).await;
        browser.was_refused(422).await;
        assert_eq!(browser.filled(("Client ID", "ID de cliente")).await, "offhook");
        browser.axe().await;

        browser.forget().await;
        browser.open("/portal/sign-in").await;
        browser.click(("Continue with single sign-on", "Continuar con inicio de sesión único")).await;
        browser.fill(("Work email", "Correo de tu empresa"), OWNER).await;
        browser.click(("Continue", "Continuar")).await;
        browser.sees(("No account uses single sign-on", "Ninguna cuenta usa inicio de sesión único")).await;
        browser.was_refused(422).await;
        browser.axe().await;
        browser.open(&format!("/portal/sso/{}", stage.account.id)).await;
        browser.was_refused(404).await;
        browser.no_violations().await;
    }
}
