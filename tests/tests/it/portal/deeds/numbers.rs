//! Provider credentials, the numbers that one of them imports, and the numbers that are not called.

use offhook_tests::both;
use serde_json::json;

use super::super::stage::Stage;

deeds! {
    numbers_are_imported_with_a_credential_given_to_an_agent_and_given_back:
        "/portal/settings/credentials", "/portal/settings/audit", "/portal/settings", "/portal/phone-numbers/import",
        "/portal/phone-numbers/{id}";
    a_rule_is_set_and_a_suppressed_number_is_not_called_until_it_is_taken_off: "/portal/dialing", "/portal/dialing/numbers/new";
}

both! {
    async fn numbers_are_imported_with_a_credential_given_to_an_agent_and_given_back(database: Database) {
        let Some((stage, person)) = Stage::seen(database).await else { return };
        let agent = stage.account.agent().await;
        let browser = stage.owner(person).await;
        browser.open("/portal/phone-numbers").await;
        browser.click(("Import from carrier", "Importar del operador")).await;
        browser.click(("Import all numbers", "Importar todos los números")).await;
        browser.counts(".refusal", 1).await;
        browser.was_refused(422).await;

        browser.open("/portal/settings").await;
        browser.sees(("Included in your plan", "Incluido en tu plan")).await;
        browser.click(("Provider credentials", "Credenciales de proveedores")).await;
        browser.choose(("Provider", "Proveedor"), ("Simulated phone network", "Red telefónica simulada")).await;
        browser.fill(("Key or token", "Clave o token"), "sim_harbour").await;
        browser.click(("Save", "Guardar")).await;
        browser.sees(("Credential saved.", "Credencial guardada.")).await;
        let secret = "return document.documentElement.outerHTML.includes('sim_harbour')";
        assert_eq!(browser.js(secret, vec![]).await, json!(false), "it is never shown again");

        browser.open("/portal/phone-numbers/import").await;
        browser.click(("Import all numbers", "Importar todos los números")).await;
        browser.sees(("New numbers: 2. Already here: 0.", "Números nuevos: 2. Ya estaban: 0.")).await;
        browser.click_first("tbody a").await;
        browser.arrives("/portal/phone-numbers/").await;
        browser.fill(("Label", "Etiqueta"), "Reception").await;
        browser.choose(("Agent that answers", "Agente que contesta"), "Eva").await;
        browser.click(("Save", "Guardar")).await;
        browser.sees(("Saved.", "Guardado.")).await;
        let numbers = stage.account.read(&format!("/v1/phone-numbers?agent_id={agent}")).await;
        assert_eq!(numbers["data"][0]["label"], "Reception", "{numbers}");
        browser.click(("Release number", "Liberar número")).await;
        browser.agrees().await;
        browser.sees(("Number released.", "Número liberado.")).await;
        browser.misses("Reception").await;

        browser.open("/portal/settings/credentials").await;
        browser.click_near(("Simulated phone network", "Red telefónica simulada"), ("Remove", "Quitar")).await;
        browser.agrees().await;
        browser.sees(("Credential removed.", "Credencial eliminada.")).await;
        browser.open("/portal/settings").await;
        browser.click(("Audit log", "Bitácora de cambios")).await;
        for deed in ["number.import", "number.change", "number.delete"] {
            browser.sees(deed).await;
        }
        browser.no_violations().await;
    }
    async fn a_rule_is_set_and_a_suppressed_number_is_not_called_until_it_is_taken_off(database: Database) {
        let Some((stage, person)) = Stage::seen(database).await else { return };
        let agent = stage.account.agent().await;
        let browser = stage.owner(person).await;
        browser.open("/portal/dialing").await;
        browser.sees(("No rules", "Sin reglas")).await;
        browser.click(("Change rules", "Cambiar las reglas")).await;
        let holidays = ("Holidays", "Días festivos");
        browser.fill(holidays, "Christmas").await;
        browser.click(("Save rules", "Guardar las reglas")).await;
        browser.counts(".refusal", 1).await;
        browser.was_refused(422).await;
        browser.screenshot("dialing-rules").await;
        browser.axe().await;
        browser.fill(holidays, "").await;
        browser.fill(("Calls to one number in 24 hours", "Llamadas a un número en 24 horas"), "1").await;
        browser.click(("Save rules", "Guardar las reglas")).await;
        browser.sees(("Saved.", "Guardado.")).await;
        let rules = stage.account.read("/v1/dialing-rules").await;
        assert_eq!(rules["attempts_per_day"], 1, "{rules}");

        browser.click_first(".page-actions a[href='/portal/dialing/numbers/new']").await;
        browser.fill(("Number", "Número"), "+1 415 555 0123").await;
        browser.fill(("Reason", "Motivo"), "She wrote to us.").await;
        browser.click(("Suppress number", "Excluir número")).await;
        browser.sees(("Number added.", "Número agregado.")).await;
        let number = ("Number to check", "Número por revisar");
        browser.fill(number, "+14155550123").await;
        browser.click(("Check", "Revisar")).await;
        browser.sees(("Not called now", "Ahora no se le llama")).await;
        browser.screenshot("dialing-check").await;
        browser.axe().await;

        let call = format!("/portal/try/call?agent={agent}&to=%2B14155550123");
        browser.open(&call).await;
        browser.click(("Call now", "Llamar ahora")).await;
        browser.sees(("the account's suppression list", "la lista de exclusión de la cuenta")).await;
        browser.was_refused(422).await;

        browser.open("/portal/dialing").await;
        browser.click_near("She wrote to us.", ("Allow again", "Permitir de nuevo")).await;
        browser.agrees().await;
        browser.sees(("Number taken off the list.", "Número quitado de la lista.")).await;
        browser.misses("She wrote to us.").await;
        browser.open(&call).await;
        browser.click(("Call now", "Llamar ahora")).await;
        browser.sees(("Call placed.", "Llamada iniciada.")).await;
        browser.no_violations().await;
    }
}
