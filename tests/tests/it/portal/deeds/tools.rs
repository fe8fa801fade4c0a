//! Tools, and what else agents work with.

use offhook_tests::{Person, both, needs_browser};
use serde_json::json;

use super::super::stage::Stage;

deeds! {
    a_tool_is_made_changed_and_deleted: "/portal/tools", "/portal/tools/new", "/portal/tools/{id}";
    an_application_is_looked_for: "/portal/integrations";
}

both! {
    async fn a_tool_is_made_changed_and_deleted(database: Database) {
        needs_browser!();
        let person = Person::on(&database);
        let stage = Stage::open(database).await;
        let browser = stage.owner(person).await;
        browser.open("/portal/tools").await;
        browser.click(("Make the first tool", "Crear la primera herramienta")).await;
        browser.click(("Asks a server (http)", "Consulta un servidor (http)")).await;
        browser.fill(("Name", "Nombre"), "Estado del pedido").await;
        browser.fill(("What it is for", "Para qué sirve"), "Consulta el estado de un pedido.").await;
        browser.choose(("Method", "Método"), "POST").await;
        browser.fill("URL", "https://shop.example/orders").await;
        browser.fill(("Header", "Encabezado"), "X-Key").await;
        browser.fill(("Value", "Valor"), "muy secreto").await;
        let arguments = r#"{"type":"object","properties":{"pedido":{"type":"string"}}}"#;
        browser.fill(("Arguments (JSON Schema)", "Argumentos (JSON Schema)"), arguments).await;
        browser.click(("Save the tool", "Guardar la herramienta")).await;
        browser.counts(".refusal", 1).await;
        browser.was_refused(422).await;
        let typed = "return document.getElementsByName('http.headers[0].value')[0].value";
        assert_eq!(browser.js(typed, vec![]).await, "muy secreto");
        browser.fill(("Name", "Nombre"), "estado_del_pedido").await;
        browser.click(("Save the tool", "Guardar la herramienta")).await;
        browser.sees(("The tool is made.", "La herramienta está lista.")).await;

        browser.click("estado_del_pedido").await;
        let secret = "return document.documentElement.outerHTML.includes('muy secreto')";
        assert_eq!(browser.js(secret, vec![]).await, json!(false), "it is never shown again");
        browser.fill(("What it is for", "Para qué sirve"), "Dice dónde está un pedido.").await;
        browser.click(("Save the tool", "Guardar la herramienta")).await;
        browser.sees(("Saved.", "Guardado.")).await;
        let tools = stage.account.read("/v1/agents/tools").await;
        let tool = &tools["data"][0];
        assert_eq!(
            (&tool["name"], &tool["description"], &tool["http"]["headers"]),
            (
                &json!("estado_del_pedido"),
                &json!("Dice dónde está un pedido."),
                &json!({"X-Key": "***"})
            ),
            "{tools}"
        );
        browser.click(("Delete this tool", "Eliminar esta herramienta")).await;
        browser.agrees().await;
        browser.sees(("The tool is deleted.", "La herramienta se eliminó.")).await;
        browser.sees(("No tool yet", "Aún no hay herramientas")).await;
        browser.no_violations().await;
    }

    async fn an_application_is_looked_for(database: Database) {
        needs_browser!();
        let person = Person::on(&database);
        let stage = Stage::open(database).await;
        let browser = stage.owner(person).await;
        browser.open("/portal/integrations").await;
        let first = browser.text_of("tbody td").await;
        let all = browser.count("tbody tr").await;
        assert!(all > 1, "{all}");
        browser.fill(("Name", "Nombre"), &first).await;
        browser.click(("Show", "Mostrar")).await;
        browser.arrives("/portal/integrations?").await;
        assert_eq!(browser.text_of("tbody td").await, first);
        assert!(browser.count("tbody tr").await < all);
        browser.no_violations().await;
    }
}
