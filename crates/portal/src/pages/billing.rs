//! Billing: plan, credits, transactions, invoices, usage. Nothing is bought here: the operator adds credits.

mod buyer;
pub(crate) mod month;

use offhook_services::MonthSoFar;
use offhook_services::store::{Invoice, LedgerEntry, LedgerFilter, UsageDay, Wallet};
use uuid::Uuid;

use crate::parts::chart::{self, Bar};
use crate::parts::period;
use crate::parts::words::{count, plan_name, when_if, yes};
use crate::prelude::*;
use crate::spanish::written;
use crate::visit::layout::attachment;

/// Days of the usage's chart.
const DAYS: u32 = 30;

/// Entries and invoices that the first page shows.
const NEWEST: u32 = 5;

/// The paths.
pub(super) fn routes() -> Vec<Page> {
    vec![
        Page::at("/billing").get(show),
        Page::at("/billing/alert").post(month::set_alert),
        Page::at("/billing/buyer").post(buyer::set),
        Page::at("/billing/ledger").get(ledger),
        Page::at("/billing/invoices").get(invoices),
        Page::at("/billing/invoices/{id}/pdf").part(pdf),
    ]
}

/// `GET /portal/billing`
async fn show(visit: Visit<Viewer>) -> Answer {
    let t = visit.lang();
    let account = visit.account();
    let billing = visit.services().billing();
    let wallet = billing.wallet(account).await?;
    let days = billing.usage_days(None, None).unwrap_or_default();
    let usage = billing.usage(account, days, None, DAYS).await?.items;
    let newest = billing.transactions(account, LedgerFilter::default(), None, NEWEST);
    let newest = newest.await?;
    let invoices = billing.invoices(account, None, NEWEST).await?;
    let so_far = billing.month(account).await?;
    let renews_at = billing.renews_at(&visit.caller().terms);
    let body = html! {
        (month::alarm(&so_far, t))
        p { (t.t(
            "The service operator adds credits. Ask them when your balance runs low.",
            "El operador del servicio agrega los créditos. Pídeselos cuando tu saldo baje.",
        )) }
        (credits(&wallet, &so_far, t))
        div.charts {
            (used(&usage, t))
            (plan(&visit, renews_at))
            (month::shares(&visit).await?)
        }
        h2 { (t.t("Recent transactions", "Movimientos recientes")) }
        @if newest.items.is_empty() { p.soft { (t.t("No transactions yet.", "Todavía no hay movimientos.")) } }
        @else {
            (entries(&newest.items, t))
            p { a href={ (PATH) "/billing/ledger" } { (t.t("View all transactions", "Ver todos los movimientos")) } }
        }
        h2 { (t.t("Invoices", "Facturas")) }
        @if invoices.items.is_empty() { p.soft { (no_invoices(t)) } }
        @else {
            (invoice_table(&invoices.items, t))
            @if invoices.has_more { p { a href={ (PATH) "/billing/invoices" } { (t.t("All invoices", "Todas las facturas")) } } }
        }
        @if visit.may(MemberRole::Admin) {
            (month::alerts(&visit, &so_far))
            (buyer::stored(&visit).await?)
        }
    };
    Ok(visit.page(Section::Billing, Section::Billing.name(t), &body))
}

fn credits(wallet: &Wallet, month: &MonthSoFar, t: Lang) -> Markup {
    let refill = match &wallet.auto_refill {
        None => t.t("Off", "Desactivada").to_owned(),
        Some(refill) => text!(
            t,
            "On: below {} credits, buys {}",
            "Activada: por debajo de {} créditos compra {}",
            count(refill.threshold),
            count(refill.credits)
        ),
    };
    html! {
        div.cards {
            div.card { span.figure { (count(wallet.balance)) } (t.t("Balance", "Saldo")) }
            div.card { span.figure { (count(wallet.reserved)) } (t.t("Held for calls in progress", "Apartados para llamadas en curso")) }
            div.card { span.figure { (count(month.spent)) } (t.t("This month (UTC)", "Este mes (UTC)")) }
            div.card { span.figure { (month.forecast.map_or_else(|| "–".to_owned(), count)) } (t.t("Forecast at this pace", "Pronóstico a este ritmo")) }
            div.card { span.figure { (refill) } (t.t("Auto-refill", "Recarga automática")) }
        }
    }
}

