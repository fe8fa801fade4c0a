//! Campaigns: recipients from a file, called at the pace and in the hours of a form.

use offhook_tests::{both, must};
use serde_json::json;

use super::super::stage::Stage;

deeds! {
    a_campaign_is_created_filled_from_a_file_and_watched_to_its_end:
        "/portal/campaigns", "/portal/campaigns/new", "/portal/campaigns/{id}", "/portal/campaigns/{id}/add";
}

both! {
    async fn a_campaign_is_created_filled_from_a_file_and_watched_to_its_end(database: Database) {
        let Some((stage, person)) = Stage::seen(database).await else { return };
        stage.account.agent().await;
        let folder = must("a folder", tempfile::tempdir());
        let file = folder.path().join("people.csv");
        let people = "to,name\n+14155550124,Ana\n4155550125,Ben\n+14155550126,Cleo\n";
        must("a file", std::fs::write(&file, people));
        let browser = stage.owner(person).await;
        browser.open("/portal/campaigns").await;
        browser.click(("Create campaign", "Crear campaña")).await;
        browser.arrives("/portal/campaigns/new").await;
        browser.fill(("Name", "Nombre"), "Spring").await;
        browser.choose(("Agent", "Agente"), "Eva").await;
        // The whole week, whatever the time of the test.
        for day in [("Saturday", "sábado"), ("Sunday", "domingo")] {
            browser.click(day).await;
        }
        let times = "for (const name of ['start', 'end']) document.getElementsByName(`settings.window.${name}`)[0].value = '00:00'";
        browser.js(times, vec![]).await;
        let share = ("Share of live calls", "Parte de las llamadas en vivo");
        browser.fill(share, "101").await;
        browser.click(("Create campaign", "Crear campaña")).await;
        browser.counts(".fault", 1).await;
        browser.was_refused(422).await;
        browser.screenshot("campaign-new").await;
        browser.axe().await;
        browser.fill(share, "100").await;
        browser.click(("Create campaign", "Crear campaña")).await;
        browser.sees(("No recipients yet", "Aún no hay destinatarios")).await;
        browser.click(("Add recipients", "Agregar destinatarios")).await;
        browser.attach(("List of recipients (CSV)", "Lista de destinatarios (CSV)"), &file).await;
        browser.click_first("form[data-upload] button").await;
        browser.sees("Cleo").await;
        browser.screenshot("campaign-preview").await;
        browser.axe().await;
        browser.click(("Skip the bad row and add 2", "Omitir la fila con errores y agregar 2")).await;
        browser.sees(("Recipients added: 2.", "Destinatarios agregados: 2.")).await;
        browser.screenshot("campaign-draft").await;
        browser.axe().await;
        browser.click(("Start", "Iniciar")).await;
        // The page shows the end without a reload.
        browser.sees(("2 of 2", "2 de 2")).await;
        browser.sees(("Completed", "Completada")).await;
        browser.counts("#rows tbody a[href*='/conversations/']", 2).await;
        assert_eq!(browser.portraits("campaign-done").await, [""; 0]);
        browser.no_violations().await;
        let list = stage.account.read("/v1/campaigns").await;
        assert_eq!(list["data"][0]["counts"]["reached"], json!(2), "{list}");
    }
}
