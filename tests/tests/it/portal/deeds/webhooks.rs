//! Webhooks: registered, tested, inspected, sent again.

use offhook_tests::{Receiver, both};

use super::super::stage::Stage;

deeds! {
    an_event_is_sent_looked_at_and_sent_again:
        "/portal/webhooks", "/portal/webhooks/{id}", "/portal/webhooks/{id}/secret", "/portal/webhooks/deliveries",
        "/portal/webhooks/deliveries/{id}", "/portal/webhooks/events";
    code_is_copied_that_carries_the_readers_own_address:
        "/portal/quick-start", "/portal/quick-start/webhooks";
}

both! {
    async fn an_event_is_sent_looked_at_and_sent_again(database: Database) {
        let Some((stage, person)) = Stage::seen(database).await else { return };
        let receiver = Receiver::start().await;
        let browser = stage.owner(person).await;
        browser.open("/portal/webhooks").await;
        browser.fill(("URL", "URL"), &receiver.url("/hook")).await;
        browser.fill(("Description", "Descripción"), "Our CRM").await;
        browser.click("billing.threshold").await;
        browser.click(("Add endpoint", "Agregar punto de conexión")).await;
        browser.sees(("This is the signing secret of", "Este es el secreto de firma de")).await;
        browser.click(("I've saved it", "Ya lo guardé")).await;
        browser
            .sees((
                "Nothing has been sent to this endpoint yet.",
                "Aún no se envía nada a este punto de conexión.",
            ))
            .await;
        browser.sees("call.failed, billing.threshold").await;
        browser.click(("Send test event", "Enviar evento de prueba")).await;
        receiver.count(1).await;
        browser.sees(("Delivered", "Entregado")).await;

        browser.open("/portal/webhooks").await;
        browser.click(("Event types", "Tipos de evento")).await;
        browser.sees("X-Service-Event-Id").await;
        browser.open("/portal/webhooks/deliveries").await;
        browser.choose(("Status", "Estado"), ("Delivered", "Entregado")).await;
        browser.click(("Filter", "Filtrar")).await;
        browser.arrives("/portal/webhooks/deliveries?").await;
        browser.click("call.completed").await;
        browser.arrives("/portal/webhooks/deliveries/").await;
        browser.click(("Resend", "Reenviar")).await;
        browser.sees(("Attempt queued.", "Intento en cola.")).await;
        let received = receiver.count(2).await;
        // The page shows it without a reload.
        browser.sees(("Manual", "Manual")).await;
        browser.counts(".attempt", 2).await;
        browser.axe().await;
        browser.no_violations().await;
        let (first, again) = (&received[0], &received[1]);
        assert_eq!(first.body, again.body);
        let event = "x-service-event-id";
        assert_eq!(first.header(event), again.header(event));
        let delivery = "x-service-delivery";
        assert_ne!(first.header(delivery), again.header(delivery));
    }

    async fn code_is_copied_that_carries_the_readers_own_address(database: Database) {
        let Some((stage, person)) = Stage::seen(database).await else { return };
        let agent = stage.account.agent().await;
        let browser = stage.owner(person).await;
        browser.open("/portal/quick-start").await;
        let address = format!("http://{}", stage.server.address());
        let sample = browser.text_of("#sample-curl").await;
        assert!(sample.contains(&address) && sample.contains(&agent), "{sample}");
        browser.click_first("[data-copy=sample-curl]").await;
        browser.counts("[data-done]", 1).await;
        browser.click(("Receive webhooks", "Recibir webhooks")).await;
        browser.arrives("/portal/quick-start/webhooks").await;
        let samples = browser.count("pre[id^=sample-]").await;
        assert!(samples >= 5, "{samples}");
        browser.sees("X-Service-Signature").await;
        browser.no_violations().await;
    }
}