fn plan(visitor: &Visitor, renews_at: Option<Timestamp>) -> Markup {
    let t = visitor.lang();
    let caller = visitor.caller();
    let terms: &PlanTerms = &caller.terms;
    let by_contract = t.t("By contract", "Por contrato");
    let unlimited = t.t("Unlimited", "Sin límite");
    let number = |number: Option<u32>, none: &str| {
        number.map_or_else(|| none.to_owned(), |number| count(i64::from(number)))
    };
    let fee = match terms.usd_per_month {
        None => by_contract.to_owned(),
        Some(fee) => format!("USD {}", count(i64::from(fee))),
    };
    html! {
        section.chart {
            h2 { (t.t("Plan", "Plan")) }
            dl.facts {
                (list::fact(t.t("Plan", "Plan"), html! { strong { (plan_name(caller.account.plan.as_str())) } }))
                (list::fact(t.t("Price per month", "Precio al mes"), fee))
                (list::fact(t.t("Credits per month", "Créditos al mes"), number(terms.credits_per_month, by_contract)))
                (list::fact(t.t("Renews", "Se renueva"), when_if(renews_at)))
                (list::fact(t.t("Requests per minute", "Solicitudes por minuto"), number(Some(terms.requests_per_minute), "")))
                (list::fact(t.t("Concurrent calls", "Llamadas simultáneas"), number(Some(terms.live_calls), "")))
                (list::fact(t.t("Seats", "Lugares"), number(terms.seats_max, unlimited)))
                (list::fact(t.t("Retention (days)", "Retención (días)"), number(terms.retention_days, unlimited)))
                (list::fact(t.t("Knowledge (Engine module)", "Conocimiento (módulo Engine)"), yes(terms.engine_module, t)))
            }
        }
    }
}

/// One bar for each day's credits.
fn credits_by_day(days: &[UsageDay], t: Lang) -> Vec<Bar> {
    days.iter()
        .enumerate()
        .map(|(place, day)| {
            let date = Timestamp::of_utc_day(day.day).utc_date();
            let label = date.get(5..).filter(|_| place % 5 == 0).unwrap_or("");
            let (calls, credits) = (count(day.calls), count(day.credits));
            let text = text!(
                t,
                "{date}: {credits} credits, {calls} calls",
                "{date}: {credits} créditos, {calls} llamadas"
            );
            Bar::of(label, text, day.credits as f64)
        })
        .collect()
}

fn used(days: &[UsageDay], t: Lang) -> Markup {
    let sum = |of: fn(&UsageDay) -> i64| count(days.iter().map(of).sum());
    let heads = [t.t("Day (UTC)", "Día (UTC)"), t.t("Credits", "Créditos")];
    html! {
        section.chart {
            h2 { (t.t("Usage, last 30 days", "Uso, últimos 30 días")) }
            dl.facts {
                (list::fact(t.t("Credits", "Créditos"), sum(|day| day.credits)))
                (list::fact(t.t("Calls", "Llamadas"), sum(|day| day.calls)))
                (list::fact(t.t("Conversations", "Conversaciones"), sum(|day| day.conversations)))
                (list::fact(t.t("Minutes", "Minutos"), month::minutes(days.iter().map(|day| day.duration_seconds).sum())))
            }
            (chart::bars(t, t.t("Credits per day", "Créditos por día"), heads, &[], &credits_by_day(days, t)))
        }
    }
}

