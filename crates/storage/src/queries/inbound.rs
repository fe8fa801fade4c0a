//! Calls that come in: the conversation, claimed as it is written.

use crate::database::RunQueryDsl;
use crate::queries::locks;
use offhook_domain::{AgentStatus, Runtime, Timestamp};

use super::calls::{Row, queued};
use super::claims;
use super::wallets::{self, Draw, Reserve};
use crate::database::Conn;
use crate::{NewInboundCall, Result, StoreError, Taken};

/// Takes a call; the caller undoes it unless it is `Claimed`.
pub(crate) async fn take(conn: &mut Conn, call: NewInboundCall, lease: Timestamp) -> Result<Taken> {
    let (id, account) = (call.id, call.account_id);
    // Two calls of one account are counted one after the other.
    locks::lock_account(conn, account).await?;
    if claims::live_calls(conn, account).await? >= i64::from(call.live_calls) {
        return Ok(Taken::LinesBusy);
    }
    if locks::hold_agent(conn, account, call.agent_id).await? != Some(AgentStatus::Active) {
        return Ok(Taken::AgentUnavailable);
    }
    let draw = Draw {
        account,
        key: None,
        budget: None,
        month: call.at.utc_month(),
        at: call.at,
    };
    if call.reserve > 0 && wallets::hold(conn, &draw, call.reserve).await? != Reserve::Held {
        return Ok(Taken::WalletTooLow);
    }
    let row = Row {
        id,
        account_id: account,
        agent_id: call.agent_id,
        agent_ref: call.agent_id.to_string(),
        agent_version: call.agent_version,
        key_id: None,
        runtime: Runtime::Engine,
        customer: call.from.clone(),
        from: call.from,
        to: call.to,
        metadata: "{}".to_owned(),
        price: call.price,
        at: call.at,
        steady: call.steady,
        dialog: call.dialog,
    };
    queued(conn.db(), row).execute(conn).await?;
    if call.reserve > 0 {
        wallets::insert_reservation(conn, id, &draw, call.reserve).await?;
    }
    let claimed = claims::claim_one(conn, id, (call.at, lease), call.node).await?;
    let claimed = claimed.ok_or_else(|| {
        StoreError::Corrupt("a conversation that was just written is gone".to_owned())
    })?;
    Ok(Taken::Claimed(Box::new(claimed)))
}
