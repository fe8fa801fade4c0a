//! What commands print on standard output: words for people, or with `--json` one JSON object or array.

use std::io::{ErrorKind, Write as _};

use offhook_domain::AccountId;
use offhook_services::store::{
    Account, ApiKey, Credential, Invitation, Invoice, Member, PhoneNumber, Wallet,
};
use serde_json::{Value, json};

/// A command has said what is wrong, and ends with this code.
#[derive(Debug, thiserror::Error)]
#[error("exit code {0}")]
pub(crate) struct Exit(pub(crate) u8);

/// A text without what moves a terminal's cursor.
pub(crate) fn printable(text: &str) -> String {
    let is_odd = |c: char| c.is_control() && !"\n\t".contains(c);
    text.replace(is_odd, "\u{fffd}")
}

/// Prints `value` with `--json`, else `words`.
///
/// # Errors
/// Standard output cannot be written.
pub(crate) fn print(json: bool, value: &Value, words: &str) -> anyhow::Result<()> {
    line(json, value, words).map(drop)
}

/// The same for one of many; `false` once nobody reads any more, as behind `head`.
pub(crate) fn line(json: bool, value: &Value, words: &str) -> anyhow::Result<bool> {
    let mut out = std::io::stdout().lock();
    let printed = match json {
        true => writeln!(out, "{value}"),
        // Some of it is what strangers wrote.
        false => writeln!(out, "{}", printable(words)),
    };
    match printed.and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        printed => Ok(printed.map(|()| true)?),
    }
}

/// An account with the interface's field names.
pub(crate) fn account(account: &Account) -> Value {
    json!({
        "id": account.id.to_string(),
        "name": account.name,
        "plan": account.plan.as_str(),
        "engine_module": account.engine_module,
        "created_at": account.created_at,
    })
}

/// A wallet with the interface's field names.
pub(crate) fn wallet(account: AccountId, wallet: &Wallet) -> Value {
    let refill = wallet.auto_refill;
    json!({
        "account_id": account.to_string(),
        "balance_credits": wallet.balance,
        "reserved_credits": wallet.reserved,
        "auto_refill": {
            "enabled": refill.is_some(),
            "threshold_credits": refill.map(|refill| refill.threshold),
            "amount_credits": refill.map(|refill| refill.credits),
            "amount_usd": refill.map(|refill| usd(refill.cents)),
        },
    })
}

/// An invoice with the interface's field names.
pub(crate) fn invoice(invoice: &Invoice) -> Value {
    json!({
        "id": invoice.id.to_string(),
        "account_id": invoice.account_id.to_string(),
        "number": invoice.number,
        "status": invoice.status.as_str(),
        "amount_usd": usd(invoice.amount_cents),
        "issued_at": invoice.issued_at,
    })
}

/// Cents as dollars with two decimals.
pub(crate) fn usd(cents: i64) -> String {
    let sign = if cents < 0 { "-" } else { "" };
    let cents = cents.unsigned_abs();
    format!("{sign}{}.{:02}", cents / 100, cents % 100)
}

/// A key with the interface's field names.
pub(crate) fn key(key: &ApiKey) -> Value {
    json!({
        "id": key.id.to_string(),
        "account_id": key.account_id.to_string(),
        "name": key.name,
        "prefix": key.prefix,
        "scopes": key.scopes,
        "read_only": key.read_only,
        "monthly_credit_budget": key.monthly_credit_budget,
        "created_at": key.created_at,
        "expires_at": key.expires_at,
        "last_used_at": key.last_used_at,
        "revoked_at": key.revoked_at,
    })
}

/// A credential, without its secret.
pub(crate) fn credential(credential: &Credential) -> Value {
    json!({
        "id": credential.id.to_string(),
        "account_id": credential.account_id.to_string(),
        "provider": credential.provider,
        "created_at": credential.created_at,
        "updated_at": credential.updated_at,
        "asked_at": credential.asked_at,
        "last_error": credential.last_error,
        "last_characters": credential.last_characters,
    })
}

/// A phone number with the interface's field names.
pub(crate) fn number(number: &PhoneNumber) -> Value {
    json!({
        "id": number.id.to_string(),
        "account_id": number.account_id.to_string(),
        "phone_number": number.phone_number,
        "label": number.label,
        "provider": number.provider,
        "agent_id": number.agent_id,
        "created_at": number.created_at,
        "updated_at": number.updated_at,
    })
}

/// A member with the interface's field names.
pub(crate) fn member(member: &Member) -> Value {
    json!({
        "id": member.id.to_string(),
        "account_id": member.account_id.to_string(),
        "name": member.name,
        "email": member.email,
        "role": member.role,
        "joined_at": member.joined_at,
    })
}

/// An invitation, without its link.
pub(crate) fn invitation(invitation: &Invitation) -> Value {
    json!({
        "id": invitation.id.to_string(),
        "account_id": invitation.account_id.to_string(),
        "name": invitation.name,
        "email": invitation.email,
        "role": invitation.role,
        "created_at": invitation.created_at,
        "expires_at": invitation.expires_at,
    })
}

/// Rows under a heading, each column as wide as its widest cell.
pub(crate) fn table<const N: usize>(heading: [&str; N], rows: &[[String; N]]) -> String {
    let mut widths = heading.map(|cell| cell.chars().count());
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |cells: [&str; N]| {
        let padded = cells
            .iter()
            .zip(widths)
            .map(|(cell, width)| format!("{cell:width$}"));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let body = rows
        .iter()
        .map(|row| line(row.each_ref().map(String::as_str)));
    std::iter::once(line(heading))
        .chain(body)
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [
            ["1".to_owned(), "á bc".to_owned()],
            ["22".to_owned(), String::new()],
        ];
        assert_eq!(super::table(["id", "n"], &rows), "id  n\n1   á bc\n22");
    }
}