/// `GET /portal/billing/ledger`
async fn ledger(visit: Visit<Viewer>) -> Answer {
    let t = visit.lang();
    let title = t.t("Transactions", "Movimientos");
    let kind = visit.query().get("type").and_then(|kind| kind.parse().ok());
    let ((since, until), message) = period::read(&visit);
    let filter = LedgerFilter { kind, since, until };
    let page = visit.page_of(|uuid| uuid);
    // The sort key is the entry's number, as in `GET /v1/billing/transactions`.
    let after = page.after.map(|(seq, _)| seq.micros());
    let billing = visit.services().billing();
    let rows = billing.transactions(visit.account(), filter, after, page.limit);
    let rows = rows.await?;
    let kinds = TransactionType::ALL.iter();
    let body = html! {
        (form::refusal(message))
        form.filters method="get" action={ (PATH) "/billing/ledger" } {
            (list::filter(&visit, "type", t.t("Type", "Tipo"), t.t("All", "Todos"),
                kinds.map(|kind| (kind.as_str(), kind_name(*kind, t)))))
            (period::fields(&visit))
            button type="submit" { (t.t("Filter", "Filtrar")) }
        }
        @if rows.items.is_empty() {
            (list::empty(t.t("No transactions", "Sin movimientos"), t.t(
                "Credits added and spent appear here.",
                "Aquí aparecen los créditos agregados y gastados.",
            ), Some(("/billing", t.t("Back to billing", "Volver a facturación")))))
        } @else { (entries(&rows.items, t)) }
        (list::more(&visit, &rows, |entry| (Timestamp::from_micros(entry.seq), Uuid::nil())))
    };
    Ok(visit.page(Section::Billing, title, &body))
}

fn entries(entries: &[LedgerEntry], t: Lang) -> Markup {
    html! {
        (Table::of(t.t("Transactions", "Movimientos"), entries)
            .column(t.t("When", "Cuándo"), |entry| when(entry.created_at))
            .column(t.t("Type", "Tipo"), |entry| kind_name(entry.kind, t))
            .column(t.t("Description", "Concepto"), |entry| written::<EntryText>(&entry.description, t))
            .number(t.t("Credits", "Créditos"), |entry| count(entry.amount_credits))
            .number(t.t("Balance after", "Saldo después"), |entry| count(entry.balance_after_credits))
            .column(t.t("Related to", "Corresponde a"), |entry| html! {
                @if let Some(id) = entry.conversation_id {
                    a href={ (PATH) "/conversations/" (id) } { (t.t("Conversation", "Conversación")) }
                } @else if let Some(id) = entry.invoice_id {
                    a href={ (PATH) "/billing/invoices/" (id) "/pdf" } { (t.t("Invoice", "Factura")) }
                } @else { span.none { "–" } }
            }))
    }
}

const fn kind_name(kind: TransactionType, t: Lang) -> &'static str {
    match kind {
        TransactionType::Purchase => t.t("Purchase", "Compra"),
        TransactionType::AutoRefill => t.t("Auto-refill", "Recarga automática"),
        TransactionType::Debit => t.t("Usage", "Uso"),
        TransactionType::Refund => t.t("Refund", "Reembolso"),
        TransactionType::ManualCredit => t.t("Credit", "Abono"),
        TransactionType::ManualDebit => t.t("Debit", "Cargo"),
    }
}

/// `GET /portal/billing/invoices`
async fn invoices(visit: Visit<Viewer>) -> Answer {
    let t = visit.lang();
    let page = visit.page_of(|uuid| uuid);
    // The sort key is the month, as in `GET /v1/billing/invoices`.
    let after = page.after;
    let after = after.map(|(month, _)| i32::try_from(month.micros()).unwrap_or(i32::MAX));
    let billing = visit.services().billing();
    let invoices = billing.invoices(visit.account(), after, page.limit).await?;
    let body = html! {
        @if invoices.items.is_empty() {
            (list::empty(t.t("No invoices", "Sin facturas"), no_invoices(t), Some(("/billing", t.t("Back to billing", "Volver a facturación")))))
        } @else { (invoice_table(&invoices.items, t)) }
        (list::more(&visit, &invoices, |invoice| (Timestamp::from_micros(i64::from(invoice.month)), Uuid::nil())))
    };
    Ok(visit.page(Section::Billing, t.t("Invoices", "Facturas"), &body))
}

