//! The main task of each page, done in a browser: in English on SQLite and in Spanish on PostgreSQL ([`Person::on`]),
//! so that the tasks cover both languages and both databases. Each module names the pages whose main task its tests
//! do; [`every`] compares that with the router.

/// Names the test for the main task of each page. A missing test does not compile.
macro_rules! deeds {
    ($($deed:ident: $($page:literal),+;)+) => {
        /// Pages of the router, and the test of their main task.
        pub(super) const DONE: &[(&str, &str)] = &[$($(($page, { let _ = $deed; stringify!($deed) })),+),+];
    };
}

mod agents;
mod calls;
mod campaigns;
mod entry;
mod every;
mod knowledge;
mod money;
mod numbers;
mod own_keys;
mod people;
mod studio;
mod tools;
mod webhooks;

use offhook_tests::{Browser, Key, Person, both, must, needs_browser};
use serde_json::json;

use super::session::COOKIE;
use super::stage::{OWNER, PASSWORD, Stage};
use crate::legacy;

/// The largest size of the first page on the wire, with its style and scripts.
const FIRST_PAGE_BYTES: u64 = 100 * 1024;

deeds! {
    a_member_signs_in_reads_spanish_and_signs_out: "/portal/sign-in", "/portal/agents";
    of_two_people_who_edit_one_agent_neither_loses_anything: "/portal/agents/{id}/edit";
    knowledge_numbers_keys_and_a_chat_are_had_by_their_forms:
        "/portal/knowledge/text", "/portal/knowledge/search", "/portal/phone-numbers", "/portal/phone-numbers/new",
        "/portal/developers", "/portal/developers/{id}/token", "/portal/try/chat", "/portal/try/chat/{id}";
    a_batch_is_sent_from_a_file_and_watched_to_its_end:
        "/portal/batch-calls", "/portal/batch-calls/new", "/portal/batch-calls/send", "/portal/batch-calls/{id}";
    the_first_page_comes_in_100_kib: "/portal", "/portal/";
    an_agent_is_found_from_anywhere_by_the_keyboard_alone: "/portal/find";
}

/// Opens the stage's agent in the editor.
async fn edit(browser: &Browser, agent: &str) {
    browser.open(&format!("/portal/agents/{agent}/edit")).await;
    browser.sees(("General", "General")).await;
}

