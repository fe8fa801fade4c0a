//! `offhook wallet …`

use offhook_services::store::Wallet;

use super::JsonArgs;
use crate::prelude::*;

#[derive(Debug, Subcommand)]
pub(super) enum WalletCommand {
    /// Add an entry to an account's credit ledger.
    Credit {
        /// The account's id.
        #[arg(long, value_name = "ID")]
        account: AccountId,
        /// The number of credits, positive also for a debit.
        #[arg(long, value_name = "N", allow_negative_numbers = true)]
        credits: Credits,
        /// purchase, refund, manual_credit or manual_debit.
        #[arg(long)]
        r#type: TransactionType,
        /// The description that the customer sees.
        #[arg(long, value_name = "TEXT")]
        description: String,
        /// The purchase's price in USD, such as 49.00 [default: the plan's price per credit].
        #[arg(long, value_name = "USD", value_parser = cents)]
        usd: Option<i64>,
        #[command(flatten)]
        print: JsonArgs,
    },
    /// Set automatic refills below a balance threshold.
    #[command(group(clap::ArgGroup::new("what").required(true).args(["threshold", "off"])))]
    AutoRefill {
        /// The account's id.
        #[arg(long, value_name = "ID")]
        account: AccountId,
        /// The threshold in available credits.
        #[arg(
            long,
            value_name = "N",
            requires = "amount",
            allow_negative_numbers = true
        )]
        threshold: Option<Credits>,
        /// The credits to buy.
        #[arg(
            long,
            value_name = "N",
            requires = "threshold",
            allow_negative_numbers = true
        )]
        amount: Option<Credits>,
        /// Their price in USD, such as 49.00 [default: the plan's price per credit].
        #[arg(long, value_name = "USD", value_parser = cents, requires = "threshold")]
        usd: Option<i64>,
        /// Turn automatic refills off.
        #[arg(long, conflicts_with_all = ["threshold", "amount", "usd"])]
        off: bool,
        #[command(flatten)]
        print: JsonArgs,
    },
}

impl WalletCommand {
    pub(super) async fn run(self, settings: &Settings) -> anyhow::Result<()> {
        let services = parts::administration(settings).await?;
        let billing = services.billing();
        let (account, wallet, print) = match self {
            Self::Credit {
                account,
                credits,
                r#type,
                description,
                usd,
                print,
            } => {
                let wallet = billing.credit(account, credits, r#type, &description, usd);
                (account, wallet.await?, print)
            }
            Self::AutoRefill {
                account,
                threshold,
                amount,
                usd,
                off: _,
                print,
            } => {
                let refill = threshold.zip(amount);
                let refill = refill.map(|(threshold, amount)| (threshold, amount, usd));
                let wallet = billing.set_auto_refill(account, refill);
                (account, wallet.await?, print)
            }
        };
        let words = words(account, &wallet);
        output::print(print.json, &output::wallet(account, &wallet), &words)
    }
}

fn words(account: AccountId, wallet: &Wallet) -> String {
    let refill = match wallet.auto_refill {
        Some(refill) => format!("{} are bought below {}", refill.credits, refill.threshold),
        None => "none are bought by itself".to_owned(),
    };
    format!(
        "account {account}: {} credits, {} of them reserved; {refill}",
        wallet.balance, wallet.reserved
    )
}

/// `49`, `49.5` or `49.00` as cents.
fn cents(text: &str) -> Result<i64, String> {
    let wrong = || "must be an amount in USD with at most two decimals, such as 49.00".to_owned();
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |part: &str, most: usize| {
        (1..=most).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    if !digits(whole, 9) || !digits(fraction, 2) {
        return Err(wrong());
    }
    let number = |text: &str| text.parse::<i64>().map_err(|_| wrong());
    let tens = if fraction.len() == 1 { 10 } else { 1 };
    Ok(number(whole)? * 100 + number(fraction)? * tens)
}

#[cfg(test)]
mod tests {
    use super::cents;

    #[test]
    fn an_amount_has_at_most_two_decimals() {
        for (text, expected) in [("49", 4_900), ("49.5", 4_950), ("0.05", 5), ("1.99", 199)] {
            assert_eq!(cents(text), Ok(expected));
        }
        for text in ["", ".5", "1.", "1.005", "-1", "1,00", "9999999999"] {
            assert!(cents(text).is_err(), "{text}");
        }
    }
}
