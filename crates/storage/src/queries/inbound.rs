//! Calls that come in: whose number it is, and the conversation, claimed as it is written.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use offhook_domain::{AgentStatus, E164, NumberProvider, Runtime, Timestamp};

use super::super::{Conn, dialect};
use super::calls::{Row, queued};
use super::claims;
use super::wallets::{self, Draw, Reserve};
use crate::schema::{accounts, agent_versions as versions, agents, phone_numbers as numbers};
use crate::sql::V;
use crate::{Account, Agent, CalledNumber, NewInboundCall, StoreError, Taken};

/// Who has this number, if its calls come by a trunk.
pub(crate) async fn called(
    conn: &mut Conn,
    number: E164,
) -> Result<Option<CalledNumber>, StoreError> {
    let published = versions::agent_id.nullable().eq(agents::id.nullable()).and(
        versions::version
            .nullable()
            .eq(agents::published_version.nullable()),
    );
    let found: Option<(Account, Option<Agent>, Option<String>)> = numbers::table
        .inner_join(accounts::table.on(accounts::id.eq(numbers::account_id)))
        .left_join(agents::table.on(numbers::agent_id.eq(agents::id.nullable())))
        .left_join(versions::table.on(published))
        .filter(numbers::phone_number.eq(V(number)))
        .filter(numbers::provider.eq(V(NumberProvider::Sip)))
        .select((
            Account::as_select(),
            Option::<Agent>::as_select(),
            versions::config.nullable(),
        ))
        .first(conn)
        .await
        .optional()?;
    Ok(found.map(|(account, agent, config)| CalledNumber {
        account,
        agent,
        config,
    }))
}

/// Takes a call; the caller undoes it unless it is `Claimed`.
pub(crate) async fn take(
    conn: &mut Conn,
    call: NewInboundCall,
    lease: Timestamp,
) -> Result<Taken, StoreError> {
    let (id, account) = (call.id, call.account_id);
    // Two calls of one account are counted one after the other.
    dialect::lock_account(conn, account).await?;
    if claims::live_calls(conn, account).await? >= i64::from(call.live_calls) {
        return Ok(Taken::LinesBusy);
    }
    if dialect::hold_agent(conn, account, call.agent_id).await? != Some(AgentStatus::Active) {
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
    queued(row).execute(conn).await?;
    if call.reserve > 0 {
        wallets::insert_reservation(conn, id, &draw, call.reserve).await?;
    }
    let claimed = claims::claim_one(conn, id, (call.at, lease), call.node).await?;
    let claimed = claimed.ok_or_else(|| {
        StoreError::Corrupt("a conversation that was just written is gone".to_owned())
    })?;
    Ok(Taken::Claimed(Box::new(claimed)))
}
