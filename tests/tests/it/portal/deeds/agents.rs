//! Creating agents, and working with their versions.

use offhook_tests::{both, must};
use serde_json::json;

use super::super::stage::Stage;

deeds! {
    an_agent_is_made_and_published: "/portal/agents/new", "/portal/agents/{id}";
    a_version_is_compared_and_rolled_back:
        "/portal/agents/{id}/versions", "/portal/agents/{id}/versions/{version}", "/portal/agents/{id}/diff";
    an_agent_is_edited_as_json: "/portal/agents/{id}/json";
    a_widget_is_turned_on_for_a_page: "/portal/agents/{id}/widget";
    what_is_extracted_is_set_by_a_schema: "/portal/agents/{id}/analysis";
    an_agent_is_tested_with_a_scenario:
        "/portal/agents/{id}/tests", "/portal/agents/{id}/tests/new", "/portal/agents/{id}/tests/{scenario}",
        "/portal/agents/{id}/tests/runs/{run}";
    what_an_agent_knows_before_a_call_is_set:
        "/portal/agents/{id}/settings", "/portal/agents/{id}/settings/secret";
}

both! {
    async fn what_an_agent_knows_before_a_call_is_set(database: Database) {
        let Some((stage, person)) = Stage::seen(database).await else { return };
        let agent = stage.account.agent().await;
        let browser = stage.owner(person).await;
        browser.open(&format!("/portal/agents/{agent}/settings")).await;
        browser.choose(("Time zone", "Zona horaria"), "America/Tijuana").await;
        let memory = ("Earlier conversations to remember", "Conversaciones anteriores que recuerda");
        browser.fill(memory, "2").await;
        browser.fill("URL", "https://desk.example/context").await;
        browser.click(("Save", "Guardar")).await;
        browser.sees(("Store it where your server reads it.", "Guárdalo donde tu servidor lo lea.")).await;
        browser.no_violations().await;
        browser.click(("I've saved it", "Ya lo guardé")).await;
        browser.sees(("Context URL", "URL de contexto")).await;
        browser.no_violations().await;
        let settings = stage.account.read(&format!("/v1/agents/{agent}/settings")).await;
        assert_eq!(
            (&settings["time_zone"], &settings["caller_memory"]),
            (&json!("America/Tijuana"), &json!(2)),
            "{settings}"
        );
        assert_eq!(settings["context_url"]["url"], "https://desk.example/context", "{settings}");
    }

    async fn an_agent_is_tested_with_a_scenario(database: Database) {
        let Some((stage, person)) = Stage::seen(database).await else { return };
        let agent = stage.account.agent().await;
        let browser = stage.owner(person).await;
        browser.open(&format!("/portal/agents/{agent}/tests")).await;
        browser.sees(("No scenarios yet", "Aún no hay escenarios")).await;
        browser.click(("New scenario", "Escenario nuevo")).await;
        let field = ("Scenario (JSON)", "Escenario (JSON)");
        let greets = |words: &str| json!({
            "name": "Greets", "turns": ["Hello."], "checks": [{"kind": "never_said", "text": words}],
        });
        browser.fill(field, &greets("refund").to_string()).await;
        browser.click(("Save", "Guardar")).await;
        browser.sees(("Scenario saved.", "Escenario guardado.")).await;
        browser.no_violations().await;
        let test = ("Test version", "Probar la versión");
        browser.click(test).await;
        browser.sees(("1 / 1 scenarios passed", "1 / 1 escenarios aprobados")).await;
        browser.no_violations().await;
        browser.click(("All scenarios", "Todos los escenarios")).await;
        browser.click("Greets").await;
        browser.fill(field, &greets("e").to_string()).await;
        browser.click(("Save", "Guardar")).await;
        browser.click(test).await;
        browser.sees(("0 / 1 scenarios passed", "0 / 1 escenarios aprobados")).await;
        browser.sees("never_said").await;
        browser.no_violations().await;
    }

    async fn a_test_that_takes_long_is_cancelled(database: Database) {
        let Some((stage, person)) = Stage::seen(database).await else { return };
        let tool = json!({
            "name": "look", "description": "Looks.", "kind": "http", "parameters": {"type": "object"},
            "http": {"method": "GET", "url": "https://tables.example", "timeout_ms": 10_000},
        });
        let tool = stage.account.post("/v1/agents/tools", tool).await.assert(201);
        let agent = stage.account.agent_with(json!({
            "system_prompt": "You look.\nsay: A moment.\ncall: look {}", "tool_ids": [tool["id"]],
            "llm": {"provider": "scripted", "model": "scripted"},
        }));
        let agent = agent.await;
        let slow = json!({"scenarios": [{
            "name": "Looks", "turns": ["Hello."], "tools": [{"name": "look", "answer": "late", "delay_ms": 30_000}],
            "checks": [{"kind": "honest"}], "runs": 20,
        }], "parallel": 1});
        let runs = format!("/v1/agents/{agent}/test-runs");
        let run = stage.account.post(&runs, slow).await.assert(201);
        let browser = stage.owner(person).await;
        let run = run["id"].as_str().unwrap_or_default();
        browser.open(&format!("/portal/agents/{agent}/tests/runs/{run}")).await;
        browser.click(("Cancel", "Cancelar")).await;
        browser.sees(("The test was cancelled.", "La prueba se canceló.")).await;
        browser.sees(("Cancelled", "Cancelada")).await;
        browser.no_violations().await;
    }

    async fn an_agent_is_made_and_published(database: Database) {
        let Some((stage, person)) = Stage::seen(database).await else { return };
        let browser = stage.owner(person).await;
        browser.open("/portal/agents").await;
        browser.click(("Create your first agent", "Crear tu primer agente")).await;
        browser.fill(("Name", "Nombre"), "Nora").await;
        browser.click(("Create agent", "Crear agente")).await;
        browser.sees(("Draft created.", "Borrador creado.")).await;
        browser.sees(("Hello! How can I help you?", "¡Hola! ¿En qué te puedo ayudar?")).await;
        browser.click(("Publish version 1", "Publicar la versión 1")).await;
        browser.sees(("Version 1 published", "Versión 1 publicada")).await;
        browser.sees(("Active", "Activo")).await;
        browser.fill(("Name", "Nombre"), "Nora de noche").await;
        browser.click(("Rename", "Renombrar")).await;
        browser.sees(("Agent renamed.", "Agente renombrado.")).await;
        browser.no_violations().await;
        let agents = stage.account.read("/v1/agents").await;
        let agent = &agents["data"][0];
        assert_eq!(
            (&agent["name"], &agent["status"], &agent["language"]),
            (&json!("Nora de noche"), &json!("active"), &json!(browser.words(&("en-US", "es-MX")))),
            "{agents}"
        );
    }

    async fn a_version_is_compared_and_rolled_back(database: Database) {
        let Some((stage, person)) = Stage::seen(database).await else { return };
        let agent = stage.account.agent().await;
        let browser = stage.owner(person).await;
        browser.open(&format!("/portal/agents/{agent}/edit")).await;
        browser.fill(("First message", "Primer mensaje"), "Good evening, dear guest.").await;
        browser.click(("Save and publish", "Guardar y publicar")).await;
        browser.sees(("Version 2 published", "Versión 2 publicada")).await;

        browser.click(("Versions", "Versiones")).await;
        browser.sees(("Live", "En uso")).await;
        browser.click(("View changes", "Ver cambios")).await;
        browser.arrives(&format!("/portal/agents/{agent}/diff")).await;
        browser.sees("+ Good evening, dear guest.").await;
        browser.sees("− Hello {{lead_name}}, this is Eva from the clinic.").await;
        browser.screenshot("diff").await;

        browser.click(("Versions", "Versiones")).await;
        browser.click("1").await;
        browser.sees(("Not live", "Sin uso")).await;
        browser.fill(("Note (optional)", "Nota (opcional)"), "Too formal").await;
        browser.click(("Roll back to version 1", "Volver a la versión 1")).await;
        browser.sees(("Version 1 published", "Versión 1 publicada")).await;
        browser
            .sees((
                "Version 1 is live; version 2 is the latest.",
                "La versión 1 está en uso; la 2 es la última.",
            ))
            .await;
        let served = stage.account.read(&format!("/v1/agents/{agent}")).await;
        assert_eq!(served["published_version"], 1, "{served}");
        browser.click(("Versions", "Versiones")).await;
        browser.sees("Too formal").await;
        browser.no_violations().await;
    }

    async fn an_agent_is_edited_as_json(database: Database) {
        let Some((stage, person)) = Stage::seen(database).await else { return };
        let agent = stage.account.agent().await;
        let browser = stage.owner(person).await;
        browser.open(&format!("/portal/agents/{agent}/json")).await;
        let label = ("Full configuration", "Configuración completa");
        let text = browser.filled(label).await;
        browser.fill(label, "{\"first_message\": ").await;
        browser.click(("Save", "Guardar")).await;
        browser.counts(".refusal", 1).await;
        browser.was_refused(422).await;
        assert_eq!(browser.filled(label).await, "{\"first_message\": ");
        let config: serde_json::Value = must(&text, serde_json::from_str(&text));
        let mut changed = config.clone();
        changed["first_message"] = json!("Good morning.");
        browser.fill(label, &changed.to_string()).await;
        browser.click(("Save", "Guardar")).await;
        browser.sees(("Saved as version 2", "Guardado como versión 2")).await;
        browser.no_violations().await;
        let mut saved = stage.account.read(&format!("/v1/agents/{agent}")).await["config"].take();
        assert_eq!(saved["version"].take(), 2);
        changed["version"] = json!(null);
        assert_eq!(saved, changed);
    }

    async fn a_widget_is_turned_on_for_a_page(database: Database) {
        let Some((stage, person)) = Stage::seen(database).await else { return };
        let agent = stage.account.agent().await;
        let browser = stage.owner(person).await;
        browser.open(&format!("/portal/agents/{agent}/widget")).await;
        browser.click(("Enable the widget", "Activar el widget")).await;
        let origins = ("Allowed origins, one per line", "Orígenes permitidos, uno por línea");
        browser.fill(origins, "https://shop.example").await;
        browser.fill(("Credits per day", "Créditos por día"), "50").await;
        browser.click(("Save", "Guardar")).await;
        browser.sees(("The widget is on.", "El widget está activado.")).await;
        let code = browser.text_of("#sample-embed").await;
        assert!(code.contains(&agent) && code.contains("/widget/v1/offhook.js"), "{code}");
        browser.no_violations().await;
        let door = stage.server.client().get(&format!("/widget/v1/agents/{agent}"));
        let door = door.header("Origin", "https://shop.example").await.assert(200);
        assert_eq!(door["name"], "Eva");
    }

    async fn what_is_extracted_is_set_by_a_schema(database: Database) {
        let Some((stage, person)) = Stage::seen(database).await else { return };
        let agent = stage.account.agent().await;
        let browser = stage.owner(person).await;
        browser.open(&format!("/portal/agents/{agent}/analysis")).await;
        browser.sees(("Analysis is off.", "El análisis está desactivado.")).await;
        browser.fill("JSON Schema", "{\"type\": \"array\"}").await;
        browser.click(("Save", "Guardar")).await;
        browser.counts(".refusal", 1).await;
        browser.was_refused(422).await;
        assert_eq!(browser.filled("JSON Schema").await, "{\"type\": \"array\"}");
        let schema = json!({"type": "object", "properties": {"topic": {"type": "string"}}});
        browser.fill("JSON Schema", &schema.to_string()).await;
        browser.click(("Save", "Guardar")).await;
        browser
            .sees((
                "Saved. Applies to conversations that end from now on.",
                "Guardado. Se aplica a las conversaciones que terminen a partir de ahora.",
            ))
            .await;
        browser.sees(("Turn off analysis", "Desactivar el análisis")).await;
        browser.no_violations().await;
        let set = stage.account.read(&format!("/v1/agents/{agent}/analysis-schema")).await;
        assert_eq!(set["schema"], schema);
    }
}
