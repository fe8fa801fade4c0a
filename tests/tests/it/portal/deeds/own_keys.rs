//! The account's own keys for models and speech.

use offhook_tests::both;
use serde_json::json;

use super::super::stage::Stage;

deeds! {
    a_key_opens_a_provider_is_recognized_by_its_end_and_is_taken_away: "/portal/settings/credentials";
}

both! {
    async fn a_key_opens_a_provider_is_recognized_by_its_end_and_is_taken_away(database: Database) {
        let Some((stage, person)) = Stage::seen(database).await else { return };
        let config = json!({
            "system_prompt": "Be brief.",
            "llm": {"provider": "anthropic", "model": "claude-x"},
        });
        let draft = json!({"name": "Nora", "language": "en-US", "config": config});
        let draft = stage.account.post("/v1/agents", draft).await.assert(201);
        let publish = format!("/v1/agents/{}/publish", draft["id"].as_str().unwrap_or_default());
        stage.account.post(&publish, "{}").await.assert(409);

        let browser = stage.owner(person).await;
        browser.open("/portal/settings/credentials").await;
        browser.choose(("Provider", "Proveedor"), ("OpenAI or compatible", "OpenAI o compatible")).await;
        browser.fill(("Key or token", "Clave o token"), "sk-openai-00001111").await;
        browser.fill(("Base URL", "URL base"), "http://models.example.com").await;
        browser.click(("Save", "Guardar")).await;
        browser.counts(".refusal", 1).await;
        browser.was_refused(422).await;
        browser.choose(("Provider", "Proveedor"), "Anthropic").await;
        browser.fill(("Key or token", "Clave o token"), "sk-ant-00001234").await;
        browser.click(("Save", "Guardar")).await;
        browser.sees("…1234").await;
        let secret = "return document.documentElement.outerHTML.includes('sk-ant-0000')";
        assert_eq!(browser.js(secret, vec![]).await, json!(false), "it is never shown again");
        stage.account.post(&publish, "{}").await.assert(200);

        browser.click_near("…1234", ("Remove", "Quitar")).await;
        browser.agrees().await;
        browser.sees(("Credential removed.", "Credencial eliminada.")).await;
        stage.account.post(&publish, "{}").await.assert(409);
        browser.no_violations().await;
    }
}
