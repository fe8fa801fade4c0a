//! Provider credentials, and the numbers that one of them imports.

use offhook_tests::both;
use serde_json::json;

use super::super::stage::Stage;

deeds! {
    numbers_are_imported_with_a_credential_given_to_an_agent_and_given_back:
        "/portal/settings/credentials", "/portal/settings/audit", "/portal/settings", "/portal/phone-numbers/import",
        "/portal/phone-numbers/{id}";
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
}
