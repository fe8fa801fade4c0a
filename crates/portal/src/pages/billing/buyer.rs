//! To whom invoices are made out.

use offhook_services::store::Buyer;
use offhook_services::{BUYER_CHARS, BUYER_LINES, BuyerFault};

use crate::pages::settings::saved;
use crate::prelude::*;

/// The form with what is stored.
pub(super) async fn stored(visitor: &Visitor) -> Result<Markup> {
    let accounts = visitor.services().accounts();
    let buyer = accounts.settings(visitor.account()).await?.buyer;
    let fields = [
        ("name", buyer.name.as_str()),
        ("address", buyer.address.as_str()),
        ("tax_id", buyer.tax_id.as_str()),
    ];
    Ok(form_of(visitor, &Fields::of(fields), None))
}

fn form_of(visitor: &Visitor, fields: &Fields, refused: Option<&str>) -> Markup {
    let t = visitor.lang();
    html! {
        section {
            h2 { (t.t("Billed to", "Facturar a")) }
            (form::refusal(refused))
            (form::form(visitor, "/billing/buyer", &html! {
                (Input::text("name", t.t("Company", "Empresa"))
                    .value(fields.text("name"))
                    .hint(t.t("Leave empty for the account's name.", "Déjalo vacío para usar el nombre de la cuenta.")))
                (Input::text("address", t.t("Address", "Dirección"))
                    .rows(4)
                    .value(fields.text("address")))
                (Input::text("tax_id", t.t("Tax ID", "RFC o identificación fiscal"))
                    .value(fields.text("tax_id"))
                    .hint(t.t("Invoices downloaded from now on show it.", "Aparece en las facturas que se descarguen desde ahora.")))
                button.primary type="submit" { (t.t("Save", "Guardar")) }
            }))
        }
    }
}

/// `POST /portal/billing/buyer`
pub(super) async fn set(post: Post<Admin>) -> Answer {
    let (t, fields) = (post.lang(), &post.fields);
    let buyer = Buyer {
        name: fields.text("name").to_owned(),
        // Browsers send each line break as two characters.
        address: fields.text("address").replace("\r\n", "\n"),
        tax_id: fields.text("tax_id").to_owned(),
    };
    let accounts = post.services().accounts();
    let before = accounts.settings(post.account()).await?;
    match accounts.set_buyer(post.account(), buyer).await {
        Ok(()) => {
            let words = ("account.buyer", post.account());
            saved(&post, &before, words, "/billing").await
        }
        Err(BuyerFault::Store(error)) => Err(error.into()),
        Err(fault) => {
            let body = form_of(&post, fields, Some(&told(&fault, t)));
            Ok(post.refused(Section::Billing, Section::Billing.name(t), &body))
        }
    }
}

fn told(fault: &BuyerFault, t: Lang) -> String {
    match fault {
        BuyerFault::Address => text!(
            t,
            "Address: at most {BUYER_LINES} lines of {BUYER_CHARS} characters each.",
            "Dirección: {BUYER_LINES} líneas de {BUYER_CHARS} caracteres como máximo."
        ),
        BuyerFault::Line | BuyerFault::Store(_) => text!(
            t,
            "Company and tax ID: at most {BUYER_CHARS} characters each.",
            "Empresa e identificación fiscal: {BUYER_CHARS} caracteres como máximo."
        ),
    }
}