both! {
    async fn a_member_signs_in_reads_spanish_and_signs_out(database: Database) {
        needs_browser!();
        let stage = Stage::open(database).await;
        let browser = Browser::of(Person::spanish(), stage.server.address()).await;
        browser.open("/portal/agents?q=eva").await;
        browser.was_refused(401).await;
        browser.sees("Correo electrónico").await;
        browser.fill("Correo electrónico", OWNER).await;
        browser.fill("Contraseña", "no es esta, pero larga").await;
        browser.click("Iniciar sesión").await;
        browser.sees("Correo o contraseña incorrectos.").await;
        browser.was_refused(422).await;
        browser.fill("Contraseña", PASSWORD).await;
        browser.click("Iniciar sesión").await;
        browser.sees("Agentes").await;
        browser.click("ana").await;
        browser.click("English").await;
        browser.sees("No matching agents").await;
        assert_eq!(browser.title().await, "Agents · Offhook");
        browser.click("ana").await;
        browser.click("Sign out").await;
        browser.sees("Sign in").await;
        assert_eq!(browser.cookie(COOKIE).await, None);
        browser.back().await;
        browser.misses("No matching agents").await;
    }

    async fn an_agent_is_found_from_anywhere_by_the_keyboard_alone(database: Database) {
        let Some((stage, person)) = Stage::seen(database).await else { return };
        let agent = stage.account.agent().await;
        let browser = stage.owner(person).await;
        browser.open("/portal/logs").await;
        let chord = "document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'k', ctrlKey: true, bubbles: true}))";
        browser.js(chord, vec![]).await;
        browser.sees(("Place a test call", "Hacer una llamada de prueba")).await;
        browser.presses("Eva").await;
        let hit = format!(".found li:first-child a[href$='/agents/{agent}']");
        browser.counts(&hit, 1).await;
        browser.axe().await;
        browser.presses(&Key::Enter).await;
        browser.arrives(&format!("/portal/agents/{agent}")).await;
        browser.no_violations().await;
    }

    async fn of_two_people_who_edit_one_agent_neither_loses_anything(database: Database) {
        let Some((stage, person)) = Stage::seen(database).await else { return };
        let agent = stage.account.agent().await;
        let ana = stage.owner(person).await;
        let ben = ana.another(person).await;
        let session = stage.member("developer").await;
        ben.plant(COOKIE, &session.cookie, "/portal").await;

        edit(&ana, &agent).await;
        edit(&ben, &agent).await;
        ana.fill(("First message", "Primer mensaje"), "Welcome aboard.").await;
        ana.click(("Save", "Guardar")).await;
        ana.sees(("Saved as version 2", "Guardado como versión 2")).await;
        let prompt = ("Instructions (system prompt)", "Instrucciones (prompt del sistema)");
        ben.fill(prompt, "You are Eva, and brief.").await;
        ben.click(("Save", "Guardar")).await;
        ben.sees(("Someone saved version 2", "alguien guardó la versión 2")).await;
        ben.was_refused(422).await;
        assert_eq!(ben.filled(prompt).await, "You are Eva, and brief.");
        ben.screenshot("conflict").await;
        ben.axe().await;
        ben.click(("Apply my changes to version 2", "Aplicar mis cambios a la versión 2")).await;
        ben.sees(("Saved as version 3", "Guardado como versión 3")).await;

        let config = stage.account.read(&format!("/v1/agents/{agent}")).await["config"].clone();
        assert_eq!(config["first_message"], "Welcome aboard.");
        assert_eq!(config["system_prompt"], "You are Eva, and brief.");
        ana.no_violations().await;
        ben.no_violations().await;
    }

    async fn what_was_typed_when_the_session_ended_is_sent_after_signing_in_again(database: Database) {
        needs_browser!();
        let stage = Stage::open(database).await;
        let agent = stage.account.agent().await;
        let browser = stage.owner(Person::english()).await;
        edit(&browser, &agent).await;
        browser.fill("First message", "Nothing of this is lost.").await;
        // Submitting another form of the page, like following a link, must not lose changes.
        let leave = "const other = document.querySelector('form[action$=\"/language\"]');
            other.dispatchEvent(new Event('submit', {bubbles: true, cancelable: true}));
            return !window.dispatchEvent(new Event('beforeunload', {cancelable: true}))";
        assert_eq!(browser.js(leave, vec![]).await, json!(true), "nothing is asked");
        browser.forget().await;
        browser.click("Save").await;
        browser.sees("Your input is kept").await;
        browser.was_refused(401).await;
        browser.screenshot("session-ended").await;
        browser.fill("Email", OWNER).await;
        browser.fill("Password", PASSWORD).await;
        browser.click("Sign in").await;
        browser.sees("Your input has not been submitted yet.").await;
        browser.sees("Nothing of this is lost.").await;
        browser.click("Submit now").await;
        browser.sees("Saved as version 2").await;
        let saved = stage.account.read(&format!("/v1/agents/{agent}")).await;
        assert_eq!(saved["config"]["first_message"], "Nothing of this is lost.");
        browser.no_violations().await;
    }

    async fn knowledge_numbers_keys_and_a_chat_are_had_by_their_forms(database: Database) {
        let Some((stage, person)) = Stage::seen(database).await else { return };
        stage.account.agent().await;
        let browser = stage.owner(person).await;

        browser.open("/portal/knowledge").await;
        browser.click(("Paste text", "Pegar texto")).await;
        browser.fill(("Name", "Nombre"), "Opening hours").await;
        browser.fill(("Text", "Texto"), "The harbour hotel opens its doors at nine in the morning.").await;
        browser.click(("Add", "Agregar")).await;
        browser.sees("Opening hours").await;
        browser
            .until("a passage", async || {
                browser.open("/portal/knowledge/search?q=doors").await;
                browser.reads().await.contains("at nine in the morning").then_some(())
            })
            .await;

        browser.open("/portal/phone-numbers").await;
        browser.click(("Add number", "Agregar número")).await;
        browser.fill(("Number", "Número"), "+15005550177").await;
        browser.fill(("Label", "Etiqueta"), "Reception").await;
        browser.click(("Add", "Agregar")).await;
        browser.sees("+15005550177").await;

        browser.open("/portal/developers").await;
        browser.click(("New key", "Nueva clave")).await;
        browser.fill(("Name", "Nombre"), "CRM").await;
        browser.click("calls:read").await;
        browser.click(("Create key", "Crear clave")).await;
        browser.sees(("You won't be able to see it again.", "No podrás verlo de nuevo.")).await;
        browser.reload().await;
        browser.sees(("can't be shown again", "no se puede mostrar de nuevo")).await;
        browser.click(("Back to API keys", "Volver a las claves de API")).await;
        browser.click_near("CRM", ("Revoke", "Revocar")).await;
        browser.agrees().await;
        browser.sees(("Revoked and expired keys", "Claves revocadas y vencidas")).await;

        browser.open("/portal/try/chat").await;
        browser.choose(("Agent", "Agente"), "Eva").await;
        browser.click(("Start chat", "Iniciar chat")).await;
        browser.fill(("Your message", "Tu mensaje"), "Is anybody there?").await;
        browser.click(("Send", "Enviar")).await;
        browser.sees("Is anybody there?").await;
        browser.click(("End chat", "Terminar chat")).await;
        browser.no_violations().await;
    }

    async fn a_batch_is_sent_from_a_file_and_watched_to_its_end(database: Database) {
        let Some((stage, person)) = Stage::seen(database).await else { return };
        legacy::agents(&stage.server, &stage.account).await;
        let folder = must("a folder", tempfile::tempdir());
        let file = folder.path().join("people.csv");
        let people = "to,name\n+14155550124,Ana\n+14155550125,Ben\n";
        must("a file", std::fs::write(&file, people));
        let browser = stage.owner(person).await;
        browser.open("/portal/batch-calls").await;
        browser.click(("Create batch", "Crear lote")).await;
        browser.fill(("Name", "Nombre"), "Spring").await;
        browser.choose(("Agent", "Agente"), "Reception").await;
        browser.attach(("List of people (CSV)", "Lista de personas (CSV)"), &file).await;
        browser.click(("Review the list", "Revisar la lista")).await;
        browser.sees("+14155550124").await;
        browser.screenshot("batch-preview").await;
        browser.axe().await;
        browser.click(("Call now (2)", "Llamar ahora (2)")).await;
        browser.sees(("Batch created.", "Lote creado.")).await;
        // The page shows the end without a reload.
        browser.sees(("2 of 2", "2 de 2")).await;
        browser.sees(("Completed", "Completado")).await;
        browser.no_violations().await;
    }

    async fn a_key_is_made_and_revoked_by_the_keyboard_alone(database: Database) {
        let Some((stage, person)) = Stage::seen(database).await else { return };
        let browser = Browser::of(person, stage.server.address()).await;
        browser.open("/portal/developers").await;
        browser.was_refused(401).await;
        browser.tabs_to(("Email", "Correo electrónico")).await;
        browser.presses(OWNER).await;
        browser.tabs_to(("Password", "Contraseña")).await;
        browser.presses(PASSWORD).await;
        browser.presses(&Key::Enter).await;
        browser.sees(("New key", "Nueva clave")).await;

        browser.reload().await;
        let passed = browser.tabs_to(("Skip to content", "Ir al contenido")).await;
        assert_eq!(passed, [""; 0], "the way past the menu is the first of all");
        browser.presses(&Key::Enter).await;
        let passed = browser.tabs_to(("New key", "Nueva clave")).await;
        let menu = browser.words(&("Overview", "Resumen"));
        assert!(!passed.iter().any(|name| name == menu), "{passed:?}");
        browser.presses(&Key::Enter).await;
        browser.tabs_to(("Name", "Nombre")).await;
        browser.presses("CRM").await;
        browser.tabs_to("calls:read").await;
        browser.presses(" ").await;
        browser.tabs_to(("Create key", "Crear clave")).await;
        browser.presses(&Key::Enter).await;
        browser.sees(("You won't be able to see it again.", "No podrás verlo de nuevo.")).await;
        browser.tabs_to(("I've saved it", "Ya lo guardé")).await;
        browser.presses(&Key::Enter).await;
        browser.misses(("You won't be able to see it again.", "No podrás verlo de nuevo.")).await;
        browser.tabs_to(("Revoke", "Revocar")).await;
        browser.presses(&Key::Enter).await;
        browser.agrees().await;
        browser.sees(("Revoked and expired keys", "Claves revocadas y vencidas")).await;
        browser.no_violations().await;
    }

    async fn the_first_page_comes_in_100_kib(database: Database) {
        let Some((stage, person)) = Stage::seen(database).await else { return };
        let browser = stage.owner(person).await;
        browser.open("/portal/").await;
        let sent = "return [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
            .map(each => [each.name, each.transferSize])";
        let sent = browser.js(sent, vec![]).await;
        let each = sent.as_array().cloned().unwrap_or_default();
        let bytes: u64 = each.iter().filter_map(|one| one[1].as_u64()).sum();
        assert!(each.len() >= 4 && (1..=FIRST_PAGE_BYTES).contains(&bytes), "{bytes}: {sent}");
    }
}
