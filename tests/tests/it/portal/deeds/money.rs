//! Credits: the balance, the usage, the invoices.

use offhook_tests::both;
use serde_json::json;

use super::super::stage::Stage;

deeds! {
    credits_are_followed_to_their_entry_and_their_invoice:
        "/portal/billing", "/portal/billing/ledger", "/portal/billing/invoices";
}

both! {
    async fn credits_are_followed_to_their_entry_and_their_invoice(database: Database) {
        let Some((stage, person)) = Stage::seen(database).await else { return };
        let credit = [
            "wallet", "credit", "--account", &stage.account.id, "--type", "purchase", "--credits", "250",
            "--description", "A pallet of credits",
        ];
        stage.server.cli(&credit).await;
        let browser = stage.owner(person).await;
        browser.open("/portal/billing").await;
        browser.sees("5,250").await;
        let low = ("Warn when the balance is below", "Avisar si el saldo es menor que");
        browser.fill(low, "6000").await;
        browser.click_near(low, ("Save", "Guardar")).await;
        browser.sees(("below your alert of 6,000", "menos que tu alerta de 6,000")).await;
        browser.click(("View all transactions", "Ver todos los movimientos")).await;
        browser.choose(("Type", "Tipo"), ("Purchase", "Compra")).await;
        browser.click(("Filter", "Filtrar")).await;
        browser.arrives("/portal/billing/ledger?type=purchase").await;
        browser.counts("tbody tr", 1).await;
        browser.sees("A pallet of credits").await;

        browser.open("/portal/billing/invoices").await;
        browser.counts("tbody tr", 1).await;
        let file = "const [link, done] = [document.querySelector('tbody a').href, arguments[0]];
            fetch(link).then(async answer => {
              const bytes = new Uint8Array(await answer.arrayBuffer());
              done([answer.status, answer.headers.get('content-type'), String.fromCharCode(...bytes.slice(0, 5))]);
            })";
        let file = browser.js_later(file, vec![]).await;
        assert_eq!(file, json!([200, "application/pdf", "%PDF-"]));
        browser.no_violations().await;
    }
}
