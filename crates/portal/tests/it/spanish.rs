//! Validation errors in Spanish.

use offhook_domain::{AgentId, Json, MemberRole};

use crate::it::world::{Browser, World, must};

async fn agent(world: &World) -> AgentId {
    let body = must(Json::parse(
        br#"{
            "name": "Eva",
            "language": "es-MX",
            "config": {
                "system_prompt": "Confirmas citas.",
                "first_message": "Hola.",
                "llm": {"provider": "scripted", "model": "scripted"}
            }
        }"#,
    ));
    let agents = world.services.agents();
    must(agents.create(world.account, &body).await).agent.id
}

async fn owner(world: &World) -> Browser {
    world.browser(MemberRole::Owner).await.in_spanish()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_agents_state_forbids_is_said_in_spanish() {
    let world = World::start().await;
    let ana = owner(&world).await;
    let id = agent(&world).await;
    let call = [
        ("once", "0a"),
        ("agent", &id.to_string()),
        ("to", "+5215512345678"),
    ];
    let refused = ana.post("/try/call", &call).await.assert(422);
    refused.shows(&["El estado del agente es «Borrador». Solo un agente activo recibe llamadas."]);
    let widget = [
        ("enabled", "on"),
        ("allowed_origins", "https://example.com"),
    ];
    let refused = ana.post(&format!("/agents/{id}/widget"), &widget).await;
    refused
        .assert(422)
        .shows(&["El agente nunca se ha publicado. Primero publícalo."]);
    let active = [("status", "active")];
    let refused = ana.post(&format!("/agents/{id}/status"), &active).await;
    refused.shows(&["Un agente en estado «Borrador» no puede pasar a «Activo»: publícalo."]);
    must(world.services.agents().archive(world.account, id).await);
    let publish = format!("/agents/{id}/versions/1/publish");
    let refused = ana.post(&publish, &[]).await;
    refused.shows(&["El agente está archivado. Primero restáuralo (queda en pausa)."]);
}

#[tokio::test(flavor = "multi_thread")]
async fn conflicts_of_numbers_folders_and_webhooks_are_said_in_spanish() {
    let world = World::start().await;
    let ana = owner(&world).await;
    let refused = ana.post("/phone-numbers/import", &[]).await.assert(422);
    refused.shows(&[
        "La cuenta no tiene credencial de operador telefónico. Guárdala en Configuración, Credenciales de proveedores",
        &format!("--account {} --provider simulator", world.account),
    ]);
    let number = [("phone_number", "+15551234567"), ("label", "")];
    let refused = ana.post("/phone-numbers/new", &number).await.assert(422);
    refused.shows(&["La red simulada no ofrece este número a la cuenta"]);
    let folder = [("name", "Precios")];
    ana.post("/knowledge/folders", &folder).await.leads();
    ana.refused(
        "/knowledge/folders",
        &folder,
        &["Otra carpeta tiene este nombre."],
    )
    .await;
    for n in 0..20 {
        let body = Json::object([(
            "url",
            Json::from(format!("https://example.com/{n}").as_str()),
        )]);
        must(world.services.webhooks().create(world.account, &body).await);
    }
    let hook = [
        ("url", "https://example.com/one-more"),
        ("events", "call.failed"),
    ];
    let refused = ana.post("/webhooks", &hook).await.assert(422);
    refused.shows(&["Una cuenta tiene 20 puntos de conexión como máximo: primero borra uno."]);
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_of_fields_are_said_in_spanish() {
    let world = World::start().await;
    let ana = owner(&world).await;
    let id = agent(&world).await.to_string();
    let key = format!("{}=1", "k".repeat(65));
    for (path, fields, said) in [
        (
            "/webhooks",
            vec![("url", "http://example.com/hook"), ("description", "")],
            "URL: debe comenzar con https://",
        ),
        (
            "/agents/new",
            vec![("name", "Eva"), ("language", "español")],
            "Idioma: debe ser una etiqueta de idioma BCP 47",
        ),
        (
            "/phone-numbers/new",
            vec![("phone_number", "5550123"), ("label", "")],
            "Número: debe comenzar con <code>+</code> y el código del país",
        ),
        (
            "/try/call",
            vec![("once", "0b"), ("agent", &id), ("to", "5512345678")],
            "Llamar a este número: debe comenzar con <code>+</code> y el código del país",
        ),
        (
            "/try/call",
            vec![
                ("once", "0c"),
                ("agent", &id),
                ("to", "+5215512345678"),
                ("metadata", &key),
            ],
            "el nombre tiene más de 64 caracteres",
        ),
        (
            "/tools/new",
            vec![
                ("name", "Buscar"),
                ("description", "Busca citas."),
                ("kind", "end_call"),
            ],
            "Nombre: debe ser una letra minúscula, y luego hasta 63 letras minúsculas, dígitos o <code>_</code>",
        ),
        (
            "/knowledge/address",
            vec![("name", "Precios"), ("url", "https://10.0.0.1/")],
            "URL: debe nombrar un servidor y no una dirección IP",
        ),
        (
            "/knowledge/folders",
            vec![("name", "  ")],
            "Nombre: no puede estar vacío",
        ),
    ] {
        ana.refused(path, &fields, &[said]).await;
    }
    let json = format!("/agents/{id}/json");
    let fields = [("expected_version", "1"), ("config", "{\"language\": ]")];
    ana.refused(
        &json,
        &fields,
        &["no es JSON válido en la línea 1, columna 14"],
    )
    .await;
}
