//! Tools and integrations of agents.

use offhook_testkit::fakes::calendar::FakeCalendar;
use offhook_tests::{Options, Person, both, needs_browser};
use serde_json::json;

use super::super::stage::Stage;

deeds! {
    a_tool_is_made_changed_and_deleted: "/portal/tools", "/portal/tools/new", "/portal/tools/{id}";
    an_application_is_connected_and_taken_back: "/portal/integrations";
}

both! {
    async fn a_tool_is_made_changed_and_deleted(database: Database) {
        let Some((stage, person)) = Stage::seen(database).await else { return };
        let browser = stage.owner(person).await;
        browser.open("/portal/tools").await;
        browser.click(("Create your first tool", "Crear tu primera herramienta")).await;
        browser.click(("HTTP request", "Solicitud HTTP")).await;
        browser.fill(("Name", "Nombre"), "Estado del pedido").await;
        browser.fill(("Description", "Descripción"), "Consulta el estado de un pedido.").await;
        browser.choose(("Method", "Método"), "POST").await;
        browser.fill("URL", "https://shop.example/orders").await;
        browser.fill(("Header", "Encabezado"), "X-Key").await;
        browser.fill(("Value", "Valor"), "muy secreto").await;
        let arguments = r#"{"type":"object","properties":{"pedido":{"type":"string"}}}"#;
        browser.fill(("Arguments (JSON Schema)", "Argumentos (JSON Schema)"), arguments).await;
        browser.click(("Save", "Guardar")).await;
        browser.counts(".refusal", 1).await;
        browser.was_refused(422).await;
        let typed = "return document.getElementsByName('http.headers[0].value')[0].value";
        assert_eq!(browser.js(typed, vec![]).await, "muy secreto");
        browser.fill(("Name", "Nombre"), "estado_del_pedido").await;
        browser.click(("Save", "Guardar")).await;
        browser.sees(("Tool created.", "Herramienta creada.")).await;

        browser.click("estado_del_pedido").await;
        let secret = "return document.documentElement.outerHTML.includes('muy secreto')";
        assert_eq!(browser.js(secret, vec![]).await, json!(false), "it is never shown again");
        browser.fill(("Description", "Descripción"), "Dice dónde está un pedido.").await;
        browser.click(("Save", "Guardar")).await;
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
        browser.click(("Delete tool", "Eliminar herramienta")).await;
        browser.agrees().await;
        browser.sees(("Tool deleted.", "Herramienta eliminada.")).await;
        browser.sees(("No tools yet", "Aún no hay herramientas")).await;

        browser.open("/portal/tools/new").await;
        browser.click(("MCP server", "Servidor MCP")).await;
        browser.fill(("Name", "Nombre"), "tienda").await;
        browser.fill(("Description", "Descripción"), "La tienda.").await;
        browser.fill("URL", "https://shop.example/mcp").await;
        browser.fill(("Functions", "Funciones"), "find.order\nfind_order").await;
        browser.axe().await;
        browser.screenshot("mcp").await;
        browser.click(("Save", "Guardar")).await;
        browser.counts(".refusal", 1).await;
        browser.was_refused(422).await;
        browser.fill(("Functions", "Funciones"), "find.order\nrefund").await;
        browser.click(("Save", "Guardar")).await;
        browser.sees(("Tool created.", "Herramienta creada.")).await;
        let tools = stage.account.read("/v1/agents/tools").await;
        assert_eq!(tools["data"][0]["mcp"]["functions"], json!(["find.order", "refund"]), "{tools}");
        browser.no_violations().await;
    }

    async fn an_application_is_connected_and_taken_back(database: Database) {
        needs_browser!();
        let person = Person::on(&database);
        let calendar = FakeCalendar::start().await;
        let options = Options::on(database).with_calendar(&calendar);
        let stage = Stage::with(options).await;
        let browser = stage.owner(person).await;
        let status = async || {
            let list = stage.account.read("/v1/integrations?limit=100").await;
            let mut all = list["data"].as_array().into_iter().flatten();
            let found = all.find(|one| one["toolkit"] == "google_calendar");
            found.map_or_else(String::new, |one| one["status"].as_str().unwrap_or_default().to_owned())
        };
        let begin = async || {
            browser.open("/portal/integrations").await;
            browser.click_first("form[action$='/google_calendar/connect'] button").await;
            browser.sees(("You go to Google Calendar", "Irás a Google Calendar")).await;
        };
        begin().await;
        browser.axe().await;
        browser.screenshot("connect").await;
        browser.click(("Continue to 127.0.0.1", "Continuar a 127.0.0.1")).await;
        browser.click("Deny").await;
        browser.sees(("was not allowed. Nothing changed.", "No se permitió el acceso a Google Calendar")).await;
        assert_eq!(status().await, "available");

        begin().await;
        browser.click(("Continue to 127.0.0.1", "Continuar a 127.0.0.1")).await;
        browser.click("Allow").await;
        browser.sees(("Google Calendar connected.", "Google Calendar está conectada.")).await;
        assert_eq!(status().await, "active");
        assert_eq!(calendar.authority.good().0.len(), 1);
        let tools = stage.account.read("/v1/agents/tools").await;
        assert_eq!(tools["data"].as_array().map(Vec::len), Some(2), "{tools}");

        browser.click(("Disconnect", "Desconectar")).await;
        browser.agrees().await;
        browser.sees(("Access was revoked.", "Se revocó el acceso.")).await;
        assert_eq!(status().await, "disconnected");
        assert_eq!(calendar.authority.good().0.len(), 0);
        browser.no_violations().await;
    }
}
