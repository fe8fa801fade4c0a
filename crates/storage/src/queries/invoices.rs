//! Invoices: one per account and month, written line by line while it is a draft.

use super::audit;
use crate::prelude::*;
use crate::schema::invoice_lines as lines;

pub(crate) struct NewLine {
    pub(crate) month: i32,
    pub(crate) entry: Option<(LedgerId, Credits)>,
    pub(crate) description: String,
    pub(crate) cents: i64,
    pub(crate) at: Timestamp,
}

/// Adds a line to its month's draft, or to the first later one if that has been issued. Lock order: wallet before
/// invoice, never the other way.
pub(crate) async fn add_line(
    conn: &mut Conn,
    account: AccountId,
    line: NewLine,
) -> Result<InvoiceId> {
    let mut month = line.month;
    let (id, position) = loop {
        if let Some(found) = extend(conn, account, month, line.cents).await? {
            break found;
        }
        begin(conn, account, month, line.at).await?;
        if let Some(found) = extend(conn, account, month, line.cents).await? {
            break found;
        }
        month += 1;
    };
    insert! {
        conn, lines: invoice_id = id, position, ledger_id = line.entry.map(|(entry, _)| entry),
        description = line.description, credits = line.entry.map(|(_, credits)| credits),
        amount_cents = line.cents, created_at = line.at
    }?;
    Ok(id)
}

async fn extend(
    conn: &mut Conn,
    account: AccountId,
    month: i32,
    cents: i64,
) -> Result<Option<(InvoiceId, i32)>> {
    diesel::update(invoices::table)
        .filter(invoices::account_id.eq(V(account)))
        .filter(invoices::month.eq(month))
        .filter(invoices::status.eq(V(InvoiceStatus::Draft)))
        .set(row! { invoices: amount_cents += cents, lines_count += 1 })
        .returning((invoices::id, invoices::lines_count))
        .returned(conn)
        .await
}

async fn begin(conn: &mut Conn, account: AccountId, month: i32, at: Timestamp) -> Result<()> {
    let id: InvoiceId = mint(at);
    diesel::insert_into(invoices::table)
        .values(row! {
            invoices: id, account_id = account, month, number = number(account, month),
            status = InvoiceStatus::Draft, amount_cents = 0, lines_count = 0, created_at = at
        })
        .on_conflict_do_nothing()
        .run(conn)
        .await
}

/// `INV-202604-` and the random end of the account's id. There is one invoice per account and month, so its number
/// needs no counter.
fn number(account: AccountId, month: i32) -> String {
    let id = account.uuid().simple().to_string().to_uppercase();
    let (year, of_year) = (month.div_euclid(12), month.rem_euclid(12) + 1);
    format!("INV-{year:04}{of_year:02}-{}", &id[20..])
}

/// Issues the account's drafts of earlier months.
pub(crate) async fn issue_before(
    conn: &mut Conn,
    account: AccountId,
    month: i32,
    at: Timestamp,
) -> Result<()> {
    diesel::update(invoices::table)
        .filter(invoices::account_id.eq(V(account)))
        .filter(invoices::month.lt(month))
        .filter(invoices::status.eq(V(InvoiceStatus::Draft)))
        .set(row! { invoices: status = InvoiceStatus::Open, issued_at = at })
        .run(conn)
        .await
}

impl Store {
    /// A page of invoices after month `after`, newest month first, with one more than `limit` if there is a next page.
    pub fn invoices(
        &self,
        account: AccountId,
        after: Option<i32>,
        limit: i64,
    ) -> Answer<'_, Vec<Invoice>> {
        let query = invoices::table
            .filter(invoices::account_id.eq(V(account)))
            .order(invoices::month.desc())
            .limit(limit + 1)
            .select(Invoice::as_select())
            .into_boxed::<Db>()
            .when(after, |after| invoices::month.lt(after));
        query.read_all(self)
    }

    /// An invoice of the account with its lines.
    pub fn invoice(
        &self,
        account: AccountId,
        id: InvoiceId,
    ) -> Answer<'_, Option<(Invoice, Vec<InvoiceLine>)>> {
        read!(self, |conn| {
            let invoice: Option<Invoice> = invoices::table
                .find(V(id))
                .filter(invoices::account_id.eq(V(account)))
                .select(Invoice::as_select())
                .found(conn)
                .await?;
            let invoice = some_or!(invoice, None);
            let lines = lines::table
                .filter(lines::invoice_id.eq(V(id)))
                .order(lines::position)
                .select(InvoiceLine::as_select())
                .load(conn)
                .await?;
            Ok(Some((invoice, lines)))
        })
    }

    /// `open → paid | void`. Returns the invoice as it is then, and whether this call changed it. `None` if it does not
    /// exist.
    pub fn mark_invoice(
        &self,
        id: InvoiceId,
        status: InvoiceStatus,
        audited: Audited,
    ) -> Answer<'_, Option<(Invoice, bool)>> {
        transact!(self, |conn| {
            let is_moved = diesel::update(invoices::table.find(V(id)))
                .filter(invoices::status.eq(V(InvoiceStatus::Open)))
                .set(invoices::status.eq(V(status)))
                .changes(conn)
                .await?;
            let invoice: Option<Invoice> = invoices::table
                .find(V(id))
                .select(Invoice::as_select())
                .found(conn)
                .await?;
            let invoice = some_or!(invoice, Rollback(None));
            if is_moved {
                audit::audited(conn, invoice.account_id, &audited).await?;
            }
            Ok(Verdict::keep_if(is_moved, Some((invoice, is_moved))))
        })
    }
}
