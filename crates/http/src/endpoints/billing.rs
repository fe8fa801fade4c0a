//! `/v1/billing`.

use offhook_services::store::LedgerFilter;
use uuid::Uuid;

use crate::prelude::*;
use crate::request::ask::BillingRead;
use crate::request::query::Period;
use crate::wire::billing::{CreditsBody, InvoiceBody, PlanBody, TransactionBody, UsageBody};

pub(crate) fn routes() -> Vec<Endpoint> {
    let at = Endpoint::at;
    vec![
        at("/v1/billing/plan").get(plan),
        at("/v1/billing/credits").get(credits),
        at("/v1/billing/transactions").get(transactions),
        at("/v1/billing/invoices").get(invoices),
        at("/v1/billing/invoices/{id}/pdf").get(invoice_pdf),
        at("/v1/billing/usage").get(usage),
    ]
}

impl FromQuery for LedgerFilter {
    fn read(query: &mut QueryReader) -> Result<Self, FieldError> {
        let kind = query.choice("type", TransactionType::choices)?;
        let (since, until) = query.period()?;
        Ok(Self { kind, since, until })
    }
}

/// The requested days.
struct Days(Period);

impl FromQuery for Days {
    fn read(query: &mut QueryReader) -> Result<Self, FieldError> {
        query.period().map(Self)
    }
}

/// `GET /v1/billing/plan`
async fn plan(ask: Ask<BillingRead>) -> Reply {
    let renews_at = ask.services().billing().renews_at(&ask.caller.terms);
    reply::ok(&PlanBody(&(ask.caller, renews_at)))
}

/// `GET /v1/billing/credits`
async fn credits(ask: Ask<BillingRead>) -> Reply {
    let wallet = ask.services().billing().wallet(ask.account()).await?;
    reply::ok(&CreditsBody(&wallet))
}

/// `GET /v1/billing/transactions`: the sort key is the entry's number.
async fn transactions(ask: Ask<BillingRead, (), Listing<LedgerFilter>>) -> Reply {
    let (filter, limit) = (ask.query.filters, ask.query.limit);
    let after = ask.query.after.map(|(seq, _)| seq.micros());
    let billing = ask.services().billing();
    let page = billing
        .transactions(ask.account(), filter, after, limit)
        .await?;
    ask.query.answer(
        &page,
        |entry| (Timestamp::from_micros(entry.seq), Uuid::nil()),
        TransactionBody,
    )
}

/// `GET /v1/billing/invoices`: the sort key is the month.
async fn invoices(ask: Ask<BillingRead, (), Listing<()>>) -> Reply {
    let (after, limit) = (number_after(&ask.query), ask.query.limit);
    let billing = ask.services().billing();
    let page = billing.invoices(ask.account(), after, limit).await?;
    ask.query
        .answer(&page, |invoice| key(invoice.month), InvoiceBody)
}

/// `GET /v1/billing/invoices/{id}/pdf`
async fn invoice_pdf(ask: Ask<BillingRead, InvoiceId>) -> Reply {
    let billing = ask.services().billing();
    let pdf = billing.invoice_pdf(&ask.caller, ask.id).await?;
    let pdf = pdf.ok_or_else(ApiError::not_found)?;
    Ok(HttpResponse::Ok().content_type("application/pdf").body(pdf))
}

/// `GET /v1/billing/usage`: the oldest day first; the sort key is the day.
async fn usage(ask: Ask<BillingRead, (), Listing<Days>>) -> Reply {
    let Days((from, to)) = ask.query.filters;
    let billing = ask.services().billing();
    let days = billing.usage_days(from, to).map_err(|fault| {
        let fault = FieldError::new("from", fault);
        Code::InvalidQuery.error(fault.to_string())
    })?;
    let (after, limit) = (number_after(&ask.query), ask.query.limit);
    let page = billing.usage(ask.account(), days, after, limit).await?;
    ask.query.answer(&page, |day| key(day.day), UsageBody)
}

fn number_after<F>(listing: &Listing<F>) -> Option<i32> {
    let number = listing.after.map(|(number, _)| number.micros());
    number.map(|number| i32::try_from(number).unwrap_or(i32::MAX))
}

fn key(number: i32) -> (Timestamp, Uuid) {
    (Timestamp::from_micros(i64::from(number)), Uuid::nil())
}