const fn no_invoices(t: Lang) -> &'static str {
    t.t(
        "None yet. An invoice is created for each month with something to pay.",
        "Todavía no hay. Se crea una factura por cada mes con algo que pagar.",
    )
}

fn invoice_table(invoices: &[Invoice], t: Lang) -> Markup {
    html! {
        (Table::of(t.t("Invoices", "Facturas"), invoices)
            .column(t.t("Number", "Número"), |invoice| &invoice.number)
            .column(t.t("Month", "Mes"), |invoice| month_name(invoice, t))
            .column(t.t("Status", "Estado"), |invoice| state(invoice.status, t))
            .number(t.t("Amount", "Importe"), |invoice| format!("USD {}", dollars(invoice.amount_cents)))
            .column(t.t("Issued", "Emitida"), |invoice| when_if(invoice.issued_at))
            .column(t.t("File", "Archivo"), |invoice| html! {
                a href={ (PATH) "/billing/invoices/" (invoice.id) "/pdf" } { "PDF" span.unseen { " " (invoice.number) } }
            }))
    }
}

fn state(status: InvoiceStatus, t: Lang) -> Markup {
    let (tone, state) = match status {
        InvoiceStatus::Draft => (Tone::Plain, t.t("Draft", "Borrador")),
        InvoiceStatus::Open => (Tone::Busy, t.t("Open", "Por pagar")),
        InvoiceStatus::Paid => (Tone::Good, t.t("Paid", "Pagada")),
        InvoiceStatus::Void => (Tone::Plain, t.t("Void", "Anulada")),
    };
    badge(tone, state)
}

const MONTHS: [(&str, &str); 12] = [
    ("January", "enero"),
    ("February", "febrero"),
    ("March", "marzo"),
    ("April", "abril"),
    ("May", "mayo"),
    ("June", "junio"),
    ("July", "julio"),
    ("August", "agosto"),
    ("September", "septiembre"),
    ("October", "octubre"),
    ("November", "noviembre"),
    ("December", "diciembre"),
];

/// The month of an invoice: `November 2026`.
fn month_name(invoice: &Invoice, t: Lang) -> String {
    let date = Timestamp::of_utc_month(invoice.month).utc_date();
    let mut parts = date.split('-');
    let year = parts.next().unwrap_or_default();
    let month = parts.next().and_then(|month| month.parse::<usize>().ok());
    let month = month.and_then(|month| MONTHS.get(month - 1));
    month.map_or_else(
        || date.clone(),
        |(en, es)| text!(t, "{en} {year}", "{es} de {year}"),
    )
}

/// Cents as dollars.
fn dollars(cents: i64) -> String {
    let sign = if cents < 0 { "-" } else { "" };
    let dollars = count(i64::try_from(cents.unsigned_abs() / 100).unwrap_or(i64::MAX));
    format!("{sign}{dollars}.{:02}", cents.unsigned_abs() % 100)
}

/// `GET /portal/billing/invoices/{id}/pdf`
async fn pdf(visit: Visit<Viewer>) -> Answer {
    let id: InvoiceId = visit.id("id")?;
    let billing = visit.services().billing();
    let pdf = billing.invoice_pdf(visit.caller(), id).await?;
    let pdf = pdf.ok_or_else(Trouble::not_found)?;
    let disposition = format!("attachment; filename=\"invoice-{id}.pdf\"");
    Ok(attachment("application/pdf", disposition).body(pdf))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_two_decimals_and_plans_a_capital() {
        assert_eq!(dollars(4_900), "49.00");
        assert_eq!(dollars(123_456_705), "1,234,567.05");
        assert_eq!(dollars(-105), "-1.05");
        assert_eq!(plan_name("enterprise"), "Enterprise");
    }
}
