//! Calls: placed, watched, hung up, found again, and the request that placed one.

use offhook_tests::{Options, Person, both, model_server, needs_browser};
use serde_json::json;

use super::super::session::COOKIE;
use super::super::stage::Stage;

deeds! {
    a_test_call_is_placed_watched_and_hung_up:
        "/portal/try/call", "/portal/conversations/live", "/portal/conversations", "/portal/conversations/{id}";
    a_request_is_found_in_the_log_with_its_story: "/portal/logs", "/portal/logs/{id}";
}

/// Answers and talks.
const TALKS: &str = "+14155550123";

/// Rings without an answer.
const RINGS: &str = "+15005550002";

both! {
    async fn a_test_call_is_placed_watched_and_hung_up(database: Database) {
        needs_browser!();
        let person = Person::on(&database);
        // It rings for minutes, long enough for a slow machine.
        let stage = Stage::with(Options::on(database).set("simulator.speed", "0.1")).await;
        stage.account.agent().await;
        let browser = stage.owner(person).await;
        browser.open("/portal/try/call").await;
        browser.choose(("Agent", "Agente"), "Eva").await;
        browser.fill(("Call this number", "Llamar a este número"), RINGS).await;
        browser.fill(("Other variables (metadata)", "Otras variables (metadatos)"), "lead_name=Ana").await;
        browser.click(("Call now", "Llamar ahora")).await;
        browser.sees(("Call placed.", "Llamada iniciada.")).await;
        let page = browser.path().await;

        browser.open("/portal/conversations/live").await;
        browser.sees(RINGS).await;
        // The list re-renders, and the keyboard focus stays.
        let stay = "const link = document.querySelector('#live a'); link.focus(); link.dataset.before = ''";
        browser.js(stay, vec![]).await;
        browser.counts("#live a:not([data-before])", 1).await;
        assert_eq!(browser.focused().await, RINGS);
        browser.open("/portal/conversations").await;
        browser.fill(("Phone number", "Número de teléfono"), RINGS).await;
        browser.click(("Filter", "Filtrar")).await;
        browser.arrives("/portal/conversations?").await;
        browser.click_first("tbody a").await;
        browser.arrives(&page).await;
        browser.sees("lead_name").await;

        browser.click(("Hang up", "Colgar")).await;
        browser.agrees().await;
        browser.sees(("Hang-up requested.", "Se pidió terminar la llamada.")).await;
        // The page shows the end without a reload.
        browser.sees(("Canceled before it was dialed", "Se canceló antes de marcar")).await;
        browser.misses(("Hang up", "Colgar")).await;
        browser.no_violations().await;
        let handle = page.rsplit('/').next().unwrap_or_default();
        let call = stage.account.ended(&format!("call_{handle}")).await;
        assert_eq!(
            (&call["status"], &call["failure_reason"], &call["metadata"]),
            (&json!("failed"), &json!("cancelled"), &json!({"lead_name": "Ana"})),
            "{call}"
        );
    }

    async fn a_live_call_is_followed_beside_the_list_and_hung_up(database: Database) {
        needs_browser!();
        let person = Person::on(&database);
        // As slow as people talk.
        let stage = Stage::with(Options::on(database).set("simulator.speed", "2")).await;
        let agent = stage.account.agent().await;
        let browser = stage.owner(person).await;
        browser.open("/portal/conversations/live").await;
        stage.account.call(&agent, TALKS).await;
        browser.click(TALKS).await;
        browser.arrives("/portal/conversations/live?call=").await;
        browser.js("window.stays = true", vec![]).await;
        browser.sees("this is Eva from the clinic").await;
        browser.counts("#turns li.user", 1).await;
        browser.sees(("On the line", "En línea")).await;
        assert_eq!(browser.portraits("live-call").await, [""; 0]);
        assert_eq!(browser.js("return window.stays", vec![]).await, json!(true), "no page was loaded");
        browser.click(("Hang up", "Colgar")).await;
        browser.agrees().await;
        browser.sees(("Hang-up requested.", "Se pidió terminar la llamada.")).await;
        browser.no_violations().await;
    }

    async fn a_conversation_is_tagged_and_found_by_its_tag(database: Database) {
        let Some((stage, person)) = Stage::seen(database).await else { return };
        let agent = stage.account.agent().await;
        let call = stage.account.call(&agent, TALKS).await;
        stage.account.ended(&call).await;
        let other = stage.account.call(&agent, "+14155550124").await;
        stage.account.ended(&other).await;
        let browser = stage.owner(person).await;
        let page = format!("/portal/conversations/{}", call.trim_start_matches("call_"));
        browser.open(&page).await;
        browser.fill(("New tag", "Etiqueta nueva"), "VIP, Call back").await;
        browser.click(("Add tag", "Agregar etiqueta")).await;
        browser.sees(("Tag added.", "Etiqueta agregada.")).await;
        browser.sees("call back").await;
        assert_eq!(browser.portraits("tags").await, [""; 0]);
        browser.click("vip").await;
        browser.arrives("/portal/conversations?tag=vip").await;
        browser.counts("tbody a.row", 1).await;
        browser.sees(("Save this view", "Guardar esta vista")).await;
        browser.axe().await;
        browser.click_first("tbody a.row").await;
        browser.arrives(&page).await;
        browser.click(("Remove tag vip", "Quitar la etiqueta vip")).await;
        browser.sees(("Tag removed.", "Etiqueta quitada.")).await;
        browser.counts(".tag", 1).await;
        browser.no_violations().await;
    }

    async fn a_message_that_a_script_could_not_send_is_not_lost(database: Database) {
        needs_browser!();
        let stage = Stage::open(database).await;
        stage.account.agent().await;
        let browser = stage.owner(Person::english()).await;
        browser.open("/portal/try/chat").await;
        browser.choose("Agent", "Eva").await;
        browser.click("Start chat").await;
        browser.fill("Your message", "Is anybody there?").await;
        let chat = browser.path().await;
        // Without a connection, the page says so and keeps the typed text.
        let broken = "const send = XMLHttpRequest.prototype.send;
            XMLHttpRequest.prototype.send = function () {
              XMLHttpRequest.prototype.send = send;
              setTimeout(() => this.onerror());
            }";
        browser.js(broken, vec![]).await;
        browser.click("Send").await;
        browser.sees("The service did not respond.").await;
        assert_eq!(browser.filled("Your message").await, "Is anybody there?");
        let told = browser.violations().await;
        assert!(told.iter().all(|line| line.contains("htmx:")), "{told:#?}");
        // On an error, the browser sends the form itself.
        let refused = "const open = XMLHttpRequest.prototype.open;
            XMLHttpRequest.prototype.open = function (verb, path, ...rest) {
              return open.call(this, verb, '/portal/nothing-here', ...rest);
            }";
        browser.js(refused, vec![]).await;
        browser.click("Send").await;
        browser.counts("li.user", 1).await;
        browser.was_refused(404).await;
        browser.arrives(&chat).await;
        assert_eq!(browser.filled("Your message").await, "");
        browser.sees("Is anybody there?").await;
        browser.no_violations().await;
    }

    async fn the_facts_of_a_conversation_grow_while_it_is_watched(database: Database) {
        needs_browser!();
        let options = Options::on(database)
            .set("models.openai.base_url", model_server().await)
            .set("models.openai.api_key", "sk-test");
        let stage = Stage::with(options).await;
        let model = json!({"provider": "openai", "model": "gpt-4.1"});
        let config = json!({"system_prompt": "You are Eva.", "first_message": "Hello.", "llm": model});
        stage.account.agent_with(config).await;
        let ana = stage.owner(Person::english()).await;
        ana.open("/portal/try/chat").await;
        ana.choose("Agent", "Eva").await;
        ana.click("Start chat").await;
        ana.sees("Hello.").await;
        let chat = ana.path().await;
        let session = stage.member("viewer").await;
        let ben = ana.another(Person::spanish()).await;
        ben.plant(COOKIE, &session.cookie, "/portal").await;
        ben.open(&chat.replace("/try/chat/", "/conversations/")).await;
        ben.sees("Créditos").await;
        let fact = async |name: &str| ben.text_of(&format!("#fact-{name}")).await;
        assert_eq!((fact("turns").await, fact("credits").await), ("1".to_owned(), "0".to_owned()));
        ben.js("window.stays = true", vec![]).await;
        let first = fact("length").await;
        ben.until("a second more", async || (fact("length").await != first).then_some(())).await;
        ana.fill("Your message", "Is anybody there?").await;
        ana.click("Send").await;
        ben.until("what the answer costs", async || {
            let grown = (fact("turns").await, fact("credits").await);
            (grown == ("3".to_owned(), "1".to_owned())).then_some(())
        })
        .await;
        assert_eq!(ben.js("return window.stays", vec![]).await, json!(true), "no page was loaded");
        ben.no_violations().await;
    }

    async fn a_request_is_found_in_the_log_with_its_story(database: Database) {
        let Some((stage, person)) = Stage::seen(database).await else { return };
        let agent = stage.account.agent().await;
        let call = stage.account.call(&agent, "+14155550123").await;
        stage.account.ended(&call).await;
        let browser = stage.owner(person).await;
        browser
            .until("the request", async || {
                browser.open("/portal/logs?path=/v1/calls").await;
                browser.reads().await.contains("POST /v1/calls").then_some(())
            })
            .await;
        browser.choose(("Method", "Método"), "POST").await;
        browser.click(("Filter", "Filtrar")).await;
        browser.arrives("/portal/logs?status").await;
        browser.click(("Details of POST /v1/calls", "Detalles de POST /v1/calls")).await;
        browser.sees(("Request", "Solicitud")).await;
        browser.sees("201").await;
        browser.click(&call).await;
        browser.arrives(&format!("/portal/conversations/{}", call.trim_start_matches("call_"))).await;
        browser.sees("Eva").await;
        // And back from the call to the request that placed it.
        browser.click("POST /v1/calls").await;
        browser.arrives("/portal/logs/").await;
        browser.sees(("Request", "Solicitud")).await;
        browser.no_violations().await;
    }
}
