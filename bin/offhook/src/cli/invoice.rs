//! `offhook invoice …`

use super::JsonArgs;
use crate::prelude::*;

#[derive(Debug, Subcommand)]
pub(super) enum InvoiceCommand {
    /// List an account's invoices, the newest month first, 100 at most.
    List {
        /// The account's id.
        #[arg(long, value_name = "ID")]
        account: AccountId,
        #[command(flatten)]
        print: JsonArgs,
    },
    /// Mark an open invoice as paid or void.
    Mark {
        /// The invoice's id.
        #[arg(long)]
        id: InvoiceId,
        /// paid or void.
        #[arg(long)]
        status: InvoiceStatus,
        #[command(flatten)]
        print: JsonArgs,
    },
}

impl InvoiceCommand {
    pub(super) async fn run(self, settings: &Settings) -> anyhow::Result<()> {
        let services = parts::administration(settings).await?;
        match self {
            Self::List { account, print } => {
                let invoices = services.billing().newest_invoices(account).await?;
                let rows: Vec<_> = invoices
                    .iter()
                    .map(|invoice| {
                        [
                            invoice.id.to_string(),
                            invoice.number.clone(),
                            invoice.status.to_string(),
                            output::usd(invoice.amount_cents),
                        ]
                    })
                    .collect();
                let words = output::table(["ID", "NUMBER", "STATUS", "USD"], &rows);
                let value: Value = invoices.iter().map(output::invoice).collect();
                output::print(print.json, &value, &words)
            }
            Self::Mark { id, status, print } => {
                let invoice = services.billing().mark(id, status).await?;
                let words = format!("invoice {} is {}", invoice.number, invoice.status);
                output::print(print.json, &output::invoice(&invoice), &words)
            }
        }
    }
}
